// A worker's polling. One statement per second finds all queues and jobs with work to do, and wakes them. If each
// queue and job polled separately, an idle worker would send dozens of statements per second.
import type { Clock } from '../../clock.ts';
import { type AnyDb, preparedByText } from '../../db/database.ts';
import type { KnownRows } from '../queues/claim.ts';
import { type Loop, runLoop } from './loop.ts';
import { WakeableSleep, type WakeUps } from './wake.ts';

/** Work that runs when it is due. */
export interface DueWork {
  /** The wake-up topic that the work listens to. */
  readonly topic: string;
  /**
   * SQL for the milliseconds until work is next due, or null if there is no work. `$1` is the clock's time, and `$2` a
   * JSON object of what this process knows, by topic.
   */
  readonly dueInMs: string;
  /** What this process knows about the work, under its topic in `$2`: `xmax` and `xip` of the position, and `nextMs`. */
  known?(): KnownRows;
  /** The minimum time between wake-ups, so work that remains due is not attempted every second. */
  readonly everyMs?: number;
}

export interface PollDeps {
  readonly db: AnyDb;
  readonly clock: Clock;
  readonly wake: WakeUps;
  readonly onError: (what: string, error: unknown) => void;
}

const pollEveryMs = 1_000;
const errorMs = 500;

/**
 * Wake-ups for work that `startPolling` wakes. The work itself only needs to poll every five minutes, as a fallback.
 */
export const wokenByPolling = ({ listen, notify }: WakeUps): Pick<WakeUps, 'listen' | 'pollMs' | 'notify'> => ({
  listen,
  notify,
  pollMs: () => 5 * 60_000,
});

export function startPolling(works: readonly DueWork[], { db, clock, wake, onError }: PollDeps): Loop {
  const timers = new Set<NodeJS.Timeout>();
  const wokenAt = new Map<string, number>();
  const wakeUp = (topic: string) => {
    wokenAt.set(topic, performance.now());
    wake.notifyLocally(topic);
  };
  const wakeUpIn = (topic: string, ms: number) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      wakeUp(topic);
    }, ms);
    timers.add(timer);
  };
  const findDue = prepareFindDue(works);
  const poll = async (): Promise<number> => {
    const waitMs = Math.min(pollEveryMs, wake.pollMs());
    const known = new Map(works.flatMap((work) => (work.known === undefined ? [] : [[work.topic, work.known()]])));
    const polled = Object.fromEntries([...known].map(([topic, rows]) => [topic, toPolled(rows)]));
    const [found] = await findDue(db, clock.now(), JSON.stringify(polled));
    if (found === undefined) throw new Error('polling must return one row');
    for (const [n, { topic, everyMs = 0 }] of works.entries()) {
      if (found[`due_${n}`] === null) known.get(topic)?.noteNothingDue?.(found.snapshot);
      const pauseMs = (wokenAt.get(topic) ?? Number.NEGATIVE_INFINITY) + everyMs - performance.now();
      const ms = Math.max(found[`due_${n}`] ?? Number.POSITIVE_INFINITY, pauseMs);
      if (ms <= 0) wakeUp(topic);
      else if (ms < waitMs) wakeUpIn(topic, ms);
    }
    return waitMs;
  };
  const loop = runLoop(new WakeableSleep(), () =>
    poll().catch((error: unknown) => {
      onError('find due work', error);
      for (const { topic } of works) wake.notifyLocally(topic); // wakes everything, because what is due is unknown
      return errorMs;
    }),
  );
  return {
    async stop() {
      await loop.stop();
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

const toPolled = ({ position, nextMs }: KnownRows) => ({
  xmax: position?.xmax,
  xip: `{${position?.xip.join() ?? ''}}`,
  nextMs,
});

interface FoundDue {
  readonly snapshot: string;
  readonly [due: `due_${number}`]: number | null;
}

function prepareFindDue(works: readonly DueWork[]) {
  const columns = works.map(({ dueInMs }, n) => `(${dueInMs})::float as due_${n}`);
  const first = ['$1::timestamptz as now', '$2::json as known', 'pg_current_snapshot()::text as snapshot'];
  const text = `/* service */ select ${[...first, ...columns].join(',\n  ')}`;
  return preparedByText<FoundDue, [now: Date, known: string]>('find due work', text);
}
