// Owns the queries on the steps of turns: one call of the model and of the tools that it asked for.
import { sql } from 'kysely';
import type { Db } from '../../../tables.ts';
import type { StepRecord } from '../work/step.ts';
import type { SessionKey, SessionRow } from './sessions.ts';

export interface StepRow {
  readonly turn: number;
  readonly step: number;
  readonly reservation_id: string | null;
  /** Null until the step is complete. */
  readonly record: StepRecord | null;
}

type TurnKey = SessionKey & Pick<SessionRow, 'turn'>;

const selectSteps = (db: Db, { workspace_id, id }: SessionKey) =>
  db.selectFrom('coding_steps').where('workspace_id', '=', workspace_id).where('session_id', '=', id);

/** Those of all turns, in their order. Only the last one of a turn may be without a record. */
export async function listSteps(db: Db, session: SessionKey): Promise<StepRow[]> {
  const rows = await selectSteps(db, session)
    .orderBy('turn')
    .orderBy('step')
    .select(['turn', 'step', 'reservation_id', 'record'])
    .execute();
  return rows.map((row) => ({ ...row, record: row.record as StepRecord | null }));
}

/** What each turn has used, in the form of steps: one per turn that has a record. */
export async function listTurnTokens(db: Db, session: SessionKey): Promise<{ readonly tokens: number }[][]> {
  const rows = await selectSteps(db, session)
    .where('record', 'is not', null)
    .groupBy('turn')
    .select(sql<number>`sum((record ->> 'tokens')::float8)`.as('tokens'))
    .execute();
  return rows.map(({ tokens }) => [{ tokens }]);
}

/** What the present turn has begun and not completed, at most one. */
export const findOpenStep = (db: Db, session: TurnKey): Promise<Pick<StepRow, 'step' | 'reservation_id'> | undefined> =>
  selectSteps(db, session)
    .where('turn', '=', session.turn)
    .where('record', 'is', null)
    .select(['step', 'reservation_id'])
    .executeTakeFirst();

/** A step that was paid or refunded must not be so again by a later turn. */
export async function removeOpenStep(db: Db, { workspace_id, id, turn }: TurnKey): Promise<void> {
  await db
    .deleteFrom('coding_steps')
    .where('workspace_id', '=', workspace_id)
    .where('session_id', '=', id)
    .where('turn', '=', turn)
    .where('record', 'is', null)
    .execute();
}

/** Before the model is called, in the transaction that reserves the credits. */
export async function insertStep(
  db: Db,
  { workspace_id, id: session_id, turn }: TurnKey,
  step: { readonly step: number; readonly reservation_id: string | null },
  now: Date,
): Promise<void> {
  await db
    .insertInto('coding_steps')
    .values({ workspace_id, session_id, turn, ...step, created_date: now })
    .execute();
}

export async function saveStepRecord(
  db: Db,
  { workspace_id, id }: SessionKey,
  { turn, step, reservation_id }: StepRow,
  record: StepRecord,
): Promise<void> {
  await db
    .updateTable('coding_steps')
    .set({ record: JSON.stringify(record), reservation_id })
    .where('workspace_id', '=', workspace_id)
    .where('session_id', '=', id)
    .where('turn', '=', turn)
    .where('step', '=', step)
    .execute();
}
