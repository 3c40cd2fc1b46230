// The lock of a back-up. While a session holds it, no stored object is removed: the copy of the objects begins after the
// dump, and must have what the rows of the dump name.
import { sql } from 'kysely';
import type { AnyDb } from '../../kit/db/database.ts';

const name = 'plinth backup';

/** Takes the lock for as long as the connection lives. Returns false if another back-up of this database is running. */
export async function tryBackupLock(connection: AnyDb): Promise<boolean> {
  const { rows } = await sql<{ is_locked: boolean }>`
    /* service */ select pg_try_advisory_lock(hashtextextended(${name}, 0)) as is_locked`.execute(connection);
  return rows[0]?.is_locked === true;
}

export async function isBackupRunning(db: AnyDb): Promise<boolean> {
  const { rows } = await sql<{ is_running: boolean }>`/* service */ select exists (
      select from pg_locks where locktype = 'advisory' and objsubid = 1
        and database = (select oid from pg_database where datname = current_database())
        and (classid::bigint << 32) | objid::bigint = hashtextextended(${name}, 0)) as is_running`.execute(db);
  return rows[0]?.is_running === true;
}
