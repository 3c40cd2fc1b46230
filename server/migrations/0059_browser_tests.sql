-- module: browser-tests
-- Tests of apps by an agent in a real browser: flows, their runs with reports and evidence, and the browsers that runs lease.

create table test_flows (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  name text not null,
  goal text not null,
  -- Of the temporary app user. Null: as the goal says.
  role text check (role in ('admin', 'user')),
  revision integer not null default 1,
  -- The steps of the last run that passed, and the revision of the flow that it tested. Null: none has passed.
  recording jsonb,
  recording_revision integer,
  created_by text not null,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  -- Being deleted since. It can't be read any more; a job finishes what a request began.
  deleting_since timestamptz,
  check ((recording is null) = (recording_revision is null)),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create index test_flows_of_app on test_flows (workspace_id, app_id, id desc);
create index test_flows_deleting on test_flows (deleting_since) where deleting_since is not null;

-- A run of a flow. A queue table, and the history: it stays when the flow is deleted.
create table test_executions (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  flow_id uuid not null,
  -- The flow as it was when the run began.
  flow_name text not null,
  flow_revision integer not null,
  goal text not null,
  role text not null check (role in ('admin', 'user')),
  url text not null,
  status text not null default 'pending' check (status in
    ('pending', 'running', 'analyzing', 'passed', 'failed', 'inconclusive', 'error', 'cancelled')),
  analysis_status text not null default 'none' check (analysis_status in ('none', 'pending', 'completed', 'failed')),
  error_message text,
  -- The request on whose behalf it runs.
  credential_id uuid not null,
  request_id text not null,
  ip text not null,
  reservation_id uuid not null,
  credits_charged numeric(12, 4) not null default 0,
  created_date timestamptz not null,
  -- When it first had a browser.
  started_at timestamptz,
  completed_at timestamptz,
  -- The last one.
  browser_session_id uuid,
  cancel_requested_at timestamptz,
  -- The temporary app users, one for each claim, until they were removed with their records for good.
  app_user_ids uuid[] not null default '{}',
  clean_up_tried_at timestamptz,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz,
  check ((completed_at is not null) = (status in ('passed', 'failed', 'inconclusive', 'error', 'cancelled'))),
  check (analysis_status <> 'completed' or status in ('passed', 'failed', 'inconclusive')),
  check ((error_message is not null) = (status = 'error')),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
-- One at a time for a flow.
create unique index test_executions_active on test_executions (workspace_id, flow_id) where completed_at is null;
create index test_executions_of_app on test_executions (workspace_id, app_id, id desc);
create index test_executions_of_flow on test_executions (workspace_id, app_id, flow_id, id desc);
create index test_executions_to_clean on test_executions (clean_up_tried_at nulls first, completed_at)
  where app_user_ids <> '{}' and completed_at is not null;
create index test_executions_waiting on test_executions (created_date) where status = 'pending';
create index test_executions_by_status on test_executions (status);
create index test_executions_due on test_executions (due_at) where claimed_slot is null and due_at is not null;
create index test_executions_of_owner on test_executions (workspace_id, due_at)
  where claimed_slot is null and due_at is not null;
create index test_executions_claimed on test_executions (claimed_slot) where claimed_slot is not null;
create index test_executions_failed on test_executions (failed_at) where failed_at is not null;

-- As features/browser-tests/transitions.ts says.
create function test_execution_moved() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and not (case old.status
    when 'pending' then new.status in ('running', 'error', 'cancelled')
    when 'running' then new.status in ('analyzing', 'error', 'cancelled')
    when 'analyzing' then new.status in ('passed', 'failed', 'inconclusive', 'error', 'cancelled')
    else false
  end) then
    raise exception 'a test run can''t become % after %', new.status, old.status using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger test_execution_moved before update of status on test_executions
  for each row execute function test_execution_moved();

-- What a run found: `result` from the end of its steps until it is analysed, `report` from then on.
create table test_reports (
  execution_id uuid primary key references test_executions on delete cascade,
  workspace_id uuid not null,
  app_id uuid not null,
  result jsonb,
  report jsonb,
  created_date timestamptz not null
);
create index test_reports_of_app on test_reports (workspace_id, app_id);

-- Screenshots and traces, kept in the object storage for 30 days. A row is inserted before its object is written.
create table test_evidence (
  execution_id uuid not null references test_executions on delete cascade,
  workspace_id uuid not null,
  app_id uuid not null,
  -- `1-3.jpg`: the third step, when the run was claimed for the first time.
  file text not null,
  size_bytes integer not null,
  created_date timestamptz not null,
  primary key (execution_id, file)
);
create index test_evidence_of_app on test_evidence (workspace_id, app_id);
create index test_evidence_old on test_evidence (created_date);

create function test_evidence_added() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select workspace_id, 'files', sum(size_bytes) from added group by 1;
  return null;
end $$;
create trigger test_evidence_added after insert on test_evidence
  referencing new table as added for each statement execute function test_evidence_added();

create function test_evidence_removed() returns trigger language plpgsql as $$
begin
  insert into object_removals (key, added_at) select 'tests/' || execution_id || '/' || file, now() from removed;
  insert into storage_changes (workspace_id, kind, bytes)
  select workspace_id, 'files', -sum(size_bytes) from removed group by 1;
  return null;
end $$;
create trigger test_evidence_removed after delete on test_evidence
  referencing old table as removed for each statement execute function test_evidence_removed();

-- Browsers that workers have open, or had. A row is inserted before its browser starts. It refers to no run or app that could be
-- removed before it: a process of a browser is known to be ours by its row.
create table browser_sessions (
  id uuid primary key,
  workspace_id uuid not null,
  execution_id uuid not null,
  -- Where its processes are.
  host text not null,
  process_id integer,
  created_date timestamptz not null,
  -- Of the database's clock. The worker prolongs it.
  lease_until timestamptz not null,
  close_requested_at timestamptz,
  -- It was not closed in time: whoever sees this on the same host kills it.
  kill_requested_at timestamptz,
  closed_at timestamptz,
  close_reason text check (close_reason in ('ended', 'not_opened', 'crashed', 'killed', 'lease_ended')),
  check ((closed_at is null) = (close_reason is null))
);
create index browser_sessions_of_execution on browser_sessions (workspace_id, execution_id);
create index browser_sessions_open on browser_sessions (host, lease_until) where closed_at is null;
create index browser_sessions_closed on browser_sessions (closed_at) where closed_at is not null;
