// Finds what waits in a log: a table whose rows are handled in the order of their ids, such as published events and
// audit entries that are not sealed yet. As for queues, a process remembers a floor for each owner (floors.ts): the time in
// the id of the owner's first waiting row, in milliseconds. So it never reads past what was handled before, which is
// expensive while an old snapshot keeps the index entries of those rows.
//
// A turn handles some rows of each owner that it visits:
//
//   remembered: the floor of A is 09:00      turn.visited   A from 09:00
//   the look finds a new row of B at 08:59   turn.look      B from 08:59
//   the rows of A and B are handled          findFloors     A: the next row is from 09:02; B: nothing waits
//   the transaction commits                  turn.learn     the floor of A is 09:02, B is forgotten
//
// What a turn has found is learned only after its commit. If it fails, the next turn visits the same owners.
import type { CompiledQuery } from 'kysely';
import { type AnyDb, prepared, preparedByText, transactionOf } from '../../db/database.ts';
import { isCancelled } from '../../db/failures.ts';
import { type KnownRows, planForQueues } from './claim.ts';
import { createFloors, type OwnerFloor, type Position } from './floors.ts';
import { correctFutureChanges, listFloors, type SnapshotRow, selectSnapshot, toFloor, toPosition } from './look.ts';

export interface Log {
  /** The table's name. It has the columns `id`, a version 7 UUID, and `changed_in`, as a queue does. */
  readonly name: string;
  /** SQL for a row's owner as text. */
  readonly owner: string;
  /** SQL for rows that wait, in a form that matches no index of waiting rows. */
  readonly isWaiting: string;
  /** SQL, after `with recursive`, for the table `owners (owner, id)`: all owners, and their first waiting rows. */
  readonly owners: string;
  /** SQL for the id of an owner's first waiting row from an id on, both in SQL. */
  findFirst(owner: string, fromId: string): string;
}

/** SQL for the time in an id, in milliseconds. It is never later than the row's, whatever form the id has. */
const toIdMs = (id: string): string => `('x' || replace(left(${id}::text, 13), '-', ''))::bit(48)::bigint::float8`;
/** SQL for the smallest id with this time. */
export const fromIdMs = (ms: string): string => `(lpad(to_hex(${ms}::bigint), 12, '0') || repeat('0', 20))::uuid`;

/** SQL for the rows that were changed since the position in the parameters `xmax` and `xip`, and wait. */
export function selectWaitingChanges({ name, owner, isWaiting }: Log, xmax: string, xip: string): string {
  const select = `select ${owner} as owner, ${toIdMs('id')} as floor from "${name}"`;
  return `${select} where changed_in >= ${xmax}::xid8 and ${isWaiting}
    union all ${select} where changed_in = any(${xip}::xid8[]) and ${isWaiting}`;
}

/**
 * SQL for polling: 0 if anything may wait, and otherwise null. `known` is SQL for the process's `KnownRows` as JSON.
 * Without a position, everything may wait.
 */
export const logDueInMs = (log: Log, known: string): string => `case
    when (${known} ->> 'xmax') is null or (${known} ->> 'nextMs') is not null
      or exists (${selectWaitingChanges(log, `(${known} ->> 'xmax')`, `(${known} ->> 'xip')`)}) then 0 end`;

interface LookRow extends SnapshotRow {
  readonly waiting: readonly OwnerFloor[];
  readonly owners: readonly OwnerFloor[];
}

interface FloorRow {
  readonly owner: string;
  readonly floor: number | null;
}

export interface LogTurn {
  /** Owners with waiting rows, with their floors. Rows of other owners are found by the look. */
  readonly visited: readonly OwnerFloor[];
  readonly isFull: boolean;
  readonly position: Position;
  /** Must be sent before the transaction changes anything. */
  readonly look: CompiledQuery<LookRow>;
  /** The owners that were visited or seen by the look, with the lower of their floors. */
  listOwners(seen: LookRow): readonly OwnerFloor[];
  /** Finds the floors of these owners after their rows were handled. */
  findFloors(seen: LookRow): CompiledQuery<FloorRow>;
  /**
   * Notes what the look saw and, for owners that were visited, the floors that were found later. Null: nothing waits.
   * Must be called after the commit.
   */
  learn(seen: LookRow, found: readonly FloorRow[]): void;
}

export interface LogReader {
  /** Makes a full look if nothing is known, or if the last one was long ago. */
  lookAtAllIfDue(db: AnyDb): Promise<void>;
  /** Chooses at most `max` owners with waiting rows. */
  begin(max: number): LogTurn;
  /** Must be called after an error: the connection may be lost because the database crashed. */
  forget(): void;
  /** What polling needs to know; see `logDueInMs`. */
  readonly known: KnownRows;
}

export interface LogReaderOptions {
  readonly fullLookEveryMs?: number;
  /** Called with the number of owners that had waiting rows which only a full look found. Must never happen. */
  readonly onMissed?: (count: number) => void;
}

const fullLookEveryMs = 5 * 60_000;

/** Makes the statements of a transaction use the sorted indexes. */
export const planForLog = prepared<object, []>('plan for a log', `select ${planForQueues}`);

export function createLogReader(log: Log, options: LogReaderOptions = {}): LogReader {
  const [look, fullLook, findFloors] = [prepareLook(log), prepareFullLook(log), prepareFindFloors(log)];
  const floors = createFloors();
  let isCorrected = false;
  let fullyLookedAt = Number.NEGATIVE_INFINITY;

  const lookAtAll = async (db: AnyDb): Promise<void> => {
    const before = floors.position;
    if (!isCorrected) await correctFutureChanges(db, log);
    isCorrected = true;
    const [, [row]] = await transactionOf(
      db,
      planForLog.query(),
      fullLook.query(before?.xmax ?? null, before?.xip ?? []),
    );
    fullyLookedAt = performance.now();
    if (row === undefined || floors.position !== before) return; // another turn has learned something meanwhile
    if (row.is_behind) floors.forget();
    const missed = floors.learnAll(row.owners.map(toFloor), toLook(row));
    if (missed > 0) options.onMissed?.(missed);
  };

  return {
    async lookAtAllIfDue(db) {
      if (floors.position === undefined) return lookAtAll(db);
      if (performance.now() - fullyLookedAt < (options.fullLookEveryMs ?? fullLookEveryMs)) return;
      fullyLookedAt = performance.now();
      // If it takes too long, the floors are still true, and the next try has its time.
      await lookAtAll(db).catch((error: unknown) => {
        if (!isCancelled(error)) throw error;
      });
    },
    begin(max) {
      const { position } = floors;
      if (position === undefined) throw new Error(`a turn of ${log.name} must begin with a full look`);
      const visited = floors.choose(Number.POSITIVE_INFINITY, max);
      const listOwners = (seen: LookRow) => mergeFloors(visited, seen.waiting.map(toFloor));
      return {
        visited,
        isFull: visited.length === max,
        position,
        look: look.query(position.xmax, position.xip),
        listOwners,
        findFloors: (seen) => findFloors.query(...toColumns(listOwners(seen))),
        learn(seen, found) {
          // Two turns at once could each take back what the other has learned.
          if (floors.position !== position) return;
          if (seen.is_behind) return floors.forget();
          const isFound = new Set(found.map(({ owner }) => owner));
          const { waiting, ...rest } = toLook(seen);
          floors.learn(
            found.map(({ owner, floor }) => ({ owner, floorMs: floor })),
            { ...rest, waiting: waiting.filter(([owner]) => !isFound.has(owner)) },
          );
        },
      };
    },
    forget: floors.forget,
    get known() {
      const { position } = floors;
      return {
        position,
        nextMs: floors.findNextMs(),
        noteNothingDue(snapshot: string) {
          if (position === undefined || floors.position !== position) return;
          const seen = toPosition({ snapshot, own_xid: null });
          if (BigInt(seen.xmax) < BigInt(position.xmax)) floors.forget();
          else floors.learn([], { position: seen, waiting: [], elsewhere: [], still: [], apart: [] });
        },
      };
    },
  };
}

export const toColumns = (floors: readonly OwnerFloor[]) =>
  [floors.map(([owner]) => owner), floors.map(([, floorMs]) => floorMs)] as const;

/** The lowest floor of each owner. */
function mergeFloors(...lists: readonly (readonly OwnerFloor[])[]): readonly OwnerFloor[] {
  const least = new Map<string, number>();
  for (const [owner, floorMs] of lists.flat()) least.set(owner, Math.min(floorMs, least.get(owner) ?? floorMs));
  return [...least];
}

const toLook = (row: LookRow) => ({
  position: toPosition(row),
  waiting: row.waiting.map(toFloor),
  elsewhere: [],
  still: [],
  apart: [],
});

const prepareLook = (log: Log) =>
  preparedByText<LookRow, [xmax: string, xip: readonly string[]]>(
    `look at ${log.name}`,
    `/* service */ with changed as materialized (${selectWaitingChanges(log, '$1', '$2')})
     select ${selectSnapshot('$1')},
       ${listFloors('(select owner, min(floor) as floor from changed group by owner)')} as waiting, '[]'::json as owners`,
  );

/**
 * Reads by state. Its cost depends on the number of owners, and on how much was handled since the oldest snapshot. Also
 * reads what has changed, because only rows that a look could not have found were missed.
 */
const prepareFullLook = (log: Log) =>
  preparedByText<LookRow, [xmax: string | null, xip: readonly string[]]>(
    `look at all of ${log.name}`,
    `/* service */ with recursive changed as materialized (${selectWaitingChanges(log, '$1', '$2')}), ${log.owners}
     select ${selectSnapshot('$1')},
       ${listFloors('(select owner, min(floor) as floor from changed group by owner)')} as waiting,
       ${listFloors(`(select owner, ${toIdMs('id')} as floor from owners)`)} as owners`,
  );

const prepareFindFloors = (log: Log) =>
  preparedByText<FloorRow, [owners: readonly string[], floors: readonly number[]]>(
    `find floors of ${log.name}`,
    `/* service */ select visited.owner, ${toIdMs(log.findFirst('visited.owner', fromIdMs('visited.floor')))} as floor
     from unnest($1::text[], $2::float8[]) visited(owner, floor)`,
  );
