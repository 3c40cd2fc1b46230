// Owns the possible outcomes of an outgoing request. Not knowing whether it arrived is one of them.
import type { UrlReason } from './url.ts';

/** The server responded; redirects and errors are responses too. `truncated`: the body was longer than the limit. */
export interface Answered {
  readonly outcome: 'answered';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly truncated: boolean;
}

/** Not sent, because the URL, an address or a header is against the rules. */
export interface Refused {
  readonly outcome: 'refused';
  readonly reason: UrlReason | 'header';
}

export type FailureKind = 'dns' | 'refused' | 'timeout' | 'tls' | 'reset' | 'protocol' | 'too_large' | 'aborted';

/** No response. `sent: false`: the request certainly did not arrive. `sent: true`: all or part of it may have. */
export interface Failed {
  readonly outcome: 'failed';
  readonly kind: FailureKind;
  readonly sent: boolean;
}

export type Outcome = (Answered | Refused | Failed) & { readonly ms: number };

/** The `error_type` of a delivery attempt (docs/api/webhooks.md#error-types). Null for a response: its status is the error. */
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

/** A sentence for people about a request without a response. */
export const describeErrorType = (type: string | null, timeoutMs: number): string =>
  type === 'timeout'
    ? `The endpoint did not answer within ${timeoutMs / 1000} seconds.`
    : (errorMessages[type ?? ''] ?? 'The endpoint did not answer.');

const errorMessages: Readonly<Record<string, string>> = {
  dns_error: 'The host name of the endpoint could not be resolved.',
  connection_refused: 'The endpoint refused the connection.',
  connection_reset: 'The endpoint closed the connection before it answered.',
  tls_error: 'No TLS connection could be made. Check the certificate of the endpoint.',
  address_not_allowed: 'The endpoint does not resolve to a public address.',
  protocol_error: 'The endpoint did not send a valid HTTP response.',
};
