// Owns what a session costs (docs/api/credits.md), and reserving and settling it step by step. A step's reservation belongs to its row,
// which is inserted before the model is called, so that a step that is repeated after a crash is charged once.
import { type Reservation, refund, reserve, settle } from '../../core/credits/reservations.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { SessionRow } from './store/sessions.ts';
import { findOpenStep, removeOpenStep, type StepRow } from './store/steps.ts';

/** What a turn costs at least. */
export const minTurnCredits = 2;

/** One credit per 10,000 tokens, at least 2 for a turn. */
const computeCredits = (tokens: number): number => Math.max(minTurnCredits, tokens / 10_000);

const round = (credits: number): number => Number(credits.toFixed(4)); // credits have four decimals

/**
 * What a step adds to the cost of its turn. Example, with steps of 15,000, 3,000 and 12,000 tokens: 2, then nothing, because 18,000
 * tokens cost no more than the least, then 1.
 */
export function computeStepCredits(earlier: readonly { readonly tokens: number }[], tokens: number): number {
  const tokensBefore = earlier.reduce((sum, step) => sum + step.tokens, 0);
  const before = earlier.length === 0 ? 0 : computeCredits(tokensBefore);
  return round(computeCredits(tokensBefore + tokens) - before);
}

/** What the steps of all turns have cost. */
export function computeSessionCredits(turns: readonly (readonly { readonly tokens: number }[])[]): number {
  const credits = turns.map((steps) =>
    computeStepCredits(
      [],
      steps.reduce((sum, step) => sum + step.tokens, 0),
    ),
  );
  return round(credits.reduce((sum, each, index) => sum + (turns[index]?.length === 0 ? 0 : each), 0));
}

// Longer than a step can take, with all its commands.
const leaseMs = 2 * 60 * 60 * 1000;

/** Reserves the credits of a step. Null: none are needed. 402 if there are not enough. */
export async function reserveStep(
  db: Db,
  session: SessionRow,
  credits: number,
  now: Date,
): Promise<Reservation | null> {
  if (credits <= 0) return null;
  const { workspace_id, user_id, app_id, id: reference_id } = session;
  const spend = { workspace_id, user_id, app_id, operation: 'launchSession', reference_id, leaseMs };
  return reserve(db, { ...spend, amount: credits }, now);
}

/** Charges the true cost of a step. Returns its reservation: if it had none and costs something, there is one now. */
export async function settleStep(
  db: Db,
  session: SessionRow,
  step: Pick<StepRow, 'reservation_id'>,
  credits: number,
  now: Date,
): Promise<string | null> {
  const { workspace_id } = session;
  const id = step.reservation_id ?? (await reserveStep(db, session, credits, now).catch(ignoreRefusal))?.id ?? null;
  if (id !== null) await settle(db, { workspace_id, id }, credits, now);
  return id;
}

/** The tokens are used. If nothing is left to pay for them, they are not charged, and the next step is refused. */
function ignoreRefusal(error: unknown): null {
  if (error instanceof Problem && error.kind === 'payment_required') return null;
  throw error;
}

/**
 * Settles the step that the turn has begun and not completed, if there is one, and forgets it: it is refunded, or charged as far as it
 * came. Returns what it has cost.
 */
export async function closeOpenStep(db: Db, session: SessionRow, credits: number, now: Date): Promise<number> {
  const step = await findOpenStep(db, session);
  if (step === undefined) return 0;
  const { workspace_id } = session;
  if (credits > 0) await settleStep(db, session, step, credits, now);
  else if (step.reservation_id !== null) await refund(db, { workspace_id, id: step.reservation_id }, now);
  await removeOpenStep(db, session);
  return credits;
}
