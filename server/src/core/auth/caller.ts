// Owns the caller as handlers see them: the facts of a lookup, with the request's id and address.
import type { Exchange } from '../../kit/http/exchange.ts';
import type { LookupResult } from './lookup.ts';
import type { AnyCaller, Caller } from './proofs.ts';

/** The id and the address of a request, for the audit log. */
export type RequestOrigin = Pick<Exchange, 'requestId' | 'address'>;

type CallerFacts = Pick<AnyCaller, 'kind' | 'credential_id' | 'user_id' | 'app_user_id' | 'email'>;

/** Any caller, also an app user or an anonymous one. */
export const toAnyCaller = (lookup: CallerFacts, exchange: RequestOrigin): AnyCaller => ({
  kind: lookup.kind,
  credential_id: lookup.credential_id,
  user_id: lookup.user_id,
  app_user_id: lookup.app_user_id,
  email: lookup.email,
  request_id: exchange.requestId,
  ip: exchange.address,
});

/** A person or a workspace key. App users never get here: only the guard of an app's data lets them in. */
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

/** Users of an app and strangers, as opposed to people and keys of its workspace. */
export const isOutsider = ({ kind }: { kind: AnyCaller['kind'] }): boolean =>
  kind === 'app_user_token' || kind === 'anonymous';

/** Sessions and personal keys act in any workspace of their person; every other credential in one. */
export const isBoundToWorkspace = (kind: LookupResult['kind']): boolean =>
  kind !== 'session' && kind !== 'personal_key';
