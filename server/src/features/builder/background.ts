// Owns the queue of turns. A worker runs a turn to its end, which turn.ts writes in a transaction of its own; the queue only
// learns that the row is done. A turn that fails again and again, or that crashes its workers, is given up here.
import { type Queue, retries } from '../../kit/background/queues/queue.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import { WakeableSleep, type WakeUps } from '../../kit/background/workers/wake.ts';
import { classifyFailure } from '../../kit/db/failures.ts';
import type { Db } from '../../tables.ts';
import { turnQueue } from './chat.ts';
import { ClaimLost, deadLetterTurn, toStopTopic } from './end.ts';
import { hasTurnEnded, removeOldTurns, type TurnRow } from './store/turns.ts';
import { runTurn, type TurnRunDeps } from './turn.ts';

export interface TurnQueueDeps extends TurnRunDeps {
  readonly wake: Pick<WakeUps, 'notify' | 'listen' | 'pollMs'>;
}

export const createTurnQueue = (deps: TurnQueueDeps): Queue<TurnRow> => ({
  name: turnQueue,
  owner: 'workspace_id',
  // A run mostly waits for the model, but holds the files that it has changed.
  concurrency: 32,
  perOwner: 8,
  quarantineAfter: 5, // runs take minutes: two unrelated crashes must not make turns run one at a time
  timeoutMs: 10 * 60 * 1000,
  retryMs: retries(500, 2_000, 5_000),
  async run(turn, { db, signal }) {
    if (turn.ended_date !== null) return {}; // stopped before it was claimed
    const watch = watchForEnd(db, turn, deps);
    try {
      await runTurn(db, turn, deps, AbortSignal.any([signal, watch.signal]));
    } catch (error) {
      if (!(error instanceof ClaimLost)) throw error;
    } finally {
      watch.close();
    }
    return {};
  },
  async onDeadLetter(db, turn) {
    await deadLetterTurn(db, turn, platformError, deps, deps.clock.now());
  },
});

const platformError = {
  source: 'builder',
  message:
    'An error of the platform kept this turn from finishing. Nothing was saved, and nothing is charged. Send your message again; if it happens again, tell the operator.',
  refunds: true,
} as const;

const maxPollMs = 1_000;

/** Its signal is aborted when somebody else has ended the turn, so that no more is asked of the model. */
function watchForEnd(db: Db, turn: TurnRow, { wake }: TurnQueueDeps) {
  const ended = new AbortController();
  const closed = new AbortController();
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toStopTopic(turn.id), idle.wake);
  const watch = async () => {
    while (!closed.signal.aborted) {
      await idle.sleep(Math.min(wake.pollMs(), maxPollMs), closed.signal);
      if (closed.signal.aborted) return;
      const hasEnded = await hasTurnEnded(db, turn).catch((error: unknown) => {
        if (classifyFailure(error) === undefined) throw error;
        return false; // while the database is unavailable, the turn goes on
      });
      if (hasEnded) return ended.abort(new ClaimLost());
    }
  };
  const watching = watch();
  watching.catch(() => {}); // the turn's own statements will meet the same error
  return {
    signal: ended.signal,
    close() {
      closed.abort();
      unlisten();
    },
  };
}

export const turnJobs: readonly Job[] = [{ name: 'remove old chat turns', everyMs: 60_000, run: removeOldTurns }];
