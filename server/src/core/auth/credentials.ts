// Owns the second and third refusals: which credential was presented (401), and whether its kind, permission and
// scope are accepted by the route (403). What a route does not list is refused.
import type { Exchange } from '../../kit/http/exchange.ts';
import { Problem } from '../../kit/problem.ts';
import type { LookupResult } from './lookup.ts';
import { type CredentialKind, parseTokenKind } from './tokens.ts';

export const keyScopes = [
  'apps:read',
  'apps:write',
  'apps:deploy',
  'schemas:write',
  'security:read',
  'security:scan',
  'usage:read',
  'audit:read',
] as const;
export type KeyScope = (typeof keyScopes)[number];

export interface AcceptedCredentials {
  readonly session?: true;
  /** `read_only`: tokens of either permission. `full_access`: only those. Personal keys have a permission too. */
  readonly token?: 'read_only' | 'full_access';
  readonly key?: true;
  /** Workspace keys with this scope. */
  readonly workspaceKey?: KeyScope;
  /** The app's own users; and anybody, without credentials, where the app is open without login. */
  readonly appUser?: true;
}

/** No credential needed. */
export const open = 'open';

/** The credentials of a person that reads, and of one that changes things. */
export const readCredentials: AcceptedCredentials = { session: true, token: 'read_only', key: true };
export const writeCredentials: AcceptedCredentials = { session: true, token: 'full_access', key: true };

export const sessionOrToken = { session: true, token: 'full_access' } as const satisfies AcceptedCredentials;

export interface PresentedCredential {
  readonly text: string;
  readonly kind: CredentialKind;
  readonly viaApiKeyHeader: boolean;
}

/** Authorization beats api_key beats the cookie; the loser is not looked at. Undefined when there is none of them. */
export function readCredential(exchange: Exchange, cellCode: string): PresentedCredential | undefined {
  const authorization = exchange.header('authorization');
  const apiKey = exchange.header('api_key');
  if (authorization !== undefined) return checked(/^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '', cellCode, false);
  if (apiKey !== undefined) return checked(apiKey, cellCode, true);
  const session = cookie(exchange, 'plinth_session');
  if (session === undefined) return undefined;
  const known = readSession(exchange, cellCode);
  if (known === undefined) throw credentialsInvalid();
  return known;
}

/** The browser session alone, whatever else was sent; undefined when there is none of ours. */
export function readSession(exchange: Exchange, cellCode: string): PresentedCredential | undefined {
  const text = cookie(exchange, 'plinth_session');
  if (text === undefined || parseTokenKind(text, cellCode) !== 'session') return undefined;
  return { text, kind: 'session', viaApiKeyHeader: false };
}

function checked(text: string, cellCode: string, viaApiKeyHeader: boolean): PresentedCredential {
  const kind = parseTokenKind(text, cellCode);
  const isMisplaced = kind === 'session' || (kind === 'app_user_token' && viaApiKeyHeader);
  if (kind === undefined || isMisplaced) throw credentialsInvalid();
  return { text, kind, viaApiKeyHeader };
}

function cookie(exchange: Exchange, name: string): string | undefined {
  const header = exchange.header('cookie');
  if (header === undefined) return undefined;
  for (const part of header.split(';')) {
    const [key, value] = part.trim().split('=', 2);
    if (key === name) return value;
  }
  return undefined;
}

/** 401: unknown or past its time. */
export function requireKnownCredential(found: LookupResult | undefined, now: Date): asserts found is LookupResult {
  if (found === undefined) throw credentialsInvalid();
  if (isExpired(found, now)) throw credentialsExpired();
}

/** Past its time, or a session that nobody used for too long. */
export const isExpired = (found: LookupResult, now: Date): boolean =>
  (found.expires_at !== null && new Date(found.expires_at) <= now) || (found.kind === 'session' && isIdle(found, now));

const sessionIdleMs = 7 * 24 * 60 * 60 * 1000;

const isIdle = ({ last_used_at }: LookupResult, now: Date): boolean =>
  last_used_at !== null && now.getTime() - Date.parse(last_used_at) > sessionIdleMs;

/** 403 by kind, permission and scope: undefined when the route accepts the credential. */
export function findKindRefusal(
  accepted: AcceptedCredentials,
  found: Pick<LookupResult, 'kind' | 'permission' | 'scopes'>,
): Problem | undefined {
  if (found.kind === 'workspace_key') return refusalOfWorkspaceKey(accepted.workspaceKey, found.scopes ?? []);
  if (
    found.permission === 'read_only' &&
    (accepted.token !== 'read_only' || (found.kind === 'personal_key' && !accepted.key))
  ) {
    return new Problem(
      'forbidden',
      'read_only_credential_route_not_allowed',
      'A read-only credential cannot call this operation.',
    );
  }
  const listed = {
    session: accepted.session,
    personal_token: accepted.token,
    personal_key: accepted.key,
    app_user_token: accepted.appUser,
    anonymous: accepted.appUser,
  };
  if (listed[found.kind]) return undefined;
  return new Problem('forbidden', 'credential_kind_not_allowed', 'This kind of credential cannot call this operation.');
}

function refusalOfWorkspaceKey(scope: KeyScope | undefined, scopes: readonly string[]): Problem | undefined {
  if (scope === undefined) {
    return new Problem(
      'forbidden',
      'workspace_key_not_allowed',
      'A workspace key acts for no person and cannot call this operation.',
    );
  }
  if (scopes.includes(scope)) return undefined;
  return new Problem('forbidden', 'workspace_key_scope_missing', `This workspace key lacks the scope ${scope}.`, {
    members: { scope },
  });
}

/** A browser's cookie is only good from our own pages: others could send it without the person wanting to. */
export function requireSameOrigin(exchange: Exchange, baseOrigin: string): void {
  if (exchange.operation.method === 'GET') return;
  const origin = exchange.header('origin');
  const site = exchange.header('sec-fetch-site');
  if ((origin === undefined || origin === baseOrigin) && (site === undefined || site === 'same-origin')) return;
  throw new Problem('forbidden', 'origin_not_allowed', 'A request with a session cookie must come from this site.');
}

const unauthenticated = (code: string, message: string) => new Problem('unauthenticated', code, message);

export const credentialsMissing = () =>
  unauthenticated('credentials_missing', 'Send a personal access token as "Authorization: Bearer <token>".');

export const credentialsExpired = () =>
  unauthenticated('credentials_expired', 'This credential has expired. Create a new one.');

export const credentialsInvalid = () => unauthenticated('credentials_invalid', 'These credentials are not valid.');
