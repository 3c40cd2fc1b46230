// Owns waiting for a blocked transaction, with which tests force an interleaving that otherwise happens by chance.
import { sql } from 'kysely';
import type { Db } from '../../src/tables.ts';

/** Waits until another transaction waits for a lock of this one. */
export async function waitUntilBlocked(db: Db): Promise<void> {
  const blocked = sql`select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`;
  while ((await blocked.execute(db)).rows.length === 0);
}
