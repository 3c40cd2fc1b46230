// Rejects unsafe URLs that a caller wants the server to call later (docs/internals/outbound-requests.md). A URL
// is checked again before each request.
import type { Outbound } from '../outbound/outbound.ts';
import { type UrlReason, urlFaults } from '../outbound/url.ts';
import { type Fault, ValidationError } from './faults.ts';

export interface TargetRules {
  readonly outbound: Outbound;
  /**
   * Whether the installation runs on a developer's machine. If so, the error explains how to allow a local receiver.
   */
  readonly isDevelopment: boolean;
}

/**
 * Throws a 422 at `loc` if requests to this URL are not allowed. Runs before the transaction, because it resolves
 * names.
 */
export async function checkTarget(rules: TargetRules, url: string | undefined, loc: Fault['loc']): Promise<void> {
  if (url === undefined) return;
  const verdict = await rules.outbound.vet(url);
  if ('ok' in verdict) return;
  const { type, msg } = urlFaults[verdict.reason];
  const isAllowable = rules.isDevelopment && isAboutThePlace(verdict.reason);
  throw new ValidationError([{ loc, msg: isAllowable ? addHint(msg) : msg, type }]);
}

/** Whether `OUTBOUND_ALLOW` can allow the URL. All other reasons concern the URL's form. */
const isAboutThePlace = (reason: UrlReason): boolean => ['scheme', 'host', 'port', 'address'].includes(reason);
const addHint = (msg: string): string =>
  `${msg}. To allow a private receiver in development, set OUTBOUND_ALLOW=http://HOST:PORT in .env and restart; \`npm run dev\` already allows this machine. See docs/guides/receiving-webhooks.md#testing-locally`;
