// The credential checks: which credential was sent, whether it is valid (401), and whether the route accepts its
// kind, permission and scope (403). A route rejects every kind that it does not list.
import type { Exchange } from '../../kit/http/exchange.ts';
import { Problem } from '../../kit/problem.ts';
import type { LookupResult } from './request/lookup.ts';
import { readSessionCookie } from './session-cookie.ts';
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
  /** `read_only` accepts tokens with either permission. `full_access` accepts only tokens with full access. */
  readonly token?: 'read_only' | 'full_access';
  /** Accepts personal keys. Their permission is checked like a token's. */
  readonly key?: true;
  /** Accepts workspace keys with this scope. */
  readonly workspaceKey?: KeyScope;
  /**
   * `true` accepts the app's own users and, if the app is open without login, callers without credentials. `signed_in`
   * accepts only app users with a token.
   */
  readonly appUser?: true | 'signed_in';
}

/** No credential is needed. */
export const open = 'open';

/** The credentials of people, for operations that only read and for operations that make changes. */
export const readCredentials: AcceptedCredentials = { session: true, token: 'read_only', key: true };
export const writeCredentials: AcceptedCredentials = { session: true, token: 'full_access', key: true };

/** For operations on an app user's own account. */
export const appUserOnly = { appUser: 'signed_in' } as const satisfies AcceptedCredentials;

export const sessionOnly = { session: true } as const satisfies AcceptedCredentials;
export const sessionOrToken = { session: true, token: 'full_access' } as const satisfies AcceptedCredentials;

export interface PresentedCredential {
  readonly text: string;
  readonly kind: CredentialKind;
  readonly viaApiKeyHeader: boolean;
  /** Set if it came in the cookie that https installations set for the host alone. */
  readonly viaHostCookie?: boolean;
}

/** What tells this installation's credentials from others. */
export interface CredentialForm {
  /** Two characters that are part of every credential. */
  readonly cellCode: string;
  /** Decides the name of the session cookie. */
  readonly isHttps: boolean;
}

/** Reads `Authorization`, or else `api_key`, or else the session cookie. Undefined if none of them was sent. */
export function readCredential(exchange: Exchange, form: CredentialForm): PresentedCredential | undefined {
  const { cellCode, isHttps } = form;
  const authorization = exchange.header('authorization');
  const apiKey = exchange.header('api_key');
  if (authorization !== undefined)
    return parseCredential(/^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '', cellCode, false);
  if (apiKey !== undefined) return parseCredential(apiKey, cellCode, true);
  if (readSessionCookie(exchange.header('cookie'), isHttps) === undefined) return undefined;
  const session = readSession(exchange, form);
  if (session === undefined) throw credentialsInvalid();
  return session;
}

/** Reads the session cookie, ignoring any other credential in the request. Undefined if it is missing or malformed. */
export function readSession(
  exchange: Exchange,
  { cellCode, isHttps }: CredentialForm,
): PresentedCredential | undefined {
  const cookie = readSessionCookie(exchange.header('cookie'), isHttps);
  if (cookie === undefined || parseTokenKind(cookie.text, cellCode) !== 'session') return undefined;
  return { text: cookie.text, kind: 'session', viaApiKeyHeader: false, viaHostCookie: cookie.isHostCookie };
}

/** Checks the format, checksum and cell without a query. */
function parseCredential(text: string, cellCode: string, viaApiKeyHeader: boolean): PresentedCredential {
  const kind = parseTokenKind(text, cellCode);
  const isMisplaced = kind === 'session' || (kind === 'app_user_token' && viaApiKeyHeader);
  if (kind === undefined || isMisplaced) throw credentialsInvalid();
  return { text, kind, viaApiKeyHeader };
}

/**
 * Throws 401 if the credential is unknown or has expired, or if it is a session that must come in the host's own cookie
 * and came in another one.
 */
export function requireValidCredential(
  credential: PresentedCredential,
  lookup: LookupResult | undefined,
  now: Date,
): asserts lookup is LookupResult {
  if (lookup === undefined || isInForeignCookie(credential, lookup)) throw credentialsInvalid();
  if (isExpired(lookup, now)) throw credentialsExpired();
}

/**
 * Any page of the same site can set a cookie with the plain name. It is accepted only for sessions that began before
 * this installation set its own, all of which end within 30 days.
 */
export const isInForeignCookie = ({ viaHostCookie }: PresentedCredential, { host_cookie }: LookupResult): boolean =>
  viaHostCookie === false && host_cookie;

/** A session also expires if it is not used for a week. */
export const isExpired = (lookup: LookupResult, now: Date): boolean =>
  (lookup.expires_at !== null && new Date(lookup.expires_at) <= now) ||
  (lookup.kind === 'session' && isIdle(lookup, now));

export const sessionIdleMs = 7 * 24 * 60 * 60 * 1000;

const isIdle = ({ last_used_at }: LookupResult, now: Date): boolean =>
  last_used_at !== null && now.getTime() - Date.parse(last_used_at) > sessionIdleMs;

/** Returns the 403 if the route does not accept this kind of credential, its permission or its scopes. */
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
    `This operation doesn't accept ${kindNames[kind]}. Use ${listAcceptedKinds(accepted)}.`,
  );
}

const kindNames: Readonly<Record<CredentialKind, string>> = {
  session: 'a browser session',
  personal_token: 'a personal access token',
  personal_key: 'a personal API key',
  workspace_key: 'a workspace key',
  app_user_token: "an app user's token",
};

/** Example: `a browser session, a personal access token or a workspace key with the apps:read scope`. */
function listAcceptedKinds({ session, token, key, workspaceKey, appUser }: AcceptedCredentials): string {
  const permission = token === 'read_only' ? '' : ' with full access';
  const names = [
    session && kindNames.session,
    token && kindNames.personal_token + permission,
    key && kindNames.personal_key + permission,
    workspaceKey && `${kindNames.workspace_key} with the ${workspaceKey} scope`,
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
      `A workspace key can't call this operation, because it doesn't act on behalf of a person. Use ${listAcceptedKinds(accepted)}.`,
    );
  }
  if (scopes.includes(scope)) return undefined;
  return new Problem(
    'forbidden',
    'workspace_key_scope_missing',
    `This workspace key doesn't have the ${scope} scope. Create a key that has it.`,
    {
      members: { scope },
    },
  );
}

/**
 * Throws 403 if another site's page may have sent the session cookie, or may be about to replace it, without the
 * person's intent (CSRF).
 */
export function requireSameOrigin(exchange: Exchange, ownOrigins: readonly string[]): void {
  if (exchange.operation.method === 'GET') return;
  const origin = exchange.header('origin');
  const site = exchange.header('sec-fetch-site');
  if ((origin === undefined || ownOrigins.includes(origin)) && (site === undefined || site === 'same-origin')) return;
  throw new Problem(
    'forbidden',
    'origin_not_allowed',
    "Requests that use or start a browser session are accepted only from this installation's own pages. Use an access token instead.",
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
