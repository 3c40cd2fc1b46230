// Owns the cursors of the members list (docs/contract.md §2.2): at most 256 characters whatever the length of names and
// addresses, signed, and bound to the workspace, the filters and the order. One that is not ours is no error: undefined.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { PagePosition } from './page.ts';

const maxBytes = 192; // 256 characters of base64url
const signatureBytes = 16;

/** A position whose texts may have been cut to fit; `cut` says so. */
export interface CursorPosition extends PagePosition {
  readonly isTruncated: boolean;
}

type PackedPosition = [key: PagePosition['key'], place: number, email: string, id: string, cut: 0 | 1];

export const hashBinding = (...binding: readonly unknown[]): Buffer =>
  createHash('sha256').update(JSON.stringify(binding)).digest();

export function encodeCursor(signingKey: Buffer, binding: Buffer, position: PagePosition): string {
  const packed = Buffer.from(JSON.stringify(packToFit(position)));
  return Buffer.concat([sign(signingKey, binding, packed), packed]).toString('base64url');
}

export function decodeCursor(signingKey: Buffer, binding: Buffer, cursor: string): CursorPosition | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length <= signatureBytes || bytes.toString('base64url') !== cursor) return undefined;
  const packed = bytes.subarray(signatureBytes);
  if (!timingSafeEqual(bytes.subarray(0, signatureBytes), sign(signingKey, binding, packed))) return undefined;
  const [key, place, email, id, cut] = JSON.parse(packed.toString('utf8')) as PackedPosition;
  return { key, place, email, id: expandUuid(id), isTruncated: cut === 1 };
}

const sign = (key: Buffer, binding: Buffer, packed: Buffer): Buffer =>
  createHmac('sha256', key).update('members:').update(binding).update(packed).digest().subarray(0, signatureBytes);

/** Cuts the texts until they fit. A cut text sorts before the whole one, so at worst somebody is shown twice. */
function packToFit({ key, place, email, id }: PagePosition): PackedPosition {
  const short = Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');
  const room = maxBytes - signatureBytes;
  for (let length = 254; ; length = Math.floor(length * 0.9)) {
    const start = (text: string) => [...text].slice(0, length).join('');
    const cutKey = typeof key === 'string' ? start(key) : key;
    const isCut = cutKey !== key || start(email) !== email;
    const packed: PackedPosition = [cutKey, place, start(email), short, isCut ? 1 : 0];
    if (Buffer.byteLength(JSON.stringify(packed)) <= room) return packed;
  }
}

const expandUuid = (short: string): string =>
  Buffer.from(short, 'base64url')
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
