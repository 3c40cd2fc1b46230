// Owns the waiting for somebody to wait: how tests put two things in an order that only happens by chance.
import { sql } from 'kysely';
import type { Db } from '../../src/tables.ts';

/** Until somebody waits for what this transaction holds. */
export async function waitUntilBlocked(db: Db): Promise<void> {
  const waiting = sql`select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`;
  while ((await waiting.execute(db)).rows.length === 0);
}
