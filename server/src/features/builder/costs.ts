// A turn's cost (docs/api/credits.md): computing, charging and refunding it.
import { refund } from '../../core/credits/reservations.ts';
import { computeStepCredits, type TurnSpend, toTokenPrice } from '../../core/turns/step-costs.ts';
import type { Db } from '../../tables.ts';
import type { StepRow } from './store/steps.ts';
import type { TurnRow } from './store/turns.ts';

const minTurnCredits = 0.5;
export const turnPrice = toTokenPrice(minTurnCredits);

/** The credits that a step adds to its turn's cost. */
export const computeCredits = (earlier: readonly { readonly tokens: number }[], tokens: number): number =>
  computeStepCredits(minTurnCredits, earlier, tokens);

// Longer than a turn can take.
const leaseMs = 15 * 60 * 1000;

export const toSpend = ({ workspace_id, user_id, app_id, message_id }: TurnRow): TurnSpend => ({
  workspace_id,
  user_id,
  app_id,
  operation: 'sendChatMessage',
  reference_id: message_id,
  leaseMs,
});

/** Releases the incomplete step's reservation. With `all`, also refunds the charges for the other steps. */
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
