// The fair use of the connection pool: how many of an owner's requests may use the database concurrently. An owner
// is a workspace, and its parts are its apps. With a pool of 16 connections:
//
//   slow work for one part     2   an eighth; no more starts while 1 has been running for over 100 ms
//   slow work for one owner    4   a quarter; no more starts while 2 have been running for over 100 ms
//   slow work for all owners  12   three quarters, so short statements always find a connection
//   all work for one owner    12   three quarters, so others find a connection while its requests wait for a lock
//
// Connections are not the only scarce resource: sorting a large table twice at the same time occupies two of the
// database's processors. This is why long-running work has lower limits. Work beyond a limit waits. A free share is
// given to the waiting owner with the least running work. Like the pool itself, shares are per process.

/** `slow` work reads or changes many rows. */
export type WorkKind = 'slow' | 'short';

/** The owner for whom the work is done. `part` is null for work that concerns the whole owner. */
export interface WorkOwner {
  readonly owner: string;
  readonly part: string | null;
}

/** Returns a share. A second call does nothing. */
export type Release = () => void;

export interface Shares {
  /**
   * Takes a share immediately if one is free, or waits for one. Throws `NoShare` if the wait is too long, or if too
   * many callers are already waiting. A `patient` caller waits indefinitely. One with `waitMs` waits this long instead
   * of five seconds, even if many others are waiting for slow work of the same part.
   */
  take(
    kind: WorkKind,
    workOwner: WorkOwner,
    options?: { readonly patient?: boolean; readonly waitMs?: number | undefined },
  ): Release | Promise<Release>;
}

/** Thrown when there is no free share for the owner. Nothing was done. */
export class NoShare extends Error {}

const maxWaitMs = 5_000; // as long as the wait for a connection
const longMs = 100;
const maxLong = { ofPart: 1, ofOwner: 2 };
const maxWaiting = { slowOfPart: 100, ofOwner: 1_000 };

interface Owner {
  readonly name: string;
  running: number;
  /** In the order in which the work started. */
  readonly slow: Set<SlowWork>;
  /** In order of arrival. */
  readonly waiting: Set<Waiter>;
}

interface Work {
  readonly kind: WorkKind;
  readonly part: string | null;
}

interface SlowWork {
  readonly part: string | null;
  readonly startedAt: number;
}

interface Waiter extends Work {
  start(release: Release): void;
}

export function createShares(poolSize: number): Shares {
  const share = (fraction: number) => Math.max(1, Math.floor(poolSize * fraction));
  const max = { slowOfPart: share(0.125), slowOfOwner: share(0.25), slow: share(0.75), owner: share(0.75) };
  const owners = new Map<string, Owner>();
  const waitingOwners = new Set<Owner>();
  let slow = 0;

  const hasShare = (owner: Owner, { kind, part }: Work): boolean =>
    owner.running < max.owner && (kind === 'short' || (slow < max.slow && hasSlowShare(owner, part)));

  function hasSlowShare(owner: Owner, part: string | null): boolean {
    const ofOwner = [...owner.slow];
    const ofPart = part === null ? [] : ofOwner.filter((work) => work.part === part);
    return (
      ofOwner.length < max.slowOfOwner &&
      ofPart.length < max.slowOfPart &&
      ofOwner.filter(isLong).length < maxLong.ofOwner &&
      ofPart.filter(isLong).length < maxLong.ofPart
    );
  }

  function start(owner: Owner, work: Work): Release {
    owner.running += 1;
    const slowWork = work.kind === 'slow' && { part: work.part, startedAt: performance.now() };
    if (slowWork) {
      slow += 1;
      owner.slow.add(slowWork);
    }
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      owner.running -= 1;
      if (slowWork) {
        slow -= 1;
        owner.slow.delete(slowWork);
      }
      if (waitingOwners.size > 0) startWaiting();
      forgetIfIdle(owner);
    };
  }

  function wait(owner: Owner, work: Work, isPatient: boolean, waitMs: number | undefined): Promise<Release> {
    if (!isPatient && hasFullQueue(owner, work, waitMs !== undefined)) throw new NoShare();
    const { promise, resolve, reject } = Promise.withResolvers<Release>();
    const waiter: Waiter = {
      ...work,
      start: (release) => {
        clearTimeout(timer);
        resolve(release);
      },
    };
    const refuse = () => {
      stopWaiting(owner, waiter);
      forgetIfIdle(owner);
      reject(new NoShare());
    };
    const timer = isPatient ? undefined : setTimeout(refuse, waitMs ?? maxWaitMs);
    owner.waiting.add(waiter);
    waitingOwners.add(owner);
    return promise;
  }

  function stopWaiting(owner: Owner, waiter: Waiter): void {
    owner.waiting.delete(waiter);
    if (owner.waiting.size === 0) waitingOwners.delete(owner);
  }

  /**
   * Returning one share may start two waiters: one that waited because of its owner's limit, and one that waited
   * because of the limit on slow work.
   */
  function startWaiting(): void {
    for (;;) {
      const next = findNext();
      if (next === undefined) return;
      const [owner, waiter] = next;
      stopWaiting(owner, waiter);
      waiter.start(start(owner, waiter));
    }
  }

  /** Finds the longest-waiting work that can start now, preferring the owner with the least running work. */
  function findNext(): [Owner, Waiter] | undefined {
    let next: [Owner, Waiter] | undefined;
    for (const owner of waitingOwners) {
      if (next !== undefined && owner.running >= next[0].running) continue;
      for (const waiter of owner.waiting) {
        if (!hasShare(owner, waiter)) continue;
        next = [owner, waiter];
        break;
      }
    }
    return next;
  }

  function forgetIfIdle(owner: Owner): void {
    if (owner.running === 0 && owner.waiting.size === 0) owners.delete(owner.name);
  }

  return {
    take(kind, { owner: name, part }, { patient = false, waitMs } = {}) {
      let owner = owners.get(name);
      if (owner === undefined) {
        owner = { name, running: 0, slow: new Set(), waiting: new Set() };
        owners.set(name, owner);
      }
      const work = { kind, part };
      return hasShare(owner, work) ? start(owner, work) : wait(owner, work, patient, waitMs);
    },
  };
}

const isLong = ({ startedAt }: SlowWork): boolean => performance.now() - startedAt > longMs;

function hasFullQueue({ waiting }: Owner, { kind, part }: Work, waitsLong: boolean): boolean {
  if (waiting.size >= maxWaiting.ofOwner) return true;
  if (kind === 'short' || part === null || waitsLong) return false;
  let slowOfPart = 0;
  for (const waiter of waiting) if (waiter.kind === 'slow' && waiter.part === part) slowOfPart += 1;
  return slowOfPart >= maxWaiting.slowOfPart;
}
