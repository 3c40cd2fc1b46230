-- module: core
-- How many bytes each workspace stores: records, also those in the trash, app files and export archives. No two requests of a
-- workspace wait for each other here: every change appends a row, and a job folds the rows into one per workspace.

-- Changes that are not folded yet. A foreign key would write to the workspace's row at every change.
create table storage_changes (
  workspace_id uuid not null,
  kind text not null check (kind in ('records', 'files', 'archives')),
  bytes bigint not null
) with (
  -- Rows live for seconds, so most of the table would be dead ones.
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
create index storage_changes_of_workspace on storage_changes (workspace_id);

create table storage_usage (
  workspace_id uuid primary key references workspaces on delete cascade,
  records_bytes bigint not null default 0,
  files_bytes bigint not null default 0,
  archives_bytes bigint not null default 0,
  -- When it was last compared with what is stored.
  recounted_at timestamptz not null
);
create index storage_usage_recounted on storage_usage (recounted_at);

-- Set by an operator; null: what the plan includes.
alter table workspaces add column storage_quota_bytes bigint check (storage_quota_bytes >= 0);

-- ---- records

-- The bytes of a JSON value as JavaScript writes it: as PostgreSQL does, without the spaces after `:` and `,`. Only numbers
-- that JavaScript writes with an exponent (1e-7) are longer.
create function json_bytes(value jsonb) returns integer language sql immutable strict parallel safe as $$
  select octet_length(value::text) - coalesce(sum(
    case jsonb_typeof(v)
      when 'object' then greatest(2 * (select count(*) from jsonb_object_keys(v)) - 1, 0)
      when 'array' then greatest(jsonb_array_length(v) - 1, 0)
      else 0 end), 0)::integer
  from jsonb_path_query(value, 'strict $.**') as v
$$;

alter table entity_records add column size_bytes integer;
update entity_records set size_bytes = json_bytes(data);
alter table entity_records alter column size_bytes set not null;

-- The statements of the product set the size, because they have the text anyway. An import does not.
create function entity_record_measured() returns trigger language plpgsql as $$
begin
  new.size_bytes := json_bytes(new.data);
  return new;
end $$;
create trigger entity_record_measured before insert on entity_records
  for each row when (new.size_bytes is null) execute function entity_record_measured();

-- Statements that insert or change records append the change themselves: a trigger would cost each of them 35 µs.
-- Deleting is rarer, and done in more places.
create function entity_records_removed() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'records', -sum(r.size_bytes) from removed r join apps a on a.id = r.app_id group by 1;
  return null;
end $$;
create trigger entity_records_removed after delete on entity_records
  referencing old table as removed for each statement execute function entity_records_removed();

-- ---- files

create function app_files_added() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', sum(f.size) from added f join apps a on a.id = f.app_id group by 1;
  return null;
end $$;
create function app_files_removed() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select a.workspace_id, 'files', -sum(f.size) from removed f join apps a on a.id = f.app_id group by 1;
  return null;
end $$;
create trigger app_files_added after insert on app_files
  referencing new table as added for each statement execute function app_files_added();
create trigger app_files_replaced after update on app_files
  referencing new table as added for each statement execute function app_files_added();
create trigger app_files_replaced_before after update on app_files
  referencing old table as removed for each statement execute function app_files_removed();
create trigger app_files_removed after delete on app_files
  referencing old table as removed for each statement execute function app_files_removed();

-- When an app is purged, its files are deleted after it, and the trigger above no longer finds their workspace.
create function app_purged() returns trigger language plpgsql as $$
begin
  insert into storage_changes (workspace_id, kind, bytes)
  select old.workspace_id, 'files', -sum(size) from app_files where app_id = old.id having sum(size) > 0;
  return old;
end $$;
create trigger app_purged before delete on apps for each row execute function app_purged();

-- ---- archives

-- Archives written before this are not counted. They are kept for seven days.
alter table workspace_exports add column size_bytes bigint not null default 0;

create function workspace_export_resized() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into storage_changes (workspace_id, kind, bytes) values (old.workspace_id, 'archives', -old.size_bytes);
  else
    insert into storage_changes (workspace_id, kind, bytes)
    values (new.workspace_id, 'archives', new.size_bytes - old.size_bytes);
  end if;
  return null;
end $$;
create trigger workspace_export_resized after update on workspace_exports
  for each row when (old.size_bytes <> new.size_bytes) execute function workspace_export_resized();
create trigger workspace_export_removed after delete on workspace_exports
  for each row when (old.size_bytes <> 0) execute function workspace_export_resized();

-- ---- what exists

insert into storage_usage (workspace_id, records_bytes, files_bytes, recounted_at)
select w.id, coalesce(r.bytes, 0), coalesce(f.bytes, 0), now()
from workspaces w
left join (select a.workspace_id, sum(size_bytes) as bytes from entity_records join apps a on a.id = app_id group by 1) r
  on r.workspace_id = w.id
left join (select a.workspace_id, sum(size) as bytes from app_files join apps a on a.id = app_id group by 1) f
  on f.workspace_id = w.id;
