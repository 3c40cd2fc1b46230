// One delivery attempt: its request, and the part of the response that is kept (docs/api/webhooks.md#deliveries).
import type { Outbound } from '../../kit/outbound/outbound.ts';
import { describeErrorType, errorType, type Outcome } from '../../kit/outbound/outcome.ts';
import { toStorableText } from '../../kit/text.ts';
import type { LastError, WebhookRow } from './contract.ts';
import type { Signer } from './signing.ts';

export interface DeliveryRequest {
  readonly delivery_id: string;
  readonly event_type: string;
  /** Undefined for tests, which have no sequence number. */
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
  /** Taken from the `Retry-After` header if the status is 429 or 503, otherwise 0. */
  readonly retryAfterMs: number;
}

export interface AttemptDeps {
  readonly outbound: Outbound;
  readonly signer: Signer;
}

const timeoutMs = 10_000;
const maxResponseBytes = 512;

type SigningWebhook = Pick<WebhookRow, 'id' | 'secret' | 'previous_secret' | 'previous_secret_expires_at'>;

/** The headers of an attempt that is made now, with its signatures. */
export const toDeliveryHeaders = (
  signer: Signer,
  webhook: SigningWebhook,
  { delivery_id, event_type, sequence, attempt, body }: DeliveryRequest,
  now: Date,
): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'Plinth-Webhooks/1',
  'x-service-event': event_type,
  'x-service-delivery': delivery_id,
  'x-service-attempt': String(attempt),
  ...(sequence !== undefined && { 'x-service-sequence': String(sequence) }),
  ...signer.headersFor(webhook, delivery_id, body, now),
});

export async function sendAttempt(
  { outbound, signer }: AttemptDeps,
  webhook: SigningWebhook & Pick<WebhookRow, 'workspace_id' | 'target_url'>,
  request: DeliveryRequest,
  now: Date,
  signal?: AbortSignal,
): Promise<DeliveryAttempt> {
  const outcome = await outbound.send({
    owner: webhook.workspace_id,
    method: 'POST',
    url: webhook.target_url,
    headers: toDeliveryHeaders(signer, webhook, request, now),
    body: request.body,
    maxBodyBytes: maxResponseBytes,
    timeoutMs,
    signal,
  });
  return readOutcome(outcome, now);
}

function readOutcome(outcome: Outcome, now: Date): DeliveryAttempt {
  const common = { attempted_at: now, duration_ms: outcome.ms, error_type: errorType(outcome) };
  if (outcome.outcome !== 'answered')
    return { ...common, ok: false, status_code: null, response_body: null, retryAfterMs: 0 };
  const { status, headers, body, truncated } = outcome;
  return {
    ...common,
    ok: status >= 200 && status < 300,
    status_code: status,
    response_body: truncateBody(body, truncated),
    retryAfterMs: status === 429 || status === 503 ? parseRetryAfter(headers['retry-after'], now) : 0,
  };
}

/** Returns at most 512 bytes, cut between characters. Invalid UTF-8 becomes U+FFFD. */
function truncateBody(body: Buffer, truncated: boolean): string {
  if (body.length === 0) return ''; // most responses have no body
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  // With `stream`, the decoder drops an incomplete character at the end instead of replacing it.
  let text = toStorableText(
    decoder.decode(body.subarray(0, maxResponseBytes), { stream: truncated || body.length > maxResponseBytes }),
  );
  while (Buffer.byteLength(text) > maxResponseBytes) text = text.slice(0, -1).replace(/[\ud800-\udbff]$/, '');
  return text;
}

const maxRetryAfterMs = 12 * 60 * 60 * 1000;

/** Accepts a number of seconds or a date. Any other value is ignored. */
function parseRetryAfter(header: string | undefined, now: Date): number {
  if (header === undefined) return 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now.getTime();
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), maxRetryAfterMs);
}

/** The webhook's `last_error` after a failed attempt. */
export function errorOf({ attempted_at, status_code, error_type, response_body }: DeliveryAttempt): LastError {
  const message =
    status_code === null
      ? describeErrorType(error_type, timeoutMs)
      : `The endpoint responded with status ${status_code}.`;
  return { message, attempted_at: attempted_at.toISOString(), status_code, response_body, error_type };
}
