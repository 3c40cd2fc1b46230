// Owns the fair use of the connection pool: how many requests of one owner may work with the database at the same time. An
// owner is a workspace, a part of it an app. With a pool of 16 connections:
//
//   slow work of one part     4   a quarter
//   slow work of one owner    8   half
//   slow work of all owners  12   three quarters, so that short statements always find a connection
//   all work of one owner    12   three quarters, so that others find a connection while its requests wait for a lock
//
// Work beyond a share waits. A share that becomes free goes to the owner that has the fewest. Like the pool itself, shares
// belong to one process.

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
const maxWaiting = { slowOfPart: 100, ofOwner: 1_000 };

interface Owner {
  readonly name: string;
  running: number;
  slow: number;
  readonly slowByPart: Map<string | null, number>;
  /** In the order of their arrival. */
  readonly waiting: Set<Waiter>;
}

interface Work {
  readonly kind: WorkKind;
  readonly part: string | null;
}

interface Waiter extends Work {
  start(release: Release): void;
}

export function createShares(poolSize: number): Shares {
  const share = (fraction: number) => Math.max(1, Math.floor(poolSize * fraction));
  const max = { slowOfPart: share(0.25), slowOfOwner: share(0.5), slow: share(0.75), owner: share(0.75) };
  const owners = new Map<string, Owner>();
  const waitingOwners = new Set<Owner>();
  let slow = 0;

  const hasShare = (owner: Owner, { kind, part }: Work): boolean =>
    owner.running < max.owner &&
    (kind === 'short' ||
      (slow < max.slow &&
        owner.slow < max.slowOfOwner &&
        (part === null || (owner.slowByPart.get(part) ?? 0) < max.slowOfPart)));

  function count(owner: Owner, { kind, part }: Work, by: 1 | -1): void {
    owner.running += by;
    if (kind === 'short') return;
    slow += by;
    owner.slow += by;
    const ofPart = (owner.slowByPart.get(part) ?? 0) + by;
    if (ofPart === 0) owner.slowByPart.delete(part);
    else owner.slowByPart.set(part, ofPart);
  }

  function start(owner: Owner, work: Work): Release {
    count(owner, work, 1);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      count(owner, work, -1);
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
        owner = { name, running: 0, slow: 0, slowByPart: new Map(), waiting: new Set() };
        owners.set(name, owner);
      }
      const work = { kind, part };
      return hasShare(owner, work) ? start(owner, work) : wait(owner, work, patient);
    },
  };
}

function hasFullQueue({ waiting }: Owner, { kind, part }: Work): boolean {
  if (waiting.size >= maxWaiting.ofOwner) return true;
  if (kind === 'short' || part === null) return false;
  let slowOfPart = 0;
  for (const waiter of waiting) if (waiter.kind === 'slow' && waiter.part === part) slowOfPart += 1;
  return slowOfPart >= maxWaiting.slowOfPart;
}
