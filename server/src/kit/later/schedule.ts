// Owns work on a schedule: jobs that heal, seal and purge. Each is idempotent, runs again after a failure, and never
// beside itself in one process.

import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { AnyDb } from '../db/database.ts';

export interface Job {
  readonly name: string;
  readonly everyMs: number;
  /** Gives how much was done; while there is something to do, the next turn follows at once. */
  run(db: AnyDb, now: Date): Promise<number>;
}

export interface Running {
  /** Lets the turns under way end. */
  stop(): Promise<void>;
}

export function runJobs(
  jobs: readonly Job[],
  db: AnyDb,
  clock: Clock,
  onError: (job: string, error: unknown) => void,
): Running {
  const stopping = new AbortController();
  const loops = jobs.map((job) => loop(job, db, clock, onError, stopping.signal));
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

async function loop(
  job: Job,
  db: AnyDb,
  clock: Clock,
  onError: (job: string, error: unknown) => void,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    const done = await job.run(db, clock.now()).catch((error: unknown) => {
      onError(job.name, error);
      return 0;
    });
    if (done > 0) continue;
    // Some give, so that many processes do not all come at the same moment.
    await setTimeout(job.everyMs * (0.9 + 0.2 * Math.random()), undefined, { signal: stop }).catch(() => {});
  }
}
