// Lists an app's revisions, compares them, and reads the files of any that is kept (docs/api/apps.md#revisions).
import type { AppAccess, AppReach } from '../../../core/auth/proofs.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import type { Cursors } from '../../../kit/http/cursor.ts';
import { notFound } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { presentRevision } from './contract.ts';
import { compareRevisions, noDifferences } from './differences.ts';
import {
  type FilePage,
  findHeadersOf,
  findKeptFrom,
  findRevision,
  listFilesOf,
  listRevisions,
  type RevisionRow,
  readFilesOf,
} from './store.ts';

export interface RevisionDeps {
  readonly cursors: Cursors;
}

export async function listAppRevisions(
  db: Db,
  { cursors }: RevisionDeps,
  access: AppAccess,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
  now: Date,
) {
  const binding = ['listRevisions', access.app.id, access.caller.credential_id];
  const rows = await listRevisions(db, access, limit, cursors.open(cursor, binding, now));
  const present = (row: RevisionRow) => presentRevision(row, access.app.published_revision);
  const page = cursors.page(rows, limit, binding, now, present, (row) => [row.revision]);
  return { ...page, kept_from: await findKeptFrom(db, access) };
}

/** Compares a revision with another one, or with the one before if that is kept. */
export async function getRevision(
  db: Db,
  access: AppAccess & { readonly revision: RevisionRow },
  { against }: { readonly against?: number | undefined },
) {
  const { revision: row, app } = access;
  const before = against ?? ((await isKept(db, access, row.revision - 1)) ? row.revision - 1 : null);
  const comparison = before === null ? undefined : { before, after: row.revision };
  const found = comparison === undefined ? noDifferences : await compareRevisions(db, access, comparison);
  // Read last: a revision that is still kept was kept while it was read.
  await requireKept(db, access, row.revision);
  if (against !== undefined) await requireKept(db, access, against);
  const { isTruncated, ...differences } = found;
  const body = { ...presentRevision(row, app.published_revision), against: before, ...differences };
  return withNotes(body, isTruncated ? { truncated: true } : {});
}

/** Finds a revision whose contents are kept. */
export async function findKeptRevision(db: Db, access: AppReach, revision: number): Promise<RevisionRow | undefined> {
  const row = await findRevision(db, access, revision);
  return row?.is_kept ? row : undefined;
}

const isKept = async (db: Db, access: AppReach, revision: number): Promise<boolean> =>
  (await findKeptRevision(db, access, revision)) !== undefined;

/** Throws 404 if the app has no such revision, or its contents are no longer kept. */
export async function requireKept(db: Db, access: AppReach, revision: number): Promise<void> {
  if (!(await isKept(db, access, revision))) throw notFound('revision_not_found');
}

// ---- what a kept revision had, also for other features

/** Lists the files that a revision had, ordered by path. Throws 404 if the revision is not kept. */
export async function listRevisionFiles(db: Db, access: AppReach, revision: number, page: FilePage) {
  const files = await listFilesOf(db, access, revision, page);
  await requireKept(db, access, revision); // after reading: what is removed meanwhile is not shown as missing
  return files;
}

/** Reads the files with these paths that a revision had, leaving out missing files. Throws 404 if it is not kept. */
export async function readRevisionFiles(db: Db, access: AppReach, revision: number, paths: readonly string[]) {
  const files = await readFilesOf(db, access, revision, paths);
  await requireKept(db, access, revision);
  return files;
}

/** Reads the security headers that a revision had, or undefined if none had been set. Throws 404 if it is not kept. */
export async function findRevisionHeaders(db: Db, access: AppReach, revision: number) {
  const headers = await findHeadersOf(db, access, revision);
  await requireKept(db, access, revision);
  return headers;
}
