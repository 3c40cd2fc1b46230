// Owns the polling of a worker: one statement a second that finds which queues and jobs have something to do, and wakes those. If
// each of them asked for itself, an idle worker would send dozens of statements a second.
import type { Clock } from '../../clock.ts';
import { type AnyDb, preparedByText } from '../../db/database.ts';
import { type Loop, runLoop } from './loop.ts';
import { WakeableSleep, type WakeUps } from './wake.ts';

/** Work that is done when it is due. */
export interface DueWork {
  /** What it listens to. */
  readonly topic: string;
  /** SQL, a number or null: in how many milliseconds the next work is due, null if there is none. `$1` is the clock's time. */
  readonly dueInMs: string;
  /** Polling wakes it at most this often, so that work which stays due is not tried every second. */
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

/** The wake-ups of what is woken by polling: it needs no polling of its own, and looks now and then all the same. */
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
    const [found = {}] = await findDue(db, clock.now());
    for (const [n, { topic, everyMs = 0 }] of works.entries()) {
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
      for (const { topic } of works) wake.notifyLocally(topic); // they look for themselves
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

function prepareFindDue(works: readonly DueWork[]) {
  const columns = works.map(({ dueInMs }, n) => `(${dueInMs})::float as due_${n}`);
  const text = `/* service */ select ${['$1::timestamptz as now', ...columns].join(',\n  ')}`;
  return preparedByText<Readonly<Record<string, number | null>>, [now: Date]>('find due work', text);
}
