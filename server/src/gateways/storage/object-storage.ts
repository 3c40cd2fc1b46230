// Owns what an object storage can do, whichever driver does it, and which keys it accepts.
import type { Readable } from 'node:stream';
import { StorageUnavailable } from '../../kit/unavailable.ts';

/** Both inclusive, as in HTTP. An `end` beyond the object means its last byte. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface StoredObject {
  /** Of the whole object, also if a range was read. */
  readonly size: number;
  /** Must be read to its end or destroyed: until then it holds a file or a connection open. */
  readonly content: Readable;
}

/** Every function throws StorageUnavailable if the storage can't be used. */
export interface ObjectStorage {
  /** Writes the whole object or nothing. Replaces an object with the same key. An error of `content` is thrown as it is. */
  put(key: string, content: Buffer | Readable): Promise<void>;
  /** Undefined if there is no such object. Throws a RangeError if the range begins behind its end. */
  get(key: string, range?: ByteRange): Promise<StoredObject | undefined>;
  /** Keys that do not exist are no error. */
  remove(keys: readonly string[]): Promise<void>;
  close(): void;
}

const maxKeyLength = 512;
const segment = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/**
 * Plinth makes the keys, not its callers. Should a caller's text ever become part of one, it must still not leave the
 * storage: `exports/0197.tar.gz` is accepted; `../x`, `/etc/x`, `a//b` and `.hidden/x` are not.
 */
export function checkKey(key: string): void {
  if (key.length > maxKeyLength || !key.split('/').every((part) => segment.test(part)))
    throw new Error('an object has a malformed key');
}

/** What `put` throws: an error of what was to be written as it is, and any other as one of the storage. */
export function toPutError(content: Buffer | Readable, error: unknown): unknown {
  if (Buffer.isBuffer(content)) return new StorageUnavailable(error);
  const wasDestroyed = (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
  if (error === content.errored || wasDestroyed) return error;
  content.destroy();
  return new StorageUnavailable(error);
}
