// The queries that list apps, and the queries on their files and secrets. The table `apps` itself belongs to
// core/identity.
import { sql } from 'kysely';
import type { AppAccess, AppReach, WorkspaceAccess } from '../../core/auth/proofs.ts';
import { type AppListRow, selectAppList } from '../../core/identity/app-list.ts';
import { sendWithCommit } from '../../kit/db/send.ts';
import type { Position } from '../../kit/http/cursor.ts';
import type { Db } from '../../tables.ts';
import type { AppQuery, StoredFile } from './contract.ts';

export function listApps(
  db: Db,
  access: WorkspaceAccess,
  query: AppQuery,
  after: Position | undefined,
): Promise<AppListRow[]> {
  const apps = selectAppList(db, access, query, after);
  const ofKind = query.app_type
    ? apps.where('apps.app_type', 'in', query.app_type)
    : apps.where('apps.app_type', '<>', 'user_agent');
  return ofKind.execute();
}

// ---- files

const files = (db: Db, { app }: AppReach) => db.selectFrom('app_files').where('app_id', '=', app.id);

export const listFiles = (db: Db, access: AppAccess, prefix: string, limit: number, after: Position | undefined) => {
  const found = files(db, access)
    .where(sql<boolean>`path collate "C" > ${after?.[0] ?? ''} and starts_with(path, ${prefix})`)
    .select(['path', 'size', 'sha256', 'updated_date'])
    .orderBy(sql`path collate "C"`)
    .limit(limit + 1);
  return found.execute();
};

export const findFile = (db: Db, access: AppAccess, path: string) =>
  files(db, access).where('path', '=', path).selectAll().executeTakeFirst();

/** Returns the files with these paths, leaving out missing files. */
export const readFiles = (db: Db, access: AppReach, paths: readonly string[]) =>
  paths.length === 0
    ? Promise.resolve([])
    : files(db, access).where('path', 'in', paths).orderBy('path').selectAll().execute();

/** Returns the hash and size of every file, keyed by path. */
export async function listVersions(db: Db, access: AppAccess) {
  const rows = await files(db, access).select(['path', 'sha256', 'size']).execute();
  return new Map(rows.map((row) => [row.path, row]));
}

/** Returns a single hash of all files, and their number. */
export async function hashFiles(db: Db, { app }: AppReach): Promise<{ hash: string; count: number }> {
  const { rows } = await sql<{ hash: string; count: number }>`select count(*)::int as count,
      encode(sha256(convert_to(coalesce(string_agg(path || ' ' || sha256, E'\\n' order by path collate "C"), ''), 'UTF8')), 'hex') as hash
    from app_files where app_id = ${app.id}`.execute(db);
  return rows[0] ?? { hash: '', count: 0 };
}

/** The path, encoding and size of every file, ordered by path. */
export const listFileSizes = (db: Db, access: AppReach) =>
  files(db, access).select(['path', 'encoding', 'size']).orderBy(sql`path collate "C"`).execute();

export async function saveFiles(db: Db, { app }: AppAccess, changed: readonly StoredFile[], now: Date): Promise<void> {
  // Files are written in batches, because a file can have 5 MiB and a statement can have at most 65,535 parameters.
  for (let start = 0; start < changed.length; start += 100) {
    const rows = changed.slice(start, start + 100).map((file) => ({ ...file, app_id: app.id, updated_date: now }));
    await db
      .insertInto('app_files')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['app_id', 'path']).doUpdateSet((is) => ({
          content: is.ref('excluded.content'),
          sha256: is.ref('excluded.sha256'),
          size: is.ref('excluded.size'),
          encoding: is.ref('excluded.encoding'),
          updated_date: now,
        })),
      )
      .execute();
  }
}

export async function removeFiles(db: Db, { app }: AppAccess, paths: readonly string[]): Promise<number> {
  if (paths.length === 0) return 0;
  const { numDeletedRows } = await db
    .deleteFrom('app_files')
    .where('app_id', '=', app.id)
    .where('path', 'in', paths)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

export const sumFileSizes = (db: Db, access: AppAccess) =>
  files(db, access)
    .select((is) => [
      is.fn.countAll<number>().as('count'),
      is.fn.coalesce(is.fn.sum<number>('size'), is.lit(0)).as('bytes'),
    ])
    .executeTakeFirstOrThrow();

/** The app's revision and its files in these folders, as of the same moment. */
export async function listFilesIn(db: Db, { app }: AppReach, folders: readonly string[]) {
  const { rows } = await sql<{ revision: number; path: string | null; sha256: string; size: number }>`
    select a.revision, f.path, f.sha256, f.size from apps a
    left join app_files f on f.app_id = a.id and f.path ^@ any(${folders.map((folder) => `${folder}/`)}::text[])
    where a.workspace_id = ${app.workspace_id} and a.id = ${app.id}
    order by f.path collate "C"`.execute(db);
  const files = rows.flatMap(({ path, sha256, size }) => (path === null ? [] : [{ path, sha256, size }]));
  return { revision: rows[0]?.revision ?? app.revision, files };
}

// ---- secrets

const secrets = (db: Db, { app }: AppAccess) => db.selectFrom('app_secrets').where('app_id', '=', app.id);

export const listSecrets = (db: Db, access: AppAccess, limit: number, after: Position | undefined) =>
  secrets(db, access)
    .where(sql<boolean>`name collate "C" > ${after?.[0] ?? ''}`)
    .select(['name', 'updated_date', 'last4'])
    .orderBy(sql`name collate "C"`)
    .limit(limit + 1)
    .execute();

export const listSecretNames = async (db: Db, access: AppAccess): Promise<string[]> =>
  (await secrets(db, access).select('name').execute()).map(({ name }) => name);

export const listSealedSecrets = (db: Db, app: { readonly id: string }, names: readonly string[]) =>
  db
    .selectFrom('app_secrets')
    .where('app_id', '=', app.id)
    .where('name', 'in', names)
    .select(['name', 'sealed'])
    .execute();

export async function countSecrets(db: Db, access: AppAccess): Promise<number> {
  const counted = secrets(db, access).select((is) => is.fn.countAll<number>().as('count'));
  return (await counted.executeTakeFirstOrThrow()).count;
}

export const findSecret = (db: Db, access: AppAccess, name: string) =>
  secrets(db, access).where('name', '=', name).select(['sealed', 'last4', 'updated_date']).executeTakeFirst();

/** The statement is sent together with the commit. */
export function saveSecret(
  db: Db,
  { app }: AppAccess,
  secret: { name: string; sealed: string; last4: string | null },
  now: Date,
): Promise<void> {
  const saved = db
    .insertInto('app_secrets')
    .values({ ...secret, app_id: app.id, created_date: now, updated_date: now })
    .onConflict((conflict) =>
      conflict
        .columns(['app_id', 'name'])
        .doUpdateSet({ sealed: secret.sealed, last4: secret.last4, updated_date: now }),
    );
  return sendWithCommit(db, saved.compile());
}

export async function removeSecret(db: Db, { app }: AppAccess, name: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('app_secrets')
    .where('app_id', '=', app.id)
    .where('name', '=', name)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Lists secrets of all apps whose data key is encrypted with a master key other than `keyId`. */
export async function listSecretsUnderOldKeys(db: Db, keyId: string, limit: number) {
  const { rows } = await sql<{ app_id: string; name: string; sealed: string }>`/* service */
    select app_id, name, sealed from app_secrets where not starts_with(sealed, ${`v1.${keyId}.`}) order by random() limit ${limit}`.execute(
    db,
  );
  return rows;
}

/** Writes only if the secret has not changed since it was read. A changed secret already uses the current key. */
export async function saveRewrapped(
  db: Db,
  row: { app_id: string; name: string; sealed: string },
  sealed: string,
): Promise<void> {
  await db
    .updateTable('app_secrets')
    .set({ sealed })
    .where('app_id', '=', row.app_id)
    .where('name', '=', row.name)
    .where('sealed', '=', row.sealed)
    .execute();
}
