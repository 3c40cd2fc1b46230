// Runs a queue in one process: claiming due rows, running them, and completing them.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../../clock.ts';
import { type AnyDb, afterCommit, prepared } from '../../db/database.ts';
import { sendWithCommit, sendWithCommitForRows } from '../../db/send.ts';
import { runLoop } from '../workers/loop.ts';
import type { SlotEpoch } from '../workers/slots.ts';
import { WakeableSleep, type WakeUps } from '../workers/wake.ts';
import { type ClaimDeps, createClaimer, type KnownRows } from './claim.ts';
import { createCompleter, type RunResult, toFailedOutcome } from './complete.ts';
import type { Outcome, Queue, QueueRow } from './queue.ts';

const maxRowsPerClaim = 512;
const minRunsPerWake = 32;
const partialClaimMs = 10;
const emptyClaimMs = 100;
/** After this many empty claims in a row, what is due is probably paused, and claims slow down until a wake-up. */
const maxQuickEmptyClaims = 10;
const slowEmptyClaimMs = 1_000;
const errorMs = 500;
/** Rows that are due later than this are found by polling. */
const soonMs = 2_000;
/** While this process runs more rows than this, new rows are left to less busy workers. */
const maxRunningForNew = 256;

export interface RunningQueue {
  /**
   * Claims these owners' rows in the transaction that inserts them, and runs them after the commit. This needs no
   * wake-up and no additional round trip. `attach` returns a row as `load` would, or undefined if the row must be
   * loaded first. Rows beyond a limit are left for later claims. Without global limits, only wakes the queue's workers.
   */
  claimWithCommit(db: AnyDb, owners: readonly string[], attach: (row: QueueRow) => QueueRow | undefined): Promise<void>;
  /**
   * Stops claiming, waits at most `timeoutMs` for running rows, and releases the remaining claims. `dispatchEnded`
   * resolves when all transactions passed to `claimWithCommit` have committed or failed.
   */
  stop(timeoutMs: number, dispatchEnded?: Promise<void>): Promise<void>;
  /** What polling needs to know; see `queueDueInMs`. */
  readonly known: KnownRows;
}

export interface QueueDeps extends ClaimDeps {
  readonly clock: Clock;
  readonly wake: Pick<WakeUps, 'listen' | 'pollMs' | 'notify'>;
  readonly onError: (queue: string, error: unknown) => void;
  /** Called after every run, for metrics. */
  readonly onRun?: (queue: string, result: RunResult, seconds: number) => void;
  /** Called after every claim, for metrics. */
  readonly onClaim?: (queue: string, rows: number, seconds: number) => void;
  /** Called with the number of owners whose waiting rows only a full look found. Must never happen. */
  readonly onMissed?: (queue: string, count: number) => void;
  /** How often a full look checks that nothing was missed. */
  readonly fullLookEveryMs?: number;
}

/** Runs one queue in this process until it is stopped. */
export function runQueue(queue: Queue, deps: QueueDeps): RunningQueue {
  const stopping = new AbortController();
  const idle = new WakeableSleep();
  const claimedRows = new Map<Promise<void>, QueueRow>();
  /** Claimed rows whose data is still being loaded. */
  const loadingRows = new Set<QueueRow>();
  /** Rows that have run and are being completed. They no longer count towards any limit. */
  const finishedRows = new Set<QueueRow>();
  const claimer = createClaimer(queue, deps, {
    ...(deps.fullLookEveryMs !== undefined && { fullLookEveryMs: deps.fullLookEveryMs }),
    onMissed: (count) => deps.onMissed?.(queue.name, count),
    onError: (error) => deps.onError(queue.name, error),
  });
  const complete = createCompleter(deps.db, queue);
  const runsPerWake = Math.max(minRunsPerWake, queue.concurrency / 4);
  let runsSinceClaim = 0;
  let isStopping = false;
  /** Whether there may be due rows that the last claim left unclaimed. */
  let isDueLeft = false;
  let claiming: Promise<unknown> = Promise.resolve();
  let emptyClaims = 0;
  deps.wake.listen(queue.name, () => {
    emptyClaims = 0;
    idle.wake();
  });
  const countRunning = () => claimedRows.size + loadingRows.size - finishedRows.size;
  const listClaimed = () => [...claimedRows.values(), ...loadingRows];
  const claimedHere = () => ({ claimedRows: listClaimed(), finishedRows });
  const strays = createStrayRelease(queue, deps, {
    wake: idle.wake,
    async listRunning() {
      await claiming.catch(() => {}); // rows that have just been claimed are running, too
      return listClaimed();
    },
  });

  const runAndComplete = async (row: QueueRow) => {
    const startedAt = performance.now();
    const outcome = await runWithTimeout(queue, row, deps, stopping.signal);
    finishedRows.add(row);
    runsSinceClaim += 1;
    // Does not wake the loop after every run, because each claim would then return only one row.
    if (isDueLeft && (runsSinceClaim >= runsPerWake || countRunning() < runsPerWake)) idle.wake();
    const result = await complete(row, outcome);
    if (result === 'again' && (outcome.runAgainInMs ?? 0) < soonMs) idle.wake(); // polling may be too slow
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
    const limit = Math.min(queue.concurrency - countRunning(), maxRowsPerClaim);
    isDueLeft = true;
    if (limit <= 0) return deps.wake.pollMs();
    runsSinceClaim = 0;
    const startedAt = performance.now();
    const claim = claimer.claim(limit, claimedHere());
    claiming = claim;
    const { rows, nextDueInMs = Number.POSITIVE_INFINITY } = await claim;
    deps.onClaim?.(queue.name, rows.length, (performance.now() - startedAt) / 1000);
    if (rows.length > 0) {
      strays.noteClaim();
      await loadAndStart(rows);
    }
    isDueLeft = nextDueInMs <= 0;
    emptyClaims = rows.length > 0 || !isDueLeft ? 0 : emptyClaims + 1;
    if (!isDueLeft) return Math.min(nextDueInMs, deps.wake.pollMs());
    if (rows.length === limit) return 0;
    // A due row was not claimed: its owner or key has reached its limit, or another process is claiming it.
    if (rows.length > 0) return partialClaimMs;
    return emptyClaims > maxQuickEmptyClaims ? slowEmptyClaimMs : emptyClaimMs;
  };
  const loop = runLoop(idle, () =>
    claimAndStart().catch((error: unknown) => {
      deps.onError(queue.name, error);
      strays.checkSoon(); // the claim may have committed even though its result was lost
      return errorMs;
    }),
  );
  return {
    async claimWithCommit(db, owners, attach) {
      const wakeOthers = () => deps.wake.notify(queue.name);
      const limit = Math.min(maxRunningForNew - countRunning(), maxRowsPerClaim);
      if (limit <= 0 || isStopping || queue.globalLimits === undefined) return afterCommit(db, wakeOthers);
      const statements = claimer.listStatements(limit, claimedHere(), owners);
      if (statements === undefined) return afterCommit(db, wakeOthers);
      const [prepare, claim, findNextDue] = statements;
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
    get known() {
      return claimer.known;
    },
  };
}

const checkStraysMs = { usual: 10_000, found: 500 };
/** After this time, a claim either has committed or never will. */
const claimSettledMs = 20_000;

interface StrayDeps {
  readonly wake: () => void;
  /** Lists the rows that this process has claimed and will run. */
  listRunning(): Promise<readonly QueueRow[]>;
}

/**
 * Releases stray claims: this worker's claims on rows that it is not running, for example because a claim's result was
 * lost. No other process releases them while this worker holds its slot. A claim that has just been committed looks
 * like a stray one, so claims are released only when two checks in a row find them.
 *
 * A check reads by state, so while an old snapshot is held, it reads past all that this slot has completed. It runs
 * beside the loop, and so delays no claim, however long it takes or how often it fails.
 */
function createStrayRelease(queue: Queue, { db, slot, onError }: QueueDeps, { wake, listRunning }: StrayDeps) {
  const releaseStrays = prepareReleaseStrays(queue);
  let found: readonly string[] = [];
  let claimedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let dueAt = Number.POSITIVE_INFINITY;
  let isStopped = false;
  let checking: Promise<void> | undefined;
  const checkIn = (ms: number) => {
    const at = performance.now() + ms;
    if (isStopped || at >= dueAt) return;
    clearTimeout(timer);
    dueAt = at;
    timer = setTimeout(() => {
      dueAt = Number.POSITIVE_INFINITY;
      if (checking !== undefined) return checkIn(ms);
      checking = check().finally(() => {
        checking = undefined;
      });
    }, ms).unref();
  };
  const release = async () => {
    const before = found;
    const ids = (await listRunning()).map((row) => row.id);
    const others = (await releaseStrays(db, slot.slot, slot.epoch, ids, before)).map((row) => row.id);
    found = [...others, ...found.slice(before.length)];
    if (before.length > 0) wake(); // the released rows are waiting
    if (found.length > 0) checkIn(checkStraysMs.found);
    else if (performance.now() - claimedAt < claimSettledMs) checkIn(checkStraysMs.usual);
  };
  const check = () =>
    release().catch((error: unknown) => {
      onError(queue.name, error);
      checkIn(checkStraysMs.usual);
    });
  return {
    /** Must be called for each claim, before it commits or when its rows are known. */
    noteClaim() {
      claimedAt = performance.now();
      checkIn(checkStraysMs.usual);
    },
    /** Reports that a claim's result was lost. */
    checkSoon() {
      claimedAt = performance.now();
      checkIn(checkStraysMs.found);
    },
    /** Reports claimed rows that will not run. */
    report(rows: readonly QueueRow[]) {
      found = [...found, ...rows.map((row) => row.id)];
      claimedAt = performance.now();
      checkIn(checkStraysMs.found);
    },
    async releaseAll() {
      isStopped = true;
      clearTimeout(timer);
      await checking;
      await releaseAllClaims(db, queue, slot);
    },
  };
}

/** Releases the stray claims that the previous check also found. Returns the other stray claims. */
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

async function releaseAllClaims(db: AnyDb, { name }: Queue, { slot, epoch }: SlotEpoch): Promise<void> {
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
    timedOut.reject(error); // stops waiting for a run that ignores the signal
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
