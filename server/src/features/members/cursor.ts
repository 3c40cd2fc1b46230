// The cursors for the members list. A cursor is signed and bound to the workspace, the filters and the order. It
// has at most 256 characters, however long names and e-mail addresses are (docs/api/members.md#list-members).
import { createHash, createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { hexToId } from '../../kit/ids.ts';
import type { PagePosition } from './page.ts';

const maxBytes = 192; // 256 characters in base64url
const signatureBytes = 16;

/** A position whose texts may have been truncated to fit into a cursor. */
export interface CursorPosition extends PagePosition {
  readonly isTruncated: boolean;
}

type PackedPosition = [key: PagePosition['key'], place: number, email: string, id: string, isTruncated: 0 | 1];

export const hashBinding = (...binding: readonly unknown[]): Buffer =>
  createHash('sha256').update(JSON.stringify(binding)).digest();

export function encodeCursor(signingKey: KeyObject, binding: Buffer, position: PagePosition): string {
  const packed = Buffer.from(JSON.stringify(packToFit(position)));
  return Buffer.concat([sign(signingKey, binding, packed), packed]).toString('base64url');
}

/** Returns undefined if the cursor was not issued for this binding. */
export function decodeCursor(signingKey: KeyObject, binding: Buffer, cursor: string): CursorPosition | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length <= signatureBytes || bytes.toString('base64url') !== cursor) return undefined;
  const packed = bytes.subarray(signatureBytes);
  if (!timingSafeEqual(bytes.subarray(0, signatureBytes), sign(signingKey, binding, packed))) return undefined;
  const [key, place, email, id, isTruncated]: PackedPosition = JSON.parse(packed.toString('utf8'));
  return {
    key,
    place,
    email,
    id: hexToId(Buffer.from(id, 'base64url').toString('hex')),
    isTruncated: isTruncated === 1,
  };
}

const sign = (key: KeyObject, binding: Buffer, packed: Buffer): Buffer =>
  createHmac('sha256', key).update('members:').update(binding).update(packed).digest().subarray(0, signatureBytes);

/**
 * Truncates the texts until they fit. A truncated text sorts before the full text, so at worst a member is shown twice.
 */
function packToFit({ key, place, email, id }: PagePosition): PackedPosition {
  const shortId = Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');
  const availableBytes = maxBytes - signatureBytes;
  for (let length = 254; ; length = Math.floor(length * 0.9)) {
    const truncate = (text: string) => [...text].slice(0, length).join('');
    const shortKey = typeof key === 'string' ? truncate(key) : key;
    const isTruncated = shortKey !== key || truncate(email) !== email;
    const packed: PackedPosition = [shortKey, place, truncate(email), shortId, isTruncated ? 1 : 0];
    if (Buffer.byteLength(JSON.stringify(packed)) <= availableBytes) return packed;
  }
}
