// The queries on generated assets and their sessions. A state change is applied only if the session is in the
// expected state, so a worker writes nothing once it has lost its claim or the caller has given up.
import { type Insertable, type Selectable, sql } from 'kysely';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { QueueRow } from '../../../kit/background/queues/queue.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db, Tables } from '../../../tables.ts';

export type SessionRow = Selectable<Tables['ads_asset_sessions']> & QueueRow;
export type AssetRow = Selectable<Tables['ads_assets']>;
export type NewAsset = Omit<
  Insertable<Tables['ads_assets']>,
  'workspace_id' | 'app_id' | 'session_id' | 'created_date'
>;
type SessionKey = Pick<SessionRow, 'workspace_id' | 'app_id' | 'id'>;

export type NewSession = Pick<
  Insertable<Tables['ads_asset_sessions']>,
  'id' | 'channel_type' | 'language' | 'brief' | 'reservation_id' | 'expires_at'
>;

export const insertSession = (db: Db, { app }: AppAccess, session: NewSession, now: Date): Promise<SessionRow> =>
  db
    .insertInto('ads_asset_sessions')
    .values({
      ...session,
      workspace_id: app.workspace_id,
      app_id: app.id,
      state: 'writing',
      created_date: now,
      counted_at: now,
      due_at: sql<Date>`clock_timestamp()`, // queues use the database's clock
    })
    .returningAll()
    .executeTakeFirstOrThrow();

const sessions = (db: Db, { workspace_id, app_id }: Pick<SessionKey, 'workspace_id' | 'app_id'>) =>
  db.selectFrom('ads_asset_sessions').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);

/** Undefined if the id is unknown or malformed. */
export const findSession = (db: Db, { app }: AppAccess, id: string): Promise<SessionRow | undefined> =>
  sessions(db, { workspace_id: app.workspace_id, app_id: app.id })
    .where('id', '=', idOrNull(id))
    .selectAll()
    .executeTakeFirst();

export const findSessionByKey = (db: Db, { id, ...app }: SessionKey): Promise<SessionRow | undefined> =>
  sessions(db, app).where('id', '=', id).selectAll().executeTakeFirst();

/**
 * Locks a failed session until the end of the transaction. Returns false if it has not failed, was restarted by another
 * request, or is still claimed: completing that claim would remove the session from the queue again.
 */
export async function lockFailedSession(db: Db, { workspace_id, id }: SessionKey): Promise<boolean> {
  const row = await db
    .selectFrom('ads_asset_sessions')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('state', '=', 'failed')
    .where('claimed_slot', 'is', null)
    .select('id')
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/** Restarts a session that lockFailedSession has locked. */
export async function restartSession(
  db: Db,
  { workspace_id, id }: SessionKey,
  reservation_id: string,
  now: Date,
): Promise<void> {
  await db
    .updateTable('ads_asset_sessions')
    .set({
      state: 'writing',
      reservation_id,
      counted_at: now,
      has_called_model: false,
      due_at: sql<Date>`clock_timestamp()`,
      failures: 0,
      failed_at: null,
    })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

export async function saveSessionState(
  db: Db,
  { workspace_id, id }: SessionKey,
  from: SessionRow['state'],
  to: SessionRow['state'],
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('ads_asset_sessions')
    .set({ state: to })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('state', '=', from)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Records that the session is about to call the model. Returns false if it was cancelled or has its texts. */
export async function recordModelCall(db: Db, { workspace_id, id }: SessionKey): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('ads_asset_sessions')
    .set({ has_called_model: true })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('state', '=', 'writing')
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Returns undefined if the session has its texts, or had failed before. */
export const failSession = (db: Db, { workspace_id, id }: SessionKey): Promise<SessionRow | undefined> =>
  db
    .updateTable('ads_asset_sessions')
    .set({ state: 'failed' })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('state', '=', 'writing')
    .returningAll()
    .executeTakeFirst();

export async function insertAssets(
  db: Db,
  { workspace_id, app_id, id, created_date }: SessionRow,
  assets: readonly NewAsset[],
): Promise<void> {
  const own = { workspace_id, app_id, session_id: id, created_date };
  await db
    .insertInto('ads_assets')
    .values(assets.map((asset) => ({ ...asset, ...own })))
    .execute();
}

export const listSessionAssets = (db: Db, { workspace_id, app_id, id }: SessionKey): Promise<AssetRow[]> =>
  db
    .selectFrom('ads_assets')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('session_id', '=', id)
    .orderBy('position')
    .selectAll()
    .execute();

export type AssetKey = Pick<AssetRow, 'workspace_id' | 'app_id' | 'id'>;

/** Undefined if the row was removed with its app or because of its age. */
export const findAssetByKey = (db: Db, { workspace_id, app_id, id }: AssetKey): Promise<AssetRow | undefined> =>
  db
    .selectFrom('ads_assets')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('id', '=', id)
    .selectAll()
    .executeTakeFirst();

/** Undefined if the id is unknown or malformed. */
export async function findAsset(db: Db, { app }: AppAccess, id: string): Promise<AssetRow | undefined> {
  const known = idOrNull(id);
  return known === null ? undefined : findAssetByKey(db, { workspace_id: app.workspace_id, app_id: app.id, id: known });
}

/** Records that a campaign uses the asset, with the asset's resource names on the platform. */
export async function saveAccepted(
  db: Db,
  { workspace_id, app_id, id }: AssetKey,
  campaignId: string,
  resourceNames: readonly string[],
): Promise<void> {
  await db
    .updateTable('ads_assets')
    .set({ status: 'accepted', accepted_campaign_id: campaignId, accepted_resource_names: [...resourceNames] })
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('id', '=', id)
    .execute();
}

/** Newest first. */
export const listLibrary = (db: Db, { app }: AppAccess, limit: number): Promise<AssetRow[]> =>
  db
    .selectFrom('ads_assets')
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .orderBy('created_date', 'desc')
    .orderBy('session_id', 'desc')
    .orderBy('position')
    .limit(limit)
    .selectAll()
    .execute();

/** Returns false if the row was removed with its app. */
export async function saveImage(
  db: Db,
  { workspace_id, id }: Pick<AssetRow, 'workspace_id' | 'id'>,
  size_bytes: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('ads_assets')
    .set({ size_bytes, status: 'ready' })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('status', 'in', ['processing', 'ready'])
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Returns the number of finished images. */
export async function failUnfinishedImages(db: Db, { workspace_id, id }: SessionKey): Promise<number> {
  await db
    .updateTable('ads_assets')
    .set({ status: 'failed' })
    .where('workspace_id', '=', workspace_id)
    .where('session_id', '=', id)
    .where('status', '=', 'processing')
    .execute();
  const { made } = await db
    .selectFrom('ads_assets')
    .where('workspace_id', '=', workspace_id)
    .where('session_id', '=', id)
    .where('kind', '=', 'image')
    .where('status', '!=', 'failed')
    .select(sql<number>`count(*)::int`.as('made'))
    .executeTakeFirstOrThrow();
  return made;
}

/** Records that the images show the name's first letter instead of the logo. */
export async function recordMissingLogo(db: Db, { workspace_id, id }: SessionKey): Promise<void> {
  await db
    .updateTable('ads_asset_sessions')
    .set({ is_logo_missing: true })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

/**
 * Removes sessions but keeps their assets in the library. Unfinished images are marked as failed, because no worker
 * will draw them. Returns the number of removed sessions.
 */
export async function removeExpiredSessions(db: Db, now: Date): Promise<number> {
  const { rows } = await sql<{ removed: number }>`/* service */ with expired as (
      delete from ads_asset_sessions where id in (
        select id from ads_asset_sessions where expires_at <= ${now} and due_at is null limit 1000)
      returning workspace_id, id),
    unfinished as (
      update ads_assets a set status = 'failed' from expired e
      where a.workspace_id = e.workspace_id and a.session_id = e.id and a.status = 'processing')
    select count(*)::int as removed from expired`.execute(db);
  return rows[0]?.removed ?? 0;
}

/** Keeps assets that are used by a campaign. Returns the number of removed assets. */
export async function removeOldAssets(db: Db, now: Date): Promise<number> {
  const createdUntil = new Date(now.getTime() - 90 * 24 * 60 * 60 * 1000);
  const { numAffectedRows } = await sql`/* service */ delete from ads_assets where id in (
    select id from ads_assets where created_date <= ${createdUntil} and status <> 'accepted' limit 1000)`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** The app's newest generated image for a slot. */
export const findNewestImage = (
  db: Db,
  { workspace_id, app_id }: Pick<SessionKey, 'workspace_id' | 'app_id'>,
  slot: AssetRow['slot'],
): Promise<AssetRow | undefined> =>
  db
    .selectFrom('ads_assets')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('slot', '=', slot)
    .where('status', 'in', ['ready', 'accepted'])
    .orderBy('created_date', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .selectAll()
    .executeTakeFirst();
