-- module: workflows
-- Workflows of apps: their definitions, their runs with every step, and the explanations of failed runs.

create table workflows (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  name text not null,
  description text,
  status text not null check (status in ('active', 'inactive', 'archived')),
  -- Why the platform made it inactive; null if a person did, or if it is active.
  status_reason text check (
    status_reason in ('consecutive_failures', 'end_condition_reached', 'workflows_not_available', 'definition_invalid')),
  trigger jsonb not null,
  trigger_type text not null check (
    trigger_type in ('manual', 'entity', 'scheduled', 'webhook', 'app_publish', 'agent_message', 'event')),
  -- What the trigger waits for: the name of the entity, the id of the agent, or the type of the event.
  trigger_key text,
  -- Entities that the trigger or the current definition names, other than by an expression.
  entity_names text[] not null default '{}',
  current_version_id text not null check (current_version_id ~ '^[0-9a-f]{64}$'),
  -- For the trigger webhook: the token in its address, to find the workflow by, and to show it to editors.
  hook_token_hash text unique,
  hook_token_sealed text,
  -- For the trigger scheduled: the next tick; null if there is none, or while the workflow is not active.
  next_tick_at timestamptz,
  -- How many ticks have started a run, since the trigger was last changed.
  ticks integer not null default 0,
  total_runs bigint not null default 0,
  consecutive_failures integer not null default 0,
  last_run_at timestamptz,
  -- How the run that ended last has ended.
  last_run_status text check (last_run_status in ('completed', 'failed', 'cancelled')),
  -- Who created it; null if that person's account was removed, or for a workspace key.
  created_by uuid references users on delete set null,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  unique (workspace_id, id),
  check (status <> 'active' or status_reason is null),
  -- An imported workflow gets its token when it is made active.
  check (hook_token_hash is null or trigger_type = 'webhook'),
  check (status <> 'active' or trigger_type <> 'webhook' or hook_token_hash is not null),
  check ((hook_token_hash is null) = (hook_token_sealed is null)),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
) with (fillfactor = 70); -- every run changes its counters
create unique index workflows_by_name on workflows (workspace_id, app_id, name) where status <> 'archived';
create index workflows_of_app on workflows (workspace_id, app_id, id);
create index workflows_by_trigger on workflows (workspace_id, app_id, trigger_type, trigger_key) where status = 'active';
create index workflows_by_agent on workflows (trigger_key) where status = 'active' and trigger_type = 'agent_message';
create index workflows_by_tick on workflows (next_tick_at) where next_tick_at is not null;
create index workflows_of_creator on workflows (created_by);

-- Every definition that a workflow has had. Its id is the SHA-256 of the definition in canonical form.
create table workflow_versions (
  workspace_id uuid not null,
  workflow_id uuid not null,
  version_id text not null,
  -- As it was sent: json keeps the order of keys.
  definition json not null,
  change_summary text,
  created_by uuid references users on delete set null,
  created_date timestamptz not null,
  primary key (workspace_id, workflow_id, version_id),
  foreign key (workspace_id, workflow_id) references workflows (workspace_id, id) on delete cascade
);
create index workflow_versions_of_creator on workflow_versions (created_by);

-- An event for which workflows of the app may wait: a worker finds out which of them it starts. A queue table. Dispatching an
-- event only inserts this row, so that conditions and large inputs of one app do not delay the events of others.
create table workflow_events (
  id uuid primary key, -- the id of the event
  workspace_id uuid not null,
  app_id uuid not null,
  -- The workflows up to this id were compared with the event: a claim handles only some of them.
  handled_up_to uuid,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index workflow_events_due on workflow_events (due_at) where claimed_slot is null and due_at is not null;
create index workflow_events_of_owner on workflow_events (app_id, due_at) where claimed_slot is null and due_at is not null;
create index workflow_events_claimed on workflow_events (claimed_slot) where claimed_slot is not null;
create index workflow_events_failed on workflow_events (failed_at) where failed_at is not null;
create index workflow_events_handled on workflow_events (id) where due_at is null and failed_at is null;

-- A run of a workflow. A queue table: while the run waits, due_at is when it goes on.
create table workflow_runs (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  workflow_id uuid not null,
  workflow_name text not null,
  version_id text not null,
  trigger_type text not null check (
    trigger_type in ('manual', 'entity', 'scheduled', 'webhook', 'app_publish', 'agent_message', 'event')),
  is_test_run boolean not null default false,
  status text not null default 'running' check (status in ('running', 'cancelling', 'completed', 'failed', 'cancelled')),
  status_reason text check (
    status_reason in ('insufficient_credits', 'timeout', 'step_limit', 'loop_stopped', 'cancelled_by_user')),
  input json not null,
  -- How many workflows and automations are between a person's change and this run.
  depth integer not null default 0,
  -- What identifies the cause of the run, so that a trigger that is handled twice starts it once.
  cause text,
  -- Who started it by hand, whose credit limit applies; null if a trigger did, or if that person's account was removed.
  started_by uuid references users on delete set null,
  started_at timestamptz not null,
  -- When a worker first ran it, and charged for it.
  begun_at timestamptz,
  completed_at timestamptz,
  steps_count integer not null default 0,
  error_message text,
  -- Of a failed run: which step failed, and how.
  failed_step integer,
  failure jsonb,
  -- Where the run is, to go on from there. Null before the first step and after the end.
  state json,
  -- The same, encrypted: for definitions that read secrets.
  state_sealed text,
  -- The credits of a call that has begun and has no step yet. The next claim uses them, or the end of the run gives them back.
  reservation_id uuid,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz,
  check ((status in ('running', 'cancelling')) = (completed_at is null)),
  foreign key (workspace_id, workflow_id) references workflows (workspace_id, id) on delete cascade
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create unique index workflow_runs_by_cause on workflow_runs (workflow_id, cause) where cause is not null;
create index workflow_runs_of_starter on workflow_runs (started_by) where started_by is not null;
create index workflow_runs_of_app on workflow_runs (workspace_id, app_id, started_at desc, id desc);
create index workflow_runs_of_workflow on workflow_runs (workspace_id, workflow_id, started_at desc, id desc);
create index workflow_runs_running on workflow_runs (workspace_id, app_id) where completed_at is null;
create index workflow_runs_due on workflow_runs (due_at) where claimed_slot is null and due_at is not null;
create index workflow_runs_of_owner on workflow_runs (app_id, due_at) where claimed_slot is null and due_at is not null;
create index workflow_runs_claimed on workflow_runs (claimed_slot) where claimed_slot is not null;
create index workflow_runs_failed on workflow_runs (failed_at) where failed_at is not null;
create index workflow_runs_finished on workflow_runs (completed_at) where completed_at is not null;

-- A step: one task of a run, executed once. The row is written in the statement that moves the run on, so that it is both the
-- record of what happened and the checkpoint from which a run goes on after a crash.
create table workflow_steps (
  workspace_id uuid not null,
  run_id uuid not null references workflow_runs on delete cascade,
  number integer not null,
  task_path text not null,
  name text not null,
  task_type text not null,
  status text not null check (status in ('running', 'completed', 'failed', 'skipped', 'cancelled')),
  attempt integer not null default 1,
  started_at timestamptz not null,
  completed_at timestamptz,
  -- Secrets are masked, and long values cut.
  input json,
  output json,
  error jsonb,
  primary key (run_id, number)
);

-- The explanation of a failed run that a language model wrote.
create table workflow_analyses (
  workspace_id uuid not null,
  run_id uuid primary key references workflow_runs on delete cascade,
  explanation text not null check (explanation <> ''),
  model text not null,
  prompt_version integer not null,
  input_hash text not null,
  generated_at timestamptz not null
);

-- Who is generating an explanation. A lease that has expired belongs to a process that crashed.
create table workflow_analysis_leases (
  workspace_id uuid not null,
  run_id uuid primary key references workflow_runs on delete cascade,
  holder uuid not null,
  expires_at timestamptz not null
);
