// Owns checking credentials that a person typed in: one request to the service, which answers whether it knows them.
import { type Authorization, authorizationHeader } from '../../kit/outbound/authorization.ts';
import type { Outbound } from '../../kit/outbound/outbound.ts';

export interface ApiKeyCheck {
  /** The workspace that causes the request. */
  readonly owner: string;
  /** An address of the service that only answers with valid credentials and changes nothing. */
  readonly url: string;
  readonly authorization: ApiAuthorization;
}

export type ApiAuthorization = Authorization;

/** `rejected`: the service answered 401 or 403 or does not know the account. `unavailable`: it did not answer that. */
export type ApiKeyVerdict = 'accepted' | 'rejected' | 'unavailable';

export type CheckApiKey = (check: ApiKeyCheck) => Promise<ApiKeyVerdict>;

export const createApiKeyCheck =
  (outbound: Pick<Outbound, 'send'>, timeoutMs = 10_000): CheckApiKey =>
  async ({ owner, url, authorization }) => {
    const headers = { authorization: authorizationHeader(authorization), accept: 'application/json' };
    const outcome = await outbound.send({ owner, method: 'GET', url, headers, timeoutMs, maxBodyBytes: 64 * 1024 });
    if (outcome.outcome !== 'answered') return 'unavailable';
    if (outcome.status >= 200 && outcome.status < 300) return 'accepted';
    return [400, 401, 403, 404].includes(outcome.status) ? 'rejected' : 'unavailable';
  };
