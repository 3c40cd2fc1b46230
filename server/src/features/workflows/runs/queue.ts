// The run queue, and the jobs that keep its tables small.
import { toErrorText } from '../../../kit/background/error-text.ts';
import { type Outcome, type Queue, retries } from '../../../kit/background/queues/queue.ts';
import type { Job } from '../../../kit/background/workers/schedule.ts';
import { afterCommit } from '../../../kit/db/database.ts';
import { rewrapEach, type Secrets } from '../../../kit/secrets.ts';
import type { Db } from '../../../tables.ts';
import {
  findRunStatus,
  listStatesUnderOldKeys,
  makeDueIfCancelling,
  oldRunsDueInMs,
  type RunRow,
  removeOldRuns,
  runColumns,
  saveRewrappedState,
} from '../store/runs.ts';
import type { RunDeps } from './deps.ts';
import { cancelled, endRun, failed } from './end.ts';
import { ClaimLost, type Failure } from './errors.ts';
import { createWorkerMemory, executeRun } from './execute.ts';
import { rewrapState } from './execution.ts';
import { runQueue } from './start.ts';

const minuteMs = 60 * 1000;
const retryMs = retries(1_000, 5_000, 15_000, minuteMs, 5 * minuteMs);

export function createRunQueue(deps: RunDeps): Queue<RunRow> {
  const memory = createWorkerMemory();
  return {
    name: runQueue,
    owner: 'app_id',
    byHand: {
      retry: 'The run has ended. Run the workflow again with runWorkflow.',
      cancel: 'Cancel the run with cancelRun.',
    },
    concurrency: 256, // runs mostly wait for responses
    perOwner: 20,
    globalLimits: { concurrencyKey: 'workspace_id', perKey: 32 },
    quarantineAfter: 5, // calls take a long time, and two unrelated crashes must not make runs execute one by one
    timeoutMs: 5 * minuteMs,
    retryMs,
    claimedColumns: runColumns,
    async run(run, { db, signal }) {
      let hasProgress = false;
      const onProgress = () => {
        hasProgress = true;
      };
      try {
        return toOutcome(run, await executeRun(db, deps, run, memory, { signal, onProgress }), deps);
      } catch (error) {
        if (error instanceof ClaimLost) return {};
        // Only consecutive errors without progress count, because a run may last 30 days.
        const runAgainInMs = retryMs(hasProgress ? 1 : run.failures + 1);
        return { ...toOutcome(run, runAgainInMs, deps), error: toErrorText(error) };
      }
    },
    async onDeadLetter(db, run) {
      const isCancelling = (await findRunStatus(db, run)) === 'cancelling';
      await endRun(db, deps, run, { end: isCancelling ? cancelled : failed(platformFailure) }, deps.clock.now());
    },
  };
}

/** If the run was cancelled while it was being paused, it must continue immediately. */
const toOutcome = (run: RunRow, runAgainInMs: number | undefined, { wake }: RunDeps): Outcome =>
  runAgainInMs === undefined
    ? {}
    : {
        runAgainInMs,
        record: async (db: Db) => {
          if (await makeDueIfCancelling(db, run)) afterCommit(db, () => wake.notify(runQueue));
        },
      };

const platformFailure: Failure = {
  type: 'runtime',
  title: 'Platform error',
  status: 500,
  detail:
    'This run could not continue because of an internal error. Run the workflow again. If the error persists, contact the operator.',
  code: 'platform_error',
};

export interface RunJobDeps {
  readonly secrets: Secrets;
  readonly masterKeyId: string;
}

export const createRunJobs = ({ secrets, masterKeyId }: RunJobDeps): Job[] => [
  { name: 'remove old workflow runs', everyMs: 10_000, dueInMs: oldRunsDueInMs, run: removeOldRuns },
  {
    name: 'rewrap states of workflow runs',
    everyMs: minuteMs,
    run: async (db) =>
      rewrapEach('states of workflow runs', await listStatesUnderOldKeys(db, masterKeyId, 100), async (row) => {
        const rewrapped = rewrapState(row, secrets);
        if (rewrapped !== undefined) await saveRewrappedState(db, row, rewrapped);
      }),
  },
];
