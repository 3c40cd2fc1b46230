// Owns what a use of a connection is authenticated with: tokens that are valid now, refreshed first if that is due, or API keys.
// A connection that is not active is never used.
import { authorizationHeader } from '../../../kit/outbound/authorization.ts';
import type { Db } from '../../../tables.ts';
import type { Connector } from '../catalogue.ts';
import { describeCredentials } from '../endpoints.ts';
import { openCredentials, openTokens } from '../sealed.ts';
import { awaitRefresh, type RefreshDeps, refreshTokens } from './refresh.ts';
import { isClaimed, isExpired, isWorthRefreshing, mayRefreshRefused } from './schedule.ts';
import { findById, findForUse, type UsableConnection } from './store/refreshes.ts';

export type UnusableReason = 'missing' | 'disconnected' | 'expired' | 'unavailable';

/** Headers that authenticate a request, and the secrets in them, for the caller to hide. */
export interface Authentication {
  readonly connection: UsableConnection;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

export type Usable = Authentication | { readonly unusable: UnusableReason };

/** `unavailable`: the token has expired, and the service can't renew it now. */
export async function authenticate(
  db: Db,
  app: { readonly workspace_id: string; readonly id: string },
  connector: Connector,
  deps: RefreshDeps,
  signal: AbortSignal,
): Promise<Usable> {
  const found = await findForUse(db, app, connector.integration_type);
  const fresh = found === undefined ? undefined : await refreshIfDue(db, found, deps, signal);
  return describeUse(fresh, connector, deps);
}

/**
 * After the service has refused a token that should be valid: refreshes it, unless that has happened meanwhile. Undefined if
 * there is nothing new to try.
 */
export async function authenticateAgain(
  db: Db,
  { connection: refused }: Authentication,
  connector: Connector,
  deps: RefreshDeps,
  signal: AbortSignal,
): Promise<Usable | undefined> {
  if (refused.refresh_token_sealed === null || !mayRefreshRefused(refused, deps.clock.now())) return undefined;
  const { kind } = await refreshTokens(db, refused, deps);
  if (kind === 'failed') return undefined;
  const current = kind === 'not_needed' ? await awaitRefresh(db, refused, deps, signal) : await findById(db, refused);
  // The sealed text also changes with the master key; then the request is repeated in vain, once.
  if (current?.status === 'active' && current.access_token_sealed === refused.access_token_sealed) return undefined;
  return describeUse(current, connector, deps);
}

/** Repeated if other processes change the connection at the same time. */
async function refreshIfDue(
  db: Db,
  found: UsableConnection,
  deps: RefreshDeps,
  signal: AbortSignal,
): Promise<UsableConnection | undefined> {
  let current: UsableConnection | undefined = found;
  for (let tries = 0; tries < 3; tries += 1) {
    const now = deps.clock.now();
    if (current?.status !== 'active' || current.refresh_token_sealed === null) return current;
    if (!isClaimed(current, now)) {
      if (!isWorthRefreshing(current, now)) return current;
      const { kind } = await refreshTokens(db, current, deps);
      if (kind === 'refreshed' || kind === 'expired') return findById(db, current);
      if (kind === 'failed') return current;
    }
    // Until it expires, the old token is as good.
    if (!isExpired(current, now)) return current;
    current = await awaitRefresh(db, current, deps, signal);
  }
  return current;
}

function describeUse(connection: UsableConnection | undefined, connector: Connector, deps: RefreshDeps): Usable {
  if (connection === undefined || connection.status === 'pending') return { unusable: 'missing' };
  if (connection.status !== 'active') return { unusable: connection.status };
  if (isExpired(connection, deps.clock.now()))
    return { unusable: connection.refresh_token_sealed === null ? 'expired' : 'unavailable' };
  const credentials = openCredentials(deps.secrets, connection);
  if (credentials !== undefined) {
    const described = describeCredentials(connector.apiAuth, connection.connection_config, credentials);
    if (described === undefined) return { unusable: 'missing' };
    const authorization = authorizationHeader(described);
    return { connection, headers: { authorization }, secrets: [...Object.values(credentials), authorization] };
  }
  const accessToken = openTokens(deps.secrets, connection)?.accessToken;
  if (accessToken === undefined) return { unusable: 'missing' };
  const { apiAuth } = connector;
  const headers: Record<string, string> =
    apiAuth.kind === 'header' ? { [apiAuth.header]: accessToken } : { authorization: `Bearer ${accessToken}` };
  return { connection, headers, secrets: [accessToken] };
}
