// Owns running a queue in one process: claims due rows, runs them, and completes them.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../../clock.ts';
import { prepared } from '../../db/database.ts';
import { runLoop } from '../workers/loop.ts';
import { WakeableSleep, type WakeUps } from '../workers/wake.ts';
import { type ClaimDeps, createClaimer } from './claim.ts';
import { createCompleter, type RunResult, toFailedOutcome } from './complete.ts';
import type { Outcome, Queue, QueueRow } from './queue.ts';

const maxRowsPerClaim = 128;
const runsPerWake = 32;
const partialClaimMs = 10;
const emptyClaimMs = 100;
const errorMs = 500;
const releaseStraysEveryMs = 10_000;

export interface RunningQueue {
  /** Claims nothing more, waits at most `timeoutMs` for running rows, and releases the claims of the others. */
  stop(timeoutMs: number): Promise<void>;
}

export interface QueueDeps extends ClaimDeps {
  readonly clock: Clock;
  readonly wake: Pick<WakeUps, 'listen' | 'pollMs'>;
  readonly onError: (queue: string, error: unknown) => void;
  /** Called after every run, for metrics. */
  readonly onRun?: (queue: string, result: RunResult, seconds: number) => void;
}

/** Runs one queue in this process until it is stopped. */
export function runQueue(queue: Queue, deps: QueueDeps): RunningQueue {
  const stopping = new AbortController();
  const idle = new WakeableSleep();
  const claimedRows = new Map<Promise<void>, QueueRow>();
  /** Rows that have run and are being completed. They no longer count against any limit. */
  const finishedRows = new Set<QueueRow>();
  const findNextDue = prepareFindNextDue(queue);
  const claim = createClaimer(queue, deps);
  const complete = createCompleter(queue, deps.db);
  let straysReleasedAt = performance.now();
  let runsSinceClaim = 0;
  deps.wake.listen(queue.name, idle.wake);
  const countRunning = () => claimedRows.size - finishedRows.size;

  const runAndComplete = async (row: QueueRow) => {
    const startedAt = performance.now();
    const outcome = await runWithTimeout(queue, row, deps, stopping.signal);
    finishedRows.add(row);
    runsSinceClaim += 1;
    // Not after every run: each claim would then fetch a single row.
    if (runsSinceClaim >= runsPerWake || countRunning() < runsPerWake) idle.wake();
    const result = await complete(row, outcome);
    deps.onRun?.(queue.name, result, (performance.now() - startedAt) / 1000);
  };
  const start = (row: QueueRow) => {
    const work = runAndComplete(row)
      .catch((error: unknown) => {
        deps.onError(queue.name, error);
        straysReleasedAt = 0; // the row may still be claimed
        idle.wake();
      })
      .finally(() => {
        claimedRows.delete(work);
        finishedRows.delete(row);
      });
    claimedRows.set(work, row);
  };
  /** Returns how long to sleep before the next claim. */
  const claimAndStart = async (): Promise<number> => {
    if (performance.now() - straysReleasedAt > releaseStraysEveryMs) {
      await releaseStrayClaims(queue, deps, [...claimedRows.values()]);
      straysReleasedAt = performance.now();
    }
    const limit = Math.min(queue.concurrency - countRunning(), maxRowsPerClaim);
    if (limit <= 0) return deps.wake.pollMs();
    runsSinceClaim = 0;
    const [next] = await findNextDue(deps.db);
    if (next === undefined || next.in_ms > 0)
      return Math.min(next?.in_ms ?? Number.POSITIVE_INFINITY, deps.wake.pollMs());
    const rows = await claim(limit, [...claimedRows.values()], finishedRows);
    for (const row of (await queue.load?.(deps.db, rows)) ?? rows) start(row);
    if (rows.length === limit) return 0;
    // Something is due but was not claimed: its owner or key is at its limit, or another process claimed it first.
    return rows.length > 0 ? partialClaimMs : emptyClaimMs;
  };
  const loop = runLoop(idle, () =>
    claimAndStart().catch((error: unknown) => {
      deps.onError(queue.name, error);
      straysReleasedAt = 0; // the claim may have committed although its answer was lost
      return errorMs;
    }),
  );
  return {
    async stop(timeoutMs) {
      await loop.stop();
      await Promise.race([Promise.all(claimedRows.keys()), sleep(timeoutMs)]);
      await releaseStrayClaims(queue, deps, []);
      stopping.abort(new Error('the worker is stopping'));
    },
  };
}

/** SQL: in how many milliseconds the next row is due. */
export const queueDueInMs = (queue: Pick<Queue, 'name'>): string =>
  `select extract(epoch from due_at - statement_timestamp())::float * 1000 as in_ms
     from "${queue.name}" where claimed_slot is null and due_at is not null order by due_at limit 1`;

const prepareFindNextDue = (queue: Queue) =>
  prepared<{ in_ms: number }, []>(`find next due of ${queue.name}`, `/* service */ ${queueDueInMs(queue)}`);

/** Releases claims of this worker on rows that it is not running. Nobody else does, as long as this worker has its slot. */
async function releaseStrayClaims(queue: Queue, { db, slot }: QueueDeps, running: readonly QueueRow[]): Promise<void> {
  await sql`/* service */ update ${sql.table(queue.name)} set claimed_slot = null, claimed_epoch = null
    where claimed_slot = ${slot.slot} and claimed_epoch = ${slot.epoch}
      and id <> all(${running.map((row) => row.id)}::uuid[])`.execute(db);
}

async function runWithTimeout(
  queue: Queue,
  row: QueueRow,
  { db, clock }: QueueDeps,
  stopping: AbortSignal,
): Promise<Outcome> {
  const timeout = new AbortController();
  const timedOut = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`took longer than ${queue.timeoutMs} ms`);
    timeout.abort(error);
    timedOut.reject(error); // a run that ignores its signal is no longer waited for
  }, queue.timeoutMs);
  try {
    return await Promise.race([
      queue.run(row, { db, now: clock.now(), signal: AbortSignal.any([timeout.signal, stopping]) }),
      timedOut.promise,
    ]);
  } catch (error) {
    return toFailedOutcome(queue, row, error);
  } finally {
    clearTimeout(timer);
  }
}
