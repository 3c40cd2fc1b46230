// Owns claiming: which due rows a worker reserves next. Claims are fair between owners, and stay within the limit on how
// many rows of one owner run at once in this process. With `globalLimits` that limit applies to all processes together,
// and so does a second one, on the rows of one concurrency key.
import type { CompiledQuery } from 'kysely';
import { type AnyDb, prepared, preparedByText, transactionOf } from '../../db/database.ts';
import type { SlotEpoch } from '../workers/slots.ts';
import {
  claimedColumnsOf,
  commitModeOf,
  getQuarantineThreshold,
  planForIds,
  type Queue,
  type QueueRow,
  setCommitMode,
} from './queue.ts';

// How rows are chosen. First candidates are selected, then they are numbered, and the best are claimed.
//
// Example: perOwner = 2, limit = 10, and global limits with perKey = 3. The rows of A and B have the concurrency key x,
// those of C have y. One row of C is running. The candidates:
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
// `turn` numbers the rows of one owner by due time, after those that are running: C's first row has turn 2, because C has
// one row running. `key_turn` numbers the remaining rows of one key by (turn, due time), again after those running.
// The best rows by (turn, due time) are claimed: 1, 4, 2, 7; with limit = 3: 1, 4, 2. They are returned in no particular
// order. The others become claimable when running rows of their owner or key finish. claim.test.ts runs this example.
//
// Which rows are candidates:
// - those that have been due longest, whoever owns them;
// - some of each of the next owners that have rows waiting, so that one long backlog does not delay everybody else. A claim visits
//   500 owners, and the next one goes on after them.
// A claim of certain owners, whose rows have just been inserted, has only theirs.
//
// Quarantine: a row is quarantined if workers crashed while running it (complete.ts). It is claimed only if this process
// runs no other quarantined row of the queue; two processes may each run one. A quarantined row that waits for this is
// numbered like any other, so it still occupies a turn of its owner and of its key.

export interface ClaimDeps {
  readonly db: AnyDb;
  readonly slot: SlotEpoch;
}

/** What this process has claimed already. */
export interface ClaimedHere {
  readonly claimedRows: readonly QueueRow[];
  /** The ones among them that have run but are not completed yet; they no longer count against any limit. */
  readonly finishedRows: ReadonlySet<QueueRow>;
}

export interface Claim {
  readonly rows: readonly QueueRow[];
  /** In how many milliseconds the next row is due that nobody has claimed: 0 or less if it is due now. */
  readonly nextDueInMs: number | undefined;
}

export interface Claimer {
  /** Claims at most `limit` due rows, in one round trip. */
  claim(limit: number, here: ClaimedHere): Promise<Claim>;
  /**
   * The statements that claim at most `limit` rows of these owners, to be sent with the commit of a transaction. They claim nothing
   * if another process is claiming just now. The last two return the rows and what is due next.
   */
  listStatements(limit: number, here: ClaimedHere, owners: readonly string[]): ClaimStatements;
}

export type ClaimStatements = readonly [
  prepare: CompiledQuery<object>,
  claim: CompiledQuery<QueueRow>,
  findNextDue: CompiledQuery<NextDue>,
];

interface NextDue {
  readonly in_ms: number | null;
}

const beforeFirstOwner = '00000000-0000-0000-0000-000000000000';
const maxOwnersPerClaim = 500;

export function createClaimer(queue: Queue, { db, slot }: ClaimDeps): Claimer {
  const claimWaiting = prepareClaim(`claim ${queue.name}`, queue, selectWaiting(queue));
  const claimOfOwners = prepareClaim(`claim of owners ${queue.name}`, queue, selectOfOwners(queue));
  const findLastVisited = prepareFindLastVisited(queue);
  const findNextDue = prepareFindNextDue(queue);
  const lockName = `claim ${queue.name}`;
  let lastOwner = beforeFirstOwner;
  return {
    async claim(limit, here) {
      const prepare = queue.globalLimits === undefined ? prepareClaims : prepareSerialClaims;
      const [, [visited], rows, [next]] = await transactionOf(
        db,
        prepare.query(lockName, commitModeOf(queue)),
        findLastVisited.query(lastOwner),
        claimWaiting.query(lastOwner, limit, slot.slot, slot.epoch, ...countRunning(queue, here)),
        findNextDue.query(),
      );
      lastOwner = visited?.owner ?? beforeFirstOwner;
      return { rows, nextDueInMs: next?.in_ms ?? undefined };
    },
    listStatements: (limit, here, owners) => [
      tryPrepareSerialClaims.query(lockName),
      claimOfOwners.query(owners, limit, slot.slot, slot.epoch, ...withoutQuarantined(countRunning(queue, here))),
      findNextDue.query(),
    ],
  };
}

/** The values of `$5` and the following: how many quarantined rows may be claimed, and what runs here. */
type RunningValues = readonly [quarantineLimit: 0 | 1, ...running: readonly (readonly string[] | readonly number[])[]];

function countRunning(queue: Queue, { claimedRows, finishedRows }: ClaimedHere): RunningValues {
  const runningRows = claimedRows.filter((row) => !finishedRows.has(row));
  const threshold = getQuarantineThreshold(queue);
  const quarantineLimit = runningRows.some((row) => row.crash_count >= threshold) ? 0 : 1;
  if (queue.globalLimits !== undefined) return [quarantineLimit, [...finishedRows].map((row) => row.id)];
  const byOwner = Map.groupBy(runningRows, (row) => String(Reflect.get(row, queue.owner)));
  return [quarantineLimit, [...byOwner.keys()], [...byOwner.values()].map((rows) => rows.length)];
}

/** The loop of the queue may be claiming a quarantined row just now. */
const withoutQuarantined = ([, ...running]: RunningValues): RunningValues => [0, ...running];

// ---- the transaction of a claim

// Two processes that count at the same time would both claim the last free place of an owner or key.
const lockOfClaims = 'hashtextextended($1, 0)';
// A queue table fills within seconds. A planner with statistics from before would choose to read the whole table, or to sort all
// that waits instead of following the index that is sorted already. This matters most with global limits: the lock makes all
// other processes wait, and the running rows are counted too.
export const planForQueues = `${planForIds}, set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
  set_config('plan_cache_mode', 'force_generic_plan', true)`;

/**
 * Prepares the transaction of a claim under global limits. One statement, but not part of the claim, because a statement sees
 * what was committed before it began. The claim must begin after the lock is acquired, so that its count sees what the
 * previous holder of the lock committed.
 */
const prepareSerialClaims = prepared<object, [lockName: string, commitMode: 'off' | null]>(
  'prepare serial claims',
  `select pg_advisory_xact_lock(${lockOfClaims}), ${setCommitMode('$2')}, ${planForQueues}`,
);
/** Without global limits nobody needs to wait. */
const prepareClaims = prepared<object, [lockName: string, commitMode: 'off' | null]>(
  'prepare claims',
  `select $1::text, ${setCommitMode('$2')}, ${planForQueues}`,
);
/** In a transaction that must not wait. A claim of owners claims nothing if the lock was not acquired. */
const tryPrepareSerialClaims = prepared<object, [lockName: string]>(
  'try to prepare serial claims',
  `select set_config('plinth.may_claim', pg_try_advisory_xact_lock(${lockOfClaims})::text, true), ${planForQueues}`,
);

// ---- selecting candidates: (id, owner, concurrency_key, due_at, crash_count)

const isWaiting = 'claimed_slot is null and due_at is not null';
const isDue = 'claimed_slot is null and due_at <= statement_timestamp()';

// The same for rows that are found by id. In this form no partial index of waiting rows applies: with statistics from when nothing
// was waiting, the planner would read the whole backlog by such an index, and compare the ids.
const isStillDue = 'coalesce(claimed_slot, -1) = -1 and due_at <= statement_timestamp()';

/** Without global limits all rows have the same concurrency key, and its limit is out of reach. */
const concurrencyKey = ({ globalLimits }: Queue): string =>
  globalLimits === undefined ? "''" : `"${globalLimits.concurrencyKey}"`;
const unlimited = 1_000_000;

const selectDueOf = (queue: Queue, owner: string): string =>
  `select id, "${queue.owner}" as owner, ${concurrencyKey(queue)} as concurrency_key, due_at, crash_count
   from "${queue.name}" where "${queue.owner}" = ${owner} and ${isDue} order by due_at limit ${queue.perOwner}`;

/** Twice `$2`, the limit, of the oldest, because some of them will be beyond their owner's or key's limit. */
const selectWaiting = (queue: Queue): string =>
  `with recursive ${visitOwners(queue)}
   (select id, "${queue.owner}" as owner, ${concurrencyKey(queue)} as concurrency_key, due_at, crash_count
    from "${queue.name}" where ${isDue} order by due_at limit $2 * 2)
   union
   select due.* from visited, lateral (${selectDueOf(queue, 'visited.owner')}) due
   where visited.due_at <= statement_timestamp()`;

const selectOfOwners = (queue: Queue): string =>
  `select due.* from unnest($1::uuid[]) o(owner), lateral (${selectDueOf(queue, 'o.owner')}) due
   where current_setting('plinth.may_claim') = 'true'`;

/**
 * Visits the next owners with waiting rows after `$1`. The recursive query jumps from one owner to the next in the index on
 * (owner, due_at), so its cost depends on the number of owners and not on the length of their backlogs.
 */
function visitOwners({ name, owner }: Queue): string {
  const selectOwnerAfter = (previous: string) => `select "${owner}" as owner, due_at from "${name}"
    where ${isWaiting} and "${owner}" > ${previous} order by "${owner}", due_at limit 1`;
  return `visited as (
     (select owner, due_at, 1 as step from (${selectOwnerAfter('$1::uuid')}) first)
     union all
     select next.owner, next.due_at, visited.step + 1 from visited, lateral (${selectOwnerAfter('visited.owner')}) next
     where visited.step < ${maxOwnersPerClaim})`;
}

/** After whom the next claim goes on. No row: at the beginning. Sent before the claim, which visits the same owners. */
const prepareFindLastVisited = (queue: Queue) =>
  prepared<{ owner: string }, [previousOwner: string]>(
    `find last visited owner of ${queue.name}`,
    `/* service */ with recursive ${visitOwners(queue)} select owner from visited where step = ${maxOwnersPerClaim}`,
  );

const prepareFindNextDue = (queue: Queue) =>
  prepared<NextDue, []>(`find next due of ${queue.name}`, `/* service */ select (${queueDueInMs(queue)}) as in_ms`);

/** SQL: in how many milliseconds the next row is due. */
export const queueDueInMs = ({ name }: Pick<Queue, 'name'>): string =>
  `select extract(epoch from due_at - statement_timestamp())::float * 1000
   from "${name}" where ${isWaiting} order by due_at limit 1`;

// ---- ranking and claiming

type ClaimValues = readonly [
  after: string | readonly string[],
  limit: number,
  slot: number,
  epoch: number,
  ...RunningValues,
];

/**
 * Claims the best of the candidates. The example at the top of this file shows `turn` and `key_turn`.
 * - `service` permits a statement over all tenants (ARCHITECTURE.md#data).
 * - `materialized`: selecting the candidates is planned on its own, not merged into the ranking.
 * - `claims + 1`: the number identifies this claim. A run that lost its claim can no longer complete the row.
 */
function prepareClaim(name: string, queue: Queue, candidates: string) {
  const threshold = getQuarantineThreshold(queue);
  return preparedByText<QueueRow, ClaimValues>(
    name,
    `/* service */ with
     candidates as materialized (${candidates}),
     ranked_by_owner as (
       select id, concurrency_key, due_at, crash_count,
         row_number() over (partition by candidates.owner order by due_at) + coalesce(running.count, 0) as turn
       from candidates left join (${selectRunningByOwner(queue)}) running on running.owner = candidates.owner),
     ranked_by_key as (
       select id, due_at, crash_count, turn,
         row_number() over (partition by ranked_by_owner.concurrency_key order by turn, due_at)
           + coalesce(running.count, 0) as key_turn
       from ranked_by_owner left join (${selectRunningByKey(queue)}) running
         on running.concurrency_key = ranked_by_owner.concurrency_key
       where turn <= ${queue.perOwner}),
     eligible as (
       select * from ranked_by_key where key_turn <= ${queue.globalLimits?.perKey ?? unlimited}),
     quarantined as (
       select id from eligible where crash_count >= ${threshold} order by due_at limit $5),
     claimable as (
       select id from "${queue.name}"
       where id = any(array(
           select id from eligible
           where crash_count < ${threshold} or id in (select id from quarantined)
           order by turn, due_at limit $2))
         and ${isStillDue}
       for update skip locked)
     update "${queue.name}" set claimed_slot = $3, claimed_epoch = $4, claims = claims + 1
     where id = any(array(select id from claimable)) returning ${claimedColumnsOf(queue)}`,
  );
}

/** With global limits the running rows of all processes are counted in the table, otherwise only those of this process. */
const selectRunningByOwner = (queue: Queue): string =>
  queue.globalLimits === undefined
    ? 'select * from unnest($6::uuid[], $7::int[]) u(owner, count)'
    : `select "${queue.owner}" as owner, count(*) as count ${fromRunningRows(queue)} group by 1`;

const selectRunningByKey = (queue: Queue): string =>
  queue.globalLimits === undefined
    ? "select '' as concurrency_key, 0 as count"
    : `select ${concurrencyKey(queue)} as concurrency_key, count(*) as count ${fromRunningRows(queue)} group by 1`;

/** `$6` are those that have run: they are still claimed in the table. */
const fromRunningRows = ({ name }: Queue): string =>
  `from "${name}" where claimed_slot is not null and id <> all($6::uuid[])`;
