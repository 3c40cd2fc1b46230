-- module: ads
call count_stored('ads_asset_sessions', 'ads', '900 + octet_length(brief::text)');
call count_stored('ads_campaigns', 'ads',
  '1000 + octet_length(campaign_name) + octet_length(landing_page) + octet_length(geo_targets::text)
    + octet_length(excluded_geo_targets::text)',
  'campaign_name, landing_page, geo_targets, excluded_geo_targets');
call count_stored('ads_launches', 'ads', '1200 + octet_length(content::text)', 'content');
call count_stored('ads_changes', 'ads', '1000 + octet_length(content::text)');
call count_stored('ads_journal', 'ads', '250 + octet_length(detail)');

-- Images of ads counted before, but not the rows and the texts. The image is removed from the object storage with its row.
drop trigger ads_assets_drawn on ads_assets;
drop function ads_assets_drawn;
create or replace function ads_assets_removed() returns trigger language plpgsql as $$
begin
  insert into object_removals (key, added_at)
  select 'ad-images/' || file_name, now() from removed where file_name is not null;
  return null;
end $$;
call count_stored('ads_assets', 'files', '500 + size_bytes + coalesce(octet_length(text), 0)', 'size_bytes, text', 'size_bytes');
