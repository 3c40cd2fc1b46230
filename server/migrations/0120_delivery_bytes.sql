-- module: webhooks
-- The log of deliveries counts towards the storage of its workspace. Deliveries and bodies that were stored before this count
-- nothing, also when they are removed: their `size_bytes` is 0, and their `deliveries` is null.

-- In the order in which the fan-out locks them, so neither waits for the other.
lock table webhook_bodies, webhook_deliveries in share row exclusive mode;

alter table storage_changes drop constraint storage_changes_kind_check;
alter table storage_changes add constraint storage_changes_kind_check
  check (kind in ('records', 'files', 'archives', 'analytics', 'answers', 'deliveries'));
alter table storage_usage add column deliveries_bytes bigint not null default 0;

-- How many deliveries have this body. It is removed with the last of them.
alter table webhook_bodies add column deliveries integer;
-- 600 bytes for the row, its entries in indexes and its first attempt, and what further attempts take. The second statement leaves
-- the rows that exist as they are.
alter table webhook_deliveries add column size_bytes integer not null default 0;
alter table webhook_deliveries alter column size_bytes set default 600;
-- To count what the log of a deleted webhook takes until it is removed.
alter table deleted_webhooks add column workspace_id uuid;
create or replace function note_deleted_webhooks() returns trigger language plpgsql as $$
begin
  insert into deleted_webhooks (webhook_id, app_id, workspace_id) select id, app_id, workspace_id from gone on conflict do nothing;
  return null;
end $$;

create function count_delivery_bodies() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into storage_changes (workspace_id, kind, bytes)
    select workspace_id, 'deliveries', sum(150 + octet_length(body)) from added where deliveries is not null group by 1;
  else
    insert into storage_changes (workspace_id, kind, bytes)
    select workspace_id, 'deliveries', -sum(150 + octet_length(body)) from removed where deliveries is not null group by 1;
  end if;
  return null;
end $$;
create trigger stored_added after insert on webhook_bodies referencing new table as added
  for each statement execute function count_delivery_bodies();
create trigger stored_removed after delete on webhook_bodies referencing old table as removed
  for each statement execute function count_delivery_bodies();

create function count_deliveries() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into storage_changes (workspace_id, kind, bytes)
    select workspace_id, 'deliveries', sum(size_bytes) from added group by 1;
  else
    insert into storage_changes (workspace_id, kind, bytes)
    select workspace_id, 'deliveries', -sum(size_bytes) from removed group by 1 having sum(size_bytes) > 0;
  end if;
  return null;
end $$;
create trigger stored_added after insert on webhook_deliveries referencing new table as added
  for each statement execute function count_deliveries();
create trigger stored_removed after delete on webhook_deliveries referencing old table as removed
  for each statement execute function count_deliveries();

-- For each row, because most updates do not change the size: a delivery's first attempt does not, unless it fails.
create function count_changed_delivery() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  values (new.workspace_id, 'deliveries', new.size_bytes - old.size_bytes);
  return null;
end $$;
create trigger stored_changed after update of size_bytes on webhook_deliveries for each row
  when (new.size_bytes <> old.size_bytes) execute function count_changed_delivery();
