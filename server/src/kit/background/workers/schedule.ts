// Jobs: idempotent functions that a worker runs at intervals, or when there is work to do. A failed job runs again
// at its next scheduled time. Within one process, a job's runs never overlap, but several processes may run the same
// job concurrently.
import type { Clock } from '../../clock.ts';
import type { AnyDb } from '../../db/database.ts';
import type { KnownRows } from '../queues/claim.ts';
import { type Loop, runLoop } from './loop.ts';
import { WakeableSleep, type WakeUps } from './wake.ts';

export interface Job {
  readonly name: string;
  readonly everyMs: number;
  /** If set, the job runs when polling finds it due, at most once per `everyMs` (`DueWork`). */
  readonly dueInMs?: string;
  /** What this process knows of the work, for `dueInMs`. */
  known?(): KnownRows;
  /** Returns how much work was done. If it is not 0, the job runs again soon, because there may be more work. */
  run(db: AnyDb, now: Date): Promise<number>;
}

// Not 0, because continuously expiring rows would then be handled one by one, as fast as statements can be sent.
const catchUpDelayMs = (everyMs: number): number => everyMs / 100;

export function runJobs(
  db: AnyDb,
  jobs: readonly Job[],
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
      // Randomised, so processes do not all run the same job at the same time.
      return job.everyMs * (0.9 + 0.2 * Math.random());
    });
  });
  return { stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))) };
}
