// The queries on an app's sign-in settings.
import type { Selectable } from 'kysely';
import type { Db, Tables } from '../../../tables.ts';

export type AuthSettings = Pick<
  Selectable<Tables['app_auth_settings']>,
  'sign_up' | 'password_enabled' | 'link_enabled'
>;

/** An app's settings until they are first changed. Its users may sign in, and no one can sign up. */
const defaults: AuthSettings = { sign_up: 'closed', password_enabled: true, link_enabled: true };

const settings = (db: Db, app_id: string) =>
  db
    .selectFrom('app_auth_settings')
    .where('app_id', '=', app_id)
    .select(['sign_up', 'password_enabled', 'link_enabled']);

/** `undefined` if the settings have never been changed. */
export const findSettings = (db: Db, app_id: string): Promise<AuthSettings | undefined> =>
  settings(db, app_id).executeTakeFirst();

export const getSettings = async (db: Db, app_id: string): Promise<AuthSettings> =>
  (await findSettings(db, app_id)) ?? defaults;

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
