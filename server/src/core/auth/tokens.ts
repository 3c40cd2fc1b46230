// Owns the text of credentials and its keyed hash (docs/api/credentials.md#kinds). The text is shown once. Only the
// hash is stored.
import { createHash, createHmac, type KeyObject, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

export type CredentialKind = 'session' | 'personal_token' | 'personal_key' | 'workspace_key' | 'app_user_token';

const prefixes: Record<CredentialKind, string> = {
  session: 'pls_',
  personal_token: 'plp_',
  personal_key: 'plk_',
  workspace_key: 'plw_',
  app_user_token: 'plu_',
};

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const tokenForm = /^(pl[spkwu]_)([0-9A-Za-z]{2})[0-9A-Za-z]{32}[0-9A-Za-z]{6}$/;
const kinds = new Map(Object.entries(prefixes).map(([kind, prefix]) => [prefix, kind as CredentialKind]));

export interface Pepper {
  readonly id: string;
  /** A key object instead of bytes, because hashing with one is five times cheaper. */
  readonly key: KeyObject;
}

/** New hashes are made with the first. The others verify hashes that were stored before it. */
export type Peppers = readonly [Pepper, ...Pepper[]];

/**
 * A new credential: prefix, cell code, 32 random characters, checksum.
 * Example: `plp_` `a1` `9fK2…` (32) `0Zr4Qx`. The checksum lets a mistyped token be refused without the database.
 */
export const mintToken = (kind: CredentialKind, cellCode: string): string => mintText(prefixes[kind], cellCode);

function mintText(prefix: string, cellCode: string): string {
  let text = prefix + cellCode;
  for (let i = 0; i < 32; i += 1) text += base62[randomInt(62)];
  return text + checksum(text);
}

const hookPrefix = 'plh_';
const hookForm = /^plh_([0-9A-Za-z]{2})[0-9A-Za-z]{38}$/;

/** A new token for the address of a hook: as a credential, but it opens nothing else than that hook. */
export const mintHookToken = (cellCode: string): string => mintText(hookPrefix, cellCode);

const isHookToken = (text: string, cellCode: string): boolean =>
  hookForm.exec(text)?.[1] === cellCode && checksum(text.slice(0, -6)) === text.slice(-6);

/**
 * How a hook is found by its token; undefined for a text that can't be one. Without a pepper: the token has 190 random bits, and
 * is stored encrypted beside its hash, because people look it up.
 */
export const hashHookToken = (text: string, cellCode: string): string | undefined =>
  isHookToken(text, cellCode) ? createHash('sha256').update(text).digest('hex') : undefined;

/** The kind that the prefix says. Undefined if the text is malformed, mistyped or of another cell. */
export function parseTokenKind(text: string, cellCode: string): CredentialKind | undefined {
  const match = tokenForm.exec(text);
  if (match === null || match[2] !== cellCode) return undefined;
  if (checksum(text.slice(0, -6)) !== text.slice(-6)) return undefined;
  return kinds.get(match[1] ?? '');
}

export const hashToken = (text: string, pepper: Pepper): Buffer =>
  createHmac('sha256', pepper.key).update(text).digest();

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < 6; i += 1) {
    digits = base62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
