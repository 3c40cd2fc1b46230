-- module: ads
-- What campaigns may spend a day without an owner or admin having a say, as a workspace's owner has set it. Without a row, the
-- defaults of ceilings/ceiling.ts apply.
create table ads_ceilings (
  workspace_id uuid primary key references workspaces on delete cascade,
  currency_code text not null,
  app_daily_micros bigint not null check (app_daily_micros >= 0),
  workspace_daily_micros bigint not null check (workspace_daily_micros >= 0),
  updated_date timestamptz not null
);
