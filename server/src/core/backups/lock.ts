// The locks of a back-up and of a verification. While a session holds that of a back-up, no stored object is removed: the copy
// of the objects begins after the dump, and must have what the rows of the dump name.
import { type RawBuilder, sql } from 'kysely';
import type { AnyDb } from '../../kit/db/database.ts';

const backup = 'plinth backup';
const verification = 'plinth backup --verify';

/** Takes the lock for as long as the connection lives. Returns false if another back-up of this database is running. */
export const tryBackupLock = (connection: AnyDb): Promise<boolean> => tryLock(connection, backup);

/** The same for verifications, of which each drops the databases that crashed ones have left behind. */
export const tryVerifyLock = (connection: AnyDb): Promise<boolean> => tryLock(connection, verification);

async function tryLock(connection: AnyDb, name: string): Promise<boolean> {
  const { rows } = await sql<{ is_locked: boolean }>`
    /* service */ select pg_try_advisory_lock(hashtextextended(${name}, 0)) as is_locked`.execute(connection);
  return rows[0]?.is_locked === true;
}

/** Whether this session still has the lock. Fails if the connection was lost, with which the lock ends. */
export async function hasBackupLock(connection: AnyDb): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`/* service */ select exists (
      select from pg_locks where pid = pg_backend_pid() and granted and ${isLock(backup)}) as has`.execute(connection);
  return rows[0]?.has === true;
}

export async function isBackupRunning(db: AnyDb): Promise<boolean> {
  const { rows } = await sql<{ is_running: boolean }>`/* service */ select exists (
      select from pg_locks where ${isLock(backup)}) as is_running`.execute(db);
  return rows[0]?.is_running === true;
}

const isLock = (name: string): RawBuilder<boolean> => sql`locktype = 'advisory' and objsubid = 1
  and database = (select oid from pg_database where datname = current_database())
  and (classid::bigint << 32) | objid::bigint = hashtextextended(${name}, 0)`;
