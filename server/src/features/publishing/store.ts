// The queries on deployments, blobs (the contents of published files), and objects to be removed.
import { sql } from 'kysely';
import type { AppAccess, AppReach, AppRow } from '../../core/auth/proofs.ts';
import { prepared } from '../../kit/db/database.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { idOrNull, newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { DeploymentRow, HeaderSettings, Manifest, PublishedFile, SettingsRow } from './contract.ts';

// ---- deployments

const deployments = (db: Db, { app }: AppReach) =>
  db.selectFrom('deployments').where('workspace_id', '=', app.workspace_id).where('app_id', '=', app.id);

const columns = ['id', 'revision', 'created_date', 'created_by'] as const;

export const listDeployments = (
  db: Db,
  access: AppAccess,
  limit: number,
  after: Position | undefined,
): Promise<DeploymentRow[]> => {
  const found = deployments(db, access)
    .select(columns)
    .orderBy('id', 'desc')
    .limit(limit + 1);
  return (after ? found.where(sql<boolean>`id < ${after[0]}::uuid`) : found).execute();
};

export const findDeployment = (db: Db, access: AppAccess, id: string) =>
  deployments(db, access).where('id', '=', idOrNull(id)).select(columns).select('files').executeTakeFirst();

/** Returns a deployment's files. Empty if the deployment does not exist. */
export async function getFiles(db: Db, access: AppReach, id: string | null): Promise<Manifest> {
  const row = await deployments(db, access).where('id', '=', id).select('files').executeTakeFirst();
  return (row?.files ?? {}) as Manifest;
}

export interface NewDeployment {
  readonly revision: number;
  /** The manifest as JSON. */
  readonly files: string;
  readonly created_by: string;
}

export async function insertDeployment(
  db: Db,
  { app }: AppAccess,
  { files, ...row }: NewDeployment,
  now: Date,
): Promise<string> {
  const id = newId();
  const { workspace_id, id: app_id } = app;
  await db
    .insertInto('deployments')
    .values({ ...row, workspace_id, app_id, id, files, files_bytes: Buffer.byteLength(files), created_date: now })
    .execute();
  return id;
}

/** Removes all of the app's deployments except the newest ones and the live one. */
export async function removeOldDeployments(db: Db, { app }: AppAccess, kept: number, liveId: string): Promise<void> {
  await sql`delete from deployments where app_id = ${app.id} and id <> ${liveId} and id in (
    select id from deployments where app_id = ${app.id} order by id desc offset ${kept})`.execute(db);
}

// ---- blobs

export interface Blob {
  readonly sha256: string;
  readonly id: string;
  readonly state: 'uploading' | 'stored';
  /** Whether the blob was added by this call. */
  readonly is_new: boolean;
}

/**
 * Records contents that are about to be used. Existing blobs keep their id and are not swept for another day. Rows are
 * written in order of their hashes, so concurrent publishes of an app can't deadlock.
 */
export async function recordBlobs(
  db: Db,
  { app }: AppAccess,
  contents: readonly { sha256: string; size: number }[],
  now: Date,
): Promise<Blob[]> {
  const { rows } = await sql<Blob>`insert into app_blobs as b (app_id, sha256, id, size, state, last_used_at)
    select ${app.id}, c.sha256, c.id, c.size, 'uploading', ${now}
    from unnest(${contents.map(({ sha256 }) => sha256)}::text[], ${contents.map(() => newId())}::uuid[],
      ${contents.map(({ size }) => size)}::integer[]) as c (sha256, id, size) order by c.sha256
    on conflict (app_id, sha256) do update set last_used_at = excluded.last_used_at
    returning b.sha256, b.id, b.state, b.xmax = 0 as is_new`.execute(db);
  return rows;
}

/** What publishing may warn of in a file's content. */
export interface ContentTraits {
  readonly namesLocalhost: boolean;
  readonly offersSignUp: boolean;
}

export async function saveStored(
  db: Db,
  { app }: AppAccess,
  stored: readonly ({ readonly id: string } & ContentTraits)[],
): Promise<void> {
  await sql`with locked as (
      select b.sha256, s.names_localhost, s.offers_sign_up from app_blobs b
      join unnest(${stored.map(({ id }) => id)}::uuid[], ${stored.map(({ namesLocalhost }) => namesLocalhost)}::boolean[],
        ${stored.map(({ offersSignUp }) => offersSignUp)}::boolean[])
        as s (id, names_localhost, offers_sign_up) on s.id = b.id
      where b.app_id = ${app.id} order by b.sha256 for no key update of b)
    update app_blobs b set state = 'stored', names_localhost = l.names_localhost, offers_sign_up = l.offers_sign_up
    from locked l where b.app_id = ${app.id} and b.sha256 = l.sha256`.execute(db);
}

/** Deletes the given blobs that were not uploaded. */
export async function removeUploading(db: Db, { app }: AppAccess, ids: readonly string[]): Promise<void> {
  await sql`with locked as (
      select sha256 from app_blobs where app_id = ${app.id} and id = any(${ids}::uuid[]) and state = 'uploading'
      order by sha256 for update)
    delete from app_blobs b using locked l where b.app_id = ${app.id} and b.sha256 = l.sha256`.execute(db);
}

/** Marks a blob as missing from the object storage. The next publish uploads it again. */
export async function saveLost(db: Db, appId: string, id: string): Promise<void> {
  await sql`update app_blobs set state = 'uploading' where app_id = ${appId} and id = ${id}
    and state = 'stored'`.execute(db);
}

/** Counts how many of these blobs are stored, and protects them from sweeps until the transaction ends. */
export async function lockStored(db: Db, { app }: AppAccess, ids: readonly string[]): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from (
    select from app_blobs where app_id = ${app.id} and id = any(${ids}::uuid[]) and state = 'stored'
    for key share) stored`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Returns the traits of the given blobs, keyed by id. Blobs without any are left out. */
export async function findTraits(
  db: Db,
  { app }: AppAccess,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ContentTraits>> {
  const { rows } = await sql<{ id: string } & ContentTraits>`select id, names_localhost as "namesLocalhost",
      offers_sign_up as "offersSignUp"
    from app_blobs where app_id = ${app.id} and id = any(${ids}::uuid[]) and (names_localhost or offers_sign_up)`.execute(
    db,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

// ---- sweeps and removals

/**
 * Schedules a sweep of the app, unless one is already scheduled. Must be called before recording blobs, because a sweep
 * also locks this row before the blobs, so the two can't deadlock. Waits for a running sweep of the app, which may not
 * see this transaction's blobs and may be about to delete the row.
 */
export async function enterSweep(db: Db, { app }: AppAccess, dueAt: Date): Promise<void> {
  await sql`insert into blob_sweeps as s (app_id, due_at) values (${app.id}, ${dueAt})
    on conflict (app_id) do update set due_at = s.due_at`.execute(db);
}

/** Returns the app whose sweep is most overdue. Its row stays locked until the transaction ends. */
export async function claimSweep(db: Db, now: Date): Promise<string | undefined> {
  const { rows } = await sql<{ app_id: string }>`/* service */ select app_id from blob_sweeps where due_at <= ${now}
    order by due_at limit 1 for update skip locked`.execute(db);
  return rows[0]?.app_id;
}

/** Sets when to sweep the app again. `undefined` cancels the sweep until the app is published again. */
export async function saveSweep(db: Db, appId: string, dueAt: Date | undefined): Promise<void> {
  await (dueAt === undefined
    ? sql`delete from blob_sweeps where app_id = ${appId}`.execute(db)
    : sql`update blob_sweeps set due_at = ${dueAt} where app_id = ${appId}`.execute(db));
}

/** Removes unused blobs that no publish has used since this time. Returns how many unused blobs are left. */
export async function removeUnusedBlobs(db: Db, appId: string, before: Date): Promise<{ left: number }> {
  const { rows } = await sql<{ left: number }>`with used as materialized (
      select distinct (f.value->>'blob')::uuid as id from deployments d cross join lateral jsonb_each(d.files) f
      where d.app_id = ${appId}),
    unused as materialized (
      select sha256, last_used_at from app_blobs b where app_id = ${appId} and id not in (select id from used)),
    removed as (
      delete from app_blobs b using unused u
      where b.app_id = ${appId} and b.sha256 = u.sha256 and b.last_used_at <= ${before})
    select count(*) as left from unused where last_used_at > ${before}`.execute(db);
  return { left: rows[0]?.left ?? 0 };
}

export async function listRemovals(db: Db, before: Date, limit: number): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`select key from object_removals where added_at <= ${before}
    order by added_at limit ${limit}`.execute(db);
  return rows.map(({ key }) => key);
}

export async function removeRemovals(db: Db, keys: readonly string[]): Promise<void> {
  await sql`delete from object_removals where key = any(${keys}::text[])`.execute(db);
}

/** Restarts these keys' waiting time, as if they had just been added. */
export async function postponeRemovals(db: Db, keys: readonly string[], now: Date): Promise<void> {
  await sql`update object_removals set added_at = ${now} where key = any(${keys}::text[])`.execute(db);
}

// ---- settings

const settingColumns = [
  'static_code_enabled',
  'csp',
  'hsts',
  'frame_options',
  'content_type_options',
  'referrer_policy',
  'permissions_policy',
] as const;

/** `undefined` if the settings have never been changed. */
export const findSettings = async (db: Db, { app }: AppReach): Promise<SettingsRow | undefined> =>
  (await db
    .selectFrom('app_security_settings')
    .where('app_id', '=', app.id)
    .select(settingColumns)
    .executeTakeFirst()) as SettingsRow | undefined; // the columns are text but contain only validated values

export async function saveSettings(db: Db, { app }: AppAccess, settings: SettingsRow): Promise<void> {
  await db
    .insertInto('app_security_settings')
    .values({ ...settings, app_id: app.id })
    .onConflict((conflict) => conflict.column('app_id').doUpdateSet(settings))
    .execute();
}

// ---- serving

export type LiveAppRow = HeaderSettings & {
  readonly id: string;
  readonly deployment_id: string;
  readonly revision: number;
  readonly public_settings: AppRow['public_settings'];
};

const selectLiveApp = prepared<LiveAppRow, [slug: string]>(
  'find live app',
  `/* lookup */ select a.id, a.live_deployment_id as deployment_id, a.published_revision as revision, a.public_settings,
     s.csp, s.hsts, s.frame_options, s.content_type_options, s.referrer_policy, s.permissions_policy
   from apps a
   join workspaces w on w.id = a.workspace_id and w.deleted_date is null
   left join app_security_settings s on s.app_id = a.id
   where a.slug = $1 and a.deleted_date is null and a.live_deployment_id is not null`,
);

export const findLiveApp = async (db: Db, slug: string): Promise<LiveAppRow | undefined> =>
  (await selectLiveApp(db, slug))[0];

interface DeploymentKey {
  /** The app's id. */
  readonly id: string;
  readonly deployment_id: string;
}

const selectManifest = prepared<{ files: Manifest | null }, [appId: string, id: string, maxBytes: number]>(
  'find manifest',
  'select case when files_bytes <= $3 then files end as files from deployments where app_id = $1 and id = $2',
);

/** Returns `large` if the manifest exceeds `maxBytes`, and `undefined` if the deployment does not exist. */
export async function findSmallManifest(
  db: Db,
  { id, deployment_id }: DeploymentKey,
  maxBytes: number,
): Promise<Manifest | 'large' | undefined> {
  const [row] = await selectManifest(db, id, deployment_id, maxBytes);
  return row && (row.files ?? 'large');
}

type FoundFile = PublishedFile | null;

// Materialised, so the manifest is decompressed once instead of once per path.
const selectFiles = prepared<
  { first: FoundFile; second: FoundFile; third: FoundFile },
  [appId: string, id: string, first: string, second: string, third: string]
>(
  'find published files',
  `with deployment as materialized (
     select files || '{}'::jsonb as files from deployments where app_id = $1 and id = $2)
   select files->$3::text as first, files->$4::text as second, files->$5::text as third from deployment`,
);

/** Finds which of the given files the deployment has, keyed by path. `undefined` if the deployment does not exist. */
export async function findFiles(
  db: Db,
  { id, deployment_id }: DeploymentKey,
  paths: readonly [string, string, string],
): Promise<Map<string, PublishedFile> | undefined> {
  const [row] = await selectFiles(db, id, deployment_id, ...paths);
  if (row === undefined) return undefined;
  const files = [row.first, row.second, row.third];
  return new Map(paths.flatMap((path, index) => (files[index] ? [[path, files[index]]] : [])));
}
