// Waits for a blocked transaction. Tests use it to force an interleaving that would otherwise happen only by chance.
import { sql } from 'kysely';
import type { Db } from '../../src/tables.ts';

/** Waits until another transaction is waiting for a lock that this one holds. */
export async function waitUntilBlocked(db: Db): Promise<void> {
  const blocked = sql`select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`;
  while ((await blocked.execute(db)).rows.length === 0);
}
