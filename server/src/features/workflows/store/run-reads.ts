// The queries that read runs for users: run lists, and single runs with their steps.
import { sql } from 'kysely';
import { preparedForPartition } from '../../../kit/background/partitions.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import type { RunQuery } from '../contract.ts';
import type { RunSummary, StepRow, WorkflowKey } from './rows.ts';
import { stepPartitions } from './steps.ts';
import type { AppKey } from './workflows.ts';

const summaryColumns = [
  'id',
  'workspace_id',
  'app_id',
  'workflow_id',
  'workflow_name',
  'version_id',
  'trigger_type',
  'is_test_run',
  'status',
  'status_reason',
  'started_at',
  'completed_at',
  'steps_count',
  'error_message',
  'failed_step',
] as const;

const selectRuns = (db: Db, workspace_id: string) =>
  db.selectFrom('workflow_runs').where('workspace_id', '=', workspace_id).select(summaryColumns);

type RunFilters = Pick<RunQuery, 'limit' | 'status' | 'since'>;

export const listRunsOfApp = (db: Db, app: AppKey, filters: RunFilters, after: Position | undefined) =>
  filterRuns(selectRuns(db, app.workspace_id).where('app_id', '=', app.id), filters, after);

export const listRunsOfWorkflow = (db: Db, workflow: WorkflowKey, filters: RunFilters, after: Position | undefined) =>
  filterRuns(selectRuns(db, workflow.workspace_id).where('workflow_id', '=', workflow.id), filters, after);

/** Applies the filters and sorts the runs, newest first. */
function filterRuns(
  selected: ReturnType<typeof selectRuns>,
  { limit, status, since }: RunFilters,
  after: Position | undefined,
): Promise<RunSummary[]> {
  let runs = selected
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1);
  if (status !== undefined) runs = runs.where('status', '=', status);
  if (since !== undefined) runs = runs.where('started_at', '>=', since);
  if (after) runs = runs.where(sql<boolean>`(started_at, id) < (${after[0]}::timestamptz, ${after[1]}::uuid)`);
  return runs.execute();
}

export const findRun = (db: Db, workflow: WorkflowKey, id: string): Promise<RunSummary | undefined> =>
  selectRuns(db, workflow.workspace_id)
    .where('workflow_id', '=', workflow.id)
    .where('id', '=', idOrNull(id))
    .executeTakeFirst();

/** Returns the input with which the run was started. */
export const findRunInput = (db: Db, workflow: WorkflowKey, id: string) =>
  db
    .selectFrom('workflow_runs')
    .where('workspace_id', '=', workflow.workspace_id)
    .where('workflow_id', '=', workflow.id)
    .where('id', '=', idOrNull(id))
    .select(['input', 'trigger_type', 'cause'])
    .executeTakeFirst();

type RunKey = Pick<RunSummary, 'workspace_id' | 'id'>;

/** Lists all steps. Inputs and outputs are included only for steps `from` to `to`. */
export const listSteps = (db: Db, { workspace_id, id }: RunKey, from: number, to: number): Promise<StepRow[]> =>
  selectSteps(id)(db, workspace_id, id, from, to);

const stepColumns = `workspace_id, run_id, number, task_path, name, task_type, status, attempt, started_at, completed_at, error`;

const selectSteps = preparedForPartition<StepRow, [workspaceId: string, runId: string, from: number, to: number]>(
  'list steps of workflow run',
  stepPartitions,
  (isInPartition) => `select ${stepColumns}, case when number between $3 and $4 then input end as input,
     case when number between $3 and $4 then output end as output
   from workflow_steps where workspace_id = $1 and run_id = $2 and ${isInPartition} order by number`,
);

/** Lists the steps from number `from` on, limited in number and total size. Returns at least one if there are any. */
export const listStepsFrom = (
  db: Db,
  { workspace_id, id }: RunKey,
  from: number,
  { limit, maxBytes }: { readonly limit: number; readonly maxBytes: number },
): Promise<ListedStep[]> => selectStepsFrom(id)(db, workspace_id, id, from, limit, maxBytes);

type ListedStep = StepRow & { readonly has_next: boolean };

const selectStepsFrom = preparedForPartition<
  ListedStep,
  [workspaceId: string, runId: string, from: number, limit: number, maxBytes: number]
>(
  'list next steps of workflow run',
  stepPartitions,
  (isInPartition) => `select ${stepColumns}, input, output, has_next from (
     select next.*, lead(number) over (order by number) is not null as has_next,
       row_number() over (order by number) as place, sum(size) over (order by number) - size as before
     from (
       select ${stepColumns}, input, output, coalesce(pg_column_size(input), 0) + coalesce(pg_column_size(output), 0) as size
       from workflow_steps where workspace_id = $1 and run_id = $2 and ${isInPartition} and number >= $3
       order by number limit $4 + 1) next
   ) counted where place <= $4 and before < $5 order by number`,
);

/** Returns the latest status of each task in the run. */
export async function listTaskStatuses(
  db: Db,
  { workspace_id, id }: RunKey,
): Promise<ReadonlyMap<string, StepRow['status']>> {
  const rows = await selectStatuses(id)(db, workspace_id, id);
  return new Map(rows.map(({ task_path, status }) => [task_path, status]));
}

const selectStatuses = preparedForPartition<
  Pick<StepRow, 'task_path' | 'status'>,
  [workspaceId: string, runId: string]
>(
  'list statuses of tasks of workflow run',
  stepPartitions,
  (isInPartition) => `select distinct on (task_path) task_path, status from workflow_steps
   where workspace_id = $1 and run_id = $2 and ${isInPartition} order by task_path, number desc`,
);
