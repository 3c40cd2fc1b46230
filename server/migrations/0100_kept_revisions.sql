-- module: apps
-- What apps were: their revisions, and the files, schemas and headers that a later revision replaced or removed. The present ones stay in
-- app_files, entity_schemas and app_security_settings.

create table app_revisions (
  app_id uuid not null references apps on delete cascade,
  revision integer not null,
  -- `baseline`: the state that was found when revisions began to be kept.
  cause text not null check (
    cause in ('create', 'baseline', 'chat', 'file', 'sync', 'schema', 'headers', 'restore', 'fix')
  ),
  -- An e-mail address, or the name of a workspace key. Null if it is not known.
  actor text,
  -- The chat message that asked for it.
  message_id uuid,
  summary text,
  restored_revision integer,
  files_added integer not null default 0,
  files_changed integer not null default 0,
  files_removed integer not null default 0,
  entities text[] not null default '{}',
  headers_changed boolean not null default false,
  -- False once its contents were given up because the storage quota was full.
  is_kept boolean not null default true,
  created_date timestamptz(3) not null,
  primary key (app_id, revision)
);

-- When to look for revisions of an app that need not be kept any longer.
create table app_revision_purges (
  app_id uuid primary key references apps on delete cascade,
  due_at timestamptz not null
);
create index app_revision_purges_due on app_revision_purges (due_at);

-- The contents of past versions, each once per app.
create table app_past_contents (
  app_id uuid not null references apps on delete cascade,
  sha256 text not null,
  content bytea not null,
  size integer not null,
  primary key (app_id, sha256)
);

-- What revisions from `since_revision` until before `until_revision` had under this name: a path, the name of an entity, or nothing for the
-- headers. Written and removed only while the app's row is locked.
create table app_past_versions (
  app_id uuid not null references apps on delete cascade,
  kind text not null check (kind in ('file', 'entity', 'headers')),
  name text collate "C" not null,
  since_revision integer not null,
  until_revision integer not null check (until_revision > since_revision),
  sha256 text not null,
  size integer not null,
  encoding text not null check (encoding in ('utf-8', 'base64')),
  updated_date timestamptz not null,
  primary key (app_id, kind, name, until_revision),
  foreign key (app_id, sha256) references app_past_contents
);
create index app_past_versions_until on app_past_versions (app_id, until_revision);
create index app_past_versions_of_content on app_past_versions (app_id, sha256);

-- ---- since which revision the present state is as it is; 0 for what was there before revisions were kept

alter table app_files add column since_revision integer not null default 0;
alter table app_security_settings add column since_revision integer not null default 0;

create function since_this_revision() returns trigger language plpgsql as $$
begin
  new.since_revision := coalesce((select revision from apps where id = new.app_id), 0);
  return new;
end $$;
-- An import knows the revision; every other insert leaves it to this.
create trigger app_file_since before insert on app_files
  for each row when (new.since_revision = 0) execute function since_this_revision();
create trigger app_file_since_change before update on app_files
  for each row when ((old.sha256, old.encoding) is distinct from (new.sha256, new.encoding))
  execute function since_this_revision();
create trigger app_headers_since before insert on app_security_settings
  for each row when (new.since_revision = 0) execute function since_this_revision();
create trigger app_headers_since_change before update on app_security_settings
  for each row when (
    (old.csp, old.hsts, old.frame_options, old.content_type_options, old.referrer_policy, old.permissions_policy)
    is distinct from
    (new.csp, new.hsts, new.frame_options, new.content_type_options, new.referrer_policy, new.permissions_policy))
  execute function since_this_revision();

-- ---- files

create function app_files_in_revision_added() returns trigger language plpgsql as $$
begin
  update app_revisions r set files_added = files_added + n.count
  from (select app_id, since_revision, count(*) as count from added group by 1, 2) n
  where r.app_id = n.app_id and r.revision = n.since_revision;
  return null;
end $$;
create trigger app_files_in_revision_added after insert on app_files
  referencing new table as added for each statement execute function app_files_in_revision_added();

create function app_files_in_revision_changed() returns trigger language plpgsql as $$
begin
  insert into app_past_contents (app_id, sha256, content, size)
  select o.app_id, o.sha256, o.content, o.size from removed o join added n on n.app_id = o.app_id and n.path = o.path
  where n.since_revision > o.since_revision on conflict do nothing;
  insert into app_past_versions (app_id, kind, name, since_revision, until_revision, sha256, size, encoding, updated_date)
  select o.app_id, 'file', o.path, o.since_revision, n.since_revision, o.sha256, o.size, o.encoding, o.updated_date
  from removed o join added n on n.app_id = o.app_id and n.path = o.path where n.since_revision > o.since_revision;
  update app_revisions r set files_changed = files_changed + c.count
  from (select n.app_id, n.since_revision, count(*) as count
        from removed o join added n on n.app_id = o.app_id and n.path = o.path
        where n.since_revision > o.since_revision group by 1, 2) c
  where r.app_id = c.app_id and r.revision = c.since_revision;
  return null;
end $$;
create trigger app_files_in_revision_changed after update on app_files
  referencing old table as removed new table as added for each statement execute function app_files_in_revision_changed();

-- When an app is purged, its row is gone before its files, and nothing is kept.
create function app_files_in_revision_removed() returns trigger language plpgsql as $$
begin
  insert into app_past_contents (app_id, sha256, content, size)
  select o.app_id, o.sha256, o.content, o.size from removed o join apps a on a.id = o.app_id
  where a.revision > o.since_revision on conflict do nothing;
  insert into app_past_versions (app_id, kind, name, since_revision, until_revision, sha256, size, encoding, updated_date)
  select o.app_id, 'file', o.path, o.since_revision, a.revision, o.sha256, o.size, o.encoding, o.updated_date
  from removed o join apps a on a.id = o.app_id where a.revision > o.since_revision;
  update app_revisions r set files_removed = files_removed + c.count
  from (select o.app_id, a.revision, count(*) as count from removed o join apps a on a.id = o.app_id group by 1, 2) c
  where r.app_id = c.app_id and r.revision = c.revision;
  return null;
end $$;
create trigger app_files_in_revision_removed after delete on app_files
  referencing old table as removed for each statement execute function app_files_in_revision_removed();

-- ---- schemas and headers

create function keep_past_version(
  of_app uuid, of_kind text, of_name text, since integer, until integer, content text, changed timestamptz
) returns void language sql as $$
  insert into app_past_contents (app_id, sha256, content, size)
  select of_app, encode(sha256(bytes), 'hex'), bytes, length(bytes)
  from (select convert_to(content, 'UTF8') as bytes) c where until > since on conflict do nothing;
  insert into app_past_versions (app_id, kind, name, since_revision, until_revision, sha256, size, encoding, updated_date)
  select of_app, of_kind, of_name, since, until, encode(sha256(bytes), 'hex'), length(bytes), 'utf-8', changed
  from (select convert_to(content, 'UTF8') as bytes) c where until > since;
$$;

create function entity_schema_in_revision() returns trigger language plpgsql as $$
declare
  changed_in integer;
begin
  if tg_op = 'DELETE' then
    select revision into changed_in from apps where id = old.app_id;
    if changed_in is null then return null; end if; -- the app is being purged
  else
    changed_in := new.revision;
  end if;
  if tg_op <> 'INSERT' then
    perform keep_past_version(old.app_id, 'entity', old.name, old.revision, changed_in, old.document::text,
      old.updated_date);
  end if;
  update app_revisions set entities = entities || coalesce(new.name, old.name)
  where app_id = coalesce(new.app_id, old.app_id) and revision = changed_in
    and not coalesce(new.name, old.name) = any(entities);
  return null;
end $$;
create trigger entity_schema_in_revision after insert or update or delete on entity_schemas
  for each row execute function entity_schema_in_revision();

create function app_headers_in_revision() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    perform keep_past_version(old.app_id, 'headers', '', old.since_revision, new.since_revision,
      (to_jsonb(old) - '{app_id,since_revision,static_code_enabled}'::text[])::text, now());
  end if;
  update app_revisions set headers_changed = true where app_id = new.app_id and revision = new.since_revision;
  return null;
end $$;
create trigger app_headers_in_revision_added after insert on app_security_settings
  for each row execute function app_headers_in_revision();
create trigger app_headers_in_revision_changed after update on app_security_settings
  for each row when (new.since_revision > old.since_revision) execute function app_headers_in_revision();

-- ---- storage: counted with the files. A version counts its name and 200 bytes.

create function app_past_contents_added() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', sum(c.size) from added c join apps a on a.id = c.app_id group by 1;
  return null;
end $$;
create trigger app_past_contents_added after insert on app_past_contents
  referencing new table as added for each statement execute function app_past_contents_added();
create function app_past_contents_removed() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', -sum(c.size) from removed c join apps a on a.id = c.app_id group by 1;
  return null;
end $$;
create trigger app_past_contents_removed after delete on app_past_contents
  referencing old table as removed for each statement execute function app_past_contents_removed();

create function app_past_versions_added() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', sum(200 + octet_length(v.name)) from added v join apps a on a.id = v.app_id group by 1;
  return null;
end $$;
create trigger app_past_versions_added after insert on app_past_versions
  referencing new table as added for each statement execute function app_past_versions_added();
create function app_past_versions_removed() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', -sum(200 + octet_length(v.name)) from removed v join apps a on a.id = v.app_id
  group by 1;
  return null;
end $$;
create trigger app_past_versions_removed after delete on app_past_versions
  referencing old table as removed for each statement execute function app_past_versions_removed();

-- When an app is purged, these are deleted after it, and their triggers no longer find its workspace.
create or replace function app_purged() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select old.workspace_id, 'files', -sum(size)
  from (select size from app_files where app_id = old.id
        union all select size from app_blobs where app_id = old.id
        union all select size from app_past_contents where app_id = old.id
        union all select 200 + octet_length(name) from app_past_versions where app_id = old.id) stored
  having sum(size) > 0;
  return old;
end $$;

-- Public: what must be empty before an app is purged, because it is too much to go with it at once.
create or replace view apps_holding_records as
  select app_id from entity_records union all select app_id from entity_keys
  union all select app_id from app_past_contents union all select app_id from app_past_versions;

-- ---- what exists becomes the first kept revision

insert into app_revisions (app_id, revision, cause, created_date)
select id, revision, 'baseline', updated_date from apps;
