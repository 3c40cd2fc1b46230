// Checks credentials that a user entered, with one request to the service.
import { type Authorization, authorizationHeader } from '../../kit/outbound/authorization.ts';
import type { Outbound } from '../../kit/outbound/outbound.ts';

export interface ApiKeyCheck {
  /** The workspace that the request is sent for. */
  readonly owner: string;
  /** One of the service's URLs that changes nothing and succeeds only with valid credentials. */
  readonly url: string;
  readonly authorization: ApiAuthorization;
}

export type ApiAuthorization = Authorization;

/**
 * `rejected` means that the service returned 400, 401, 403 or 404, for example because it does not know the account.
 * `unavailable` means that there was no clear result.
 */
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
