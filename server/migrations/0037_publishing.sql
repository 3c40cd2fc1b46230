-- module: publishing
-- What is published of an app: immutable snapshots of its files (deployments), whose contents are in the object storage.

create table deployments (
  workspace_id uuid not null,
  app_id uuid not null,
  id uuid not null,
  revision integer not null,
  -- By address in the app: {"index.html": {"blob": "…", "sha256": "…", "size": 512}}
  files jsonb not null,
  files_bytes integer not null, -- of `files` itself, for the storage quota
  created_date timestamptz not null,
  created_by text not null,
  primary key (app_id, id),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);

-- The live deployment. The others are repeated from it, or from who made it live, so that the lookup of a request finds them.
alter table apps
  add column live_deployment_id uuid,
  add column published_revision integer,
  add column published_at timestamptz,
  add column published_by text,
  add constraint apps_published check (
    num_nulls(live_deployment_id, published_revision, published_at, published_by) in (0, 4)
  ),
  add constraint apps_live_deployment foreign key (id, live_deployment_id) references deployments (app_id, id);

-- The contents of published files, each once per app: the object `apps/{app_id}/{id}`. A content that is uploaded again after
-- it was forgotten gets a new id, so that removing the old object never hits the new one.
create table app_blobs (
  app_id uuid not null references apps on delete cascade,
  sha256 text not null,
  id uuid not null,
  size integer not null,
  state text not null check (state in ('uploading', 'stored')),
  -- Whether it contains an address of localhost. Known once it is stored.
  names_localhost boolean not null default false,
  last_used_at timestamptz not null,
  primary key (app_id, sha256)
);

-- Apps that may have contents which no deployment uses. Each publish enters its app.
create table blob_sweeps (
  app_id uuid primary key references apps on delete cascade,
  due_at timestamptz not null
);
create index blob_sweeps_due on blob_sweeps (due_at);

-- Objects to remove from the object storage. Written by the transaction that forgets them, so that none is left behind when a
-- process crashes.
create table object_removals (
  key text primary key,
  added_at timestamptz not null
);
create index object_removals_added on object_removals (added_at);

create table app_security_settings (
  app_id uuid primary key references apps on delete cascade,
  static_code_enabled boolean not null,
  csp text,
  hsts text,
  frame_options text,
  content_type_options text,
  referrer_policy text,
  permissions_policy text
);

-- ---- storage: counted with the files

create function app_blobs_added() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', sum(b.size) from added b join apps a on a.id = b.app_id group by 1;
  return null;
end $$;
create trigger app_blobs_added after insert on app_blobs
  referencing new table as added for each statement execute function app_blobs_added();

-- Whatever deletes them: a sweep, or the purge of an app or a workspace.
create function app_blobs_removed() returns trigger language plpgsql as $$
begin
  insert into object_removals (key, added_at)
  select format('apps/%s/%s', app_id, id), now() from removed;
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', -sum(b.size) from removed b join apps a on a.id = b.app_id group by 1;
  return null;
end $$;
create trigger app_blobs_removed after delete on app_blobs
  referencing old table as removed for each statement execute function app_blobs_removed();

create function deployments_added() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select workspace_id, 'files', sum(files_bytes) from added group by 1;
  return null;
end $$;
create trigger deployments_added after insert on deployments
  referencing new table as added for each statement execute function deployments_added();

create function deployments_removed() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select workspace_id, 'files', -sum(files_bytes) from removed group by 1;
  return null;
end $$;
create trigger deployments_removed after delete on deployments
  referencing old table as removed for each statement execute function deployments_removed();

-- When an app is purged, its files and contents are deleted after it, and their triggers no longer find its workspace.
create or replace function app_purged() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select old.workspace_id, 'files', -sum(size)
  from (select size from app_files where app_id = old.id
        union all select size from app_blobs where app_id = old.id) stored
  having sum(size) > 0;
  return old;
end $$;
