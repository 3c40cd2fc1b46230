// What a process remembers of a queue between its claims, which therefore need not read past completed rows: each
// owner's floor, and up to which transaction it knows the table. Contains no SQL.
//
// The rule that keeps rows from being missed: for every row that waits, either its owner's floor is not later than the
// row's due time, or the row is set apart, or the transaction that last changed the row is not visible at `position`, so
// the next look finds it.
//
// A row is set apart when it is quarantined and a floor passes it. It may wait for long, and the floor would wait with it,
// so claims would read past all that the owner completes meanwhile. Claims look it up by its id instead. It is no longer
// set apart once a look finds that it was changed, because it may be due at another time: if it waits, the look lowers its
// owner's floor to it.
//
// Example: the process knows the table up to position 100, with transaction 97 in progress. A's floor is 09:00.
//
//   what happens                                         what the process does
//   the row of A that is due 09:00 is completed          the next claim of A reads from 09:00, finds 09:05: floor 09:05
//   101 inserts a row of B, due 08:00                    the next look reads changes from 100 on: B gets the floor 08:00
//   97 commits a row of A, due 08:30                     the next look reads changes by 97: A's floor becomes 08:30
//   the row of A at 08:30 is cancelled                   the next claim of A finds nothing before 09:05: floor 09:05
//   the row of A that is due 09:05 is quarantined        the next claim of A sets it apart and finds 09:10: floor 09:10
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

/** A quarantined row that waits, and that its owner's floor has passed. */
export interface RowApart {
  readonly id: string;
  readonly owner: string;
  readonly dueMs: number;
}

/** What a claim found at an owner that it visited. */
export interface Visit {
  readonly owner: string;
  /** Null: nothing waits, except for the rows that were passed. */
  readonly floorMs: number | null;
  /** The quarantined rows before the floor. */
  readonly passed?: readonly Omit<RowApart, 'owner'>[];
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
  /** Which of `listApart` wait and have not changed. */
  readonly apart: readonly string[];
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
  listApart(): readonly RowApart[];
  /** The time at which the next row may be due, or undefined if nothing is known to wait. */
  findNextMs(): number | undefined;
  getFloorMs(owner: string): number | undefined;
  /**
   * Chooses at most `max` owners whose floor has passed: half of them those that have waited longest, and half those
   * that were not chosen for longest. So neither can keep the others from being visited.
   */
  choose(nowMs: number, max: number): readonly OwnerFloor[];
  /** Notes what a claim found at the owners it visited, and then what had changed. */
  learn(visits: readonly Visit[], look: Look): void;
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
/** Beyond this number, floors stay at quarantined rows. */
const maxApart = 1_000;

interface Owner {
  floorMs: number;
  chosenAt: number;
}

export function createFloors(): Floors {
  let position: Position | undefined;
  let elsewhere = new Map<string, RowElsewhere>();
  let owners = new Map<string, Owner>();
  let apart = new Map<string, RowApart>();
  let choices = 0;

  const lower = ([owner, floorMs]: OwnerFloor) => {
    const known = owners.get(owner);
    if (known === undefined)
      owners.set(owner, { floorMs, chosenAt: choices }); // after those that wait
    else known.floorMs = Math.min(known.floorMs, floorMs);
  };
  const noteVisit = ({ owner, floorMs, passed = [] }: Visit) => {
    if (floorMs === null) owners.delete(owner);
    else owners.set(owner, { floorMs, chosenAt: owners.get(owner)?.chosenAt ?? choices });
    for (const { id, dueMs } of passed) {
      if (apart.has(id) || apart.size < maxApart) apart.set(id, { id, owner, dueMs });
      else lower([owner, dueMs]);
    }
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
    position = look.position;
    const isStillApart = new Set(look.apart);
    apart = new Map([...apart].filter(([id]) => isStillApart.has(id)));
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
      for (const { dueMs } of apart.values()) if (next === undefined || dueMs < next) next = dueMs;
      return next;
    },
    listApart: () => [...apart.values()],
    getFloorMs: (owner) => owners.get(owner)?.floorMs,
    choose(nowMs, max) {
      const due = [...owners].filter(([, { floorMs }]) => floorMs <= nowMs);
      const chosen = due.length <= max ? due : chooseSome(due, max);
      choices += 1;
      for (const [, owner] of chosen) owner.chosenAt = choices;
      return chosen.map(([owner, { floorMs }]) => [owner, floorMs]);
    },
    learn(visits, look) {
      noteLook(look); // first, because what it says of rows apart is older
      for (const visit of visits) noteVisit(visit);
      for (const found of look.waiting) lower(found);
    },
    learnAll(all, look) {
      const isKnown = position !== undefined;
      noteLook(look);
      for (const found of look.waiting) lower(found);
      elsewhere = new Map(look.elsewhere.map((row) => [row.id, row])); // a full look lists all of them
      const isApart = new Set([...apart.values()].map(({ owner, dueMs }) => `${owner} ${dueMs}`));
      const missed = all.filter(([owner, floorMs]) => {
        const isKnown = (owners.get(owner)?.floorMs ?? Number.POSITIVE_INFINITY) <= floorMs;
        return !isKnown && !isApart.has(`${owner} ${floorMs}`);
      });
      owners = new Map(
        all.map(([owner, floorMs]) => [owner, { floorMs, chosenAt: owners.get(owner)?.chosenAt ?? choices }]),
      );
      return isKnown ? missed.length : 0;
    },
    forget() {
      position = undefined;
      elsewhere = new Map();
      owners = new Map();
      apart = new Map();
    },
  };
}

function chooseSome(due: readonly (readonly [string, Owner])[], max: number): readonly (readonly [string, Owner])[] {
  const longestWaiting = due.toSorted(([, a], [, b]) => a.floorMs - b.floorMs).slice(0, Math.ceil(max / 2));
  const inTurn = due.toSorted(([, a], [, b]) => a.chosenAt - b.chosenAt);
  return [...new Map([...longestWaiting, ...inTurn]).entries()].slice(0, max);
}
