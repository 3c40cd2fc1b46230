// The queries on runs, whose table also serves as the run queue. A status changes only if the transition is
// allowed, so a worker that has lost its claim, or that writes after a cancellation, changes nothing.
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { QueueRow } from '../../../kit/background/queues/queue.ts';
import { prepared } from '../../../kit/db/database.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db, Tables } from '../../../tables.ts';
import { listSources, type Status } from '../transitions.ts';
import { type AppKey, toAppKey } from './flows.ts';

export type ExecutionRow = Selectable<Tables['test_executions']> & QueueRow;
export type ExecutionKey = Pick<ExecutionRow, 'workspace_id' | 'app_id' | 'id'>;

const selectExecutions = (db: Db, { workspace_id, app_id }: AppKey) =>
  db
    .selectFrom('test_executions')
    .where('test_executions.workspace_id', '=', workspace_id)
    .where('test_executions.app_id', '=', app_id);

/** Lists runs newest first, with one row more than the limit. */
export function listExecutions(
  db: Db,
  app: AppKey,
  { flow_id, limit }: { readonly flow_id?: string | undefined; readonly limit: number },
  after: Position | undefined,
): Promise<ExecutionRow[]> {
  let page = selectExecutions(db, app)
    .selectAll()
    .orderBy('id', 'desc')
    .limit(limit + 1);
  if (flow_id !== undefined) page = page.where('flow_id', '=', idOrNull(flow_id));
  if (after !== undefined) page = page.where('id', '<', String(after[0]));
  return page.execute();
}

/** The newest run of each existing flow. */
export const listLatestExecutions = (db: Db, app: AppKey): Promise<ExecutionRow[]> =>
  db
    .selectFrom('test_flows')
    .where('test_flows.workspace_id', '=', app.workspace_id)
    .where('test_flows.app_id', '=', app.app_id)
    .where('deleting_since', 'is', null)
    .innerJoinLateral(
      (is) =>
        is
          .selectFrom('test_executions')
          .where('test_executions.workspace_id', '=', app.workspace_id)
          .where('test_executions.app_id', '=', app.app_id)
          .whereRef('test_executions.flow_id', '=', 'test_flows.id')
          .orderBy('test_executions.id', 'desc')
          .limit(1)
          .selectAll('test_executions')
          .as('latest'),
      (join) => join.onTrue(),
    )
    .selectAll('latest')
    .execute();

export const findExecution = (db: Db, access: AppAccess, id: string): Promise<ExecutionRow | undefined> =>
  selectExecutions(db, toAppKey(access)).where('id', '=', idOrNull(id)).selectAll().executeTakeFirst();

export const findExecutionByKey = (db: Db, { id, ...app }: ExecutionKey): Promise<ExecutionRow | undefined> =>
  selectExecutions(db, app).where('id', '=', id).selectAll().executeTakeFirst();

/** The flow's active run. */
export const findActiveExecution = (db: Db, app: AppKey, flow_id: string): Promise<ExecutionRow | undefined> =>
  selectExecutions(db, app)
    .where('flow_id', '=', flow_id)
    .where('completed_at', 'is', null)
    .selectAll()
    .executeTakeFirst();

export const findNewestExecution = (db: Db, app: AppKey, flow_id: string): Promise<ExecutionRow | undefined> =>
  selectExecutions(db, app)
    .where('flow_id', '=', flow_id)
    .orderBy('id', 'desc')
    .limit(1)
    .selectAll()
    .executeTakeFirst();

/** Locks an active run. */
export const lockActiveExecution = (db: Db, { id, ...app }: ExecutionKey): Promise<ExecutionRow | undefined> =>
  selectExecutions(db, app)
    .where('id', '=', id)
    .where('completed_at', 'is', null)
    .selectAll()
    .forNoKeyUpdate()
    .executeTakeFirst();

/** Like `lockActiveExecution`, but for the run's worker. Also returns undefined if the worker has lost its claim. */
export const lockClaimedExecution = (db: Db, { id, claims, ...app }: ExecutionRow): Promise<ExecutionRow | undefined> =>
  selectExecutions(db, app)
    .where('id', '=', id)
    .where('completed_at', 'is', null)
    .where('claims', '=', claims)
    .where('claimed_slot', 'is not', null)
    .selectAll()
    .forNoKeyUpdate()
    .executeTakeFirst();

export type NewExecution = Pick<
  Insertable<Tables['test_executions']>,
  | 'id'
  | 'flow_id'
  | 'flow_name'
  | 'flow_revision'
  | 'goal'
  | 'role'
  | 'url'
  | 'reservation_id'
  | 'credential_id'
  | 'request_id'
  | 'ip'
  | 'created_date'
>;

export const insertExecution = (db: Db, app: AppKey, execution: NewExecution): Promise<ExecutionRow> =>
  db
    .insertInto('test_executions')
    .values({ ...app, ...execution, due_at: sql<Date>`clock_timestamp()` }) // queues use the database's clock
    .returningAll()
    .executeTakeFirstOrThrow();

export type ExecutionChange = Omit<Updateable<Tables['test_executions']>, 'status'>;

const updateExecution = (db: Db, { workspace_id, app_id, id }: ExecutionKey) =>
  db
    .updateTable('test_executions')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('id', '=', id);

/** Returns undefined if the transition is not allowed. */
export const saveStatus = (
  db: Db,
  execution: ExecutionKey,
  status: Status,
  change: ExecutionChange,
): Promise<ExecutionRow | undefined> =>
  updateExecution(db, execution)
    .set({ ...change, status })
    .where('status', 'in', listSources(status))
    .returningAll()
    .executeTakeFirst();

export async function saveExecution(db: Db, execution: ExecutionKey, change: ExecutionChange): Promise<void> {
  await updateExecution(db, execution).set(change).execute();
}

interface Watched {
  readonly claims: number;
  readonly is_claimed: boolean;
  readonly has_ended: boolean;
  readonly is_cancelled: boolean;
}

// This query runs every second for each run that is being performed.
const selectWatched = prepared<Watched, [workspaceId: string, id: string]>(
  'watch test run',
  `select claims, claimed_slot is not null as is_claimed, completed_at is not null as has_ended,
     cancel_requested_at is not null as is_cancelled
   from test_executions where workspace_id = $1 and id = $2`,
);

/** Returns undefined if the run has been removed. */
export const findWatched = async (db: Db, { workspace_id, id }: ExecutionKey): Promise<Watched | undefined> =>
  (await selectWatched(db, workspace_id, id))[0];

// ---- reports

const selectReports = (db: Db, { workspace_id, id }: ExecutionKey) =>
  db.selectFrom('test_reports').where('workspace_id', '=', workspace_id).where('execution_id', '=', id);

export const findReport = (db: Db, execution: ExecutionKey) =>
  selectReports(db, execution).select(['result', 'report', 'created_date']).executeTakeFirst();

/** Stores the result of a run's steps until the run has been analysed. */
export async function saveResult(
  db: Db,
  { workspace_id, app_id, id }: ExecutionKey,
  result: string,
  now: Date,
): Promise<void> {
  await db
    .insertInto('test_reports')
    .values({ workspace_id, app_id, execution_id: id, result, created_date: now })
    .execute();
}

export async function removeResult(db: Db, { workspace_id, id }: ExecutionKey): Promise<void> {
  await db.deleteFrom('test_reports').where('workspace_id', '=', workspace_id).where('execution_id', '=', id).execute();
}

export async function saveReport(db: Db, { workspace_id, id }: ExecutionKey, report: string, now: Date): Promise<void> {
  await db
    .updateTable('test_reports')
    .set({ report, result: null, created_date: now })
    .where('workspace_id', '=', workspace_id)
    .where('execution_id', '=', id)
    .execute();
}

// ---- background

/** Lists runs that were created before the given time and that no worker has claimed. */
export async function listOverdueExecutions(db: Db, before: Date, limit: number): Promise<ExecutionKey[]> {
  const { rows } = await sql<ExecutionKey>`/* service */ select workspace_id, app_id, id from test_executions
    where status = 'pending' and created_date < ${before} and claimed_slot is null limit ${limit}`.execute(db);
  return rows;
}

export type UsersOfRun = ExecutionKey & Pick<ExecutionRow, 'created_date' | 'app_user_ids'>;

/** SQL for polling. A run is cleaned up some time after it has ended. */
export const cleanUpDueInMs = `select 0 from test_executions where app_user_ids <> '{}' and completed_at is not null
   order by clean_up_tried_at nulls first, completed_at limit 1`;

/**
 * Lists runs that ended before the given time and may still have temporary app users, least recently tried first. Skips
 * runs whose app or workspace is in the trash.
 */
export async function listRunsToCleanUp(db: Db, before: Date, limit: number): Promise<UsersOfRun[]> {
  const { rows } =
    await sql<UsersOfRun>`/* service */ select e.workspace_id, e.app_id, e.id, e.created_date, e.app_user_ids
    from test_executions e join apps a on a.workspace_id = e.workspace_id and a.id = e.app_id
    join workspaces w on w.id = a.workspace_id
    where e.app_user_ids <> '{}' and e.completed_at < ${before} and a.deleted_date is null and w.deleted_date is null
    order by e.clean_up_tried_at nulls first, e.completed_at limit ${limit}`.execute(db);
  return rows;
}

/** The number of runs in each status. */
export async function countExecutions(db: Db): Promise<Record<string, number>> {
  const { rows } = await sql<{ status: Status; count: number }>`/* service */ select status, count(*)::int as count
    from test_executions group by status`.execute(db);
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}
