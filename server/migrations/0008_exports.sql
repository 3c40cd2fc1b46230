-- room: workspaces
-- Exports of a workspace: the record of the work is its queue.

create table workspace_exports (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  state text not null check (state in ('queued', 'running', 'ready', 'failed')),
  counts jsonb not null default '{}',
  -- While running: until when the worker that claimed it is believed to be alive.
  claimed_until timestamptz,
  attempts integer not null default 0,
  expires_at timestamptz,
  created_date timestamptz not null,
  primary key (workspace_id, id)
);
create index workspace_exports_waiting on workspace_exports (created_date) where state in ('queued', 'running');
