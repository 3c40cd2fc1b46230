// Owns the checks of a credential: which one was presented and whether it is valid (401), and whether the route accepts
// its kind, permission and scope (403). A route refuses every kind that it does not list.
import { readCookie } from '../../kit/http/cookies.ts';
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
  /** `read_only`: tokens with either permission. `full_access`: only tokens with full access. */
  readonly token?: 'read_only' | 'full_access';
  /** Personal keys. Their permission is checked as that of tokens. */
  readonly key?: true;
  /** Workspace keys with this scope. */
  readonly workspaceKey?: KeyScope;
  /**
   * The app's own users; and, if true, anybody without credentials, if the app is open without login. `signed_in`: only users
   * with a token.
   */
  readonly appUser?: true | 'signed_in';
}

/** No credential needed. */
export const open = 'open';

/** The credentials of people: for operations that read, and for operations that change something. */
export const readCredentials: AcceptedCredentials = { session: true, token: 'read_only', key: true };
export const writeCredentials: AcceptedCredentials = { session: true, token: 'full_access', key: true };

/** A user of an app, about themselves. */
export const appUserOnly = { appUser: 'signed_in' } as const satisfies AcceptedCredentials;

export const sessionOnly = { session: true } as const satisfies AcceptedCredentials;
export const sessionOrToken = { session: true, token: 'full_access' } as const satisfies AcceptedCredentials;

export interface PresentedCredential {
  readonly text: string;
  readonly kind: CredentialKind;
  readonly viaApiKeyHeader: boolean;
}

/** `Authorization` takes precedence over `api_key`, and that over the cookie. Undefined if none was sent. */
export function readCredential(exchange: Exchange, cellCode: string): PresentedCredential | undefined {
  const authorization = exchange.header('authorization');
  const apiKey = exchange.header('api_key');
  if (authorization !== undefined)
    return parseCredential(/^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '', cellCode, false);
  if (apiKey !== undefined) return parseCredential(apiKey, cellCode, true);
  if (readCookie(exchange.header('cookie'), 'plinth_session') === undefined) return undefined;
  const session = readSession(exchange, cellCode);
  if (session === undefined) throw credentialsInvalid();
  return session;
}

/** The session cookie, whatever else was sent. Undefined if there is none, or if it is malformed. */
export function readSession(exchange: Exchange, cellCode: string): PresentedCredential | undefined {
  const text = readCookie(exchange.header('cookie'), 'plinth_session');
  if (text === undefined || parseTokenKind(text, cellCode) !== 'session') return undefined;
  return { text, kind: 'session', viaApiKeyHeader: false };
}

/** Form, checksum and cell are checked without the database. */
function parseCredential(text: string, cellCode: string, viaApiKeyHeader: boolean): PresentedCredential {
  const kind = parseTokenKind(text, cellCode);
  const isMisplaced = kind === 'session' || (kind === 'app_user_token' && viaApiKeyHeader);
  if (kind === undefined || isMisplaced) throw credentialsInvalid();
  return { text, kind, viaApiKeyHeader };
}

/** 401 if the credential is unknown or has expired. */
export function requireValidCredential(lookup: LookupResult | undefined, now: Date): asserts lookup is LookupResult {
  if (lookup === undefined) throw credentialsInvalid();
  if (isExpired(lookup, now)) throw credentialsExpired();
}

/** Also true for a session that was not used for a week. */
export const isExpired = (lookup: LookupResult, now: Date): boolean =>
  (lookup.expires_at !== null && new Date(lookup.expires_at) <= now) ||
  (lookup.kind === 'session' && isIdle(lookup, now));

export const sessionIdleMs = 7 * 24 * 60 * 60 * 1000;

const isIdle = ({ last_used_at }: LookupResult, now: Date): boolean =>
  last_used_at !== null && now.getTime() - Date.parse(last_used_at) > sessionIdleMs;

/** The 403 for a credential that the route does not accept. Undefined if it accepts it. */
export function findKindRefusal(
  accepted: AcceptedCredentials,
  { kind, permission, scopes }: Pick<LookupResult, 'kind' | 'permission' | 'scopes'>,
): Problem | undefined {
  if (kind === 'workspace_key') return findWorkspaceKeyRefusal(accepted, scopes ?? []);
  if (permission === 'read_only' && (accepted.token !== 'read_only' || (kind === 'personal_key' && !accepted.key))) {
    return new Problem(
      'forbidden',
      'read_only_credential_route_not_allowed',
      `A read-only credential can't call this operation. Use ${listAcceptedKinds(accepted)}.`,
    );
  }
  const isAccepted = {
    session: accepted.session,
    personal_token: accepted.token,
    personal_key: accepted.key,
    app_user_token: accepted.appUser,
  };
  if (isAccepted[kind]) return undefined;
  return new Problem(
    'forbidden',
    'credential_kind_not_allowed',
    `You sent ${kindNames[kind]}, which this operation doesn't accept. Use ${listAcceptedKinds(accepted)}.`,
  );
}

const kindNames: Readonly<Record<CredentialKind, string>> = {
  session: 'a browser session',
  personal_token: 'a personal access token',
  personal_key: 'a personal API key',
  workspace_key: 'a workspace key',
  app_user_token: "an app user's token",
};

/** `a browser session, a personal access token or a workspace key with the scope apps:read` */
function listAcceptedKinds({ session, token, key, workspaceKey, appUser }: AcceptedCredentials): string {
  const permission = token === 'read_only' ? '' : ' with full access';
  const names = [
    session && kindNames.session,
    token && kindNames.personal_token + permission,
    key && kindNames.personal_key + permission,
    workspaceKey && `${kindNames.workspace_key} with the scope ${workspaceKey}`,
    appUser && kindNames.app_user_token,
  ].filter((name) => name !== undefined);
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(names);
}

function findWorkspaceKeyRefusal(accepted: AcceptedCredentials, scopes: readonly string[]): Problem | undefined {
  const { workspaceKey: scope } = accepted;
  if (scope === undefined) {
    return new Problem(
      'forbidden',
      'workspace_key_not_allowed',
      `A workspace key can't call this operation, because it doesn't act for a person. Use ${listAcceptedKinds(accepted)}.`,
    );
  }
  if (scopes.includes(scope)) return undefined;
  return new Problem(
    'forbidden',
    'workspace_key_scope_missing',
    `This workspace key does not have the scope ${scope}. Create a key with this scope.`,
    {
      members: { scope },
    },
  );
}

/** 403 for a session cookie that another site's page may have sent without the person's intent (CSRF). */
export function requireSameOrigin(exchange: Exchange, baseOrigin: string): void {
  if (exchange.operation.method === 'GET') return;
  const origin = exchange.header('origin');
  const site = exchange.header('sec-fetch-site');
  if ((origin === undefined || origin === baseOrigin) && (site === undefined || site === 'same-origin')) return;
  throw new Problem(
    'forbidden',
    'origin_not_allowed',
    'A request with a session cookie must come from a page of this installation. From elsewhere, send a token instead.',
  );
}

const unauthenticated = (code: string, message: string) => new Problem('unauthenticated', code, message);

export const credentialsMissing = () =>
  unauthenticated(
    'credentials_missing',
    'The request has no credential. Send a personal access token as `Authorization: Bearer TOKEN`.',
  );

export const credentialsExpired = () =>
  unauthenticated('credentials_expired', 'The credential has expired. Create a new one, or sign in again.');

export const credentialsInvalid = () =>
  unauthenticated(
    'credentials_invalid',
    'The credential is unknown, malformed or revoked. Check it, or create a new one.',
  );
