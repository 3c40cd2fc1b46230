// Stores a running turn's deltas in batches, and wakes the processes that stream them.
import { setTimeout as sleep } from 'node:timers/promises';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import type { Clock } from '../../kit/clock.ts';
import type { AnyDb } from '../../kit/db/database.ts';
import { toStorable } from '../../kit/text.ts';
import { type Delta, insertDeltas, type TurnKey } from './deltas.ts';

/** A turn's wake-up topic, which is notified when the turn has new deltas or has ended. */
export const toTurnTopic = (turnId: string): string => `turn:${turnId}`;

export interface DeltaWriter {
  add(delta: Delta): void;
  /** Stores the remaining deltas. */
  end(): Promise<void>;
}

interface DeltaWriterDeps {
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly clock: Clock;
}

const batchMs = 150;

/**
 * Stores deltas a few times a second, and wakes the processes that stream them. If storing fails, the turn still
 * continues, and callers receive the reply once it is complete. `topics` are the wake-ups of those who follow the turn.
 */
export function writeDeltas(
  db: AnyDb,
  { wake, clock }: DeltaWriterDeps,
  turn: TurnKey & { readonly claims: number },
  topics: readonly string[] = [toTurnTopic(turn.id)],
): DeltaWriter {
  const ended = new AbortController();
  const waiting: Delta[] = [];
  let seq = 0;
  let hasFailed = false;
  let writing: Promise<void> | undefined;
  const write = async () => {
    await sleep(batchMs, undefined, { signal: ended.signal }).catch(() => {});
    const deltas = waiting.splice(0);
    await insertDeltas(db, turn, seq, toStorable(deltas), clock.now());
    seq += deltas.length;
    for (const topic of topics) wake.notify(topic);
  };
  const next = () => {
    writing ??= write()
      .catch(() => {
        hasFailed = true;
        waiting.length = 0; // later deltas must not follow a missing one
      })
      .finally(() => {
        writing = undefined;
        if (waiting.length > 0) next();
      });
  };
  return {
    add(delta) {
      if (hasFailed) return;
      const last = waiting.at(-1);
      if ('text' in delta && last && 'text' in last) waiting.splice(-1, 1, { text: last.text + delta.text });
      else waiting.push(delta);
      next();
    },
    async end() {
      ended.abort();
      while (writing !== undefined) await writing;
    },
  };
}
