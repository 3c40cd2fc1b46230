// The task `call: http` (docs/api/workflows.md#http): one request to an address that the definition specifies.
import { findJsonExcess } from '../../../../kit/json-excess.ts';
import type { OutboundRequest } from '../../../../kit/outbound/outbound.ts';
import type { Answered, FailureKind, Outcome } from '../../../../kit/outbound/outcome.ts';
import { urlFaults } from '../../../../kit/outbound/url.ts';
import type { ErrorType, HttpCall, Json } from '../../definition/model.ts';
import { type FailureCause, fail } from '../errors.ts';
import { evaluate, type Scope } from '../evaluate.ts';
import type { Execution } from '../execution.ts';
import type { Mask } from '../mask.ts';
import { cutText } from '../recorded.ts';
import type { CallResult, PreparedTask } from './prepared-task.ts';

export const maxTimeoutMs = 30_000;
export const maxResponseBytes = 1024 * 1024;
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

type HttpRequest = Pick<OutboundRequest, 'method' | 'url' | 'headers' | 'body'>;

/**
 * If the step is repeated after a crash, it has the same idempotency key, so the receiver can recognise the repetition.
 */
export async function prepareHttp(execution: Execution, call: HttpCall, scope: Scope): Promise<PreparedTask> {
  const { method, endpoint, headers = {}, query = {}, body } = call;
  const shownInput = await evaluate(execution, { method, endpoint, headers, query, body }, scope);
  const { run, deps } = execution;
  const idempotencyKey = `${run.id}.${scope.state.steps + 1}`;
  const request = toRequest(shownInput, idempotencyKey);
  return {
    kind: 'call',
    shownInput,
    async call({ timeoutMs, signal }) {
      const outcome = await deps.outbound.send({
        ...request,
        owner: run.workspace_id,
        maxBodyBytes: maxResponseBytes,
        timeoutMs: Math.min(timeoutMs, maxTimeoutMs),
        signal,
      });
      return readOutcome(outcome, request, call.output, execution.mask);
    },
  };
}

interface EvaluatedCall {
  readonly method: Json;
  readonly endpoint: Json;
  readonly headers: Json;
  readonly query: Json;
  /** Absent if the request has no body. */
  readonly body: Json | undefined;
}

function toRequest({ method, endpoint, headers, query, body }: EvaluatedCall, idempotencyKey: string): HttpRequest {
  const sent = body === undefined ? undefined : toBody(body);
  return {
    method: toMethod(method),
    url: toUrl(endpoint, query),
    headers: {
      accept: 'application/json, */*;q=0.5',
      'user-agent': 'Plinth-Workflows/1',
      ...(sent !== undefined && { 'content-type': sent.type }),
      ...toHeaders(headers),
      'idempotency-key': idempotencyKey,
    },
    ...(sent !== undefined && { body: sent.text }),
  };
}

export function toMethod(value: Json): HttpRequest['method'] {
  const method = methods.find((each) => each === String(value).toUpperCase());
  if (method === undefined) throw fail('configuration', 'The method must be GET, HEAD, POST, PUT, PATCH or DELETE.');
  return method;
}

function toUrl(endpoint: Json, query: Json): string {
  if (typeof endpoint !== 'string') throw fail('configuration', 'The endpoint must be a string.');
  return addQuery(endpoint, query);
}

/** A parameter is repeated if its value is a list, and left out if its value is null. */
export function addQuery(endpoint: string, query: Json): string {
  const parameters = Object.entries(toObject(query, 'query')).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((each) =>
      each === null ? [] : [[name, toText(each)] as [string, string]],
    ),
  );
  if (parameters.length === 0) return endpoint;
  // `URL` is not used, because it would repair URLs that the rules for outgoing requests reject.
  return `${endpoint}${endpoint.includes('?') ? '&' : '?'}${new URLSearchParams(parameters)}`;
}

const toHeaders = (value: Json): Record<string, string> =>
  Object.fromEntries(
    Object.entries(toObject(value, 'headers'))
      .filter(([, each]) => each !== null)
      .map(([name, each]) => [name.toLowerCase(), toText(each)]),
  );

function toObject(value: Json, what: string): Readonly<Record<string, Json>> {
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw fail('configuration', `\`${what}\` must be an object.`);
  return value as Readonly<Record<string, Json>>;
}

const toText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Strings are sent as they are. All other values are sent as JSON. */
export const toBody = (body: Json) =>
  typeof body === 'string'
    ? { text: body, type: 'text/plain; charset=utf-8' }
    : { text: JSON.stringify(body), type: 'application/json' };

// ---- response

/** `request` is part of the output if `output` is `response`. */
export function readOutcome(
  outcome: Outcome,
  request: Pick<HttpRequest, 'method' | 'url'>,
  output: HttpCall['output'],
  mask: Mask,
): CallResult {
  if (outcome.outcome === 'failed') {
    if (outcome.kind === 'aborted') throw new Error('the request was abandoned'); // we aborted it ourselves
    throw describeFailure(outcome.kind);
  }
  if (outcome.outcome === 'refused')
    throw fail(
      'configuration',
      outcome.reason === 'header'
        ? 'A header is invalid or not allowed.'
        : `The endpoint ${urlFaults[outcome.reason].msg}.`,
      { cause: 'address' },
    );
  const { status, headers } = outcome;
  if (status < 200 || status > 299) throw describeStatus(outcome, mask);
  if (outcome.truncated)
    throw fail('communication', 'The response is larger than 1 MiB.', { status, cause: 'too_large' });
  const content = readContent(outcome);
  if (output === 'content') return { output: content };
  const { method, url: uri } = request;
  return { output: { request: { method, uri }, statusCode: status, headers, content } };
}

const failures: Readonly<
  Record<Exclude<FailureKind, 'aborted'>, { type: ErrorType; cause: FailureCause; detail: string }>
> = {
  dns: { type: 'communication', cause: 'dns', detail: "The endpoint's host name could not be resolved." },
  refused: { type: 'communication', cause: 'refused', detail: 'The endpoint refused the connection.' },
  timeout: { type: 'timeout', cause: 'timeout', detail: 'The endpoint did not respond in time.' },
  tls: {
    type: 'communication',
    cause: 'tls',
    detail: "A TLS connection could not be established. Check the endpoint's certificate.",
  },
  reset: { type: 'communication', cause: 'reset', detail: 'The endpoint closed the connection before responding.' },
  protocol: { type: 'communication', cause: 'protocol', detail: 'The endpoint did not send a valid HTTP response.' },
  too_large: { type: 'communication', cause: 'too_large', detail: 'The response headers are too large.' },
};

function describeFailure(kind: keyof typeof failures) {
  const { type, cause, detail } = failures[kind];
  return fail(type, detail, { cause });
}

const typesByStatus: Readonly<Record<number, ErrorType>> = { 401: 'authentication', 403: 'authorization' };
const maxShownCharacters = 200;

/** The beginning of the body is included, because it often describes the problem. */
function describeStatus({ status, body }: Answered, mask: Mask) {
  const text = cutText(new TextDecoder().decode(body).trim(), maxShownCharacters, mask);
  const said = text === '' ? '' : ` Response body: ${text}`;
  return fail(typesByStatus[status] ?? 'communication', `The endpoint responded with status ${status}.${said}`, {
    status,
    cause: 'status',
  });
}

function readContent({ headers, body }: Answered): unknown {
  if (body.length === 0) return null;
  const isJson = /^[^;]*[/+]json\b/i.test(headers['content-type'] ?? '');
  if (!isJson) return new TextDecoder().decode(body);
  const excess = findJsonExcess(body);
  if (excess !== undefined)
    throw fail('communication', `The response's JSON ${excess.problem}.`, { cause: 'protocol' });
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw fail('communication', "The response's content type is JSON, but its body is not valid JSON.", {
      cause: 'protocol',
    });
  }
}
