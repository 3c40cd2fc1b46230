// The driver-independent interface of the object storage, and the format of its keys.
import type { Readable } from 'node:stream';
import { StorageUnavailable } from '../../kit/unavailable.ts';

/** Both ends are inclusive, as in HTTP. An `end` beyond the object's end means the last byte. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface StoredObject {
  /** The whole object's size, even if only a range is read. */
  readonly size: number;
  /** Must be read to the end or destroyed, because it keeps a file or a connection open. */
  readonly content: Readable;
}

/** All functions throw StorageUnavailable if the storage can't be reached. */
export interface ObjectStorage {
  /**
   * Writes the object completely or not at all. Replaces any object with the same key. Errors from `content` are
   * rethrown unchanged.
   */
  put(key: string, content: Buffer | Readable): Promise<void>;
  /** Undefined if there is no such object. Throws a RangeError if the range starts after the object's end. */
  get(key: string, range?: ByteRange): Promise<StoredObject | undefined>;
  /** Ignores keys that do not exist. */
  remove(keys: readonly string[]): Promise<void>;
  close(): void;
}

const maxKeyLength = 512;
const segment = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/**
 * Keys are created by Plinth. This check ensures that a key can't point outside the storage, even if text from a caller
 * were to become part of it. `exports/0197.tar.gz` is accepted, but `../x`, `/etc/x`, `a//b` and `.hidden/x` are not.
 */
export function checkKey(key: string): void {
  if (key.length > maxKeyLength || !key.split('/').every((part) => segment.test(part)))
    throw new Error('an object has a malformed key');
}

/**
 * Returns the error that `put` throws: an error from the content itself unchanged, and any other error as
 * StorageUnavailable.
 */
export function toPutError(content: Buffer | Readable, error: unknown): unknown {
  if (Buffer.isBuffer(content)) return new StorageUnavailable(error);
  const wasDestroyed = (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
  if (error === content.errored || wasDestroyed) return error;
  content.destroy();
  return new StorageUnavailable(error);
}
