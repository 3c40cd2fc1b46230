-- room: kit
-- What happens later: events told once, and the slots workers run in.

create table events (
  id uuid primary key,
  name text not null,
  -- Frozen as a receiver will see it.
  payload jsonb not null,
  occurred_at timestamptz not null,
  -- Null while it waits for its listeners.
  dispatched_at timestamptz,
  -- After a listener failed: how often, why, and when it is tried again.
  failures integer not null default 0,
  failure text,
  retry_at timestamptz
) with (
  -- Rows are written, marked once and removed: dead ones are many, and slow the search for the next.
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);
create index events_waiting on events (id) where dispatched_at is null and retry_at is null;
create index events_failing on events (retry_at) where dispatched_at is null and retry_at is not null;
create index events_dispatched on events (dispatched_at) where dispatched_at is not null;

-- What the dispatcher is hearing right now: still there when its process ended on the way.
create table event_turn (
  one boolean primary key default true check (one),
  begun boolean not null default false,
  -- How often in a row a process ended while it heard a batch.
  deaths integer not null default 0,
  -- After that events are heard alone: which one, and how often a process ended with it.
  event_id uuid,
  event_deaths integer not null default 0
);
insert into event_turn default values;

-- A worker runs as a numbered slot: it holds the slot's advisory lock, and says here that it lives. Each claim counts the
-- epoch up, so that what an earlier holder had begun can be told from what the present one does.
create table worker_slots (
  slot integer primary key,
  epoch bigint not null default 0,
  holder text not null default '',
  heartbeat_at timestamptz,
  -- The epoch up to which everything begun was given back. Behind `epoch` while somebody works, or died working.
  settled_epoch bigint not null default 0
);

-- What the workflow engine does not keep: how often a run's process ended under it, and that somebody cancelled it.
create table workflow_marks (
  workflow_id text primary key,
  -- How often its process ended under it without it getting any further.
  interruptions integer not null default 0,
  steps integer not null default 0,
  -- By which claim of which slot that was last counted: once each.
  counted_for text,
  -- It waits for time or a signal: whatever ends its process, it is not this.
  waiting boolean not null default false,
  cancelled_at timestamptz,
  -- Until the engine has been told.
  cancel_pending boolean not null default false,
  updated_date timestamptz not null default clock_timestamp()
);
create index workflow_marks_to_cancel on workflow_marks (workflow_id) where cancel_pending;
