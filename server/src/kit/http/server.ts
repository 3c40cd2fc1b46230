// Owns the HTTP server: it takes operations as data and runs each through the same steps.
//
//   match (404 405 413 415) → guard (401 403 429 404 400 402, see src/core/auth/guard.ts) → receive the body (413)
//     → take a share of the database (503) → validate (422) → run (the operation's own refusals) → check the answer → send
//
// It knows nothing about callers, workspaces or apps: the guard is a parameter. See
// docs/internals/request-life-cycle.md.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import type { AnyDb } from '../db/database.ts';
import type { Shares } from '../db/shares.ts';
import { hold } from '../process-time.ts';
import { limitConnections } from './connections.ts';
import { addCrossOriginHeaders, type CrossOrigin, mountPreflights } from './cross-origin.ts';
import { answerMalformedRequest, type OnError, routeNotFound, sendError, unmatchedProblem } from './errors.ts';
import { chooseRequestId, Exchange } from './exchange.ts';
import { hasUsableHost, takeAbsoluteTarget } from './host.ts';
import { listParamNames, type Operation } from './operation.ts';
import { answerInOrder } from './pipelining.ts';
import { dropUntrustedHeaders, reportUntrustedForwarding } from './proxies.ts';
import { checkHeaders, discardBody, findHostFault, hasUnreadBody, receiveBody } from './receive.ts';
import { runOperation } from './run-operation.ts';
import { type Header, listSecurityHeaders } from './security-headers.ts';
import { createSender } from './send.ts';
import { createTurns, inTurn, nameOwner, type Turns, waitToReceive, waitToRun } from './turn.ts';
import { createValidator } from './validate.ts';

export interface ServerOptions {
  readonly db: AnyDb;
  /** The connections for operations whose work is `reserved`. */
  readonly reservedDb: AnyDb;
  /** What each workspace and app may use of `db` at a time. */
  readonly shares: Shares;
  readonly clock: Clock;
  /** Decides whether the caller may call the operation. Returns the proof for the handler, or throws the refusal. */
  readonly guard: (exchange: Exchange) => Promise<unknown>;
  /** Whether the guard of the operation reads the database. The others never wait for those. */
  readonly looksUpCaller: (operation: Operation) => boolean;
  /** The workspace of a credential that was valid of late, known without a query. Callers are looked up in turn by it. */
  readonly nameKnownCaller: (exchange: Exchange) => string | undefined;
  /** Query parameters of an operation that the guard reads. */
  readonly guardQuery: (operation: Operation) => readonly string[];
  /** Whether a worker runs, for operations that need one. */
  readonly isWorkerSeen: () => Promise<boolean>;
  /** What web pages of other origins may call; without it, nothing. */
  readonly crossOrigin?: CrossOrigin;
  /** Requests that are for no operation, told apart before routing, such as those of other hosts. */
  readonly otherRequests?: OtherRequests<unknown>;
  /** True if people reach the server by https, behind a proxy. */
  readonly isHttps: boolean;
  readonly trustedProxies: readonly string[];
  /** Headers that are read only if a trusted proxy has set them; in lower case. */
  readonly proxyHeaders?: readonly string[];
  readonly maxConnectionsPerAddress: number;
  /** Called at most once a minute while connections are refused. */
  readonly onConnectionRefused?: (address: string) => void;
  /** Called at most once a minute while an address that is no trusted proxy sends forwarding headers. */
  readonly onUntrustedForwarding?: (address: string) => void;
  /** Check every answer against its schema before sending. On in tests and development. */
  readonly strictAnswers: boolean;
  readonly onResponse?: (outcome: RequestOutcome) => void;
  readonly onError?: OnError;
}

/** Answers requests on its own. The limits of connections and of pipelining, and the timeouts, are those of the server. */
export interface OtherRequests<Match> {
  /** For the log and the metrics. */
  readonly operation: string;
  /** Undefined if the request is for an operation. */
  match(request: IncomingMessage): Match | undefined;
  /** Rejects if it fails in the middle of an answer. */
  answer(match: Match, request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>;
}

export interface RequestOutcome {
  readonly operation: string;
  readonly status: number;
  readonly seconds: number;
  readonly requestId: string;
  readonly exchange: Exchange | undefined;
}

// Operations have schemas of their own. Fastify would load compilers for its schemas, which take a tenth of the start.
const unused = (): never => {
  throw new Error('routes have no Fastify schemas');
};

export function createServer(operations: readonly Operation[], options: ServerOptions): FastifyInstance {
  const securityHeaders = listSecurityHeaders(options.isHttps);
  const prepare = prepareAnswer(securityHeaders);
  const server = Fastify({
    logger: false,
    genReqId: (request) => chooseRequestId(request.headers['x-request-id']),
    clientErrorHandler: answerMalformedRequest(securityHeaders),
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    requestTimeout: 60_000,
    keepAliveTimeout: 75_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false, // requests that arrive while the server drains are answered
    // A slow sender is cut off: 10 s for the headers, `requestTimeout` for the whole request, checked every second.
    http: {
      maxHeaderSize: 32 * 1024,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false, // Node would answer without a body; see checkHeaders
    },
    // An id may be 2,048 characters long and percent-encoded. It must reach the guard, which reads it as unknown.
    routerOptions: { maxParamLength: 32 * 1024 },
    schemaController: { compilersFactory: { buildValidator: unused, buildSerializer: unused } },
    // No hook runs for a path that the router can't decode.
    frameworkErrors: (error, request, reply) =>
      prepare(request, reply, undefined, () => void sendError(error, request, reply, options.onError)),
  });
  limitConnections(server.server, options);
  if (options.otherRequests) answerOthers(server, options.otherRequests, options.onResponse);
  answerInOrder(server);
  if (options.onUntrustedForwarding)
    reportUntrustedForwarding(server, options.trustedProxies, options.onUntrustedForwarding);
  if (options.proxyHeaders?.length) dropUntrustedHeaders(server, options.trustedProxies, options.proxyHeaders);
  // `100 Continue` is sent when the body is wanted (receive.ts), not before the guard has run.
  for (const event of ['checkContinue', 'checkExpectation'])
    server.server.on(event, (request, response) => server.server.emit('request', request, response));
  server.decorateRequest('exchange', undefined);
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    '*',
    async (request: FastifyRequest, body: IncomingMessage) => request.exchange && receiveBody(request.exchange, body),
  );
  server.setErrorHandler((error, request, reply) => sendError(error, request, reply, options.onError));
  server.setNotFoundHandler((request, reply) =>
    sendError(findHostFault(request.raw) ?? unmatchedProblem(operations, request), request, reply, options.onError),
  );
  server.addHook('onSend', prepare);
  if (options.onResponse) reportOutcomes(server, options.onResponse);
  const turns = createTurns(options.shares);
  for (const operation of operations) mountOperation(server, operation, options, turns);
  if (options.crossOrigin) mountPreflights(server, operations, options.crossOrigin, toRouterPath);
  return server;
}

function answerOthers(
  { server }: FastifyInstance,
  others: OtherRequests<unknown>,
  onResponse: ServerOptions['onResponse'],
): void {
  const [toOperation] = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    takeAbsoluteTarget(request);
    const match = hasUsableHost(request) ? others.match(request) : undefined;
    if (match === undefined) return toOperation?.(request, response);
    const requestId = chooseRequestId(request.headers['x-request-id']);
    const startedAt = performance.now();
    let statusIfBroken = clientClosedRequest;
    response.once('close', () =>
      onResponse?.({
        operation: others.operation,
        status: response.writableFinished ? response.statusCode : statusIfBroken,
        seconds: (performance.now() - startedAt) / 1000,
        requestId,
        exchange: undefined,
      }),
    );
    others.answer(match, request, response, requestId).catch(() => {
      statusIfBroken = 503; // the failure is ours
      response.destroy(); // the length was stated, so the client notices
    });
  });
}

const toRouterPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

function mountOperation(server: FastifyInstance, operation: Operation, options: ServerOptions, turns: Turns): void {
  const { admit, run } = createPipeline(operation, options, turns);
  server.route({
    method: operation.method,
    url: toRouterPath(operation.path),
    config: { operation: operation.name },
    ...(options.crossOrigin?.isAllowed(operation) && { onSend: addCrossOriginHeaders(options.crossOrigin) }),
    onRequest: (request, reply) => admit(new Exchange(request, reply, operation, options.clock.now())),
    handler: (request) => run(request.exchange as Exchange), // set by `admit`
  });
}

/** The steps of one operation, before and after its body is received. What can be prepared is prepared once, here. */
function createPipeline(operation: Operation, options: ServerOptions, turns: Turns) {
  const params = listParamNames(operation.path);
  const validate = createValidator(operation, options.guardQuery(operation));
  const send = createSender(operation, options.strictAnswers);
  const hasCaller = options.looksUpCaller(operation);
  const db = operation.work === 'reserved' ? options.reservedDb : options.db;
  const answer = async (exchange: Exchange): Promise<FastifyReply> => {
    exchange.now = options.clock.now(); // receiving the body may have taken a while
    const input = validate(exchange);
    if (operation.needsWorker && !(await options.isWorkerSeen())) exchange.warnings.push('no_worker_seen');
    const result = await runOperation(exchange, exchange.access, input, db);
    return hold(() => send(exchange, result, input.ignored));
  };
  return {
    /** Runs before any of the body is read, so that a refused caller costs neither memory nor parsing. */
    async admit(exchange: Exchange): Promise<void> {
      // The router accepts an empty parameter, but a path with a trailing slash does not exist.
      if (params.some((name) => exchange.params[name] === '')) throw routeNotFound();
      checkHeaders(exchange);
      try {
        exchange.access = await (hasCaller
          ? inTurn(exchange, options.nameKnownCaller(exchange), turns, () => options.guard(exchange))
          : options.guard(exchange));
      } catch (refusal) {
        if (exchange.pausesRefusal) await turns.pauseRefusal(); // after its turn: others are looked up meanwhile
        throw refusal;
      }
      await waitToReceive(exchange, turns);
    },
    /** Waits before the body is parsed: what is refused costs no more than receiving it. */
    async run(exchange: Exchange): Promise<FastifyReply> {
      exchange.releaseShare = await waitToRun(exchange, turns);
      try {
        return await turns.processTime.run(nameOwner(exchange.actor), () => answer(exchange));
      } finally {
        exchange.releaseShare();
        exchange.leaveLargeBodies();
      }
    },
  };
}

/**
 * Whatever the answer, and whether or not a route was matched: it has the security headers, no cache keeps it, and nobody
 * makes us read more than we want.
 */
function prepareAnswer(securityHeaders: readonly Header[]) {
  return (request: FastifyRequest, reply: FastifyReply, _payload: unknown, done: () => void): void => {
    for (const header of securityHeaders) reply.header(header.name, header.value);
    // What an answer contains depends on its caller, and may be a new secret.
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    if (!hasUnreadBody(request.raw)) done();
    else
      void discardBody(request.raw).then((isComplete) => {
        if (!isComplete) reply.header('connection', 'close');
        done();
      });
  };
}

/** 499, as nginx logs it: the client hung up before it had received the whole answer. */
const clientClosedRequest = 499;

function reportOutcomes(server: FastifyInstance, onResponse: (outcome: RequestOutcome) => void): void {
  const report = (request: FastifyRequest, reply: FastifyReply, status: number) =>
    onResponse({
      operation: request.routeOptions.config.operation ?? 'unmatched',
      status,
      seconds: reply.elapsedTime / 1000,
      requestId: request.id,
      exchange: request.exchange,
    });
  server.addHook('onResponse', (request, reply, done) => {
    report(request, reply, reply.statusCode);
    done();
  });
  // Fastify calls no hook for an answer that nobody receives.
  server.addHook('onRequest', (request, reply, done) => {
    const { raw } = reply;
    raw.once('close', () => {
      if (!raw.writableFinished && raw.errored === null) report(request, reply, clientClosedRequest);
    });
    done();
  });
}
