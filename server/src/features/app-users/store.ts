// Owns the queries over an app's users, and the sweep of their tokens.
import { sql, type Updateable } from 'kysely';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { idOrNull, newId } from '../../kit/ids.ts';
import type { Db, Tables } from '../../tables.ts';
import type { AppUserQuery, AppUserRow, UserData } from './contract.ts';

const users = (db: Db, { app }: AppAccess) => db.selectFrom('app_users').where('app_id', '=', app.id).selectAll();

/** Newest first, with one more than the limit. */
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

export const findAppUser = (db: Db, access: AppAccess, id: string): Promise<AppUserRow | undefined> =>
  users(db, access).where('id', '=', idOrNull(id)).executeTakeFirst();

/** As they are now, held until the transaction ends. */
export const lockAppUser = (db: Db, access: AppAccess, id: string): Promise<AppUserRow | undefined> =>
  users(db, access).where('id', '=', id).forUpdate().executeTakeFirst();

interface AppUserFields {
  readonly email: string;
  readonly full_name?: string;
  readonly role?: AppUserRow['role'];
  readonly data: UserData;
}

/** Undefined when another user of the app has the address. */
export const insertAppUser = (db: Db, { app }: AppAccess, { data, ...fields }: AppUserFields, now: Date) =>
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

/** Undefined when another user of the app has the address. */
export async function saveAppUser(db: Db, { app }: AppAccess, id: string, change: Updateable<Tables['app_users']>) {
  try {
    const saved = db.updateTable('app_users').set(change).where('app_id', '=', app.id).where('id', '=', id);
    return await saved.returningAll().executeTakeFirstOrThrow();
  } catch (error) {
    if ((error as { constraint?: string }).constraint === 'app_users_app_id_email_key') return undefined;
    throw error;
  }
}

/** Their tokens go with them. */
export async function removeAppUser(db: Db, { app }: AppAccess, id: string): Promise<void> {
  await db.deleteFrom('app_users').where('app_id', '=', app.id).where('id', '=', id).execute();
}

const keepMs = 24 * 60 * 60 * 1000; // so long a page left open is told that its token has expired, not that it never was
const batchSize = 1_000;

/** Deletes tokens of app users that are long over, some at a time; gives how many. */
export async function purgeExpiredTokens(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from credentials where id in (
    select id from credentials where kind = 'app_user_token' and expires_at <= ${new Date(now.getTime() - keepMs)}
    limit ${sql.lit(batchSize)} for update skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
