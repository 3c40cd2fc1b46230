// Owns the order of refusals before an operation runs (contract §0.5, steps 2 to 7):
//   401 credential → 403 kind, permission, scope, origin → 429 limit → 404 / 403 reach → 402 plan
// One read finds all it decides on; counting for the limit runs beside that read whenever the counter is known.
import type { Kysely } from 'kysely';
import type { Exchange } from '../../kit/http/exchange.ts';
import type { Tables } from '../../tables.ts';
import type { Count, Counters } from './counters.ts';
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
  requireKnownCredential,
  requireSameOrigin,
} from './credentials.ts';
import {
  anonymousLimit,
  appUserLimit,
  type CountedCaller,
  nameCounter,
  rateLimited,
  scaleQuota,
  toWholeSeconds,
  unlimited,
} from './limits.ts';
import type { LookupResult } from './lookup.ts';
import { findPlanRefusal } from './plans.ts';
import type { Route } from './route.ts';
import { hashToken, type Pepper } from './tokens.ts';

export interface GuardOptions {
  readonly db: Kysely<Tables>;
  readonly counters: Counters;
  readonly peppers: readonly Pepper[];
  readonly cellCode: string;
  readonly baseOrigin: string;
  /** When set, personal API keys end at this time. */
  readonly personalKeysUntil?: Date;
}

export function createGuard(options: GuardOptions): (exchange: Exchange) => Promise<unknown> {
  const counted = new Hints();
  return async (exchange) => {
    const route = exchange.operation as Route;
    if (route.credentials === open) {
      await limit(exchange, route.limit, undefined, countFor(exchange, route.limit, undefined, options));
      const found = route.access.recognises && (await recognised(exchange, route, options));
      return within(exchange, route, route.access.decide(found || nobody, exchange), options);
    }
    const credential = readCredential(exchange, options.cellCode);
    if (credential === undefined) return anonymous(exchange, route, options);
    const hash = hashToken(credential.text, currentPepper(options));
    const early = counted.countEarly(hash, exchange, route, options);
    const found = await find(exchange, route, credential, hash, options);
    try {
      requireKnownCredential(found, exchange.now);
    } catch (refusal) {
      counted.forget(hash);
      throw refusal;
    }
    permit(exchange, route.credentials, credential, found, options);
    counted.remember(hash, found);
    exchange.actor = {
      id: found.user_id ?? found.app_user_id ?? found.credential_id,
      workspaceId: found.workspace_id,
      scope: found.app_ids?.join() ?? '',
      lookup: found,
    };
    const figure = limitOf(route, found);
    await limit(exchange, figure, found, early ?? countFor(exchange, figure, countedAs(found), options));
    const access = route.access.decide(found, exchange);
    refusePlan(route, found);
    recordUse(options.db, found, route.access.choosesWorkspace, exchange.now);
    return within(exchange, route, access, options);
  };
}

const nobody = {} as LookupResult;

/** Without credentials: refused, but where the path names something that is open to everybody. */
async function anonymous(exchange: Exchange, route: Route, options: GuardOptions): Promise<unknown> {
  const { access, credentials } = route;
  const found =
    (credentials as AcceptedCredentials).appUser && (await access.findOpen?.(options.db, access.idOf(exchange)));
  if (!found) throw credentialsMissing();
  exchange.actor = { id: null, workspaceId: found.workspace_id, scope: '', lookup: found };
  await limit(exchange, anonymousLimit, undefined, countFor(exchange, anonymousLimit, undefined, options));
  const proof = access.decide(found, exchange);
  refusePlan(route, found);
  return within(exchange, route, proof, options);
}

/** The inner things that the path names. */
const within = (exchange: Exchange, route: Route, access: unknown, { db }: GuardOptions) =>
  route.access.inner === undefined ? access : route.access.inner(db, access, exchange);

/** Who a browser is signed in as, where nobody has to be: a session that is over is no session. */
async function recognised(exchange: Exchange, route: Route, options: GuardOptions): Promise<LookupResult | undefined> {
  const session = readSession(exchange, options.cellCode);
  if (session === undefined) return undefined;
  const found = await find(exchange, route, session, hashToken(session.text, currentPepper(options)), options);
  if (found === undefined || isExpired(found, exchange.now)) return undefined;
  requireSameOrigin(exchange, options.baseOrigin);
  return found;
}

const currentPepper = ({ peppers }: GuardOptions): Pepper => peppers[0] as Pepper;

async function find(
  exchange: Exchange,
  route: Route,
  credential: PresentedCredential,
  hash: Buffer,
  options: GuardOptions,
) {
  const id = route.access.idOf(exchange);
  const found = await route.access.find(options.db, hash, id, exchange);
  if (found !== undefined || options.peppers.length === 1) return found;
  for (const pepper of options.peppers.slice(1)) {
    const old = await route.access.find(options.db, hashToken(credential.text, pepper), id, exchange);
    if (old === undefined) continue;
    await saveHash(options.db, old.credential_id, hash, currentPepper(options).id);
    return old;
  }
  return undefined;
}

const personalKeysDeprecatedAt = '@1792022400'; // 15 October 2026

function permit(
  exchange: Exchange,
  accepted: AcceptedCredentials,
  credential: PresentedCredential,
  found: LookupResult,
  options: GuardOptions,
): void {
  if (found.kind === 'personal_key') {
    const until = options.personalKeysUntil;
    if (until !== undefined && until <= exchange.now) throw credentialsExpired();
    if (credential.viaApiKeyHeader) exchange.reply.header('deprecation', personalKeysDeprecatedAt);
    if (credential.viaApiKeyHeader && until !== undefined) exchange.reply.header('sunset', until.toUTCString());
  }
  const refusal = findKindRefusal(accepted, found);
  if (refusal !== undefined) throw refusal;
  if (found.kind === 'session') requireSameOrigin(exchange, options.baseOrigin);
}

/** Those who use an app are counted apart from those who manage it. */
const limitOf = (route: Route, { kind }: Pick<LookupResult, 'kind'>): Route['limit'] =>
  kind === 'app_user_token' ? appUserLimit : route.limit;

function countFor(
  exchange: Exchange,
  limit: Route['limit'],
  who: CountedCaller | undefined,
  options: GuardOptions,
): Promise<Count> | undefined {
  if (limit === unlimited) return undefined;
  const { operation, address, params } = exchange;
  const name = nameCounter(limit, operation.name, who, address, params.app_id?.slice(0, 64) ?? '');
  return options.counters.add(name, limit.windowSeconds);
}

async function limit(
  exchange: Exchange,
  limit: Route['limit'],
  found: LookupResult | undefined,
  counting: Promise<Count> | undefined,
): Promise<void> {
  if (limit === unlimited || counting === undefined) return;
  const { count, resetMs, shared } = await counting;
  if (!shared) exchange.partial.push('rate_limit');
  // Another workspace's plan is nobody's business: a caller outside counts by the plain figure.
  const own = found !== undefined && belongs(found) ? found : undefined;
  const quota = scaleQuota(limit, own?.plan ?? null, own?.rate_multiplier ?? null);
  const seconds = toWholeSeconds(resetMs);
  const name = limit.group ?? exchange.operation.name;
  exchange.reply.header('ratelimit-policy', `"${name}";q=${quota};w=${limit.windowSeconds}`);
  exchange.reply.header('ratelimit', `"${name}";r=${Math.max(0, quota - count)};t=${seconds}`);
  if (count <= quota) return;
  throw rateLimited(
    `At most ${quota} requests per ${limit.windowSeconds} seconds.`,
    quota,
    limit.windowSeconds,
    seconds,
  );
}

function refusePlan(route: Route, found: LookupResult): void {
  const fault = route.plan && found.plan && findPlanRefusal(found.plan, route.plan);
  if (fault) throw fault;
}

const belongs = (found: LookupResult): boolean => found.role !== null || found.user_id === null;

/** Nobody counts in a workspace they do not belong to. */
const countedAs = (found: LookupResult): CountedCaller => ({
  ...found,
  workspace_id: belongs(found) ? found.workspace_id : null,
});

const mostHints = 50_000;

type Hint = CountedCaller & Pick<LookupResult, 'permission' | 'scopes' | 'expires_at'>;

/**
 * Remembers, per credential, only what never changes about it, to name its counter before the read has answered.
 * It decides nothing: whether the credential still holds is read on every request.
 */
class Hints {
  readonly #known = new Map<string, Hint>();

  countEarly(hash: Buffer, exchange: Exchange, route: Route, options: GuardOptions): Promise<Count> | undefined {
    const hint = this.#known.get(hash.toString('latin1'));
    if (hint === undefined || findKindRefusal(route.credentials as AcceptedCredentials, hint) !== undefined)
      return undefined;
    if (hint.expires_at !== null && new Date(hint.expires_at) <= exchange.now) return undefined;
    return countFor(exchange, limitOf(route, hint), hint, options);
  }

  remember(hash: Buffer, found: LookupResult): void {
    const {
      kind,
      credential_id,
      user_id,
      app_user_id,
      credential_workspace_id: workspace_id,
      permission,
      scopes,
      expires_at,
    } = found;
    const key = hash.toString('latin1');
    // A personal key's workspace differs from request to request, and a session may yet be refused for its origin:
    // their counters wait for the read.
    if (kind === 'personal_key' || kind === 'session' || this.#known.has(key)) return;
    if (!belongs(found)) return;
    if (this.#known.size >= mostHints) this.#known.delete(this.#known.keys().next().value as string); // the oldest
    this.#known.set(key, { kind, credential_id, user_id, app_user_id, workspace_id, permission, scopes, expires_at });
  }

  forget(hash: Buffer): void {
    this.#known.delete(hash.toString('latin1'));
  }
}
