// Sends one request, and repeats it while that can have no second effect (docs/guides/retries.md).
import { PlinthError, toError, withUnknownOutcome } from './errors.ts';
import type { Operation } from './operation.ts';

export interface Attempt {
  readonly operation: string;
  readonly method: string;
  readonly url: string;
  readonly requestId: string;
  /** 1, 2, 3 … */
  readonly attempt: number;
}

/** How requests are sent, the same for all calls of a client. */
export interface Transport {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** The headers of every attempt, among them the credential. */
  headers(): Promise<Record<string, string>>;
  readonly credentials: 'same-origin' | undefined;
  readonly onRequest?: ((attempt: Attempt) => void) | undefined;
  readonly onResponse?: ((attempt: Attempt & { readonly status: number }) => void) | undefined;
  readonly onRetry?:
    | ((attempt: Attempt & { readonly waitMs: number; readonly cause: PlinthError }) => void)
    | undefined;
}

export interface Outgoing {
  readonly operation: Operation;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly requestId: string;
  /** Whether the request can be repeated although its outcome is unknown. */
  readonly isRepeatable: boolean;
  readonly maxRetries: number;
  readonly attemptMs: number;
  readonly signal: AbortSignal | undefined;
}

export type Form = 'json' | 'text' | 'bytes' | 'open';

export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly requestId: string;
  readonly data: unknown;
  /** The unread body of an answer that is a stream. */
  readonly response: Response;
}

/** What came of an attempt that did not succeed. */
export interface Failure {
  readonly error: PlinthError;
  /** Whether to send the request again. */
  readonly repeat: 'no' | 'yes' | 'if repeatable';
  /** Whether the attempt may have taken effect. */
  readonly mayHaveEffect: boolean;
}

/** All waiting between the attempts of a call, together. */
const maxWaitMs = 60_000;

export async function sendWithRetries(transport: Transport, outgoing: Outgoing, form: Form): Promise<Received> {
  let isUnknown = false;
  let waitedMs = 0;
  for (let attempt = 1; ; attempt += 1) {
    const sent = await sendOnce(transport, outgoing, form, attempt);
    if ('data' in sent) return sent;
    const { error, repeat, mayHaveEffect } = sent;
    const isDone =
      isUnknown && error.status === 404 && outgoing.operation.has('d') && error.code !== 'operation_not_on_server';
    if (isDone) return { ...emptyAnswer, requestId: error.requestId ?? outgoing.requestId, data: { success: true } };
    isUnknown ||= mayHaveEffect && !outgoing.operation.has('r');
    const thrown = isUnknown ? withUnknownOutcome(error) : error;
    const mayRepeat = repeat === 'yes' || (repeat === 'if repeatable' && outgoing.isRepeatable);
    const waitMs = chooseWait(error, attempt);
    if (!mayRepeat || attempt > outgoing.maxRetries || waitedMs + waitMs > maxWaitMs) throw thrown;
    transport.onRetry?.({ ...describeAttempt(outgoing, attempt), waitMs, cause: thrown });
    await sleep(waitMs, outgoing.signal);
    waitedMs += waitMs;
  }
}

const emptyAnswer = { status: 200, headers: new Headers(), response: new Response() };

/** What the server asks for, or 0.5, 1, 2 … seconds; and up to half as much again, so that clients don't return at once. */
export const chooseWait = ({ retryAfterSeconds = 0 }: PlinthError, attempt: number): number =>
  Math.max(retryAfterSeconds * 1000, 250 * 2 ** attempt) * (1 + Math.random() / 2);

export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((done, fail) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      fail(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      done();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

const describeAttempt = ({ operation, url, requestId }: Outgoing, attempt: number): Attempt => ({
  operation: operation.name,
  method: operation.method,
  url,
  requestId: nameAttempt(requestId, attempt),
  attempt,
});

/** The audit log then tells which attempt took effect. */
const nameAttempt = (requestId: string, attempt: number): string =>
  attempt === 1 ? requestId : `${requestId}.${attempt}`;

/** Sends the request once. Throws the reason of the caller's signal, and nothing else. */
export async function sendOnce(
  transport: Transport,
  outgoing: Outgoing,
  form: Form,
  attempt: number,
): Promise<Received | Failure> {
  const { operation, url, body, signal, attemptMs } = outgoing;
  const described = describeAttempt(outgoing, attempt);
  const headers = { ...(await transport.headers()), ...outgoing.headers, 'x-request-id': described.requestId };
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), attemptMs);
  const signals = [late.signal, ...(signal ? [signal] : [])];
  try {
    signal?.throwIfAborted();
    transport.onRequest?.(described);
    const response = await transport.fetch(url, {
      method: operation.method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.any(signals),
      ...(body !== undefined && { body }),
      ...(transport.credentials && { credentials: transport.credentials }),
    });
    transport.onResponse?.({ ...described, status: response.status });
    return await readResponse(response, described, form);
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    return describeLoss(described, cause, late.signal.aborted);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the whole body. Throws if it is cut off. */
async function readResponse(
  response: Response,
  { operation, requestId }: Attempt,
  form: Form,
): Promise<Received | Failure> {
  const { status, headers } = response;
  const type = headers.get('content-type') ?? '';
  const isJson = /^application\/([\w.+-]+\+)?json\b/.test(type);
  const about = { operation, status, requestId, retryAfterSeconds: readRetryAfter(headers) };
  if (response.ok && form === 'open' && !type.startsWith('text/html'))
    return { status, headers, requestId, data: undefined, response };
  if (response.ok && (form !== 'json' || isJson)) {
    const data = form === 'bytes' ? new Uint8Array(await response.arrayBuffer()) : await response.text();
    return { status, headers, requestId, data: form === 'json' ? JSON.parse(String(data)) : data, response };
  }
  const error = isJson ? toError(JSON.parse(await response.text()), about) : undefined;
  if (error !== undefined) return judge(error);
  await response.body?.cancel();
  const message = `The answer does not come from Plinth: status ${status}, type ${type || 'unknown'}.`;
  const unexpected = new PlinthError({ ...about, code: 'unexpected_answer', message });
  const mayHaveEffect = response.ok || status >= 500;
  return { error: unexpected, repeat: mayHaveEffect ? 'if repeatable' : 'no', mayHaveEffect };
}

function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  return value !== null && /^\d+$/.test(value) ? Number(value) : undefined;
}

/** Decides whether a refused request is sent again. */
export function judge(error: PlinthError): Failure {
  const { status = 0, retrySafe, retryAfterSeconds, details } = error;
  // After 503 nothing was changed. A campaign in this state may be spending.
  const isSpending = (details as { campaign_state?: string }).campaign_state === 'unknown';
  const mayHaveEffect = (status >= 500 && status !== 503) || isSpending;
  const isTemporary = status >= 500 || retryAfterSeconds !== undefined;
  const isSoon = (retryAfterSeconds ?? 0) <= maxWaitMs / 1000;
  if (retrySafe && isTemporary) return { error, repeat: isSoon ? 'yes' : 'no', mayHaveEffect };
  return { error, repeat: status === 500 ? 'if repeatable' : 'no', mayHaveEffect };
}

/** Errors of connections that were never made, so that nothing was sent. */
const unsent = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function describeLoss({ operation, requestId }: Attempt, cause: unknown, isLate: boolean): Failure {
  const { code } = ((cause as Error | undefined)?.cause ?? {}) as { code?: string };
  const isUnsent = !isLate && code !== undefined && unsent.has(code);
  const message = isLate
    ? 'No answer arrived in time.'
    : isUnsent
      ? `The server can't be reached (${code}).`
      : 'The connection was lost before the whole answer had arrived.';
  const error = new PlinthError({ code: isLate ? 'timeout' : 'unreachable', operation, message, requestId, cause });
  return isUnsent
    ? { error, repeat: 'yes', mayHaveEffect: false }
    : { error, repeat: 'if repeatable', mayHaveEffect: true };
}
