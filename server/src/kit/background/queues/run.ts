// Owns running a queue in one process: claims due rows, runs them, and completes them.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../../clock.ts';
import { type AnyDb, afterCommit, prepared } from '../../db/database.ts';
import { sendWithCommit, sendWithCommitForRows } from '../../db/send.ts';
import { runLoop } from '../workers/loop.ts';
import type { SlotEpoch } from '../workers/slots.ts';
import { WakeableSleep, type WakeUps } from '../workers/wake.ts';
import { type ClaimDeps, createClaimer } from './claim.ts';
import { createCompleter, type RunResult, toFailedOutcome } from './complete.ts';
import type { Outcome, Queue, QueueRow } from './queue.ts';

const maxRowsPerClaim = 128;
const runsPerWake = 32;
const partialClaimMs = 10;
const emptyClaimMs = 100;
const errorMs = 500;
/** Polling finds what is due later than this. */
const soonMs = 2_000;
/** While more rows than this run here, new ones are left to any worker that has less to do. */
const maxRunningForNew = 256;

export interface RunningQueue {
  /**
   * Claims rows of these owners with the commit of the transaction that inserts them, and runs them after it: nobody needs to be
   * woken, and no round trip is made for them. `attach` returns a row as `load` would, or undefined if that one is to be loaded.
   * Rows beyond a limit are left to the workers that claim next. For queues with global limits.
   */
  claimWithCommit(db: AnyDb, owners: readonly string[], attach: (row: QueueRow) => QueueRow | undefined): Promise<void>;
  /**
   * Claims nothing more, waits at most `timeoutMs` for running rows, and releases the claims of the others. `dispatchEnded`: what
   * `claimWithCommit` was called with has committed or failed.
   */
  stop(timeoutMs: number, dispatchEnded?: Promise<void>): Promise<void>;
}

export interface QueueDeps extends ClaimDeps {
  readonly clock: Clock;
  readonly wake: Pick<WakeUps, 'listen' | 'pollMs' | 'notify'>;
  readonly onError: (queue: string, error: unknown) => void;
  /** Called after every run, for metrics. */
  readonly onRun?: (queue: string, result: RunResult, seconds: number) => void;
}

/** Runs one queue in this process until it is stopped. */
export function runQueue(queue: Queue, deps: QueueDeps): RunningQueue {
  const stopping = new AbortController();
  const idle = new WakeableSleep();
  const claimedRows = new Map<Promise<void>, QueueRow>();
  /** Rows that are claimed, and for which what they need is being read. */
  const loadingRows = new Set<QueueRow>();
  /** Rows that have run and are being completed. They no longer count against any limit. */
  const finishedRows = new Set<QueueRow>();
  const claimer = createClaimer(queue, deps);
  const complete = createCompleter(queue, deps.db);
  const strays = createStrayRelease(queue, deps, idle.wake);
  let runsSinceClaim = 0;
  let isStopping = false;
  /** Something is due that was not claimed, because a limit was reached. */
  let isDueLeft = false;
  deps.wake.listen(queue.name, idle.wake);
  const countRunning = () => claimedRows.size + loadingRows.size - finishedRows.size;
  const listClaimed = () => [...claimedRows.values(), ...loadingRows];
  const claimedHere = () => ({ claimedRows: listClaimed(), finishedRows });

  const runAndComplete = async (row: QueueRow) => {
    const startedAt = performance.now();
    const outcome = await runWithTimeout(queue, row, deps, stopping.signal);
    finishedRows.add(row);
    runsSinceClaim += 1;
    // Not after every run: each claim would then fetch a single row.
    if (isDueLeft && (runsSinceClaim >= runsPerWake || countRunning() < runsPerWake)) idle.wake();
    const result = await complete(row, outcome);
    if (result === 'again' && (outcome.runAgainInMs ?? 0) < soonMs) idle.wake(); // polling may come too late
    deps.onRun?.(queue.name, result, (performance.now() - startedAt) / 1000);
  };
  const start = (row: QueueRow) => {
    const work = runAndComplete(row)
      .catch((error: unknown) => {
        deps.onError(queue.name, error);
        strays.report([row]);
        idle.wake();
      })
      .finally(() => {
        claimedRows.delete(work);
        finishedRows.delete(row);
      });
    claimedRows.set(work, row);
  };
  const loadAndStart = async (rows: readonly QueueRow[]) => {
    for (const row of rows) loadingRows.add(row);
    try {
      for (const row of (await queue.load?.(deps.db, rows)) ?? rows) start(row);
    } catch (error) {
      strays.report(rows);
      throw error;
    } finally {
      for (const row of rows) loadingRows.delete(row);
    }
  };
  /** Returns how long to sleep before the next claim. */
  const claimAndStart = async (): Promise<number> => {
    await strays.releaseIfDue(listClaimed());
    const limit = Math.min(queue.concurrency - countRunning(), maxRowsPerClaim);
    isDueLeft = true;
    if (limit <= 0) return deps.wake.pollMs();
    runsSinceClaim = 0;
    const { rows, nextDueInMs = Number.POSITIVE_INFINITY } = await claimer.claim(limit, claimedHere());
    if (rows.length > 0) {
      strays.noteClaim();
      await loadAndStart(rows);
    }
    isDueLeft = nextDueInMs <= 0;
    if (!isDueLeft) return Math.min(nextDueInMs, deps.wake.pollMs());
    if (rows.length === limit) return 0;
    // Something is due but was not claimed: its owner or key is at its limit, or another process is completing it.
    return rows.length > 0 ? partialClaimMs : emptyClaimMs;
  };
  const loop = runLoop(idle, () =>
    claimAndStart().catch((error: unknown) => {
      deps.onError(queue.name, error);
      strays.checkNext(); // the claim may have committed although its answer was lost
      return errorMs;
    }),
  );
  return {
    async claimWithCommit(db, owners, attach) {
      const wakeOthers = () => deps.wake.notify(queue.name);
      const limit = Math.min(maxRunningForNew - countRunning(), maxRowsPerClaim);
      if (limit <= 0 || isStopping || queue.globalLimits === undefined) return afterCommit(db, wakeOthers);
      const [prepare, claim, findNextDue] = claimer.listStatements(limit, claimedHere(), owners);
      strays.noteClaim();
      await sendWithCommit(db, prepare);
      const claimed = await sendWithCommitForRows(db, claim);
      const next = await sendWithCommitForRows(db, findNextDue);
      afterCommit(db, () => {
        const attached = claimed.rows.map((row) => ({ row, loaded: attach(row) }));
        for (const { loaded } of attached) if (loaded !== undefined) start(loaded);
        const others = attached.filter(({ loaded }) => loaded === undefined).map(({ row }) => row);
        if (others.length > 0) loadAndStart(others).catch((error: unknown) => deps.onError(queue.name, error));
        if ((next.rows[0]?.in_ms ?? 1) <= 0) wakeOthers();
      });
    },
    async stop(timeoutMs, dispatchEnded = Promise.resolve()) {
      isStopping = true;
      await loop.stop();
      await Promise.race([dispatchEnded.then(() => Promise.all(claimedRows.keys())), sleep(timeoutMs)]);
      await strays.releaseAll();
      stopping.abort(new Error('the worker is stopping'));
    },
  };
}

const checkStraysMs = { usual: 10_000, found: 500 };
/** After this time a claim has committed, or never will. */
const claimSettledMs = 20_000;

/**
 * Releases claims of this worker on rows that it is not running: those of a claim whose answer was lost, for example. Nobody
 * else does, as long as this worker has its slot. A claim whose commit is being answered just now looks the same, so that one
 * is released only if it was found twice. Without claims there is nothing to check.
 */
function createStrayRelease(queue: Queue, { db, slot }: QueueDeps, wake: () => void) {
  const release = prepareReleaseStrays(queue);
  let found: readonly string[] = [];
  let claimedAt = Number.NEGATIVE_INFINITY;
  let isDue = false;
  let timer: NodeJS.Timeout | undefined;
  const checkIn = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      isDue = true;
      wake();
    }, ms).unref();
  };
  return {
    /** Call it before a claim commits, or when its rows are known. */
    noteClaim() {
      claimedAt = performance.now();
      if (timer === undefined) checkIn(checkStraysMs.usual);
    },
    /** When the queue looks next. */
    checkNext() {
      isDue = true;
      claimedAt = performance.now();
    },
    /** These are claimed and will not run. */
    report(rows: readonly QueueRow[]) {
      found = [...found, ...rows.map((row) => row.id)];
      claimedAt = performance.now();
      checkIn(checkStraysMs.found);
    },
    async releaseIfDue(running: readonly QueueRow[]) {
      if (!isDue) return;
      isDue = false;
      const before = found;
      const ids = running.map((row) => row.id);
      const others = (await release(db, slot.slot, slot.epoch, ids, before)).map((row) => row.id);
      found = [...others, ...found.slice(before.length)];
      if (found.length > 0) checkIn(checkStraysMs.found);
      else if (performance.now() - claimedAt < claimSettledMs) checkIn(checkStraysMs.usual);
    },
    async releaseAll() {
      clearTimeout(timer);
      await releaseAllClaims(queue, db, slot);
    },
  };
}

/** Of the claims on rows that are not running, releases those found before, and returns the others. */
const prepareReleaseStrays = ({ name }: Queue) =>
  prepared<{ id: string }, [slot: number, epoch: number, running: readonly string[], foundBefore: readonly string[]]>(
    `release stray claims of ${name}`,
    `/* service */ with strays as (
       select id from "${name}" where claimed_slot = $1 and claimed_epoch = $2 and id <> all($3::uuid[]) for update),
     released as (
       update "${name}" set claimed_slot = null, claimed_epoch = null
       where id in (select id from strays) and id = any($4::uuid[]) returning id)
     select id from strays where id not in (select id from released)`,
  );

async function releaseAllClaims({ name }: Queue, db: AnyDb, { slot, epoch }: SlotEpoch): Promise<void> {
  await sql`/* service */ update ${sql.table(name)} set claimed_slot = null, claimed_epoch = null
    where claimed_slot = ${slot} and claimed_epoch = ${epoch}`.execute(db);
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
