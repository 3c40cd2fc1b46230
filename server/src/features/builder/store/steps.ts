// Owns the queries on the steps of a turn.
import type { Db } from '../../../tables.ts';
import type { StepRecord } from '../step.ts';

interface TurnKey {
  readonly workspace_id: string;
  readonly id: string;
}

export interface StepRow {
  readonly number: number;
  readonly reservation_id: string | null;
  /** Null until the step is complete. */
  readonly record: StepRecord | null;
}

const selectSteps = (db: Db, { workspace_id, id }: TurnKey) =>
  db.selectFrom('chat_steps').where('workspace_id', '=', workspace_id).where('turn_id', '=', id);

/** In their order. Only the last one may be without a record. */
export async function listSteps(db: Db, turn: TurnKey): Promise<StepRow[]> {
  const rows = await selectSteps(db, turn).orderBy('number').select(['number', 'reservation_id', 'record']).execute();
  return rows.map((row) => ({ ...row, record: row.record as StepRecord | null }));
}

export async function insertStep(
  db: Db,
  { workspace_id, id: turn_id }: TurnKey,
  step: { number: number; reservation_id: string | null },
  now: Date,
): Promise<void> {
  await db
    .insertInto('chat_steps')
    .values({ workspace_id, turn_id, ...step, created_date: now })
    .execute();
}

export async function saveStepRecord(
  db: Db,
  { workspace_id, id }: TurnKey,
  { number, reservation_id }: StepRow,
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
