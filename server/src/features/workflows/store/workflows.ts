// The queries on workflows: their settings, triggers and status.
import { type Insertable, sql, type Updateable } from 'kysely';
import type { Plan } from '../../../core/auth/plans.ts';
import type { AppAccess, HookAccess } from '../../../core/auth/proofs.ts';
import { prepared } from '../../../kit/db/database.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { Occurrence } from '../definition/occurrence.ts';
import type { WorkflowKey, WorkflowRow } from './rows.ts';

/** An app, identified by an access proof or by a row. */
export interface AppKey {
  readonly workspace_id: string;
  readonly id: string;
}

const selectWorkflows = (db: Db, app: AppKey) =>
  db
    .selectFrom('workflows')
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .selectAll()
    .$castTo<WorkflowRow>();

/** Lists an app's workflows, newest first. */
export function listWorkflows(
  db: Db,
  { app }: AppAccess,
  { limit, include_archived }: { limit: number; include_archived?: boolean },
  after: Position | undefined,
): Promise<WorkflowRow[]> {
  let workflows = selectWorkflows(db, app)
    .orderBy('id', 'desc')
    .limit(limit + 1);
  if (!include_archived) workflows = workflows.where('status', '<>', 'archived');
  if (after) workflows = workflows.where(sql<boolean>`id < ${after[0]}::uuid`);
  return workflows.execute();
}

export const findWorkflow = (db: Db, { app }: AppAccess, id: string): Promise<WorkflowRow | undefined> =>
  findWorkflowOf(db, app, id);

/** Finds a workflow that an automation names. */
export const findWorkflowOf = (db: Db, app: AppKey, id: string): Promise<WorkflowRow | undefined> =>
  selectWorkflows(db, app).where('id', '=', idOrNull(id)).executeTakeFirst();

/** Finds a hook's workflow. */
export const findHookWorkflow = (db: Db, { app, hook_id }: HookAccess): Promise<WorkflowRow | undefined> =>
  selectWorkflows(db, app).where('id', '=', hook_id).executeTakeFirst();

/** Other changes to the workflow wait until the transaction ends. */
export const lockWorkflow = (db: Db, { workspace_id, id }: WorkflowKey): Promise<WorkflowRow | undefined> =>
  db
    .selectFrom('workflows')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .selectAll()
    .forNoKeyUpdate()
    .$castTo<WorkflowRow>()
    .executeTakeFirst();

export async function countWorkflows(db: Db, { app }: AppAccess): Promise<{ kept: number; archived: number }> {
  const { kept, archived } = await db
    .selectFrom('workflows')
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .select([
      sql<number>`count(*) filter (where status <> 'archived')`.as('kept'),
      sql<number>`count(*) filter (where status = 'archived')`.as('archived'),
    ])
    .executeTakeFirstOrThrow();
  return { kept, archived };
}

/** Searches only workflows that are not archived. */
export const findWorkflowByName = (db: Db, { app }: AppAccess, name: string) =>
  selectWorkflows(db, app).where('name', '=', name).where('status', '<>', 'archived').executeTakeFirst();

export const insertWorkflow = (db: Db, row: Insertable<Tables['workflows']>): Promise<WorkflowRow> =>
  db.insertInto('workflows').values(row).returningAll().$castTo<WorkflowRow>().executeTakeFirstOrThrow();

export const saveWorkflow = (
  db: Db,
  { workspace_id, id }: WorkflowKey,
  columns: Updateable<Tables['workflows']>,
): Promise<WorkflowRow> =>
  db
    .updateTable('workflows')
    .set(columns)
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .returningAll()
    .$castTo<WorkflowRow>()
    .executeTakeFirstOrThrow();

/** Makes all of an app's active workflows inactive. Returns their ids. */
export async function deactivateWorkflowsOf(db: Db, app: AppKey, now: Date): Promise<string[]> {
  const rows = await db
    .updateTable('workflows')
    .set({ status: 'inactive', next_tick_at: null, updated_date: now })
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .where('status', '=', 'active')
    .returning('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** Returns the given entities that at least one unarchived workflow names. */
export async function listNamedEntities(db: Db, { app }: AppAccess, names: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{
    name: string;
  }>`select distinct named.name from workflows, unnest(entity_names) named(name)
    where workspace_id = ${app.workspace_id} and app_id = ${app.id} and status <> 'archived'
      and named.name = any(${names}::text[])`.execute(db);
  return rows.map(({ name }) => name);
}

// ---- for workers, across workspaces

export type TriggeredWorkflow = WorkflowRow & { readonly plan: Plan };

/**
 * Lists active workflows that wait for this kind of event, in id order. If `app_id` is null, includes all apps in the
 * workspace. `page` selects part of the list.
 */
export const listTriggered = (
  db: Db,
  { workspace_id, app_id, trigger_type, trigger_key }: Occurrence,
  page: { readonly after: string | null; readonly limit: number | null } = { after: null, limit: null },
): Promise<TriggeredWorkflow[]> =>
  selectTriggered(db, workspace_id, app_id, trigger_type, trigger_key, page.after, page.limit);

const selectTriggered = prepared<
  TriggeredWorkflow,
  [string, string | null, string, string | null, after: string | null, limit: number | null]
>(
  'list workflows by trigger',
  `select f.*, w.plan from workflows f
   join workspaces w on w.id = f.workspace_id and w.deleted_date is null
   join apps a on a.workspace_id = f.workspace_id and a.id = f.app_id and a.deleted_date is null
   where f.workspace_id = $1 and ($2::uuid is null or f.app_id = $2) and f.trigger_type = $3
     and f.trigger_key is not distinct from $4 and f.status = 'active' and ($5::uuid is null or f.id > $5)
   order by f.id limit $6::integer`,
);

export interface WaitingTrigger {
  readonly app_id: string;
  readonly trigger_type: WorkflowRow['trigger_type'];
  readonly trigger_key: string | null;
}

/** Returns the triggers of these apps' active workflows, and the triggers on these agents' messages. */
export const selectWaitingTriggers = (workspaceIds: readonly string[], appOrAgentIds: readonly string[]) =>
  selectWaitingTriggerRows.query(workspaceIds, appOrAgentIds, appOrAgentIds);

const selectWaitingTriggerRows = prepared<WaitingTrigger, [readonly string[], readonly string[], readonly string[]]>(
  'list triggers that workflows wait for',
  `/* service */ select app_id, trigger_type, trigger_key from workflows
   where workspace_id = any($1::uuid[]) and app_id = any($2::uuid[]) and status = 'active'
     and trigger_type in ('entity', 'app_publish', 'event')
   union
   select app_id, trigger_type, trigger_key from workflows
   where trigger_key = any($3::text[]) and workspace_id = any($1::uuid[]) and status = 'active'
     and trigger_type = 'agent_message'`,
);

/** Locks a due workflow that is not in `except`. Concurrent workers lock different workflows. */
export const lockNextDue = async (
  db: Db,
  except: readonly string[],
  now: Date,
): Promise<(TriggeredWorkflow & { readonly is_workspace_deleted: boolean }) | undefined> =>
  (await lockNextDueRow(db, now, except))[0];

/** Polling query: returns how long until the next tick, in milliseconds. */
export const tickDueInMs = `select extract(epoch from next_tick_at - $1) * 1000 from workflows
   where next_tick_at is not null order by next_tick_at limit 1`;

const lockNextDueRow = prepared<
  TriggeredWorkflow & { readonly is_workspace_deleted: boolean },
  [now: Date, except: readonly string[]]
>(
  'lock next due workflow',
  `/* service */ select f.*, w.plan, w.deleted_date is not null as is_workspace_deleted from workflows f
   join workspaces w on w.id = f.workspace_id
   join apps a on a.workspace_id = f.workspace_id and a.id = f.app_id and a.deleted_date is null
   where f.next_tick_at <= $1 and f.id <> all($2::uuid[])
   order by f.next_tick_at limit 1 for no key update of f skip locked`,
);

const selectRunOfApp = `select true from workflow_runs r
     where r.workspace_id = a.workspace_id and r.app_id = a.id and r.completed_at is null and r.status = 'running'`;

/**
 * Polling query: returns a row if an app was deleted within the last hour and still has active runs. Checking every app
 * in the trash each second would take too long. An app deleted earlier has active runs only if no worker was running
 * for an hour, and workers list those apps when they start. `limit 1` keeps PostgreSQL from starting with the many
 * runs.
 */
export const runsOfDeletedAppsDueInMs = `select 0 from apps a
   where a.deleted_date > $1 - interval '1 hour' and (${selectRunOfApp} limit 1) limit 1`;

/** Lists apps in the trash that still have active runs. */
export const listDeletedAppsWithRuns = (db: Db, limit: number): Promise<{ workspace_id: string; app_id: string }[]> =>
  selectDeletedAppsWithRuns(db, limit);

const selectDeletedAppsWithRuns = prepared<{ workspace_id: string; app_id: string }, [number]>(
  'list deleted apps with workflow runs',
  `/* service */ select a.workspace_id, a.id as app_id from apps a
   where a.deleted_date is not null and exists (${selectRunOfApp}) limit $1`,
);
