// Owns jobs: idempotent functions that a worker runs at an interval. A failed job runs again at its next time. In one
// process a job never runs twice at once; in several processes it may.
import type { Clock } from '../../clock.ts';
import type { AnyDb } from '../../db/database.ts';
import { type Loop, runLoop } from './loop.ts';
import { WakeableSleep } from './wake.ts';

export interface Job {
  readonly name: string;
  readonly everyMs: number;
  /** Returns how much was done. After anything but 0 the job runs again soon, because there may be more. */
  run(db: AnyDb, now: Date): Promise<number>;
}

// Not 0: rows that expire continuously would be handled one by one, as fast as statements can be sent.
const catchUpDelayMs = (everyMs: number): number => everyMs / 100;

export function runJobs(
  jobs: readonly Job[],
  db: AnyDb,
  clock: Clock,
  onError: (job: string, error: unknown) => void,
): Loop {
  const loops = jobs.map((job) =>
    runLoop(new WakeableSleep(), async () => {
      const done = await job.run(db, clock.now()).catch((error: unknown) => {
        onError(job.name, error);
        return 0;
      });
      // Random, so that many processes do not run the same job at the same moment.
      return done > 0 ? catchUpDelayMs(job.everyMs) : job.everyMs * (0.9 + 0.2 * Math.random());
    }),
  );
  return { stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))) };
}
