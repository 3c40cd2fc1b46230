// Packs the files of an app into one archive (docs/api/apps.md#download).
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { createPlaces, type TakePlace } from '../../core/streams/places.ts';
import type { PackedFile } from '../../kit/archive/packed-file.ts';
import { packTar } from '../../kit/archive/tar.ts';
import { packZip } from '../../kit/archive/zip.ts';
import type { Shares } from '../../kit/db/shares.ts';
import { attachment, endInTime } from '../../kit/http/answer.ts';
import type { HeldRequest } from '../../kit/http/operation.ts';
import type { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { maxFiles } from './files.ts';
import { listRevisionFiles, readRevisionFiles } from './revisions/revision.ts';

export const archiveTypes = { tar: 'application/gzip', zip: 'application/zip' } as const;

/** A download whose reader is slow keeps up to about 10 MB in memory. */
export const openDownloads = { ofCredential: 5, ofWorkspace: 10 };

const maxMs = 30 * 60 * 1000;

export const createDownloadPlaces = (): TakePlace => createPlaces(openDownloads, 'downloads');

export interface DownloadDeps {
  readonly shares: Shares;
  readonly takePlace: TakePlace;
  countBytes(bytes: number): Promise<Problem | undefined>;
}

export interface DownloadRequest {
  readonly format: keyof typeof archiveTypes;
  readonly revision?: number | undefined;
  readonly held: HeldRequest;
}

/**
 * Every file is read as the revision has it, however long the download takes. If the revision is given up meanwhile, the
 * connection is cut, so the archive is not complete and programs say so.
 */
export async function downloadAppFiles(
  db: Db,
  { shares, takePlace, countBytes }: DownloadDeps,
  access: AppAccess,
  { format, revision = access.app.revision, held }: DownloadRequest,
) {
  takePlace(access, held);
  const refusal = await countBytes(0);
  if (refusal !== undefined) throw refusal;
  const files = await listRevisionFiles(db, access, revision, { prefix: '', limit: maxFiles, after: undefined });
  void countBytes(files.reduce((bytes, { size }) => bytes + size, 0));
  const read = readInBatches(db, { shares }, access, { revision, batches: cutIntoBatches(files) });
  const name = `${access.app.slug}-r${revision}`;
  const headers = { 'x-app-revision': String(revision) };
  const body = format === 'zip' ? stream(packZip(read)) : compress(stream(packTar(read)));
  const fileName = `${name}.${format === 'zip' ? 'zip' : 'tar.gz'}`;
  return attachment(endInTime(body, maxMs), archiveTypes[format], fileName, headers);
}

const stream = (bytes: AsyncIterable<Buffer>): Readable => Readable.from(bytes, { objectMode: false });

/** The fastest level, because the source of an app hardly gets smaller with the others. */
const compress = (tar: Readable): Readable =>
  pipeline(tar, createGzip({ level: 1 }), () => {
    // The response ends with the same error, which cuts the connection.
  });

const batch = { files: 100, bytes: 4 * 1024 * 1024 };

/** A file that is larger than a batch has one to itself. */
function cutIntoBatches(files: readonly { readonly path: string; readonly size: number }[]): string[][] {
  const batches: string[][] = [];
  let bytes = 0;
  for (const { path, size } of files) {
    const last = batches.at(-1);
    bytes += size;
    if (last !== undefined && last.length < batch.files && bytes <= batch.bytes) {
      last.push(path);
      continue;
    }
    batches.push([path]);
    bytes = size;
  }
  return batches;
}

/**
 * The handler has already returned, so each batch takes its own share. A slow reader holds no share between batches.
 */
async function* readInBatches(
  db: Db,
  { shares }: Pick<DownloadDeps, 'shares'>,
  access: AppAccess,
  { revision, batches }: { readonly revision: number; readonly batches: readonly string[][] },
): AsyncGenerator<PackedFile> {
  const owner = { owner: access.workspace_id, part: access.app.id };
  for (const paths of batches) {
    const release = await shares.take('slow', owner, { patient: true });
    const files = await readRevisionFiles(db, access, revision, paths).finally(release);
    for (const { path, content, updated_date } of files) yield { path, content, modifiedAt: updated_date };
  }
}
