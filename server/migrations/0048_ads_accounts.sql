-- module: ads
-- Advertising accounts of apps at the ad platform.

-- An app has at most one account. The row exists before the platform is asked for it, so that an account that was created without
-- an answer is found again by its name.
create table ads_accounts (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  -- recorded: nothing was sent. sent: the request was sent, and its outcome is not known yet. ready: the account exists.
  state text not null check (state in ('recorded', 'sent', 'ready')),
  -- The name at the platform, which no other account has.
  account_name text not null,
  currency_code text not null,
  timezone text not null,
  platform_customer_id text unique,
  -- As the platform last answered.
  status text not null check (status in ('ACTIVE', 'PENDING', 'SUSPENDED', 'CLOSED')),
  status_read_at timestamptz,
  -- When the request was sent, when the platform was last asked for its outcome, and how often it had no such account.
  sent_at timestamptz,
  read_at timestamptz,
  empty_reads integer not null default 0,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  unique (workspace_id, app_id),
  check ((state = 'ready') = (platform_customer_id is not null)),
  check ((state = 'sent') <= (sent_at is not null)),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create index ads_accounts_sent on ads_accounts (sent_at) where state = 'sent';
