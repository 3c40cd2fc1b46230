// Owns refreshing the tokens of a connection (docs/internals/connectors.md#refreshing). That a refresh token was sent is committed
// before it is, so that a crash in between is noticed; the answer replaces both tokens in one statement.
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
  /** For metrics. */
  onRefresh(outcome: RefreshOutcome['kind'], seconds: number): void;
}

/** The column `last_error` of a connection (docs/internals/connectors.md#errors). */
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
  /** The service refused for good: a person has to connect again. */
  | { readonly kind: 'expired' }
  /** The connection is as it was; the next attempt is scheduled. */
  | { readonly kind: 'failed' }
  /** Another process does it, or has done it, or the connection was changed. */
  | { readonly kind: 'not_needed' };

/** Refreshes the tokens that the caller has seen, unless another process does. */
export async function refreshTokens(db: Db, seen: UsableConnection, deps: RefreshDeps): Promise<RefreshOutcome> {
  if (seen.refresh_token_sealed === null) return { kind: 'not_needed' };
  // A fault here must not look like a request that was sent, so that it comes before the claim.
  const request = prepareRequest(seen, seen.refresh_token_sealed, deps);
  const startedAt = deps.clock.now();
  const began = performance.now();
  const claim = await claimRefresh(db, seen, startedAt, leaseMs);
  if (claim === undefined) return { kind: 'not_needed' };
  const connection = { ...seen, ...claim, startedAt, began };
  const outcome =
    'client' in request
      ? await askService(db, connection, request, deps)
      : await recordFailure(db, connection, request.error, deps);
  deps.onRefresh(outcome.kind, (performance.now() - began) / 1000);
  if ('cause' in request) throw request.cause;
  return outcome;
}

interface RefreshRequest {
  readonly client: OAuthClient;
  readonly refreshToken: string;
}

/** `cause`: the token can't be opened, because its master key is not configured for example. It is for the operator. */
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
  /** The same moment, by the clock that no one sets. */
  readonly began: number;
  /** An earlier refresh has no known outcome. */
  readonly wasInterrupted: boolean;
}

async function askService(
  db: Db,
  connection: ClaimedConnection,
  { client, refreshToken }: RefreshRequest,
  deps: RefreshDeps,
): Promise<RefreshOutcome> {
  const result = await deps.oauth.refresh(client, { refreshToken });
  switch (result.kind) {
    case 'tokens':
      return recordTokens(db, connection, client, result, deps);
    case 'refused':
      if (result.error !== 'invalid_grant') return recordFailure(db, connection, 'refresh_refused', deps);
      return recordRefusal(db, connection, deps);
    case 'unavailable':
      return recordFailure(db, connection, 'refresh_unavailable', deps);
    case 'unknown':
      return recordFailure(db, connection, 'refresh_unanswered', deps);
  }
}

async function recordTokens(
  db: Db,
  connection: ClaimedConnection,
  client: OAuthClient,
  { accessToken, refreshToken, expiresAt }: TokenResult & { kind: 'tokens' },
  deps: RefreshDeps,
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
  // Nobody has these tokens, unless the connection was made anew: some services revoke all of a person's tokens with one.
  if ((await findById(db, connection))?.status !== 'active')
    await deps.oauth.revoke(client, refreshToken ?? accessToken);
  return { kind: 'not_needed' };
}

const firstPauseMs = 100;

/** Nobody else has these tokens, so that a database which fails over is asked again for as long as the claim lasts. */
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

/** The connection stays as it was. What is not known about the refresh token stays unknown until the service says so. */
async function recordFailure(
  db: Db,
  connection: ClaimedConnection,
  error: RefreshError,
  deps: RefreshDeps,
): Promise<RefreshOutcome> {
  const { startedAt, wasInterrupted, refresh_started_at: earlier } = connection;
  const refresh_attempts = connection.refresh_attempts + 1;
  // As of a lease ago, because nobody is working on it any more.
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

function recordRefusal(db: Db, connection: ClaimedConnection, deps: RefreshDeps): Promise<RefreshOutcome> {
  const error = connection.wasInterrupted ? 'refresh_interrupted' : 'invalid_grant';
  const now = deps.clock.now();
  return recordExpiry(db, connection, error, now, (db) =>
    saveExpired(db, connection, connection.startedAt, error, now),
  );
}

/** For a connection without a refresh token. It does nothing unless the access token has expired. */
export const endExpired = (db: Db, connection: UsableConnection, now: Date): Promise<RefreshOutcome> =>
  recordExpiry(db, connection, 'access_expired', now, (db) => saveEnded(db, connection, 'access_expired', now));

type ExpiryError = Extract<RefreshError, 'invalid_grant' | 'refresh_interrupted' | 'access_expired'>;

async function recordExpiry(
  db: Db,
  { workspace_id, app_id, id, integration_type, user_id }: UsableConnection,
  error: ExpiryError,
  now: Date,
  save: (db: Db) => Promise<boolean>,
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
  body: `${describeExpiry(name, error)} Workflows that use ${name} fail until someone connects it again.\n\nWhat to do: connect ${name} again in the app's connectors.\n`,
});

function describeExpiry(name: string, error: ExpiryError): string {
  switch (error) {
    case 'refresh_interrupted':
      return `Plinth was interrupted while it renewed the access of your app to ${name}, and ${name} then refused to renew it again.`;
    case 'access_expired':
      return `${name} granted access to your app for a limited time, which is over, and it has no way to renew it.`;
    case 'invalid_grant':
      return `${name} no longer renews the access of your app. Somebody may have withdrawn it there.`;
  }
}

const waitStepMs = 50;
/** As long as a refresh can take, and its answer be stored. */
const maxWaitMs = 15_000;

/** For a use that needs new tokens while another process fetches them. Returns the connection as it then is. */
export async function awaitRefresh(
  db: Db,
  seen: UsableConnection,
  deps: Pick<RefreshDeps, 'clock'>,
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
