// The HTTP server. Its operations are plain data, and every request goes through the same steps:
//
//   match (404 405 413 415) → guard (401 403 429 404 400 402, see src/core/auth/request/checks.ts)
//     → receive the body (413) → take a share of the database (503) → validate (422)
//     → run (the operation's own refusals) → check the response → send
//
// The server knows nothing about callers, workspaces or apps, because the guard is a parameter. See
// docs/internals/request-life-cycle.md.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import type { AnyDb } from '../db/database.ts';
import type { Shares } from '../db/shares.ts';
import { hold } from '../process-time.ts';
import { limitConnections } from './connection/connections.ts';
import { hasUsableHost, takeAbsoluteTarget } from './connection/host.ts';
import { answerInOrder } from './connection/pipelining.ts';
import { dropUntrustedHeaders, reportUntrustedForwarding } from './connection/proxies.ts';
import { chooseRequestId, Exchange } from './exchange.ts';
import { listParamNames, type Operation } from './operation.ts';
import { addCrossOriginHeaders, type CrossOrigin, mountPreflights } from './request/cross-origin.ts';
import { checkHeaders, discardBody, findHostFault, hasUnreadBody, receiveBody } from './request/receive.ts';
import { runOperation, type StorageSpace } from './request/run-operation.ts';
import { createTurns, inTurn, nameOwner, type Turns, waitToReceive, waitToRun } from './request/turn.ts';
import { createValidator } from './request/validate.ts';
import { answerMalformedRequest, emptySegment, type OnError, sendError, unmatchedProblem } from './response/errors.ts';
import { type Header, listSecurityHeaders } from './response/security-headers.ts';
import { createSender } from './response/send.ts';

export interface ServerOptions {
  readonly db: AnyDb;
  /** The connections for operations whose work is `reserved`. */
  readonly reservedDb: AnyDb;
  /** How much of `db` each workspace and app may use at the same time. */
  readonly shares: Shares;
  readonly clock: Clock;
  /** Decides whether the caller may call the operation. Returns the proof for the handler, or throws the refusal. */
  readonly guard: (exchange: Exchange) => Promise<unknown>;
  /** Whether the operation's guard reads the database. If not, the operation never waits for other callers' lookups. */
  readonly looksUpCaller: (operation: Operation) => boolean;
  /**
   * Returns the workspace of a recently valid credential, without a query. These callers' lookups take turns by
   * workspace.
   */
  readonly nameKnownCaller: (exchange: Exchange) => string | undefined;
  /** The names of the operation's query parameters that the guard reads. */
  readonly guardQuery: (operation: Operation) => readonly string[];
  /** Whether a worker is running, for operations that need one. */
  readonly isWorkerSeen: () => Promise<boolean>;
  /** The space that a workspace has to store more, such as the answer to a request with an Idempotency-Key. Default: any. */
  readonly storageSpace?: StorageSpace;
  /** Which operations web pages from other origins may call. Default: none. */
  readonly crossOrigin?: CrossOrigin;
  /**
   * Handles requests that are not for an operation, such as requests to other hosts. They are recognised before
   * routing.
   */
  readonly otherRequests?: OtherRequests<unknown>;
  /** Whether the server is reached over https, through a proxy. */
  readonly isHttps: boolean;
  readonly trustedProxies: readonly string[];
  /** Headers that are only read if a trusted proxy has set them. In lower case. */
  readonly proxyHeaders?: readonly string[];
  readonly maxConnectionsPerAddress: number;
  /** Called when a connection is refused, at most once a minute. */
  readonly onConnectionRefused?: (address: string) => void;
  /** Called when an address that is not a trusted proxy sends forwarding headers, at most once a minute. */
  readonly onUntrustedForwarding?: (address: string) => void;
  /** Checks every response against its schema before sending. Enabled in tests and development. */
  readonly strictAnswers: boolean;
  readonly onResponse?: (outcome: RequestOutcome) => void;
  readonly onError?: OnError;
}

/**
 * Handles requests outside the server's pipeline. The server's connection limits, pipelining limits and timeouts still
 * apply.
 */
export interface OtherRequests<Match> {
  /** The name used in logs and metrics. */
  readonly operation: string;
  /** Undefined if the request is for an operation. */
  match(request: IncomingMessage): Match | undefined;
  /** Rejects if the response fails halfway. */
  answer(match: Match, request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>;
}

export interface RequestOutcome {
  readonly operation: string;
  readonly status: number;
  readonly seconds: number;
  readonly requestId: string;
  readonly exchange: Exchange | undefined;
}

// Operations have their own schemas. Loading the compilers for Fastify's schemas would take a tenth of the startup
// time.
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
    return503OnClosing: false, // requests that arrive during shutdown are still handled
    // Slow senders are cut off: they have 10 s for the headers and `requestTimeout` for the whole request, checked
    // every second.
    http: {
      maxHeaderSize: 32 * 1024,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false, // Node would respond without a body; see checkHeaders
    },
    // Even percent-encoded ids of 2,048 characters must reach the guard, which treats them as unknown.
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
  // `100 Continue` is sent when the body is needed, after the guard has run (request/receive.ts).
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
      response.destroy(); // the client notices, because it knows the expected length
    });
  });
}

const toRouterPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1').replace('{*}', '*');

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

const unlimitedSpace: StorageSpace = { admit: () => undefined, hasSpace: () => true };

/**
 * The steps before and after an operation's body is received. Prepares everything that does not depend on the request.
 */
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
    const result = await runOperation(db, exchange, input, options.storageSpace ?? unlimitedSpace);
    exchange.releaseShare(); // a stream may be sent for minutes, and takes shares of its own
    return hold(() => send(exchange, result, input.ignored));
  };
  return {
    /** Runs before any of the body is read, so a refused request costs neither memory nor parsing. */
    async admit(exchange: Exchange): Promise<void> {
      // The router accepts empty parameters.
      if (params.some((name) => exchange.params[name] === '')) throw emptySegment();
      checkHeaders(exchange);
      try {
        exchange.access = await (hasCaller
          ? inTurn(exchange, options.nameKnownCaller(exchange), turns, () => options.guard(exchange))
          : options.guard(exchange));
      } catch (refusal) {
        if (exchange.pausesRefusal) await turns.pauseRefusal(); // after its turn, so the pause blocks no other lookup
        throw refusal;
      }
      await waitToReceive(exchange, turns);
    },
    /** Waits before the body is parsed, so a refused request costs no more than receiving its body. */
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
 * Prepares every response, whether or not a route was matched: adds the security headers, disables caching, and
 * discards an unread body up to a limit.
 */
function prepareAnswer(securityHeaders: readonly Header[]) {
  return (request: FastifyRequest, reply: FastifyReply, _payload: unknown, done: () => void): void => {
    for (const header of securityHeaders) reply.header(header.name, header.value);
    // The response depends on the caller and may contain a new secret.
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    if (!hasUnreadBody(request.raw)) done();
    else
      void discardBody(request.raw).then((isComplete) => {
        if (!isComplete) reply.header('connection', 'close');
        done();
      });
  };
}

/** The status that nginx logs when a client closes the connection before it has received the whole response. */
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
  // Fastify calls no hook if the client disconnects before the response is sent.
  server.addHook('onRequest', (request, reply, done) => {
    const { raw } = reply;
    raw.once('close', () => {
      if (!raw.writableFinished && raw.errored === null) report(request, reply, clientClosedRequest);
    });
    done();
  });
}
