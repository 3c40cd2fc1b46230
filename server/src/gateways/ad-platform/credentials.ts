// Access tokens for the ad platform. A service account signs its token request (RFC 7523), and a person's refresh
// token is exchanged for an access token. A token is kept until a minute before it expires, and concurrent requests
// share one exchange.
import { createPrivateKey, sign } from 'node:crypto';
import type { Clock } from '../../kit/clock.ts';
import { asObject, asText } from './json.ts';
import type { Send } from './rest.ts';

/** The two kinds of credential files that Google issues. */
export type Credentials =
  | {
      readonly type: 'service_account';
      readonly client_email: string;
      readonly private_key: string;
      readonly token_uri: string;
    }
  | {
      readonly type: 'authorized_user';
      readonly client_id: string;
      readonly client_secret: string;
      readonly refresh_token: string;
      readonly token_uri: string;
    };

const defaultTokenUri = 'https://oauth2.googleapis.com/token';
const scope = 'https://www.googleapis.com/auth/adwords';

/** Parses a credential file, given as JSON or base64. Throws an error that contains no part of the file. */
export function parseCredentials(text: string): Credentials {
  const json = text.trimStart().startsWith('{') ? text : Buffer.from(text, 'base64').toString('utf8');
  const file = readFile(json);
  const token_uri = asText(file.token_uri) || defaultTokenUri;
  if (!/^https?:$/.test(URL.parse(token_uri)?.protocol ?? '')) throw new Error('must contain a URL in token_uri');
  const all = (...names: string[]) => names.every((name) => asText(file[name]) !== '');
  if (file.type === 'service_account' && all('client_email', 'private_key')) {
    const private_key = asText(file.private_key);
    if (!isPrivateKey(private_key)) throw new Error('must contain a PEM private key in private_key');
    return { type: 'service_account', client_email: asText(file.client_email), private_key, token_uri };
  }
  if (file.type === 'authorized_user' && all('client_id', 'client_secret', 'refresh_token'))
    return {
      type: 'authorized_user',
      client_id: asText(file.client_id),
      client_secret: asText(file.client_secret),
      refresh_token: asText(file.refresh_token),
      token_uri,
    };
  throw new Error('must be a service account or authorized user credential file, as JSON or base64');
}

function isPrivateKey(text: string): boolean {
  try {
    return createPrivateKey(text).type === 'private';
  } catch {
    return false;
  }
}

function readFile(json: string) {
  try {
    return asObject(JSON.parse(json));
  } catch {
    return {};
  }
}

export interface AccessTokens {
  /** Undefined if no token is currently available. */
  get(): Promise<string | undefined>;
  /** Drops a token that the platform did not accept, so the next request gets a new one. */
  drop(token: string): void;
}

const earlyMs = 60_000;

export function createAccessTokens(credentials: Credentials, send: Send, clock: Clock): AccessTokens {
  let kept: { token: string; untilMs: number } | undefined;
  let exchange: Promise<string | undefined> | undefined;

  async function request(): Promise<string | undefined> {
    const now = clock.now();
    const answer = await send({
      purpose: 'changes', // changes can't be sent without a token
      method: 'POST',
      url: credentials.token_uri,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(toGrant(credentials, now)).toString(),
      timeoutMs: 10_000,
    });
    if (answer.outcome !== 'answered' || answer.status !== 200) return undefined;
    const { access_token, expires_in } = asObject(answer.body);
    const token = asText(access_token);
    if (!/^[\x21-\x7e]{1,8192}$/.test(token)) return undefined; // tokens are sent in a header
    const seconds = typeof expires_in === 'number' && expires_in > 0 ? Math.min(expires_in, 86_400) : 0;
    kept = { token, untilMs: now.getTime() + seconds * 1000 - earlyMs };
    return token;
  }

  return {
    async get() {
      if (kept !== undefined && clock.now().getTime() < kept.untilMs) return kept.token;
      exchange ??= request().finally(() => {
        exchange = undefined;
      });
      return exchange;
    },
    drop(token) {
      if (kept?.token === token) kept = undefined;
    },
  };
}

function toGrant(credentials: Credentials, now: Date): Record<string, string> {
  if (credentials.type === 'authorized_user') {
    const { client_id, client_secret, refresh_token } = credentials;
    return { grant_type: 'refresh_token', client_id, client_secret, refresh_token };
  }
  const { client_email, private_key, token_uri } = credentials;
  const issuedAt = Math.floor(now.getTime() / 1000);
  const claims = { iss: client_email, scope, aud: token_uri, iat: issuedAt, exp: issuedAt + 3_600 };
  const content = [{ alg: 'RS256', typ: 'JWT' }, claims].map(encode).join('.');
  const signature = sign('RSA-SHA256', Buffer.from(content), private_key).toString('base64url');
  return { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: `${content}.${signature}` };
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
