// Owns how an error becomes an answer: 422 for a request that does not fit, a problem for every other refusal, and
// for a bug a 500 that says nothing but the request id.
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { classifyFailure } from '../db/failures.ts';
import { Problem } from '../problem.ts';
import { chooseRequestId, type Exchange } from './exchange.ts';
import { ValidationError } from './faults.ts';
import type { Operation } from './operation.ts';

export type OnError = (error: unknown, exchange: Exchange | undefined) => void;

export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  onError?: OnError,
): FastifyReply {
  // Sent as bytes: the framework would add a charset parameter to text, and JSON has none.
  const { exchange } = request;
  const requestId = request.id;
  reply.header('x-request-id', requestId);
  if (exchange?.partial.length) reply.header('x-partial-result', exchange.partial.join(','));
  if (error instanceof ValidationError) {
    return reply
      .code(422)
      .type('application/json')
      .send(Buffer.from(JSON.stringify({ detail: error.faults })));
  }
  const problem = error instanceof Problem ? error : toProblem(error, request);
  if (exchange !== undefined) exchange.refusal = problem.code;
  if (problem.status >= 500) onError?.(problem.cause ?? problem, exchange);
  return reply
    .code(problem.status)
    .headers(problem.headers)
    .type('application/problem+json')
    .send(Buffer.from(JSON.stringify(problem.body(requestId))));
}

function toProblem(error: unknown, request: FastifyRequest): Problem {
  const code = (error as { code?: string }).code;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge(request.routeOptions.bodyLimit);
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' || code === 'FST_ERR_CTP_INVALID_CONTENT_TYPE') {
    return new Problem('unsupported_media', 'unsupported_media_type', 'The Content-Type header cannot be read.');
  }
  if (code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH') return routeNotFound();
  const failure = classifyFailure(error);
  const nothingChanged =
    !request.exchange?.committed &&
    (failure === 'not_begun' ||
      (failure === 'cut_short' && (request.method === 'GET' || !request.exchange?.handlerStarted)));
  if (nothingChanged) {
    return new Problem(
      'unavailable',
      'service_unavailable',
      'The database could not do this now. Nothing was changed.',
      {
        headers: { 'retry-after': '1' },
        cause: error,
      },
    );
  }
  return new Problem(
    'internal',
    'internal_error',
    'Something went wrong on our side. Quote the request id when you report it.',
    {
      retrySafe: isRepeatSafe(request),
      cause: error,
    },
  );
}

const tooLarge = (limit: number) =>
  new Problem('too_large', 'payload_too_large', 'The body is larger than this operation takes.', {
    members: { limit_bytes: limit },
  });

const isRepeatSafe = (request: FastifyRequest): boolean =>
  ['GET', 'HEAD', 'DELETE', 'PUT'].includes(request.method) || request.headers['idempotency-key'] !== undefined;

export const routeNotFound = () => new Problem('not_found', 'route_not_found', 'There is no such operation.');

/** No operation has this method and path: 405 when another method would have fitted, else 404. */
export function unmatchedProblem(operations: readonly Operation[], request: FastifyRequest): Problem {
  const path = request.url.split('?')[0] ?? '';
  const methods = operations
    .filter((operation) => pathExpression(operation.path).test(path))
    .map((operation) => operation.method as string);
  if (methods.length === 0) return routeNotFound();
  const allow = [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))].join(', ');
  return new Problem('method_not_allowed', 'method_not_allowed', `This path answers ${allow}.`, { headers: { allow } });
}

const pathExpression = (path: string): RegExp =>
  new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`);

/** What cannot be read as HTTP at all, or has headers without end, is refused on the socket itself. */
export function answerMalformedRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const problem = tooLarge
    ? new Problem('too_large', 'payload_too_large', 'The headers are larger than the server takes.')
    : new Problem('not_found', 'route_not_found', 'This is not a request the server can read.');
  const requestId = chooseRequestId(undefined);
  const body = JSON.stringify(problem.body(requestId));
  const status = tooLarge ? '413 Payload Too Large' : '404 Not Found';
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${requestId}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
