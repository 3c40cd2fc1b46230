// This process's record of the credentials that it has found valid: when each was last valid, and a hint that
// identifies its rate-limit counter (see rate-limits/limit-check.ts). The record never decides whether a credential is
// valid, because every lookup reads that from the database.
import type { Exchange } from '../../../kit/http/exchange.ts';
import { idOrNull } from '../../../kit/ids.ts';
import { LatestMap } from '../../../kit/latest-map.ts';
import { type AcceptedCredentials, findKindRefusal } from '../credentials.ts';
import { type CountedCaller, isPerApp } from '../limits.ts';
import type { Counters } from '../rate-limits/counters.ts';
import { countRequest, isInWorkspace, type LimitCount, limitsFor } from '../rate-limits/limit-check.ts';
import type { Route } from '../route.ts';
import { isOutsider } from './caller.ts';
import type { LookupResult } from './lookup.ts';

const maxKnown = 50_000;
const maxAppsOfHint = 8;
const recentMs = 10 * 60 * 1000;

export interface KnownCredential {
  readonly credential_id: string;
  /** The gate's owner for the credential's requests: its workspace, or the workspace's app users as a group. */
  readonly owner: string;
  validAt: number;
  hint: CounterHint | undefined;
}

/** Facts about a credential that never change. They identify its counter and determine whether a route accepts it. */
type CounterHint = CountedCaller &
  Pick<LookupResult, 'permission' | 'scopes' | 'expires_at'> & {
    /** The apps in the workspace that this credential has been used with. A counter's name may contain their ids. */
    readonly apps: Set<string>;
  };

/** The credentials that this process has most recently found valid, keyed by hash. */
export class KnownCredentials {
  readonly #byHash = new LatestMap<string, KnownCredential>(maxKnown);

  find(hash: Buffer): KnownCredential | undefined {
    return this.#byHash.get(hash.toString('latin1'));
  }

  /** `appId` is the app in the path, if it belongs to the workspace. */
  add(hash: Buffer, lookup: LookupResult, appId: string | null, now: Date): void {
    const key = hash.toString('latin1');
    const known = this.#byHash.get(key) ?? newKnown(lookup);
    this.#byHash.set(key, known);
    known.validAt = now.getTime();
    known.hint ??= toHint(lookup);
    if (appId !== null && known.hint !== undefined) addApp(known.hint.apps, appId);
  }

  remove(hash: Buffer): void {
    this.#byHash.delete(hash.toString('latin1'));
  }
}

const newKnown = (lookup: LookupResult): KnownCredential => ({
  credential_id: lookup.credential_id,
  owner: isOutsider(lookup) ? `users ${lookup.credential_workspace_id}` : (lookup.workspace_id ?? lookup.credential_id),
  validAt: 0,
  hint: undefined,
});

function addApp(apps: Set<string>, appId: string): void {
  if (apps.has(appId)) return;
  const [oldest] = apps;
  if (oldest !== undefined && apps.size >= maxAppsOfHint) apps.delete(oldest);
  apps.add(appId);
}

/** Whether the credential was found valid within the last ten minutes. */
export const isRecent = ({ validAt }: KnownCredential, now: Date): boolean => now.getTime() - validAt <= recentMs;

/**
 * Undefined for a personal key, whose workspace may differ per request; for a session, which may still be rejected
 * because of its origin; and for a caller outside the workspace.
 */
function toHint(lookup: LookupResult): CounterHint | undefined {
  const { kind, credential_id, user_id, app_user_id, permission, scopes, expires_at } = lookup;
  if (kind === 'personal_key' || kind === 'session' || !isInWorkspace(lookup)) return undefined;
  const workspace_id = lookup.credential_workspace_id;
  return { kind, credential_id, user_id, app_user_id, workspace_id, permission, scopes, expires_at, apps: new Set() };
}

/**
 * Starts counting before the lookup, if the hint shows that the request will reach the rate-limit check, and which
 * counter it uses.
 */
export function startCount(
  { hint }: KnownCredential,
  exchange: Exchange,
  route: Route,
  accepted: AcceptedCredentials,
  counters: Counters,
): readonly LimitCount[] | undefined {
  if (hint === undefined || findKindRefusal(accepted, hint) !== undefined) return undefined;
  if (hint.expires_at !== null && new Date(hint.expires_at) <= exchange.now) return undefined;
  const limits = limitsFor(route, hint.kind);
  if (!limits.some(isPerApp)) return countRequest(exchange, limits, hint, null, counters);
  const appId = idOrNull(exchange.params.app_id);
  return appId !== null && hint.apps.has(appId) ? countRequest(exchange, limits, hint, appId, counters) : undefined;
}
