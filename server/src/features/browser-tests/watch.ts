// Watches a run while a worker performs it: whether the run was cancelled, whether the worker still holds the
// claim, and whether the user who started the run still has access.
import { createAccessCheck, type TurnWatch, type WatchDeps, watchTurn } from '../../core/turns/watch.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Db } from '../../tables.ts';
import { toRunTopic } from './execution.ts';
import { type ExecutionRow, findWatched } from './store/executions.ts';
import type { TestTimes } from './times.ts';

/** The reason why a run may not continue. */
export type StopReason = 'cancelled' | 'claim_lost' | 'access_lost' | 'time_limit';

export class RunStopped extends Error {
  readonly reason: StopReason;

  constructor(reason: StopReason) {
    super(`the run was stopped: ${reason}`);
    this.reason = reason;
  }
}

export interface RunWatchDeps extends WatchDeps {
  readonly clock: Clock;
  readonly times: TestTimes;
}

/** Its signal is aborted with RunStopped. */
export interface RunWatch extends TurnWatch {
  /** Starts the run's time limit. */
  begin(startedAt: Date): void;
}

/** While the database is unavailable, the run stops only when the browser's lease is lost. */
export function watchRun(db: Db, deps: RunWatchDeps, execution: ExecutionRow): RunWatch {
  const { clock, times } = deps;
  const hasAccess = createAccessCheck(db, execution, execution.app_id);
  let startedAt = execution.started_at;
  const findReason = async (): Promise<StopReason | undefined> => {
    const run = await findWatched(db, execution);
    if (run === undefined || run.has_ended || !run.is_claimed || run.claims !== execution.claims) return 'claim_lost';
    if (run.is_cancelled) return 'cancelled';
    if (startedAt !== null && clock.now().getTime() - startedAt.getTime() > times.runMs) return 'time_limit';
    return (await hasAccess()) ? undefined : 'access_lost';
  };
  const watch = watchTurn(toRunTopic(execution.id), deps, async () => {
    const reason = await findReason();
    return reason && new RunStopped(reason);
  });
  return {
    ...watch,
    begin: (at) => {
      startedAt = at;
    },
  };
}
