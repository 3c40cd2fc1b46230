// Slow calls. Their step is visible while they run. If the run is cancelled during a call, it waits at most 30
// seconds for the call to end.
import { setTimeout as sleep } from 'node:timers/promises';
import { WakeableSleep } from '../../../../kit/background/workers/wake.ts';
import { findRunStatus } from '../../store/runs.ts';
import { type StepRecord, showRunningStep } from '../../store/steps.ts';
import { ClaimLost } from '../errors.ts';
import { type Execution, notifyFollowers } from '../execution.ts';

const shownAfterMs = 100;
const maxPollMs = 1_000;
/** Less than 30 seconds, to leave time for noticing the cancellation and ending the run. */
const cancelGraceMs = 28_000;

/** The topic that wakes a cancelled run's worker. */
export const toCancelTopic = (id: string): string => `run-cancel:${id}`;

/** Runs a call. Returns `cancelled` if the run was cancelled and the call was abandoned. */
export async function whileShown<Result>(
  execution: Execution,
  step: StepRecord,
  call: (signal: AbortSignal) => Promise<Result>,
  graceMs = cancelGraceMs,
): Promise<Result | 'cancelled'> {
  const abandoned = new AbortController();
  const ended = new AbortController();
  const watching = watch(execution, step, abandoned, ended.signal, graceMs);
  try {
    const result = await call(AbortSignal.any([execution.signal, abandoned.signal]));
    if (abandoned.signal.aborted) return 'cancelled';
    return result;
  } catch (error) {
    if (abandoned.signal.aborted) return 'cancelled';
    // An error caused by aborting the call is not the task's error.
    if (execution.signal.aborted) throw new ClaimLost();
    throw error;
  } finally {
    ended.abort();
    await watching; // once recorded, the step must not be shown as running
  }
}

async function watch(
  execution: Execution,
  step: StepRecord,
  abandoned: AbortController,
  ended: AbortSignal,
  graceMs: number,
): Promise<void> {
  const { db, run, deps } = execution;
  await sleep(shownAfterMs, undefined, { signal: ended }).catch(() => {});
  if (ended.aborted) return;
  const idle = new WakeableSleep();
  const unlisten = deps.wake.listen(toCancelTopic(run.id), idle.wake);
  // The call continues while the database is unavailable. Once it is available again, the run may have been cancelled.
  try {
    await showRunningStep(db, run, step).catch(() => {});
    notifyFollowers(execution, true);
    while (!ended.aborted) {
      const status = await findRunStatus(db, run).catch(() => 'running');
      if (status !== 'running') return await abandonAfter(graceMs, abandoned, ended);
      await idle.sleep(Math.min(deps.wake.pollMs(), maxPollMs), ended);
    }
  } finally {
    unlisten();
  }
}

async function abandonAfter(ms: number, abandoned: AbortController, ended: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: ended }).catch(() => {});
  if (!ended.aborted) abandoned.abort(new Error('the run was cancelled'));
}
