// The run queue, and the jobs that clean up after lost workers.
import type { Queue } from '../../kit/background/queues/queue.ts';
import { retries } from '../../kit/background/queues/queue.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { cleanUpRuns } from './clean-up.ts';
import { type DeletionDeps, finishDeletions } from './delete-flow.ts';
import { endRun } from './end.ts';
import { runQueue, toRunTopic } from './execution.ts';
import { messages } from './faults.ts';
import { type PerformDeps, performRun } from './perform.ts';
import { reapBrowsers, reapSessions } from './sessions.ts';
import { removeOldEvidence } from './store/evidence.ts';
import {
  cleanUpDueInMs,
  countExecutions,
  type ExecutionRow,
  listOverdueExecutions,
  lockActiveExecution,
} from './store/executions.ts';
import { abandonedDeletionDueInMs } from './store/flows.ts';
import { countOpenSessions, removeOldSessions, sessionsDueInMs } from './store/sessions.ts';
import { statuses } from './transitions.ts';

export interface QueueDeps extends PerformDeps {
  readonly onRun: (outcome: string, seconds: number) => void;
}

export const createRunQueue = (deps: QueueDeps): Queue<ExecutionRow> => ({
  name: runQueue,
  owner: 'workspace_id',
  byHand: {
    retry: 'The run has ended with an error. Start another one with startExecution.',
    cancel: 'Cancel the run with cancelExecution.',
  },
  // Each run starts its own browser.
  concurrency: 2,
  perOwner: 1,
  timeoutMs: deps.times.runMs + deps.times.browserMs + 60_000,
  // Retries once, for example after a browser crash or a brief database outage.
  retryMs: retries(1_000),
  async run(execution, { db, signal }) {
    const startedAt = performance.now();
    const outcome = await performRun(db, deps, execution, signal);
    deps.wake.notify(toRunTopic(execution.id));
    if (outcome !== undefined) deps.onRun(outcome, (performance.now() - startedAt) / 1000);
    return {};
  },
  async onDeadLetter(db, execution, error) {
    const active = await lockActiveExecution(db, execution);
    if (active === undefined) return;
    const end = { status: 'error', error_message: explainFailure(error) } as const;
    const status = await endRun(db, active, end, deps.clock.now());
    afterCommit(db, () => deps.wake.notify(toRunTopic(execution.id)));
    deps.onRun(status, Math.max(0, deps.clock.now().getTime() - execution.created_date.getTime()) / 1000);
  },
});

function explainFailure(error: string): string {
  if (error.startsWith('took longer than')) return messages.tookTooLong;
  return /^the (?:browser|worker) crashed/.test(error) ? messages.crashed : messages.other;
}

const dayMs = 24 * 60 * 60_000;
const evidenceDays = 30;
const rowsAtOnce = 500;

export const testJobs = (deps: QueueDeps & DeletionDeps): Job[] => [
  {
    name: 'close abandoned browser sessions',
    everyMs: 5_000,
    dueInMs: sessionsDueInMs,
    run: (db, now) => reapSessions(db, deps, now),
  },
  // Has no `dueInMs`, because the database does not know about processes on this host.
  { name: 'close left browsers', everyMs: 5_000, run: (db, now) => reapBrowsers(db, deps, now) },
  {
    name: 'finish deleting test flows',
    everyMs: 5_000,
    dueInMs: abandonedDeletionDueInMs(deps.times.deleteWaitMs),
    run: (db, now) => finishDeletions(db, deps, now),
  },
  {
    name: 'clean up after test runs',
    everyMs: 10_000,
    dueInMs: cleanUpDueInMs,
    run: (db, now) => cleanUpRuns(db, deps, now),
  },
  { name: 'end overdue test runs', everyMs: 60_000, run: (db, now) => endOverdueRuns(db, deps, now) },
  {
    name: 'remove old test evidence',
    everyMs: 10 * 60_000,
    run: (db, now) => removeOldEvidence(db, new Date(now.getTime() - evidenceDays * dayMs), rowsAtOnce),
  },
  {
    name: 'remove old browser sessions',
    everyMs: 10 * 60_000,
    run: (db, now) => removeOldSessions(db, new Date(now.getTime() - dayMs), rowsAtOnce),
  },
];

/** Ends runs that no worker claimed in time. */
async function endOverdueRuns(db: Db, { times, wake }: QueueDeps, now: Date): Promise<number> {
  const overdue = await listOverdueExecutions(db, new Date(now.getTime() - times.queueMs), rowsAtOnce);
  for (const execution of overdue)
    await transaction(db, async (db) => {
      const active = await lockActiveExecution(db, execution);
      if (active?.status !== 'pending' || active.claimed_slot !== null) return;
      await endRun(db, active, { status: 'error', error_message: messages.waitedTooLong }, now);
      afterCommit(db, () => wake.notify(toRunTopic(execution.id)));
    });
  return overdue.length;
}

export const testGauges = [
  {
    name: 'plinth_test_run_states',
    help: 'Test runs by status',
    label: 'status',
    read: async (db: Db) => ({
      ...Object.fromEntries(statuses.map((status) => [status, 0])),
      ...(await countExecutions(db)),
    }),
  },
  { name: 'plinth_browser_sessions', help: 'Browsers of test runs that are open', read: countOpenSessions },
];
