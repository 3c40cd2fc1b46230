// The turn queue. A worker runs a turn until it ends, and turn.ts writes the end in its own transaction. A turn
// that keeps failing, or that crashes its workers, is dead-lettered here.
import { ClaimLost } from '../../core/turns/claim.ts';
import { type WatchDeps, watchTurn } from '../../core/turns/watch.ts';
import { type Queue, retries } from '../../kit/background/queues/queue.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import { turnQueue } from './chat.ts';
import { deadLetterTurn, toStopTopic } from './end.ts';
import { hasTurnEnded, removeOldTurns, type TurnRow } from './store/turns.ts';
import { runTurn, type TurnRunDeps } from './turn.ts';

export interface TurnQueueDeps extends TurnRunDeps {
  readonly wake: TurnRunDeps['wake'] & WatchDeps['wake'];
}

export const createTurnQueue = (deps: TurnQueueDeps): Queue<TurnRow> => ({
  name: turnQueue,
  owner: 'workspace_id',
  byHand: {
    retry: 'The turn has ended and its credits were refunded. Send the message again with sendChatMessage.',
    cancel: 'Stop the turn with stopChat.',
  },
  // A run mostly waits for the model, but it keeps its changed files in memory.
  concurrency: 32,
  perOwner: 8,
  quarantineAfter: 5, // runs take minutes, so two unrelated crashes must not quarantine a turn
  timeoutMs: 10 * 60 * 1000,
  retryMs: retries(500, 2_000, 5_000),
  async run(turn, { db, signal }) {
    if (turn.ended_date !== null) return {}; // stopped before it was claimed
    // Stops model calls if the turn is ended elsewhere.
    const watch = watchTurn(toStopTopic(turn.id), deps, async () =>
      (await hasTurnEnded(db, turn)) ? new ClaimLost() : undefined,
    );
    try {
      await runTurn(db, deps, turn, AbortSignal.any([signal, watch.signal]));
    } catch (error) {
      if (!(error instanceof ClaimLost)) throw error;
    } finally {
      watch.close();
    }
    return {};
  },
  async onDeadLetter(db, turn) {
    await deadLetterTurn(db, deps, turn, platformError, deps.clock.now());
  },
});

const platformError = {
  source: 'builder',
  message:
    'This turn could not finish because of an internal error. Nothing was saved or charged. Send your message again. If it happens again, contact the operator.',
  refunds: true,
} as const;

export const turnJobs: readonly Job[] = [{ name: 'remove old chat turns', everyMs: 60_000, run: removeOldTurns }];
