-- module: kit
-- Tables in partitions by the time in their ids (version 7 UUIDs): expired rows are removed by dropping a partition.
-- docs/internals/background-work.md#partitions explains how.

-- The partitions. Nothing refers to them by name.
create schema partitions;

create table partitioned_tables (
  name text primary key,
  -- The column with the id whose time counts.
  key_column text not null,
  -- How many days a partition contains, and how many days after its end it is removed.
  days integer not null check (days in (1, 7)),
  kept_days integer not null,
  -- A condition: whether something still needs the rows with ids from $1 to below $2.
  needed_if text not null default 'false',
  -- A statement that runs before a partition (%s) is removed, in the same transaction.
  before_removal text
);

create function first_id_at(at timestamptz) returns uuid language sql immutable as $$
  select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

create function time_of_id(id uuid) returns timestamptz language sql immutable as $$
  select to_timestamp(('x0000' || replace(left(id::text, 13), '-', ''))::bit(64)::bigint / 1000.0)
$$;

-- The beginning of the day, or of the week from Monday on, by UTC.
create function partition_start(at timestamptz, days integer) returns timestamptz language sql immutable as $$
  select date_bin(days * interval '1 day', at, timestamptz '1970-01-05 00:00:00+00')
$$;

-- The first partition has no lower bound: its `from_id` is null.
create function list_partitions(parent text) returns table (partition regclass, from_id uuid, to_id uuid)
language sql stable as $$
  select c.oid::regclass, bounds[1]::uuid, bounds[2]::uuid
  from pg_inherits i join pg_class c on c.oid = i.inhrelid,
    regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \((?:''(.+?)''|MINVALUE)\) TO \(''(.+?)''\)') bounds
  where i.inhparent = format('public.%I', parent)::regclass
  order by 3
$$;

/*
 * Creates the partitions of the next three days that are missing, and those of earlier days that no worker created. Runs with the
 * rights of the owner, because the role of the running service can't create tables. Returns how many were created.
 */
create function create_partitions(parent text) returns integer
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '500ms'
as $$
declare
  settings partitioned_tables;
  from_time timestamptz;
  to_time timestamptz;
  name text;
  made integer := 0;
begin
  select * into strict settings from partitioned_tables p where p.name = parent;
  -- Another worker creates them.
  if not pg_try_advisory_xact_lock(hashtextextended('partitions of ' || parent, 0)) then
    return 0;
  end if;
  select time_of_id(p.to_id) into strict from_time from list_partitions(parent) p order by p.to_id desc limit 1;
  while from_time < now() + interval '3 days' and made < 30 loop
    to_time := from_time + settings.days * interval '1 day';
    name := parent || '_' || to_char(from_time at time zone 'UTC', 'YYYYMMDD');
    execute format('create table partitions.%I (like public.%I including defaults including constraints including indexes)
      with (autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.05)', name, parent);
    -- Attaching, unlike creating a partition, does not block those who read and write the others.
    execute format('alter table public.%I attach partition partitions.%I for values from (%L) to (%L)',
      parent, name, first_id_at(from_time), first_id_at(to_time));
    from_time := to_time;
    made := made + 1;
  end loop;
  return made;
end $$;
revoke execute on function create_partitions from public;

/*
 * Detaches the oldest partition that nothing needs any more. While it waits for its lock, all reads and writes of the table wait
 * behind it, so it fails after a moment, such as beside a back-up. Returns the name of the partition, which is then to be dropped
 * by drop_detached_partition, or null.
 */
create function detach_partition(parent text) returns text
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '50ms'
as $$
declare
  settings partitioned_tables;
  old record;
  is_needed boolean;
begin
  select * into strict settings from partitioned_tables p where p.name = parent;
  if not pg_try_advisory_xact_lock(hashtextextended('partitions of ' || parent, 0)) then
    return null;
  end if;
  for old in
    select p.*, c.relname as name from list_partitions(parent) p join pg_class c on c.oid = p.partition
    where time_of_id(p.to_id) <= now() - settings.kept_days * interval '1 day' order by p.to_id
  loop
    execute format('select %s', settings.needed_if) into strict is_needed
      using coalesce(old.from_id, '00000000-0000-0000-0000-000000000000'), old.to_id;
    continue when is_needed;
    if settings.before_removal is not null then
      execute format('lock table %s in share row exclusive mode', old.partition);
      execute format(settings.before_removal, old.partition);
    end if;
    execute format('alter table public.%I detach partition %s', parent, old.partition);
    return old.name;
  end loop;
  return null;
end $$;
revoke execute on function detach_partition from public;

-- Drops a detached partition, in a transaction of its own: nobody waits while its files are removed. Returns its name, or null.
create function drop_detached_partition(parent text) returns text
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '50ms'
as $$
declare
  name text;
begin
  perform from partitioned_tables p where p.name = parent;
  if not found then
    raise exception 'there is no partitioned table %', parent;
  end if;
  select c.relname into name from pg_class c
  where c.relnamespace = 'partitions'::regnamespace and c.relkind = 'r' and not c.relispartition
    and c.relname ~ ('^' || parent || '_(until_)?[0-9]{8}$')
  order by 1 limit 1;
  if name is not null then
    execute format('drop table partitions.%I', name);
  end if;
  return name;
end $$;
revoke execute on function drop_detached_partition from public;

-- For migrations, which turn a table with rows into the first partition of a table with the same name:
--
--   1  select prepare_partitions('notes', 'id', 1);
--   2  alter table notes validate constraint notes_until_partitioned;      in a migration without a transaction
--   3  select move_to_partition('notes'); create table notes (…) partition by range (id); insert into partitioned_tables …;
--      select attach_first_partition('notes');
--
-- From the first step on, the table accepts rows for two more weeks. The second step reads all rows, while others write. So the
-- third step need not read them.

-- Locks the tables. Each attempt is short, because all reads and writes of a table wait behind it.
create function lock_briefly(variadic tables text[]) returns void
language plpgsql
set lock_timeout = '300ms'
as $$
begin
  for attempt in 1 .. 60 loop
    begin
      execute format('lock table %s in access exclusive mode', array_to_string(tables, ', '));
      return;
    exception when lock_not_available or deadlock_detected then
      perform pg_sleep(0.5);
    end;
  end loop;
  raise exception 'The table % is in use all the time, such as by a back-up. Run plinth migrate again after that has ended.',
    array_to_string(tables, ' or ');
end $$;

create function prepare_partitions(parent text, key_column text, days integer) returns void language plpgsql as $$
begin
  perform lock_briefly(parent);
  execute format('alter table %I add constraint %I check (%I < %L) not valid', parent, parent || '_until_partitioned', key_column,
    first_id_at(partition_start(now() + interval '14 days', days)));
end $$;

create function move_to_partition(parent text) returns void language plpgsql as $$
begin
  perform lock_briefly(parent);
  execute format('alter table %I set schema partitions', parent);
end $$;

create function attach_first_partition(parent text) returns void language plpgsql as $$
declare
  bound uuid;
  name text;
begin
  select substring(pg_get_constraintdef(c.oid) from '''(.+?)''')::uuid into strict bound from pg_constraint c
  where c.conrelid = format('partitions.%I', parent)::regclass and c.conname = parent || '_until_partitioned';
  name := parent || '_until_' || to_char(time_of_id(bound) at time zone 'UTC', 'YYYYMMDD');
  execute format('alter table partitions.%I rename to %I', parent, name);
  execute format('alter table public.%I attach partition partitions.%I for values from (minvalue) to (%L)', parent, name, bound);
  execute format('alter table partitions.%I drop constraint %I', name, parent || '_until_partitioned');
  execute format('alter table partitions.%I set (autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.05)', name);
  perform create_partitions(parent);
end $$;
