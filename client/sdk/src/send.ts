// Sends one request, and repeats it while that can have no second effect (docs/guides/retries.md).
import { readBytes } from './body.ts';
import { PlinthError, toError, withOutcome } from './errors.ts';
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

/** `lines` and `events` are read by the caller as they arrive. */
export type Form = 'json' | 'text' | 'bytes' | 'lines' | 'events';

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
export const maxWaitMs = 60_000;

export async function sendWithRetries(transport: Transport, outgoing: Outgoing, form: Form): Promise<Received> {
  let isUnknown = false;
  let waitedMs = 0;
  for (let attempt = 1; ; attempt += 1) {
    const sent = await sendOnce(transport, outgoing, form, { attempt, isUnknown });
    if ('data' in sent) return sent;
    const { error, repeat, mayHaveEffect } = sent;
    if (isUnknown && saysThatItIsGone(outgoing, error))
      return { ...emptyAnswer, requestId: error.requestId ?? outgoing.requestId, data: { success: true } };
    isUnknown ||= mayHaveEffect && !outgoing.operation.has('r');
    const thrown = describeRefusal(error, outgoing, isUnknown);
    const mayRepeat = repeat === 'yes' || (repeat === 'if repeatable' && outgoing.isRepeatable);
    const waitMs = chooseWait(error, attempt);
    waitedMs += waitMs;
    if (!mayRepeat || attempt > outgoing.maxRetries || waitedMs > maxWaitMs) throw thrown;
    await waitToRepeat(transport, outgoing, { attempt, waitMs, cause: thrown });
  }
}

const emptyAnswer = { status: 200, headers: new Headers(), response: new Response() };

/** A repeated DELETE that finds nothing was successful before. A proxy that finds nothing says nothing about that. */
const saysThatItIsGone = ({ operation }: Outgoing, { status, code }: PlinthError): boolean =>
  status === 404 && operation.has('d') && code !== 'operation_not_on_server' && code !== 'unexpected_answer';

/** What is thrown after an attempt: the error, with what is known about all attempts. */
export const describeRefusal = (error: PlinthError, { headers }: Outgoing, isUnknown: boolean): PlinthError =>
  withOutcome(error, {
    outcomeUnknown: error.outcomeUnknown || isUnknown,
    idempotencyKey: headers['idempotency-key'],
  });

/** What the server asks for, or 0.5, 1, 2 … seconds. */
export const chooseWait = ({ retryAfterSeconds = 0 }: PlinthError, attempt: number): number =>
  Math.max(retryAfterSeconds * 1000, 250 * 2 ** attempt);

interface Repeat {
  readonly attempt: number;
  readonly waitMs: number;
  readonly cause: PlinthError;
}

/** Waits up to half as much longer, at most five seconds: clients that failed together must not return together. */
export async function waitToRepeat(transport: Transport, outgoing: Outgoing, repeat: Repeat): Promise<void> {
  const waitMs = repeat.waitMs + Math.random() * Math.min(repeat.waitMs / 2, 5000);
  transport.onRetry?.({ ...describeAttempt(outgoing, repeat.attempt), waitMs, cause: repeat.cause });
  await sleep(waitMs, outgoing.signal);
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
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

/** Timers can't be set to more. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Sends the request once. Throws only what the caller's own parts throw: the reason of the signal, errors of the token's
 * function and of hooks, and mistakes in headers.
 */
export async function sendOnce(
  transport: Transport,
  outgoing: Outgoing,
  form: Form,
  { attempt, isUnknown }: { readonly attempt: number; readonly isUnknown: boolean },
): Promise<Received | Failure> {
  const { operation, url, body, signal, attemptMs } = outgoing;
  const described = describeAttempt(outgoing, attempt);
  const headers = await buildHeaders(transport, outgoing, described, isUnknown);
  signal?.throwIfAborted();
  transport.onRequest?.(described);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), Math.min(attemptMs, maxTimerMs));
  const describe = (cause: unknown): Failure => {
    if (signal?.aborted) throw signal.reason;
    return describeLoss(described, cause, late.signal.aborted);
  };
  const request = async () =>
    transport.fetch(url, {
      method: operation.method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.any([late.signal, ...(signal ? [signal] : [])]),
      ...(body !== undefined && { body }),
      ...(transport.credentials && { credentials: transport.credentials }),
    });
  try {
    const response = await request().catch(describe);
    if ('error' in response) return response;
    transport.onResponse?.({ ...described, status: response.status });
    // Files may be of any size, so they take as long as something arrives.
    if (response.ok && form === 'bytes') clearTimeout(timer);
    return await readResponse(response, described, form).catch(describe);
  } catch (error) {
    late.abort(); // after an error of a hook, nobody reads the answer
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function buildHeaders(
  transport: Transport,
  outgoing: Outgoing,
  { operation, requestId }: Attempt,
  isUnknown: boolean,
): Promise<Record<string, string>> {
  try {
    const headers = { ...(await transport.headers()), ...outgoing.headers, 'x-request-id': requestId };
    for (const [name, value] of Object.entries(headers)) refuseInvalid(name, value);
    return headers;
  } catch (cause) {
    if (!isUnknown) throw cause;
    const message = 'The request could not be sent again.';
    throw describeRefusal(
      new PlinthError({ code: 'unreachable', operation, message, requestId, cause }),
      outgoing,
      true,
    );
  }
}

/** Does not repeat the value, which may be a token. */
function refuseInvalid(name: string, value: string): void {
  if (/^[\w!#$%&'*+.^`|~-]+$/.test(name) && !/[^\t\x20-\x7e\x80-\xff]/.test(value.trim())) return;
  throw new TypeError(`The header ${JSON.stringify(name)} has characters that can't be sent in a header.`);
}

/** Reads the whole body, unless it is a stream. Throws if it is cut off. */
async function readResponse(
  response: Response,
  { operation, requestId }: Attempt,
  form: Form,
): Promise<Received | Failure> {
  const { status, headers } = response;
  const type = headers.get('content-type') ?? '';
  const isExpected = response.ok && !type.startsWith('text/html');
  const received = { status, headers, requestId, response };
  const isOpen = form === 'lines' || (form === 'events' && type.startsWith('text/event-stream'));
  if (isExpected && isOpen) return { ...received, data: undefined };
  if (isExpected && form === 'bytes') return { ...received, data: await readBytes(response) };
  if (isExpected && form === 'text') return { ...received, data: await response.text() };
  const body = await readJson(response, type);
  if (isExpected && body !== undefined && form !== 'events') return { ...received, data: body };
  const about = { operation, status, requestId, retryAfterSeconds: readRetryAfter(headers) };
  const error = toError(body, about);
  if (error !== undefined) return judge(error);
  const problem = form === 'events' && response.ok ? 'is not a stream of events' : 'does not come from Plinth';
  const message = `The answer ${problem}: status ${status}, type ${type || 'unknown'}.`;
  const unexpected = new PlinthError({ ...about, code: 'unexpected_answer', message });
  const mayHaveEffect = response.ok || status >= 500;
  return { error: unexpected, repeat: mayHaveEffect ? 'if repeatable' : 'no', mayHaveEffect };
}

/** Returns undefined if the body is not JSON. */
async function readJson(response: Response, type: string): Promise<unknown> {
  if (!/^application\/([\w.+-]+\+)?json\b/.test(type)) {
    await response.body?.cancel().catch(() => undefined);
    return undefined;
  }
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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

function describeLoss({ operation, requestId }: Attempt, cause: unknown, isLate: boolean): Failure {
  const reason = (cause as Error | undefined)?.cause;
  const isUnsent = !isLate && wasNotConnected(reason);
  const message = isLate
    ? 'No answer arrived in time.'
    : isUnsent
      ? `The server can't be reached (${describeReason(reason)}).`
      : 'The connection was lost before the whole answer had arrived.';
  const error = new PlinthError({ code: isLate ? 'timeout' : 'unreachable', operation, message, requestId, cause });
  return isUnsent
    ? { error, repeat: isBlocked(reason) ? 'no' : 'yes', mayHaveEffect: false }
    : { error, repeat: 'if repeatable', mayHaveEffect: true };
}

/** Whether nothing was sent. Codes alone don't say it: EHOSTUNREACH can also end a connection that was in use. */
function wasNotConnected(reason: unknown): boolean {
  if (reason instanceof AggregateError) return reason.errors.every(wasNotConnected);
  const { code, syscall } = (reason ?? {}) as { code?: string; syscall?: string };
  return syscall === 'connect' || syscall === 'getaddrinfo' || code === 'UND_ERR_CONNECT_TIMEOUT' || isBlocked(reason);
}

/** `fetch` connects to no port that browsers block. */
const isBlocked = (reason: unknown): boolean => reason instanceof Error && reason.message === 'bad port';

const describeReason = (reason: unknown): string | undefined =>
  (reason as { code?: string }).code ?? (reason as Error).message;
