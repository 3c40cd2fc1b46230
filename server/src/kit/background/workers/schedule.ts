// Owns work on a schedule: jobs that heal, seal and purge. Each is idempotent, runs again after a failure, and never
// beside itself in one process.
import type { Clock } from '../../clock.ts';
import type { AnyDb } from '../../db/database.ts';
import { type Loop, runLoop } from './loop.ts';
import { WakeableSleep } from './wake.ts';

export interface Job {
  readonly name: string;
  readonly everyMs: number;
  /** Gives how much was done; while there is something to do, the next turn follows soon. */
  run(db: AnyDb, now: Date): Promise<number>;
}

// Not at once: what comes of age all the time would be done row by row, at the speed of statements.
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
      // Some give, so that many processes do not all come at the same moment.
      return done > 0 ? catchUpDelayMs(job.everyMs) : job.everyMs * (0.9 + 0.2 * Math.random());
    }),
  );
  return { stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))) };
}
