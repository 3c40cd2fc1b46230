// The browser side of the connection flow. The browser is redirected to the service with a state parameter and a
// cookie, and returns with a code that is exchanged for tokens (docs/api/connectors.md#the-flow).
import { audit } from '../../core/audit/audit.ts';
import { findAccessOnBehalf } from '../../core/auth/on-behalf.ts';
import type { AppAccess, SelfAccess, Visitor } from '../../core/auth/proofs.ts';
import type { OAuthClient, OAuthGateway } from '../../gateways/oauth/index.ts';
import { transaction } from '../../kit/db/database.ts';
import { readCookie } from '../../kit/http/request/cookies.ts';
import { Problem } from '../../kit/problem.ts';
import type { Secrets } from '../../kit/secrets.ts';
import type { Db } from '../../tables.ts';
import { type Connector, findConnector } from './catalogue.ts';
import type { RevokeDeps } from './connection.ts';
import type { CallbackQuery } from './contract.ts';
import type { Endpoints } from './endpoints.ts';
import { listMissingScopes } from './scopes.ts';
import { openVerifier, sealTokens } from './sealed.ts';
import { connectorNotConfigured } from './start.ts';
import { attemptLifetimeMs, challengeOf, cookieName, createCookie, hash, type States } from './state.ts';
import {
  type AttemptError,
  type AttemptOfApp,
  failAttempt,
  findAttempt,
  findAttemptByState,
  removeAttempt,
  saveCookie,
  useState,
} from './store/attempts.ts';
import { type ConnectionRow, lockConnectionById, noTokens, saveConnection } from './store/connections.ts';
import { planRefresh } from './tokens/index.ts';

export interface FlowDeps extends RevokeDeps {
  readonly endpoints: Endpoints;
  readonly states: States;
  readonly secrets: Secrets;
  readonly oauth: OAuthGateway;
  readonly baseUrl: string;
  /** True if BASE_URL is https, so the cookie is `Secure`. */
  readonly secureCookie: boolean;
}

const callbackPath = '/api/external-auth/callback';

/** Returns the service's authorization URL and the cookie for the callback. Throws 404, 403 or 503. */
export async function leaveForService(
  db: Db,
  deps: FlowDeps,
  { caller }: SelfAccess,
  state: string,
  now: Date,
): Promise<{ url: URL; cookie: string }> {
  const attempt = await findPending(db, deps, state, now);
  if (attempt === undefined) throw linkExpired();
  if (attempt.user_id !== caller.user_id) throw ofAnotherPerson();
  const parties = partiesOf(attempt, deps);
  if (parties === undefined) throw connectorNotConfigured();
  const { value, hash: cookieHash } = createCookie();
  await saveCookie(db, attempt, cookieHash);
  const url = deps.oauth.authorizationUrl(parties.client, {
    state,
    codeChallenge: challengeOf(openVerifier(deps.secrets, attempt.id, attempt.code_verifier_sealed)),
    scopes: attempt.scopes,
    redirectUri: deps.baseUrl + callbackPath,
  });
  const name = cookieName(attempt.state_hash);
  const secure = deps.secureCookie ? '; Secure' : '';
  const maxAge = attemptLifetimeMs / 1000;
  const cookie = `${name}=${value}; HttpOnly; SameSite=Lax; Path=${callbackPath}; Max-Age=${maxAge}${secure}`;
  return { url, cookie };
}

/** An attempt's result. */
export interface Outcome {
  readonly connection_id: string;
  readonly display_name: string;
  readonly return_url: string | null;
  readonly error: AttemptError | null;
}

/**
 * Handles the callback. Browsers without a matching state and cookie get a 400. Both values work only once, because
 * they are used up before anything else happens.
 */
export async function returnFromService(
  db: Db,
  deps: FlowDeps,
  {
    visitor,
    query,
    cookies,
  }: { readonly visitor: Visitor; readonly query: CallbackQuery; readonly cookies: string | undefined },
  now: Date,
): Promise<Outcome> {
  const attempt = await findPending(db, deps, query.state ?? '', now);
  const cookie = attempt && readCookie(cookies, cookieName(attempt.state_hash));
  const parties = attempt && partiesOf(attempt, deps);
  if (attempt === undefined || cookie === undefined || parties === undefined) throw stateInvalid();
  if ((await findStarter(db, visitor, attempt)) === undefined) throw stateInvalid();
  if (!(await useState(db, attempt, hash(cookie)))) throw stateInvalid();
  const { answer, isRecorded, before } = await finishAttempt(db, deps, { visitor, attempt, parties, query }, now);
  const isActive = before?.status === 'active';
  const isSuccess = isRecorded && answer.error === null;
  // Unsaved tokens are revoked, unless the connection is active. With some services, revoking one token ends the user's
  // whole grant, which would end the connection too.
  if (!isSuccess && answer.tokens && !isActive) await deps.oauth.revoke(parties.client, tokenToRevoke(answer.tokens));
  if (isSuccess && isActive && before.user_id !== attempt.user_id) await deps.revoke(before);
  if (!isRecorded) throw stateInvalid();
  const { connection_id, return_url } = attempt;
  return { connection_id, display_name: parties.connector.display_name, return_url, error: answer.error };
}

interface FinishedAttempt {
  readonly answer: ServiceAnswer;
  /** False if the connection was restarted, disconnected or removed during the exchange. */
  readonly isRecorded: boolean;
  /** The connection before this attempt. */
  readonly before: ConnectionRow | undefined;
}

/**
 * The state is used up, so the attempt can't be repeated. Errors are stored, so callers can see that the attempt
 * failed.
 */
async function finishAttempt(
  db: Db,
  deps: FlowDeps,
  {
    visitor,
    attempt,
    parties,
    query,
  }: {
    readonly visitor: Visitor;
    readonly attempt: PendingAttempt;
    readonly parties: Parties;
    readonly query: CallbackQuery;
  },
  now: Date,
): Promise<FinishedAttempt> {
  try {
    const answer = await fetchTokens(attempt, parties, query, deps);
    return await transaction(db, (db) => recordAnswer(db, deps, { visitor, attempt, answer }, now));
  } catch (error) {
    await failAttempt(db, attempt, 'exchange_failed').catch(() => undefined); // report only the first error
    throw error;
  }
}

async function recordAnswer(
  db: Db,
  deps: FlowDeps,
  {
    visitor,
    attempt,
    answer,
  }: { readonly visitor: Visitor; readonly attempt: PendingAttempt; readonly answer: ServiceAnswer },
  now: Date,
): Promise<FinishedAttempt> {
  const before = await lockConnectionById(db, { workspace_id: attempt.workspace_id, id: attempt.connection_id });
  const access = await findStarter(db, visitor, attempt);
  const isCurrent = before !== undefined && (await findAttempt(db, before))?.id === attempt.id;
  if (access === undefined || !isCurrent) return { answer, isRecorded: false, before };
  if (answer.error === null) await recordSuccess(db, deps, access, { attempt, connection: before, answer }, now);
  else await recordFailure(db, access, attempt, answer.error, now);
  return { answer, isRecorded: true, before };
}

/** An attempt with an unused state. */
type PendingAttempt = AttemptOfApp & { readonly state_hash: Buffer; readonly code_verifier_sealed: string };

async function findPending(
  db: Db,
  { states }: FlowDeps,
  state: string,
  now: Date,
): Promise<PendingAttempt | undefined> {
  const stateHash = states.hashOf(state);
  const attempt = stateHash && (await findAttemptByState(db, stateHash));
  if (!attempt || attempt.expires_at <= now || attempt.code_verifier_sealed === null) return undefined;
  return { ...attempt, state_hash: stateHash, code_verifier_sealed: attempt.code_verifier_sealed };
}

interface Parties {
  readonly connector: Connector;
  readonly client: OAuthClient;
}

/** The service and the client depend only on the attempt, never on the callback's parameters. */
function partiesOf(attempt: AttemptOfApp, { endpoints }: FlowDeps): Parties | undefined {
  const connector = findConnector(attempt.integration_type);
  const client = connector && endpoints.clientFor(connector, attempt.connection_config, attempt.workspace_id);
  return client && { connector, client };
}

/** The access of the user who started the attempt. Undefined if their current permissions are no longer sufficient. */
const findStarter = (
  db: Db,
  { request_id, ip }: Visitor,
  { credential_id, app_id }: AttemptOfApp,
): Promise<AppAccess | undefined> => findAccessOnBehalf(db, { credential_id, request_id, ip }, app_id, 'editor');

type IssuedTokens = Extract<Awaited<ReturnType<OAuthGateway['exchange']>>, { kind: 'tokens' }>;

type ServiceAnswer =
  | { readonly error: null; readonly tokens: IssuedTokens; readonly scopes: readonly string[] }
  | { readonly error: AttemptError; readonly tokens?: IssuedTokens };

async function fetchTokens(
  attempt: PendingAttempt,
  { connector, client }: Parties,
  { code, error, iss }: CallbackQuery,
  { endpoints, secrets, oauth, baseUrl }: FlowDeps,
): Promise<ServiceAnswer> {
  // A code from another authorization server must not be sent to this one (RFC 9207).
  if (iss !== undefined && !endpoints.isIssuer(connector, attempt.connection_config, iss))
    return { error: 'exchange_failed' };
  if (error !== undefined) return { error: /denied|cancel/.test(error) ? 'access_denied' : 'exchange_failed' };
  if (code === undefined) return { error: 'exchange_failed' };
  const codeVerifier = openVerifier(secrets, attempt.id, attempt.code_verifier_sealed);
  const result = await oauth.exchange(client, { code, codeVerifier, redirectUri: baseUrl + callbackPath });
  if (result.kind !== 'tokens') return { error: 'exchange_failed' };
  // If a service does not report scopes, it has granted all requested ones.
  const scopes = connector.oauth?.rewordsScopes ? attempt.scopes : (result.scopes ?? attempt.scopes);
  if (listMissingScopes(connector, attempt.scopes, scopes).length > 0)
    return { error: 'scope_missing', tokens: result };
  return { error: null, tokens: result, scopes };
}

/** With most services, revoking the refresh token ends the whole grant. */
const tokenToRevoke = ({ refreshToken, accessToken }: IssuedTokens): string => refreshToken ?? accessToken;

async function recordSuccess(
  db: Db,
  { secrets }: FlowDeps,
  access: AppAccess,
  {
    attempt: { integration_type, user_id, connection_config },
    connection,
    answer: { tokens, scopes },
  }: {
    readonly attempt: AttemptOfApp;
    readonly connection: ConnectionRow;
    readonly answer: ServiceAnswer & { error: null };
  },
  now: Date,
): Promise<void> {
  const { id } = connection;
  const { accessToken, refreshToken, expiresAt } = tokens;
  await saveConnection(db, connection, {
    ...noTokens,
    ...sealTokens(secrets, id, { accessToken, refreshToken }),
    status: 'active',
    user_id,
    scopes: [...scopes],
    connection_config,
    expires_at: expiresAt ?? null,
    next_refresh_at: planRefresh(now, expiresAt, refreshToken !== undefined),
    connected_at: now,
    last_error: null,
    updated_date: now,
  });
  await removeAttempt(db, connection);
  const before = { status: connection.status };
  const after = { status: 'active', integration_type, scopes, connection_config };
  const change = { target: { kind: 'connection', id }, app_id: access.app.id, before, after };
  await audit(db, access, { type: 'connection.connected', ...change }, now);
}

/** Leaves an existing connection unchanged. */
async function recordFailure(
  db: Db,
  access: AppAccess,
  attempt: AttemptOfApp,
  error: AttemptError,
  now: Date,
): Promise<void> {
  await failAttempt(db, attempt, error);
  const { connection_id, integration_type } = attempt;
  const change = { target: { kind: 'connection', id: connection_id }, app_id: access.app.id };
  await audit(db, access, { type: 'connection.failed', ...change, after: { integration_type, error } }, now);
}

const linkExpired = () =>
  new Problem(
    'not_found',
    'connection_not_found',
    'This link is invalid, has already been used, or is more than ten minutes old. Start the connection again.',
  );

const ofAnotherPerson = () =>
  new Problem(
    'forbidden',
    'connection_of_other_user',
    'Another user started this connection, and only they can finish it. Sign in as that user, or start a new connection.',
  );

const stateInvalid = () =>
  new Problem(
    'bad_request',
    'connection_state_invalid',
    'This connection was started in another browser, has already finished, was replaced by a newer attempt, or expired after ten minutes. Start it again.',
  );
