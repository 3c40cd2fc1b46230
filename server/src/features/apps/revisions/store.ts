// The queries on kept revisions. What a revision had is what is present and was there already, and what a later revision
// replaced or removed:
//
//   app_files          since 4   public/app.js, second content
//   app_past_versions  2 to 4    public/app.js, first content
//
//   revision 3 has the first content, revision 4 and all later ones have the second, and revision 1 has no such file.
import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { AppAccess, AppReach } from '../../../core/auth/proofs.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import type { Db, Tables } from '../../../tables.ts';

export type RevisionRow = Selectable<Tables['app_revisions']>;

export const listRevisions = (db: Db, { app }: AppAccess, limit: number, after: Position | undefined) => {
  const rows = db
    .selectFrom('app_revisions')
    .where('app_id', '=', app.id)
    .selectAll()
    .orderBy('revision', 'desc')
    .limit(limit + 1);
  return (after === undefined ? rows : rows.where('revision', '<', Number(after[0]))).execute();
};

export const findRevision = (db: Db, { app }: AppReach, revision: number): Promise<RevisionRow | undefined> =>
  db
    .selectFrom('app_revisions')
    .where('app_id', '=', app.id)
    .where('revision', '=', revision)
    .selectAll()
    .executeTakeFirst();

/** The oldest revision whose contents are kept. */
export async function findKeptFrom(db: Db, { app }: AppReach): Promise<number> {
  const { rows } = await sql<{ kept_from: number | null }>`select min(revision) as kept_from from app_revisions
    where app_id = ${app.id} and is_kept`.execute(db);
  return rows[0]?.kept_from ?? app.revision;
}

// ---- files

export interface FileVersion {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  readonly encoding: 'utf-8' | 'base64';
  readonly updated_date: Date;
}

const filesOf = ({ app }: AppReach, revision: number): RawBuilder<unknown> =>
  sql`select path, size, sha256, encoding, updated_date from app_files
      where app_id = ${app.id} and since_revision <= ${revision}
    union all select name, size, sha256, encoding, updated_date from app_past_versions
      where app_id = ${app.id} and kind = 'file' and since_revision <= ${revision} and until_revision > ${revision}`;

export interface FilePage {
  readonly prefix: string;
  readonly limit: number;
  readonly after: Position | undefined;
}

/** The files that a revision had, ordered by path. */
export async function listFilesOf(
  db: Db,
  access: AppReach,
  revision: number,
  { prefix, limit, after }: FilePage,
): Promise<FileVersion[]> {
  const { rows } = await sql<FileVersion>`select * from (${filesOf(access, revision)}) f
    where path collate "C" > ${after?.[0] ?? ''} and starts_with(path, ${prefix})
    order by path collate "C" limit ${limit + 1}`.execute(db);
  return rows;
}

export type StoredVersion = FileVersion & { readonly content: Buffer };

/** Returns the files with these paths that a revision had, leaving out missing files. */
export async function readFilesOf(
  db: Db,
  { app }: AppReach,
  revision: number,
  paths: readonly string[],
): Promise<StoredVersion[]> {
  const { rows } = await sql<StoredVersion>`select path, size, sha256, encoding, updated_date, content from app_files
      where app_id = ${app.id} and path = any(${[...paths]}::text[]) and since_revision <= ${revision}
    union all select v.name, v.size, v.sha256, v.encoding, v.updated_date, c.content from app_past_versions v
      join app_past_contents c on c.app_id = v.app_id and c.sha256 = v.sha256
      where v.app_id = ${app.id} and v.kind = 'file' and v.name = any(${[...paths]}::text[])
        and v.since_revision <= ${revision} and v.until_revision > ${revision}
    order by 1`.execute(db);
  return rows;
}

export interface FileComparison {
  readonly path: string;
  readonly before_sha256: string | null;
  readonly after_sha256: string | null;
  readonly before_size: number | null;
  readonly after_size: number | null;
}

/** The files that differ between two revisions, ordered by path. */
export async function compareFiles(
  db: Db,
  access: AppReach,
  { before, after }: { readonly before: number; readonly after: number },
  limit: number,
): Promise<FileComparison[]> {
  const { rows } = await sql<FileComparison>`select coalesce(a.path, b.path) as path,
      b.sha256 as before_sha256, a.sha256 as after_sha256, b.size as before_size, a.size as after_size
    from (${filesOf(access, before)}) b full join (${filesOf(access, after)}) a on a.path = b.path
    where (a.sha256, a.encoding) is distinct from (b.sha256, b.encoding)
    order by coalesce(a.path, b.path) collate "C" limit ${limit + 1}`.execute(db);
  return rows;
}

/** Writes the files with these paths as the revision had them. They must differ from the present ones. */
export async function restoreFiles(
  db: Db,
  { app }: AppAccess,
  revision: number,
  paths: readonly string[],
  now: Date,
): Promise<void> {
  for (let start = 0; start < paths.length; start += 100) {
    const batch = paths.slice(start, start + 100); // a file can have 5 MiB
    await sql`insert into app_files (app_id, path, content, sha256, size, encoding, updated_date)
      select v.app_id, v.name, c.content, v.sha256, v.size, v.encoding, ${now} from app_past_versions v
      join app_past_contents c on c.app_id = v.app_id and c.sha256 = v.sha256
      where v.app_id = ${app.id} and v.kind = 'file' and v.name = any(${batch}::text[])
        and v.since_revision <= ${revision} and v.until_revision > ${revision}
      on conflict (app_id, path) do update set content = excluded.content, sha256 = excluded.sha256,
        size = excluded.size, encoding = excluded.encoding, updated_date = excluded.updated_date`.execute(db);
  }
}

// ---- schemas and headers

export type SchemaDocument = Readonly<Record<string, unknown>>;

/** The schemas that a revision had, ordered by name. */
export async function listSchemasOf(
  db: Db,
  { app }: AppReach,
  revision: number,
): Promise<{ name: string; document: SchemaDocument }[]> {
  const { rows } = await sql<{ name: string; document: SchemaDocument }>`select name, document from entity_schemas
      where app_id = ${app.id} and revision <= ${revision}
    union all select v.name, convert_from(c.content, 'UTF8')::json from app_past_versions v
      join app_past_contents c on c.app_id = v.app_id and c.sha256 = v.sha256
      where v.app_id = ${app.id} and v.kind = 'entity'
        and v.since_revision <= ${revision} and v.until_revision > ${revision}
    order by 1`.execute(db);
  return rows;
}

export interface Headers {
  readonly csp: string | null;
  readonly hsts: string | null;
  readonly frame_options: string | null;
  readonly content_type_options: string | null;
  readonly referrer_policy: string | null;
  readonly permissions_policy: string | null;
}

/** The security headers that a revision had. Undefined if they had never been set. */
export async function findHeadersOf(db: Db, { app }: AppReach, revision: number): Promise<Headers | undefined> {
  const { rows } = await sql<{ headers: Headers }>`select to_json(h) as headers from (
      select csp, hsts, frame_options, content_type_options, referrer_policy, permissions_policy
      from app_security_settings where app_id = ${app.id} and since_revision <= ${revision}) h
    union all select convert_from(c.content, 'UTF8')::json from app_past_versions v
      join app_past_contents c on c.app_id = v.app_id and c.sha256 = v.sha256
      where v.app_id = ${app.id} and v.kind = 'headers'
        and v.since_revision <= ${revision} and v.until_revision > ${revision}`.execute(db);
  return rows[0]?.headers;
}

// ---- purge

const kept = { revisions: 200, days: 30, most: 2_000 };
const dayMs = 24 * 60 * 60 * 1000;

export async function listDuePurges(db: Db, limit: number, now: Date): Promise<string[]> {
  const { rows } = await sql<{ app_id: string }>`/* service */ select app_id from app_revision_purges
    where due_at <= ${now} order by due_at limit ${limit}`.execute(db);
  return rows.map(({ app_id }) => app_id);
}

export interface LockedApp {
  readonly id: string;
  readonly workspace_id: string;
  readonly revision: number;
}

/** Undefined if another transaction is changing the app. */
export async function lockAppRow(db: Db, appId: string): Promise<LockedApp | undefined> {
  const { rows } = await sql<LockedApp>`/* service */ select id, workspace_id, revision from apps
    where id = ${appId} for no key update skip locked`.execute(db);
  return rows[0];
}

/** The oldest revision that has to be kept: one of the last 200 or of 30 days, and of the last 2,000. */
export async function findPurgeFloor(db: Db, appId: string, revision: number, now: Date): Promise<number> {
  const since = new Date(now.getTime() - kept.days * dayMs);
  const { rows } = await sql<{ first: number | null }>`select min(revision) as first from app_revisions
    where app_id = ${appId} and created_date >= ${since}`.execute(db);
  const first = Math.min(rows[0]?.first ?? revision, revision - kept.revisions + 1);
  return Math.max(first, revision - kept.most + 1);
}

export async function removeRevisions(db: Db, appId: string, before: number): Promise<void> {
  await sql`delete from app_revisions where app_id = ${appId} and revision < ${before}`.execute(db);
}

/** Says of all revisions before the present one that their contents are not kept. */
export async function noteNothingKept(db: Db, { id, revision }: Omit<LockedApp, 'workspace_id'>): Promise<void> {
  await sql`update app_revisions set is_kept = false
    where app_id = ${id} and revision < ${revision} and is_kept`.execute(db);
}

interface NextDue {
  readonly kept_from: number;
  /** When the oldest revision beyond the last 200 will be 30 days old. Null if there is none. */
  readonly due_at: Date | null;
}

export async function findNextDue(db: Db, { id, revision }: LockedApp): Promise<NextDue> {
  const { rows } = await sql<{ kept_from: number | null; oldest: Date | null }>`select
      min(revision) filter (where is_kept) as kept_from,
      min(created_date) filter (where revision <= ${revision - kept.revisions}) as oldest
    from app_revisions where app_id = ${id}`.execute(db);
  const { kept_from = null, oldest = null } = rows[0] ?? {};
  return {
    kept_from: kept_from ?? revision,
    due_at: oldest === null ? null : new Date(oldest.getTime() + kept.days * dayMs),
  };
}

export async function savePurge(db: Db, appId: string, dueAt: Date | null): Promise<void> {
  await (dueAt === null
    ? sql`delete from app_revision_purges where app_id = ${appId}`.execute(db)
    : sql`update app_revision_purges set due_at = ${dueAt} where app_id = ${appId}`.execute(db));
}
