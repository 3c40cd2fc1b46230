-- module: apps
-- A file counts 250 bytes besides its content, the content of a past version 150, and that of a published file 200.
create or replace function app_files_added() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', sum(250 + f.size) from added f join apps a on a.id = f.app_id group by 1;
  return null;
end $$;
create or replace function app_files_removed() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', -sum(250 + f.size) from removed f join apps a on a.id = f.app_id group by 1;
  return null;
end $$;
create or replace function app_past_contents_added() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', sum(150 + c.size) from added c join apps a on a.id = c.app_id group by 1;
  return null;
end $$;
create or replace function app_past_contents_removed() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', -sum(150 + c.size) from removed c join apps a on a.id = c.app_id group by 1;
  return null;
end $$;
create or replace function app_blobs_added() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', sum(200 + b.size) from added b join apps a on a.id = b.app_id group by 1;
  return null;
end $$;
create or replace function app_blobs_removed() returns trigger language plpgsql as $$
begin
  insert into object_removals (key, added_at)
  select format('apps/%s/%s', app_id, id), now() from removed;
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', -sum(200 + b.size) from removed b join apps a on a.id = b.app_id group by 1;
  return null;
end $$;
create or replace function app_purged() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select old.workspace_id, 'files', -sum(bytes)
  from (select 250 + size as bytes from app_files where app_id = old.id
        union all select 200 + size from app_blobs where app_id = old.id
        union all select 150 + size from app_past_contents where app_id = old.id
        union all select 200 + octet_length(name) from app_past_versions where app_id = old.id) stored
  having sum(bytes) > 0;
  return old;
end $$;

-- After the functions, so each row counts once.
lock table app_files, app_past_contents, app_blobs in share row exclusive mode;
insert into storage_changes (workspace_id, kind, bytes)
select a.workspace_id, 'files', sum(r.bytes)
from (select app_id, 250 * count(*) as bytes from app_files group by 1
      union all select app_id, 150 * count(*) from app_past_contents group by 1
      union all select app_id, 200 * count(*) from app_blobs group by 1) r
join apps a on a.id = r.app_id group by 1;
