// An app's files. Each change is one revision, and is applied completely or not at all
// (docs/api/apps.md#files-and-secrets).
import { createHash } from 'node:crypto';
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { incrementRevision, lockApp } from '../../core/identity/apps.ts';
import type { StorageQuota } from '../../core/storage/quota.ts';
import { transaction } from '../../kit/db/database.ts';
import { noNotes, unchanged, withNotes } from '../../kit/http/answer.ts';
import type { Cursors } from '../../kit/http/cursor.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import { limitReached, notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { FileInput, FileQuery, FileSyncInput, StoredFile } from './contract.ts';
import { listRevisionFiles, readRevisionFiles } from './revisions/revision.ts';
import { findFile, listFiles, listVersions, removeFiles, saveFiles, sumFileSizes } from './store.ts';

export const maxFileBytes = 5 * 1024 * 1024;
export const maxAppBytes = 200 * 1024 * 1024;
export const maxFiles = 5_000;

export interface ListDeps {
  readonly cursors: Cursors;
}

/** Lists the present files, or those of a kept revision. */
export async function listAppFiles(
  db: Db,
  { cursors }: ListDeps,
  access: AppAccess,
  { prefix = '', limit, cursor, revision }: FileQuery,
  now: Date,
) {
  const binding = ['listAppFiles', access.app.id, access.caller.credential_id, prefix, revision];
  const after = cursors.open(cursor, binding, now);
  const rows =
    revision === undefined
      ? await listFiles(db, access, prefix, limit, after)
      : await listRevisionFiles(db, access, revision, { prefix, limit, after });
  const present = ({ path, size, sha256, updated_date }: (typeof rows)[number]) => {
    return { path, size, sha256, updated_date: updated_date.toISOString() };
  };
  return cursors.page(rows, limit, binding, now, present, (row) => [row.path]);
}

/** Reads a present file, or one of a kept revision. */
export async function getAppFile(
  db: Db,
  access: AppAccess,
  { path, revision }: { readonly path: string; readonly revision?: number | undefined },
) {
  const file =
    revision === undefined
      ? await findFile(db, access, path)
      : (await readRevisionFiles(db, access, revision, [path]))[0];
  if (file === undefined) throw notFound('file_not_found');
  const { encoding, sha256 } = file;
  const content = file.content.toString(encoding === 'utf-8' ? 'utf8' : 'base64');
  return { path, content, encoding, sha256, revision: revision ?? access.app.revision };
}

export async function putAppFile(
  db: Db,
  storage: StorageQuota,
  access: AppAccess,
  { path, input }: { readonly path: string; readonly input: FileInput },
  now: Date,
) {
  const file = toStoredFile(path, input);
  return transaction(db, async (db) => {
    const app = await lockApp(db, access); // serialises file changes
    const before = await findFile(db, access, path);
    const expected = input.expected_sha256;
    if (expected !== undefined && expected !== (before?.sha256 ?? null)) throw revisionConflict(app.revision);
    const isSame = before?.sha256 === file.sha256 && before.encoding === file.encoding;
    if (isSame) return unchanged({ path, sha256: file.sha256, revision: app.revision });
    const revision = await incrementRevision(db, access, { cause: 'file' }, now);
    await storage.admit(db, access, revisionBytes + measureFile(file), now);
    await saveFiles(db, access, [file], now);
    await enforceFileLimits(db, access);
    await auditFiles(
      db,
      access,
      revision,
      { created: before ? [] : [path], updated: before ? [path] : [], deleted: [] },
      now,
    );
    return withNotes({ path, sha256: file.sha256, revision }, noNotes);
  });
}

export async function deleteAppFile(db: Db, access: AppAccess, path: string, now: Date) {
  return transaction(db, async (db) => {
    const revision = await incrementRevision(db, access, { cause: 'file' }, now);
    if ((await removeFiles(db, access, [path])) === 0) throw notFound('file_not_found');
    await auditFiles(db, access, revision, { created: [], updated: [], deleted: [path] }, now);
    return { success: true } as const;
  });
}

/**
 * Writes and deletes the files that the request names, as one revision. With `delete_missing`, deletes all other files,
 * too.
 */
export async function syncAppFiles(db: Db, storage: StorageQuota, access: AppAccess, input: FileSyncInput, now: Date) {
  const files = input.files.map((file) => toStoredFile(file.path, file));
  const unwanted = new Set(input.delete ?? []);
  const both = files.find(({ path }) => unwanted.has(path));
  if (both !== undefined) throw writtenAndDeleted(input.delete?.indexOf(both.path) ?? 0);
  return transaction(db, async (db) => {
    const app = await lockApp(db, access);
    if (input.expected_revision !== undefined && input.expected_revision !== app.revision)
      throw revisionConflict(app.revision);
    const known = await listVersions(db, access);
    const sent = new Set(files.map((file) => file.path));
    const changes = {
      ...compare(files, known),
      deleted: [...known.keys()].filter((path) => unwanted.has(path) || (input.delete_missing && !sent.has(path))),
    };
    if (isEmpty(changes)) return unchanged({ ...changes, revision: app.revision });
    const revision = await incrementRevision(db, access, { cause: 'sync' }, now);
    await saveChanges(db, storage, access, { files, changes, revision }, now);
    return withNotes({ ...changes, revision }, noNotes);
  });
}

/** A change to a text file. A null `text` removes the file. */
export interface TextChange {
  readonly path: string;
  readonly text: string | null;
}

/**
 * Applies changes as part of `revision`, which the caller has created with `incrementRevision` in its transaction.
 * Files that already have the new text, or are already missing, stay unchanged.
 */
export async function applyTextChanges(
  db: Db,
  storage: StorageQuota,
  access: AppAccess,
  { changes, revision }: { readonly changes: readonly TextChange[]; readonly revision: number },
  now: Date,
): Promise<FileChanges> {
  const known = await listVersions(db, access);
  const files = changes.flatMap(({ path, text }) => (text === null ? [] : [toStoredFile(path, { content: text })]));
  const removed = changes.filter(({ path, text }) => text === null && known.has(path)).map(({ path }) => path);
  const changed = { ...compare(files, known), deleted: removed };
  if (!isEmpty(changed)) await saveChanges(db, storage, access, { files, changes: changed, revision }, now);
  return changed;
}

export const isEmpty = (changes: FileChanges): boolean => Object.values(changes).every((paths) => paths.length === 0);

type Versions = Awaited<ReturnType<typeof listVersions>>;

const compare = (files: readonly StoredFile[], known: Versions) => ({
  created: files.filter((file) => !known.has(file.path)).map((file) => file.path),
  updated: files
    .filter((file) => known.has(file.path) && known.get(file.path)?.sha256 !== file.sha256)
    .map((file) => file.path),
});

/** Saves the files that `changes` lists as created or updated, and removes the files that it lists as deleted. */
async function saveChanges(
  db: Db,
  storage: StorageQuota,
  access: AppAccess,
  { files, ...revision }: { readonly files: readonly StoredFile[] } & Pick<WrittenRevision, 'changes' | 'revision'>,
  now: Date,
): Promise<void> {
  const { created, updated } = revision.changes;
  const paths = new Set([...created, ...updated]);
  const written = files.filter((file) => paths.has(file.path));
  const write = () => saveFiles(db, access, written, now);
  await writeRevision(db, storage, access, { ...revision, written, write }, now);
}

interface WrittenRevision {
  readonly changes: FileChanges;
  readonly revision: number;
  /** The files that `write` saves: those that `changes` lists as created or updated. */
  readonly written: readonly Measured[];
  write(): Promise<void>;
}

/** Writes and removes files as part of `revision`, if the quota and the limits of files allow it. */
export async function writeRevision(
  db: Db,
  storage: StorageQuota,
  access: AppAccess,
  { changes, revision, written, write }: WrittenRevision,
  now: Date,
): Promise<void> {
  if (written.length > 0) await storage.admit(db, access, revisionBytes + sum(written.map(measureFile)), now);
  await write();
  await removeFiles(db, access, changes.deleted);
  await enforceFileLimits(db, access);
  await auditFiles(db, access, revision, changes, now);
}

type Measured = Pick<StoredFile, 'path' | 'size'>;

/** What a revision counts, and a file besides its content and its path, because what it replaces is kept (core/storage). */
const revisionBytes = 400;
const fileBytes = 350;
const measureFile = ({ path, size }: Measured): number => fileBytes + Buffer.byteLength(path) + size;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function toStoredFile(
  path: string,
  { content, encoding = 'utf-8' }: { content: string; encoding?: 'utf-8' | 'base64' },
): StoredFile {
  const bytes = Buffer.from(content, encoding === 'utf-8' ? 'utf8' : 'base64');
  if (encoding === 'base64' && bytes.toString('base64') !== content) {
    throw new ValidationError([{ loc: ['body', 'content'], msg: 'must be valid base64', type: 'value_error' }]);
  }
  if (bytes.length > maxFileBytes) throw tooLarge(maxFileBytes);
  return {
    path,
    content: bytes,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    size: bytes.length,
    encoding,
  };
}

async function enforceFileLimits(db: Db, access: AppAccess): Promise<void> {
  const { count, bytes } = await sumFileSizes(db, access);
  if (bytes > maxAppBytes) throw tooLarge(maxAppBytes);
  if (count > maxFiles) {
    throw limitReached(maxFiles, 'files', `An app can have at most ${maxFiles} files. Delete some first.`);
  }
}

export interface FileChanges {
  readonly created: string[];
  readonly updated: string[];
  readonly deleted: string[];
}

/** An audit entry lists at most 100 paths. */
const summarisePaths = (paths: readonly string[]) => ({ count: paths.length, paths: paths.slice(0, 100) });

const auditFiles = (db: Db, access: AppAccess, revision: number, changes: FileChanges, now: Date) =>
  audit(
    db,
    access,
    {
      type: 'app.files_changed',
      target: { kind: 'app', id: access.app.id },
      app_id: access.app.id,
      before: { revision: revision - 1 },
      after: {
        revision,
        created: summarisePaths(changes.created),
        updated: summarisePaths(changes.updated),
        deleted: summarisePaths(changes.deleted),
      },
    },
    now,
  );

export const revisionConflict = (revision: number) =>
  new Problem(
    'conflict',
    'revision_conflict',
    'The files have changed since you read them. Read them again, then retry.',
    {
      members: { revision },
      retrySafe: false,
    },
  );

const writtenAndDeleted = (index: number) =>
  new ValidationError([
    { loc: ['body', 'delete', index], msg: 'must not be the path of a file that is sent', type: 'value_error' },
  ]);

const tooLarge = (limit: number) =>
  new Problem(
    'too_large',
    'payload_too_large',
    "The file, or the app's files in total, would exceed the size limit. Send smaller or fewer files.",
    {
      members: { limit_bytes: limit },
    },
  );
