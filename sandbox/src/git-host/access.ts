// Access to the git host: tokens, and an App whose private key signs requests for installation tokens.
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, verify } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface Rights {
  readonly contents: 'read' | 'write';
  readonly pull_requests: 'none' | 'read' | 'write';
}

export interface Access {
  readonly appId: string;
  /** The value for `GIT_HOST_APP_PRIVATE_KEY`, as PEM. */
  readonly appPrivateKey: string;
  addToken(token: string, rights?: Partial<Rights>): void;
  removeToken(token: string): void;
  /** Returns the rights that the request's token grants. Undefined if the request has no valid token. */
  findRights(request: IncomingMessage): Rights | undefined;
  /** Whether the App signed the request. */
  isApp(request: IncomingMessage): boolean;
  /** The rights that the App's installations grant. */
  readonly appRights: Rights;
  setAppRights(rights: Rights): void;
  issueInstallationToken(): { token: string; expires_at: string };
}

export const sandboxToken = 'ghp_sandbox';
const tokenMs = 60 * 60 * 1000;
const allRights: Rights = { contents: 'write', pull_requests: 'write' };

let keys: { privateKey: string; publicKey: KeyObject } | undefined;

/** Generating a key is slow, so all servers in a process share one. */
function getKeys() {
  if (keys === undefined) {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    keys = {
      privateKey: privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
      publicKey: createPublicKey(privateKey),
    };
  }
  return keys;
}

export function createAccess(): Access {
  const { privateKey, publicKey } = getKeys();
  const appId = '10001';
  const tokens = new Map<string, { rights: Rights; expiresAt: number }>();
  tokens.set(sandboxToken, { rights: allRights, expiresAt: Number.POSITIVE_INFINITY });
  let appRights = allRights;
  return {
    appId,
    appPrivateKey: privateKey,
    addToken: (token, rights) =>
      void tokens.set(token, { rights: { ...allRights, ...rights }, expiresAt: Number.POSITIVE_INFINITY }),
    removeToken: (token) => void tokens.delete(token),
    findRights(request) {
      const found = tokens.get(readToken(request) ?? '');
      return found !== undefined && found.expiresAt > Date.now() ? found.rights : undefined;
    },
    isApp(request) {
      const [head = '', claims = '', signature = ''] = readToken(request)?.split('.') ?? [];
      if (!verify('sha256', Buffer.from(`${head}.${claims}`), publicKey, Buffer.from(signature, 'base64url')))
        return false;
      const { iss, exp, iat } = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'));
      const now = Date.now() / 1000;
      // Like GitHub, requires a lifetime of at most ten minutes and an issue time that is not in the future.
      return String(iss) === appId && exp > now && exp - now <= 600 && iat <= now;
    },
    get appRights() {
      return appRights;
    },
    setAppRights(rights) {
      appRights = rights;
    },
    issueInstallationToken() {
      const token = `ghs_${randomBytes(18).toString('base64url')}`;
      const expiresAt = Date.now() + tokenMs;
      tokens.set(token, { rights: appRights, expiresAt });
      return { token, expires_at: new Date(expiresAt).toISOString() };
    },
  };
}

/** Reads the token from `Bearer …`, `token …`, or HTTP basic authentication, where it is the password. */
function readToken({ headers }: IncomingMessage): string | undefined {
  const [scheme = '', value = ''] = (headers.authorization ?? '').split(' ');
  if (/^(bearer|token)$/i.test(scheme)) return value;
  if (!/^basic$/i.test(scheme)) return undefined;
  const text = Buffer.from(value, 'base64').toString('utf8');
  return text.slice(text.indexOf(':') + 1);
}
