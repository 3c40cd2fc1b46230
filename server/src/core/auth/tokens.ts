// The text of credentials and their keyed hash (docs/api/credentials.md#kinds). The text is shown only once, and
// only the hash is stored.
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
  /** A key object, because hashing with one is five times faster than with bytes. */
  readonly key: KeyObject;
}

/** The first pepper is used for new hashes. The others verify older hashes. */
export type Peppers = readonly [Pepper, ...Pepper[]];

/**
 * Creates a credential: prefix, cell code, 32 random characters and checksum, such as `plp_` `a1` `9fK2…` `0Zr4Qx`. The
 * checksum allows a mistyped token to be rejected without a query.
 */
export const mintToken = (kind: CredentialKind, cellCode: string): string => mintText(prefixes[kind], cellCode);

function mintText(prefix: string, cellCode: string): string {
  let text = prefix + cellCode;
  for (let i = 0; i < 32; i += 1) text += base62[randomInt(62)];
  return text + checksum(text);
}

const hookPrefix = 'plh_';
const hookForm = /^plh_([0-9A-Za-z]{2})[0-9A-Za-z]{38}$/;

/** Creates a token for a hook's address. It looks like a credential, but grants access to that hook only. */
export const mintHookToken = (cellCode: string): string => mintText(hookPrefix, cellCode);

const isHookToken = (text: string, cellCode: string): boolean =>
  hookForm.exec(text)?.[1] === cellCode && checksum(text.slice(0, -6)) === text.slice(-6);

/**
 * Returns the hash by which a hook is found. Undefined if the text can't be a hook's token. No pepper is needed,
 * because the token has 190 random bits and is stored encrypted next to its hash, so people can look it up.
 */
export const hashHookToken = (text: string, cellCode: string): string | undefined =>
  isHookToken(text, cellCode) ? createHash('sha256').update(text).digest('hex') : undefined;

/** Returns the kind that the prefix indicates. Undefined if the text is malformed, mistyped or from another cell. */
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
