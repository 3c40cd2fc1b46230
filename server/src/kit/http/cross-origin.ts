// Owns what a browser must hear before a page of another origin may call an operation and read its answer. Which
// operations, and whose pages, is handed in. Cookies are never part of it: pages call with a token, or as nobody.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Operation } from './operation.ts';

export interface CrossOrigin {
  /** Whether pages of other origins may call this operation at all. */
  isAllowed(operation: Operation): boolean;
  /** Whose pages may, for these path parameters; `found` is what the guard found, where it came that far. */
  getOrigins(params: Readonly<Record<string, string>>, found: unknown): Promise<readonly string[]>;
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

/** Before an answer leaves, also a refusal: tells the browser whether the page that asked may read it. */
export const addCrossOriginHeaders =
  (crossOrigin: CrossOrigin) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (await isAllowed(crossOrigin, request, reply)) reply.header('access-control-expose-headers', exposedHeaders);
  };

/** Answers the question that a browser asks before the call itself. */
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
      reply.code(204).header('x-request-id', request.id);
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
  reply.header('vary', 'Origin');
  const { origin } = request.headers;
  if (origin === undefined) return false;
  const params = request.params as Record<string, string>;
  // What cannot be read allows nobody; the answer itself says what went wrong.
  const origins = await crossOrigin.getOrigins(params, request.exchange?.actor?.lookup).catch((): string[] => []);
  if (!origins.includes(origin)) return false;
  reply.header('access-control-allow-origin', origin);
  return true;
}
