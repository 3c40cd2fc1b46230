// Owns watching a run from outside while a worker performs it: whether it was cancelled, whether the worker still has it, and whether
// the person who started it may still do so.
import { findAccessOnBehalf } from '../../core/auth/on-behalf.ts';
import { WakeableSleep, type WakeUps } from '../../kit/background/workers/wake.ts';
import type { Clock } from '../../kit/clock.ts';
import { classifyFailure } from '../../kit/db/failures.ts';
import type { Db } from '../../tables.ts';
import { toRunTopic } from './execution.ts';
import { type ExecutionRow, findWatched } from './store/executions.ts';
import type { TestTimes } from './times.ts';

/** Why a run may not go on. */
export type StopReason = 'cancelled' | 'claim_lost' | 'access_lost' | 'time_limit';

export class RunStopped extends Error {
  readonly reason: StopReason;

  constructor(reason: StopReason) {
    super(`the run was stopped: ${reason}`);
    this.reason = reason;
  }
}

export interface WatchDeps {
  readonly wake: Pick<WakeUps, 'listen' | 'pollMs'>;
  readonly clock: Clock;
  readonly times: TestTimes;
}

export interface RunWatch {
  /** Aborted with RunStopped. */
  readonly signal: AbortSignal;
  /** From now on the time of the run counts. */
  begin(startedAt: Date): void;
  close(): void;
}

const maxPollMs = 1_000;
const accessEveryMs = 10_000;

export function watchRun(db: Db, execution: ExecutionRow, { wake, clock, times }: WatchDeps): RunWatch {
  const stopped = new AbortController();
  const closed = new AbortController();
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toRunTopic(execution.id), idle.wake);
  let startedAt = execution.started_at;
  let accessSeenAt = performance.now();

  const findReason = async (): Promise<StopReason | undefined> => {
    const run = await findWatched(db, execution);
    if (run === undefined || run.has_ended || !run.is_claimed || run.claims !== execution.claims) return 'claim_lost';
    if (run.is_cancelled) return 'cancelled';
    if (startedAt !== null && clock.now().getTime() - startedAt.getTime() > times.runMs) return 'time_limit';
    if (performance.now() - accessSeenAt < accessEveryMs) return undefined;
    accessSeenAt = performance.now();
    return (await findAccessOnBehalf(db, execution, execution.app_id, 'editor')) ? undefined : 'access_lost';
  };
  const watch = async () => {
    while (!closed.signal.aborted) {
      await idle.sleep(Math.min(wake.pollMs(), maxPollMs), closed.signal);
      if (closed.signal.aborted) return;
      const reason = await findReason().catch((error: unknown) => {
        if (classifyFailure(error) === undefined) throw error;
        return undefined; // while the database is unavailable, the lease of the browser decides
      });
      if (reason !== undefined) return stopped.abort(new RunStopped(reason));
    }
  };
  const watching = watch();
  watching.catch((error) => stopped.abort(error));
  return {
    signal: stopped.signal,
    begin: (at) => {
      startedAt = at;
    },
    close() {
      closed.abort();
      unlisten();
    },
  };
}
