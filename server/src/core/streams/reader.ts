// Reads what streams follow, once for all followers in this process: a wake-up causes one read, no matter how many
// callers follow the same run, turn or session. docs/internals/streams.md explains it.
import { setTimeout as sleep } from 'node:timers/promises';
import { WakeableSleep, type WakeUps } from '../../kit/background/workers/wake.ts';
import { classifyFailure } from '../../kit/db/failures.ts';
import type { Shares, WorkOwner } from '../../kit/db/shares.ts';
import type { Db } from '../../tables.ts';

/** What callers follow. The first follower's source reads for all of them, so it must not depend on the caller. */
export interface Source<Position, Item extends Positioned<Position>, End> {
  /** The topic of the wake-ups. Sources with the same topic are the same. */
  readonly topic: string;
  /** Whose share of the connection pool each read takes. */
  readonly owner: WorkOwner;
  /** Negative if `a` comes before `b`. */
  compare(a: Position, b: Position): number;
  /** Reads the items after a position, limited in number and size, because a slow follower keeps them in memory. */
  read(db: Db, from: Position): Promise<Batch<Item, End>>;
}

export interface Positioned<Position> {
  readonly position: Position;
}

export interface Batch<Item, End> {
  readonly items: readonly Item[];
  readonly hasMore: boolean;
  /** Set if no item will follow these. */
  readonly end?: { readonly value: End };
}

export interface ReaderDeps {
  readonly db: Db;
  readonly shares: Pick<Shares, 'take'>;
  readonly wake: Pick<WakeUps, 'listen' | 'pollMs'>;
}

/** Wake-ups within this time after a read cause one further read. */
const mergeMs = 100;

interface Waiter<Position, Item, End> {
  readonly position: Position;
  resolve(batch: Batch<Item, End>): void;
  reject(error: unknown): void;
}

export interface Reader<Position, Item, End> {
  /**
   * Resolves with the items after the position, or with the end once there are none. Waits until there is either.
   * `cancel` stops waiting.
   */
  next(position: Position): { readonly batch: Promise<Batch<Item, End>>; cancel(): void };
  /** Reads soon, for a follower that has just arrived or that has not received all items yet. */
  readSoon(): void;
  detach(): void;
}

export type Attach = <Position, Item extends Positioned<Position>, End>(
  source: Source<Position, Item, End>,
) => Reader<Position, Item, End>;

/** Returns a function that attaches a follower to the reader of its topic. */
export function createReaders(deps: ReaderDeps): Attach {
  // biome-ignore lint/suspicious/noExplicitAny: a topic's sources all have the same types.
  const readers = new Map<string, SharedReader<any, any, any>>();
  return (source) => {
    const reader = readers.get(source.topic) ?? startReader(source, deps, () => readers.delete(source.topic));
    readers.set(source.topic, reader);
    return reader.attach();
  };
}

interface SharedReader<Position, Item, End> {
  attach(): Reader<Position, Item, End>;
}

/** Reads until the last follower has detached. */
function startReader<Position, Item extends Positioned<Position>, End>(
  source: Source<Position, Item, End>,
  { db, shares, wake }: ReaderDeps,
  onIdle: () => void,
): SharedReader<Position, Item, End> {
  const waiting = new Set<Waiter<Position, Item, End>>();
  const stopped = new AbortController();
  const idle = new WakeableSleep();
  const unlisten = wake.listen(source.topic, idle.wake);
  let followers = 0;

  async function readInShare(from: Position): Promise<Batch<Item, End> | undefined> {
    const release = await shares.take('slow', source.owner, { patient: true });
    try {
      return stopped.signal.aborted ? undefined : await source.read(db, from);
    } catch (error) {
      if (classifyFailure(error) === undefined) throw error;
      return undefined; // the database is unavailable, and followers keep waiting
    } finally {
      release();
    }
  }

  /**
   * Reads from the lowest position that a follower waits at, gives the items to every follower that they continue, and
   * continues with those beyond them. Example: 500 followers wait at step 900, and one has just begun at step 0. The first
   * read returns steps 1 to 50 for the latter. The second returns the steps after 900 for all others.
   */
  async function readForAll(): Promise<void> {
    let reached: Position | undefined;
    for (;;) {
      const lowest = findLowest(reached);
      if (lowest === undefined) return;
      const batch = await readInShare(lowest.position);
      if (batch === undefined) return;
      for (const waiter of waiting)
        if (source.compare(waiter.position, lowest.position) >= 0) continueFrom(waiter, batch);
      reached = batch.items.at(-1)?.position;
      if (!batch.hasMore || reached === undefined) return;
    }
  }

  function findLowest(reached: Position | undefined): Waiter<Position, Item, End> | undefined {
    let lowest: Waiter<Position, Item, End> | undefined;
    for (const waiter of waiting) {
      if (reached !== undefined && source.compare(waiter.position, reached) < 0) continue;
      if (lowest === undefined || source.compare(waiter.position, lowest.position) < 0) lowest = waiter;
    }
    return lowest;
  }

  function continueFrom(waiter: Waiter<Position, Item, End>, batch: Batch<Item, End>): void {
    const items = batch.items.filter(({ position }) => source.compare(position, waiter.position) > 0);
    if (items.length === 0 && batch.end === undefined) return;
    waiting.delete(waiter);
    waiter.resolve({ ...batch, items });
  }

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      await readForAll().catch((error) => {
        for (const waiter of waiting) waiter.reject(error);
        waiting.clear();
      });
      await sleep(mergeMs);
      await idle.sleep(wake.pollMs(), stopped.signal);
    }
  }

  const next = (position: Position) => {
    const { promise, resolve, reject } = Promise.withResolvers<Batch<Item, End>>();
    const waiter = { position, resolve, reject };
    waiting.add(waiter);
    return { batch: promise, cancel: () => void waiting.delete(waiter) };
  };

  return {
    attach() {
      followers += 1;
      if (followers === 1) queueMicrotask(() => void run()); // once the follower is waiting
      let isAttached = true;
      return {
        next,
        readSoon: idle.wake,
        detach() {
          if (!isAttached) return;
          isAttached = false;
          followers -= 1;
          if (followers > 0) return;
          onIdle();
          unlisten();
          stopped.abort();
        },
      };
    },
  };
}
