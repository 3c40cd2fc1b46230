// The two values that bind an attempt to one browser: the state, which the service returns unchanged, and the
// cookie, which stays in the browser. Only their hashes are stored.
import { createHash, createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';

export const attemptLifetimeMs = 10 * 60 * 1000;

export interface States {
  create(): { readonly state: string; readonly hash: Buffer };
  /** Undefined if this installation did not sign the state, so it can be rejected without a query. */
  hashOf(state: string): Buffer | undefined;
}

/** A state consists of 24 random bytes and their signature: `c2VlZHM….bWFj…`. */
export function createStates(signingKey: KeyObject): States {
  const sign = (text: string) => createHmac('sha256', signingKey).update(`connect:${text}`).digest().subarray(0, 16);
  return {
    create() {
      const text = randomBytes(24).toString('base64url');
      const state = `${text}.${sign(text).toString('base64url')}`;
      return { state, hash: hash(state) };
    },
    hashOf(state) {
      const [, text = '', signature = ''] = /^([\w-]{32})\.([\w-]{22})$/.exec(state) ?? [];
      const given = Buffer.from(signature, 'base64url');
      const isSigned = given.length === 16 && timingSafeEqual(given, sign(text));
      return isSigned ? hash(state) : undefined;
    },
  };
}

export interface AttemptCookie {
  readonly value: string;
  readonly hash: Buffer;
}

export function createCookie(): AttemptCookie {
  const value = randomBytes(24).toString('base64url');
  return { value, hash: hash(value) };
}

/** Each state has its own cookie, so a user can connect two services at the same time. */
export const cookieName = (stateHash: Buffer): string => `plinth_connect_${stateHash.toString('hex').slice(0, 16)}`;

export const hash = (text: string): Buffer => createHash('sha256').update(text).digest();

/** PKCE (RFC 7636). The service first gets the hash, and later the verifier with the code. */
export function createVerifier(): string {
  return randomBytes(32).toString('base64url');
}

export const challengeOf = (verifier: string): string => hash(verifier).toString('base64url');
