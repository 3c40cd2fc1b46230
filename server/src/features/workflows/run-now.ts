// Starts a run manually, with the caller's input or with an earlier run's input.
import { audit } from '../../core/audit/audit.ts';
import { requireCredits } from '../../core/credits/reservations.ts';
import { transaction } from '../../kit/db/database.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import type { Jq } from '../../kit/jq/index.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { maxInputBytes, type RunRequest } from './contract.ts';
import { type Trigger, toTrigger } from './definition/trigger.ts';
import { checkStored } from './draft.ts';
import { jqBusy } from './jq-busy.ts';
import { runCredits } from './runs/execute.ts';
import { type StartDeps, startRuns } from './runs/start.ts';
import type { WorkflowAccess, WorkflowRow } from './store/rows.ts';
import { findRunInput } from './store/run-reads.ts';
import type { RunRow } from './store/runs.ts';
import { judgeCondition } from './triggers/condition.ts';
import { automationCause } from './triggers/start.ts';
import { workflowArchived } from './workflow.ts';

/** The run's input and trigger type. */
export interface RunSource {
  readonly input: unknown;
  readonly trigger_type: WorkflowRow['trigger_type'];
}

/** Reads the run to replay, and checks that the trigger would still start a run with the same input. */
export async function prepareRun(
  db: Db,
  access: WorkflowAccess,
  { input, replay_from_run_id }: RunRequest,
  jq: Jq,
): Promise<RunSource> {
  const { workflow } = access;
  if (workflow.status === 'archived') throw workflowArchived();
  if (workflow.status !== 'active' && (await checkStored(db, access, jq)) === undefined) throw definitionInvalid();
  if (replay_from_run_id === undefined) return { input: checkInput(input ?? {}), trigger_type: 'manual' };
  if (input !== undefined && input !== null) throw bothSent();
  const earlier = await findRunInput(db, workflow, replay_from_run_id);
  if (earlier === undefined) throw notFound('run_not_found');
  const source: RunSource = { input: earlier.input, trigger_type: earlier.trigger_type };
  if (isWithoutTrigger(earlier)) return source;
  const trigger = toTrigger(workflow.trigger);
  if (!isForTrigger(trigger, source)) throw payloadMismatch();
  await checkCondition(trigger, source.input, workflow, jq);
  return source;
}

/** Whether the run was started by a user, or by an automation, which has its own trigger. */
const isWithoutTrigger = ({ trigger_type, cause }: Pick<RunRow, 'trigger_type' | 'cause'>): boolean =>
  trigger_type === 'manual' || (cause?.startsWith(automationCause) ?? false);

/**
 * Imported workflows and workflows from earlier versions may be invalid. Active workflows have already been checked.
 */
const definitionInvalid = () =>
  new Problem(
    'conflict',
    'workflow_inactive',
    "This workflow's definition or trigger is invalid. Use validateWorkflow to find the errors, then save the corrected workflow.",
    { retrySafe: false },
  );

function checkInput(input: unknown): unknown {
  if (Buffer.byteLength(JSON.stringify(input)) <= maxInputBytes) return input;
  const msg = `must be at most ${maxInputBytes} bytes as JSON`;
  throw new ValidationError([{ loc: ['body', 'input'], msg, type: 'value_error' }]);
}

const bothSent = () =>
  new ValidationError([
    { loc: ['body', 'input'], msg: 'must not be sent together with `replay_from_run_id`', type: 'value_error' },
  ]);

/** Whether the trigger still accepts the earlier run's input. */
function isForTrigger({ config }: Trigger, { input, trigger_type }: RunSource): boolean {
  if (config.trigger_type !== trigger_type) return false;
  const payload = (typeof input === 'object' && input !== null ? input : {}) as Readonly<Record<string, unknown>>;
  switch (config.trigger_type) {
    case 'entity':
      return (
        payload.entity_name === config.entity_name &&
        config.event_types.some((type) => `entity.${type}d` === payload.type)
      );
    case 'agent_message':
      return payload.agent_id === config.agent_id && payload.type === config.event;
    case 'event':
      return payload.type === config.type;
    default:
      return true;
  }
}

async function checkCondition(
  trigger: Trigger,
  input: unknown,
  { workspace_id }: WorkflowRow,
  jq: Pick<Jq, 'evaluate'>,
): Promise<void> {
  const verdict = await judgeCondition(trigger, input, workspace_id, jq);
  if (verdict === 'busy') throw jqBusy();
  if (verdict !== 'met') throw payloadMismatch();
}

const payloadMismatch = () =>
  new Problem(
    'conflict',
    'replay_payload_mismatch',
    "The earlier run's input no longer matches the workflow's trigger. Send `input` instead.",
    { retrySafe: false },
  );

export function runWorkflow(db: Db, deps: StartDeps, access: WorkflowAccess, source: RunSource, now: Date) {
  const { workflow, workspace_id } = access;
  const { user_id } = access.caller;
  return transaction(db, async (db) => {
    await requireCredits(db, { workspace_id, user_id, amount: runCredits }, now);
    const start = { depth: 0, is_test_run: true, started_by: user_id };
    const run = { workspace_id, app_id: workflow.app_id, workflow, ...source, ...start };
    const [run_id] = await startRuns(db, deps, [run], now);
    if (run_id === undefined) throw new Error('the run was not started');
    const target = { kind: 'workflow', id: workflow.id };
    await audit(db, access, { type: 'workflow.run', target, app_id: workflow.app_id, after: { run_id } }, now);
    return { status: 'started', message: 'The run has started. Check its status with getRun.', run_id } as const;
  });
}
