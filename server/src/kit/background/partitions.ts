// Tables in partitions by the time in their ids. A job creates the partitions of the coming days and removes those that
// nothing needs any more (migration 0150). A reader names the partition, because a statement that does not opens all of
// them.
import { sql } from 'kysely';
import { type AnyDb, prepared, withTimeLimit } from '../db/database.ts';
import { isLockOrStatementTimeout } from '../db/failures.ts';
import { hexToId } from '../ids.ts';
import type { Metrics } from '../metrics.ts';
import type { Job } from './workers/schedule.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

// ---- jobs

export const partitionJobs: readonly Job[] = [
  { name: 'create partitions', everyMs: 60 * minuteMs, run: createPartitions },
  { name: 'remove old partitions', everyMs: 5 * minuteMs, run: removeOldPartitions },
];

export async function createPartitions(db: AnyDb): Promise<number> {
  let made = 0;
  for (const table of await listTables(db)) {
    const { rows } = await sql<{ made: number }>`select create_partitions(${table}) as made`.execute(db);
    made += rows[0]?.made ?? 0;
  }
  return made;
}

/** A large partition is read to count what is removed with it, and its files are removed. */
const removalMs = 10 * minuteMs;

/** Removes one partition of each table. While a table is in use all the time, its partition stays until the next run. */
export async function removeOldPartitions(db: AnyDb): Promise<number> {
  let removed = 0;
  for (const table of await listTables(db)) {
    await callUnlessBusy(db, sql`select detach_partition(${table}) as name`);
    // Drops what an earlier run detached, too.
    if ((await callUnlessBusy(db, sql`select drop_detached_partition(${table}) as name`)) !== null) removed += 1;
  }
  return removed;
}

async function callUnlessBusy(db: AnyDb, call: ReturnType<typeof sql>): Promise<string | null> {
  try {
    const { rows } = await withTimeLimit(db, removalMs, (db) => call.execute(db));
    return (rows[0] as { name: string | null }).name;
  } catch (error) {
    if (isLockOrStatementTimeout(error)) return null;
    throw error;
  }
}

const listTables = async (db: AnyDb): Promise<string[]> =>
  (await sql<{ name: string }>`select name from partitioned_tables order by name`.execute(db)).rows.map(
    ({ name }) => name,
  );

// ---- metrics

export function addPartitionGauges({ addGauge }: Pick<Metrics, 'addGauge'>, open: () => AnyDb): void {
  const add = (name: string, help: string, days: string) =>
    addGauge({ name, help, label: 'table', read: () => readDays(open(), days) });
  add(
    'plinth_partitions_ahead',
    'Days ahead for which a table has partitions. At 0 rows are refused',
    'last_end - now()',
  );
  add('plinth_partition_oldest_days', "Days since the end of a table's oldest partition", 'now() - first_end');
  add(
    'plinth_partition_overdue_days',
    "Days since a table's oldest partition should have been removed",
    "now() - first_end - (kept_days + needed_days) * interval '1 day'",
  );
}

async function readDays(db: AnyDb, days: string): Promise<Record<string, number>> {
  const { rows } = await sql<{ name: string; days: number }>`
    select name, greatest(0, extract(epoch from ${sql.raw(days)}) / 86400)::float as days from (
      select t.name, t.kept_days, t.needed_days, time_of_id((array_agg(p.to_id order by p.to_id))[1]) as first_end,
        time_of_id((array_agg(p.to_id order by p.to_id desc))[1]) as last_end
      from partitioned_tables t, list_partitions(t.name) p group by t.name, t.kept_days, t.needed_days) ends`.execute(
    db,
  );
  return Object.fromEntries(rows.map(({ name, days }) => [name, days]));
}

// ---- reading

interface Partitioned {
  readonly column: string;
  readonly days: 1 | 7;
}

/** Weeks begin on Mondays. This was the first one of 1970. */
const firstMondayMs = 4 * dayMs;

/** Returns the number of the partition in which a row with this id is. */
export function partitionNumberOf(id: string, days: number): number {
  const timeMs = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  return Math.floor((timeMs - firstMondayMs) / (days * dayMs));
}

/** The bounds of partitions, which are below every id of their time. */
const firstIdAt = (timeMs: number): string => hexToId(timeMs.toString(16).padStart(12, '0').padEnd(32, '0'));

/**
 * A statement on rows with ids of one partition. The text names the partition's bounds, so PostgreSQL plans for it alone
 * and locks only it. Each partition has a statement of its own, which is prepared when it is first used.
 */
export function preparedForPartition<Row, Values extends readonly unknown[]>(
  name: string,
  { column, days }: Partitioned,
  toText: (isInPartition: string) => string,
) {
  const statements = new Map<number, ReturnType<typeof prepared<Row, Values>>>();
  const firstIdOf = (partition: number) => firstIdAt(firstMondayMs + partition * days * dayMs);
  return (id: string) => {
    const partition = partitionNumberOf(id, days);
    const known = statements.get(partition);
    if (known !== undefined) return known;
    const isInPartition = `${column} >= '${firstIdOf(partition)}' and ${column} < '${firstIdOf(partition + 1)}'`;
    const statement = prepared<Row, Values>(`${name} ${partition}`, toText(isInPartition));
    statements.set(partition, statement);
    return statement;
  };
}
