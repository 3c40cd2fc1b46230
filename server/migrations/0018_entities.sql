-- room: entities
-- What an app's data looks like, the records themselves, and the keys by which records are found and kept unique.

create table entity_schemas (
  app_id uuid not null references apps on delete cascade,
  name text collate "C" not null,
  -- As it was sent: json, because jsonb would lose the order of its fields.
  document json not null,
  -- The keys that records of this entity carry, each with the revision it began in: `owner#7`.
  keys text[] not null,
  -- The app's revision that this document came with.
  revision integer not null,
  created_date timestamptz(3) not null,
  updated_date timestamptz(3) not null,
  primary key (app_id, name)
);

create table entity_records (
  app_id uuid not null references apps on delete cascade,
  id uuid not null,
  entity_name text collate "C" not null,
  data jsonb not null check (jsonb_typeof(data) = 'object'),
  -- An e-mail address, or `anonymous`; an id, or `anonymous`.
  created_by text collate "C" not null,
  created_by_id text collate "C" not null,
  created_date timestamptz(3) not null,
  updated_date timestamptz(3) not null,
  is_sample boolean not null default false,
  -- In the trash since.
  deleted_date timestamptz(3),
  -- Counted up by each change: who changes names the version they decided on.
  version integer not null default 1,
  primary key (app_id, id)
) with (
  -- No index holds what a change of data changes, so with room on its page the new version touches none of them.
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05
);
create index entity_records_in_order on entity_records (app_id, entity_name, created_date, id)
  where deleted_date is null;
create index entity_records_of_creator on entity_records (app_id, entity_name, created_by, created_date, id)
  where deleted_date is null;
create index entity_records_in_trash on entity_records (deleted_date) where deleted_date is not null;

-- Kept in the transaction of the record's own change. A trashed record has none.
create table entity_keys (
  app_id uuid not null references apps on delete cascade,
  entity_name text collate "C" not null,
  key text collate "C" not null,
  -- A digest, so that a value of any length can be a key; empty for a record that other values find too.
  value bytea not null,
  -- The record's, so that a page in order of making is one range of the key.
  created_date timestamptz(3) not null,
  record_id uuid not null,
  -- Of records that were alike before they had to differ, one has the value for itself; the others are only found by it.
  is_unique boolean not null,
  primary key (app_id, entity_name, key, value, created_date, record_id)
);
create unique index entity_keys_unique on entity_keys (app_id, entity_name, key, value) where is_unique;

-- Whoever lets go of a unique value leaves it to the next that has it, so that nobody else can take it meanwhile.
create function entity_key_gone() returns trigger language plpgsql as $$
begin
  update entity_keys k set is_unique = true
  from (
    select created_date, record_id from entity_keys
    where app_id = old.app_id and entity_name = old.entity_name and key = old.key and value = old.value
      and not is_unique
    order by created_date, record_id limit 1 for update) next
  where k.app_id = old.app_id and k.entity_name = old.entity_name and k.key = old.key and k.value = old.value
    and k.created_date = next.created_date and k.record_id = next.record_id;
  return null;
end $$;
create trigger entity_key_gone after delete on entity_keys
  for each row when (old.is_unique) execute function entity_key_gone();

-- Public: what must be empty before an app is purged, because it is too much to go with it at once.
create view apps_holding_records as select app_id from entity_records union all select app_id from entity_keys;

-- Which keys every record has: lists are driven by these alone.
create table entity_key_states (
  app_id uuid not null,
  entity_name text collate "C" not null,
  ready text[] not null,
  -- Set while keys are to be built; nobody who still writes by the schema before is at work a minute later.
  building_since timestamptz,
  -- The last record whose keys were built.
  reached uuid,
  primary key (app_id, entity_name),
  foreign key (app_id, entity_name) references entity_schemas (app_id, name) on delete cascade
);
create index entity_key_states_building on entity_key_states (building_since) where building_since is not null;

-- However a schema comes to be there, also by an import: its keys are built, and those it no longer asks for are swept.
create function entity_schema_saved() returns trigger language plpgsql as $$
declare
  -- Whoever saves it may have begun long ago.
  since timestamptz := greatest(new.updated_date, clock_timestamp());
begin
  insert into entity_key_states as k (app_id, entity_name, ready, building_since)
  values (new.app_id, new.name, '{}', since)
  on conflict (app_id, entity_name) do update
  set ready = array(select unnest(k.ready) intersect select unnest(new.keys)), building_since = since,
    reached = null;
  return null;
end $$;
create trigger entity_schema_saved after insert or update on entity_schemas
  for each row execute function entity_schema_saved();
