// The queries on logins of programs with a code.
import { sql } from 'kysely';
import type { SelfAccess } from '../../../core/auth/proofs.ts';
import type { Db } from '../../../tables.ts';

export type DeviceLoginRow = Awaited<ReturnType<typeof lockByDeviceHash>> & object;

/** At most this many logins may be open: strangers can start them. */
const maxOpen = 10_000;

export type NewLogin = Pick<
  DeviceLoginRow,
  | 'id'
  | 'device_hash'
  | 'user_code'
  | 'client_name'
  | 'address'
  | 'permission'
  | 'app_ids'
  | 'created_date'
  | 'expires_at'
>;

/** Returns `full` if too many logins are open, and `taken` if another one has the same code. */
export async function insertLogin(db: Db, login: NewLogin, now: Date): Promise<'inserted' | 'taken' | 'full'> {
  const { rows } = await sql`select from device_logins where expires_at > ${now} limit 1 offset ${maxOpen - 1}`.execute(
    db,
  );
  if (rows.length > 0) return 'full';
  const inserted = await db
    .insertInto('device_logins')
    .values(login)
    .onConflict((conflict) => conflict.column('user_code').doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted === undefined ? 'taken' : 'inserted';
}

const openLogins = (db: Db, now: Date) => db.selectFrom('device_logins').where('expires_at', '>', now).selectAll();

/** Finds a login that nobody has answered yet, or that the caller has answered. */
export const findByUserCode = (db: Db, { caller }: SelfAccess, user_code: string, now: Date) =>
  openLogins(db, now)
    .where('user_code', '=', user_code)
    .where((is) => is.or([is('answered_by', 'is', null), is('answered_by', '=', caller.user_id)]))
    .executeTakeFirst();

export const lockById = (db: Db, _access: SelfAccess, id: string, now: Date) =>
  openLogins(db, now).where('id', '=', id).forUpdate().executeTakeFirst();

export const lockByDeviceHash = (db: Db, device_hash: Buffer, now: Date) =>
  openLogins(db, now).where('device_hash', '=', device_hash).forUpdate().executeTakeFirst();

export type LoginAnswer = Pick<
  DeviceLoginRow,
  'session_id' | 'granted_workspace_id' | 'is_approved' | 'granted_permission' | 'granted_app_ids' | 'granted_days'
>;

export async function saveAnswer(db: Db, { caller }: SelfAccess, id: string, answer: LoginAnswer): Promise<void> {
  await db
    .updateTable('device_logins')
    .set({ ...answer, answered_by: caller.user_id })
    .where('id', '=', id)
    .execute();
}

/** Denies what a person has approved and no program has fetched yet. */
export async function withdrawApprovals(db: Db, userId: string): Promise<void> {
  await db
    .updateTable('device_logins')
    .set({ is_approved: false })
    .where('answered_by', '=', userId)
    .where('is_approved', '=', true)
    .execute();
}

export async function removeLogin(db: Db, { id }: DeviceLoginRow): Promise<void> {
  await db.deleteFrom('device_logins').where('id', '=', id).execute();
}

export async function removeExpiredLogins(db: Db, now: Date): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('device_logins')
    .where('expires_at', '<=', now)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
