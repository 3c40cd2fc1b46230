// The queries on links that sign in app users: links waiting to be mailed, and links that can be used.
import { type Selectable, sql } from 'kysely';
import { purge } from '../../../kit/background/purge.ts';
import { sendWithNext } from '../../../kit/db/send.ts';
import { newId } from '../../../kit/ids.ts';
import type { Db, Tables } from '../../../tables.ts';

export type LinkRow = Selectable<Tables['app_user_links']>;

interface NewLink extends Pick<LinkRow, 'email' | 'purpose'> {
  readonly full_name?: string;
  readonly password_hash?: string;
  readonly address_hash?: Buffer;
}

export async function insertLink(db: Db, app_id: string, link: NewLink, now: Date): Promise<void> {
  await db
    .insertInto('app_user_links')
    .values({ ...link, id: newId(), app_id, created_date: now, due_at: sql<Date>`clock_timestamp()` })
    .execute();
}

/** Finds a link's app. Undefined if the app has been deleted. */
export const findMailingApp = (db: Db, app_id: string) =>
  db
    .selectFrom('apps')
    .innerJoin('workspaces', 'workspaces.id', 'apps.workspace_id')
    .where('apps.id', '=', app_id)
    .where('apps.deleted_date', 'is', null)
    .where('workspaces.deleted_date', 'is', null)
    .select([
      'apps.id',
      'apps.workspace_id',
      'apps.name',
      'apps.slug',
      'apps.live_deployment_id',
      'apps.public_settings',
      'apps.public_origins',
      'workspaces.plan',
      'workspaces.rate_multiplier',
    ])
    .executeTakeFirst();

export type MailingApp = NonNullable<Awaited<ReturnType<typeof findMailingApp>>>;

/** Makes the link usable. A link from an earlier attempt to send the e-mail stops working. */
export async function openLink(
  db: Db,
  { app_id, id }: Pick<LinkRow, 'app_id' | 'id'>,
  link: { hash: Buffer; expires_at: Date },
): Promise<void> {
  await db.updateTable('app_user_links').set(link).where('app_id', '=', app_id).where('id', '=', id).execute();
}

const openLinks = (db: Db, app_id: string, hash: Buffer, now: Date) =>
  db.selectFrom('app_user_links').where('app_id', '=', app_id).where('hash', '=', hash).where('expires_at', '>', now);

export const findLink = (db: Db, app_id: string, hash: Buffer, now: Date): Promise<LinkRow | undefined> =>
  openLinks(db, app_id, hash, now).selectAll().executeTakeFirst();

/** Locks the link until the transaction ends. Undefined if it has been used in the meantime. */
export const lockLink = (db: Db, app_id: string, hash: Buffer, now: Date): Promise<LinkRow | undefined> =>
  openLinks(db, app_id, hash, now).selectAll().forUpdate().executeTakeFirst();

/** Whether a stored request shows that someone at another IP address has also signed up with this e-mail address. */
export async function hasRivalSignUp(db: Db, { app_id, email, address_hash }: LinkRow): Promise<boolean> {
  const other = await db
    .selectFrom('app_user_links')
    .where('app_id', '=', app_id)
    .where('email', '=', email)
    .where('purpose', '=', 'sign_up')
    .where('address_hash', 'is distinct from', address_hash)
    .select('id')
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}

/** Removes all links to this address, including those whose e-mail has not been sent yet. */
export const removeLinks = (db: Db, { app_id, email }: Pick<LinkRow, 'app_id' | 'email'>): Promise<void> =>
  sendWithNext(db, db.deleteFrom('app_user_links').where('app_id', '=', app_id).where('email', '=', email).compile());

const keepMs = 2 * 60 * 60 * 1000; // longer than a link's lifetime and the retries of its e-mail

/** Removes links that can no longer be used, and requests for which no e-mail was sent. Returns the number removed. */
export async function removeOldLinks(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - keepMs);
  return purge(db, { table: 'app_user_links', where: sql`due_at is null and created_date < ${before}` });
}
