// The queries on turn steps. A step is one model call and the tool calls that it requests.
import { sql } from 'kysely';
import type { BegunStep } from '../../../core/turns/loop.ts';
import type { Db } from '../../../tables.ts';
import type { StepRecord } from '../work/step.ts';
import type { SessionKey, SessionRow } from './sessions.ts';

export interface StepRow extends BegunStep {
  readonly turn: number;
  /** Null until the step is complete. */
  readonly record: StepRecord | null;
}

type TurnKey = SessionKey & Pick<SessionRow, 'turn'>;

const selectSteps = (db: Db, { workspace_id, id }: SessionKey) =>
  db.selectFrom('coding_steps').where('workspace_id', '=', workspace_id).where('session_id', '=', id);

/** Lists all turns' steps, in order. Only a turn's last step may lack a record. */
export async function listSteps(db: Db, session: SessionKey): Promise<StepRow[]> {
  const rows = await selectSteps(db, session)
    .orderBy('turn')
    .orderBy('step')
    .select(['turn', 'step as number', 'reservation_id', 'record'])
    .execute();
  return rows.map((row) => ({ ...row, record: row.record as StepRecord | null }));
}

/** The total tokens used by each turn, in the form of a single step. Counts recorded steps only. */
export async function listTurnTokens(db: Db, session: SessionKey): Promise<{ readonly tokens: number }[][]> {
  const rows = await selectSteps(db, session)
    .where('record', 'is not', null)
    .groupBy('turn')
    .select(sql<number>`sum((record ->> 'tokens')::float8)`.as('tokens'))
    .execute();
  return rows.map(({ tokens }) => [{ tokens }]);
}

/** The current turn's incomplete step, if any. */
export const findOpenStep = (db: Db, session: TurnKey): Promise<BegunStep | undefined> =>
  selectSteps(db, session)
    .where('turn', '=', session.turn)
    .where('record', 'is', null)
    .select(['step as number', 'reservation_id'])
    .executeTakeFirst();

/** Removes the incomplete step once it has been charged or refunded, so a later turn does not settle it again. */
export async function removeOpenStep(db: Db, { workspace_id, id, turn }: TurnKey): Promise<void> {
  await db
    .deleteFrom('coding_steps')
    .where('workspace_id', '=', workspace_id)
    .where('session_id', '=', id)
    .where('turn', '=', turn)
    .where('record', 'is', null)
    .execute();
}

/** Called before the model is called, in the transaction that reserves the credits. */
export async function insertStep(
  db: Db,
  { workspace_id, id: session_id, turn }: TurnKey,
  { number: step, reservation_id }: BegunStep,
  now: Date,
): Promise<void> {
  await db
    .insertInto('coding_steps')
    .values({ workspace_id, session_id, turn, step, reservation_id, created_date: now })
    .execute();
}

export async function saveStepRecord(
  db: Db,
  { workspace_id, id, turn }: TurnKey,
  { number: step, reservation_id }: BegunStep,
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
