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
  is_active boolean not null,
  -- The next tick of a schedule; null if there is none, or while the automation is not active.
  next_tick_at timestamptz,
  ticks integer not null default 0,
  last_run_at timestamptz,
  last_error text,
  consecutive_failures integer not null default 0,
  created_by uuid references users on delete set null,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  unique (workspace_id, id),
  check ((type = 'entity') = (entity_name is not null and event_types is not null)),
  check ((type = 'scheduled') = (schedule is not null)),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
) with (fillfactor = 70);
create index automations_of_app on automations (workspace_id, app_id, id);
create index automations_of_entity on automations (workspace_id, app_id, entity_name) where is_active;
create index automations_by_tick on automations (next_tick_at) where next_tick_at is not null;
create index automations_of_creator on automations (created_by);

-- One time that an automation does its action. A queue table.
create table automation_runs (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  automation_id uuid not null,
  input json not null,
  depth integer not null default 0,
  cause text,
  created_date timestamptz not null,
  completed_at timestamptz,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz,
  foreign key (workspace_id, automation_id) references automations (workspace_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create unique index automation_runs_by_cause on automation_runs (automation_id, cause) where cause is not null;
create index automation_runs_of_app on automation_runs (workspace_id, app_id);
create index automation_runs_due on automation_runs (due_at) where claimed_slot is null and due_at is not null;
create index automation_runs_of_owner on automation_runs (app_id, due_at) where claimed_slot is null and due_at is not null;
create index automation_runs_claimed on automation_runs (claimed_slot) where claimed_slot is not null;
create index automation_runs_failed on automation_runs (failed_at) where failed_at is not null;
create index automation_runs_finished on automation_runs (created_date) where due_at is null;
