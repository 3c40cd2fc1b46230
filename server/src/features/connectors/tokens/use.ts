// The authentication of a connection's requests: either valid tokens, refreshed first if due, or API keys.
// Inactive connections are never used.
import { authorizationHeader } from '../../../kit/outbound/authorization.ts';
import type { Db } from '../../../tables.ts';
import type { Connector } from '../catalogue.ts';
import { describeCredentials } from '../endpoints.ts';
import { openCredentials, openTokens } from '../sealed.ts';
import { awaitRefresh, type RefreshDeps, refreshTokens } from './refresh.ts';
import { isClaimed, isExpired, isWorthRefreshing, mayRefreshRefused } from './schedule.ts';
import { findById, findForUse, type UsableConnection } from './store/refreshes.ts';

export type UnusableReason = 'missing' | 'disconnected' | 'expired' | 'unavailable';

/** Headers that authenticate a request, and the secrets in them, which the caller must redact. */
export interface Authentication {
  readonly connection: UsableConnection;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

export type Usable = Authentication | { readonly unusable: UnusableReason };

/** `unavailable` means that the token has expired and the service currently can't renew it. */
export async function authenticate(
  db: Db,
  deps: RefreshDeps,
  app: { readonly workspace_id: string; readonly id: string },
  connector: Connector,
  signal: AbortSignal,
): Promise<Usable> {
  const found = await findForUse(db, app, connector.integration_type);
  const fresh = found === undefined ? undefined : await refreshIfDue(db, deps, found, signal);
  return describeUse(fresh, connector, deps);
}

/**
 * Used after the service has refused a token that should be valid. Refreshes the token, unless another process has
 * already done so. Undefined if there is nothing new to try.
 */
export async function authenticateAgain(
  db: Db,
  deps: RefreshDeps,
  { connection: refused }: Authentication,
  connector: Connector,
  signal: AbortSignal,
): Promise<Usable | undefined> {
  if (refused.refresh_token_sealed === null || !mayRefreshRefused(refused, deps.clock.now())) return undefined;
  const { kind } = await refreshTokens(db, deps, refused);
  if (kind === 'failed') return undefined;
  const current = kind === 'not_needed' ? await awaitRefresh(db, deps, refused, signal) : await findById(db, refused);
  // A new master key also changes the sealed text. In that case the request is repeated once, unnecessarily.
  if (current?.status === 'active' && current.access_token_sealed === refused.access_token_sealed) return undefined;
  return describeUse(current, connector, deps);
}

/** Retries if other processes change the connection at the same time. */
async function refreshIfDue(
  db: Db,
  deps: RefreshDeps,
  found: UsableConnection,
  signal: AbortSignal,
): Promise<UsableConnection | undefined> {
  let current: UsableConnection | undefined = found;
  for (let tries = 0; tries < 3; tries += 1) {
    const now = deps.clock.now();
    if (current?.status !== 'active' || current.refresh_token_sealed === null) return current;
    if (!isClaimed(current, now)) {
      if (!isWorthRefreshing(current, now)) return current;
      const { kind } = await refreshTokens(db, deps, current);
      if (kind === 'refreshed' || kind === 'expired') return findById(db, current);
      if (kind === 'failed') return current;
    }
    // The old token remains valid until it expires.
    if (!isExpired(current, now)) return current;
    current = await awaitRefresh(db, deps, current, signal);
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
