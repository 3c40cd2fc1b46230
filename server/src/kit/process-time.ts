// Owns the fair use of a process's time. JavaScript runs for one request at a time, and everybody else waits: a request
// that holds the process for 200 ms delays all others by that much. Nothing can interrupt it, so an owner who held the
// process for long waits before their next request runs, the longer the more they held it:
//
//   held      counts as   wait, if it happens again and again   share of the process's time
//   2 ms      0.5 ms      3 ms                                  40 %, or any while nobody else is there
//   10 ms     12 ms       0.1 s                                 8 %
//   50 ms     100 ms      1 s                                   5 %
//   250 ms    1,000 ms    10 s                                  3 %
//
// A single long hold delays others more than the same time in short ones, so it counts for more. Requests of ordinary size
// hold the process for a few milliseconds. They are delayed only if another owner is there to profit from it. Like the
// process itself, the account belongs to one process.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as afterOthers } from 'node:timers/promises';

/** Well above what an ordinary request holds with a garbage collection in it. */
const shortHoldMs = 10;
/** So that short holds of one owner get two fifths of the time while others are there. */
const shortHoldWeight = 0.25;
/** Short holds make an owner wait for half a second at most. */
const maxShortDebtMs = 50;
/** How long an owner counts as being there after a request. */
const presentMs = 1_000;
const creditMs = 50;
const maxDebtMs = 1_000;
const earnedPerMs = 0.1;
const maxWaiting = 200;
const maxWaitMs = 15_000;

/** Too many requests of the owner wait, or one has waited for too long. Nothing was done. */
export class NoTurn extends Error {}

export interface ProcessTime {
  /** Waits while the owner has to. Returns undefined, not a promise, if they need not. */
  waitForTurn(owner: string): Promise<void> | undefined;
  /** Whether the owner need not wait now. */
  mayRun(owner: string): boolean;
  /**
   * Runs work of the owner. What it does before its first `await` counts, and so does what it calls by `hold`. Without an
   * owner nothing counts.
   */
  run<Result>(owner: string | null | undefined, work: () => Result): Result;
}

interface Account {
  /** Negative: the owner has to wait until it is 0 again. */
  balanceMs: number;
  updatedAt: number;
  /** Starts each request that waits, in the order of their arrival. */
  readonly waiting: Set<() => void>;
  isScheduled: boolean;
}

const holder = new AsyncLocalStorage<(heldMs: number) => void>();

/** Runs work of a request after its first `await`, and counts how long it holds the process until it awaits or returns. */
export function hold<Result>(work: () => Result): Result {
  const count = holder.getStore();
  return count === undefined ? work() : measure(work, count);
}

/** Counts work of the current request that was measured bit by bit. */
export const countHold = (heldMs: number): void => holder.getStore()?.(heldMs);

/** Counts work of the current request that is done in a callback of something else. Undefined if nothing counts. */
export const currentHolder = (): ((heldMs: number) => void) | undefined => holder.getStore();

const sliceMs = 5;

/** Maps a list that may be long, and lets others run every few milliseconds. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  const mapSlice = () => {
    const end = usedMs() + sliceMs;
    do results.push(map(items[results.length] as Item, results.length));
    while (results.length < items.length && usedMs() < end);
  };
  while (results.length < items.length) {
    if (results.length > 0) await afterOthers();
    hold(mapSlice);
  }
  return results;
}

let isMeasuring = false;

function measure<Result>(work: () => Result, count: (heldMs: number) => void): Result {
  if (isMeasuring) return work(); // it is part of what is measured already
  isMeasuring = true;
  const before = usedMs();
  try {
    return work();
  } finally {
    isMeasuring = false;
    count(usedMs() - before);
  }
}

/** What this thread has used of a processor. The clock would also count what other processes took from it. */
export function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** How much a hold counts. Example: 50 ms count as 100 ms, and 100 ms as 300 ms. */
const weigh = (heldMs: number): number => heldMs * (1 + heldMs / 50);

export function createProcessTime(): ProcessTime {
  /** Of owners who held the process, until a request finds that they have earned it back. */
  const accounts = new Map<string, Account>();
  const presence = watchPresence();

  function count(owner: string, heldMs: number): void {
    const isShort = heldMs < shortHoldMs;
    if (isShort && presence.isAlone(owner)) return;
    const account = accounts.get(owner) ?? newAccount();
    accounts.set(owner, account);
    earn(account);
    const { balanceMs } = account;
    account.balanceMs = isShort
      ? Math.max(Math.min(balanceMs, -maxShortDebtMs), balanceMs - heldMs * shortHoldWeight)
      : Math.max(-maxDebtMs, balanceMs - weigh(heldMs));
  }

  return {
    waitForTurn(owner) {
      const account = accounts.get(owner);
      if (account === undefined) return undefined;
      earn(account);
      if (account.balanceMs < 0 || account.waiting.size > 0) return wait(account);
      if (account.balanceMs === creditMs) accounts.delete(owner);
      return undefined;
    },
    mayRun(owner) {
      const account = accounts.get(owner);
      if (account !== undefined) earn(account);
      return account === undefined || account.balanceMs >= 0;
    },
    run(owner, work) {
      if (!owner) return work();
      presence.note(owner);
      const countOfOwner = (heldMs: number) => count(owner, heldMs);
      return holder.run(countOfOwner, () => measure(work, countOfOwner));
    },
  };
}

/** Knows whether somebody else was there of late: the last owner, and the last one who was another. */
function watchPresence() {
  let last = { owner: '', at: Number.NEGATIVE_INFINITY };
  let lastOther = last;
  return {
    note(owner: string): void {
      if (owner !== last.owner) lastOther = last;
      last = { owner, at: performance.now() };
    },
    isAlone: (owner: string): boolean => performance.now() - (last.owner === owner ? lastOther : last).at > presentMs,
  };
}

const newAccount = (): Account => ({
  balanceMs: creditMs,
  updatedAt: performance.now(),
  waiting: new Set(),
  isScheduled: false,
});

function earn(account: Account): void {
  const now = performance.now();
  account.balanceMs = Math.min(creditMs, account.balanceMs + (now - account.updatedAt) * earnedPerMs);
  account.updatedAt = now;
}

function wait(account: Account): Promise<void> {
  if (account.waiting.size >= maxWaiting) throw new NoTurn();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const start = () => {
    clearTimeout(timer);
    account.waiting.delete(start);
    resolve();
  };
  const timer = setTimeout(() => {
    account.waiting.delete(start);
    reject(new NoTurn());
  }, maxWaitMs);
  account.waiting.add(start);
  scheduleNext(account);
  return promise;
}

/** Starts what waits one by one, so that what one holds counts before the next starts. */
function scheduleNext(account: Account): void {
  if (account.isScheduled || account.waiting.size === 0) return;
  account.isScheduled = true;
  setTimeout(
    () => {
      account.isScheduled = false;
      earn(account);
      const [start] = account.waiting;
      if (account.balanceMs >= 0) start?.();
      setImmediate(scheduleNext, account);
    },
    Math.max(0, -account.balanceMs / earnedPerMs),
  );
}
