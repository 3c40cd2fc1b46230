// Who holds old snapshots, and how many dead rows the tables have that background work reads. Until a snapshot ends,
// nothing that was completed after it was taken can be vacuumed, so whatever looks for work reads all of it again.
import { sql } from 'kysely';
import { type AnyDb, prepared } from '../db/database.ts';
import type { Metrics } from '../metrics.ts';

/** `read` returns the database, and the tables that background work reads. It is called on every scrape. */
export function addSnapshotGauges(
  { addGauge }: Pick<Metrics, 'addGauge'>,
  read: () => { readonly db: AnyDb; readonly tables: readonly string[] },
): void {
  addGauge({
    name: 'plinth_oldest_snapshot_seconds',
    help: 'Age of the oldest transaction that holds a snapshot, by what its session does',
    label: 'holder',
    read: async () =>
      Object.fromEntries(
        (await listSnapshotHolders(read().db)).flatMap(({ holder, seconds }) =>
          seconds === null ? [] : [[holder, seconds]],
        ),
      ),
  });
  addGauge({
    name: 'plinth_oldest_snapshot_transactions',
    help: 'Transactions that have begun since the oldest snapshot was taken, by what its session does',
    label: 'holder',
    read: async () =>
      Object.fromEntries(
        (await listSnapshotHolders(read().db)).map(({ holder, transactions }) => [holder, transactions]),
      ),
  });
  addGauge({
    name: 'plinth_all_snapshots_visible',
    help: "Whether this process sees the snapshots of other roles' sessions: 1 or 0",
    read: async () => ((await maySeeAllSnapshots(read().db)) ? 1 : 0),
  });
  addGauge({
    name: 'plinth_table_dead_rows',
    help: 'Dead rows of the tables that background work reads, as estimated by PostgreSQL',
    label: 'table',
    read: () => countDeadRows(read().db, read().tables),
  });
}

export interface SnapshotHolder {
  /** What the session does, such as `export` or `pg_dump`. */
  readonly holder: string;
  /** How long ago its transaction began. Null for a replica or replication slot, whose beginning is not known. */
  readonly seconds: number | null;
  /** How many transactions have begun since. */
  readonly transactions: number;
}

const maxHolders = 20;

/**
 * Lists the oldest snapshot of each holder in this database, oldest first. Without the rights of `pg_read_all_stats`,
 * only this role's own sessions are visible. A transaction that has changed something counts even if it is between two
 * statements: it keeps every snapshot that is taken later from being newer than itself.
 */
export async function listSnapshotHolders(db: AnyDb): Promise<SnapshotHolder[]> {
  const { rows } = await sql<SnapshotHolder>`/* service */ with held as (
      select application_name as holder, clock_timestamp() - xact_start as age,
        greatest(age(backend_xmin), age(backend_xid)) as transactions
      from pg_stat_activity
      where (datid = (select oid from pg_database where datname = current_database()) or backend_type = 'walsender')
        and backend_type <> 'autovacuum worker' and pid <> pg_backend_pid()
        and (backend_xmin is not null or backend_xid is not null)
      union all
      select 'replication slot ' || slot_name, null, age(xmin) from pg_replication_slots where xmin is not null
      union all
      select 'prepared transaction', clock_timestamp() - prepared, age(transaction)
      from pg_prepared_xacts where database = current_database()),
    named as (
      select case
          when holder = '' then 'unnamed'
          when holder = 'plinth' then 'api'
          when holder ~ ${ownName} then coalesce(nullif(regexp_replace(holder, ${ownName}, ''), ''), 'worker')
          else left(holder, 60)
        end as holder, age, transactions
      from held)
    select holder, max(extract(epoch from age))::float as seconds, max(transactions)::int as transactions
    from named group by holder order by transactions desc limit ${maxHolders}`.execute(db);
  return rows;
}

/** How the names of Plinth's own sessions begin: `plinth worker 3.17 export`, or in an API process `plinth export`. */
const ownName = '^plinth( worker( [0-9]+[.][0-9]+)?)?( |$)';

/** Whether this role may see which snapshots the sessions of other roles hold. */
export async function maySeeAllSnapshots(db: AnyDb): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select pg_has_role('pg_read_all_stats', 'usage') as may`.execute(db);
  return rows[0]?.may === true;
}

/**
 * Adds what a transaction does to the session's name until the transaction ends. The name of a worker's session still
 * begins with its slot, by which the slot's next holder terminates it.
 */
export const nameTransaction = prepared<object, [what: string]>(
  'name transaction',
  "select set_config('application_name', current_setting('application_name') || ' ' || $1, true)",
);

/** Returns PostgreSQL's estimate of each table's dead rows. */
export async function countDeadRows(db: AnyDb, tables: readonly string[]): Promise<Record<string, number>> {
  const { rows } = await sql<{ name: string; dead: number }>`/* service */
    select relname as name, n_dead_tup::float as dead from pg_stat_user_tables
    where schemaname = 'public' and relname = any(${tables})`.execute(db);
  return Object.fromEntries(rows.map(({ name, dead }) => [name, dead]));
}
