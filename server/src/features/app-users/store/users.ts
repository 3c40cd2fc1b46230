// The queries on an app's users, and the purge of their expired tokens.
import { sql } from 'kysely';
import type { AppAccess, AppVisitor, DataAccess } from '../../../core/auth/proofs.ts';
import { sendWithNext } from '../../../kit/db/send.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import { newId } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import type { AppUserQuery, AppUserRow, UserData } from '../contract.ts';

const users = (db: Db, { app }: AppAccess | DataAccess) =>
  db.selectFrom('app_users').where('app_id', '=', app.id).selectAll();

/** Lists users, newest first. Returns one row more than the limit, to show whether there is another page. */
export function listAppUsers(db: Db, access: AppAccess, query: AppUserQuery, after: Position | undefined) {
  let found = users(db, access)
    .orderBy('created_date', 'desc')
    .orderBy('id', 'desc')
    .limit(query.limit + 1);
  if (query.search) {
    const part = `%${query.search.replace(/[\\%_]/g, '\\$&')}%`;
    found = found.where((is) => is.or([is('email', 'ilike', part), is('full_name', 'ilike', part)]));
  }
  if (after) found = found.where(sql<boolean>`(created_date, id) < (${after[0]}::timestamptz, ${after[1]}::uuid)`);
  return found.execute();
}

/** Locks the row until the transaction ends. */
export const lockAppUser = (db: Db, access: AppAccess | DataAccess, id: string): Promise<AppUserRow | undefined> =>
  users(db, access).where('id', '=', id).forUpdate().executeTakeFirst();

interface AppUserFields {
  readonly email: string;
  readonly full_name?: string;
  readonly role?: AppUserRow['role'];
  readonly data: UserData;
}

/** Returns undefined if another user of the app already has the e-mail address. */
export const insertAppUser = (
  db: Db,
  { app }: AppAccess | AppVisitor | DataAccess,
  { data, ...fields }: AppUserFields,
  now: Date,
) =>
  db
    .insertInto('app_users')
    .values({
      ...fields,
      data: JSON.stringify(data),
      id: newId(),
      app_id: app.id,
      created_date: now,
      updated_date: now,
    })
    .onConflict((conflict) => conflict.columns(['app_id', 'email']).doNothing())
    .returningAll()
    .executeTakeFirst();

const updateUser = (db: Db, { app_id, id, data, ...columns }: AppUserRow) =>
  db
    .updateTable('app_users')
    .set({ ...columns, data: JSON.stringify(data) })
    .where('app_id', '=', app_id)
    .where('id', '=', id);

/** Saves a locked user whose e-mail address has not changed. */
export const saveAppUser = (db: Db, user: AppUserRow): Promise<void> =>
  sendWithNext(db, updateUser(db, user).compile());

/** Returns false if another user of the app already has the e-mail address. */
export async function saveAppUserWithNewEmail(db: Db, user: AppUserRow): Promise<boolean> {
  try {
    await updateUser(db, user).execute();
    return true;
  } catch (error) {
    if ((error as { constraint?: string }).constraint === 'app_users_app_id_email_key') return false;
    throw error;
  }
}

/** The foreign key removes the user's tokens. */
export const removeAppUser = (db: Db, { app_id, id }: AppUserRow): Promise<void> =>
  sendWithNext(db, db.deleteFrom('app_users').where('app_id', '=', app_id).where('id', '=', id).compile());

const keepMs = 24 * 60 * 60 * 1000; // during this time, an expired token is reported as expired instead of unknown
const batchSize = 1_000;

/** Deletes a batch of tokens that expired more than a day ago. Returns the number deleted. */
export async function removeExpiredTokens(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from credentials where id in (
    select id from credentials where kind = 'app_user_token' and expires_at <= ${new Date(now.getTime() - keepMs)}
    limit ${sql.lit(batchSize)} for update skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
