// Refreshes a connection's tokens (docs/internals/connectors.md#refreshing). The use of a refresh token is
// committed before the request is sent, so a crash in between can be detected. The response replaces both tokens in one
// statement.
import { setTimeout as sleep } from 'node:timers/promises';
import { auditService } from '../../../core/audit/audit.ts';
import { warnOwnerAnd } from '../../../core/identity/warnings.ts';
import type { OAuthClient, OAuthGateway, TokenResult } from '../../../gateways/oauth/index.ts';
import type { Clock } from '../../../kit/clock.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { Secrets } from '../../../kit/secrets.ts';
import type { Db } from '../../../tables.ts';
import { findConnector } from '../catalogue.ts';
import type { Endpoints } from '../endpoints.ts';
import { connectionSecret } from '../sealed.ts';
import { isClaimed, leaseMs, planRefresh, planRetry } from './schedule.ts';
import {
  claimRefresh,
  findById,
  type RefreshedTokens,
  saveEnded,
  saveExpired,
  saveFailure,
  saveRefreshed,
  type UsableConnection,
} from './store/refreshes.ts';

export interface RefreshDeps {
  readonly oauth: Pick<OAuthGateway, 'refresh' | 'revoke'>;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly endpoints: Pick<Endpoints, 'clientFor'>;
  /** Called for metrics. */
  onRefresh(outcome: RefreshOutcome['kind'], seconds: number): void;
}

/** The values of a connection's `last_error` column (docs/internals/connectors.md#errors). */
export type RefreshError =
  | 'invalid_grant'
  | 'refresh_interrupted'
  | 'access_expired'
  | 'refresh_refused'
  | 'refresh_unavailable'
  | 'refresh_unanswered'
  | 'connector_not_configured';

export type RefreshOutcome =
  | { readonly kind: 'refreshed' }
  /** The service refused permanently, so a user has to reconnect. */
  | { readonly kind: 'expired' }
  /** The connection is unchanged, and the next attempt is scheduled. */
  | { readonly kind: 'failed' }
  /** Another process is refreshing or has refreshed the tokens, or the connection was changed. */
  | { readonly kind: 'not_needed' };

/** Refreshes the given tokens, unless another process is doing so. */
export async function refreshTokens(db: Db, deps: RefreshDeps, seen: UsableConnection): Promise<RefreshOutcome> {
  if (seen.refresh_token_sealed === null) return { kind: 'not_needed' };
  // Prepared before the claim, because an error here must not look like a sent request.
  const request = prepareRequest(seen, seen.refresh_token_sealed, deps);
  const startedAt = deps.clock.now();
  const began = performance.now();
  const claim = await claimRefresh(db, seen, leaseMs, startedAt);
  if (claim === undefined) return { kind: 'not_needed' };
  const connection = { ...seen, ...claim, startedAt, began };
  const outcome =
    'client' in request
      ? await askService(db, deps, connection, request)
      : await recordFailure(db, deps, connection, request.error);
  deps.onRefresh(outcome.kind, (performance.now() - began) / 1000);
  if ('cause' in request) throw request.cause;
  return outcome;
}

interface RefreshRequest {
  readonly client: OAuthClient;
  readonly refreshToken: string;
}

/**
 * `cause` is set if the token can't be opened, for example because its master key is not configured. It is reported to
 * the operator.
 */
type UnpreparedRequest = { readonly error: RefreshError; readonly cause?: unknown };

function prepareRequest(
  { id, integration_type, connection_config, workspace_id }: UsableConnection,
  sealed: string,
  { endpoints, secrets }: RefreshDeps,
): RefreshRequest | UnpreparedRequest {
  try {
    const connector = findConnector(integration_type);
    const client = connector && endpoints.clientFor(connector, connection_config, workspace_id);
    if (client === undefined) return { error: 'connector_not_configured' };
    return { client, refreshToken: secrets.open(sealed, connectionSecret(id, 'refresh_token_sealed')) };
  } catch (cause) {
    return { error: 'refresh_unavailable', cause };
  }
}

interface ClaimedConnection extends UsableConnection {
  readonly startedAt: Date;
  /** `startedAt` on a monotonic clock. */
  readonly began: number;
  /** Whether an earlier refresh has an unknown outcome. */
  readonly wasInterrupted: boolean;
}

async function askService(
  db: Db,
  deps: RefreshDeps,
  connection: ClaimedConnection,
  { client, refreshToken }: RefreshRequest,
): Promise<RefreshOutcome> {
  const result = await deps.oauth.refresh(client, { refreshToken });
  switch (result.kind) {
    case 'tokens':
      return recordTokens(db, deps, connection, client, result);
    case 'refused':
      if (result.error !== 'invalid_grant') return recordFailure(db, deps, connection, 'refresh_refused');
      return recordRefusal(db, deps, connection);
    case 'unavailable':
      return recordFailure(db, deps, connection, 'refresh_unavailable');
    case 'unknown':
      return recordFailure(db, deps, connection, 'refresh_unanswered');
  }
}

async function recordTokens(
  db: Db,
  deps: RefreshDeps,
  connection: ClaimedConnection,
  client: OAuthClient,
  { accessToken, refreshToken, expiresAt }: TokenResult & { kind: 'tokens' },
): Promise<RefreshOutcome> {
  const { id } = connection;
  const now = deps.clock.now();
  const seal = (value: string, column: 'access_token_sealed' | 'refresh_token_sealed') =>
    deps.secrets.seal(value, connectionSecret(id, column));
  const isSaved = await saveWhileClaimed(db, connection, {
    access_token_sealed: seal(accessToken, 'access_token_sealed'),
    ...(refreshToken !== undefined && { refresh_token_sealed: seal(refreshToken, 'refresh_token_sealed') }),
    expires_at: expiresAt ?? null,
    next_refresh_at: planRefresh(now, expiresAt, true),
    refresh_ended_at: now,
  });
  if (isSaved) return { kind: 'refreshed' };
  // The unsaved tokens are revoked unless the connection is active again, because some services revoke all of a user's
  // tokens along with one.
  if ((await findById(db, connection))?.status !== 'active')
    await deps.oauth.revoke(client, refreshToken ?? accessToken);
  return { kind: 'not_needed' };
}

const firstPauseMs = 100;

/**
 * The tokens are stored nowhere else yet, so saving is retried until the claim ends, in case of a database failover.
 */
async function saveWhileClaimed(db: Db, connection: ClaimedConnection, tokens: RefreshedTokens): Promise<boolean> {
  for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
    try {
      return await saveRefreshed(db, connection, connection.startedAt, tokens);
    } catch (error) {
      if (performance.now() + pauseMs - connection.began > leaseMs) throw error;
      await sleep(pauseMs);
    }
  }
}

/** Leaves the connection unchanged. An unknown outcome remains unknown until the service settles it. */
async function recordFailure(
  db: Db,
  deps: RefreshDeps,
  connection: ClaimedConnection,
  error: RefreshError,
): Promise<RefreshOutcome> {
  const { startedAt, wasInterrupted, refresh_started_at: earlier } = connection;
  const refresh_attempts = connection.refresh_attempts + 1;
  // Set to one lease ago, because no process is working on it any longer.
  const unanswered = error === 'refresh_unanswered' ? new Date(startedAt.getTime() - leaseMs) : null;
  const refresh_started_at = wasInterrupted ? earlier : unanswered;
  const now = deps.clock.now();
  await saveFailure(db, connection, startedAt, {
    refresh_started_at,
    refresh_attempts,
    refresh_ended_at: now,
    next_refresh_at: planRetry(now, refresh_attempts, connection.expires_at, refresh_started_at === null),
    last_error: error,
  });
  return { kind: 'failed' };
}

function recordRefusal(db: Db, deps: RefreshDeps, connection: ClaimedConnection): Promise<RefreshOutcome> {
  const error = connection.wasInterrupted ? 'refresh_interrupted' : 'invalid_grant';
  const now = deps.clock.now();
  return recordExpiry(
    db,
    connection,
    error,
    (db) => saveExpired(db, connection, connection.startedAt, error, now),
    now,
  );
}

/** Used for a connection without a refresh token. Does nothing unless the access token has expired. */
export const endExpired = (db: Db, connection: UsableConnection, now: Date): Promise<RefreshOutcome> =>
  recordExpiry(db, connection, 'access_expired', (db) => saveEnded(db, connection, 'access_expired', now), now);

type ExpiryError = Extract<RefreshError, 'invalid_grant' | 'refresh_interrupted' | 'access_expired'>;

async function recordExpiry(
  db: Db,
  { workspace_id, app_id, id, integration_type, user_id }: UsableConnection,
  error: ExpiryError,
  save: (db: Db) => Promise<boolean>,
  now: Date,
): Promise<RefreshOutcome> {
  const isSaved = await transaction(db, async (db) => {
    if (!(await save(db))) return false;
    const change = {
      type: 'connection.expired' as const,
      target: { kind: 'connection', id },
      app_id,
      before: { status: 'active' },
      after: { status: 'expired', integration_type, last_error: error },
    };
    await auditService(db, workspace_id, change, now);
    const name = findConnector(integration_type)?.display_name ?? integration_type;
    await warnOwnerAnd(db, { workspace_id, app_id, ...writeWarning(name, error) }, user_id, now);
    return true;
  });
  return { kind: isSaved ? 'expired' : 'not_needed' };
}

const writeWarning = (name: string, error: ExpiryError) => ({
  subject: `The connection to ${name} has expired`,
  body: `${describeExpiry(name, error)} Workflows that use ${name} will fail until it is reconnected.\n\nTo fix this, reconnect ${name} in the app's connectors.\n`,
});

function describeExpiry(name: string, error: ExpiryError): string {
  switch (error) {
    case 'refresh_interrupted':
      return `Plinth was interrupted while renewing your app's access to ${name}, and ${name} then refused to renew it again.`;
    case 'access_expired':
      return `${name} granted your app access for a limited time. That access has expired and can't be renewed.`;
    case 'invalid_grant':
      return `${name} refused to renew your app's access. Someone may have revoked it in ${name}.`;
  }
}

const waitStepMs = 50;
/** Enough time to refresh the tokens and store the result. */
const maxWaitMs = 15_000;

/** Waits while another process is refreshing the tokens. Returns the connection afterwards. */
export async function awaitRefresh(
  db: Db,
  deps: Pick<RefreshDeps, 'clock'>,
  seen: UsableConnection,
  signal: AbortSignal,
): Promise<UsableConnection | undefined> {
  const until = performance.now() + maxWaitMs;
  for (;;) {
    const current = await findById(db, seen);
    const isWaiting =
      current?.status === 'active' &&
      current.access_token_sealed === seen.access_token_sealed &&
      isClaimed(current, deps.clock.now());
    if (!isWaiting || performance.now() > until || signal.aborted) return current;
    await sleep(waitStepMs);
  }
}
