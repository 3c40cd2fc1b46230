// The queries on previews.
import { type Selectable, sql } from 'kysely';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { purge } from '../../../kit/background/purge.ts';
import type { Db, Tables } from '../../../tables.ts';

type PreviewRow = Selectable<Tables['app_previews']>;
export type Preview = Pick<PreviewRow, 'id' | 'app_id' | 'revision' | 'credential_id'>;

const previews = (db: Db, { app }: AppAccess) =>
  db.selectFrom('app_previews').where('workspace_id', '=', app.workspace_id).where('app_id', '=', app.id);

const columns = ['id', 'app_id', 'revision', 'credential_id'] as const;

export async function insertPreview(db: Db, row: PreviewRow): Promise<void> {
  await db.insertInto('app_previews').values(row).execute();
}

/** Lists the app's previews beyond the newest `kept`. */
export const listOldestPreviews = (db: Db, access: AppAccess, kept: number): Promise<Preview[]> =>
  previews(db, access).select(columns).orderBy('created_date', 'desc').orderBy('id', 'desc').offset(kept).execute();

export const listPreviews = (db: Db, access: AppAccess): Promise<Preview[]> =>
  previews(db, access).select(columns).execute();

/** Counts the workspace's previews that have not expired. */
export async function countPreviews(db: Db, { workspace_id }: AppAccess, now: Date): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from app_previews
    where workspace_id = ${workspace_id} and expires_at > ${now}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Removes previews of the app, with the tokens with which they are signed in. */
export async function removePreviews(db: Db, { app }: AppAccess, removed: readonly Preview[]): Promise<void> {
  const tokens = removed.flatMap(({ credential_id }) => (credential_id === null ? [] : [credential_id]));
  if (tokens.length > 0)
    await db
      .deleteFrom('credentials')
      .where('workspace_id', '=', app.workspace_id)
      .where('kind', '=', 'app_user_token')
      .where('id', 'in', tokens)
      .execute();
  const ids = removed.map(({ id }) => id);
  await sql`delete from app_previews where workspace_id = ${app.workspace_id} and app_id = ${app.id}
    and id = any(${ids}::uuid[])`.execute(db);
}

/** Their tokens have expired long before. */
export const removeExpiredPreviews = (db: Db, now: Date): Promise<number> =>
  purge(db, { table: 'app_previews', where: sql`expires_at <= ${now}` });
