// Copies stored objects between the object storage and a back-up, and compares them by their digests.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ObjectStorage } from '../../gateways/storage/index.ts';
import type { FileDigest } from './manifest.ts';

const atOnce = 8;

/**
 * Runs `work` for each item, a few at a time. After the first failure, no other item is begun and the signal of those that
 * were begun is aborted. Throws the failure once all have ended.
 */
export async function forEach<Item>(
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const next = async () => {
    for (const item of left) {
      either.throwIfAborted();
      await work(item, either);
    }
  };
  const workers = Array.from({ length: atOnce }, next);
  for (const worker of workers) worker.catch((error) => stop.abort(error));
  await Promise.allSettled(workers);
  either.throwIfAborted();
}

/** Digests a content piece by piece. */
function createDigest() {
  const hash = createHash('sha256');
  let size = 0;
  return {
    add(chunk: Buffer) {
      hash.update(chunk);
      size += chunk.length;
    },
    finish: (): FileDigest => ({ size, sha256: hash.digest('hex') }),
  };
}

export async function digestOf(content: AsyncIterable<Buffer>): Promise<FileDigest> {
  const digest = createDigest();
  for await (const chunk of content) digest.add(chunk);
  return digest.finish();
}

/** Returns the digest of the object. Undefined if there is no such object. */
export async function digestObject(storage: ObjectStorage, key: string): Promise<FileDigest | undefined> {
  const found = await storage.get(key);
  return found && digestOf(found.content);
}

/** Returns the digest of what was copied. Undefined if there is no such object. */
export async function copyObject(
  from: ObjectStorage,
  to: ObjectStorage,
  key: string,
  signal: AbortSignal,
): Promise<FileDigest | undefined> {
  const found = await from.get(key);
  if (found === undefined) return undefined;
  const digest = createDigest();
  async function* read(content: AsyncIterable<Buffer>) {
    for await (const chunk of content) {
      signal.throwIfAborted();
      digest.add(chunk);
      yield chunk;
    }
  }
  await to.put(key, Readable.from(read(found.content), { objectMode: false }));
  return digest.finish();
}

export const isSame = (one: FileDigest | undefined, other: FileDigest): boolean =>
  one?.size === other.size && one.sha256 === other.sha256;
