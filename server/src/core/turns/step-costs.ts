// The cost of a turn's steps, and how it is reserved and settled. A step's row holds its reservation and is
// inserted before the model is called, so a step that is repeated after a crash is charged only once.

import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type Price, per10000Tokens } from '../auth/prices.ts';
import { type Reservation, reserve, type SpendRequest, settle } from '../credits/reservations.ts';

/** Who pays for a turn's steps, and which operation they are charged to. */
export type TurnSpend = Omit<SpendRequest, 'amount'>;

const tokensPerCredit = 10_000;

/** The price of an agent's work. */
export const toTokenPrice = (minCredits: number): Price => per10000Tokens(10_000 / tokensPerCredit, minCredits);

export const roundStepCredits = (credits: number): number => Number(credits.toFixed(4)); // four decimal places

/**
 * The amount that a step adds to its turn's cost. A turn costs one credit per 10,000 tokens, and at least
 * `minTurnCredits`. Example: with a minimum of 0.5, steps of 3,000, 1,000 and 4,000 tokens cost 0.5, nothing and 0.3.
 * The second step costs nothing, because 4,000 tokens in total are still below the minimum.
 */
export function computeStepCredits(
  minTurnCredits: number,
  earlier: readonly { readonly tokens: number }[],
  tokens: number,
): number {
  const computeCredits = (sum: number) => Math.max(minTurnCredits, sum / tokensPerCredit);
  const tokensBefore = earlier.reduce((sum, step) => sum + step.tokens, 0);
  const before = earlier.length === 0 ? 0 : computeCredits(tokensBefore);
  return roundStepCredits(computeCredits(tokensBefore + tokens) - before);
}

/** Reserves the credits for a step. Returns null if none are needed. Throws 402 if there are not enough. */
export const reserveStep = async (db: Db, spend: TurnSpend, credits: number, now: Date): Promise<Reservation | null> =>
  credits <= 0 ? null : reserve(db, { ...spend, amount: credits }, now);

/**
 * Charges a step's actual cost. If the step has no reservation and is not free, one is created now. Returns the
 * reservation's id.
 */
export async function settleStep(
  db: Db,
  spend: TurnSpend,
  step: { readonly reservation_id: string | null },
  credits: number,
  now: Date,
): Promise<string | null> {
  const id = step.reservation_id ?? (await reserveStep(db, spend, credits, now).catch(ignoreRefusal))?.id ?? null;
  if (id !== null) await settle(db, { workspace_id: spend.workspace_id, id }, credits, now);
  return id;
}

/**
 * The tokens have already been used. If there are not enough credits to pay for them, they are not charged, and the
 * next step is refused.
 */
function ignoreRefusal(error: unknown): null {
  if (error instanceof Problem && error.kind === 'payment_required') return null;
  throw error;
}
