// Owns jobs: idempotent functions that a worker runs at an interval, or when there is something to do. A failed job runs again at
// its next time. In one process a job never runs twice at once; in several processes it may.
import type { Clock } from '../../clock.ts';
import type { AnyDb } from '../../db/database.ts';
import { type Loop, runLoop } from './loop.ts';
import { WakeableSleep, type WakeUps } from './wake.ts';

export interface Job {
  readonly name: string;
  readonly everyMs: number;
  /** If given, the job runs when polling finds it due, at most every `everyMs` (`DueWork`). */
  readonly dueInMs?: string;
  /** Returns how much was done. After anything but 0 the job runs again soon, because there may be more. */
  run(db: AnyDb, now: Date): Promise<number>;
}

// Not 0: rows that expire continuously would be handled one by one, as fast as statements can be sent.
const catchUpDelayMs = (everyMs: number): number => everyMs / 100;

export function runJobs(
  jobs: readonly Job[],
  db: AnyDb,
  clock: Clock,
  wake: Pick<WakeUps, 'listen' | 'pollMs'>,
  onError: (job: string, error: unknown) => void,
): Loop {
  const loops = jobs.map((job) => {
    const idle = new WakeableSleep();
    if (job.dueInMs !== undefined) wake.listen(job.name, idle.wake);
    return runLoop(idle, async () => {
      const done = await job.run(db, clock.now()).catch((error: unknown) => {
        onError(job.name, error);
        return 0;
      });
      if (done > 0) return catchUpDelayMs(job.everyMs);
      if (job.dueInMs !== undefined) return wake.pollMs();
      // Random, so that many processes do not run the same job at the same moment.
      return job.everyMs * (0.9 + 0.2 * Math.random());
    });
  });
  return { stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))) };
}
