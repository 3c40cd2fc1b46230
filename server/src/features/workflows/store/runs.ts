// The queries on runs: starting, claiming, ending and removing them. Queries on steps are in steps.ts.
import { type Selectable, sql } from 'kysely';
import { purge } from '../../../kit/background/purge.ts';
import type { QueueRow } from '../../../kit/background/queues/queue.ts';
import { prepared } from '../../../kit/db/database.ts';
import type { Db, Tables } from '../../../tables.ts';

/** A run without its data, which may be large. */
export type RunRow = Omit<Selectable<Tables['workflow_runs']>, keyof RunData | StoredSize | 'changed_in'> & QueueRow;

type StoredSize = 'stored_bytes' | 'state_bytes' | 'counted_bytes';

export type RunData = Pick<Selectable<Tables['workflow_runs']>, 'input' | 'state' | 'state_sealed'>;

/** A run's columns, except its data. */
export const runColumns = [
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
  'depth',
  'cause',
  'started_by',
  'started_at',
  'begun_at',
  'completed_at',
  'steps_count',
  'error_message',
  'failed_step',
  'failure',
  'reservation_id',
  'due_at',
  'claims',
  'failures',
  'crash_count',
  'claimed_slot',
  'claimed_epoch',
  'last_error',
  'failed_at',
] as const satisfies readonly (keyof RunRow)[];

export interface RunKey {
  readonly workspace_id: string;
  readonly id: string;
}

/** A run that a worker has claimed. */
export interface ClaimedRun extends RunKey {
  readonly claims: number;
}

/** The state from which the run continues. One of these columns is null. */
export interface StoredState {
  readonly state: string | null;
  readonly state_sealed: string | null;
}

export interface AppRef {
  readonly workspace_id: string;
  readonly app_id: string;
}

// ---- starting

export interface InsertedRun {
  readonly id: string;
  readonly workspace_id: string;
  readonly app_id: string;
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly version_id: string;
  readonly trigger_type: RunRow['trigger_type'];
  readonly is_test_run: boolean;
  /** Serialised JSON. */
  readonly input: string;
  readonly depth: number;
  readonly cause: string | null;
  readonly started_by: string | null;
}

const runBytes = '1800 + octet_length(input)';

const insertBatch = prepared<{ id: string; workflow_id: string }, [runs: string, now: Date]>(
  'start workflow runs',
  `insert into workflow_runs (id, workspace_id, app_id, workflow_id, workflow_name, version_id, trigger_type, is_test_run,
     input, depth, cause, started_by, started_at, due_at, stored_bytes, counted_bytes)
   select id, workspace_id, app_id, workflow_id, workflow_name, version_id, trigger_type, is_test_run, input::json, depth,
     cause, started_by, $2, clock_timestamp(), ${runBytes}, ${runBytes}
   from json_to_recordset($1::json) as r(id uuid, workspace_id uuid, app_id uuid, workflow_id uuid, workflow_name text,
     version_id text, trigger_type text, is_test_run boolean, input text, depth integer, cause text,
     started_by uuid)
   on conflict (workflow_id, cause) where cause is not null do nothing
   returning id, workflow_id`,
);

/** Returns the inserted runs. A run is not inserted if its cause already has one. */
export const insertRuns = (db: Db, runs: readonly InsertedRun[], now: Date) =>
  insertBatch(db, JSON.stringify(runs), now);

const countBatch = prepared<never, [workspaceId: string, ids: readonly string[], counts: readonly number[], now: Date]>(
  'count workflow runs',
  // Workflows are locked in id order, so two transactions that count the same workflows don't deadlock.
  `with counted as (
     select w.id, c.count from workflows w join unnest($2::uuid[], $3::integer[]) c(id, count) on c.id = w.id
     where w.workspace_id = $1 order by w.id for no key update of w)
   update workflows w set total_runs = w.total_runs + counted.count, last_run_at = greatest(w.last_run_at, $4)
   from counted where w.workspace_id = $1 and w.id = counted.id`,
);

export async function countRuns(
  db: Db,
  workspaceId: string,
  counts: ReadonlyMap<string, number>,
  now: Date,
): Promise<void> {
  await countBatch(db, workspaceId, [...counts.keys()], [...counts.values()], now);
}

// ---- running

const updateBegun = prepared<{ begun: number }, [workspaceId: string, id: string, claims: number, now: Date]>(
  'begin workflow run',
  `update workflow_runs set begun_at = $4
   where workspace_id = $1 and id = $2 and claims = $3 and claimed_slot is not null and begun_at is null returning 1 as begun`,
);

/** Returns whether the claim is still valid and the run had not begun before. */
export const saveBegun = async (db: Db, { workspace_id, id, claims }: ClaimedRun, now: Date): Promise<boolean> =>
  (await updateBegun(db, workspace_id, id, claims, now)).length > 0;

/**
 * Sets the bytes that a run stores, with a state of `stateBytes` bytes and `moreBytes` of steps. They are counted once they
 * differ by 64 KiB from what is counted, so a step usually costs no further row.
 */
export function countState(stateBytes: string, moreBytes = '0', run = 'workflow_runs'): string {
  const stored = `${run}.stored_bytes - ${run}.state_bytes + ${stateBytes} + ${moreBytes}`;
  return `stored_bytes = ${stored}, state_bytes = ${stateBytes}, counted_bytes = case
    when abs(${stored} - ${run}.counted_bytes) < 65536 then ${run}.counted_bytes else ${stored} end`;
}

const updateState = prepared<{ status: 'running' | 'cancelling' }, readonly unknown[]>(
  'save state of workflow run',
  `update workflow_runs set state = $4, state_sealed = $5, reservation_id = $6, ${countState('coalesce(octet_length(coalesce($4::json::text, $5)), 0)')}
   where workspace_id = $1 and id = $2 and claims = $3 and claimed_slot is not null and status in ('running', 'cancelling')
   returning status`,
);

/** Saves a run's state without recording a step. */
export const saveState = async (
  db: Db,
  { workspace_id, id, claims }: ClaimedRun,
  { state, state_sealed }: StoredState,
  reservationId: string | null,
) => (await updateState(db, workspace_id, id, claims, state, state_sealed, reservationId))[0]?.status;

const selectData = prepared<RunData, [workspaceId: string, id: string]>(
  'read data of workflow run',
  'select input, state, state_sealed from workflow_runs where workspace_id = $1 and id = $2',
);

/** Returns undefined if the run was removed. */
export const findRunData = async (db: Db, { workspace_id, id }: RunKey): Promise<RunData | undefined> =>
  (await selectData(db, workspace_id, id))[0];

const selectStatus = prepared<{ status: RunRow['status'] }, [workspaceId: string, id: string]>(
  'find status of workflow run',
  'select status from workflow_runs where workspace_id = $1 and id = $2',
);

export const findRunStatus = async (db: Db, { workspace_id, id }: RunKey): Promise<RunRow['status'] | undefined> =>
  (await selectStatus(db, workspace_id, id))[0]?.status;

const selectDefinition = prepared<
  { definition: unknown },
  [workspaceId: string, workflowId: string, versionId: string]
>(
  'find definition of workflow run',
  'select definition from workflow_versions where workspace_id = $1 and workflow_id = $2 and version_id = $3',
);

export const findDefinition = async (
  db: Db,
  { workspace_id, workflow_id, version_id }: Pick<RunRow, 'workspace_id' | 'workflow_id' | 'version_id'>,
): Promise<unknown> => (await selectDefinition(db, workspace_id, workflow_id, version_id))[0]?.definition;

// ---- ending

export interface RunEnd {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly status_reason: RunRow['status_reason'];
  readonly error_message: string | null;
  readonly failed_step: number | null;
  /** Serialised JSON. */
  readonly failure: string | null;
}

const updateEnd = prepared<{ reservation_id: string | null }, readonly unknown[]>(
  'end workflow run',
  `update workflow_runs set status = $3,
     status_reason = case $3 when 'cancelled' then coalesce($4, status_reason) else $4 end, error_message = $5, failed_step = $6, failure = $7,
     completed_at = $8, state = null, state_sealed = null, due_at = null, stored_bytes = stored_bytes - state_bytes,
     counted_bytes = stored_bytes - state_bytes, state_bytes = 0
   where workspace_id = $1 and id = $2 and status in ('running', 'cancelling')
     and ($9::integer is null or (claims = $9 and claimed_slot is not null))
   returning reservation_id`,
);

/**
 * Ends a run once. If `claims` is given, the run must still have that claim. Returns undefined if the run was not
 * ended. The row stays claimed until the queue completes it, and is not claimed again, because it has no `due_at`.
 */
export async function saveEnd(
  db: Db,
  { workspace_id, id }: RunKey,
  end: RunEnd,
  now: Date,
  claims?: number,
): Promise<{ readonly reservation_id: string | null } | undefined> {
  const { status, status_reason, error_message, failed_step, failure } = end;
  const columns = [status, status_reason, error_message, failed_step, failure, now, claims ?? null];
  return (await updateEnd(db, workspace_id, id, ...columns))[0];
}

const updateWorkflow = prepared<
  { consecutive_failures: number; was_active: boolean; name: string },
  [workspaceId: string, id: string, status: RunEnd['status'], maxFailures: number, now: Date]
>(
  'record end of workflow run',
  `update workflows w set last_run_status = $3,
     consecutive_failures = case $3 when 'failed' then w.consecutive_failures + 1 when 'completed' then 0
       else w.consecutive_failures end,
     status = case when turned_off then 'inactive' else w.status end,
     status_reason = case when turned_off then 'consecutive_failures' else w.status_reason end,
     next_tick_at = case when turned_off then null else w.next_tick_at end,
     updated_date = case when turned_off then $5 else w.updated_date end
   from (select id, status = 'active' and $3 = 'failed' and consecutive_failures + 1 >= $4 as turned_off
     from workflows where workspace_id = $1 and id = $2 for no key update) before
   where w.workspace_id = $1 and w.id = before.id
   returning w.consecutive_failures, turned_off as was_active, w.name`,
);

/** Records a run's end on its workflow. Returns the workflow if this made it inactive. */
export async function saveWorkflowResult(
  db: Db,
  { workspace_id, workflow_id }: Pick<RunRow, 'workspace_id' | 'workflow_id'>,
  status: RunEnd['status'],
  maxFailures: number,
  now: Date,
): Promise<{ readonly consecutive_failures: number; readonly name: string } | undefined> {
  const [row] = await updateWorkflow(db, workspace_id, workflow_id, status, maxFailures, now);
  return row?.was_active ? row : undefined;
}

/** Makes a workflow inactive because its runs can't succeed. Returns whether it was active before. */
export async function deactivateWorkflow(
  db: Db,
  { workspace_id, workflow_id }: Pick<RunRow, 'workspace_id' | 'workflow_id'>,
  status_reason: 'workflows_not_available' | 'definition_invalid',
  now: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('workflows')
    .set({ status: 'inactive', status_reason, next_tick_at: null, updated_date: now })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', workflow_id)
    .where('status', '=', 'active')
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

// ---- cancelling

/** Returns undefined if the run was removed. */
export const lockRun = (db: Db, { workspace_id, id }: RunKey): Promise<RunRow | undefined> =>
  db
    .selectFrom('workflow_runs')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .select(runColumns)
    .forNoKeyUpdate()
    .executeTakeFirst();

/** Locks an app's next runs that have neither ended nor been cancelled, in id order. */
export const lockRunsOfApp = (db: Db, { workspace_id, app_id }: AppRef, limit: number): Promise<RunRow[]> =>
  db
    .selectFrom('workflow_runs')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('completed_at', 'is', null)
    .where('status', '=', 'running')
    .select(runColumns)
    .orderBy('id')
    .limit(limit)
    .forNoKeyUpdate()
    .execute();

export async function saveCancelling(
  db: Db,
  { workspace_id, id }: RunKey,
  status_reason: RunRow['status_reason'],
): Promise<void> {
  await db
    .updateTable('workflow_runs')
    .set({ status: 'cancelling', status_reason })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

/**
 * If a run was cancelled while its worker was pausing it, makes it due immediately. Returns whether it was cancelled.
 */
export async function makeDueIfCancelling(db: Db, { workspace_id, id }: RunKey): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('workflow_runs')
    .set({ due_at: sql<Date>`clock_timestamp()` })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('status', '=', 'cancelling')
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

// ---- jobs

const keptMs = 90 * 24 * 60 * 60 * 1000;
const batchSize = 1_000;

/** Polling query: returns how long until a run can be removed, in milliseconds. */
export const oldRunsDueInMs = `select extract(epoch from completed_at - $1) * 1000 + ${keptMs} from workflow_runs
   where completed_at is not null order by completed_at limit 1`;

/**
 * Removes runs 90 days after their end, oldest first. Their steps are removed with all others of their week
 * (docs/internals/background-work.md#partitions). Returns how many runs were removed.
 */
export const removeOldRuns = (db: Db, now: Date): Promise<number> =>
  purge(db, {
    table: 'workflow_runs',
    where: sql`completed_at < ${new Date(now.getTime() - keptMs)} and claimed_slot is null`,
    order: 'completed_at',
    batchSize,
  });

/**
 * Lists the states of unfinished runs that are sealed under a master key other than `keyId`. To find them, only each
 * state's prefix is read.
 */
export async function listStatesUnderOldKeys(db: Db, keyId: string, limit: number) {
  const prefix = `v1.${keyId}.`;
  const { rows } = await sql<RunKey & { state_sealed: string }>`/* service */
    select workspace_id, id, state_sealed from workflow_runs
    where completed_at is null and left(state_sealed, ${prefix.length}) <> ${prefix} limit ${limit}`.execute(db);
  return rows;
}

/** Writes only if the state has not changed since it was read. If it has, it already uses the current key. */
export async function saveRewrappedState(
  db: Db,
  { workspace_id, id, state_sealed }: RunKey & { readonly state_sealed: string },
  rewrapped: string,
): Promise<void> {
  await db
    .updateTable('workflow_runs')
    .set({ state_sealed: rewrapped })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('state_sealed', '=', state_sealed)
    .execute();
}
