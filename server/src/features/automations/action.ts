// Automation actions: starting a workflow, or sending an HTTP request (docs/api/automations.md#actions).
import type { Jq } from '../../kit/jq/index.ts';
import type { Outbound } from '../../kit/outbound/outbound.ts';
import { describeErrorType, errorType, type Outcome } from '../../kit/outbound/outcome.ts';
import type { Db } from '../../tables.ts';
import { type Action, insertSecrets, listSecretNames } from './contract.ts';
import type { RunTarget } from './store/runs.ts';

/** Starts a run of an active workflow, at most once per `cause`. */
export type StartWorkflowRun = (
  db: Db,
  start: {
    readonly workspace_id: string;
    readonly app_id: string;
    readonly workflow_id: string;
    readonly trigger_type: 'entity' | 'scheduled';
    readonly input: unknown;
    readonly depth: number;
    readonly cause: `automation:${string}`;
  },
  now: Date,
) => Promise<'started' | 'not_found' | 'inactive'>;

/** Returns the values of an app's named secrets. Secrets that don't exist are left out. */
export type ReadSecrets = (
  db: Db,
  app: { readonly id: string },
  names: readonly string[],
) => Promise<ReadonlyMap<string, string>>;

export interface ActionDeps {
  readonly jq: Pick<Jq, 'evaluate'>;
  readonly outbound: Outbound;
  readonly startWorkflowRun: StartWorkflowRun;
  readonly readSecrets: ReadSecrets;
}

export interface RunContext {
  readonly db: Db;
  readonly now: Date;
  readonly signal: AbortSignal;
}

/** The run data that an attempt needs. */
export interface RunInput {
  readonly run_id: string;
  readonly payload: unknown;
  readonly depth: number;
}

/**
 * `done`: the action succeeded. `skipped`: the condition was not met. `busy`: too many expressions are being evaluated.
 * `failed`: the action failed. `message` gives the reason but reveals no part of a secret or a response. `mayHelp` is
 * true if another attempt may succeed.
 */
export type AttemptResult =
  | { readonly outcome: 'done' | 'skipped' | 'busy' }
  | { readonly outcome: 'failed'; readonly message: string; readonly mayHelp: boolean };

const done: AttemptResult = { outcome: 'done' };
const failed = (message: string, mayHelp: boolean): AttemptResult => ({ outcome: 'failed', message, mayHelp });

/** Evaluates the condition and, if it is met, performs the action. */
export async function attempt(
  deps: ActionDeps,
  target: RunTarget,
  input: RunInput,
  context: RunContext,
): Promise<AttemptResult> {
  const { condition, action } = target;
  if (condition !== null) {
    const verdict = await evaluate(deps, { target, what: 'condition', expression: condition, input, context });
    if ('outcome' in verdict) return verdict;
    if (verdict.value === false || verdict.value === null) return { outcome: 'skipped' };
  }
  return action.type === 'run_workflow'
    ? startWorkflow(deps, target, input, context)
    : sendRequest(deps, target, action, input, context);
}

async function evaluate(
  { jq }: ActionDeps,
  {
    target: { workspace_id },
    what,
    expression,
    input: { payload },
    context: { signal },
  }: {
    readonly target: RunTarget;
    readonly what: 'condition' | 'body';
    readonly expression: string;
    readonly input: RunInput;
    readonly context: RunContext;
  },
): Promise<AttemptResult | { readonly value: unknown }> {
  const result = await jq.evaluate([expression], { owner: workspace_id, input: payload, variables: {} }, signal);
  if ('values' in result) return { value: result.values[0] ?? null };
  if (result.kind === 'busy') return { outcome: 'busy' };
  return failed(`The ${what} expression failed: ${result.error}`, false);
}

async function startWorkflow(
  { startWorkflowRun }: ActionDeps,
  { workspace_id, app_id, type, action }: RunTarget,
  { run_id, payload, depth }: RunInput,
  { db, now }: RunContext,
): Promise<AttemptResult> {
  const start = {
    workspace_id,
    app_id,
    workflow_id: action.workflow_id ?? '',
    trigger_type: type,
    input: payload,
    depth: depth + 1,
    cause: `automation:${run_id}` as const,
  };
  const result = await startWorkflowRun(db, start, now);
  if (result === 'started') return done;
  return failed(
    result === 'not_found'
      ? 'The workflow does not exist or is archived. Choose a different one.'
      : 'The workflow is inactive. Activate it first.',
    false,
  );
}

const timeoutMs = 30_000;

async function sendRequest(
  deps: ActionDeps,
  target: RunTarget,
  action: Action,
  input: RunInput,
  context: RunContext,
): Promise<AttemptResult> {
  const body =
    action.body === undefined
      ? { value: input.payload }
      : await evaluate(deps, { target, what: 'body', expression: action.body, input, context });
  if ('outcome' in body) return body;
  const headers = Object.entries(action.headers ?? {});
  const names = [...new Set(headers.flatMap(([, value]) => listSecretNames(value)))];
  const secrets = await deps.readSecrets(context.db, { id: target.app_id }, names);
  const missing = names.filter((name) => !secrets.has(name));
  if (missing.length > 0) return failed(`The app has no secret named ${missing.join(', ')}. Add it first.`, true);
  const outcome = await deps.outbound.send({
    owner: target.workspace_id,
    method: 'POST',
    url: action.url ?? '',
    headers: {
      ...Object.fromEntries(headers.map(([name, value]) => [name, insertSecrets(value, secrets)])),
      'content-type': 'application/json',
      'user-agent': 'Plinth-Automations/1',
      'idempotency-key': input.run_id,
    },
    body: JSON.stringify(body.value),
    maxBodyBytes: 16 * 1024, // the body is discarded, but it must be read before the connection can be reused
    timeoutMs,
    signal: context.signal,
  });
  return readOutcome(outcome);
}

/** The message reveals no part of the response's body or headers, because they could contain a secret. */
function readOutcome(outcome: Outcome): AttemptResult {
  if (outcome.outcome === 'answered')
    return outcome.status >= 200 && outcome.status < 300
      ? done
      : failed(`The endpoint responded with status ${outcome.status}.`, true);
  if (outcome.outcome === 'refused' && outcome.reason === 'header')
    return failed("A header can't be sent because a secret in it contains characters not allowed in headers.", true);
  return failed(describeErrorType(errorType(outcome), timeoutMs), true);
}
