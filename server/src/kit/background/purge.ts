// Removes rows that have expired, in batches.
import { type RawBuilder, sql } from 'kysely';
import { type AnyDb, afterCommit } from '../db/database.ts';

export interface Expired {
  readonly table: string;
  /** Which rows have expired. An index should cover it, with `order` if that is set. */
  readonly where: RawBuilder<unknown>;
  /** The column whose smallest values are removed first. */
  readonly order?: string;
  readonly batchSize?: number;
}

const purgedRows = new Map<string, number>();

/** How many rows this process has purged, by table. */
export const listPurgedRows = (): ReadonlyMap<string, number> => purgedRows;

/** Counts rows that were purged, once the transaction has committed. */
export function countPurged(db: AnyDb, table: string, rows: number): void {
  if (rows > 0) afterCommit(db, () => purgedRows.set(table, (purgedRows.get(table) ?? 0) + rows));
}

const defaultBatchSize = 5_000;
const maxMs = 1_000;

/**
 * Removes batches until nothing is left or a second has passed, and returns how many rows it removed. Rows that another
 * transaction has locked are left for the next time, so several workers remove different rows, and none of them waits.
 */
export async function purge(
  db: AnyDb,
  { table, where, order, batchSize = defaultBatchSize }: Expired,
): Promise<number> {
  const endsAt = performance.now() + maxMs;
  let purged = 0;
  for (;;) {
    const { numAffectedRows } = await sql`/* service */ delete from ${sql.table(table)} where ctid = any(array(
      select ctid from ${sql.table(table)} where ${where}
      ${order === undefined ? sql`` : sql`order by ${sql.ref(order)}`} limit ${batchSize} for update skip locked))`.execute(
      db,
    );
    const inBatch = Number(numAffectedRows ?? 0);
    purged += inBatch;
    countPurged(db, table, inBatch);
    if (inBatch < batchSize || performance.now() >= endsAt) return purged;
  }
}
