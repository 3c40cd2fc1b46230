// Starts a connection and changes its scopes (docs/api/connectors.md#connecting): the preconditions, and the
// attempt that the user then finishes in the browser (flow.ts).
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import { lockApp } from '../../core/identity/apps.ts';
import type { ApiKeyVerdict, CheckApiKey } from '../../gateways/oauth/api-key-check.ts';
import { takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { type Answer, withNotes } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import { newId } from '../../kit/ids.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Secrets } from '../../kit/secrets.ts';
import type { Db } from '../../tables.ts';
import { type Connector, findConnector } from './catalogue.ts';
import { type NewConnection, noStart, type ScopeChange, type StartResult } from './contract.ts';
import { describeCheck, type Endpoints } from './endpoints.ts';
import { checkFields, type FieldValues } from './field-check.ts';
import { listMissingScopes } from './scopes.ts';
import { sealCredentials, sealVerifier } from './sealed.ts';
import { attemptLifetimeMs, createVerifier, type States } from './state.ts';
import { findAttempt, saveAttempt } from './store/attempts.ts';
import {
  type ConnectionRow,
  findConnection,
  findEmail,
  insertConnection,
  lockConnection,
  noTokens,
  saveConnection,
} from './store/connections.ts';

export interface StartDeps {
  readonly endpoints: Endpoints;
  readonly states: States;
  readonly secrets: Secrets;
  readonly addresses: AppAddresses;
  readonly checkApiKey: CheckApiKey;
  readonly baseUrl: string;
}

/** A validated request to connect. */
interface Wanted extends FieldValues {
  readonly connector: Connector;
  readonly scopes: readonly string[];
  readonly force: boolean;
  readonly return_url: string | null;
}

export interface CheckedStart {
  readonly wanted: Wanted;
  /** The service's verdict on the API keys. Undefined if they were not checked. */
  readonly verdict?: ApiKeyVerdict | undefined;
}

/**
 * Runs the checks that need no transaction, including the request that checks API keys. Throws 404, 422, 409 or 503.
 */
export async function checkStart(
  db: Db,
  deps: StartDeps,
  access: AppAccess,
  input: NewConnection,
  now: Date,
): Promise<CheckedStart> {
  const connector = findConnector(input.integration_type);
  if (connector === undefined) throw notFound('connector_not_found');
  const fields = checkFields(connector, input);
  const wanted = {
    ...fields,
    ignored: [...fields.ignored, ...listUnusedFields(connector, input)],
    connector,
    scopes: input.scopes ?? connector.default_scopes,
    force: input.force_reconnect ?? false,
    return_url: connector.oauth === null ? null : checkReturnUrl(access, input.return_url, deps),
  };
  if (!deps.endpoints.isConfigured(connector)) throw connectorNotConfigured();
  return { wanted, verdict: await askService(db, deps, access, wanted, now) };
}

/** API keys need no scopes and no browser. */
const listUnusedFields = ({ oauth }: Connector, input: NewConnection): string[] =>
  oauth === null ? (['scopes', 'return_url'] as const).filter((name) => input[name] !== undefined) : [];

/** Sends credentials to the service only if they could complete the connection. */
async function askService(
  db: Db,
  deps: StartDeps,
  access: AppAccess,
  wanted: Wanted,
  now: Date,
): Promise<ApiKeyVerdict | undefined> {
  const { connector, config, credentials } = wanted;
  const check = describeCheck(connector, deps.endpoints.apiBaseFor(connector, config), config, credentials);
  if (check === undefined) return undefined;
  const before = await findConnection(db, access.app, connector.integration_type);
  if ((await findSettled(db, access, before, wanted, now)) !== undefined) return undefined;
  const verdict = await deps.checkApiKey({ owner: access.workspace_id, ...check });
  if (verdict === 'unavailable') throw connectorUnavailable();
  return verdict;
}

function checkReturnUrl(
  { app }: AppAccess,
  sent: string | undefined,
  { baseUrl, addresses }: StartDeps,
): string | null {
  if (sent === undefined) return null;
  const url = new URL(sent);
  const origins = [baseUrl, addresses.urlOf(app.slug)].map((address) => new URL(address).origin);
  if (origins.includes(url.origin) && url.username === '' && url.password === '') return url.href;
  throw new ValidationError([
    {
      loc: ['body', 'return_url'],
      msg: 'must be a URL on this installation or the published app',
      type: 'value_error',
    },
  ]);
}

export function startConnection(
  db: Db,
  deps: StartDeps,
  access: AppAccess,
  { wanted, verdict }: CheckedStart,
  now: Date,
): Promise<Answer<StartResult>> {
  const { integration_type } = wanted.connector;
  const ignored = wanted.ignored;
  return transaction(db, async (db) => {
    await lockApp(db, access); // the app may have been moved to the trash
    // Two users may start the first connection at the same time, when there is no row to lock.
    await takeAdvisoryLock(db, `connection of ${access.app.id} to ${integration_type}`);
    const before = await lockConnection(db, access.app, integration_type);
    const settled = await findSettled(db, access, before, wanted, now);
    if (settled !== undefined) return withNotes(settled, { changed: false, ignored });
    if (verdict === 'rejected') return withNotes(rejected, { changed: false, ignored });
    // The keys were not checked, because another user had a connection at the time but has since ended it.
    if (wanted.connector.oauth === null && verdict !== 'accepted') throw connectorUnavailable();
    const connection = before ?? (await insertNew(db, access, integration_type, now));
    const result =
      wanted.connector.oauth === null
        ? await connectWithKeys(db, deps, access, { connection, wanted }, now)
        : await beginAttempt(db, deps, access, { connection, wanted }, now);
    return withNotes(result, { ignored });
  });
}

const rejected: StartResult = {
  ...noStart,
  error: 'credentials_rejected',
  error_message: 'The service rejected these credentials. Check them and try again.',
};

const insertNew = (db: Db, access: AppAccess, integration_type: string, now: Date) =>
  insertConnection(db, access.app, { id: newId(), integration_type, user_id: access.caller.user_id }, now);

/** The result if there is nothing to start. Throws 409 while another user is connecting. */
async function findSettled(
  db: Db,
  access: AppAccess,
  before: ConnectionRow | undefined,
  wanted: Wanted,
  now: Date,
): Promise<StartResult | undefined> {
  if (before === undefined) return undefined;
  const { user_id } = access.caller;
  if (isOfAnotherPerson(before, user_id) && !(wanted.force && access.app_role === 'owner'))
    return describeOther(db, before);
  if (isAlreadyAuthorized(before, wanted, now))
    return { ...noStart, connection_id: before.id, already_authorized: true };
  const attempt = await findAttempt(db, before);
  const isPending = attempt !== undefined && attempt.error === null && attempt.expires_at > now;
  if (isPending && attempt.user_id !== user_id) throw connectionInProgress();
  return undefined;
}

const isOfAnotherPerson = ({ status, user_id }: ConnectionRow, caller: string | null): boolean =>
  status === 'active' && user_id !== null && user_id !== caller;

async function describeOther(db: Db, { id, user_id }: ConnectionRow): Promise<StartResult> {
  return {
    ...noStart,
    connection_id: id,
    error: 'different_user',
    error_message:
      "The app uses another person's account. Ask them to change the connection, or ask an app owner to replace it.",
    other_user_email: user_id === null ? null : await findEmail(db, user_id),
  };
}

/** API keys are always replaced, without comparing them with the stored keys. */
const isAlreadyAuthorized = (before: ConnectionRow, { connector, config, scopes, force }: Wanted, now: Date): boolean =>
  before.status === 'active' &&
  (before.expires_at === null || before.expires_at > now) &&
  !force &&
  connector.oauth !== null &&
  isDeepStrictEqual(before.connection_config, config) &&
  listMissingScopes(connector, scopes, before.scopes).length === 0;

async function connectWithKeys(
  db: Db,
  deps: StartDeps,
  access: AppAccess,
  {
    connection: { id, ...before },
    wanted: { connector, config, credentials },
  }: { readonly connection: ConnectionRow; readonly wanted: Wanted },
  now: Date,
): Promise<StartResult> {
  const { app, caller } = access;
  await saveConnection(
    db,
    { workspace_id: app.workspace_id, id },
    {
      ...noTokens,
      status: 'active',
      user_id: caller.user_id,
      scopes: [],
      connection_config: config,
      credentials_sealed: sealCredentials(deps.secrets, id, credentials),
      connected_at: now,
      last_error: null,
      updated_date: now,
    },
  );
  const after = { status: 'active', integration_type: connector.integration_type, connection_config: config };
  const change = { target: { kind: 'connection', id }, app_id: app.id, before: { status: before.status }, after };
  await audit(db, access, { type: 'connection.connected', ...change }, now);
  return { ...noStart, connection_id: id };
}

/** Stores the attempt, and returns the URL where the user's browser continues. */
async function beginAttempt(
  db: Db,
  deps: Pick<StartDeps, 'states' | 'secrets' | 'baseUrl'>,
  access: AppAccess,
  {
    connection: { id: connection_id },
    wanted: { connector, config, scopes, return_url },
  }: { readonly connection: ConnectionRow; readonly wanted: Wanted },
  now: Date,
): Promise<StartResult> {
  const { app, caller } = access;
  const id = newId();
  const { state, hash } = deps.states.create();
  await saveAttempt(db, {
    id,
    workspace_id: app.workspace_id,
    connection_id,
    user_id: requirePerson(caller.user_id),
    credential_id: caller.credential_id,
    state_hash: hash,
    cookie_hash: null,
    code_verifier_sealed: sealVerifier(deps.secrets, id, createVerifier()),
    scopes: [...scopes],
    connection_config: config,
    return_url,
    error: null,
    created_date: now,
    expires_at: new Date(now.getTime() + attemptLifetimeMs),
  });
  const after = { integration_type: connector.integration_type, scopes, connection_config: config };
  const change = { target: { kind: 'connection', id: connection_id }, app_id: app.id, after };
  await audit(db, access, { type: 'connection.started', ...change }, now);
  return { ...noStart, redirect_url: `${deps.baseUrl}/connect/${state}`, connection_id };
}

/** The routes accept only users' credentials. */
function requirePerson(user_id: string | null): string {
  if (user_id === null) throw new Error('a connection was started without a user');
  return user_id;
}

/** Narrower scopes are recorded immediately. Wider scopes or a different configuration need the user's consent. */
export function setScopes(
  db: Db,
  deps: StartDeps,
  access: AppAccess & { readonly connector: Connector },
  input: ScopeChange,
  now: Date,
): Promise<Answer<StartResult>> {
  const { connector, app } = access;
  if (connector.oauth === null) throw new ValidationError([withoutScopes]);
  if (input.connection_config !== undefined) checkFields(connector, input);
  if (!deps.endpoints.isConfigured(connector)) throw connectorNotConfigured();
  return transaction(db, async (db) => {
    await lockApp(db, access);
    const before = await lockConnection(db, app, connector.integration_type);
    if (before === undefined || before.status === 'pending') throw notFound('connection_not_found');
    const { config, ignored } = checkFields(connector, {
      connection_config: input.connection_config ?? before.connection_config,
    });
    const wanted = {
      connector,
      config,
      credentials: {},
      ignored,
      scopes: input.scopes,
      force: false,
      return_url: null,
    };
    const settled = await findSettled(db, access, before, wanted, now);
    if (settled === undefined)
      return withNotes(await beginAttempt(db, deps, access, { connection: before, wanted }, now), { ignored });
    const isNarrower = settled.already_authorized && !isDeepStrictEqual(new Set(before.scopes), new Set(input.scopes));
    if (!isNarrower) return withNotes(settled, { changed: false, ignored });
    await saveConnection(db, before, { scopes: [...input.scopes], updated_date: now });
    const change = { target: { kind: 'connection', id: before.id }, app_id: app.id };
    const scopes = { before: { scopes: before.scopes }, after: { scopes: input.scopes } };
    await audit(db, access, { type: 'connection.scopes_changed', ...change, ...scopes }, now);
    return withNotes(settled, { ignored });
  });
}

const withoutScopes = {
  loc: ['body', 'scopes'],
  msg: 'is only allowed for services that use OAuth; this service uses API keys',
  type: 'value_error',
};

const connectionInProgress = () =>
  new Problem(
    'conflict',
    'connection_in_progress',
    'Another person is already connecting this service. Try again when they have finished, or in ten minutes.',
  );

export const connectorNotConfigured = () =>
  new Problem(
    'unavailable',
    'connector_not_configured',
    'No client is registered for this service on this installation. Ask an operator to register one.',
    { headers: { 'retry-after': '3600' } },
  );

const connectorUnavailable = () =>
  new Problem(
    'unavailable',
    'connector_unavailable',
    'The credentials could not be verified with the service, so they were not saved. Try again in a moment.',
    { headers: { 'retry-after': '30' } },
  );
