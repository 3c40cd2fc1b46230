// Owns the contents of published files in this process. They are read from the object storage in pieces of 1 MiB, each read to
// its end before any of it is sent: a slow reader keeps neither a connection to the storage nor more than one piece. Pieces and
// compressed forms are cached. Reads are limited per app, so that one app does not keep others from being read.
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

/** The storage does not have what was published. */
class ContentLost extends Error {}

export function createContents(objectStorage: ObjectStorage): Contents {
  const cache = createByteCache<Buffer>(cacheBytes, (buffer) => buffer.length + 100);
  const gate = createFairGate({ inAll: 16, perOwner: 4, maxWaitingOfOwner: 500, maxWaitMs: 10_000 });
  const compress = createCompressor(cache);

  async function load(appId: string, { blob, sha256, size }: PublishedFile, index: number): Promise<Buffer> {
    if (size === 0) return nothing;
    const leave = await gate.enter(appId);
    try {
      const start = index * pieceBytes;
      const length = Math.min(pieceBytes, size - start);
      const range = size > pieceBytes ? { start, end: start + length - 1 } : undefined;
      const found = await objectStorage.get(objectKey(appId, blob), range);
      if (found === undefined) throw new ContentLost('the object storage does not have a published file');
      const piece = await readToEnd(found.content, length);
      if (range === undefined && hash(piece) !== sha256) throw new ContentLost('a published file has another content');
      return piece;
    } finally {
      leave();
    }
  }

  const ofFile = (appId: string, file: PublishedFile): Content => {
    const readPiece = (index: number) => cache.get(appId, `${file.blob} ${index}`, () => load(appId, file, index));
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

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Throws unless there are exactly so many bytes. */
async function readToEnd(content: Readable, length: number): Promise<Buffer> {
  const timer = setTimeout(() => content.destroy(new Error('the object storage is too slow')), maxReadMs);
  try {
    const chunks: Buffer[] = [];
    let received = 0;
    for await (const chunk of content as AsyncIterable<Buffer>) {
      received += chunk.length;
      if (received > length) break;
      chunks.push(chunk);
    }
    if (received !== length) throw new ContentLost('a published file has another length');
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
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
function createCompressor(cache: ByteCache<Buffer>) {
  const gate = createFairGate({ inAll: 2, perOwner: 1, maxWaitingOfOwner: 50, maxWaitMs: 2_000 });

  async function load(owner: string, content: Omit<Content, 'compress'>, encoding: Encoding): Promise<Buffer> {
    const leave = await gate.enter(owner);
    try {
      const pieces: Buffer[] = [];
      for (let index = 0; index * pieceBytes < content.size; index += 1) pieces.push(await content.readPiece(index));
      const bytes = await compressors[encoding](pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces));
      return bytes.length < content.size * 0.9 && bytes.length <= pieceBytes ? bytes : nothing;
    } finally {
      leave();
    }
  }

  return (owner: string, content: Omit<Content, 'compress'>, encoding: Encoding) => {
    if (content.size < minCompressedBytes) return undefined;
    const found = cache.get(owner, `${content.sha256} ${encoding}`, () => load(owner, content, encoding));
    const orUndefined = (bytes: Buffer) => (bytes.length === 0 ? undefined : bytes);
    return found instanceof Promise ? found.then(orUndefined).catch(unlessBusy) : orUndefined(found);
  };
}

/** Whoever would have to wait for too long gets the file as it is. */
function unlessBusy(error: unknown): undefined {
  if (!(error instanceof GateClosed)) throw error;
}
