-- module: automations
-- Automations of apps: one action when records change or at certain times.

create table automations (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  name text not null,
  description text,
  type text not null check (type in ('entity', 'scheduled')),
  entity_name text,
  event_types text[],
  condition text,
  schedule jsonb,
  action jsonb not null,
  -- What the action run_workflow starts. Not a foreign key: the workflow may be removed, and then the runs fail.
  workflow_id uuid,
  is_active boolean not null,
  -- The next tick of a schedule; null if there is none, or while the automation is not active.
  next_tick_at timestamptz,
  -- How many ticks there were since the schedule was last changed.
  ticks integer not null default 0,
  last_run_at timestamptz,
  last_error text,
  consecutive_failures integer not null default 0,
  created_by uuid references users on delete set null,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  unique (workspace_id, id),
  check ((type = 'entity') = (entity_name is not null)),
  check ((type = 'entity') = (event_types is not null)),
  check ((type = 'scheduled') = (schedule is not null)),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
) with (fillfactor = 70);
create index automations_of_app on automations (workspace_id, app_id, id);
create index automations_listening on automations (app_id) where is_active and entity_name is not null;
create index automations_by_tick on automations (next_tick_at) where next_tick_at is not null;
create index automations_of_creator on automations (created_by);

-- One time that an automation does its action. A queue table. Not bound to its automation by a key: what is left of a deleted
-- one does nothing, and is removed piece by piece.
create table automation_runs (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  automation_id uuid not null,
  -- The event that caused it, whose payload is its input; or the tick of the schedule.
  event_id uuid,
  tick_at timestamptz,
  -- The last tick of a schedule: the automation is off already.
  is_last boolean not null default false,
  -- How many automations and workflows are between a person's change and this run.
  depth integer not null default 0,
  created_date timestamptz not null,
  -- How often the action was attempted, and why the last attempt failed.
  attempts integer not null default 0,
  error_message text,
  -- When it ended, with or without success.
  completed_at timestamptz,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz,
  check ((event_id is null) <> (tick_at is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create unique index automation_runs_by_event on automation_runs (automation_id, event_id) where event_id is not null;
create unique index automation_runs_by_tick on automation_runs (automation_id, tick_at) where tick_at is not null;
create index automation_runs_due on automation_runs (due_at) where claimed_slot is null and due_at is not null;
create index automation_runs_of_owner on automation_runs (app_id, due_at) where claimed_slot is null and due_at is not null;
create index automation_runs_claimed on automation_runs (claimed_slot) where claimed_slot is not null;
create index automation_runs_failed on automation_runs (failed_at) where failed_at is not null;
create index automation_runs_finished on automation_runs (completed_at) where completed_at is not null;

-- Mails that warn the people responsible for an app. A queue table, a row for each mail.
create table app_warnings (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  email text not null,
  subject text not null,
  body text not null,
  created_date timestamptz not null,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz,
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index app_warnings_due on app_warnings (due_at) where claimed_slot is null and due_at is not null;
create index app_warnings_of_owner on app_warnings (app_id, due_at) where claimed_slot is null and due_at is not null;
create index app_warnings_claimed on app_warnings (claimed_slot) where claimed_slot is not null;
create index app_warnings_failed on app_warnings (failed_at) where failed_at is not null;
create index app_warnings_of_app on app_warnings (workspace_id, app_id);
create index app_warnings_finished on app_warnings (created_date) where due_at is null;
