// Owns the fair use of the connection pool: how many requests of one owner may work with the database at the same time. An
// owner is a workspace, a part of it an app. With a pool of 16 connections:
//
//   slow work of one part     2   an eighth, or 1 once it takes long
//   slow work of one owner    4   a quarter, or 2 once it takes long
//   slow work of all owners  12   three quarters, so that short statements always find a connection
//   all work of one owner    12   three quarters, so that others find a connection while its requests wait for a lock
//
// Connections are not all that is scarce: two sorts of a large table keep two processors of the database busy. So while
// work has been running for long, no more of the same part starts. Work beyond a share waits. A share that becomes free
// goes to the owner that has the fewest. Like the pool itself, shares belong to one process.

/** `slow`: reads or changes many rows. */
export type WorkKind = 'slow' | 'short';

/** For whom work is done. `part` is null for work on the owner as a whole. */
export interface WorkOwner {
  readonly owner: string;
  readonly part: string | null;
}

/** Gives a share back. A second call does nothing. */
export type Release = () => void;

export interface Shares {
  /**
   * Takes a share: at once if there is one, or when one becomes free. Throws `NoShare` if that takes too long, or if too
   * many wait already. A `patient` caller waits as long as it takes.
   */
  take(kind: WorkKind, workOwner: WorkOwner, options?: { patient?: boolean }): Release | Promise<Release>;
}

/** All shares of the owner are taken. Nothing was done. */
export class NoShare extends Error {}

const maxWaitMs = 5_000; // as long as for a connection
const longMs = 100;
const maxLong = { ofPart: 1, ofOwner: 2 };
const maxWaiting = { slowOfPart: 100, ofOwner: 1_000 };

interface Owner {
  readonly name: string;
  running: number;
  /** In the order in which they started. */
  readonly slow: Set<SlowWork>;
  /** In the order of their arrival. */
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

  function wait(owner: Owner, work: Work, isPatient: boolean): Promise<Release> {
    if (!isPatient && hasFullQueue(owner, work)) throw new NoShare();
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
    const timer = isPatient ? undefined : setTimeout(refuse, maxWaitMs);
    owner.waiting.add(waiter);
    waitingOwners.add(owner);
    return promise;
  }

  function stopWaiting(owner: Owner, waiter: Waiter): void {
    owner.waiting.delete(waiter);
    if (owner.waiting.size === 0) waitingOwners.delete(owner);
  }

  /** One share given back may start two: one that waited for its owner's work, and one for slow work of another owner. */
  function startWaiting(): void {
    for (;;) {
      const next = findNext();
      if (next === undefined) return;
      const [owner, waiter] = next;
      stopWaiting(owner, waiter);
      waiter.start(start(owner, waiter));
    }
  }

  /** The longest waiting work that has a share now, of the owner with the least work running. */
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
    take(kind, { owner: name, part }, { patient = false } = {}) {
      let owner = owners.get(name);
      if (owner === undefined) {
        owner = { name, running: 0, slow: new Set(), waiting: new Set() };
        owners.set(name, owner);
      }
      const work = { kind, part };
      return hasShare(owner, work) ? start(owner, work) : wait(owner, work, patient);
    },
  };
}

const isLong = ({ startedAt }: SlowWork): boolean => performance.now() - startedAt > longMs;

function hasFullQueue({ waiting }: Owner, { kind, part }: Work): boolean {
  if (waiting.size >= maxWaiting.ofOwner) return true;
  if (kind === 'short' || part === null) return false;
  let slowOfPart = 0;
  for (const waiter of waiting) if (waiter.kind === 'slow' && waiter.part === part) slowOfPart += 1;
  return slowOfPart >= maxWaiting.slowOfPart;
}
