// Owns the order of the checks between matching a route and validating its input, and answers with the error of the first
// that fails (docs/api/conventions.md#order-of-checks). What a route requires comes from the route: `credentials`,
// `limit`, `access`, `plan`. A request takes one of three ways through this file:
//
//   the route is open to everybody (`credentials: open`)  → admitToOpenRoute
//   no credential was sent                                → admitWithoutCredential, which most routes refuse with 401
//   a credential was sent                                 → admitWithCredential
//
// The checks of admitWithCredential, in order; the other two leave some of them out:
//
//   401 credential → 403 kind, permission, scope, origin → 429 rate limit → 404/403/400 access → 402 plan
//     → 429 byte budget → 404 nested
//
// Each way returns the access proof, which says what the caller may reach and as whom (proofs.ts), and which the handler
// receives as `access`. `Guard` in resource-guards.ts explains how `access` issues it.
import type { Kysely } from 'kysely';
import { nameClient } from '../../kit/http/client-address.ts';
import type { CrossOrigin } from '../../kit/http/cross-origin.ts';
import type { Exchange } from '../../kit/http/exchange.ts';
import type { Tables } from '../../tables.ts';
import { requireAppOrigin } from './app-origins.ts';
import { enforceByteBudget } from './byte-budget.ts';
import { isOutsider } from './caller.ts';
import type { Counters } from './counters.ts';
import { recordUse, saveHash } from './credential-usage.ts';
import {
  type AcceptedCredentials,
  credentialsExpired,
  credentialsMissing,
  findKindRefusal,
  isExpired,
  open,
  type PresentedCredential,
  readCredential,
  readSession,
  requireSameOrigin,
  requireValidCredential,
} from './credentials.ts';
import type { FailedLookups, FailureKind } from './failed-lookups.ts';
import { isRecent, KnownCredentials, startCount } from './known-credentials.ts';
import { countRequest, enforceLimits, limitsFor, toCountedApp, toCountedCaller, toInsider } from './limit-check.ts';
import type { AnonymousLookup, AppLookup, LookupResult } from './lookup.ts';
import { findPlanRefusal } from './plans.ts';
import type { Route } from './route.ts';
import { hashToken, type Peppers } from './tokens.ts';

export interface GuardOptions {
  readonly db: Kysely<Tables>;
  readonly counters: Counters;
  readonly failedLookups: FailedLookups;
  /** The current pepper, then the older ones under which hashes may still be stored. */
  readonly peppers: Peppers;
  /** Two characters in every credential of this cell. A credential of another cell is refused without the database. */
  readonly cellCode: string;
  /** Scheme, host and port of this installation: the only origin from which a session cookie is accepted. */
  readonly baseOrigin: string;
  /** Which web pages may call open routes of an app. */
  readonly appOrigins: CrossOrigin;
  /** When set, personal API keys are refused from this time on. */
  readonly personalKeysUntil?: Date;
}

export interface Guards {
  guard(exchange: Exchange): Promise<unknown>;
  /** The workspace of a credential that was valid in the last ten minutes. Known without a query, and nothing is decided by it. */
  nameKnownCaller(exchange: Exchange): string | undefined;
}

export function createGuard(options: GuardOptions): Guards {
  const known = new KnownCredentials();
  /** Kept from `nameKnownCaller` until `guard`: reading and hashing once is enough. */
  const presented = new WeakMap<Exchange, HashedCredential>();
  return {
    async guard(exchange) {
      const route = exchange.operation as Route; // the server is generic over operations; ours are all routes
      if (route.credentials === open) return admitToOpenRoute(exchange, route, options);
      const credential = presented.get(exchange) ?? readHashed(exchange, options);
      return credential === undefined
        ? admitWithoutCredential(exchange, route, route.credentials, options)
        : admitWithCredential(exchange, route, route.credentials, credential, known, options);
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

function readHashed(exchange: Exchange, { cellCode, peppers }: GuardOptions): HashedCredential | undefined {
  const credential = readCredential(exchange, cellCode);
  return credential && { ...credential, hash: hashToken(credential.text, peppers[0]) };
}

/** Undefined if it is malformed: the guard will refuse it. */
function readHashedIfValid(exchange: Exchange, options: GuardOptions): HashedCredential | undefined {
  try {
    return readHashed(exchange, options);
  } catch {
    return undefined;
  }
}

/**
 * A credential was sent: all checks apply. If this process has seen it before, the count in Redis starts during the lookup
 * (`earlyCounts`, see limit-check.ts). If it has not found it valid lately, an address with too many failed lookups is
 * refused before the lookup.
 */
async function admitWithCredential(
  exchange: Exchange,
  route: Route,
  accepted: AcceptedCredentials,
  credential: HashedCredential,
  knownCredentials: KnownCredentials,
  options: GuardOptions,
): Promise<unknown> {
  const { counters } = options;
  const { hash } = credential;
  const known = knownCredentials.find(hash);
  if (known !== undefined && isRecent(known, exchange.now))
    refuseRepeatedFailure(exchange, 'kinds', known.credential_id, options);
  else refuseRepeatedFailure(exchange, 'credentials', nameClient(exchange.address), options);
  const earlyCounts = known && startCount(known, exchange, route, accepted, counters);
  const lookup = await lookUpCredential(exchange, route, credential, hash, options);
  try {
    requireValidCredential(lookup, exchange.now);
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
  if (route.bytes) await enforceByteBudget(exchange, route, route.bytes, lookup, options.counters);
  // A GET does not change the workspace that a session remembers: another site can make a browser send one.
  const remembersWorkspace = route.access.choosesWorkspace && route.method !== 'GET';
  recordUse(options.db, lookup, remembersWorkspace, exchange.now); // the request does not wait for it
  return loadNested(exchange, route, access, options);
}

/**
 * No credential was sent: 401, unless the route accepts app users and the path names an app that is open without
 * login.
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

/** Reads what the path names, and counts a failed lookup if it is not open to the caller. */
async function lookUpAnonymous(
  exchange: Exchange,
  { access }: Route,
  options: GuardOptions,
): Promise<AnonymousLookup | undefined> {
  refuseRepeatedFailure(exchange, 'apps', nameClient(exchange.address), options);
  const lookup = await access.lookUpAnonymous?.(options.db, exchange);
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
 * No credential is required. Checks: rate limit, a session's origin (not for GET), access, the origin of a web page, nested. A
 * session is looked up only if the route wants to know who is signed in, if anybody is (`readsSession`), and an app only if the
 * route is one of an app (`lookUpAnonymous`).
 */
async function admitToOpenRoute(exchange: Exchange, route: Route, options: GuardOptions): Promise<unknown> {
  if (route.access.lookUpHook) return admitToHook(exchange, route, options);
  const counts = countRequest(exchange, limitsFor(route, undefined), undefined, null, options.counters);
  await enforceLimits(exchange, counts, undefined);
  const lookup = await lookUpOnOpenRoute(exchange, route, options);
  const access = route.access.decide(lookup, exchange);
  if (route.access.lookUpAnonymous) await requireAppOrigin(exchange, lookup, options.appOrigins);
  return loadNested(exchange, route, access, options);
}

/**
 * The token in the path is the credential. Requests are counted per hook, so that the hook is looked up first; a token that opens
 * nothing is a failed lookup, as an app that is not open is.
 */
async function admitToHook(exchange: Exchange, route: Route, options: GuardOptions): Promise<unknown> {
  refuseRepeatedFailure(exchange, 'apps', nameClient(exchange.address), options);
  const lookup = await route.access.lookUpHook?.(options.db, exchange, options.cellCode);
  if (lookup === undefined) {
    await countFailure(exchange, 'apps', options);
    return route.access.decide(undefined, exchange); // throws its 404
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

/** 429 if there were too many failed lookups of this kind. */
function refuseRepeatedFailure(exchange: Exchange, kind: FailureKind, who: string, options: GuardOptions): void {
  const refusal = options.failedLookups.findRefusal(kind, who);
  if (refusal === undefined) return;
  exchange.pausesRefusal = kind !== 'kinds'; // a known caller has rate limits
  throw refusal;
}

async function countFailure(exchange: Exchange, kind: 'credentials' | 'apps', options: GuardOptions): Promise<void> {
  exchange.pausesRefusal = await options.failedLookups.count(kind, nameClient(exchange.address));
}

/** Loads the rows that the path names inside of what `decide` let through; 404 for the first that does not exist. */
const loadNested = (exchange: Exchange, { access }: Route, proof: unknown, { db }: GuardOptions) =>
  access.loadNested === undefined ? proof : access.loadNested(db, proof, exchange);

/** Looks the credential up by its hash, then by its hashes under older peppers. Such a hash is replaced. */
async function lookUpCredential(
  exchange: Exchange,
  { access }: Route,
  credential: PresentedCredential,
  hash: Buffer,
  { db, peppers }: GuardOptions,
): Promise<LookupResult | undefined> {
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
 * The browser session on an open route. An unknown or expired one counts as none. From another origin it is refused with
 * 403.
 */
async function lookUpSession(
  exchange: Exchange,
  route: Route,
  options: GuardOptions,
): Promise<LookupResult | undefined> {
  const session = readSession(exchange, options.cellCode);
  if (session === undefined) return undefined;
  const hash = hashToken(session.text, options.peppers[0]);
  const lookup = await lookUpCredential(exchange, route, session, hash, options);
  if (lookup === undefined || isExpired(lookup, exchange.now)) return undefined;
  requireSameOrigin(exchange, options.baseOrigin);
  return lookup;
}

/** 401 for a personal key once the installation no longer accepts them. */
function requirePersonalKeysAllowed({ kind }: LookupResult, { personalKeysUntil }: GuardOptions, now: Date): void {
  if (kind === 'personal_key' && personalKeysUntil !== undefined && personalKeysUntil <= now)
    throw credentialsExpired();
}

const personalKeysDeprecatedAt = '@1792022400'; // 15 October 2026

/** Tells callers who send a personal key as `api_key` that it is deprecated, also if the request is refused later. */
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

/** 403 unless the route accepts this kind of credential, its permission and scopes, and, for a cookie, its origin. */
function requireAcceptedKind(
  exchange: Exchange,
  accepted: AcceptedCredentials,
  lookup: LookupResult,
  { baseOrigin }: GuardOptions,
): void {
  const refusal = findKindRefusal(accepted, lookup);
  if (refusal !== undefined) throw refusal;
  if (lookup.kind === 'session') requireSameOrigin(exchange, baseOrigin);
}

/** 402 if the route's feature needs a higher plan than the workspace has. Without a workspace there is no plan. */
function requirePlan({ plan }: Route, lookup: Pick<LookupResult, 'plan'>): void {
  const refusal = plan && lookup.plan && findPlanRefusal(lookup.plan, plan);
  if (refusal) throw refusal;
}
