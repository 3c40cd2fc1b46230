// A session's cost (docs/api/credits.md), who pays it, and the credits for an incomplete step.
import { refund } from '../../../core/credits/reservations.ts';
import {
  computeStepCredits,
  roundStepCredits,
  settleStep,
  type TurnSpend,
  toTokenPrice,
} from '../../../core/turns/step-costs.ts';
import type { Db } from '../../../tables.ts';
import type { SessionRow } from '../store/sessions.ts';
import { findOpenStep, removeOpenStep } from '../store/steps.ts';

/** The minimum cost of a turn. */
export const minTurnCredits = 2;
export const turnPrice = toTokenPrice(minTurnCredits);

/** The cost that a step adds to its turn. */
export const computeCredits = (earlier: readonly { readonly tokens: number }[], tokens: number): number =>
  computeStepCredits(minTurnCredits, earlier, tokens);

/** The total cost of all turns. */
export function computeSessionCredits(turns: readonly (readonly { readonly tokens: number }[])[]): number {
  const credits = turns.map((steps) =>
    computeCredits(
      [],
      steps.reduce((sum, step) => sum + step.tokens, 0),
    ),
  );
  return roundStepCredits(credits.reduce((sum, each, index) => sum + (turns[index]?.length === 0 ? 0 : each), 0));
}

// Longer than a step with all its commands can take.
const leaseMs = 2 * 60 * 60 * 1000;

export const toSpend = ({ workspace_id, user_id, app_id, id }: SessionRow): TurnSpend => ({
  workspace_id,
  user_id,
  app_id,
  operation: 'launchSession',
  reference_id: id,
  leaseMs,
});

/**
 * Settles and removes the turn's incomplete step, if there is one. The step is charged `credits`, or refunded if
 * `credits` is zero. Returns the credits charged.
 */
export async function closeOpenStep(db: Db, session: SessionRow, credits: number, now: Date): Promise<number> {
  const step = await findOpenStep(db, session);
  if (step === undefined) return 0;
  const { workspace_id } = session;
  if (credits > 0) await settleStep(db, toSpend(session), step, credits, now);
  else if (step.reservation_id !== null) await refund(db, { workspace_id, id: step.reservation_id }, now);
  await removeOpenStep(db, session);
  return credits;
}
