// Receives a request body. The body is read only after the guard has admitted the caller, and never beyond the
// operation's limit. A body that nobody reads is discarded, up to a limit.
import type { IncomingMessage } from 'node:http';
import { Problem } from '../../problem.ts';
import { hasUsableHost } from '../connection/host.ts';
import type { Exchange } from '../exchange.ts';

const defaultBodyLimitBytes = 1024 * 1024;
/** Lower than the default, because anonymous callers can't be held accountable for what they send. */
const anonymousBodyLimitBytes = 64 * 1024;

/** Throws a 400, 413 or 415 if the headers are invalid. Runs before the guard and before any query. */
export function checkHeaders(exchange: Exchange): void {
  const { headers } = exchange.request.raw;
  const hostFault = findHostFault(exchange.request.raw);
  if (hostFault !== undefined) throw hostFault;
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    throw malformedRequest('The Expect header has an unsupported value. Send `100-continue`, or omit the header.');
  if (!hasBody(exchange.request.raw)) return;
  requireLength(exchange, exchange.operation.bodyLimitBytes ?? defaultBodyLimitBytes);
  if (exchange.operation.body !== undefined) requireJson(exchange);
}

export function findHostFault(request: IncomingMessage): Problem | undefined {
  if (request.headers.host === undefined && request.httpVersion === '1.1')
    return malformedRequest('The Host header is missing. Send it with every request.');
  if (!hasUsableHost(request))
    return malformedRequest(
      'The Host header is malformed or repeated. Send it once, as a host name or IP address with an optional port.',
    );
  return undefined;
}

export const malformedRequest = (message: string) => new Problem('bad_request', 'malformed_request', message);

/** Thrown when the client closes the connection before it has sent the whole body. No response is possible. */
export class ClientDisconnected extends Error {}

/** Receives an admitted caller's body. */
export async function receiveBody(exchange: Exchange, body: IncomingMessage): Promise<Buffer> {
  const limitBytes = limitFor(exchange);
  requireLength(exchange, limitBytes);
  if (isWaitingForContinue(body)) {
    exchange.reply.raw.writeContinue();
    continued.add(body);
  }
  const received = await readToEnd(body, limitBytes);
  if (exchange.countBytes !== undefined && declaredLength(body) === 0) await countUndeclared(exchange, received);
  return received;
}

/** Charges a body without a declared length to the byte budget once its length is known, before it is parsed. */
async function countUndeclared({ countBytes }: Exchange, received: Buffer): Promise<void> {
  const refusal = await countBytes?.(received.length);
  if (refusal !== undefined) throw refusal;
}

/**
 * Uses events, because they are cheaper than an asynchronous iterator. Small writes benefit most (`bench -- entities`).
 */
function readToEnd(body: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let received = 0;
  const onData = (chunk: Buffer) => {
    received += chunk.length;
    if (received <= limitBytes) return void chunks.push(chunk);
    body.off('data', onData);
    body.pause();
    reject(tooLarge(limitBytes));
  };
  body.on('data', onData);
  body.once('end', () => resolve(Buffer.concat(chunks)));
  const onLost = () => reject(new ClientDisconnected('the client disconnected'));
  body.once('error', onLost);
  body.once('close', () => body.readableEnded || onLost()); // every request eventually closes
  return promise;
}

/** Requests whose client was waiting for `100 Continue` and has received it. */
const continued = new WeakSet<IncomingMessage>();
const isWaitingForContinue = (body: IncomingMessage): boolean =>
  body.headers.expect?.toLowerCase() === '100-continue' && !continued.has(body);

/** The maximum body length for this caller. */
export function limitFor({ operation, actor }: Exchange): number {
  const limitBytes = operation.bodyLimitBytes ?? defaultBodyLimitBytes;
  return actor?.id ? limitBytes : Math.min(limitBytes, anonymousBodyLimitBytes);
}

/** More than any operation accepts. Proxies let no larger body pass (deploy/proxy). */
const maxDiscardedBytes = 11 * 1024 * 1024;
const maxDiscardMs = 30_000;
/** A client that sends nothing for this long is waiting for the response. */
const maxPauseMs = 1_000;

/** What a process discards at once, and per second afterwards. Beyond it, connections are closed instead. */
const allowance = { bytes: 512 * 1024 * 1024, perSecond: 64 * 1024 * 1024 };
const left = { bytes: allowance.bytes, at: performance.now() };

/** Returns whether the process may discard these bytes. */
function takeAllowance(bytes: number): boolean {
  const now = performance.now();
  left.bytes = Math.min(allowance.bytes, left.bytes + ((now - left.at) / 1_000) * allowance.perSecond) - bytes;
  left.at = now;
  return left.bytes > 0;
}

/** Whether the request has a body that has not been read completely. */
export const hasUnreadBody = (body: IncomingMessage): boolean => hasBody(body) && !body.readableEnded;

/**
 * Reads and discards the rest of the body before a response is sent. Most clients and proxies read no response while
 * they are sending, and if the connection is closed meanwhile, they report that it broke instead. Returns false if the
 * client stops sending, there is too much to read, or the process has discarded too much, in which case the connection
 * must be closed.
 */
export async function discardBody(body: IncomingMessage): Promise<boolean> {
  if (!hasUnreadBody(body)) return true;
  if (body.destroyed || isWaitingForContinue(body) || declaredLength(body) > maxDiscardedBytes) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let discarded = 0;
  const timers = [maxPauseMs, maxDiscardMs].map((ms) => setTimeout(resolve, ms, false));
  const onData = (chunk: Buffer) => {
    discarded += chunk.length;
    if (!takeAllowance(chunk.length) || discarded > maxDiscardedBytes) resolve(false);
    else timers[0]?.refresh();
  };
  body.on('data', onData);
  body.resume(); // paused if it was too large
  body.once('end', () => resolve(true));
  body.once('error', () => resolve(false));
  body.once('close', () => resolve(false));
  const isComplete = await promise;
  for (const timer of timers) clearTimeout(timer);
  body.off('data', onData);
  if (!isComplete) body.pause();
  return isComplete;
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** The body length in the header. 0 if there is no body or if it is sent in chunks. */
export const declaredLength = ({ headers }: IncomingMessage): number => Number(headers['content-length'] ?? 0);

/** The maximum body length according to the headers. A chunked body may have any length. */
export const expectedLength = (body: IncomingMessage): number =>
  body.headers['transfer-encoding'] === undefined ? declaredLength(body) : Number.POSITIVE_INFINITY;

function requireLength({ request }: Exchange, limitBytes: number): void {
  if (declaredLength(request.raw) > limitBytes) throw tooLarge(limitBytes);
}

const tooLarge = (limitBytes: number) =>
  new Problem(
    'too_large',
    'payload_too_large',
    `The request body exceeds the limit of ${limitBytes} bytes. Send a smaller one.`,
    { members: { limit_bytes: limitBytes } },
  );

function requireJson(exchange: Exchange): void {
  const type = exchange.header('content-type');
  if (type !== undefined && /^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)) return;
  throw new Problem(
    'unsupported_media',
    'unsupported_media_type',
    'The request body must be JSON. Send it with `Content-Type: application/json`.',
  );
}
