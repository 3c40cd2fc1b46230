-- room: webhooks
-- Webhooks of agents and of apps, the bodies they are told, and each delivery: log and queue at once.

create table webhooks (
  workspace_id uuid not null,
  id uuid not null,
  app_id uuid not null,
  -- agent: told of messages. app: told of the app's records.
  scope text not null check (scope in ('agent', 'app')),
  target_url text not null,
  events text[] not null,
  -- Of an app's: the entities it hears of; null: all.
  entity_names text[],
  description text,
  -- Sealed. Null: deliveries are not signed.
  secret text,
  -- After a rotation: still signs beside the new one, until then.
  previous_secret text,
  previous_until timestamptz,
  last_trigger_time timestamptz,
  last_error jsonb,
  consecutive_failures integer not null default 0,
  disabled_at timestamptz,
  -- When the last replay asked for will have been sent: the next one queues behind it.
  replay_until timestamptz,
  -- It was turned on or off, and deliveries are still to be sent on their way or held: a job does that in pieces.
  unsettled boolean not null default false,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
) with (fillfactor = 50);
create index webhooks_of_app on webhooks (app_id);
create index webhooks_unsettled on webhooks (id) where unsettled;
-- Deliveries know their webhook by its id alone.
create unique index webhooks_by_id on webhooks (id);

-- The last number given to a delivery. Apart from the webhook's row, so that giving numbers and noting attempts do not
-- wait for each other.
create table webhook_sequences (
  workspace_id uuid not null,
  webhook_id uuid not null,
  last_sequence bigint not null default 0,
  primary key (webhook_id),
  foreign key (workspace_id, webhook_id) references webhooks (workspace_id, id) on delete cascade
) with (fillfactor = 50);

-- What is told, byte by byte the same for every webhook and at every attempt. Ids are in the order of time, here and in
-- the log: what is too old to be kept is found by them.
create table webhook_bodies (
  workspace_id uuid not null,
  event_id uuid not null,
  body text not null,
  primary key (event_id)
);

-- A queue table (due_at: an attempt is to be made). Not bound to its webhook by a key: the log of a deleted one is removed
-- piece by piece.
create table webhook_deliveries (
  id uuid primary key,
  workspace_id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,
  event_type text not null,
  -- Per webhook, from 1, without a gap, in the order of the event log.
  sequence bigint not null,
  status text not null check (status in ('pending', 'delivered', 'failed', 'held', 'missed', 'expired')),
  -- What the next attempt is; and how many of the schedule were made.
  kind text not null default 'scheduled' check (kind in ('scheduled', 'manual', 'replay')),
  scheduled_attempts integer not null default 0,
  -- When the schedule goes on after an attempt outside of it.
  resume_at timestamptz,
  -- An attempt failed: it counts once among the webhook's consecutive failures.
  counted boolean not null default false,
  attempts_made integer not null default 0,
  -- The newest hundred.
  attempts jsonb not null default '[]',
  last_status_code integer,
  created_date timestamptz not null,
  delivered_at timestamptz,
  -- The workspace and the host it goes to: what may run at once there is bounded.
  lane text not null,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  interruptions integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz
) with (
  fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);
create unique index webhook_deliveries_log on webhook_deliveries (webhook_id, sequence);
create index webhook_deliveries_open on webhook_deliveries (workspace_id, webhook_id, status, sequence)
  where status not in ('delivered', 'pending');
create index webhook_deliveries_due on webhook_deliveries (due_at) where claimed_slot is null and due_at is not null;
create index webhook_deliveries_of_owner on webhook_deliveries (webhook_id, due_at)
  where claimed_slot is null and due_at is not null;
create index webhook_deliveries_claimed on webhook_deliveries (claimed_slot) where claimed_slot is not null;
create index webhook_deliveries_failed on webhook_deliveries (failed_at) where failed_at is not null;

-- Webhooks that are gone and whose log is still to be removed.
create table deleted_webhooks (
  webhook_id uuid primary key,
  app_id uuid not null,
  deleted_date timestamptz not null default clock_timestamp()
);
create function note_deleted_webhooks() returns trigger language plpgsql as $$
begin
  insert into deleted_webhooks (webhook_id, app_id) select id, app_id from gone on conflict do nothing;
  return null;
end $$;
create trigger webhooks_deleted after delete on webhooks referencing old table as gone
  for each statement execute function note_deleted_webhooks();

-- Warnings by mail that a webhook fails or was turned off: a queue table, a row for each mail.
create table webhook_warnings (
  id uuid primary key,
  workspace_id uuid not null,
  webhook_id uuid not null,
  email text not null,
  consecutive_failures integer not null,
  created_date timestamptz not null,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  interruptions integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz,
  foreign key (workspace_id, webhook_id) references webhooks (workspace_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index webhook_warnings_due on webhook_warnings (due_at) where claimed_slot is null and due_at is not null;
create index webhook_warnings_of_owner on webhook_warnings (webhook_id, due_at)
  where claimed_slot is null and due_at is not null;
create index webhook_warnings_claimed on webhook_warnings (claimed_slot) where claimed_slot is not null;
create index webhook_warnings_failed on webhook_warnings (failed_at) where failed_at is not null;
create index webhook_warnings_of_webhook on webhook_warnings (workspace_id, webhook_id);
create index webhook_warnings_over on webhook_warnings (created_date) where due_at is null;
