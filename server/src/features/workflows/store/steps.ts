// The statements that record steps. Each statement also advances the run, but only for the worker that has claimed
// it, so a worker that has lost its claim changes nothing.
import { preparedForPartition } from '../../../kit/background/partitions.ts';
import { isClaimed, planForIds } from '../../../kit/background/queues/queue.ts';
import { prepared, transactionOf } from '../../../kit/db/database.ts';
import type { Db, Tables } from '../../../tables.ts';
import { type ClaimedRun, countState, type StoredState } from './runs.ts';

export type StepStatus = Tables['workflow_steps']['status'];

/** The partitions of steps: by the week in which their run began. */
export const stepPartitions = { column: 'run_id', days: 7 } as const;

/** A step as stored. `input`, `output` and `error` are serialised JSON. */
export interface StepRecord {
  readonly number: number;
  readonly task_path: string;
  readonly name: string;
  readonly task_type: string;
  readonly status: StepStatus;
  readonly attempt: number;
  readonly started_at: Date;
  readonly completed_at: Date | null;
  readonly input: string | null;
  readonly output: string | null;
  readonly error: string | null;
}

/** Undefined if the claim is lost. */
export type RunStatus = 'running' | 'cancelling' | undefined;

/** A step to record, and its run's state after the step. */
export interface SentStep {
  readonly run: ClaimedRun;
  readonly stored: StoredState;
  readonly step: StepRecord;
}

// The step is recorded even if the run has been cancelled in the meantime, and the run ends afterwards. A step that is
// recorded as running is completed, even if its worker crashed and another worker repeated it. Progress resets the
// error and crash counts, so a few unrelated errors can't end a 30-day run.
const commit = prepared<{ id: string; status: 'running' | 'cancelling' }, [runs: readonly string[], steps: string]>(
  'record workflow steps',
  `/* service */ with sent as materialized (
     select * from json_to_recordset($2::json) as s(workspace_id uuid, run_id uuid, claims integer, state json,
       state_sealed text, number integer, task_path text, name text, task_type text, status text, attempt integer,
       started_at timestamptz, completed_at timestamptz, input json, output json, error jsonb, state_bytes integer,
       step_bytes integer)),
   run as (
     update workflow_runs r set state = s.state, state_sealed = s.state_sealed, reservation_id = null,
       steps_count = s.number, failures = 0, crash_count = 0, ${countState('s.state_bytes', 's.step_bytes', 'r')}
     from sent s
     where r.id = any($1::uuid[]) and r.id = s.run_id and r.workspace_id = s.workspace_id and r.claims = s.claims
       and ${isClaimed} and r.status in ('running', 'cancelling')
     returning r.id, r.status),
   step as (
     insert into workflow_steps (workspace_id, run_id, number, task_path, name, task_type, status, attempt, started_at,
       completed_at, input, output, error)
     select s.workspace_id, s.run_id, s.number, s.task_path, s.name, s.task_type, s.status, s.attempt, s.started_at,
       s.completed_at, s.input, s.output, s.error from sent s join run on run.id = s.run_id
     on conflict (run_id, number) do update set task_path = excluded.task_path, name = excluded.name,
       task_type = excluded.task_type, status = excluded.status, attempt = excluded.attempt,
       started_at = excluded.started_at, completed_at = excluded.completed_at, input = excluded.input,
       output = excluded.output, error = excluded.error
     where workflow_steps.workspace_id = excluded.workspace_id and workflow_steps.status = 'running')
   select id, status from run`,
);

const setUpRecording = prepared<object, []>('set up recording of steps', `select ${planForIds}`);

/**
 * Records one step for each run. Returns the runs' statuses, keyed by run id. Runs whose claim was lost are left out.
 */
export async function insertSteps(db: Db, steps: readonly SentStep[]): Promise<ReadonlyMap<string, RunStatus>> {
  const runs = steps.map(({ run }) => run.id);
  const [, rows] = await transactionOf(
    db,
    setUpRecording.query(),
    commit.query(runs, `[${steps.map(toJson).join(',')}]`),
  );
  return new Map(rows.map(({ id, status }) => [id, status]));
}

/** Values that are already JSON are not serialised again, because they make up most of a step. */
function toJson({ run, stored, step }: SentStep): string {
  const { input, output, error, ...columns } = step;
  const { workspace_id, id: run_id, claims } = run;
  const { state_sealed } = stored;
  const state_bytes = measure(stored.state ?? state_sealed);
  const step_bytes = rowBytes + measure(input) + measure(output) + measure(error);
  const plain = JSON.stringify({ workspace_id, run_id, claims, state_sealed, state_bytes, step_bytes, ...columns });
  return `${plain.slice(0, -1)},"state":${stored.state},"input":${input},"output":${output},"error":${error}}`;
}

/** The row of a step and its entry in the index (core/storage/stored-tables.ts). */
const rowBytes = 300;
const measure = (json: string | null): number => (json === null ? 0 : Buffer.byteLength(json));

// Locks the run; a deletion of the run waits, and then removes this step too.
const announce = prepared<{ number: number }, readonly unknown[]>(
  'show workflow step that runs',
  `insert into workflow_steps (workspace_id, run_id, number, task_path, name, task_type, status, attempt, started_at, input)
   select $1, $2, $4::integer, $5, $6, $7, 'running', $8::integer, $9::timestamptz, $10::json from workflow_runs
   where workspace_id = $1 and id = $2 and claims = $3 and ${isClaimed} and status in ('running', 'cancelling')
   for key share
   on conflict (run_id, number) do nothing`,
);

/** Makes a long step visible while it is running. */
export async function showRunningStep(
  db: Db,
  run: ClaimedRun,
  step: Omit<StepRecord, 'status' | 'completed_at' | 'output' | 'error'>,
): Promise<void> {
  const { number, task_path, name, task_type, attempt, started_at, input } = step;
  await announce(
    db,
    run.workspace_id,
    run.id,
    run.claims,
    number,
    task_path,
    name,
    task_type,
    attempt,
    started_at,
    input,
  );
}

const cancelRunning = preparedForPartition<unknown, [workspaceId: string, runId: string, now: Date]>(
  'cancel workflow step that runs',
  stepPartitions,
  (isInPartition) => `with step as (
     update workflow_steps set status = 'cancelled', completed_at = $3
     where workspace_id = $1 and run_id = $2 and ${isInPartition} and status = 'running' returning number)
   update workflow_runs set steps_count = step.number from step
   where workspace_id = $1 and id = $2 and steps_count < step.number`,
);

/** Ends the step that was running when the run ended. If its worker crashed, the run has not counted the step yet. */
export async function cancelRunningSteps(
  db: Db,
  { workspace_id, id }: { readonly workspace_id: string; readonly id: string },
  now: Date,
): Promise<void> {
  await cancelRunning(id)(db, workspace_id, id, now);
}
