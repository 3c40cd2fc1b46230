// The statements that create partitions for new events and remove old events, piece by piece.
import { sql } from 'kysely';
import { purge } from '../../../kit/background/purge.ts';
import { planForIds } from '../../../kit/background/queues/queue.ts';
import { transaction } from '../../../kit/db/database.ts';
import { isLockOrStatementTimeout } from '../../../kit/db/failures.ts';
import type { Db } from '../../../tables.ts';
import { lockApp } from './events.ts';

/**
 * Returns the given time or the database's current time, whichever is earlier, so a machine whose clock is fast removes
 * nothing early.
 */
export async function findEarlier(db: Db, time: Date): Promise<Date> {
  const { rows } = await sql<{ time: Date }>`select least(${time}::timestamptz, now()) as time`.execute(db);
  return rows[0]?.time ?? time;
}

const toDay = (time: Date): string => time.toISOString().slice(0, 10);

/** Creates the missing partitions for these days. Returns how many were created. */
export async function createPartitions(db: Db, first: Date, last: Date): Promise<number> {
  const { rows } = await sql<{
    made: number;
  }>`select create_analytics_partitions(${toDay(first)}, ${toDay(last)}) as made`.execute(db);
  return rows[0]?.made ?? 0;
}

/**
 * Drops the oldest partition if all its events occurred before `time`. The database refuses to drop a partition that is
 * less than 60 days old by its own clock. `busy` means that the statement timed out because the table was in use.
 */
export async function dropPartition(db: Db, time: Date): Promise<'dropped' | 'none' | 'busy'> {
  try {
    const { rows } = await sql<{ dropped: number }>`select drop_analytics_partition(
      least(${toDay(time)}::date, (now() at time zone 'UTC')::date - 60)) as dropped`.execute(db);
    return rows[0]?.dropped ? 'dropped' : 'none';
  } catch (error) {
    if (isLockOrStatementTimeout(error)) return 'busy';
    throw error;
  }
}

/** The time since the start of the oldest partition's day, in seconds. */
export async function findOldestPartitionAge(db: Db): Promise<number> {
  const { rows } = await sql<{ age: number }>`select
      extract(epoch from now() - to_date(substr(min(relname), 8), 'YYYYMMDD')::timestamp at time zone 'UTC') as age
    from pg_class where relnamespace = 'analytics'::regnamespace and relkind = 'r' and relname ~ '^events_\\d{8}$'`.execute(
    db,
  );
  return Math.max(0, rows[0]?.age ?? 0);
}

/**
 * Removes events whose day has no partition. All other events are removed when their partition is dropped, and reads
 * skip them in the meantime.
 */
export async function removeOldEvents(db: Db, before: Date, limit: number): Promise<number> {
  const { rows } = await sql<{
    removed: number;
  }>`select remove_other_analytics_events(${before}, ${limit}) as removed`.execute(db);
  return rows[0]?.removed ?? 0;
}

/** The index of days finds pages, so each batch reads the pages of earlier batches again. */
const idsPerBatch = 50_000;

/** Removes ids for at most about a second. */
export const removeOldIds = (db: Db, before: Date): Promise<number> =>
  transaction(db, async (db) => {
    // With statistics from before the last removal, the planner would scan the whole table for what is gone.
    await sql`select ${sql.raw(planForIds)}`.execute(db);
    return purge(db, {
      table: 'analytics_event_ids',
      where: sql`day < ${toDay(before)}::date`,
      batchSize: idsPerBatch,
    });
  });

const summaryParts = 7 * 24;

/**
 * Summarizes a part of the ids' index of days again, so the removal of old ids does not read pages that once had some.
 * Called every hour, it reaches the whole index once a week. Returns false if the table is being vacuumed.
 */
export async function summarizeIds(db: Db, now: Date, parts = summaryParts): Promise<boolean> {
  const part = Math.floor(now.getTime() / 3_600_000) % parts;
  try {
    await sql`select summarize_analytics_ids(${part}::integer, ${parts}::integer)`.execute(db);
    return true;
  } catch (error) {
    if (isLockOrStatementTimeout(error)) return false;
    throw error;
  }
}

/** Ends counting events of days before this time, which can't be read any more. */
export const removeOldSizes = async (db: Db, before: Date, limit: number): Promise<number> =>
  countRows(
    await sql`/* service */ delete from analytics_sizes where (app_id, day) in (
      select app_id, day from analytics_sizes where day < ${toDay(before)}::date limit ${limit})`.execute(db),
  );

/** Lists apps that have users last seen before this time, by an event or a heartbeat. */
export async function listAppsWithOldUsers(db: Db, before: Date, limit: number): Promise<string[]> {
  const hours = Math.floor(before.getTime() / 3_600_000);
  const { rows } = await sql<{ app_id: string }>`/* service */ select distinct app_id from (
      select app_id from analytics_user_counts where grain = 'hour' and bucket < ${hours} and users > 0
      union all
      select app_id from analytics_user_counts where grain = 'heartbeat_day' and bucket < ${Math.floor(hours / 24)} and users > 0
    ) old_users order by app_id limit ${limit}`.execute(db);
  return rows.map((row) => row.app_id);
}

/** Clears an app's last-seen times that are before this time, and removes users who have none left. */
export function forgetOldTimes(db: Db, app_id: string, before: Date, limit: number): Promise<number> {
  const second = Math.floor(before.getTime() / 1_000);
  return transaction(db, async (db) => {
    await lockApp(db, app_id);
    const forgotten = await sql`/* service */ update analytics_users u set
        last_event_at = case when last_event_at >= ${before} then last_event_at end,
        last_heartbeat_at = case when last_heartbeat_at >= ${before} then last_heartbeat_at end
      where app_id = ${app_id} and user_id in (
        (select user_id from analytics_users where app_id = ${app_id} and event_second <= ${second}
           and last_event_at < ${before} limit ${limit})
        union
        (select user_id from analytics_users where app_id = ${app_id} and heartbeat_second <= ${second}
           and last_heartbeat_at < ${before} limit ${limit}))
      returning user_id, last_event_at is null and last_heartbeat_at is null as is_gone`.execute(db);
    const gone = (forgotten.rows as { user_id: string; is_gone: boolean }[]).filter((row) => row.is_gone);
    await sql`/* service */ delete from analytics_users where app_id = ${app_id}
      and user_id = any(${gone.map((row) => row.user_id)}::text[])`.execute(db);
    return forgotten.rows.length;
  });
}

/**
 * Removes counts that are no longer read and have no users left. Hour and day counts that still have users are kept,
 * because they are used to find the remaining users. Heartbeat seconds are not needed for that.
 */
export async function removeOldCounts(db: Db, before: Date, limit: number, now: Date): Promise<number> {
  const seconds = Math.floor(before.getTime() / 1_000);
  const sizes = { second: 1, minute: 60, hour: 3_600, day: 86_400, heartbeat_day: 86_400 };
  let removed = await removeCounts(db, 'heartbeat_second', Math.floor(now.getTime() / 1_000) - 3_600, 'any', limit);
  for (const [grain, size] of Object.entries(sizes))
    removed += await removeCounts(db, grain, Math.floor(seconds / size) - 1, 'no users', limit);
  return removed;
}

const removeCounts = async (db: Db, grain: string, before: number, of: 'any' | 'no users', limit: number) =>
  countRows(
    await sql`/* service */ delete from analytics_user_counts where (app_id, grain, bucket) in (
      select app_id, grain, bucket from analytics_user_counts where grain = ${grain} and bucket < ${before}
        and (users <= 0 or ${of === 'any'})
      order by bucket limit ${limit} for update skip locked)`.execute(db),
  );

// ---- deleted apps

export async function listDeletedApps(db: Db, limit: number): Promise<{ app_id: string; deleted_date: Date }[]> {
  const { rows } = await sql<{ app_id: string; deleted_date: Date }>`/* service */ select app_id, deleted_date
    from deleted_app_analytics order by deleted_date limit ${limit}`.execute(db);
  return rows;
}

/** Removes a piece of a deleted app's remaining data. Returns how many rows were removed. */
export async function removeOfApp(db: Db, app_id: string, limit: number): Promise<number> {
  const events = await removeEventsOfDay(db, app_id, limit);
  const ids = await sql`delete from analytics_event_ids where app_id = ${app_id} and event_id in (
    select event_id from analytics_event_ids where app_id = ${app_id} limit ${limit})`.execute(db);
  const users = await transaction(db, async (db) => {
    await lockApp(db, app_id);
    const removed = await sql`delete from analytics_users where app_id = ${app_id} and user_id in (
      select user_id from analytics_users where app_id = ${app_id} limit ${limit})`.execute(db);
    if (countRows(removed) > 0) return removed;
    return sql`delete from analytics_user_counts where app_id = ${app_id} and (grain, bucket) in (
      select grain, bucket from analytics_user_counts where app_id = ${app_id} limit ${limit})`.execute(db);
  });
  return events + countRows(ids) + countRows(users);
}

/**
 * Removes events from the first day that has any. Each day is in a single partition, so no other partition is scanned.
 */
async function removeEventsOfDay(db: Db, app_id: string, limit: number): Promise<number> {
  const { rows } = await sql<{ at: Date }>`select at from analytics_events where app_id = ${app_id}
    order by at limit 1`.execute(db);
  if (rows[0] === undefined) return 0;
  const start = new Date(toDay(rows[0].at));
  const end = new Date(start.getTime() + 24 * 60 * 60 * 1_000);
  const ofDay = sql`app_id = ${app_id} and at >= ${start} and at < ${end}`;
  return countRows(
    await sql`delete from analytics_events where ${ofDay} and ctid = any (array(
      select ctid from analytics_events where ${ofDay} limit ${limit}))`.execute(db),
  );
}

export const forgetDeletedApp = (db: Db, app_id: string) =>
  sql`delete from deleted_app_analytics where app_id = ${app_id}`.execute(db);

const countRows = ({ numAffectedRows }: { readonly numAffectedRows?: bigint }): number => Number(numAffectedRows ?? 0);
