// Owns one attempt to deliver: what is sent, and what came back (docs/contract.md §4.4, §4.5).
import type { Outbound } from '../../kit/outbound/outbound.ts';
import { errorType, type Outcome } from '../../kit/outbound/outcome.ts';
import { toStorableText } from '../../kit/text.ts';
import type { LastError, WebhookRow } from './contract.ts';
import type { Signer } from './signing.ts';

export interface DeliveryRequest {
  readonly delivery_id: string;
  readonly event_type: string;
  /** Undefined for a test: it is no part of the sequence. */
  readonly sequence?: number;
  readonly attempt: number;
  readonly body: string;
}

export interface DeliveryAttempt {
  readonly ok: boolean;
  readonly attempted_at: Date;
  readonly duration_ms: number;
  readonly status_code: number | null;
  readonly error_type: string | null;
  readonly response_body: string | null;
  /** How long the other side asks to be left alone. */
  readonly retryAfterMs: number;
}

export interface AttemptDeps {
  readonly outbound: Outbound;
  readonly signer: Signer;
}

const longestMs = 10_000;
const bodyBytes = 512;

export async function sendAttempt(
  { outbound, signer }: AttemptDeps,
  webhook: Pick<
    WebhookRow,
    'id' | 'workspace_id' | 'target_url' | 'secret' | 'previous_secret' | 'previous_secret_expires_at'
  >,
  sending: DeliveryRequest,
  now: Date,
  signal?: AbortSignal,
): Promise<DeliveryAttempt> {
  const { delivery_id, event_type, sequence, attempt, body } = sending;
  const outcome = await outbound.send({
    owner: webhook.workspace_id,
    method: 'POST',
    url: webhook.target_url,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Plinth-Webhooks/1',
      'x-service-event': event_type,
      'x-service-delivery': delivery_id,
      'x-service-attempt': String(attempt),
      ...(sequence !== undefined && { 'x-service-sequence': String(sequence) }),
      ...signer.headersFor(webhook, delivery_id, body, now),
    },
    body,
    maxBodyBytes: bodyBytes,
    timeoutMs: longestMs,
    signal,
  });
  return readOutcome(outcome, now);
}

function readOutcome(outcome: Outcome, now: Date): DeliveryAttempt {
  const made = { attempted_at: now, duration_ms: outcome.ms, error_type: errorType(outcome) };
  if (outcome.outcome !== 'answered')
    return { ...made, ok: false, status_code: null, response_body: null, retryAfterMs: 0 };
  const { status, headers, body, truncated: cut } = outcome;
  return {
    ...made,
    ok: status >= 200 && status < 300,
    status_code: status,
    response_body: truncateBody(body, cut),
    retryAfterMs: status === 429 || status === 503 ? parseRetryAfter(headers['retry-after'], now) : 0,
  };
}

/** At most 512 bytes, cut between characters; what is no text becomes a replacement character. */
function truncateBody(body: Buffer, cut: boolean): string {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  // Told that more will come, the decoder keeps back the part of a character at the end.
  let text = toStorableText(decoder.decode(body.subarray(0, bodyBytes), { stream: cut || body.length > bodyBytes }));
  while (Buffer.byteLength(text) > bodyBytes) text = text.slice(0, -1).replace(/[\ud800-\udbff]$/, '');
  return text;
}

const longestWaitMs = 12 * 60 * 60 * 1000;

/** Seconds, or a date; anything else asks for nothing. */
function parseRetryAfter(header: string | undefined, now: Date): number {
  if (header === undefined) return 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now.getTime();
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), longestWaitMs);
}

const messages: Readonly<Record<string, string>> = {
  timeout: 'The endpoint did not answer within 10 seconds.',
  dns_error: 'The name of the endpoint could not be resolved.',
  connection_refused: 'The endpoint refused the connection.',
  connection_reset: 'The connection to the endpoint was cut.',
  tls_error: 'No secure connection to the endpoint could be made.',
  address_not_allowed: 'The endpoint is not at a public address.',
  protocol_error: 'The endpoint did not answer in HTTP.',
};

/** What the webhook says about an attempt that failed. */
export function errorOf({ attempted_at, status_code, error_type, response_body }: DeliveryAttempt): LastError {
  const message =
    status_code === null ? (messages[error_type ?? ''] ?? 'No answer came.') : `The endpoint answered ${status_code}.`;
  return { message, attempted_at: attempted_at.toISOString(), status_code, response_body, error_type };
}
