// The fair use of a process's time. JavaScript runs one request at a time while all others wait, so a request that
// holds the process for 200 ms delays all others by 200 ms. It can't be interrupted. Instead, an owner that has held
// the process for a long time must wait before its next request runs. Longer holds lead to longer waits:
//
//   held      counts as   wait, if it happens repeatedly   share of the process's time
//   2 ms      0.5 ms      3 ms                             40 %, or any share while no other owner is present
//   10 ms     12 ms       0.1 s                            8 %
//   50 ms     100 ms      1 s                              5 %
//   250 ms    1,000 ms    10 s                             3 %
//
// A single long hold delays others more than several short holds with the same total length, so it counts for more.
// Ordinary requests hold the process for a few milliseconds. They are delayed only while another owner is present, who
// benefits from the delay. Like the process's time itself, the accounts are per process.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as afterOthers } from 'node:timers/promises';

/** Well above an ordinary request's hold, even if it includes a garbage collection. */
const shortHoldMs = 10;
/** Limits an owner's short holds to two fifths of the time while other owners are present. */
const shortHoldWeight = 0.25;
/** Limits the wait that short holds cause to half a second. */
const maxShortDebtMs = 50;
/** How long an owner counts as present after a request. */
const presentMs = 1_000;
const creditMs = 50;
const maxDebtMs = 1_000;
const earnedPerMs = 0.1;
const maxWaiting = 200;
const maxWaitMs = 15_000;
/** For requests that wait longer than others. */
const maxWaitingLong = 1_000;

/**
 * Thrown when too many of the owner's requests are waiting, or when a request has waited too long. Nothing was done.
 */
export class NoTurn extends Error {}

export interface ProcessTime {
  /**
   * Waits until the owner may run, for up to `waitMs` if it is set, or else 15 seconds. Returns undefined instead of a
   * promise if there is no need to wait.
   */
  waitForTurn(owner: string, waitMs?: number): Promise<void> | undefined;
  /** Whether the owner may run now without waiting. */
  mayRun(owner: string): boolean;
  /**
   * Runs the owner's work. Counts the time until its first `await`, and the time of everything that it runs through
   * `hold`. Without an owner, nothing is counted.
   */
  run<Result>(owner: string | null | undefined, work: () => Result): Result;
  /** Counts a hold that was measured before the owner was known. */
  count(owner: string, heldMs: number): void;
}

interface Account {
  /** While it is negative, the owner has to wait. */
  balanceMs: number;
  updatedAt: number;
  /** Functions that start the waiting requests, in order of arrival. */
  readonly waiting: Set<() => void>;
  isScheduled: boolean;
}

const holder = new AsyncLocalStorage<(heldMs: number) => void>();

/**
 * Runs a request's work after its first `await`, and counts how long it holds the process until it awaits or returns.
 */
export function hold<Result>(work: () => Result): Result {
  const count = holder.getStore();
  return count === undefined ? work() : measure(work, count);
}

/** Counts a hold by the current request that was measured separately. */
export const countHold = (heldMs: number): void => holder.getStore()?.(heldMs);

/**
 * Returns a function that counts work that other callbacks do for the current request. Undefined if nothing is counted.
 */
export const currentHolder = (): ((heldMs: number) => void) | undefined => holder.getStore();

/** Runs work, and passes each duration that `hold` measures in it to `count`. */
export const collectHolds = <Result>(count: (heldMs: number) => void, work: () => Result): Result =>
  holder.run(count, work);

/** Runs work that does not belong to a single request. None of it is counted. */
export const uncounted = <Result>(work: () => Result): Result => holder.exit(work);

const sliceMs = 5;

/** Maps a list that may be long. Lets other work run every few milliseconds. */
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
  if (isMeasuring) return work(); // already part of an outer measurement
  isMeasuring = true;
  const before = usedMs();
  try {
    return work();
  } finally {
    isMeasuring = false;
    count(usedMs() - before);
  }
}

/** The processor time that this thread has used. Elapsed time would include time taken by other processes. */
export function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Returns a hold's weight. Example: 50 ms counts as 100 ms, and 100 ms counts as 300 ms. */
const weigh = (heldMs: number): number => heldMs * (1 + heldMs / 50);

export function createProcessTime(): ProcessTime {
  /**
   * Accounts of owners that have held the process. An account is removed when a request finds that the time has been
   * earned back.
   */
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
    waitForTurn(owner, waitMs) {
      const account = accounts.get(owner);
      if (account === undefined) return undefined;
      earn(account);
      if (account.balanceMs < 0 || account.waiting.size > 0) return wait(account, waitMs);
      if (account.balanceMs === creditMs) accounts.delete(owner);
      return undefined;
    },
    mayRun(owner) {
      const account = accounts.get(owner);
      if (account !== undefined) earn(account);
      return account === undefined || account.balanceMs >= 0;
    },
    count,
    run(owner, work) {
      if (!owner) return work();
      presence.note(owner);
      const countOfOwner = (heldMs: number) => count(owner, heldMs);
      return holder.run(countOfOwner, () => measure(work, countOfOwner));
    },
  };
}

/** Tracks whether another owner was recently present, by remembering the last two different owners. */
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

function wait(account: Account, waitMs: number | undefined): Promise<void> {
  if (account.waiting.size >= (waitMs === undefined ? maxWaiting : maxWaitingLong)) throw new NoTurn();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const start = () => {
    clearTimeout(timer);
    account.waiting.delete(start);
    resolve();
  };
  const timer = setTimeout(() => {
    account.waiting.delete(start);
    reject(new NoTurn());
  }, waitMs ?? maxWaitMs);
  account.waiting.add(start);
  scheduleNext(account);
  return promise;
}

/** Starts waiting requests one by one, so each request's hold is counted before the next request starts. */
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
