-- module: analytics
-- What people do in apps: events of the last 60 days, and when each user was last seen. docs/internals/analytics.md explains how
-- the counts of users stay exact.

-- Events, by the day on which they happened. No foreign keys: events are removed by partition, or piece by piece after their
-- app was deleted.
create table analytics_events (
  app_id uuid not null,
  -- As sent by the caller, or made by the server.
  event_id uuid not null,
  at timestamptz not null,
  event_name text not null,
  -- Null if the event is not attributed to anybody.
  user_id text,
  session_id text,
  page_url text,
  properties jsonb not null,
  country text,
  device_type text,
  os text
) partition by range (at);
create index analytics_events_of_app on analytics_events (app_id, at);

-- The partitions are in a schema of their own. Nothing refers to them by name.
create schema analytics;
-- For days without a partition: those before the installation, and those for which no worker made one in time. So every event
-- finds a place.
create table analytics.events_other partition of analytics_events default;
create index events_other_by_time on analytics.events_other (at);

/*
 * Makes the partitions of these days (UTC) that are missing. Runs with the rights of the owner, because the role of the running
 * service can't create tables. A day of which the default partition has events already stays there. Returns how many were made.
 */
create function create_analytics_partitions(first_day date, last_day date) returns integer
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '500ms'
as $$
declare
  day date;
  name text;
  made integer := 0;
begin
  if last_day - first_day > 100 then
    raise exception 'at most 100 days at a time';
  end if;
  -- Two workers at once would make the same partition.
  perform pg_advisory_xact_lock(hashtextextended('analytics partitions', 0));
  for day in select generate_series(first_day, last_day, interval '1 day')::date loop
    name := 'events_' || to_char(day, 'YYYYMMDD');
    continue when exists (select from pg_class where relname = name and relnamespace = 'analytics'::regnamespace);
    continue when exists (
      select from analytics.events_other
      where at >= day::timestamp at time zone 'UTC' and at < (day + 1)::timestamp at time zone 'UTC');
    execute format('create table analytics.%I (like public.analytics_events including defaults including indexes)', name);
    -- Attaching, unlike creating a partition, does not block those who write to other partitions.
    execute format('alter table public.analytics_events attach partition analytics.%I for values from (%L) to (%L)', name,
      day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
    made := made + 1;
  end loop;
  return made;
end $$;
revoke execute on function create_analytics_partitions from public;

/*
 * Drops the oldest partition of which all events are older than this day. One at a time: dropping waits until nobody uses the
 * table, and new requests wait behind it, so it gives way after a moment and is tried again. Returns how many were dropped.
 */
create function drop_analytics_partition(before_day date) returns integer
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '200ms'
as $$
declare
  name text;
begin
  -- Events are kept for 60 days, by the clock of the database.
  if before_day > (now() at time zone 'UTC')::date - 60 then
    raise exception 'events are kept for 60 days';
  end if;
  select relname into name from pg_class
  where relnamespace = 'analytics'::regnamespace and relkind = 'r' and relname ~ '^events_\d{8}$'
    and relname < 'events_' || to_char(before_day, 'YYYYMMDD')
  order by relname limit 1;
  if name is null then
    return 0;
  end if;
  execute format('drop table analytics.%I', name);
  return 1;
end $$;
revoke execute on function drop_analytics_partition from public;

/*
 * Removes events that happened before this time and have no partition of their own, at most this many. All others go with their
 * partition. Runs with the rights of the owner, because the service can't use the schema. Returns how many there were.
 */
create function remove_other_analytics_events(before_time timestamptz, max_rows integer) returns bigint
language sql security definer
set search_path = pg_catalog, public, pg_temp
as $$
  with removed as (
    delete from analytics.events_other where ctid = any (array(
      select ctid from analytics.events_other where at < before_time order by at limit max_rows for update skip locked))
    returning 1)
  select count(*) from removed
$$;
revoke execute on function remove_other_analytics_events from public;

select create_analytics_partitions((now() at time zone 'UTC')::date, (now() at time zone 'UTC')::date + 2);

-- Ids that callers sent with their events, so that a repeated event is stored once, whatever its time and day.
create table analytics_event_ids (
  app_id uuid not null,
  event_id uuid not null,
  -- When the event was accepted.
  day date not null,
  primary key (app_id, event_id)
);
create index analytics_event_ids_by_day on analytics_event_ids (day);

-- When each user of an app was last seen. Times only move forward, except that times older than 60 days are forgotten. A row
-- without any time is removed.
create table analytics_users (
  app_id uuid not null,
  user_id text not null,
  last_event_at timestamptz,
  last_heartbeat_at timestamptz,
  -- The indexes are on these, so that a user's next event within the same second does not touch an index.
  event_second bigint generated always as (floor(date_part('epoch', last_event_at at time zone 'UTC'))::bigint) stored,
  heartbeat_second bigint generated always as (floor(date_part('epoch', last_heartbeat_at at time zone 'UTC'))::bigint) stored,
  primary key (app_id, user_id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index analytics_users_by_event on analytics_users (app_id, event_second) where event_second is not null;
create index analytics_users_by_heartbeat on analytics_users (app_id, heartbeat_second) where heartbeat_second is not null;

-- How many users of an app were last seen in each second, minute, hour and day (by events), and second and day (by
-- heartbeats). Buckets are numbered from 1970 on. Derived from analytics_users by the trigger below.
create table analytics_user_counts (
  app_id uuid not null,
  grain text collate "C" not null check (grain in ('second', 'minute', 'hour', 'day', 'heartbeat_second', 'heartbeat_day')),
  bucket bigint not null,
  users bigint not null,
  primary key (app_id, grain, bucket)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- For the job that looks for users who were last seen long ago, and for what was derived from them.
create index analytics_user_counts_by_bucket on analytics_user_counts (grain, bucket);

-- Users who entered (d > 0) or left (d < 0) the seconds in which they were last seen.
create type analytics_move as (app_id uuid, event_second bigint, heartbeat_second bigint, d bigint);

/*
 * Keeps the counts equal to the rows. Whoever changes rows of an app first locks the app (lock_analytics_apps): the counts are
 * changed in the order of their key, but the triggers of one statement for inserted and for updated rows each do so.
 */
create function count_analytics_users() returns trigger language plpgsql as $$
declare
  moves analytics_move[];
begin
  if tg_op = 'INSERT' then
    select array_agg(row(m.*)::analytics_move) into moves from (
      select app_id, event_second, heartbeat_second, count(*) from new_rows group by 1, 2, 3) m;
  elsif tg_op = 'DELETE' then
    select array_agg(row(m.*)::analytics_move) into moves from (
      select app_id, event_second, heartbeat_second, -count(*) from old_rows group by 1, 2, 3) m;
  else
    -- A user who was seen again in the same second is in both, and cancels out.
    select array_agg(row(m.*)::analytics_move) into moves from (
      select app_id, event_second, heartbeat_second, sum(d)::bigint from (
        select app_id, event_second, heartbeat_second, 1 as d from new_rows
        union all
        select app_id, event_second, heartbeat_second, -1 from old_rows) both_rows
      group by 1, 2, 3 having sum(d) <> 0) m;
  end if;
  if moves is null then
    return null;
  end if;
  insert into analytics_user_counts as c (app_id, grain, bucket, users)
  select app_id, grain, bucket, sum(d) from (
    select app_id, 'second' as grain, event_second as bucket, d from unnest(moves)
    union all select app_id, 'minute', event_second / 60, d from unnest(moves)
    union all select app_id, 'hour', event_second / 3600, d from unnest(moves)
    union all select app_id, 'day', event_second / 86400, d from unnest(moves)
    union all select app_id, 'heartbeat_day', heartbeat_second / 86400, d from unnest(moves)
    -- Only the last two minutes are read. Older seconds that users leave would be new rows that nobody needs.
    union all select app_id, 'heartbeat_second', heartbeat_second, d from unnest(moves)
      where heartbeat_second > (select max(heartbeat_second) from unnest(moves)) - 600) changes
  where bucket is not null
  group by 1, 2, 3 having sum(d) <> 0
  order by 1, 2, 3
  on conflict (app_id, grain, bucket) do update set users = c.users + excluded.users;
  -- Most seconds are left by everybody soon. Their counts would be more rows than all others.
  if tg_op <> 'INSERT' then
    delete from analytics_user_counts c using (
      select distinct app_id, event_second from unnest(moves) where d < 0 and event_second is not null) m
    where c.app_id = m.app_id and c.grain = 'second' and c.bucket = m.event_second and c.users = 0;
  end if;
  return null;
end $$;
create trigger count_inserted after insert on analytics_users referencing new table as new_rows
  for each statement execute function count_analytics_users();
create trigger count_updated after update on analytics_users referencing old table as old_rows new table as new_rows
  for each statement execute function count_analytics_users();
create trigger count_deleted after delete on analytics_users referencing old table as old_rows
  for each statement execute function count_analytics_users();

/* Holds each app until the end of the transaction, in one order for everybody. */
create function lock_analytics_apps(app_ids uuid[]) returns void language sql as $$
  select pg_advisory_xact_lock(key) from (
    select distinct hashtextextended('analytics ' || app_id, 0) as key from unnest(app_ids) app_id order by key) keys
$$;

/* Holds those of the apps that nobody else holds, until the end of the transaction, and returns them. */
create function try_to_lock_analytics_apps(app_ids uuid[]) returns setof uuid language sql as $$
  select app_id from unnest(app_ids) app_id where pg_try_advisory_xact_lock(hashtextextended('analytics ' || app_id, 0))
$$;

-- Apps that were deleted, and whose events and users are still to be removed.
create table deleted_app_analytics (
  app_id uuid primary key,
  deleted_date timestamptz not null default now()
);
create function note_deleted_app_analytics() returns trigger language plpgsql as $$
begin
  insert into deleted_app_analytics (app_id) select id from gone on conflict do nothing;
  return null;
end $$;
create trigger note_deleted_app_analytics after delete on apps referencing old table as gone
  for each statement execute function note_deleted_app_analytics();
