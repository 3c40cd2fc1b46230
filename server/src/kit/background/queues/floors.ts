// What a process remembers of a queue between its claims, which therefore need not read past completed rows: each
// owner's floor, and up to which transaction it knows the table. Contains no SQL.
//
// The rule that keeps rows from being missed: for every row that waits, either its owner's floor is not later than the
// row's due time, or the transaction that last changed the row is not visible at `position`, so the next look finds it.
//
// Example: the process knows the table up to position 100, with transaction 97 in progress. A's floor is 09:00.
//
//   what happens                                         what the process does
//   the row of A that is due 09:00 is completed          the next claim of A reads from 09:00, finds 09:05: floor 09:05
//   101 inserts a row of B, due 08:00                    the next look reads changes from 100 on: B gets the floor 08:00
//   97 commits a row of A, due 08:30                     the next look reads changes by 97: A's floor becomes 08:30
//   the row of A at 08:30 is cancelled                   the next claim of A finds nothing before 09:05: floor 09:05
//   A's last row is completed                            the next claim of A finds nothing: A is forgotten

/** The transactions whose changes were visible: those before `xmax`, except those in `xip`. */
export interface Position {
  readonly xmax: string;
  readonly xip: readonly string[];
}

/** No waiting row of the owner is due earlier, in milliseconds. */
export type OwnerFloor = readonly [owner: string, floorMs: number];

/** A row that is claimed, and that this process does not know of: another process is running it. */
export interface RowElsewhere {
  readonly id: string;
  readonly owner: string;
  readonly key: string;
}

/** What has changed since a position. */
export interface Look {
  readonly position: Position;
  /** For each owner with rows that became waiting, the earliest of their due times. */
  readonly waiting: readonly OwnerFloor[];
  /** The rows that were claimed elsewhere. */
  readonly elsewhere: readonly RowElsewhere[];
  /** Which of `listToCheck` are still claimed elsewhere. */
  readonly still: readonly string[];
}

export interface Floors {
  /** Undefined until the first full look, and after `forget`. */
  readonly position: Position | undefined;
  /**
   * The rows claimed elsewhere since the first full look. A claim counts those of them that still are, and each look
   * checks some, so the others are forgotten in time.
   */
  listElsewhere(): readonly RowElsewhere[];
  /** The rows claimed elsewhere that the next look checks: those that were not checked for longest. */
  listToCheck(): readonly string[];
  /** The least floor, or undefined if nothing is known to wait. */
  findNextMs(): number | undefined;
  getFloorMs(owner: string): number | undefined;
  /**
   * Chooses at most `max` owners whose floor has passed: half of them those that have waited longest, and half those
   * that were not chosen for longest. So neither can keep the others from being visited.
   */
  choose(nowMs: number, max: number): readonly OwnerFloor[];
  /** Notes what a claim found: the floors of the owners it visited (null: nothing waits), and then what had changed. */
  learn(visited: readonly (readonly [owner: string, floorMs: number | null])[], look: Look): void;
  /**
   * Notes a look at all waiting rows. Returns how many owners had a row that the rule above does not cover, which must
   * never happen.
   */
  learnAll(all: readonly OwnerFloor[], look: Look): number;
  /** Forgets everything, because what is remembered may not be true of the database any more. */
  forget(): void;
}

/** A look checks at least this many rows, and at least half of those known, so they are forgotten as fast as they come. */
const minChecked = 256;

interface Owner {
  floorMs: number;
  chosenAt: number;
}

export function createFloors(): Floors {
  let position: Position | undefined;
  let elsewhere = new Map<string, RowElsewhere>();
  let owners = new Map<string, Owner>();
  let choices = 0;

  const lower = ([owner, floorMs]: OwnerFloor) => {
    const known = owners.get(owner);
    if (known === undefined)
      owners.set(owner, { floorMs, chosenAt: choices }); // after those that wait
    else known.floorMs = Math.min(known.floorMs, floorMs);
  };
  const raise = (owner: string, floorMs: number | null) => {
    if (floorMs === null) owners.delete(owner);
    else owners.set(owner, { floorMs, chosenAt: owners.get(owner)?.chosenAt ?? choices });
  };
  const listToCheck = () => [...elsewhere.keys()].slice(0, Math.max(minChecked, Math.ceil(elsewhere.size / 2)));
  const noteChecked = (still: readonly string[]) => {
    const isStill = new Set(still);
    for (const id of listToCheck()) {
      const row = elsewhere.get(id) as RowElsewhere;
      elsewhere.delete(id);
      if (isStill.has(id)) elsewhere.set(id, row); // now the last to be checked
    }
  };
  const noteLook = (look: Look) => {
    for (const found of look.waiting) lower(found);
    position = look.position;
    noteChecked(look.still);
    for (const row of look.elsewhere) elsewhere.set(row.id, row);
  };

  return {
    get position() {
      return position;
    },
    listElsewhere: () => [...elsewhere.values()],
    listToCheck,
    findNextMs() {
      let next: number | undefined;
      for (const { floorMs } of owners.values()) if (next === undefined || floorMs < next) next = floorMs;
      return next;
    },
    getFloorMs: (owner) => owners.get(owner)?.floorMs,
    choose(nowMs, max) {
      const due = [...owners].filter(([, { floorMs }]) => floorMs <= nowMs);
      const chosen = due.length <= max ? due : chooseSome(due, max);
      choices += 1;
      for (const [, owner] of chosen) owner.chosenAt = choices;
      return chosen.map(([owner, { floorMs }]) => [owner, floorMs]);
    },
    learn(visited, look) {
      for (const [owner, floorMs] of visited) raise(owner, floorMs);
      noteLook(look);
    },
    learnAll(all, look) {
      const isKnown = position !== undefined;
      noteLook(look);
      elsewhere = new Map(look.elsewhere.map((row) => [row.id, row])); // a full look lists all of them
      const missed = all.filter(
        ([owner, floorMs]) => (owners.get(owner)?.floorMs ?? Number.POSITIVE_INFINITY) > floorMs,
      );
      owners = new Map(
        all.map(([owner, floorMs]) => [owner, { floorMs, chosenAt: owners.get(owner)?.chosenAt ?? choices }]),
      );
      return isKnown ? missed.length : 0;
    },
    forget() {
      position = undefined;
      elsewhere = new Map();
      owners = new Map();
    },
  };
}

function chooseSome(due: readonly (readonly [string, Owner])[], max: number): readonly (readonly [string, Owner])[] {
  const longestWaiting = due.toSorted(([, a], [, b]) => a.floorMs - b.floorMs).slice(0, Math.ceil(max / 2));
  const inTurn = due.toSorted(([, a], [, b]) => a.chosenAt - b.chosenAt);
  return [...new Map([...longestWaiting, ...inTurn]).entries()].slice(0, max);
}
