// When the last complete back-up was made, and what came of the last attempt to verify one.
import { sql } from 'kysely';
import type { AnyDb } from '../../kit/db/database.ts';

/** What `plinth backup` has recorded, with ages in seconds by the clock of the database. */
export interface BackupState {
  readonly backup_name: string | null;
  readonly backup_age: number | null;
  readonly verified_name: string | null;
  readonly verify_age: number | null;
  readonly failed_name: string | null;
  readonly has_failed: boolean;
}

const none: BackupState = {
  backup_name: null,
  backup_age: null,
  verified_name: null,
  verify_age: null,
  failed_name: null,
  has_failed: false,
};

export async function readBackupState(db: AnyDb): Promise<BackupState> {
  const { rows } = await sql<BackupState>`/* service */ select backup_name, verified_name, failed_name,
      extract(epoch from clock_timestamp() - backed_up_at)::float as backup_age,
      extract(epoch from clock_timestamp() - verified_at)::float as verify_age,
      verify_failed_at is not null as has_failed
    from backup_state`.execute(db);
  return rows[0] ?? none;
}

/** Returns false, and records nothing, if the database is from a release without the table. */
async function save(db: AnyDb, values: Record<string, unknown>): Promise<boolean> {
  if (!(await hasTable(db, 'backup_state'))) return false;
  await db
    .insertInto('backup_state')
    .values({ is_only_row: true, ...values })
    .onConflict((conflict) => conflict.column('is_only_row').doUpdateSet(values))
    .execute();
  return true;
}

export const recordBackup = (db: AnyDb, backup_name: string, backed_up_at: Date): Promise<boolean> =>
  save(db, { backup_name, backed_up_at });

export const recordVerified = (db: AnyDb, verified_name: string, now: Date): Promise<boolean> =>
  save(db, { verified_name, verified_at: now, failed_name: null, verify_failed_at: null });

export const recordVerifyFailed = (db: AnyDb, failed_name: string, now: Date): Promise<boolean> =>
  save(db, { failed_name, verify_failed_at: now });

/** Whether the role may record, as the one that owns the tables may. True if there is no table yet. */
export async function mayRecord(db: AnyDb): Promise<{ role: string; may: boolean }> {
  const { rows } = await sql<{ role: string; may: boolean }>`/* service */ select current_user as role,
    coalesce(has_table_privilege(to_regclass('public.backup_state'), 'insert'), true) as may`.execute(db);
  return rows[0] ?? { role: '', may: false };
}

export async function hasTable(db: AnyDb, name: string): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    /* service */ select to_regclass(${`public.${name}`}) is not null as has`.execute(db);
  return rows[0]?.has === true;
}
