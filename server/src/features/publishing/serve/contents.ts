// Owns the contents of published files in this process. A content is read from the object storage whole, compared with its hash,
// and cut into pieces of 1 MiB before any of it is sent: a slow reader keeps neither a connection to the storage nor more than
// one piece. Contents and compressed forms are cached. Reads are limited per app, so that one app does not keep others from
// being read.
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { ObjectStorage } from '../../../gateways/storage/index.ts';
import { type ByteCache, createByteCache } from '../../../kit/byte-cache.ts';
import { createFairGate, GateClosed } from '../../../kit/fair-gate.ts';
import type { Encoding } from '../../../kit/http/conditional.ts';
import type { PublishedFile } from '../contract.ts';
import { objectKey } from '../snapshot.ts';

export const pieceBytes = 1024 * 1024;
const cacheBytes = 48 * 1024 * 1024;
const maxReadMs = 20_000;

/** A file whose content can be sent. */
export interface Content {
  readonly sha256: string;
  readonly size: number;
  /** The piece with this number. Throws if the storage can't be used, or has something else. */
  readPiece(index: number): Buffer | Promise<Buffer>;
  /** The whole content, compressed. Undefined if that is not worth it, or would take too long now. */
  compress(encoding: Encoding): Buffer | undefined | Promise<Buffer | undefined>;
}

export interface Contents {
  /** What is in the object storage. */
  ofFile(appId: string, file: PublishedFile): Content;
  /** What this process has made. */
  ofBytes(bytes: Buffer): Content;
}

/** The storage does not have what was published. Publishing the app again uploads it again. */
export class ContentLost extends Error {}

/** Called when the storage does not have the content that the database says is stored. */
export type OnLost = (appId: string, blobId: string) => Promise<void>;

export function createContents(objectStorage: ObjectStorage, onLost: OnLost): Contents {
  const sizeOf = (pieces: readonly Buffer[]) => pieces.reduce((sum, piece) => sum + piece.length, 100);
  const cache = createByteCache<readonly Buffer[]>(cacheBytes, sizeOf);
  const gate = createFairGate({ inAll: 16, perOwner: 4, maxWaitingOfOwner: 500, maxWaitMs: 10_000 });
  // Each of them takes up to 5 MiB until it is read.
  const largeGate = createFairGate({ inAll: 4, perOwner: 2, maxWaitingOfOwner: 500, maxWaitMs: 10_000 });
  const compress = createCompressor(cache);

  async function load(appId: string, file: PublishedFile): Promise<readonly Buffer[]> {
    if (file.size === 0) return [nothing];
    const leave = await (file.size > pieceBytes ? largeGate : gate).enter(appId);
    try {
      return await read(objectStorage, objectKey(appId, file.blob), file);
    } catch (error) {
      if (error instanceof ContentLost) await onLost(appId, file.blob).catch(() => {}); // the next read tries again
      throw error;
    } finally {
      leave();
    }
  }

  const ofFile = (appId: string, file: PublishedFile): Content => {
    const readPiece = (index: number) => {
      const pieces = cache.get(appId, file.blob, () => load(appId, file));
      return pieces instanceof Promise ? pieces.then((read) => pieceOf(read, index)) : pieceOf(pieces, index);
    };
    const { sha256, size } = file;
    return { sha256, size, readPiece, compress: (encoding) => compress(appId, { sha256, size, readPiece }, encoding) };
  };

  return {
    ofFile,
    ofBytes(bytes) {
      const content = { sha256: hash(bytes), size: bytes.length, readPiece: () => bytes };
      return { ...content, compress: (encoding) => compress('platform', content, encoding) };
    },
  };
}

const nothing = Buffer.alloc(0);

function hash(...pieces: readonly Buffer[]): string {
  const sha256 = createHash('sha256');
  for (const piece of pieces) sha256.update(piece);
  return sha256.digest('hex');
}

function pieceOf(pieces: readonly Buffer[], index: number): Buffer {
  const piece = pieces[index];
  if (piece === undefined) throw new RangeError('a content has no such piece');
  return piece;
}

/** Throws ContentLost unless the object has exactly the content of the file. */
async function read(objectStorage: ObjectStorage, key: string, { size, sha256 }: PublishedFile): Promise<Buffer[]> {
  const found = await objectStorage.get(key);
  if (found === undefined) throw new ContentLost(`the object storage does not have the published content ${key}`);
  const pieces = await readToEnd(found.content, size);
  if (pieces === undefined) throw new ContentLost(`the published content ${key} has another length`);
  if (hash(...pieces) !== sha256) throw new ContentLost(`the published content ${key} has another hash`);
  return pieces;
}

/** In pieces, each with its own memory. Undefined unless there are exactly so many bytes. */
async function readToEnd(content: Readable, size: number): Promise<Buffer[] | undefined> {
  const timer = setTimeout(() => content.destroy(new Error('the object storage is too slow')), maxReadMs);
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

/** Compresses in threads of Node's pool, which other work needs too: two files at a time, and one of an app. */
function createCompressor(cache: ByteCache<readonly Buffer[]>) {
  const gate = createFairGate({ inAll: 2, perOwner: 1, maxWaitingOfOwner: 50, maxWaitMs: 2_000 });

  async function load(
    owner: string,
    content: Omit<Content, 'compress'>,
    encoding: Encoding,
  ): Promise<readonly Buffer[]> {
    const leave = await gate.enter(owner);
    try {
      const pieces: Buffer[] = [];
      for (let index = 0; index * pieceBytes < content.size; index += 1) pieces.push(await content.readPiece(index));
      const bytes = await compressors[encoding](pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces));
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

/** Whoever would have to wait for too long gets the file as it is. */
function unlessBusy(error: unknown): undefined {
  if (!(error instanceof GateClosed)) throw error;
}
