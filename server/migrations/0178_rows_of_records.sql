-- module: entities
-- A record counts 400 bytes besides its data, for its row and its entries in indexes and keys.
create or replace function entity_records_removed() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'records', -sum(400 + r.size_bytes) from removed r join apps a on a.id = r.app_id group by 1;
  return null;
end $$;

-- After the function, so each record counts once.
lock table entity_records in share row exclusive mode;
insert into storage_changes (workspace_id, kind, bytes)
select a.workspace_id, 'records', 400 * count(*) from entity_records r join apps a on a.id = r.app_id group by 1;
