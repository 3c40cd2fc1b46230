// Owns receiving the body of a request. It is read only after the guard has let the caller through, and never beyond what
// the operation accepts. A body that nobody reads is discarded, up to a limit.
import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';
import type { Exchange } from './exchange.ts';
import { hasUsableHost } from './host.ts';

const defaultBodyLimitBytes = 1024 * 1024;
/** Callers without a credential can't be held to account for what they send. */
const anonymousBodyLimitBytes = 64 * 1024;

/** 400, 413 and 415, as far as the headers show them: before the guard, and so before any query. */
export function checkHeaders(exchange: Exchange): void {
  const { headers } = exchange.request.raw;
  const hostFault = findHostFault(exchange.request.raw);
  if (hostFault !== undefined) throw hostFault;
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    throw malformedRequest('The Expect header has an unknown value. Send `100-continue`, or no such header.');
  if (!hasBody(exchange.request.raw)) return;
  requireLength(exchange, exchange.operation.bodyLimitBytes ?? defaultBodyLimitBytes);
  if (exchange.operation.body !== undefined) requireJson(exchange);
}

export function findHostFault(request: IncomingMessage): Problem | undefined {
  if (request.headers.host === undefined && request.httpVersion === '1.1')
    return malformedRequest('The Host header is missing. Send it with every request.');
  if (!hasUsableHost(request))
    return malformedRequest(
      'The Host header is malformed, or was sent twice. Send it once, with a host and perhaps a port.',
    );
  return undefined;
}

export const malformedRequest = (message: string) => new Problem('bad_request', 'malformed_request', message);

/** The client closed the connection before it had sent the whole body. Nobody is left to answer. */
export class ClientDisconnected extends Error {}

/** The body of a caller who was let through. */
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

/** A body without a declared length is counted once it is known, before it is parsed. */
async function countUndeclared({ countBytes }: Exchange, received: Buffer): Promise<void> {
  const refusal = await countBytes?.(received.length);
  if (refusal !== undefined) throw refusal;
}

/** By events, which are cheaper than an asynchronous iterator: small writes are where it shows (`bench -- entities`). */
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
  body.once('close', () => body.readableEnded || onLost()); // every request closes in the end
  return promise;
}

/** Requests whose client waited for `100 Continue` and has got it. */
const continued = new WeakSet<IncomingMessage>();
const isWaitingForContinue = (body: IncomingMessage): boolean =>
  body.headers.expect?.toLowerCase() === '100-continue' && !continued.has(body);

/** How long the body of this caller may be. */
export function limitFor({ operation, actor }: Exchange): number {
  const limitBytes = operation.bodyLimitBytes ?? defaultBodyLimitBytes;
  return actor?.id ? limitBytes : Math.min(limitBytes, anonymousBodyLimitBytes);
}

const maxDiscardedBytes = 64 * 1024;
const maxDiscardMs = 1_000;

/** Whether the client has a body that nobody has read to its end. */
export const hasUnreadBody = (body: IncomingMessage): boolean => hasBody(body) && !body.readableEnded;

/**
 * Reads and drops what the client of an answered request still sends, so that it can read the answer and reuse the
 * connection. Returns false if there is more than we are willing to read: the connection must then be closed.
 */
export async function discardBody(body: IncomingMessage): Promise<boolean> {
  if (!hasUnreadBody(body)) return true;
  if (body.destroyed || isWaitingForContinue(body) || declaredLength(body) > maxDiscardedBytes) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let discarded = 0;
  const timer = setTimeout(resolve, maxDiscardMs, false);
  const onData = (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > maxDiscardedBytes) resolve(false);
  };
  body.on('data', onData);
  body.once('end', () => resolve(true));
  body.once('error', () => resolve(false));
  body.once('close', () => resolve(false));
  const isComplete = await promise;
  clearTimeout(timer);
  body.off('data', onData);
  if (!isComplete) body.pause();
  return isComplete;
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** The length of the body by its header; 0 if the body has none, or is sent in chunks. */
export const declaredLength = ({ headers }: IncomingMessage): number => Number(headers['content-length'] ?? 0);

/** How long the body may become, by its headers: a body that is sent in chunks may have any length. */
export const expectedLength = (body: IncomingMessage): number =>
  body.headers['transfer-encoding'] === undefined ? declaredLength(body) : Number.POSITIVE_INFINITY;

function requireLength({ request }: Exchange, limitBytes: number): void {
  if (declaredLength(request.raw) > limitBytes) throw tooLarge(limitBytes);
}

const tooLarge = (limitBytes: number) =>
  new Problem(
    'too_large',
    'payload_too_large',
    `The request body has more than the ${limitBytes} bytes that are accepted here. Send a smaller one.`,
    { members: { limit_bytes: limitBytes } },
  );

function requireJson(exchange: Exchange): void {
  const type = exchange.header('content-type');
  if (type === undefined || /^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)) return;
  throw new Problem(
    'unsupported_media',
    'unsupported_media_type',
    'The body must be JSON. Send it with `Content-Type: application/json`.',
  );
}
