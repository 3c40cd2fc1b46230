// Owns the text of credentials and its keyed hash (contract §1.1). The text is shown once; only the hash is stored.
import { createHmac, type KeyObject, randomInt } from 'node:crypto';
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
const form = /^(pl[spkwu]_)([0-9A-Za-z]{2})[0-9A-Za-z]{32}[0-9A-Za-z]{6}$/;
const kinds = new Map(Object.entries(prefixes).map(([kind, prefix]) => [prefix, kind as CredentialKind]));

export interface Pepper {
  readonly id: string;
  /** A key object, not bytes: hashing with one is five times cheaper. */
  readonly key: KeyObject;
}

/** A new credential: prefix, cell code, 32 random characters and a checksum that tells a typo from a forgery. */
export function mintToken(kind: CredentialKind, cellCode: string): string {
  let text = prefixes[kind] + cellCode;
  for (let i = 0; i < 32; i += 1) text += base62[randomInt(62)];
  return text + checksum(text);
}

/** The kind a text claims to be; undefined when it is malformed, mistyped or of another cell. No database is asked. */
export function parseTokenKind(text: string, cellCode: string): CredentialKind | undefined {
  const match = form.exec(text);
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
