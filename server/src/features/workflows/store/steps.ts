// Owns the statements that record steps. Each is one statement that also moves the run on, and only for the worker that has
// claimed the run: what a worker that has lost its claim still does leaves no trace.
import { prepared } from '../../../kit/db/database.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { ClaimedRun, StoredState } from './runs.ts';

export type StepStatus = Tables['workflow_steps']['status'];

/** A step as it is stored; `input`, `output` and `error` are JSON texts. */
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

/** Undefined: the claim is lost. */
export type RunStatus = 'running' | 'cancelling' | undefined;

// The run of the claim, whoever cancels it meanwhile: the step that is under way is recorded, and then the run ends.
const isClaimed = `workspace_id = $1 and id = $2 and claims = $3 and claimed_slot is not null
       and status in ('running', 'cancelling')`;

// A step that was recorded as running is completed, also after a crash, when another worker has run it again. Progress clears
// the counts of errors and crashes: a run of 30 days must not end because of a few unrelated ones.
const commit = prepared<{ status: 'running' | 'cancelling' }, readonly unknown[]>(
  'record workflow step',
  `with run as (
     update workflow_runs set state = $4, state_sealed = $5, reservation_id = null, steps_count = $6, failures = 0, crash_count = 0
     where ${isClaimed} returning status),
   step as (
     insert into workflow_steps (workspace_id, run_id, number, task_path, name, task_type, status, attempt, started_at,
       completed_at, input, output, error)
     select $1, $2, $6, $7, $8, $9, $10, $11::integer, $12::timestamptz, $13::timestamptz, $14::json, $15::json, $16::jsonb from run
     on conflict (run_id, number) do update set task_path = excluded.task_path, name = excluded.name,
       task_type = excluded.task_type, status = excluded.status, attempt = excluded.attempt,
       started_at = excluded.started_at, completed_at = excluded.completed_at, input = excluded.input,
       output = excluded.output, error = excluded.error
     where workflow_steps.workspace_id = $1 and workflow_steps.status = 'running')
   select status from run`,
);

/** Records a step, with the state after it. */
export async function insertStep(db: Db, run: ClaimedRun, stored: StoredState, step: StepRecord): Promise<RunStatus> {
  const { number, task_path, name, task_type, status, attempt, started_at, completed_at, input, output, error } = step;
  const columns = [task_path, name, task_type, status, attempt, started_at, completed_at, input, output, error];
  const key = [run.workspace_id, run.id, run.claims, stored.state, stored.state_sealed, number];
  return (await commit(db, ...key, ...columns))[0]?.status;
}

const announce = prepared<{ number: number }, readonly unknown[]>(
  'show workflow step that runs',
  `insert into workflow_steps (workspace_id, run_id, number, task_path, name, task_type, status, attempt, started_at, input)
   select $1, $2, $4::integer, $5, $6, $7, 'running', $8::integer, $9::timestamptz, $10::json from workflow_runs where ${isClaimed}
   on conflict (run_id, number) do nothing`,
);

/** Shows a step that takes longer, while it runs. */
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

/** Ends the step that was under way when the run was cancelled. */
export async function cancelRunningSteps(
  db: Db,
  { workspace_id, id }: { readonly workspace_id: string; readonly id: string },
  now: Date,
): Promise<void> {
  await db
    .updateTable('workflow_steps')
    .set({ status: 'cancelled', completed_at: now })
    .where('workspace_id', '=', workspace_id)
    .where('run_id', '=', id)
    .where('status', '=', 'running')
    .execute();
}
