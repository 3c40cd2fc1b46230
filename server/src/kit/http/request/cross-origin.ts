// CORS: the headers that let web pages from other origins call operations and read the responses. The allowed
// operations and origins are parameters. Cookies are never allowed, so pages must use a token or call anonymously.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Operation } from '../operation.ts';

export interface CrossOrigin {
  /** Whether pages from other origins may call this operation at all. */
  isAllowed(operation: Operation): boolean;
  /** Whether pages from this origin may call the operation and read the response to this request. */
  isAllowedOrigin(origin: string, request: CrossOriginRequest): Promise<boolean>;
}

export interface CrossOriginRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly address: string;
  /** The result of the guard's lookup, if the request got that far. */
  readonly lookup: unknown;
}

const allowedRequestHeaders = ['Authorization', 'Content-Type', 'Idempotency-Key', 'X-Request-Id'].join(', ');
const exposedHeaders = [
  'Idempotent-Replayed',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Changed',
  'X-Cursor',
  'X-Data-As-Of',
  'X-Date-Range',
  'X-Ignored-Fields',
  'X-Partial-Result',
  'X-Request-Id',
  'X-Truncated',
  'X-Warning',
].join(', ');
const preflightSeconds = '600';

/** An `onSend` hook that lets pages from allowed origins read the response, including a refusal. */
export const addCrossOriginHeaders =
  (crossOrigin: CrossOrigin) =>
  (request: FastifyRequest, reply: FastifyReply, _payload: unknown, done: (error?: Error) => void): void => {
    reply.header('vary', 'Origin');
    // Finishes synchronously if there is no origin, so the time for writing the response is charged to the request.
    if (request.headers.origin === undefined) done();
    else
      isAllowed(crossOrigin, request, reply)
        .then((isIt) => {
          if (isIt) reply.header('access-control-expose-headers', exposedHeaders);
          done();
        })
        .catch(done);
  };

/** Responds to preflight requests (`OPTIONS`). */
export function mountPreflights(
  server: FastifyInstance,
  operations: readonly Operation[],
  crossOrigin: CrossOrigin,
  urlOf: (path: string) => string,
): void {
  const byPath = Map.groupBy(operations.filter(crossOrigin.isAllowed), (operation) => operation.path);
  for (const [path, group] of byPath) {
    const methods = group.map((operation) => operation.method).join(', ');
    server.options(urlOf(path), { config: { operation: 'preflight' } }, async (request, reply) => {
      reply.code(204).header('x-request-id', request.id).header('vary', 'Origin');
      if (await isAllowed(crossOrigin, request, reply)) {
        reply.headers({
          'access-control-allow-methods': methods,
          'access-control-allow-headers': allowedRequestHeaders,
          'access-control-max-age': preflightSeconds,
        });
      }
    });
  }
}

async function isAllowed(crossOrigin: CrossOrigin, request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
  const { origin } = request.headers;
  if (origin === undefined) return false;
  const params = request.params as Record<string, string>;
  const { lookup } = request.exchange?.actor ?? {};
  // If the allowed origins can't be read, no origin is allowed. The response itself reports the error.
  const isListed = await crossOrigin
    .isAllowedOrigin(origin, { params, address: request.ip, lookup })
    .catch(() => false);
  if (!isListed) return false;
  reply.header('access-control-allow-origin', origin);
  return true;
}
