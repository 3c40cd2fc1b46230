// Owns how a request to the outside can end. Not knowing whether it arrived is one of the ways.
import type { UrlReason } from './url.ts';

/** The other side answered; a redirect is an answer too. `cut`: the body went on past the cap and was not read. */
export interface Answered {
  readonly outcome: 'answered';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly cut: boolean;
}

/** Never sent, and never will be while the rules stand. */
export interface Refused {
  readonly outcome: 'refused';
  readonly reason: UrlReason | 'header';
}

export type FailureKind = 'dns' | 'refused' | 'timeout' | 'tls' | 'reset' | 'protocol' | 'too_large' | 'aborted';

/** No answer. `sent`: the request, or a part of it, may have arrived; without it, it certainly has not. */
export interface Failed {
  readonly outcome: 'failed';
  readonly kind: FailureKind;
  readonly sent: boolean;
}

export type Outcome = (Answered | Refused | Failed) & { readonly ms: number };

/** The `error_type` of a delivery attempt (contract §4.5). An answer has none: its status says what is wrong. */
export function errorType(outcome: Answered | Refused | Failed): string | null {
  if (outcome.outcome === 'answered') return null;
  if (outcome.outcome === 'failed') return errorTypes[outcome.kind];
  return outcome.reason === 'header' ? 'protocol_error' : 'address_not_allowed';
}

const errorTypes: Readonly<Record<FailureKind, string>> = {
  dns: 'dns_error',
  refused: 'connection_refused',
  timeout: 'timeout',
  tls: 'tls_error',
  reset: 'connection_reset',
  protocol: 'protocol_error',
  too_large: 'protocol_error',
  aborted: 'timeout',
};
