// Owns the part of connecting that happens in a person's browser: it leaves for the service with a state and a cookie, and
// comes back with a code, which is exchanged for tokens (docs/api/connectors.md#the-flow).
import { audit } from '../../core/audit/audit.ts';
import { findAccessOnBehalf } from '../../core/auth/on-behalf.ts';
import type { AppAccess, SelfAccess, Visitor } from '../../core/auth/proofs.ts';
import type { OAuthClient, OAuthGateway } from '../../gateways/oauth/index.ts';
import { transaction } from '../../kit/db/database.ts';
import { readCookie } from '../../kit/http/cookies.ts';
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
  /** True if BASE_URL is https: the cookie is then `Secure`. */
  readonly secureCookie: boolean;
}

const callbackPath = '/api/external-auth/callback';

/** Where the browser goes now, and the cookie that it brings back. Throws 404, 403 and 503. */
export async function leaveForService(
  db: Db,
  { caller }: SelfAccess,
  state: string,
  deps: FlowDeps,
  now: Date,
): Promise<{ url: URL; cookie: string }> {
  const attempt = await findPending(db, state, deps, now);
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

/** How an attempt ended. */
export interface Outcome {
  readonly connection_id: string;
  readonly display_name: string;
  readonly return_url: string | null;
  readonly error: AttemptError | null;
}

/**
 * The browser is back. Only the browser that has the cookie, with the state that belongs to it, gets any further than a 400; and
 * only once, because both are used up before anything is done.
 */
export async function returnFromService(
  db: Db,
  visitor: Visitor,
  query: CallbackQuery,
  cookies: string | undefined,
  deps: FlowDeps,
  now: Date,
): Promise<Outcome> {
  const attempt = await findPending(db, query.state ?? '', deps, now);
  const cookie = attempt && readCookie(cookies, cookieName(attempt.state_hash));
  const parties = attempt && partiesOf(attempt, deps);
  if (attempt === undefined || cookie === undefined || parties === undefined) throw stateInvalid();
  if ((await findStarter(db, visitor, attempt)) === undefined) throw stateInvalid();
  if (!(await useState(db, attempt, hash(cookie)))) throw stateInvalid();
  const { answer, isRecorded, before } = await finishAttempt(db, visitor, attempt, parties, query, deps, now);
  const isActive = before?.status === 'active';
  const isSuccess = isRecorded && answer.error === null;
  // Nobody has these tokens. But at some services revoking one ends all that the person has granted, and so the connection.
  if (!isSuccess && answer.tokens && !isActive) await deps.oauth.revoke(parties.client, tokenToRevoke(answer.tokens));
  if (isSuccess && isActive && before.user_id !== attempt.user_id) await deps.revoke(before);
  if (!isRecorded) throw stateInvalid();
  const { connection_id, return_url } = attempt;
  return { connection_id, display_name: parties.connector.display_name, return_url, error: answer.error };
}

interface FinishedAttempt {
  readonly answer: ServiceAnswer;
  /** False: it was started again, disconnected or removed while the service answered. */
  readonly isRecorded: boolean;
  /** The connection as it was. */
  readonly before: ConnectionRow | undefined;
}

/** The state is used up, so that the attempt can't be repeated: whatever fails here, callers can read that it has failed. */
async function finishAttempt(
  db: Db,
  visitor: Visitor,
  attempt: PendingAttempt,
  parties: Parties,
  query: CallbackQuery,
  deps: FlowDeps,
  now: Date,
): Promise<FinishedAttempt> {
  try {
    const answer = await fetchTokens(attempt, parties, query, deps);
    return await transaction(db, (db) => recordAnswer(db, visitor, attempt, answer, deps, now));
  } catch (error) {
    await failAttempt(db, attempt, 'exchange_failed').catch(() => undefined); // the first error is the one to report
    throw error;
  }
}

async function recordAnswer(
  db: Db,
  visitor: Visitor,
  attempt: PendingAttempt,
  answer: ServiceAnswer,
  deps: FlowDeps,
  now: Date,
): Promise<FinishedAttempt> {
  const before = await lockConnectionById(db, { workspace_id: attempt.workspace_id, id: attempt.connection_id });
  const access = await findStarter(db, visitor, attempt);
  const isCurrent = before !== undefined && (await findAttempt(db, before))?.id === attempt.id;
  if (access === undefined || !isCurrent) return { answer, isRecorded: false, before };
  if (answer.error === null) await recordSuccess(db, access, attempt, before, answer, deps, now);
  else await recordFailure(db, access, attempt, answer.error, now);
  return { answer, isRecorded: true, before };
}

/** An attempt whose state was not used yet. */
type PendingAttempt = AttemptOfApp & { readonly state_hash: Buffer; readonly code_verifier_sealed: string };

async function findPending(
  db: Db,
  state: string,
  { states }: FlowDeps,
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

/** The attempt decides which service is asked, and as which client: what a callback says about it has no effect. */
function partiesOf(attempt: AttemptOfApp, { endpoints }: FlowDeps): Parties | undefined {
  const connector = findConnector(attempt.integration_type);
  const client = connector && endpoints.clientFor(connector, attempt.connection_config, attempt.workspace_id);
  return client && { connector, client };
}

/** The proof of the person who started the attempt, by what they may do now. Undefined if that is no longer enough. */
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
  // RFC 9207: a code of another authorization server must not be sent to this one.
  if (iss !== undefined && !endpoints.isIssuer(connector, attempt.connection_config, iss))
    return { error: 'exchange_failed' };
  if (error !== undefined) return { error: /denied|cancel/.test(error) ? 'access_denied' : 'exchange_failed' };
  if (code === undefined) return { error: 'exchange_failed' };
  const codeVerifier = openVerifier(secrets, attempt.id, attempt.code_verifier_sealed);
  const result = await oauth.exchange(client, { code, codeVerifier, redirectUri: baseUrl + callbackPath });
  if (result.kind !== 'tokens') return { error: 'exchange_failed' };
  // A service that does not say what it granted has granted what was asked for.
  const scopes = connector.oauth?.rewordsScopes ? attempt.scopes : (result.scopes ?? attempt.scopes);
  if (listMissingScopes(connector, attempt.scopes, scopes).length > 0)
    return { error: 'scope_missing', tokens: result };
  return { error: null, tokens: result, scopes };
}

/** A refresh token stands for the whole grant. */
const tokenToRevoke = ({ refreshToken, accessToken }: IssuedTokens): string => refreshToken ?? accessToken;

async function recordSuccess(
  db: Db,
  access: AppAccess,
  { integration_type, user_id, connection_config }: AttemptOfApp,
  connection: ConnectionRow,
  { tokens, scopes }: ServiceAnswer & { error: null },
  { secrets }: FlowDeps,
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

/** A connection that exists stays as it is. */
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
    'This link is not valid, was used, or is older than ten minutes. Start the connection again.',
  );

const ofAnotherPerson = () =>
  new Problem(
    'forbidden',
    'connection_of_other_user',
    'Another person has started this connection, and only they can finish it. Start it yourself, or sign in as that person.',
  );

const stateInvalid = () =>
  new Problem(
    'bad_request',
    'connection_state_invalid',
    'This browser did not start the connection, or it was finished, replaced or older than ten minutes. Start it again.',
  );
