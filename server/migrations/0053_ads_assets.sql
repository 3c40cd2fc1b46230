-- module: ads
-- Generated texts and images of ads.

-- One call of generateAssets: both the record of the work and its queue. Removed when it has expired; its assets stay.
create table ads_asset_sessions (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  channel_type text not null check (channel_type in ('SEARCH', 'DISPLAY', 'PERFORMANCE_MAX', 'DEMAND_GEN')),
  language text not null,
  -- What is advertised, as it was when the call was made: name, description, page, colour and logo.
  brief jsonb not null,
  -- writing: the model has not written the texts yet. drawing: there are texts, and rows for the images. ended: all images are made or
  -- failed. failed: there are no texts, and nothing was charged.
  state text not null check (state in ('writing', 'drawing', 'ended', 'failed')),
  reservation_id uuid not null,
  created_date timestamptz not null,
  -- From then on the session reads as empty.
  expires_at timestamptz not null,
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
create index ads_asset_sessions_of_app on ads_asset_sessions (workspace_id, app_id);
create index ads_asset_sessions_expired on ads_asset_sessions (expires_at) where due_at is null;
create index ads_asset_sessions_due on ads_asset_sessions (due_at) where claimed_slot is null and due_at is not null;
create index ads_asset_sessions_of_owner on ads_asset_sessions (workspace_id, due_at)
  where claimed_slot is null and due_at is not null;
create index ads_asset_sessions_claimed on ads_asset_sessions (claimed_slot) where claimed_slot is not null;
create index ads_asset_sessions_failed on ads_asset_sessions (failed_at) where failed_at is not null;

-- A text or an image. `position` is its place in the session.
create table ads_assets (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  session_id uuid not null,
  position integer not null,
  slot text not null check (slot in ('HEADLINE', 'LONG_HEADLINE', 'DESCRIPTION',
    'LANDSCAPE_IMAGE', 'SQUARE_IMAGE', 'PORTRAIT_IMAGE', 'TALL_PORTRAIT_IMAGE')),
  kind text not null check (kind in ('text', 'image')),
  text text,
  -- The name of the image in the object storage and in its address, chosen before it is drawn, so that drawing it again leaves no other
  -- file behind. It can't be guessed: whoever knows it may fetch the image.
  file_name text unique,
  width integer,
  height integer,
  size_bytes integer not null default 0,
  language text not null,
  status text not null check (status in ('processing', 'ready', 'accepted', 'failed')),
  accepted_campaign_id uuid,
  accepted_resource_names text[] not null default '{}',
  created_date timestamptz not null,
  unique (workspace_id, session_id, position),
  check ((kind = 'text') = (text is not null)),
  check ((kind = 'image') = (width is not null and height is not null)),
  check ((kind = 'image') = (file_name is not null)),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create index ads_assets_of_app on ads_assets (workspace_id, app_id, created_date desc, session_id desc, position);

-- ---- storage: images are counted with the files, and removed from the object storage with their row

create function ads_assets_drawn() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select n.workspace_id, 'files', sum(n.size_bytes - o.size_bytes) from changed n join before_change o using (id)
  group by 1 having sum(n.size_bytes - o.size_bytes) <> 0;
  return null;
end $$;
create trigger ads_assets_drawn after update on ads_assets
  referencing old table as before_change new table as changed for each statement execute function ads_assets_drawn();

create function ads_assets_removed() returns trigger language plpgsql as $$
begin
  insert into object_removals (key, added_at)
  select 'ad-images/' || file_name, now() from removed where file_name is not null;
  insert into storage_changes (workspace_id, kind, bytes)
  select workspace_id, 'files', -sum(size_bytes) from removed group by 1 having sum(size_bytes) <> 0;
  return null;
end $$;
create trigger ads_assets_removed after delete on ads_assets
  referencing old table as removed for each statement execute function ads_assets_removed();
