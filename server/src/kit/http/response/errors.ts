// Turns thrown errors into responses. A ValidationError becomes a 422, a Problem is sent unchanged, and any
// other error becomes a 503 or 500 that reveals only the request id (docs/api/conventions.md#errors). If a browser was
// opening a page, the error is sent as a page.
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { classifyFailure } from '../../db/failures.ts';
import { Problem } from '../../problem.ts';
import { StorageUnavailable } from '../../unavailable.ts';
import { toHeaders } from '../answer.ts';
import { isAnswering } from '../connection/pipelining.ts';
import { chooseRequestId, type Exchange } from '../exchange.ts';
import { ValidationError } from '../faults.ts';
import { type Operation, repeatOf } from '../operation.ts';
import { pageHeaders, renderErrorPage } from '../page/page.ts';
import { ClientDisconnected, malformedRequest } from '../request/receive.ts';
import { hasHonouredKey } from '../request/run-operation.ts';
import type { Header } from './security-headers.ts';

export type OnError = (error: unknown, exchange: Exchange | undefined) => void;

export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  onError?: OnError,
): FastifyReply {
  // Bodies are sent as bytes, because Fastify adds a charset parameter to text, and JSON has no such parameter.
  const { exchange } = request;
  const requestId = request.id;
  reply.header('x-request-id', requestId);
  if (exchange?.warnings.length) reply.header('x-warning', exchange.warnings.join(','));
  if (exchange?.partial.length) reply.header('x-partial-result', exchange.partial.join(','));
  if (error instanceof ValidationError) {
    reply.headers(toHeaders({ ignored: error.ignored }));
    return reply
      .code(422)
      .type('application/json')
      .send(Buffer.from(JSON.stringify({ detail: error.faults, code: 'validation', request_id: requestId })));
  }
  if (error instanceof ClientDisconnected) return reply.code(499).send(); // not our failure, and nobody is listening
  const problem = error instanceof Problem ? error : toProblem(error, request);
  if (exchange !== undefined) exchange.refusal = problem.code;
  // `busy` is not logged as an error, because a caller could fill the log.
  if (problem.status >= 500 && problem.code !== 'busy') onError?.(problem.cause ?? problem, exchange);
  if (isForBrowser(request)) return sendErrorPage(problem, requestId, reply);
  const body = problem.body(requestId, !exchange?.committed || isRepeatSafe(request));
  return reply
    .code(problem.status)
    .headers(problem.headers)
    .type('application/problem+json')
    .send(Buffer.from(JSON.stringify(body)));
}

/** Whether a browser is opening a page or a path outside the API. Programs don't accept HTML, so they get JSON. */
function isForBrowser({ method, headers, url, exchange }: FastifyRequest): boolean {
  if ((method !== 'GET' && method !== 'HEAD') || !headers.accept?.includes('text/html')) return false;
  return exchange === undefined ? !/^\/+api(\/|\?|$)/i.test(url) : isPage(exchange.operation);
}

const isPage = ({ answers }: Operation): boolean =>
  Object.values(answers).some((shape) => 'media' in shape && shape.media.startsWith('text/html'));

function sendErrorPage(problem: Problem, requestId: string, reply: FastifyReply): FastifyReply {
  const page = renderErrorPage(problem, requestId);
  return reply
    .code(problem.status)
    .headers({ ...problem.headers, ...pageHeaders(page) })
    .type('text/html; charset=utf-8')
    .send(page.html);
}

function toProblem(error: unknown, request: FastifyRequest): Problem {
  const code = (error as { code?: string }).code;
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' || code === 'FST_ERR_CTP_INVALID_CONTENT_TYPE') {
    return new Problem(
      'unsupported_media',
      'unsupported_media_type',
      'The Content-Type header is malformed. Send `application/json`.',
    );
  }
  if (code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH') return routeNotFound();
  const failure = classifyFailure(error);
  const nothingChanged =
    !request.exchange?.committed &&
    (failure === 'not_started' ||
      (failure === 'connection_lost' && (request.method === 'GET' || !request.exchange?.handlerStarted)));
  if (nothingChanged) {
    return new Problem(
      'unavailable',
      'service_unavailable',
      'The database is unavailable. Nothing was changed. Retry in a moment.',
      {
        headers: { 'retry-after': '1' },
        cause: error,
      },
    );
  }
  // Objects are written before the change that refers to them is committed, so nothing has changed.
  if (error instanceof StorageUnavailable && !request.exchange?.committed) {
    return new Problem(
      'unavailable',
      'service_unavailable',
      'File storage is unavailable, so nothing was changed. Retry in a moment.',
      {
        headers: { 'retry-after': '5' },
        cause: error,
      },
    );
  }
  return new Problem(
    'internal',
    'internal_error',
    'An internal error occurred. Report it with the request id, and retry the request only if `retry_safe` is true.',
    {
      retrySafe: isRepeatSafe(request),
      cause: error,
    },
  );
}

/**
 * Whether the request can be sent again although it may have taken effect. Nothing has before the handler was called. A
 * key makes a request repeatable only if the operation honours it. Anonymous callers' keys are never honoured.
 */
const isRepeatSafe = ({ exchange }: FastifyRequest): boolean =>
  !exchange?.handlerStarted || repeatOf(exchange.operation) === 'safe' || hasHonouredKey(exchange);

export const routeNotFound = () =>
  new Problem(
    'not_found',
    'route_not_found',
    'There is no operation at this path. Check the path, including any trailing slash.',
  );

/** The error for a path with an empty segment. The usual cause is an unset variable in a shell command or program. */
export const emptySegment = () =>
  new Problem(
    'not_found',
    'route_not_found',
    'The path has an empty segment. Check that every variable in it is set, and that it does not end with a slash.',
  );

/**
 * The error for a method and path without an operation: 405 if the path exists with a different method, otherwise 404.
 */
export function unmatchedProblem(operations: readonly Operation[], request: FastifyRequest): Problem {
  const path = request.url.split('?')[0] ?? '';
  const methods = operations
    .filter((operation) => pathExpression(operation.path).test(path))
    .map((operation) => operation.method as string);
  if (methods.length === 0) return path.includes('//') ? emptySegment() : routeNotFound();
  const allow = [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))].join(', ');
  return new Problem('method_not_allowed', 'method_not_allowed', `Method not allowed. Allowed: ${allow}.`, {
    headers: { allow },
  });
}

const pathExpression = (path: string): RegExp =>
  new RegExp(
    `^${path
      .replace(/[.]/g, '\\.')
      .replace(/\{\w+\}/g, '[^/]+')
      .replace('{*}', '.+')}$`,
  );

/** Responds, directly on the socket, to a request that is not valid HTTP or whose headers are too large. */
export const answerMalformedRequest = (headers: readonly Header[]) => {
  const headerLines = headers.map(({ name, value }) => `${name}: ${value}\r\n`).join('');
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    // Writing in the middle of another response would corrupt it.
    if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) socket.destroy();
    else socket.end(describeMalformedRequest(error, headerLines));
  };
};

function describeMalformedRequest(error: NodeJS.ErrnoException, headerLines: string): string {
  // The sender was too slow. No request was read, so the response has no body.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return `HTTP/1.1 408 Request Timeout\r\n${headerLines}Content-Length: 0\r\nConnection: close\r\n\r\n`;
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const problem = tooLarge
    ? new Problem('too_large', 'payload_too_large', 'The request headers exceed 32 KiB. Send fewer or shorter headers.')
    : malformedRequest('The request is not valid HTTP. Use a client that follows the HTTP specification.');
  const requestId = chooseRequestId(undefined);
  const body = JSON.stringify(problem.body(requestId));
  const status = tooLarge ? '413 Payload Too Large' : '400 Bad Request';
  return `HTTP/1.1 ${status}\r\n${headerLines}Content-Type: application/problem+json\r\nX-Request-Id: ${requestId}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
}
