// The queries that workers use across workspaces: runs, their automations and due schedules.
import { sql } from 'kysely';
import type { Plan } from '../../../core/auth/plans.ts';
import { purge } from '../../../kit/background/purge.ts';
import type { QueueRow } from '../../../kit/background/queues/queue.ts';
import { prepared } from '../../../kit/db/database.ts';
import { sendWithCommit } from '../../../kit/db/send.ts';
import type { Db } from '../../../tables.ts';
import type { AutomationRow } from '../contract.ts';
import { withWorkflow } from './automations.ts';

/** The run queue's table. */
export const runQueue = 'automation_runs';

/** A run reads its event's payload until it is completed, also after it was dead-lettered. */
export const eventNeededIf =
  'exists (select from automation_runs r where r.event_id = events.id and r.completed_at is null)';

export interface RunRow extends QueueRow {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly automation_id: string;
  readonly event_id: string | null;
  readonly tick_at: Date | null;
  /** True for a schedule's last tick, whose automation is already off. */
  readonly is_last: boolean;
  readonly depth: number;
  readonly attempts: number;
  readonly error_message: string | null;
  readonly completed_at: Date | null;
}

/** The columns that decide which events an automation reacts to. */
export type ListeningAutomation = Pick<
  AutomationRow,
  'workspace_id' | 'id' | 'app_id' | 'entity_name' | 'event_types' | 'created_date'
>;

/** These apps' active automations that react to record changes. */
export const selectListening = (app_ids: readonly string[]) => selectListeningAutomations.query(app_ids);

const selectListeningAutomations = prepared<ListeningAutomation, [readonly string[]]>(
  'list listening automations',
  `/* service */ select workspace_id, id, app_id, entity_name, event_types, created_date from automations
   where app_id = any($1::uuid[]) and is_active and entity_name is not null order by app_id, id`,
);

export interface NewRun extends Pick<RunRow, 'id' | 'workspace_id' | 'app_id' | 'automation_id' | 'depth'> {
  readonly event_id?: string;
  readonly tick_at?: Date;
  readonly is_last?: boolean;
}

const maxRowsPerStatement = 500;

/** Inserts runs that are due immediately. Skips a cause that already has a run. */
export async function insertRuns(db: Db, runs: readonly NewRun[], now: Date): Promise<void> {
  for (let start = 0; start < runs.length; start += maxRowsPerStatement)
    await sendWithCommit(db, insertRunRows.query(now, JSON.stringify(runs.slice(start, start + maxRowsPerStatement))));
}

const insertRunRows = prepared<object, [Date, string]>(
  'insert automation runs',
  `insert into automation_runs
     (id, workspace_id, app_id, automation_id, event_id, tick_at, is_last, depth, created_date, due_at)
   select r.id, r.workspace_id, r.app_id, r.automation_id, r.event_id, r.tick_at, coalesce(r.is_last, false), r.depth, $1,
     clock_timestamp()
   from json_to_recordset($2::json) as r(id uuid, workspace_id uuid, app_id uuid, automation_id uuid, event_id uuid,
     tick_at timestamptz, is_last boolean, depth integer)
   on conflict do nothing`,
);

/** The automation's columns that a run needs. */
export type RunTarget = Pick<
  AutomationRow,
  'id' | 'workspace_id' | 'app_id' | 'name' | 'type' | 'condition' | 'action' | 'is_active'
> & {
  /** True if the app or its workspace is in the trash. */
  readonly is_deleted: boolean;
  readonly plan: Plan;
};

export async function listTargets(db: Db, ids: readonly string[]): Promise<Map<string, RunTarget>> {
  const rows = await selectTargets(db, ids);
  return new Map(rows.map((row) => [row.id, withWorkflow(row)]));
}

const selectTargets = prepared<RunTarget & { readonly workflow_id: string | null }, [readonly string[]]>(
  'list targets of automation runs',
  `/* service */ select t.id, t.workspace_id, t.app_id, t.name, t.type, t.condition, t.action, t.workflow_id, t.is_active,
     a.deleted_date is not null or w.deleted_date is not null as is_deleted, w.plan
   from automations t join apps a on a.workspace_id = t.workspace_id and a.id = t.app_id
     join workspaces w on w.id = t.workspace_id
   where t.id = any($1::uuid[])`,
);

/** Locks the automations in id order, so two workers can't deadlock. */
export const lockAutomations = (db: Db, ids: readonly string[]): Promise<AutomationRow[]> => lockRows(db, ids);

const lockRows = prepared<AutomationRow, [readonly string[]]>(
  'lock automations',
  '/* service */ select * from automations where id = any($1::uuid[]) order by id for no key update',
);

export type Health = Pick<
  AutomationRow,
  'id' | 'is_active' | 'next_tick_at' | 'last_run_at' | 'last_error' | 'consecutive_failures'
>;

export const saveHealth = (db: Db, health: readonly Health[]) => saveHealthRows(db, JSON.stringify(health));

const saveHealthRows = prepared<object, [string]>(
  'save health of automations',
  `/* service */ update automations t set is_active = s.is_active, next_tick_at = s.next_tick_at, last_run_at = s.last_run_at,
     last_error = s.last_error, consecutive_failures = s.consecutive_failures
   from json_to_recordset($1::json) as s(id uuid, is_active boolean, next_tick_at timestamptz, last_run_at timestamptz,
     last_error text, consecutive_failures integer) where t.id = s.id`,
);

// ---- schedules

export type DueAutomation = AutomationRow & { readonly is_deleted: boolean };

/** Polling query: returns how long until the next tick, in milliseconds. */
export const tickDueInMs = `select extract(epoch from next_tick_at - $1) * 1000 from automations
   where next_tick_at is not null order by next_tick_at limit 1`;

/** Skips automations that another worker is handling. */
export const lockDueAutomations = (db: Db, limit: number, now: Date): Promise<DueAutomation[]> =>
  lockDueRows(db, now, limit);

const lockDueRows = prepared<DueAutomation, [Date, number]>(
  'lock due automations',
  `/* service */ select t.*, a.deleted_date is not null or w.deleted_date is not null as is_deleted
   from automations t join apps a on a.workspace_id = t.workspace_id and a.id = t.app_id
     join workspaces w on w.id = t.workspace_id
   where t.next_tick_at <= $1 order by t.next_tick_at limit $2 for no key update of t skip locked`,
);

export type Ticked = Pick<AutomationRow, 'id' | 'is_active' | 'next_tick_at' | 'ticks' | 'last_error'>;

export const saveTicks = (db: Db, ticked: readonly Ticked[]) => saveTickRows(db, JSON.stringify(ticked));

const saveTickRows = prepared<object, [string]>(
  'save ticks of automations',
  `/* service */ update automations t set is_active = s.is_active, next_tick_at = s.next_tick_at, ticks = s.ticks,
     last_error = s.last_error
   from json_to_recordset($1::json) as s(id uuid, is_active boolean, next_tick_at timestamptz, ticks integer, last_error text)
   where t.id = s.id`,
);

// ---- removal

const keptMs = 7 * 24 * 60 * 60 * 1000;

/** Removes runs that ended more than a week ago. Returns how many were removed. */
export async function removeOldRuns(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - keptMs);
  const table = 'automation_runs';
  const completed = await purge(db, { table, where: sql`completed_at < ${before}` });
  return completed + (await purge(db, { table, where: sql`failed_at < ${before}` }));
}
