-- module: ads
-- Generated assets are removed after 90 days unless a campaign uses them, and a session remembers that its logo could not be used.

alter table ads_asset_sessions add column is_logo_missing boolean not null default false;

create index ads_assets_old on ads_assets (created_date) where status <> 'accepted';
