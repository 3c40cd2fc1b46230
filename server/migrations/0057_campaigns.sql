-- module: ads
-- Campaigns, the launches that create them, the changes that were asked for, and what was sent to the ad platform.

-- A campaign is listed before the platform is asked to create it, so that nothing can spend that is not listed.
create table ads_campaigns (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  -- The launch that creates it. Null for a campaign that was found at the platform.
  launch_id uuid,
  -- Empty until the platform has answered that it exists.
  platform_campaign_id text not null,
  campaign_name text not null,
  campaign_type text not null check (campaign_type in ('SMART', 'PERFORMANCE_MAX')),
  status text not null check (status in ('ENABLED', 'PAUSED', 'REMOVED')),
  daily_budget_micros bigint not null,
  landing_page text not null,
  geo_targets text[] not null,
  excluded_geo_targets text[] not null,
  phone_number text not null,
  -- As the platform last answered.
  review_status text not null,
  serving_status text not null,
  primary_status text not null,
  platform_reasons text[] not null default '{}',
  -- Why we keep it paused, or that its launch is not confirmed: SERVICE_TRACKING_PENDING and the like.
  own_reasons text[] not null default '{}',
  status_read_at timestamptz,
  first_enabled_at timestamptz,
  -- Since it was created, as the platform last answered.
  impressions bigint not null default 0,
  clicks bigint not null default 0,
  cost_micros bigint not null default 0,
  conversions double precision not null default 0,
  metrics_read_at timestamptz,
  -- Until then its status is compared with the platform every few seconds: a request without an answer may still arrive there.
  watched_until timestamptz,
  -- When it last had its turn to be compared, also if the platform did not answer.
  watch_read_at timestamptz,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  check (platform_campaign_id <> '' or launch_id is not null),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create unique index ads_campaigns_at_platform on ads_campaigns (workspace_id, app_id, platform_campaign_id)
  where platform_campaign_id <> '';
create index ads_campaigns_of_app on ads_campaigns (workspace_id, app_id, created_date desc, id desc);
create index ads_campaigns_watched on ads_campaigns (watched_until) where watched_until is not null;
create index ads_campaigns_read on ads_campaigns (status, status_read_at nulls first)
  where status <> 'REMOVED' and platform_campaign_id <> '';
create index ads_campaigns_waiting_for_tracking on ads_campaigns (app_id)
  where own_reasons = '{SERVICE_TRACKING_PENDING}' and status = 'PAUSED';

-- One launch: the record of the work and its queue. docs/internals/launches.md has the states and what follows from each.
create table ads_launches (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  -- Its row is removed if the launch creates nothing.
  campaign_id uuid not null,
  -- What was launched: the hash of the caller's draft_id, key or content. Only one launch of it can be current.
  identity text not null,
  generation integer not null,
  is_current boolean not null default true,
  -- Part of the campaign's name at the platform, by which it is found again.
  launch_key text not null,
  state text not null check (state in ('recorded', 'account_sent', 'account_ready', 'create_sent', 'created', 'enable_sent',
    'unknown', 'live', 'held', 'refused', 'absent')),
  -- With the state unknown: which request had no answer.
  unknown_request text check (unknown_request in ('create', 'enable')),
  -- All that is sent: the campaign with its defaults and texts, and the addresses of its images.
  content jsonb not null,
  start_paused boolean not null,
  -- For an account that is created.
  timezone text not null,
  account_created boolean not null default false,
  -- Why it was refused: {"code", "platform_reasons"}.
  failure jsonb,
  sent_at timestamptz,
  read_at timestamptz,
  empty_reads integer not null default 0,
  -- Who asked for it.
  user_id uuid,
  created_date timestamptz not null,
  ended_date timestamptz,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz,
  check ((state = 'unknown') = (unknown_request is not null)),
  check ((state in ('live', 'held', 'refused', 'absent')) = (ended_date is not null)),
  unique (workspace_id, app_id, identity, generation),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create unique index ads_launches_current on ads_launches (workspace_id, app_id, identity) where is_current;
create index ads_launches_of_campaign on ads_launches (campaign_id);
create index ads_launches_unfinished on ads_launches (state, created_date) where ended_date is null;
create index ads_launches_due on ads_launches (due_at) where claimed_slot is null and due_at is not null;
create index ads_launches_of_owner on ads_launches (workspace_id, due_at) where claimed_slot is null and due_at is not null;
create index ads_launches_claimed on ads_launches (claimed_slot) where claimed_slot is not null;
create index ads_launches_failed on ads_launches (failed_at) where failed_at is not null;

-- One change of a campaign that exists: the record of the work and its queue. The changes of a campaign are applied in their order.
create table ads_changes (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  campaign_id uuid not null references ads_campaigns on delete cascade,
  -- The order in which changes were asked for.
  number bigint generated always as identity,
  kind text not null check (kind in ('pause', 'resume', 'remove', 'update', 'accept_asset')),
  -- What is kept in own_reasons while the campaign is paused by this change.
  reasons text[] not null default '{}',
  -- The field and value of an update, and the asset that is accepted.
  content jsonb not null default '{}',
  -- recorded: nothing was sent. sent: a request was sent. unknown: it had no answer, and the platform is read until it is known.
  -- superseded: a later change made it unnecessary.
  state text not null check (state in ('recorded', 'sent', 'unknown', 'applied', 'refused', 'superseded')),
  -- How many times it was sent.
  sent_count integer not null default 0,
  -- Why it was refused: {"code", "platform_reasons"}.
  failure jsonb,
  -- False: Plinth asked for it itself.
  is_by_caller boolean not null,
  created_date timestamptz not null,
  ended_date timestamptz,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz,
  check ((state in ('applied', 'refused', 'superseded')) = (ended_date is not null)),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index ads_changes_of_campaign on ads_changes (campaign_id, number);
create index ads_changes_ended on ads_changes (ended_date) where ended_date is not null;
create index ads_changes_due on ads_changes (due_at) where claimed_slot is null and due_at is not null;
create index ads_changes_of_owner on ads_changes (workspace_id, due_at) where claimed_slot is null and due_at is not null;
create index ads_changes_claimed on ads_changes (claimed_slot) where claimed_slot is not null;
create index ads_changes_failed on ads_changes (failed_at) where failed_at is not null;

-- What was sent to the platform for a campaign, and what it answered. Only added to.
create table ads_journal (
  workspace_id uuid not null,
  app_id uuid not null,
  campaign_id uuid not null,
  number integer not null,
  name text not null,
  at timestamptz not null,
  outcome text not null check (outcome in ('applied', 'refused', 'unknown', 'skipped')),
  platform_request_id text,
  detail text not null,
  primary key (campaign_id, number),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create index ads_journal_of_app on ads_journal (workspace_id, app_id);

-- All campaigns of an account are compared with the platform every hour, and every 15 minutes if one is enabled.
alter table ads_accounts
  add column synced_at timestamptz,
  -- Also if the platform did not answer.
  add column sync_tried_at timestamptz,
  -- How many campaigns differed when they were last compared, by kind: {"status": 1}.
  add column difference jsonb not null default '{}',
  -- When its tracking was last verified without a caller, and whether the app was published since.
  add column tracking_tried_at timestamptz,
  add column is_tracking_due boolean not null default false;

-- Apps that are not purged yet: a campaign is or may be enabled, and whoever finds it at the platform must find its app here. That none
-- is enabled counts only if it was compared lately: somebody may have enabled one at the platform itself.
create view apps_holding_campaigns as
  select app_id from ads_campaigns where status = 'ENABLED'
  union all select app_id from ads_launches where ended_date is null
  union all select app_id from ads_changes where ended_date is null
  union all select app_id from ads_accounts a
    where status <> 'CLOSED' and platform_customer_id is not null
      and (synced_at is null or synced_at < now() - interval '2 hours')
      and (exists (select from ads_campaigns c where c.workspace_id = a.workspace_id and c.app_id = a.app_id)
        or exists (select from ads_launches l where l.workspace_id = a.workspace_id and l.app_id = a.app_id));
