// Counts the rows of a table that statements read, for query plan tests.
import { sql } from 'kysely';
import type { AnyDb } from '../../src/kit/db/database.ts';

/**
 * Returns the number of rows that `work` reads. `db` must be a transaction, because only a transaction's statistics are
 * available immediately and per connection.
 */
export async function countRowsRead(db: AnyDb, table: string, work: () => Promise<unknown>): Promise<number> {
  const count = async () => {
    const { rows } = await sql<{ read: number }>`select seq_tup_read + idx_tup_fetch as read
      from pg_stat_xact_user_tables where relname = ${table}`.execute(db);
    return rows[0]?.read ?? 0;
  };
  const before = await count();
  await work();
  return (await count()) - before;
}
