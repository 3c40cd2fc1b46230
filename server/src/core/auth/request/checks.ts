// The order of the checks between matching a route and validating its input. The first check that fails determines
// the response (docs/api/conventions.md#order-of-checks). Each route declares its requirements: `credentials`, `limit`,
// `access` and `plan`. A request takes one of three paths through this file:
//
//   the route is open to everyone (`credentials: open`)   → admitToOpenRoute
//   no credential was sent                                → admitWithoutCredential; 401 on most routes
//   a credential was sent                                 → admitWithCredential
//
// admitWithCredential runs these checks in order. The other two paths skip some of them:
//
//   401 credential → 403 kind, permission, scope, origin → 429 rate limit → 404/403/400 access → 402 plan
//     → 429 byte budget → 404 nested
//
// Each path returns the access proof, which states what the caller has access to, and as whom (proofs.ts). The handler
// receives the proof as `access`. guards/guard.ts explains how a guard issues it.
import type { Kysely } from 'kysely';
import { nameClient } from '../../../kit/http/connection/client-address.ts';
import type { Exchange } from '../../../kit/http/exchange.ts';
import type { CrossOrigin } from '../../../kit/http/request/cross-origin.ts';
import type { Tables } from '../../../tables.ts';
import {
  type AcceptedCredentials,
  type CredentialForm,
  credentialsExpired,
  credentialsMissing,
  findKindRefusal,
  isExpired,
  isInForeignCookie,
  open,
  type PresentedCredential,
  readCredential,
  readSession,
  requireSameOrigin,
  requireValidCredential,
} from '../credentials.ts';
import { appAccessDenied } from '../guards/app.ts';
import { findPlanRefusal } from '../plans.ts';
import { enforceByteBudget } from '../rate-limits/byte-budget.ts';
import type { Counters } from '../rate-limits/counters.ts';
import {
  countRequest,
  enforceLimits,
  limitsFor,
  toCountedApp,
  toCountedCaller,
  toInsider,
} from '../rate-limits/limit-check.ts';
import type { Route } from '../route.ts';
import { hashToken, type Peppers } from '../tokens.ts';
import { requireAppOrigin } from './app-origins.ts';
import { isOutsider } from './caller.ts';
import { recordUse, saveHash } from './credential-usage.ts';
import type { FailedLookups, FailureKind } from './failed-lookups.ts';
import { isRecent, KnownCredentials, startCount } from './known-credentials.ts';
import type { AnonymousLookup, AppLookup, LookupResult } from './lookup.ts';

export interface GuardOptions extends CredentialForm {
  readonly db: Kysely<Tables>;
  /** Used to look up unknown callers, whose lookups are not batched with those of known callers. */
  readonly strangersDb: Kysely<Tables>;
  readonly counters: Counters;
  readonly failedLookups: FailedLookups;
  /** The current pepper, followed by older peppers that stored hashes may still use. */
  readonly peppers: Peppers;
  /** This installation's origins. Except for GET requests, session cookies are accepted only from these. */
  readonly ownOrigins: readonly string[];
  /** Decides which web pages may call an app's open routes. */
  readonly appOrigins: CrossOrigin;
  /** If set, personal API keys are rejected from this time on. */
  readonly personalKeysUntil?: Date;
}

export interface Guards {
  guard(exchange: Exchange): Promise<unknown>;
  /**
   * Returns the workspace of a credential that was valid within the last ten minutes. This needs no query, and no
   * access decision depends on it.
   */
  nameKnownCaller(exchange: Exchange): string | undefined;
}

export function createGuard(options: GuardOptions): Guards {
  const known = new KnownCredentials();
  /** Kept between `nameKnownCaller` and `guard`, so a credential is read and hashed only once. */
  const presented = new WeakMap<Exchange, HashedCredential>();
  return {
    async guard(exchange) {
      const route = exchange.operation as Route; // the server is generic over operations, and all of ours are routes
      if (route.credentials === open) return admitToOpenRoute(exchange, route, options);
      const credential = presented.get(exchange) ?? readHashed(exchange, options);
      return credential === undefined
        ? admitWithoutCredential(exchange, route, route.credentials, options)
        : admitWithCredential({
            exchange,
            route,
            accepted: route.credentials,
            credential,
            knownCredentials: known,
            options,
          });
    },
    nameKnownCaller(exchange) {
      const credential = readHashedIfValid(exchange, options);
      if (credential === undefined) return undefined;
      presented.set(exchange, credential);
      const found = known.find(credential.hash);
      return found && isRecent(found, exchange.now) ? found.owner : undefined;
    },
  };
}

interface HashedCredential extends PresentedCredential {
  readonly hash: Buffer;
}

function readHashed(exchange: Exchange, options: GuardOptions): HashedCredential | undefined {
  const credential = readCredential(exchange, options);
  return credential && { ...credential, hash: hashToken(credential.text, options.peppers[0]) };
}

/** Undefined if the credential is malformed. The guard will reject it. */
function readHashedIfValid(exchange: Exchange, options: GuardOptions): HashedCredential | undefined {
  try {
    return readHashed(exchange, options);
  } catch {
    return undefined;
  }
}

/**
 * Handles a request with a credential. All checks apply. If this process has seen the credential before, the count in
 * Redis starts during the lookup (`earlyCounts`, see rate-limits/limit-check.ts). If this process has not recently
 * found the credential valid, and the client's address has too many failed lookups, the request is refused before the
 * lookup.
 */
async function admitWithCredential({
  exchange,
  route,
  accepted,
  credential,
  knownCredentials,
  options,
}: {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly accepted: AcceptedCredentials;
  readonly credential: HashedCredential;
  readonly knownCredentials: KnownCredentials;
  readonly options: GuardOptions;
}): Promise<unknown> {
  const { counters } = options;
  const { hash } = credential;
  const known = knownCredentials.find(hash);
  if (known !== undefined && isRecent(known, exchange.now))
    refuseRepeatedFailure(exchange, 'kinds', known.credential_id, options);
  else refuseRepeatedFailure(exchange, 'credentials', nameClient(exchange.address), options);
  const earlyCounts = known && startCount(known, exchange, route, accepted, counters);
  const lookup = await lookUpCredential(exchange, route, credential, hash, options);
  try {
    requireValidCredential(credential, lookup, exchange.now);
    requirePersonalKeysAllowed(lookup, options, exchange.now);
  } catch (refusal) {
    knownCredentials.remove(hash);
    await countFailure(exchange, 'credentials', options);
    throw refusal;
  }
  const appId = toCountedApp(lookup);
  knownCredentials.add(hash, lookup, appId, exchange.now);
  announceDeprecation(exchange, credential, lookup, options);
  try {
    requireAcceptedKind(exchange, accepted, lookup, options);
  } catch (refusal) {
    await options.failedLookups.count('kinds', lookup.credential_id, lookup.rate_multiplier ?? 1);
    throw refusal;
  }
  exchange.actor = {
    id: lookup.user_id ?? lookup.app_user_id ?? lookup.credential_id,
    workspaceId: lookup.workspace_id,
    appId: (lookup as Partial<AppLookup>).app_id ?? null,
    isOutsider: isOutsider(lookup),
    appIds: lookup.app_ids?.join() ?? '',
    lookup,
  };
  const count = () => countRequest(exchange, limitsFor(route, lookup.kind), toCountedCaller(lookup), appId, counters);
  await enforceLimits(exchange, earlyCounts ?? count(), toInsider(lookup));
  const access = route.access.decide(lookup, exchange);
  requirePlan(route, lookup);
  exchange.recheck = async (now) => {
    const current = await lookUpCredential(exchange, route, credential, hash, options);
    requireValidCredential(credential, current, now);
    const refusal = findKindRefusal(accepted, current);
    if (refusal !== undefined) throw refusal;
    // What a stream shows was decided by the roles that its caller had at the start.
    if (listRoles(current) !== listRoles(lookup)) throw appAccessDenied();
    route.access.decide(current, exchange);
    requirePlan(route, current);
  };
  if (route.bytes) await enforceByteBudget(exchange, route, route.bytes, lookup, options.counters);
  // A GET does not change a session's last workspace, because another site can make a browser send a GET.
  const remembersWorkspace = route.access.choosesWorkspace && route.method !== 'GET';
  recordUse(options.db, lookup, remembersWorkspace, exchange.now); // not awaited
  return loadNested(exchange, route, access, options);
}

function listRoles(lookup: LookupResult): string {
  const { role, share_role, app_owner_id } = lookup as LookupResult & Partial<AppLookup>;
  return [role, share_role, app_owner_id].join();
}

/**
 * Handles a request without a credential. Throws 401, unless the route accepts app users and the app in the path is
 * open without login.
 */
async function admitWithoutCredential(
  exchange: Exchange,
  route: Route,
  accepted: AcceptedCredentials,
  options: GuardOptions,
): Promise<unknown> {
  if (accepted.appUser !== true) throw credentialsMissing();
  const lookup = await lookUpAnonymous(exchange, route, options);
  if (lookup === undefined) throw credentialsMissing();
  const counts = countRequest(exchange, limitsFor(route, 'anonymous'), undefined, lookup.app_id, options.counters);
  await enforceLimits(exchange, counts, undefined);
  const access = route.access.decide(lookup, exchange);
  requirePlan(route, lookup);
  if (route.bytes) await enforceByteBudget(exchange, route, route.bytes, lookup, options.counters);
  return loadNested(exchange, route, access, options);
}

/** Reads the resource in the path. Counts a failed lookup if the caller has no access to it. */
async function lookUpAnonymous(
  exchange: Exchange,
  { access }: Route,
  options: GuardOptions,
): Promise<AnonymousLookup | undefined> {
  refuseRepeatedFailure(exchange, 'apps', nameClient(exchange.address), options);
  const lookup = await access.lookUpAnonymous?.(chooseDb(exchange, options), exchange);
  if (lookup === undefined) {
    await countFailure(exchange, 'apps', options);
    return undefined;
  }
  exchange.actor = {
    id: null,
    workspaceId: lookup.workspace_id,
    appId: lookup.app_id,
    isOutsider: true,
    appIds: '',
    lookup,
  };
  return lookup;
}

/**
 * Handles a request to a route that requires no credential. Checks the origin if the route starts or uses a session
 * (except for GET), the rate limit, access, a web page's origin, and nested rows. Looks up the session only if the route
 * needs the signed-in person (`readsSession`), and the app only if the route belongs to an app (`lookUpAnonymous`).
 */
async function admitToOpenRoute(exchange: Exchange, route: Route, options: GuardOptions): Promise<unknown> {
  if (route.access.lookUpHook) return admitToHook(exchange, route, options);
  if (route.access.startsSession) requireSameOrigin(exchange, options.ownOrigins);
  const counts = countRequest(exchange, limitsFor(route, undefined), undefined, null, options.counters);
  await enforceLimits(exchange, counts, undefined);
  const lookup = await lookUpOnOpenRoute(exchange, route, options);
  const access = route.access.decide(lookup, exchange);
  if (route.access.lookUpAnonymous) await requireAppOrigin(exchange, lookup, options.appOrigins);
  return loadNested(exchange, route, access, options);
}

/**
 * Handles a request whose path contains a hook's token as its credential. Requests are counted per hook, so the hook is
 * looked up first. An unknown token counts as a failed lookup, like an app that is not open.
 */
async function admitToHook(exchange: Exchange, route: Route, options: GuardOptions): Promise<unknown> {
  refuseRepeatedFailure(exchange, 'apps', nameClient(exchange.address), options);
  const lookup = await route.access.lookUpHook?.(chooseDb(exchange, options), exchange, options.cellCode);
  if (lookup === undefined) {
    await countFailure(exchange, 'apps', options);
    return route.access.decide(undefined, exchange); // throws the guard's 404
  }
  const { hook_id, workspace_id, app_id } = lookup;
  const appIds = '';
  exchange.actor = { id: hook_id, workspaceId: workspace_id, appId: app_id, isOutsider: true, appIds, lookup };
  const counts = countRequest(exchange, limitsFor(route, undefined), undefined, hook_id, options.counters);
  await enforceLimits(exchange, counts, lookup);
  return loadNested(exchange, route, route.access.decide(lookup, exchange), options);
}

async function lookUpOnOpenRoute(exchange: Exchange, route: Route, options: GuardOptions) {
  if (route.access.lookUpAnonymous) return lookUpAnonymous(exchange, route, options);
  return route.access.readsSession ? lookUpSession(exchange, route, options) : undefined;
}

/** Throws 429 if there have been too many failed lookups of this kind. */
function refuseRepeatedFailure(exchange: Exchange, kind: FailureKind, who: string, options: GuardOptions): void {
  const refusal = options.failedLookups.findRefusal(kind, who);
  if (refusal === undefined) return;
  exchange.pausesRefusal = kind !== 'kinds'; // not for known callers, whose rate limits apply
  throw refusal;
}

async function countFailure(exchange: Exchange, kind: 'credentials' | 'apps', options: GuardOptions): Promise<void> {
  exchange.pausesRefusal = await options.failedLookups.count(kind, nameClient(exchange.address));
}

/**
 * Loads the nested rows in the path after `decide` has admitted the request. Throws 404 for the first row that does not
 * exist.
 */
const loadNested = (exchange: Exchange, { access }: Route, proof: unknown, { db }: GuardOptions) =>
  access.loadNested === undefined ? proof : access.loadNested(db, proof, exchange);

const chooseDb = (exchange: Exchange, { db, strangersDb }: GuardOptions): Kysely<Tables> =>
  exchange.isKnownCaller ? db : strangersDb;

/** Looks up the credential by its current hash, then by its hashes under older peppers. Replaces an older hash. */
async function lookUpCredential(
  exchange: Exchange,
  { access }: Route,
  credential: PresentedCredential,
  hash: Buffer,
  options: GuardOptions,
): Promise<LookupResult | undefined> {
  const { peppers } = options;
  const db = chooseDb(exchange, options);
  const lookup = await access.lookUp(db, hash, exchange);
  if (lookup !== undefined) return lookup;
  for (const pepper of peppers.slice(1)) {
    const older = await access.lookUp(db, hashToken(credential.text, pepper), exchange);
    if (older === undefined) continue;
    await saveHash(db, older.credential_id, hash, peppers[0].id);
    return older;
  }
  return undefined;
}

/**
 * Looks up the browser session on an open route. Ignores an unknown or expired session. Throws 403 if the request comes
 * from another origin.
 */
async function lookUpSession(
  exchange: Exchange,
  route: Route,
  options: GuardOptions,
): Promise<LookupResult | undefined> {
  const session = readSession(exchange, options);
  if (session === undefined) return undefined;
  const hash = hashToken(session.text, options.peppers[0]);
  const lookup = await lookUpCredential(exchange, route, session, hash, options);
  if (lookup === undefined || isExpired(lookup, exchange.now) || isInForeignCookie(session, lookup)) return undefined;
  requireSameOrigin(exchange, options.ownOrigins);
  return lookup;
}

/** Throws 401 for a personal key once the installation has stopped accepting personal keys. */
function requirePersonalKeysAllowed({ kind }: LookupResult, { personalKeysUntil }: GuardOptions, now: Date): void {
  if (kind === 'personal_key' && personalKeysUntil !== undefined && personalKeysUntil <= now)
    throw credentialsExpired();
}

const personalKeysDeprecatedAt = '@1792022400'; // 15 October 2026

/** Adds the deprecation headers for a personal key sent as `api_key`, even if the request is refused later. */
function announceDeprecation(
  { reply }: Exchange,
  { viaApiKeyHeader }: PresentedCredential,
  { kind }: LookupResult,
  { personalKeysUntil }: GuardOptions,
): void {
  if (kind !== 'personal_key' || !viaApiKeyHeader) return;
  reply.header('deprecation', personalKeysDeprecatedAt);
  if (personalKeysUntil !== undefined) reply.header('sunset', personalKeysUntil.toUTCString());
}

/**
 * Throws 403 unless the route accepts this kind of credential, its permission and scopes, and, for a cookie, its
 * origin.
 */
function requireAcceptedKind(
  exchange: Exchange,
  accepted: AcceptedCredentials,
  lookup: LookupResult,
  { ownOrigins }: GuardOptions,
): void {
  const refusal = findKindRefusal(accepted, lookup);
  if (refusal !== undefined) throw refusal;
  if (lookup.kind === 'session') requireSameOrigin(exchange, ownOrigins);
}

/** Throws 402 if the workspace's plan does not include the route's feature. Does nothing if there is no workspace. */
function requirePlan({ plan }: Route, lookup: Pick<LookupResult, 'plan'>): void {
  const refusal = plan && lookup.plan && findPlanRefusal(lookup.plan, plan);
  if (refusal) throw refusal;
}
