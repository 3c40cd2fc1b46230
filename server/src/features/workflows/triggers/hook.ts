// Hooks: requests from external clients that start a workflow with the trigger `webhook`. The token in the address
// is the credential.
import type { HookAccess } from '../../../core/auth/proofs.ts';
import type { Jq } from '../../../kit/jq/index.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { readStoredTrigger } from '../definition/trigger.ts';
import { jqBusy } from '../jq-busy.ts';
import type { WorkflowRow } from '../store/rows.ts';
import { findHookWorkflow } from '../store/workflows.ts';
import { toRef, turnOffWorkflow } from '../turn-off.ts';
import { judgeCondition, type Verdict } from './condition.ts';
import { isInPlan, startTriggered, type TriggerDeps } from './start.ts';

export interface HookRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/**
 * Headers that describe the content and its sender. Other headers may be credentials, or describe the network in
 * between.
 */
const passedHeaders = [
  'content-type',
  'idempotency-key',
  'user-agent',
  'webhook-id',
  'webhook-timestamp',
  'x-event-key',
  'x-event-type',
  'x-github-delivery',
  'x-github-event',
  'x-gitlab-event',
  'x-shopify-topic',
  'x-slack-request-timestamp',
] as const;

function toInput({ headers, query, body }: HookRequest) {
  const passed = passedHeaders.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]));
  return { headers: Object.fromEntries(passed), query, body: body ?? null };
}

/** The result of the check, which runs before the transaction because it evaluates an expression. */
export interface CheckedHook {
  readonly input: unknown;
  readonly verdict: Exclude<Verdict, 'busy'>;
}

export async function checkHook(
  db: Db,
  access: HookAccess,
  request: HookRequest,
  jq: Pick<Jq, 'evaluate'>,
  now: Date,
): Promise<CheckedHook> {
  const workflow = await getActive(db, access);
  if (!(await isInPlan(db, workflow, access.plan, now))) throw workflowInactive();
  const trigger = readStoredTrigger(workflow.trigger);
  if (trigger === undefined) {
    await turnOffWorkflow(db, toRef(workflow), 'definition_invalid', now);
    throw workflowInactive();
  }
  const input = toInput(request);
  const verdict = await judgeCondition(trigger, input, access.workspace_id, jq);
  if (verdict === 'busy') throw jqBusy();
  return { input, verdict };
}

/** `run_id` is null if the trigger's condition is not met. */
export async function receiveHook(
  db: Db,
  deps: TriggerDeps,
  access: HookAccess,
  { input, verdict }: CheckedHook,
  now: Date,
): Promise<{ run_id: string | null }> {
  const workflow = await getActive(db, access);
  if (verdict === 'not_met') return { run_id: null };
  const failure = verdict === 'met' ? {} : verdict;
  const [run_id = null] = await startTriggered(db, deps, [{ workflow, input, depth: 0, ...failure }], now);
  return { run_id };
}

async function getActive(db: Db, access: HookAccess): Promise<WorkflowRow> {
  const workflow = await findHookWorkflow(db, access);
  if (workflow === undefined || workflow.trigger_type !== 'webhook') throw notFound('workflow_not_found');
  if (workflow.status !== 'active') throw workflowInactive();
  return workflow;
}

const workflowInactive = () =>
  new Problem(
    'conflict',
    'workflow_inactive',
    "This hook's workflow is not active, so no run was started. Ask the workflow's owner to turn it on.",
    { retrySafe: true },
  );
