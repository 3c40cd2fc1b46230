// The caller as handlers see it: the facts from the lookup, with the request's id and address.
import type { Exchange } from '../../../kit/http/exchange.ts';
import type { AnyCaller, Caller } from '../proofs.ts';
import type { LookupResult } from './lookup.ts';

/** A request's id and client address, for the audit log. */
export type RequestOrigin = Pick<Exchange, 'requestId' | 'address'>;

type CallerFacts = Pick<AnyCaller, 'kind' | 'credential_id' | 'user_id' | 'app_user_id' | 'email'>;

/** Converts any caller, including app users and anonymous callers. */
export const toAnyCaller = (lookup: CallerFacts, exchange: RequestOrigin): AnyCaller => ({
  kind: lookup.kind,
  credential_id: lookup.credential_id,
  user_id: lookup.user_id,
  app_user_id: lookup.app_user_id,
  email: lookup.email,
  request_id: exchange.requestId,
  ip: exchange.address,
});

/**
 * Converts a person or a workspace key. App users never reach this, because only the guard for an app's data admits
 * them.
 */
export function toCaller(lookup: LookupResult, exchange: RequestOrigin): Caller {
  const { kind } = lookup;
  if (kind === 'app_user_token') throw new Error('an app user reached a guard that is not for app users');
  return {
    ...toAnyCaller(lookup, exchange),
    kind,
    credential_id: lookup.credential_id,
    is_operator: lookup.is_operator === true && !isBoundToWorkspace(kind),
    permission: lookup.permission,
    workspace_id: isBoundToWorkspace(kind) ? lookup.credential_workspace_id : null,
    app_ids: lookup.app_ids,
    scopes: lookup.scopes,
    expires_at: lookup.expires_at === null ? null : new Date(lookup.expires_at),
  };
}

/** True for app users and strangers, as opposed to the people and keys of the app's workspace. */
export const isOutsider = ({ kind }: { kind: AnyCaller['kind'] }): boolean =>
  kind === 'app_user_token' || kind === 'anonymous';

/**
 * Sessions and personal keys act in any workspace that their owner belongs to. All other credentials act in one
 * workspace.
 */
export const isBoundToWorkspace = (kind: LookupResult['kind']): boolean =>
  kind !== 'session' && kind !== 'personal_key';
