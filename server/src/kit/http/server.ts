// Owns the HTTP server: it takes operations as data and runs each through the same fixed list of steps.
//
//   match → guard (who may: 401 403 429 404 400 402, see src/core/auth/guard.ts) → validate (422)
//         → handle → check the answer → send
//
// Knows nothing of callers, workspaces or apps: the guard is handed in.
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { Clock } from '../clock.ts';
import { Problem } from '../problem.ts';
import { Answer } from './answer.ts';
import { type Cleaner, cleanerFor, readJson } from './body.ts';
import { addCrossOriginHeaders, type CrossOrigin, mountPreflights } from './cross-origin.ts';
import { chooseRequestId, Exchange } from './exchange.ts';
import { type Fault, parse, ValidationError } from './faults.ts';
import { hasStoredAnswer, parseIdempotencyKey, replaceStoredAnswer, runOnce } from './idempotency.ts';
import { type Operation, paramNames } from './operation.ts';
import { answerMalformedRequest, type OnError, routeNotFound, sendError, unmatchedProblem } from './refuse.ts';
import { type Send, senderFor } from './send.ts';

export interface ServerOptions {
  // biome-ignore lint/suspicious/noExplicitAny: the kit runs on any set of tables.
  readonly db: Kysely<any>;
  readonly clock: Clock;
  /** Decides whether the caller may; gives the proof handlers and stores ask for, or throws the refusal. */
  readonly guard: (exchange: Exchange) => Promise<unknown>;
  /** Query parameters the guard itself reads on an operation. */
  readonly guardQuery: (operation: Operation) => readonly string[];
  /** What pages of other origins may call; without it, nothing. */
  readonly crossOrigin?: CrossOrigin;
  readonly trustedProxies: readonly string[];
  /** Parse every answer against its shape before sending: on in tests and development. */
  readonly strictAnswers: boolean;
  readonly onResponse?: (answered: RequestOutcome) => void;
  readonly onError?: OnError;
}

export interface RequestOutcome {
  readonly operation: string;
  readonly status: number;
  readonly seconds: number;
  readonly requestId: string;
  readonly exchange: Exchange | undefined;
}

const defaultBodyLimit = 1024 * 1024;

export function createServer(operations: readonly Operation[], options: ServerOptions): FastifyInstance {
  const server = Fastify({
    logger: false,
    genReqId: (request) => chooseRequestId(request.headers['x-request-id']),
    clientErrorHandler: answerMalformedRequest,
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    bodyLimit: defaultBodyLimit,
    requestTimeout: 60_000,
    keepAliveTimeout: 75_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false, // a request that still arrives while draining is answered, not refused
    http: { maxHeaderSize: 32 * 1024, headersTimeout: 20_000 },
    // An id may be 2,048 characters long and percent-encoded: let it reach its guard and read as unknown.
    routerOptions: { maxParamLength: 32 * 1024 },
    frameworkErrors: (error, request, reply) => sendError(error, request, reply, options.onError),
  });
  server.decorateRequest('exchange', undefined);
  // Bodies are parsed after the guard, so that a stranger's bad JSON is a 401 and not a 422.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  server.setErrorHandler((error, request, reply) => sendError(error, request, reply, options.onError));
  server.setNotFoundHandler((request, reply) =>
    sendError(unmatchedProblem(operations, request), request, reply, options.onError),
  );
  if (options.onResponse) server.addHook('onResponse', reportTo(options.onResponse));
  for (const operation of operations) mount(server, operation, options);
  if (options.crossOrigin) mountPreflights(server, operations, options.crossOrigin, urlOf);
  return server;
}

const urlOf = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

function mount(server: FastifyInstance, operation: Operation, options: ServerOptions): void {
  const run = pipelineFor(operation, options);
  server.route({
    method: operation.method,
    url: urlOf(operation.path),
    bodyLimit: operation.bodyLimitBytes ?? defaultBodyLimit,
    config: { operation: operation.name },
    ...(options.crossOrigin?.isAllowed(operation) && { onSend: addCrossOriginHeaders(options.crossOrigin) }),
    handler: (request, reply) => run(new Exchange(request, reply, operation, options.clock.now())),
  });
}

/** The pipeline of one operation, with everything that can be prepared once prepared. */
function pipelineFor(operation: Operation, options: ServerOptions): (exchange: Exchange) => Promise<FastifyReply> {
  const params = paramNames(operation.path);
  const validate = validatorFor(operation, options.guardQuery(operation));
  const send = senderFor(operation, options.strictAnswers);
  return async (exchange) => {
    // The router lets a parameter be empty; a trailing slash is another path (contract §0.1).
    if (params.some((name) => exchange.params[name] === '')) throw routeNotFound();
    requireJson(exchange);
    const access = await options.guard(exchange);
    const input = validate(exchange);
    return answerWith(exchange, access, input, options, send);
  };
}

interface Input {
  readonly query: unknown;
  readonly body: unknown;
  /** The body as it came, before anything was dropped from it. */
  readonly sent: unknown;
  readonly ignored: readonly string[];
}

async function answerWith(exchange: Exchange, access: unknown, input: Input, options: ServerOptions, send: Send) {
  const { operation, now } = exchange;
  // biome-ignore lint/suspicious/noExplicitAny: as in ServerOptions.
  const callOn = (db: Kysely<any>) => {
    exchange.handlerStarted = true;
    const { query, body } = input;
    return { db, access, params: exchange.params, query, body, headers: exchange.request.headers, now };
  };
  // biome-ignore lint/suspicious/noExplicitAny: as in ServerOptions.
  const handle = async (db: Kysely<any>): Promise<Answer<unknown>> => {
    const said = await operation.handle(callOn(db));
    return said instanceof Answer ? said : new Answer(said);
  };
  const finished = async (answer: Answer<unknown>) => {
    exchange.committed = answer.finish !== undefined;
    return (await answer.finish?.(options.db)) ?? answer;
  };
  const { id, workspaceId, scope: reach = '' } = exchange.actor ?? {};
  const key =
    id && // a key of nobody known would be everybody's
    operation.idempotency &&
    parseIdempotencyKey(exchange.header('idempotency-key'), operation.idempotency === 'required');
  if (!key) {
    await operation.precheck?.(callOn(options.db));
    return send(exchange, await finished(await handle(options.db)), input.ignored);
  }

  const scope = [id, workspaceId ?? '', reach, operation.method, exchange.request.url.split('?')[0] ?? ''];
  const keyed = { scope, key, request: [input.sent ?? null, exchange.rawQuery], now };
  if (operation.precheck && !(await hasStoredAnswer(options.db, keyed))) await operation.precheck(callOn(options.db));
  const storable = ({ status, body }: Answer<unknown>) => ({ status, body: withheld(body, operation.shownOnce) });
  const done = await runOnce(options.db, keyed, async (db) => {
    const answer = await handle(db);
    return { answer, store: storable(answer) };
  });
  if ('answer' in done) {
    const first = done.answer as Answer<unknown>;
    const answer = await finished(first);
    if (answer !== first && !operation.resume) await replaceStoredAnswer(options.db, keyed, storable(answer));
    return send(exchange, answer, input.ignored);
  }
  const headers = { 'idempotent-replayed': 'true' };
  if (operation.resume !== undefined) {
    exchange.reply.headers(headers);
    const resumed = await operation.resume(callOn(options.db), done.replayed.body);
    return send(exchange, await finished(resumed), input.ignored);
  }
  const warnings = holds(done.replayed.body, operation.shownOnce) ? ['secret_withheld'] : [];
  return send(exchange, new Answer(done.replayed.body, { headers, warnings }, done.replayed.status), input.ignored);
}

/** The body with null in place of what is shown once, wherever in it that is. */
const withheld = (body: unknown, fields: readonly string[] = []): unknown =>
  fields.length === 0 ? body : JSON.parse(JSON.stringify(body, (key, value) => (fields.includes(key) ? null : value)));

const holds = (body: unknown, fields: readonly string[] = []): boolean =>
  fields.some((field) => JSON.stringify(body).includes(`"${field}":null`));

function validatorFor(operation: Operation, guardQuery: readonly string[]): (exchange: Exchange) => Input {
  const { query, body } = operation;
  const cleanBody: Cleaner | undefined = body && cleanerFor(body);
  const takesAny = query instanceof z.ZodObject && query.def.catchall !== undefined;
  const knownQuery = new Set([...guardQuery, ...Object.keys((query as { shape?: object } | undefined)?.shape ?? {})]);
  return (exchange) => {
    const ignored = takesAny ? [] : Object.keys(exchange.rawQuery).filter((name) => !knownQuery.has(name));
    const sent = body && sentBody(exchange, body);
    const [parsedQuery, parsedBody] = together(
      () => query && parse(query, 'query', exchange.rawQuery),
      () => body && cleanBody && parse(body, 'body', cleanBody(sent, ignored, '')),
    );
    return { query: parsedQuery, body: parsedBody, sent, ignored };
  };
}

/** Runs both, so that the faults of both are told at once. */
function together<A, B>(first: () => A, second: () => B): [A, B] {
  const faults: Fault[] = [];
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      faults.push(...error.faults);
      return undefined;
    }
  };
  const results = [attempt(first), attempt(second)];
  if (faults.length > 0) throw new ValidationError(faults);
  return results as [A, B];
}

/** A body left out reads as `{}` where every field is optional. */
function sentBody(exchange: Exchange, shape: NonNullable<Operation['body']>): unknown {
  const sent = readJson(exchange.request.body as Buffer | undefined);
  return sent === undefined && shape.safeParse({}).success ? {} : sent;
}

function requireJson(exchange: Exchange): void {
  const body = exchange.request.body as Buffer | undefined;
  if (!exchange.operation.body || body === undefined || body.length === 0) return;
  const type = exchange.header('content-type');
  if (type === undefined || /^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)) return;
  throw new Problem('unsupported_media', 'unsupported_media_type', 'The body must be JSON (application/json).');
}

function reportTo(onAnswered: (answered: RequestOutcome) => void) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const operation = (request.routeOptions.config as { operation?: string }).operation ?? 'unmatched';
    onAnswered({
      operation,
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1000,
      requestId: request.id,
      exchange: request.exchange,
    });
    done();
  };
}
