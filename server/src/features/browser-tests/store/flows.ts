// The queries on flows. A flow that is being deleted is visible only to the deletion itself.
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { AppAccess, AppReach } from '../../../core/auth/proofs.ts';
import { takeAdvisoryLock } from '../../../kit/db/database.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db, Tables } from '../../../tables.ts';

export type FlowRow = Omit<Selectable<Tables['test_flows']>, 'recording'>;

/** A flow with its newest run. */
export type FlowWithRun = FlowRow & { readonly last_id: string | null; readonly last_status: string | null };

export interface AppKey {
  readonly workspace_id: string;
  readonly app_id: string;
}
export type FlowKey = AppKey & { readonly id: string };

export const toAppKey = ({ app }: Pick<AppReach, 'app'>): AppKey => ({
  workspace_id: app.workspace_id,
  app_id: app.id,
});

/** Excludes the recording, which may be large. */
const columns = [
  'id',
  'workspace_id',
  'app_id',
  'name',
  'goal',
  'role',
  'revision',
  'recording_revision',
  'created_by',
  'created_date',
  'updated_date',
  'deleting_since',
] as const;

const selectFlows = (db: Db, { workspace_id, app_id }: AppKey) =>
  db
    .selectFrom('test_flows')
    .where('test_flows.workspace_id', '=', workspace_id)
    .where('test_flows.app_id', '=', app_id);

const selectFlowsWithRun = (db: Db, app: AppKey) =>
  selectFlows(db, app)
    .where('deleting_since', 'is', null)
    .leftJoinLateral(
      (is) =>
        is
          .selectFrom('test_executions')
          .where('test_executions.workspace_id', '=', app.workspace_id)
          .where('test_executions.app_id', '=', app.app_id)
          .whereRef('test_executions.flow_id', '=', 'test_flows.id')
          .orderBy('test_executions.id', 'desc')
          .limit(1)
          .select(['test_executions.id as last_id', 'test_executions.status as last_status'])
          .as('last'),
      (join) => join.onTrue(),
    )
    .select(columns.map((name) => `test_flows.${name}` as const))
    .select(['last.last_id', 'last.last_status']);

/** Lists flows, newest first. */
export const listFlows = (db: Db, app: AppKey): Promise<FlowWithRun[]> =>
  selectFlowsWithRun(db, app).orderBy('test_flows.id', 'desc').execute();

export const findFlow = (db: Db, access: AppAccess, id: string): Promise<FlowWithRun | undefined> =>
  selectFlowsWithRun(db, toAppKey(access)).where('test_flows.id', '=', idOrNull(id)).executeTakeFirst();

/** Also finds a flow that is being deleted. */
export const findFlowToDelete = (db: Db, access: AppAccess, id: string): Promise<FlowRow | undefined> =>
  selectFlows(db, toAppKey(access)).where('id', '=', idOrNull(id)).select(columns).executeTakeFirst();

/** Locks the row until the transaction ends, even if the flow is being deleted. */
export const lockFlow = (db: Db, { id, ...app }: FlowKey): Promise<FlowRow | undefined> =>
  selectFlows(db, app).where('id', '=', id).select(columns).forUpdate().executeTakeFirst();

/** Prevents others from adding flows to the app until the transaction ends. */
export const lockFlowList = (db: Db, { app_id }: AppKey): Promise<void> =>
  takeAdvisoryLock(db, `test flows of ${app_id}`);

/** Includes flows that are being deleted. */
export async function countFlows(db: Db, app: AppKey): Promise<number> {
  const { count } = await selectFlows(db, app)
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

export const listFlowNames = async (db: Db, app: AppKey): Promise<string[]> =>
  (await selectFlows(db, app).select('name').execute()).map(({ name }) => name);

export type NewFlowRow = Pick<
  Insertable<Tables['test_flows']>,
  'id' | 'name' | 'goal' | 'role' | 'created_by' | 'created_date' | 'updated_date'
>;

export const insertFlow = (db: Db, app: AppKey, flow: NewFlowRow): Promise<FlowRow> =>
  db
    .insertInto('test_flows')
    .values({ ...app, ...flow })
    .returning(columns)
    .executeTakeFirstOrThrow();

export const saveFlow = (
  db: Db,
  { workspace_id, app_id, id }: FlowKey,
  change: Updateable<Tables['test_flows']>,
): Promise<FlowRow> =>
  db
    .updateTable('test_flows')
    .set(change)
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow();

export async function removeFlow(db: Db, { workspace_id, app_id, id }: FlowKey): Promise<void> {
  await db
    .deleteFrom('test_flows')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('id', '=', id)
    .execute();
}

// ---- recordings

/** Returns the recording if it belongs to this revision. */
export async function findRecording(db: Db, { id, ...app }: FlowKey, revision: number): Promise<unknown> {
  const row = await selectFlows(db, app)
    .where('id', '=', id)
    .where('recording_revision', '=', revision)
    .select('recording')
    .executeTakeFirst();
  return row?.recording ?? null;
}

/** Does nothing if the flow has since been changed or deleted. */
export async function saveRecording(
  db: Db,
  { workspace_id, app_id, id }: FlowKey,
  revision: number,
  recording: string,
): Promise<void> {
  await db
    .updateTable('test_flows')
    .set({ recording, recording_revision: revision })
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('id', '=', id)
    .where('revision', '=', revision)
    .execute();
}

// ---- background

/** SQL for polling. A deletion is considered abandoned after `waitMs`. */
export const abandonedDeletionDueInMs = (waitMs: number): string =>
  `select extract(epoch from deleting_since - $1) * 1000 + ${waitMs} from test_flows
   where deleting_since is not null order by deleting_since limit 1`;

/** Lists flows whose deletion began before the given time, oldest first. */
export async function listAbandonedDeletions(db: Db, before: Date, limit: number): Promise<FlowKey[]> {
  const { rows } = await sql<FlowKey>`/* service */ select workspace_id, app_id, id from test_flows
    where deleting_since < ${before} order by deleting_since limit ${limit}`.execute(db);
  return rows;
}
