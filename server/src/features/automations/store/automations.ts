// The queries on automations.
import { sql } from 'kysely';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import type { AutomationRow } from '../contract.ts';

type AutomationKey = Pick<AutomationRow, 'workspace_id' | 'id'>;

/** An app, identified by an access proof or by a row. */
export interface AppRef {
  readonly workspace_id: string;
  readonly id: string;
}

/** An automation as stored. The workflow's id has its own column, so an import can replace it. */
type StoredAutomation = AutomationRow & { readonly workflow_id: string | null };

const selectAutomations = (db: Db, { workspace_id, id }: AppRef) =>
  db
    .selectFrom('automations')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', id)
    .selectAll()
    .$castTo<StoredAutomation>();

export const withWorkflow = <Row extends Pick<StoredAutomation, 'workflow_id' | 'action'>>({
  workflow_id,
  action,
  ...row
}: Row) => ({ ...row, action: workflow_id === null ? action : { ...action, workflow_id } });

/** Lists an app's automations, newest first. */
export async function listAutomations(
  db: Db,
  { app }: AppAccess,
  limit: number,
  after: Position | undefined,
): Promise<AutomationRow[]> {
  const all = selectAutomations(db, app);
  const wanted = after === undefined ? all : all.where(sql<boolean>`id < ${after[0]}::uuid`);
  const rows = await wanted
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
  return rows.map(withWorkflow);
}

export async function findAutomation(db: Db, { app }: AppAccess, id: string): Promise<AutomationRow | undefined> {
  const row = await selectAutomations(db, app).where('id', '=', idOrNull(id)).executeTakeFirst();
  return row && withWorkflow(row);
}

export async function countAutomations(db: Db, { app }: AppAccess): Promise<number> {
  const { count } = await db
    .selectFrom('automations')
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/** Returns the named entities that automations wait for, whether or not the automations are active. */
export async function listEntitiesInUse(db: Db, { app }: AppAccess, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const rows = await db
    .selectFrom('automations')
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .where('entity_name', 'in', names)
    .select('entity_name')
    .distinct()
    .execute();
  return rows.flatMap(({ entity_name }) => entity_name ?? []);
}

export async function insertAutomation(db: Db, row: AutomationRow): Promise<void> {
  await db.insertInto('automations').values(toColumns(row)).execute();
}

/** Changes to the automation, and recording its runs, wait until the transaction ends. */
export async function lockAutomation(
  db: Db,
  { workspace_id, app_id, id }: AutomationRow,
): Promise<AutomationRow | undefined> {
  const row = await selectAutomations(db, { workspace_id, id: app_id })
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row && withWorkflow(row);
}

export async function saveAutomation(db: Db, row: AutomationRow): Promise<void> {
  const { workspace_id, id, app_id: _app, created_by: _by, created_date: _date, ...columns } = toColumns(row);
  await db
    .updateTable('automations')
    .set(columns)
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

const toColumns = ({ schedule, action: { workflow_id, ...action }, ...row }: AutomationRow) => ({
  ...row,
  schedule: schedule === null ? null : JSON.stringify(schedule),
  action: JSON.stringify(action),
  workflow_id: workflow_id ?? null,
});

export async function removeAutomation(db: Db, { workspace_id, id }: AutomationKey): Promise<void> {
  await db.deleteFrom('automations').where('workspace_id', '=', workspace_id).where('id', '=', id).execute();
}

/** Locks the automations in id order, as workers do. Returns the automations that were active. */
export async function turnOffAutomationsOf(db: Db, app: AppRef, now: Date): Promise<{ id: string; name: string }[]> {
  const { rows } = await sql<{ id: string; name: string }>`with active as (
      select id from automations where workspace_id = ${app.workspace_id} and app_id = ${app.id} and is_active
      order by id for no key update
    ) update automations set is_active = false, next_tick_at = null, updated_date = ${now}
    where workspace_id = ${app.workspace_id} and id in (select id from active) returning id, name`.execute(db);
  return rows;
}
