// Owns refusing a URL that a caller wants to be called later (docs/internals/outbound-requests.md). It is checked again at
// each request.
import type { Outbound } from '../outbound/outbound.ts';
import { type UrlReason, urlFaults } from '../outbound/url.ts';
import { type Fault, ValidationError } from './faults.ts';

export interface TargetRules {
  readonly outbound: Outbound;
  /** The installation is on the developer's own machine. The refusal then says how to allow a receiver there. */
  readonly isDevelopment: boolean;
}

/** Throws a 422 at `loc` if requests may not go to this URL. Resolves names, so it runs before the transaction. */
export async function checkTarget(rules: TargetRules, url: string | undefined, loc: Fault['loc']): Promise<void> {
  if (url === undefined) return;
  const verdict = await rules.outbound.vet(url);
  if ('ok' in verdict) return;
  const { type, msg } = urlFaults[verdict.reason];
  const isAllowable = rules.isDevelopment && isAboutThePlace(verdict.reason);
  throw new ValidationError([{ loc, msg: isAllowable ? addHint(msg) : msg, type }]);
}

/** `OUTBOUND_ALLOW` can lift these refusals. The others are about the form of the URL. */
const isAboutThePlace = (reason: UrlReason): boolean => ['scheme', 'host', 'port', 'address'].includes(reason);
const addHint = (msg: string): string =>
  `${msg}. To allow a private receiver in development, set OUTBOUND_ALLOW=http://HOST:PORT in .env and restart; \`npm run dev\` allows this machine by itself. See docs/guides/receiving-webhooks.md#testing-locally`;
