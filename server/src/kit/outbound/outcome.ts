// The possible outcomes of an outbound request. In some cases, it is unknown whether the request arrived.
import type { UrlReason } from './url.ts';

/**
 * The server responded, possibly with a redirect or an error. `truncated` means that the body was longer than the
 * limit.
 */
export interface Answered {
  readonly outcome: 'answered';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly truncated: boolean;
}

/** The request was not sent, because the URL, an address or a header is not allowed. */
export interface Refused {
  readonly outcome: 'refused';
  readonly reason: UrlReason | 'header';
}

export type FailureKind = 'dns' | 'refused' | 'timeout' | 'tls' | 'reset' | 'protocol' | 'too_large' | 'aborted';

/**
 * There was no response. If `sent` is false, the request certainly did not arrive. If it is true, all or part of the
 * request may have arrived.
 */
export interface Failed {
  readonly outcome: 'failed';
  readonly kind: FailureKind;
  readonly sent: boolean;
}

export type Outcome = (Answered | Refused | Failed) & { readonly ms: number };

/**
 * Returns a delivery attempt's `error_type` (docs/api/webhooks.md#error-types). Null if there was a response, because
 * its status then describes the error.
 */
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

/** Explains, in a sentence for users, why there was no response. */
export const describeErrorType = (type: string | null, timeoutMs: number): string =>
  type === 'timeout'
    ? `The endpoint did not respond within ${timeoutMs / 1000} seconds.`
    : (errorMessages[type ?? ''] ?? 'The endpoint did not respond.');

const errorMessages: Readonly<Record<string, string>> = {
  dns_error: "The endpoint's host name could not be resolved.",
  connection_refused: 'The endpoint refused the connection.',
  connection_reset: 'The endpoint closed the connection before responding.',
  tls_error: "A TLS connection could not be established. Check the endpoint's certificate.",
  address_not_allowed: 'The endpoint does not resolve to a public address.',
  protocol_error: 'The endpoint did not send a valid HTTP response.',
};
