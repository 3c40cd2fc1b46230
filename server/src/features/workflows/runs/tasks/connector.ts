// The task `call: connector.request` (docs/api/workflows.md#connectors): one request to a connected service's API.
// The token is added outside workflows. If the service repeats it, it is hidden before anything is stored.
import type { ConnectorCall, Json } from '../../definition/model.ts';
import type { ConnectorRequest, ConnectorResult } from '../deps.ts';
import { fail } from '../errors.ts';
import { evaluate, type Scope } from '../evaluate.ts';
import type { Execution } from '../execution.ts';
import { createMask } from '../mask.ts';
import { addQuery, maxResponseBytes, maxTimeoutMs, readOutcome, toBody, toMethod } from './http.ts';
import type { CallResult, PreparedTask } from './prepared-task.ts';

const maxPathLength = 2_048;
const maxBodyBytes = 1024 * 1024;

/**
 * If the step is repeated after a crash, it has the same idempotency key, so the service can recognise the repetition.
 */
export async function prepareConnector(execution: Execution, call: ConnectorCall, scope: Scope): Promise<PreparedTask> {
  const { integrationType: integration_type, method, path, query = {}, body } = call;
  const shownInput = await evaluate(execution, { integration_type, method, path, query, body }, scope);
  const { run, deps, db } = execution;
  const request = toRequest(shownInput, `${run.id}.${scope.state.steps + 1}`);
  const app = { workspace_id: run.workspace_id, id: run.app_id };
  return {
    kind: 'call',
    shownInput,
    call: async ({ timeoutMs, signal }) =>
      readResult(
        await deps.sendToConnector(db, app, { ...request, timeoutMs: Math.min(timeoutMs, maxTimeoutMs), signal }),
        request,
        execution,
      ),
  };
}

interface EvaluatedCall {
  readonly integration_type: Json;
  readonly method: Json;
  readonly path: Json;
  readonly query: Json;
  /** Absent if the request has no body. */
  readonly body: Json | undefined;
}

type PreparedRequest = Omit<ConnectorRequest, 'timeoutMs' | 'signal'>;

function toRequest(call: EvaluatedCall, idempotencyKey: string): PreparedRequest {
  const { integration_type, method, path, query, body } = call;
  if (typeof integration_type !== 'string') throw fail('configuration', '`integration_type` must be a string.');
  if (typeof path !== 'string') throw fail('configuration', '`path` must be a string.');
  const whole = addQuery(path, query);
  if (whole.length > maxPathLength)
    throw fail('configuration', 'The path and query together exceed 2,048 characters.', { cause: 'too_large' });
  const sent = body === undefined ? undefined : toBody(body);
  if (sent !== undefined && Buffer.byteLength(sent.text) > maxBodyBytes)
    throw fail('validation', 'The body is larger than 1 MiB.', { cause: 'too_large' });
  return {
    integration_type,
    method: toMethod(method),
    path: whole,
    headers: {
      accept: 'application/json, */*;q=0.5',
      'user-agent': 'Plinth-Workflows/1',
      ...(sent !== undefined && { 'content-type': sent.type }),
      'idempotency-key': idempotencyKey,
    },
    ...(sent !== undefined && { body: sent.text }),
    maxBodyBytes: maxResponseBytes,
  };
}

function readResult(result: ConnectorResult, { method, path }: PreparedRequest, execution: Execution): CallResult {
  if (result.kind === 'unusable') throw describeUnusable(result.reason);
  const hideToken = createMask(result.secrets);
  const { output } = readOutcome(result.outcome, { method, url: path }, 'content', (value) =>
    execution.mask(hideToken(value)),
  );
  return { output: hideToken(output) };
}

function describeUnusable(reason: (ConnectorResult & { kind: 'unusable' })['reason']) {
  switch (reason) {
    case 'unknown_type':
      return fail('configuration', 'There is no connector of this type.', { status: 404 });
    case 'missing':
      return fail('configuration', 'The app has no connection to this service. Connect it first.', { status: 404 });
    case 'disconnected':
      return fail('configuration', 'The app was disconnected from this service. Connect it again.', { status: 404 });
    case 'expired':
      return fail('authentication', 'The connection to this service has expired. Connect it again.');
    case 'unavailable':
      return fail('communication', "The service can't renew the app's access right now. Try again later.", {
        status: 503,
      });
    case 'path':
      return fail('configuration', "The path is not a valid URL path, or leads outside the service's API.", {
        cause: 'address',
      });
    case 'body':
      return fail(
        'validation',
        'This service accepts only form data, so the body must be an object with string, number or boolean values.',
      );
  }
}
