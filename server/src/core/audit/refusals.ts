// The audit entries for requests that were refused because of a role, a plan or owner protection. Each credential
// gets at most one entry per operation per minute, so a caller who repeats a request can't fill the log.
import type { Exchange } from '../../kit/http/exchange.ts';
import type { Db } from '../../tables.ts';
import type { Counters } from '../auth/rate-limits/counters.ts';
import { toAnyCaller } from '../auth/request/caller.ts';
import type { LookupResult } from '../auth/request/lookup.ts';
import type { Route } from '../auth/route.ts';
import { auditRefusal } from './audit.ts';

const auditedCodes = new Set(['role_required', 'plan_required', 'owner_protected']);

export async function recordRefusal(db: Db, counters: Counters, exchange: Exchange): Promise<void> {
  const { refusal, actor, operation } = exchange;
  if (refusal === undefined || !actor?.id || !auditedCodes.has(refusal)) return;
  const lookup = actor.lookup as LookupResult; // every actor with an id has a credential
  const { credential_id } = lookup;
  const { count } = await counters.add(`refused:${credential_id}:${actor.workspaceId}:${operation.name}`, 60);
  if (count > 1) return;
  const caller = toAnyCaller(lookup, exchange);
  const { pathParam } = (operation as Route).access;
  const target = {
    kind: pathParam?.replace(/_id$/, '') ?? 'workspace',
    id: (pathParam && exchange.params[pathParam]) ?? actor.workspaceId ?? '',
  };
  const change = { type: `${operation.name}.refused` as const, target, after: { code: refusal } };
  await auditRefusal(db, caller, actor.workspaceId, change, exchange.now);
}
