// The queries on a turn's steps.
import type { BegunStep } from '../../../core/turns/loop.ts';
import type { Db } from '../../../tables.ts';
import type { StepRecord } from '../step.ts';

interface TurnKey {
  readonly workspace_id: string;
  readonly id: string;
}

export interface StepRow extends BegunStep {
  /** Null until the step is complete. */
  readonly record: StepRecord | null;
}

const selectSteps = (db: Db, { workspace_id, id }: TurnKey) =>
  db.selectFrom('chat_steps').where('workspace_id', '=', workspace_id).where('turn_id', '=', id);

/** Lists the steps in order. Only the last step may lack a record. */
export async function listSteps(db: Db, turn: TurnKey): Promise<StepRow[]> {
  const rows = await selectSteps(db, turn).orderBy('number').select(['number', 'reservation_id', 'record']).execute();
  return rows.map((row) => ({ ...row, record: row.record as StepRecord | null }));
}

export async function insertStep(
  db: Db,
  { workspace_id, id: turn_id }: TurnKey,
  { number, reservation_id }: BegunStep,
  now: Date,
): Promise<void> {
  await db
    .insertInto('chat_steps')
    .values({ workspace_id, turn_id, number, reservation_id, created_date: now })
    .execute();
}

export async function saveStepRecord(
  db: Db,
  { workspace_id, id }: TurnKey,
  { number, reservation_id }: BegunStep,
  record: StepRecord,
): Promise<void> {
  await db
    .updateTable('chat_steps')
    .set({ record: JSON.stringify(record), reservation_id })
    .where('workspace_id', '=', workspace_id)
    .where('turn_id', '=', id)
    .where('number', '=', number)
    .execute();
}
