// Decides which of an app's files are published: the files in `dist` or, if there are none, in `public`. Their contents
// are uploaded here, before the transaction that makes them live. Identical contents are uploaded only once per app.
//
//   file                    address
//   dist/index.html         index.html
//   dist/assets/app.js      assets/app.js
//   dist/.env               left out: hidden files are not meant to be public
//   src/main.ts             not published
import type { AppAccess, AppReach } from '../../core/auth/proofs.ts';
import type { StorageQuota } from '../../core/storage/quota.ts';
import type { ObjectStorage } from '../../gateways/storage/index.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Shares } from '../../kit/db/shares.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { Manifest, PublishedFile } from './contract.ts';
import { type Blob, enterSweep, recordBlobs, removeUploading, saveStored } from './store.ts';

export interface FileVersion {
  readonly path: string;
  readonly sha256: string;
  readonly size: number;
}

/** An app's files and secrets. */
export interface AppContents {
  /** Returns the app's revision and its files in these folders, as of the same moment. */
  listFilesIn(
    db: Db,
    access: AppReach,
    folders: readonly string[],
  ): Promise<{ readonly revision: number; readonly files: readonly FileVersion[] }>;
  readFiles(
    db: Db,
    access: AppReach,
    paths: readonly string[],
  ): Promise<readonly { readonly path: string; readonly sha256: string; readonly content: Buffer }[]>;
  listSecretNames(db: Db, access: AppAccess): Promise<readonly string[]>;
}

export interface SnapshotDeps {
  readonly contents: AppContents;
  readonly objectStorage: ObjectStorage;
  readonly storage: StorageQuota;
  readonly shares: Shares;
}

/** Files that are ready to go live. All their contents are in object storage. */
export interface Snapshot {
  readonly revision: number;
  readonly files: Manifest;
  /** Paths of files that can't be published. */
  readonly leftOut: readonly string[];
}

export const objectKey = (appId: string, blobId: string): string => `apps/${appId}/${blobId}`;

const maxAttempts = 3;
/** How long an uploaded blob is kept if no deployment uses it. */
export const unusedAfterMs = 24 * 60 * 60 * 1000;

/** Throws 409 if there is nothing to publish, or if the files change faster than they can be read. */
export async function prepareSnapshot(db: Db, deps: SnapshotDeps, access: AppAccess, now: Date): Promise<Snapshot> {
  for (let attempt = 1; ; attempt += 1) {
    const { revision, files, leftOut } = await listPublishedFiles(db, deps, access);
    const blobs = await recordContents(db, deps, access, files, now);
    const missing = files.filter(({ sha256 }) => blobs.get(sha256)?.state === 'uploading');
    if (await uploadOrForget(db, deps, access, missing, blobs)) {
      return { revision, files: toManifest(files, blobs), leftOut };
    }
    if (attempt === maxAttempts) throw filesChanging(revision);
  }
}

export const filesChanging = (revision: number) =>
  new Problem(
    'conflict',
    'revision_conflict',
    'The app changed while it was being published, so nothing was published. Publish it again.',
    { members: { revision } },
  );

type Addressed<File> = File & {
  /** The path without the published folder. */
  readonly address: string;
};
type AddressedFile = Addressed<FileVersion>;

export const publishedFolders = ['dist', 'public'] as const;

async function listPublishedFiles(db: Db, { contents, shares }: SnapshotDeps, access: AppAccess) {
  const { revision, files } = await inShare(access, shares, () => contents.listFilesIn(db, access, publishedFolders));
  const inFolder = addressFiles(files);
  const [published, leftOut] = [inFolder.filter(isPublished), inFolder.filter((file) => !isPublished(file))];
  if (published.length === 0) {
    throw new Problem(
      'conflict',
      'nothing_to_publish',
      'The app has no files to publish. Add files to the folder `dist` or `public`, then publish again.',
    );
  }
  return { revision, files: published, leftOut: leftOut.map(({ path }) => path) };
}

/** Returns the files in the first folder with a publishable file, together with their addresses. */
export function addressFiles<File extends { readonly path: string }>(files: readonly File[]): Addressed<File>[] {
  const byFolder = publishedFolders.map((name) =>
    files
      .filter(({ path }) => path.startsWith(`${name}/`))
      .map((file) => ({ ...file, address: file.path.slice(name.length + 1) })),
  );
  return byFolder.find((inFolder) => inFolder.some(isPublished)) ?? [];
}

const isPublished = ({ address }: { readonly address: string }): boolean => mayBePublished(address);

/** The folder under which platform files are served. */
export const platformFolder = '_plinth';

/** Rejects files in the platform's folder, and hidden files except in a top-level `.well-known`. */
export const mayBePublished = (address: string): boolean =>
  !/(^|\/)\./.test(address.replace(/^\.well-known\//, '')) && address.split('/', 1)[0] !== platformFolder;

const toManifest = (files: readonly AddressedFile[], blobs: ReadonlyMap<string, Blob>): Manifest =>
  Object.fromEntries(
    files.map(({ address, sha256, size }): [string, PublishedFile] => [
      address,
      { blob: (blobs.get(sha256) as Blob).id, sha256, size },
    ]),
  );

/** What a published content counts besides itself (core/storage/stored-tables.ts). */
const blobBytes = 200;

/** Returns the blobs, keyed by hash. Throws 402 if the new contents exceed the storage quota. */
function recordContents(
  db: Db,
  { storage }: SnapshotDeps,
  access: AppAccess,
  files: readonly AddressedFile[],
  now: Date,
): Promise<ReadonlyMap<string, Blob>> {
  const contents = new Map(files.map((file) => [file.sha256, file]));
  return transaction(db, async (db) => {
    await enterSweep(db, access, new Date(now.getTime() + unusedAfterMs));
    const blobs = await recordBlobs(db, access, [...contents.values()], now);
    const added = blobs
      .filter(({ is_new }) => is_new)
      .map(({ sha256 }) => blobBytes + (contents.get(sha256)?.size ?? 0));
    await storage.admit(
      db,
      access,
      added.reduce((sum, size) => sum + size, 0),
      now,
    );
    return new Map(blobs.map((blob) => [blob.sha256, blob]));
  });
}

/**
 * Like `uploadAll`, but if the upload is incomplete, the missing blobs are deleted, so they don't count towards the
 * quota.
 */
async function uploadOrForget(...upload: Parameters<typeof uploadAll>): Promise<boolean> {
  const [db, , access, , blobs] = upload;
  let isComplete = false;
  try {
    isComplete = await uploadAll(...upload);
    return isComplete;
  } finally {
    const added = [...blobs.values()].filter(({ is_new }) => is_new).map(({ id }) => id);
    // If this fails, the sweep deletes them a day later.
    if (!isComplete) await transaction(db, (db) => removeUploading(db, access, added)).catch(() => {});
  }
}

// Each batch is read with one statement and uploaded in parallel. At most 2 × (1 MiB + one file of 5 MiB) are in
// memory.
const batchesAtOnce = 2;
const batchFiles = 16;
const batchBytes = 1024 * 1024;

/** Returns false if a file's content has changed. */
async function uploadAll(
  db: Db,
  deps: SnapshotDeps,
  access: AppAccess,
  files: readonly AddressedFile[],
  blobs: ReadonlyMap<string, Blob>,
): Promise<boolean> {
  const batches = toBatches([...new Map(files.map((file) => [file.sha256, file])).values()]);
  let isComplete = true;
  const work = async () => {
    for (let batch = batches.shift(); batch !== undefined && isComplete; batch = batches.shift())
      isComplete = (await uploadBatch(db, deps, access, batch, blobs)) && isComplete;
  };
  const results = await Promise.allSettled(Array.from({ length: batchesAtOnce }, work));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return isComplete;
}

function toBatches(files: readonly AddressedFile[]): AddressedFile[][] {
  const batches: AddressedFile[][] = [];
  let bytes = 0;
  for (const file of files) {
    const last = batches.at(-1);
    if (last === undefined || last.length >= batchFiles || bytes >= batchBytes) {
      batches.push([file]);
      bytes = file.size;
    } else {
      last.push(file);
      bytes += file.size;
    }
  }
  return batches;
}

async function uploadBatch(
  db: Db,
  { contents, objectStorage, shares }: SnapshotDeps,
  access: AppAccess,
  batch: readonly AddressedFile[],
  blobs: ReadonlyMap<string, Blob>,
): Promise<boolean> {
  const paths = batch.map(({ path }) => path);
  const read = await inShare(access, shares, () => contents.readFiles(db, access, paths));
  const byPath = new Map(read.map((file) => [file.path, file]));
  if (!batch.every(({ path, sha256 }) => byPath.get(path)?.sha256 === sha256)) return false;
  const stored = await Promise.all(
    read.map(async ({ sha256, content }) => {
      const { id } = blobs.get(sha256) as Blob;
      await objectStorage.put(objectKey(access.app.id, id), content);
      return { id, namesLocalhost: namesLocalhost(content), offersSignUp: offersSignUp(content) };
    }),
  );
  await saveStored(db, access, stored);
  return true;
}

/** Reads while holding a slow share, because an app may have many files. No share is held during uploads. */
export async function inShare<Result>(access: AppReach, shares: Shares, read: () => Promise<Result>): Promise<Result> {
  const release = await shares.take('slow', { owner: access.workspace_id, part: access.app.id }, { patient: true });
  return read().finally(release);
}

const localhostForm = /(?:https?|wss?):\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d|\/)/;

/**
 * Whether the content contains an address such as `http://localhost:3000`. `http://localhost` without a port or path is
 * ignored, because libraries use it as a harmless base for relative addresses.
 */
export const namesLocalhost = (content: Buffer): boolean =>
  (content.includes('://localhost') || content.includes('://127.0.0.1') || content.includes('://[::1]')) &&
  localhostForm.test(content.toString('latin1'));

/** Whether the content calls the runtime client's `auth.signUp`. Bundlers rename `auth`, but not `signUp`. */
const offersSignUp = (content: Buffer): boolean => content.includes('.signUp(');
