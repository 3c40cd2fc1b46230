// Claims: which due rows a worker reserves next. Claims are fair between owners, and limit how many of an
// owner's rows run concurrently in this process. With `globalLimits`, this limit applies across all processes, as does
// a second limit on rows with the same concurrency key.
import type { CompiledQuery } from 'kysely';
import { type AnyDb, prepared, preparedByText, transactionOf } from '../../db/database.ts';
import { isCancelled } from '../../db/failures.ts';
import type { SlotEpoch } from '../workers/slots.ts';
import { createFloors, type OwnerFloor, type Position, type RowApart, type RowElsewhere } from './floors.ts';
import {
  correctFutureChanges,
  createLook,
  type FoundLook,
  fromMs,
  isElsewhere,
  isWaiting,
  keyOf,
  selectChanged,
  selectWaitingOwners,
  toMs,
} from './look.ts';
import { isNotPaused } from './pauses.ts';
import {
  claimedColumnsOf,
  commitModeOf,
  getQuarantineThreshold,
  planForIds,
  type Queue,
  type QueueRow,
  setCommitMode,
} from './queue.ts';

// How rows are chosen: candidates are selected and numbered, and the best candidates are claimed.
//
// Example: perOwner = 2, limit = 10, and global limits with perKey = 3. A's and B's rows have the concurrency key x,
// and C's rows have y. One of C's rows is running. The candidates:
//
//   row  owner  key  due    turn  key_turn  claimed
//   1    A      x    09:00  1     1         yes
//   2    A      x    09:01  2     3         yes
//   3    A      x    09:02  3     –         no: turn > perOwner
//   4    B      x    09:03  1     2         yes
//   5    B      x    09:04  2     4         no: key_turn > perKey
//   6    B      x    09:05  3     –         no: turn > perOwner
//   7    C      y    09:06  2     2         yes
//   8    C      y    09:07  3     –         no: turn > perOwner
//
// `turn` numbers an owner's rows by due time, after the owner's running rows. C's first row has turn 2, because C has
// one row running. `key_turn` numbers a key's remaining rows by (turn, due time), again after the key's running rows.
// The best rows by (turn, due time) are claimed: 1, 4, 2, 7; with limit = 3: 1, 4, 2. Claimed rows are returned in no
// particular order. The other rows become claimable as rows with the same owner or key finish. claim.test.ts runs this
// example.
//
// The candidates are the first rows of each owner that the claim visits, read from the owner's floor on (floors.ts). A
// claim visits the owners whose floor has passed, at most 500 of them, and those that a look finds: their rows became
// waiting since. So an owner's backlog does not delay the others, and no claim reads past what is completed, which
// is expensive while an old snapshot keeps the index entries of completed rows.
// A claim for specific owners, whose rows have just been inserted, only considers those owners' rows.
//
// Quarantine: a row is quarantined if workers have crashed while running it (complete.ts). A process runs at most one
// quarantined row per queue at a time, but several processes may each run one. While a quarantined row waits, it is
// numbered like any other row, so it still uses up one of its owner's and key's turns.

export interface ClaimDeps {
  readonly db: AnyDb;
  readonly slot: SlotEpoch;
}

/** The rows that this process has claimed so far. */
export interface ClaimedHere {
  readonly claimedRows: readonly QueueRow[];
  /** Claimed rows that have run but are not yet completed. They no longer count towards any limit. */
  readonly finishedRows: ReadonlySet<QueueRow>;
}

export interface Claim {
  readonly rows: readonly QueueRow[];
  /** Milliseconds until the next unclaimed row is due. Zero or less if it is due now. */
  readonly nextDueInMs: number | undefined;
}

export interface Claimer {
  /** Claims at most `limit` due rows, in one round trip. */
  claim(limit: number, here: ClaimedHere): Promise<Claim>;
  /**
   * Returns statements that claim at most `limit` of these owners' rows, to be sent with a transaction's commit. They
   * claim nothing while another process is claiming. The last two statements return the claimed rows and the time until
   * the next row is due. Undefined if it is not known what other processes run.
   */
  listStatements(limit: number, here: ClaimedHere, owners: readonly string[]): ClaimStatements | undefined;
  /** What polling needs to know; see `queueDueInMs`. */
  readonly known: KnownRows;
}

export type ClaimStatements = readonly [
  prepare: CompiledQuery<object>,
  claim: CompiledQuery<QueueRow>,
  findNextDue: CompiledQuery<NextDue>,
];

interface NextDue {
  readonly in_ms: number | null;
}

/** Up to where a process knows a queue, and when the next of the rows it knows is due. */
export interface KnownRows {
  readonly position: Position | undefined;
  readonly nextMs: number | undefined;
  /**
   * Called when polling has found nothing due. Its statement then was a look that found nothing. Without it, polling would
   * read again and again what other processes have handled since this one last looked.
   */
  noteNothingDue?(snapshot: string): void;
}

export interface ClaimerOptions {
  /** How often a full look checks that nothing was missed. */
  readonly fullLookEveryMs?: number;
  /** Called with the number of owners that had waiting rows which only a full look found. Must never happen. */
  readonly onMissed?: (count: number) => void;
  /** Called when a repeated full look was cancelled. Claims continue without it. */
  readonly onError?: (error: unknown) => void;
}

const maxOwnersPerClaim = 500;
const fullLookEveryMs = 5 * 60_000;
/** A claim of rows that were just inserted reads from this long ago on. */
const justInsertedMs = 5_000;
// A floor that is about to pass may have passed by the time the claim runs.
const soonMs = 50;

export function createClaimer(queue: Queue, { db, slot }: ClaimDeps, options: ClaimerOptions = {}): Claimer {
  const claimVisited = prepareClaim(`claim ${queue.name}`, queue, visitFloorsAndChanges);
  const claimOfOwners = prepareClaim(`claim of owners ${queue.name}`, queue, visitFloorsIfLocked);
  const findFloors = prepareFindFloors(queue);
  const findNextDue = prepareFindNextDue(queue);
  const look = createLook(queue, slot);
  const lockName = `claim ${queue.name}`;
  const floors = createFloors();
  let isCorrected = false;
  let fullyLookedAt = Number.NEGATIVE_INFINITY;
  /** The database's clock minus this process's. */
  let clockOffsetMs = 0;

  const noteClock = ({ nowMs }: FoundLook) => {
    clockOffsetMs = nowMs - Date.now();
  };
  const nowMs = () => Date.now() + clockOffsetMs;

  /** Reads the floors of all owners, without the lock: under an old snapshot it takes as long as claims once did. */
  const lookAtAll = async (here: ClaimedHere): Promise<void> => {
    if (!isCorrected) await correctFutureChanges(db, queue);
    isCorrected = true;
    const known = listIds(here);
    const [, row] = await transactionOf(
      db,
      prepareClaims.query(lockName, commitModeOf(queue)),
      look.queryAll(floors, known),
    );
    const found = look.read(row);
    if (found.isBehind) floors.forget();
    const missed = floors.learnAll(found.all, found);
    if (missed > 0) options.onMissed?.(missed);
    noteClock(found);
    fullyLookedAt = performance.now();
  };

  /** Repeats the full look. If it takes too long, the floors are still true, and the next try has its time. */
  const lookAtAllAgain = async (here: ClaimedHere): Promise<void> => {
    fullyLookedAt = performance.now();
    try {
      await lookAtAll(here);
    } catch (error) {
      if (!isCancelled(error)) throw error;
      options.onError?.(error);
    }
  };

  const claimOnce = async (limit: number, here: ClaimedHere): Promise<Claim> => {
    const isFullLookDue = performance.now() - fullyLookedAt > (options.fullLookEveryMs ?? fullLookEveryMs);
    if (floors.position === undefined) await lookAtAll(here);
    else if (isFullLookDue) await lookAtAllAgain(here);
    const position = floors.position as Position;
    const prepare = queue.globalLimits === undefined ? prepareClaims : prepareSerialClaims;
    const visited = floors.choose(nowMs() + soonMs, maxOwnersPerClaim);
    const [, row, rows, found] = await transactionOf(
      db,
      prepare.query(lockName, commitModeOf(queue)),
      look.query(floors, listIds(here)),
      claimVisited.query(...listValues(visited, position, limit, countRunning(queue, here), floors.listApart())),
      findFloors.query(...toColumns(visited)),
    );
    const seen = look.read(row);
    noteClock(seen);
    const isClaimedNow = new Set(rows.map(({ id }) => id));
    floors.learn(
      found.map(({ owner, floor, passed }) => ({
        owner,
        floorMs: floor,
        passed: passed.map(([id, dueMs]) => ({ id, dueMs })),
      })),
      { ...seen, apart: seen.apart.filter((id) => !isClaimedNow.has(id)) },
    );
    if (seen.isBehind) floors.forget();
    const nextMs = floors.findNextMs();
    if (floors.position === undefined) return { rows, nextDueInMs: 0 };
    return { rows, nextDueInMs: nextMs === undefined ? undefined : nextMs - seen.nowMs };
  };

  const listValues = (
    visited: readonly OwnerFloor[],
    { xmax, xip }: Position,
    limit: number,
    running: RunningValues,
    apart: readonly RowApart[],
  ): ClaimValues => [
    ...toColumns(visited),
    limit,
    slot.slot,
    slot.epoch,
    running.quarantineLimit,
    xmax,
    xip,
    ...running.byOwnerAndKey,
    running.known,
    ...toElsewhereColumns(floors.listElsewhere()),
    apart.map(({ id }) => id),
  ];

  return {
    async claim(limit, here) {
      try {
        return await claimOnce(limit, here);
      } catch (error) {
        // The connection may be lost because the database crashed, and with it claims whose effect is remembered.
        if (!isCancelled(error)) floors.forget();
        throw error;
      }
    },
    listStatements(limit, here, owners) {
      const { position } = floors;
      if (position === undefined) return undefined;
      const recentMs = nowMs() - justInsertedMs;
      const visited = owners.map((owner): OwnerFloor => {
        return [owner, Math.min(floors.getFloorMs(owner) ?? recentMs, recentMs)];
      });
      const running = { ...countRunning(queue, here), quarantineLimit: 0 as const }; // the loop may be claiming one
      return [
        tryPrepareSerialClaims.query(lockName),
        // Rows that are set apart are left to other claims: this one may be without the lock.
        claimOfOwners.query(...listValues(visited, position, limit, running, [])),
        findNextDue.query(...toColumns(visited)),
      ];
    },
    get known() {
      return { position: floors.position, nextMs: floors.findNextMs() };
    },
  };
}

const listIds = ({ claimedRows }: ClaimedHere): readonly string[] => claimedRows.map((row) => row.id);

const toColumns = (
  floors: readonly OwnerFloor[],
): readonly [owners: readonly string[], floorsMs: readonly number[]] => [
  floors.map(([owner]) => owner),
  floors.map(([, floorMs]) => floorMs),
];

const toElsewhereColumns = (rows: readonly RowElsewhere[]) =>
  [rows.map(({ id }) => id), rows.map(({ owner }) => owner), rows.map(({ key }) => key)] as const;

/** What this process is running. */
interface RunningValues {
  readonly quarantineLimit: 0 | 1;
  readonly byOwnerAndKey: readonly [owners: readonly string[], keys: readonly string[], counts: readonly number[]];
  /** The rows that it has claimed, also those that have run and are marked as claimed until they are completed. */
  readonly known: readonly string[];
}

function countRunning(queue: Queue, here: ClaimedHere): RunningValues {
  const runningRows = here.claimedRows.filter((row) => !here.finishedRows.has(row));
  const threshold = getQuarantineThreshold(queue);
  const keyColumn = queue.globalLimits?.concurrencyKey;
  const ownerOf = (row: QueueRow) => String(Reflect.get(row, queue.owner));
  const concurrencyKeyOf = (row: QueueRow) => (keyColumn === undefined ? '' : String(Reflect.get(row, keyColumn)));
  const groups = [...Map.groupBy(runningRows, (row) => `${ownerOf(row)} ${concurrencyKeyOf(row)}`).values()];
  const firstRows = groups.map(([row]) => row as QueueRow);
  return {
    quarantineLimit: runningRows.some((row) => row.crash_count >= threshold) ? 0 : 1,
    byOwnerAndKey: [firstRows.map(ownerOf), firstRows.map(concurrencyKeyOf), groups.map((rows) => rows.length)],
    known: listIds(here),
  };
}

// ---- a claim's transaction

// Without a lock, two processes that count concurrently would both use an owner's or key's last free place.
const lockOfClaims = 'hashtextextended($1, 0)';
// A queue table fills within seconds. With outdated statistics, the planner would scan the whole table, or sort all
// waiting rows instead of using the sorted index. This matters most with global limits, because other processes wait
// for the lock and the running rows are counted as well.
export const planForQueues = `${planForIds}, set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
  set_config('plan_cache_mode', 'force_generic_plan', true)`;

/**
 * Prepares a claim's transaction under global limits. This is a separate statement, because a statement only sees rows
 * that were committed before it started. The claim must start after the lock is acquired, to count the rows that the
 * previous lock holder has claimed.
 */
const prepareSerialClaims = prepared<object, [lockName: string, commitMode: 'off' | null]>(
  'prepare serial claims',
  `select pg_advisory_xact_lock(${lockOfClaims}), ${setCommitMode('$2')}, ${planForQueues}`,
);
/** Without global limits, claims need no lock. */
const prepareClaims = prepared<object, [lockName: string, commitMode: 'off' | null]>(
  'prepare claims',
  `select $1::text, ${setCommitMode('$2')}, ${planForQueues}`,
);
/** For a transaction that must not wait. If the lock is not available, the claim that follows claims nothing. */
const tryPrepareSerialClaims = prepared<object, [lockName: string]>(
  'try to prepare serial claims',
  `select set_config('plinth.may_claim', pg_try_advisory_xact_lock(${lockOfClaims})::text, true), ${planForQueues}`,
);

// ---- visiting owners: (owner, floor)

/** The owners in the parameters, and those with rows that became waiting since the last look. */
const visitFloorsAndChanges = `select owner, min(floor) as floor from (
    select * from unnest($1::uuid[], $2::float8[]) u(owner, floor)
    union all (select * from (${selectWaitingOwners}) became limit ${maxOwnersPerClaim})) known
  group by owner`;

const visitFloorsIfLocked = `select * from unnest($1::uuid[], $2::float8[]) u(owner, floor)
  where current_setting('plinth.may_claim') = 'true'`;

/** The due time of an owner's first waiting row, from its floor on. */
const findFirstWaiting = ({ name, owner }: Queue, found: string): string =>
  `(select ${found} from "${name}" where "${owner}" = visited.owner and due_at >= ${fromMs('visited.floor')}
    and ${isWaiting} order by due_at limit 1)`;

interface FloorRow {
  readonly owner: string;
  readonly floor: number | null;
  readonly passed: readonly (readonly [id: string, dueMs: number])[];
}

/** Finds the floors after a claim (null if nothing else waits) and the quarantined rows before them (floors.ts). */
function prepareFindFloors(queue: Queue) {
  const isFromFloor = `"${queue.owner}" = visited.owner and due_at >= ${fromMs('visited.floor')} and ${isWaiting}`;
  const isQuarantined = `crash_count >= ${getQuarantineThreshold(queue)}`;
  return preparedByText<FloorRow, [owners: readonly string[], floors: readonly number[]]>(
    `find floors of ${queue.name}`,
    `/* service */ select visited.owner, ${toMs('first.due_at')} as floor,
       (select coalesce(json_agg(json_build_array(id, ${toMs('due_at')})), '[]') from (
          select id, due_at from "${queue.name}"
          where ${isFromFloor} and due_at < coalesce(first.due_at, 'infinity') and ${isQuarantined}) quarantined) as passed
     from unnest($1::uuid[], $2::float8[]) visited(owner, floor)
       left join lateral (select due_at from "${queue.name}"
         where ${isFromFloor} and not ${isQuarantined} order by due_at limit 1) first on true`,
  );
}

const prepareFindNextDue = (queue: Queue) =>
  preparedByText<NextDue, [owners: readonly string[], floors: readonly number[]]>(
    `find next due of owners of ${queue.name}`,
    `/* service */ select extract(epoch from min(${findFirstWaiting(queue, 'due_at')}) - statement_timestamp())::float8 * 1000 as in_ms
     from unnest($1::uuid[], $2::float8[]) visited(owner, floor)`,
  );

/**
 * SQL for the time until the next row is due, in milliseconds: zero if anything became waiting since this process last
 * looked. `known` is SQL for its `KnownRows` as JSON, with `xip` as an array literal.
 */
export const queueDueInMs = ({ name }: Pick<Queue, 'name'>, known: string): string => {
  const becameWaiting = `coalesce(claimed_slot, -1) = -1 and due_at is not null`;
  return `case
      when exists (select from "${name}" where changed_in >= (${known} ->> 'xmax')::xid8 and ${becameWaiting})
        or exists (select from "${name}" where changed_in = any((${known} ->> 'xip')::xid8[]) and ${becameWaiting}) then 0
      else (${known} ->> 'nextMs')::float8 - ${toMs('statement_timestamp()')} end`;
};

// ---- ranking and claiming

// A row that is looked up by id is compared in a form that matches no partial index of waiting rows. With statistics from
// when nothing was waiting, the planner would read the whole backlog from the index and compare ids.
const isStillDue = 'coalesce(claimed_slot, -1) = -1 and due_at <= statement_timestamp()';

/** Without global limits, all rows have the same concurrency key, and its limit is never reached. */
const unlimited = 1_000_000;

type ClaimValues = readonly [
  owners: readonly string[],
  floors: readonly number[],
  limit: number,
  slot: number,
  epoch: number,
  quarantineLimit: 0 | 1,
  xmax: string,
  xip: readonly string[],
  runningOwners: readonly string[],
  runningKeys: readonly string[],
  runningCounts: readonly number[],
  known: readonly string[],
  ...elsewhereAndApart: readonly [
    ids: readonly string[],
    owners: readonly string[],
    keys: readonly string[],
    apart: readonly string[],
  ],
];

/**
 * Claims the best candidates. The example at the top of this file shows `turn` and `key_turn`.
 * - `service` permits a statement that spans all tenants (ARCHITECTURE.md#data).
 * - `materialized` makes the planner plan the candidate selection separately instead of merging it into the ranking.
 * - `claims + 1` numbers the claim, so a run that has lost its claim can't complete the row.
 */
function prepareClaim(name: string, queue: Queue, visited: string) {
  const threshold = getQuarantineThreshold(queue);
  return preparedByText<QueueRow, ClaimValues>(
    name,
    `/* service */ with
     changed as materialized (${selectChanged(queue, '$7', '$8')}),
     visited as materialized (${visited}),
     candidates as materialized (
       select due.* from visited, lateral (
         select id, "${queue.owner}" as owner, ${keyOf(queue)} as concurrency_key, due_at, crash_count
         from "${queue.name}" where "${queue.owner}" = visited.owner and due_at >= ${fromMs('visited.floor')}
           and claimed_slot is null and due_at <= statement_timestamp()
         order by due_at limit ${queue.perOwner}) due
       union
       select id, "${queue.owner}", ${keyOf(queue)}, due_at, crash_count from "${queue.name}"
       where id = any($16::uuid[]) and ${isStillDue}),
     sharing as materialized (${selectSharing}),
     running as materialized (${selectRunning(queue)}),
     ranked_by_owner as (
       select id, concurrency_key, due_at, crash_count,
         row_number() over (partition by candidates.owner order by due_at) + coalesce(running_of_owner.count, 0) as turn
       from candidates left join (select owner, sum(count) as count from running group by owner) running_of_owner
         on running_of_owner.owner = candidates.owner
       where ${isNotPaused(queue, 'candidates.owner')}),
     ranked_by_key as (
       select id, due_at, crash_count, turn,
         row_number() over (partition by ranked_by_owner.concurrency_key order by turn, due_at)
           + coalesce(running_of_key.count, 0) as key_turn
       from ranked_by_owner left join (select key, sum(count) as count from running group by key) running_of_key
         on running_of_key.key = ranked_by_owner.concurrency_key
       where turn <= ${queue.perOwner}),
     eligible as (
       select * from ranked_by_key where key_turn <= ${queue.globalLimits?.perKey ?? unlimited}),
     quarantined as (
       select id from eligible where crash_count >= ${threshold} order by due_at limit $6),
     claimable as (
       select id from "${queue.name}"
       where id = any(array(
           select id from eligible
           where crash_count < ${threshold} or id in (select id from quarantined)
           order by turn, due_at limit $3))
         and ${isStillDue}
       for update skip locked)
     update "${queue.name}" set claimed_slot = $4, claimed_epoch = $5, claims = claims + 1
     where id = any(array(select id from claimable)) returning ${claimedColumnsOf(queue)}`,
  );
}

/**
 * The rows that run, by owner and key. Without global limits, only this process's rows count. With them, what other
 * processes run is known from earlier looks (`$13`) and from what has changed since. Of what is known, only the rows are
 * counted that share an owner or key with a candidate, after checking in the table that they still run.
 */
function selectRunning(queue: Queue): string {
  const here = 'select * from unnest($9::uuid[], $10::text[], $11::int[]) u(owner, key, count)';
  if (queue.globalLimits === undefined)
    return `${here} where cardinality($12::uuid[]) is not null or exists (select from sharing)`;
  const elsewhere = isElsewhere({ slot: '$4', epoch: '$5', known: '$12' });
  return `${here}
    union all
    select "${queue.owner}", ${keyOf(queue)}, 1 from "${queue.name}"
    where id = any(array(select id from sharing)) and ${elsewhere}
    union all
    select owner, key, 1 from changed where ${elsewhere} and id not in (select id from sharing)`;
}

/** The known rows elsewhere that share an owner or key with a candidate. */
const selectSharing = `select id from unnest($13::uuid[], $14::uuid[], $15::text[]) u(id, owner, key)
  where owner in (select owner from candidates) or key in (select concurrency_key from candidates)`;
