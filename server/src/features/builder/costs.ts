// Owns what a turn costs (docs/api/credits.md), and reserving and settling it step by step. A step's reservation belongs to its
// row, which is inserted before the model is called, so that a step that is repeated after a crash is charged once.
import { type Reservation, refund, reserve, settle } from '../../core/credits/reservations.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { StepRow } from './store/steps.ts';
import type { TurnRow } from './store/turns.ts';

/** One credit per 10,000 tokens, at least 0.5 for a turn. */
const computeCredits = (tokens: number): number => Math.max(0.5, tokens / 10_000);

/**
 * What a step adds to the cost of its turn. Example, with steps of 3,000, 1,000 and 4,000 tokens: 0.5, then nothing, because
 * 4,000 tokens cost no more than the least, then 0.3.
 */
export function computeStepCredits(earlier: readonly { tokens: number }[], tokens: number): number {
  const tokensBefore = earlier.reduce((sum, step) => sum + step.tokens, 0);
  const before = earlier.length === 0 ? 0 : computeCredits(tokensBefore);
  return Number((computeCredits(tokensBefore + tokens) - before).toFixed(4)); // credits have four decimals
}

// Longer than a turn can take.
const leaseMs = 15 * 60 * 1000;

/** Reserves the credits of a step. Null: none are needed. 402 if there are not enough. */
export async function reserveStep(db: Db, turn: TurnRow, credits: number, now: Date): Promise<Reservation | null> {
  if (credits <= 0) return null;
  const { workspace_id, user_id, app_id, message_id } = turn;
  const spend = { workspace_id, user_id, app_id, operation: 'sendChatMessage', reference_id: message_id, leaseMs };
  return reserve(db, { ...spend, amount: credits }, now);
}

/** Charges the true cost of a step. Returns its reservation: if it had none and costs something, there is one now. */
export async function settleStep(
  db: Db,
  turn: TurnRow,
  step: StepRow,
  credits: number,
  now: Date,
): Promise<string | null> {
  const { workspace_id } = turn;
  const id = step.reservation_id ?? (await reserveStep(db, turn, credits, now).catch(ignoreRefusal))?.id ?? null;
  if (id !== null) await settle(db, { workspace_id, id }, credits, now);
  return id;
}

/** The tokens are used. If nothing is left to pay for them, they are not charged, and the next step is refused. */
function ignoreRefusal(error: unknown): null {
  if (error instanceof Problem && error.kind === 'payment_required') return null;
  throw error;
}

/** Releases what is reserved for the step that was not completed, and with `all` gives back what was charged for the others. */
export async function refundSteps(
  db: Db,
  { workspace_id }: Pick<TurnRow, 'workspace_id'>,
  steps: readonly StepRow[],
  which: 'all' | 'open',
  now: Date,
): Promise<void> {
  for (const { reservation_id, record } of steps)
    if (reservation_id !== null && (which === 'all' || record === null))
      await refund(db, { workspace_id, id: reservation_id }, now);
}
