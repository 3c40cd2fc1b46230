// Owns the queries over the sign-in settings of an app.
import type { Selectable } from 'kysely';
import type { Db, Tables } from '../../../tables.ts';

export type AuthSettings = Pick<
  Selectable<Tables['app_auth_settings']>,
  'sign_up' | 'password_enabled' | 'link_enabled'
>;

/** Of an app whose settings nobody has changed: its users may sign in, and nobody can sign up. */
const defaults: AuthSettings = { sign_up: 'closed', password_enabled: true, link_enabled: true };

const settings = (db: Db, app_id: string) =>
  db
    .selectFrom('app_auth_settings')
    .where('app_id', '=', app_id)
    .select(['sign_up', 'password_enabled', 'link_enabled']);

export const getSettings = async (db: Db, app_id: string): Promise<AuthSettings> =>
  (await settings(db, app_id).executeTakeFirst()) ?? defaults;

/** Locks the settings until the transaction ends. */
export async function lockSettings(db: Db, app_id: string, now: Date): Promise<AuthSettings> {
  await db
    .insertInto('app_auth_settings')
    .values({ ...defaults, app_id, updated_date: now })
    .onConflict((conflict) => conflict.column('app_id').doNothing())
    .execute();
  return settings(db, app_id).forUpdate().executeTakeFirstOrThrow();
}

export async function saveSettings(db: Db, app_id: string, changed: AuthSettings, now: Date): Promise<void> {
  await db
    .updateTable('app_auth_settings')
    .set({ ...changed, updated_date: now })
    .where('app_id', '=', app_id)
    .execute();
}
