// Looks: what has changed in a queue since a position, found by the transaction that changed it (`changed_in`), and so
// without reading what is completed. A full look reads by state instead, and knows nothing of earlier looks.
import { type AnyDb, preparedByText } from '../../db/database.ts';
import type { SlotEpoch } from '../workers/slots.ts';
import type { Floors, Look, OwnerFloor, Position, RowElsewhere } from './floors.ts';
import type { Queue } from './queue.ts';

/** SQL for a time in whole milliseconds, rounded down, so a floor is never later than the row's due time. */
export const toMs = (time: string): string => `floor(extract(epoch from ${time})::float8 * 1000)`;
export const fromMs = (ms: string): string => `to_timestamp(${ms} / 1000.0)`;

export const isWaiting = 'claimed_slot is null and due_at is not null';

// The same conditions for rows that are found by `changed_in`, in a form that matches no index of waiting or claimed
// rows.
const becameWaiting = 'coalesce(claimed_slot, -1) = -1 and due_at is not null';
const becameClaimed = 'coalesce(claimed_slot, -1) <> -1';

/** The concurrency key, or '' without global limits. */
export const keyOf = ({ globalLimits }: Queue): string =>
  globalLimits === undefined ? "''::text" : `"${globalLimits.concurrencyKey}"::text`;

/**
 * SQL for the rows changed since the position in the parameters `xmax` and `xip`. `= any` keeps the index lookup: joined
 * with a list, the index would be read from end to end, because a queue table looks empty to the planner.
 */
export function selectChanged(queue: Queue, xmax: string, xip: string): string {
  const select = `select id, "${queue.owner}" as owner, ${keyOf(queue)} as key, due_at, claimed_slot, claimed_epoch
    from "${queue.name}"`;
  return `${select} where changed_in >= ${xmax}::xid8 union all ${select} where changed_in = any(${xip}::xid8[])`;
}

/** SQL for the earliest due time of each owner with rows that became waiting. */
export const selectWaitingOwners = `select owner, min(${toMs('due_at')}) as floor from changed
  where ${becameWaiting} group by owner`;

/** The parameters of `isElsewhere`, by name. */
export interface ClaimParameters {
  readonly slot: string;
  readonly epoch: string;
  readonly known: string;
}

/** SQL for rows that are claimed, except those that this process has claimed and knows of. */
export const isElsewhere = ({ slot, epoch, known }: ClaimParameters): string =>
  `${becameClaimed} and not (claimed_slot = ${slot} and claimed_epoch = ${epoch}
     and id in (select unnest(${known}::uuid[])))`;

/** What a look says about its own snapshot. */
export interface SnapshotRow {
  readonly snapshot: string;
  readonly own_xid: string | null;
  /** The position is later than the database's latest transaction, so it is another database's, or it has lost some. */
  readonly is_behind: boolean;
}

/** SQL for the columns of a `SnapshotRow`. `xmax` is the parameter with the last look's position, or null. */
export const selectSnapshot = (xmax: string): string => `pg_current_snapshot()::text as snapshot,
  pg_current_xact_id_if_assigned()::text as own_xid,
  coalesce(pg_snapshot_xmax(pg_current_snapshot()) < ${xmax}::xid8, false) as is_behind`;

export function toPosition({ snapshot, own_xid }: Pick<SnapshotRow, 'snapshot' | 'own_xid'>): Position {
  const [, xmax, xip] = snapshot.split(':') as [string, string, string];
  // A snapshot does not list its own transaction, whose later changes would be missed.
  return { xmax, xip: [...(xip === '' ? [] : xip.split(',')), ...(own_xid === null ? [] : [own_xid])] };
}

interface LookRow extends SnapshotRow {
  readonly now_ms: number;
  readonly waiting: readonly OwnerFloor[];
  readonly elsewhere: readonly (readonly [id: string, owner: string, key: string])[];
  readonly still: readonly string[];
  readonly apart: readonly string[];
  readonly owners: readonly OwnerFloor[];
}

export interface FoundLook extends Look {
  readonly nowMs: number;
  /** Every owner with waiting rows; only in a full look. */
  readonly all: readonly OwnerFloor[];
  /** As `is_behind` of its snapshot. */
  readonly isBehind: boolean;
}

type LookValues = readonly [
  xmax: string | null,
  xip: readonly string[],
  slot: number,
  epoch: number,
  known: readonly string[],
  toCheck: readonly string[],
  apart: readonly string[],
];

/** SQL for a JSON array of the rows (owner, floor). */
export const listFloors = (rows: string): string =>
  `(select coalesce(json_agg(json_build_array(owner, floor)), '[]') from ${rows} listed)`;

function prepareLook(queue: Queue, isFull: boolean) {
  const elsewhere = isElsewhere({ slot: '$3', epoch: '$4', known: '$5' });
  const claimed = isFull
    ? `select id, "${queue.owner}" as owner, ${keyOf(queue)} as key from "${queue.name}"
       where claimed_slot is not null and ${elsewhere}`
    : `select id, owner, key from changed where ${elsewhere}`;
  // Without global limits, nobody counts what other processes run. The parameters need a type all the same.
  const isCounted = `${queue.globalLimits !== undefined} and cardinality($6::uuid[]) is not null`;
  return preparedByText<LookRow, LookValues>(
    `${isFull ? 'look at all of' : 'look at'} ${queue.name}`,
    `/* service */ with recursive changed as materialized (${selectChanged(queue, '$1', '$2')})
     ${isFull ? `, owners as (${selectAllOwners(queue)})` : ''}
     select ${selectSnapshot('$1')},
       ${toMs('clock_timestamp()')} as now_ms,
       ${listFloors(`(${selectWaitingOwners})`)} as waiting,
       (select coalesce(json_agg(json_build_array(id, owner, key)), '[]') from (${claimed}) c where ${isCounted}) as elsewhere,
       array(select id::text from "${queue.name}" where id = any($6::uuid[]) and ${elsewhere}) as still,
       array(select id::text from "${queue.name}"
         where id = any($7::uuid[]) and ${becameWaiting} and id not in (select id from changed)) as apart,
       ${isFull ? listFloors(`(select owner, ${toMs('due_at')} as floor from owners)`) : "'[]'::json"} as owners`,
  );
}

/**
 * Jumps from one owner to the next in the index of waiting rows. Its cost depends on the number of owners, and on how
 * much was completed since the database's oldest snapshot.
 */
function selectAllOwners({ name, owner }: Queue): string {
  const selectOwnerAfter = (previous: string) => `select "${owner}" as owner, due_at from "${name}"
    where ${isWaiting} and "${owner}" > ${previous} order by "${owner}", due_at limit 1`;
  return `(select owner, due_at from (${selectOwnerAfter("'00000000-0000-0000-0000-000000000000'::uuid")}) first)
    union all
    select next.owner, next.due_at from owners, lateral (${selectOwnerAfter('owners.owner')}) next`;
}

export const toFloor = ([owner, floorMs]: OwnerFloor): OwnerFloor => [owner, Number(floorMs)];

function toLook(row: LookRow): FoundLook {
  return {
    position: toPosition(row),
    waiting: row.waiting.map(toFloor),
    elsewhere: row.elsewhere.map(([id, owner, key]): RowElsewhere => ({ id, owner, key })),
    still: row.still,
    apart: row.apart,
    nowMs: row.now_ms,
    all: row.owners.map(toFloor),
    isBehind: row.is_behind,
  };
}

const listIds = (rows: readonly { id: string }[]): readonly string[] => rows.map(({ id }) => id);

/** The statements with which a process looks at a queue. `known` are the rows that it has claimed. */
export function createLook(queue: Queue, { slot, epoch }: SlotEpoch) {
  const [look, fullLook] = [prepareLook(queue, false), prepareLook(queue, true)];
  const listValues = (known: readonly string[], toCheck: readonly string[], { position, listApart }: Floors) =>
    [position?.xmax ?? null, position?.xip ?? [], slot, epoch, known, toCheck, listIds(listApart())] as const;
  return {
    query: (floors: Floors, known: readonly string[]) => look.query(...listValues(known, floors.listToCheck(), floors)),
    queryAll: (floors: Floors, known: readonly string[]) => fullLook.query(...listValues(known, [], floors)),
    read([row]: readonly LookRow[]): FoundLook {
      if (row === undefined) throw new Error('a look must return one row');
      return toLook(row);
    },
  };
}

const repairBatch = 5_000;

/**
 * Corrects rows that were changed by transactions that this database has not begun, because they were copied from
 * another one. Each look would read them.
 */
export async function correctFutureChanges(db: AnyDb, { name }: Pick<Queue, 'name'>): Promise<void> {
  const correct = preparedByText<object, []>(
    `correct future changes of ${name}`,
    `/* service */ update "${name}" set changed_in = pg_current_xact_id() where ctid = any(array(
       select ctid from "${name}" where changed_in >= pg_snapshot_xmax(pg_current_snapshot())
       limit ${repairBatch} for update skip locked)) returning 1`,
  );
  while ((await correct(db)).length === repairBatch);
}
