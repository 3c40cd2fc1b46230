-- module: analytics
-- What analytics keeps counts towards the storage of its workspace. Events are not counted again when they expire: their sizes are
-- added up by app and day, and a day is subtracted as a whole.

-- In the order in which requests lock them, so neither waits for the other.
lock table apps, analytics_users in share row exclusive mode;

alter table storage_changes drop constraint storage_changes_kind_check;
alter table storage_changes add constraint storage_changes_kind_check
  check (kind in ('records', 'files', 'archives', 'analytics'));
alter table storage_usage add column analytics_bytes bigint not null default 0;

-- Rows of an app are changed under the app's lock (lock_analytics_apps), so no two transactions wait for each other here.
create table analytics_sizes (
  workspace_id uuid not null,
  app_id uuid not null,
  -- The day of the events, and of the arrival of their ids; `infinity` for the app's users.
  day date not null,
  bytes bigint not null,
  primary key (app_id, day)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index analytics_sizes_of_workspace on analytics_sizes (workspace_id);
create index analytics_sizes_by_day on analytics_sizes (day);

create function count_analytics_sizes() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into storage_changes (workspace_id, kind, bytes)
    select workspace_id, 'analytics', sum(bytes) from added group by 1;
  elsif tg_op = 'DELETE' then
    insert into storage_changes (workspace_id, kind, bytes)
    select workspace_id, 'analytics', -sum(bytes) from removed group by 1;
  else
    insert into storage_changes (workspace_id, kind, bytes)
    select workspace_id, 'analytics', sum(bytes) from (
      select workspace_id, bytes from added union all select workspace_id, -bytes from removed) changed
    group by 1;
  end if;
  return null;
end $$;
create trigger sizes_added after insert on analytics_sizes referencing new table as added
  for each statement execute function count_analytics_sizes();
create trigger sizes_changed after update on analytics_sizes referencing old table as removed new table as added
  for each statement execute function count_analytics_sizes();
create trigger sizes_removed after delete on analytics_sizes referencing old table as removed
  for each statement execute function count_analytics_sizes();

-- A user takes 300 bytes and its id: the row, its entries in three indexes, and its part in the counts.
create function count_analytics_user_bytes() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into analytics_sizes as s (workspace_id, app_id, day, bytes)
    select a.workspace_id, a.id, 'infinity', sum(300 + octet_length(n.user_id))
    from new_rows n join apps a on a.id = n.app_id group by 1, 2 order by 2
    on conflict (app_id, day) do update set bytes = s.bytes + excluded.bytes;
  else
    update analytics_sizes s set bytes = s.bytes - r.bytes
    from (select app_id, sum(300 + octet_length(user_id)) as bytes from old_rows group by 1) r
    where s.app_id = r.app_id and s.day = 'infinity';
  end if;
  return null;
end $$;
create trigger count_inserted_bytes after insert on analytics_users referencing new table as new_rows
  for each statement execute function count_analytics_user_bytes();
create trigger count_removed_bytes after delete on analytics_users referencing old table as old_rows
  for each statement execute function count_analytics_user_bytes();
-- The triggers' locks keep users from being added or removed until all of them are counted.
insert into analytics_sizes (workspace_id, app_id, day, bytes)
select a.workspace_id, a.id, 'infinity', sum(300 + octet_length(u.user_id))
from analytics_users u join apps a on a.id = u.app_id group by 1, 2;

-- The events of a purged app are removed later, piece by piece, and nobody can add to them.
create function forget_analytics_sizes() returns trigger language plpgsql as $$
begin
  delete from analytics_sizes where app_id in (select id from gone);
  return null;
end $$;
create trigger forget_analytics_sizes after delete on apps referencing old table as gone
  for each statement execute function forget_analytics_sizes();
