// Reads the contents of published files. A file is read from the object storage in full, verified against its
// hash and split into pieces of 1 MiB before any of it is sent. A slow client therefore occupies no storage connection,
// and only one piece of memory. Contents and their compressed forms are cached. Reads are limited per app, so one app
// can't block the others.
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { ObjectStorage } from '../../../gateways/storage/index.ts';
import { type ByteCache, createByteCache } from '../../../kit/byte-cache.ts';
import { createFairGate, GateClosed } from '../../../kit/fair-gate.ts';
import type { Encoding } from '../../../kit/http/response/conditional.ts';
import type { PublishedFile } from '../contract.ts';
import { objectKey } from '../snapshot.ts';

export const pieceBytes = 1024 * 1024;
const cacheBytes = 48 * 1024 * 1024;
const maxReadMs = 20_000;

/** A file's content, ready to be sent. */
export interface Content {
  readonly sha256: string;
  readonly size: number;
  /** Returns the piece with this index. Throws if the storage is unavailable or the stored content does not match. */
  readPiece(index: number): Buffer | Promise<Buffer>;
  /** Compresses the whole content. `undefined` if compression is not worthwhile or would currently take too long. */
  compress(encoding: Encoding): Buffer | undefined | Promise<Buffer | undefined>;
}

export interface Contents {
  /** Content in the object storage. */
  ofFile(appId: string, file: PublishedFile): Content;
  /** Content that `read` returns. */
  ofRead(appId: string, file: { readonly sha256: string; readonly size: number }, read: () => Promise<Buffer>): Content;
  /** Content that this process has generated, for all apps or for one. */
  ofBytes(bytes: Buffer, appId?: string): Content;
}

/** The storage has lost the published content. Publishing the app again restores it. */
export class ContentLost extends Error {}

/** Called if the storage has lost content that the database lists as stored. */
export type OnLost = (appId: string, blobId: string) => Promise<void>;

export function createContents(objectStorage: ObjectStorage, onLost: OnLost): Contents {
  const sizeOf = (pieces: readonly Buffer[]) => pieces.reduce((sum, piece) => sum + piece.length, 100);
  const cache = createByteCache<readonly Buffer[]>(cacheBytes, sizeOf);
  const gate = createFairGate({ inAll: 16, perOwner: 4, maxWaitingOfOwner: 500, maxWaitMs: 10_000 });
  // Each read of a large file needs up to 5 MiB of memory.
  const largeGate = createFairGate({ inAll: 4, perOwner: 2, maxWaitingOfOwner: 500, maxWaitMs: 10_000 });
  const compress = createCompressor(cache);

  async function load(
    appId: string,
    { size }: { readonly size: number },
    read: () => Promise<readonly Buffer[]>,
  ): Promise<readonly Buffer[]> {
    if (size === 0) return [nothing];
    const leave = await (size > pieceBytes ? largeGate : gate).enter(appId);
    try {
      return await read();
    } finally {
      leave();
    }
  }

  const readObject = (appId: string, file: PublishedFile) =>
    read(objectStorage, objectKey(appId, file.blob), file).catch(async (error) => {
      if (error instanceof ContentLost) await onLost(appId, file.blob).catch(() => {}); // the next read tries again
      throw error;
    });

  function createContent(
    appId: string,
    key: string,
    { sha256, size }: { readonly sha256: string; readonly size: number },
    read: () => Promise<readonly Buffer[]>,
  ): Content {
    const readPiece = (index: number) => {
      const pieces = cache.get(appId, key, () => load(appId, { size }, read));
      return pieces instanceof Promise ? pieces.then((read) => pieceOf(read, index)) : pieceOf(pieces, index);
    };
    return { sha256, size, readPiece, compress: (encoding) => compress(appId, { sha256, size, readPiece }, encoding) };
  }

  return {
    ofFile: (appId, file) => createContent(appId, file.blob, file, () => readObject(appId, file)),
    ofRead: (appId, file, read) => createContent(appId, file.sha256, file, async () => toPieces(await read())),
    ofBytes(bytes, appId = 'platform') {
      const piecesOf = (index: number) => bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes);
      const content = { sha256: hash(bytes), size: bytes.length, readPiece: piecesOf };
      return { ...content, compress: (encoding) => compress(appId, content, encoding) };
    },
  };
}

/** Reads the whole content. */
export async function readWhole(content: Pick<Content, 'size' | 'readPiece'>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let index = 0; index * pieceBytes < content.size; index += 1) pieces.push(await content.readPiece(index));
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
}

function toPieces(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += pieceBytes) pieces.push(bytes.subarray(start, start + pieceBytes));
  return pieces;
}

const nothing = Buffer.alloc(0);

function hash(...pieces: readonly Buffer[]): string {
  const sha256 = createHash('sha256');
  for (const piece of pieces) sha256.update(piece);
  return sha256.digest('hex');
}

function pieceOf(pieces: readonly Buffer[], index: number): Buffer {
  const piece = pieces[index];
  if (piece === undefined) throw new RangeError('piece index out of range');
  return piece;
}

/** Throws ContentLost unless the object matches the file's size and hash. */
async function read(objectStorage: ObjectStorage, key: string, { size, sha256 }: PublishedFile): Promise<Buffer[]> {
  const found = await objectStorage.get(key);
  if (found === undefined) throw new ContentLost(`published content ${key} is missing from the object storage`);
  const pieces = await readToEnd(found.content, size);
  if (pieces === undefined) throw new ContentLost(`published content ${key} has the wrong length`);
  if (hash(...pieces) !== sha256) throw new ContentLost(`published content ${key} has the wrong hash`);
  return pieces;
}

/** Reads a stream into separately allocated pieces. `undefined` if its length is not exactly `size` bytes. */
async function readToEnd(content: Readable, size: number): Promise<Buffer[] | undefined> {
  const timer = setTimeout(() => content.destroy(new Error('the object storage took too long')), maxReadMs);
  try {
    const pieces: Buffer[] = [];
    let received = 0;
    for await (const chunk of content as AsyncIterable<Buffer>) {
      if (received + chunk.length > size) return undefined;
      for (let copied = 0; copied < chunk.length; ) {
        const [index, at] = [Math.floor(received / pieceBytes), received % pieceBytes];
        pieces[index] ??= Buffer.allocUnsafeSlow(Math.min(pieceBytes, size - received));
        const bytes = chunk.copy(pieces[index], at, copied);
        copied += bytes;
        received += bytes;
      }
    }
    return received === size ? pieces : undefined;
  } finally {
    clearTimeout(timer);
    content.destroy();
  }
}

const brotli = promisify(brotliCompress);
const deflate = promisify(gzip);
const compressors: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) =>
    brotli(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
  gzip: (bytes) => deflate(bytes, { level: 6 }),
};

const minCompressedBytes = 1024;

/**
 * Compresses in Node's thread pool. Only two files are compressed at a time, one per app, because other work needs the
 * pool too.
 */
function createCompressor(cache: ByteCache<readonly Buffer[]>) {
  const gate = createFairGate({ inAll: 2, perOwner: 1, maxWaitingOfOwner: 50, maxWaitMs: 2_000 });

  async function load(
    owner: string,
    content: Omit<Content, 'compress'>,
    encoding: Encoding,
  ): Promise<readonly Buffer[]> {
    const leave = await gate.enter(owner);
    try {
      const bytes = await compressors[encoding](await readWhole(content));
      return bytes.length < content.size * 0.9 && bytes.length <= pieceBytes ? [bytes] : [];
    } finally {
      leave();
    }
  }

  return (owner: string, content: Omit<Content, 'compress'>, encoding: Encoding) => {
    if (content.size < minCompressedBytes) return undefined;
    const found = cache.get(owner, `${content.sha256} ${encoding}`, () => load(owner, content, encoding));
    return found instanceof Promise ? found.then(([bytes]) => bytes).catch(unlessBusy) : found[0];
  };
}

/** A request that would wait too long gets the file uncompressed. */
function unlessBusy(error: unknown): undefined {
  if (!(error instanceof GateClosed)) throw error;
}
