// Owns claiming: which due rows a worker reserves next. Claims are fair between owners, and stay within the limit on how
// many rows of one owner run at once in this process. With `globalLimits` that limit applies to all processes together,
// and so does a second one, on the rows of one concurrency key.
import { type RawBuilder, sql } from 'kysely';
import { type AnyDb, prepared, transaction } from '../../db/database.ts';
import type { SlotEpoch } from '../workers/slots.ts';
import { claimedColumnsOf, getQuarantineThreshold, type Queue, type QueueRow } from './queue.ts';

// How rows are chosen. First a strategy selects candidates, then `rankAndClaim` numbers them and claims the best.
//
// Example: perOwner = 2, limit = 10, and global limits with perKey = 3. The rows of A and B have the concurrency key x,
// those of C have y. One row of C is running. The candidates that the strategy `oldest` selects:
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
// Quarantine: a row is quarantined if workers crashed while running it (complete.ts). It is claimed only if this process
// runs no other quarantined row of the queue; two processes may each run one. A quarantined row that waits for this is
// numbered like any other, so it still occupies a turn of its owner and of its key.

/**
 * How candidates are selected. The two alternate: `oldest` alone would let one long backlog delay everybody else, and
 * `eachOwner` alone would ignore how long rows have waited.
 * - `oldest`: the rows that have been due longest, whoever owns them.
 * - `eachOwner`: of the next thousand owners with waiting rows, those that have a due row; up to `perOwner` rows of each.
 */
type Strategy = 'oldest' | 'eachOwner';

/** What a claimer remembers between two claims. */
interface ClaimerState {
  lastStrategy: Strategy;
  /** Where `eachOwner` continues: it visits owners in the order of their ids, and starts again after the last one. */
  lastOwner: string;
}

export interface ClaimDeps {
  readonly db: AnyDb;
  readonly slot: SlotEpoch;
}

/**
 * Claims at most `limit` due rows. `claimedRows` are those this process has claimed already. `finishedRows` are the ones
 * among them that have run but are not completed yet; they no longer count against any limit.
 */
export type Claim = (
  limit: number,
  claimedRows: readonly QueueRow[],
  finishedRows: ReadonlySet<QueueRow>,
) => Promise<QueueRow[]>;

export function createClaimer(queue: Queue, deps: ClaimDeps): Claim {
  const state: ClaimerState = { lastStrategy: 'oldest', lastOwner: beforeFirstOwner };
  return async (limit, claimedRows, finishedRows) => {
    const running = countRunning(queue, claimedRows, finishedRows);
    const claimOldest = () => rankAndClaim(queue, deps, limit, running, selectOldest(queue, limit));
    const claimOfEachOwner = async () => {
      const { owners, lastOwner } = await listNextOwners(queue, deps.db, state.lastOwner);
      state.lastOwner = lastOwner;
      if (owners.length === 0) return [];
      return rankAndClaim(queue, deps, limit, running, selectOfOwners(queue, owners));
    };
    state.lastStrategy = chooseStrategy(state.lastStrategy, running);
    const [first, second] =
      state.lastStrategy === 'oldest' ? [claimOldest, claimOfEachOwner] : [claimOfEachOwner, claimOldest];
    const rows = await first();
    return rows.length > 0 ? rows : second();
  };
}

/** Alternates. While this process runs nothing, no backlog occupies its places yet, and the oldest rows go first. */
const chooseStrategy = (lastStrategy: Strategy, running: Running): Strategy =>
  lastStrategy === 'oldest' && running.countByOwner.size > 0 ? 'eachOwner' : 'oldest';

/** What this process is running. */
interface Running {
  readonly countByOwner: ReadonlyMap<string, number>;
  /** Rows that are still claimed in the table but have run. */
  readonly finishedIds: readonly string[];
  /** How many quarantined rows may be claimed now: one, or none while this process runs one. */
  readonly quarantineLimit: 0 | 1;
}

function countRunning(queue: Queue, claimedRows: readonly QueueRow[], finishedRows: ReadonlySet<QueueRow>): Running {
  const runningRows = claimedRows.filter((row) => !finishedRows.has(row));
  const countByOwner = new Map<string, number>();
  for (const row of runningRows) {
    const owner = String(Reflect.get(row, queue.owner));
    countByOwner.set(owner, (countByOwner.get(owner) ?? 0) + 1);
  }
  const threshold = getQuarantineThreshold(queue);
  return {
    countByOwner,
    finishedIds: [...finishedRows].map((row) => row.id),
    quarantineLimit: runningRows.some((row) => row.crash_count >= threshold) ? 0 : 1,
  };
}

type Fragment = RawBuilder<unknown>;

/** Without global limits all rows have the same concurrency key, and its limit is out of reach. */
const concurrencyKey = ({ globalLimits }: Queue): Fragment =>
  globalLimits === undefined ? sql`''` : sql.ref(globalLimits.concurrencyKey);
const unlimited = 1_000_000;

// ---- selecting candidates: (id, owner, concurrency_key, due_at, crash_count)

/** Twice the limit, because some candidates will be beyond their owner's or key's limit. */
const selectOldest = (queue: Queue, limit: number): Fragment =>
  sql`select id, ${sql.ref(queue.owner)} as owner, ${concurrencyKey(queue)} as concurrency_key, due_at, crash_count
    from ${sql.table(queue.name)}
    where claimed_slot is null and due_at <= statement_timestamp() order by due_at limit ${limit * 2}`;

const selectOfOwners = (queue: Queue, owners: readonly string[]): Fragment =>
  sql`select due.id, o.owner, due.concurrency_key, due.due_at, due.crash_count
    from unnest(${owners}::uuid[]) o(owner), lateral (
      select id, ${concurrencyKey(queue)} as concurrency_key, due_at, crash_count from ${sql.table(queue.name)}
      where ${sql.ref(queue.owner)} = o.owner and claimed_slot is null and due_at <= statement_timestamp()
      order by due_at limit ${queue.perOwner}) due`;

const beforeFirstOwner = '00000000-0000-0000-0000-000000000000';
const maxOwnersPerClaim = 1_000;

/**
 * Visits the next owners with waiting rows after `previousOwner`. Returns those of them that have a due row, and the last
 * owner visited, or `beforeFirstOwner` if no owner is left. The recursive query jumps from one owner to the next in the
 * index on (owner, due_at), so its cost depends on the number of owners and not on the length of their backlogs.
 */
async function listNextOwners(queue: Queue, db: AnyDb, previousOwner: string) {
  const owner = sql.ref(queue.owner);
  const selectOwnerAfter = (previous: Fragment) => sql`select ${owner} as owner, due_at from ${sql.table(queue.name)}
    where claimed_slot is null and due_at is not null and ${owner} > ${previous} order by ${owner}, due_at limit 1`;
  const { rows } = await sql<{ owner: string; is_due: boolean }>`/* service */ with recursive visited as (
      (select owner, due_at, 1 as step from (${selectOwnerAfter(sql`${previousOwner}`)}) first)
      union all
      select next.owner, next.due_at, visited.step + 1
      from visited, lateral (${selectOwnerAfter(sql`visited.owner`)}) next
      where visited.step < ${maxOwnersPerClaim})
    select owner, due_at <= statement_timestamp() as is_due from visited`.execute(db);
  const reachedLastOwner = rows.length < maxOwnersPerClaim;
  const lastOwner = reachedLastOwner ? undefined : rows.at(-1)?.owner;
  return {
    owners: rows.filter((row) => row.is_due).map((row) => row.owner),
    lastOwner: lastOwner ?? beforeFirstOwner,
  };
}

// ---- ranking and claiming

/**
 * Claims the best of the candidates. The example at the top of this file shows `turn` and `key_turn`.
 * - `service` permits a statement over all tenants (ARCHITECTURE.md#data).
 * - `materialized`: selecting the candidates is planned on its own, not merged into the ranking.
 * - `claims + 1`: the number identifies this claim. A run that lost its claim can no longer complete the row.
 */
async function rankAndClaim(queue: Queue, deps: ClaimDeps, limit: number, running: Running, candidates: Fragment) {
  const table = sql.table(queue.name);
  const threshold = getQuarantineThreshold(queue);
  const statement = sql<QueueRow>`/* service */ with
    candidates as materialized (${candidates}),
    ranked_by_owner as (
      select id, concurrency_key, due_at, crash_count,
        row_number() over (partition by candidates.owner order by due_at) + coalesce(running.count, 0) as turn
      from candidates left join (${selectRunningByOwner(queue, running)}) running on running.owner = candidates.owner),
    ranked_by_key as (
      select id, due_at, crash_count, turn,
        row_number() over (partition by ranked_by_owner.concurrency_key order by turn, due_at)
          + coalesce(running.count, 0) as key_turn
      from ranked_by_owner left join (${selectRunningByKey(queue, running)}) running
        on running.concurrency_key = ranked_by_owner.concurrency_key
      where turn <= ${queue.perOwner}),
    eligible as (
      select * from ranked_by_key where key_turn <= ${queue.globalLimits?.perKey ?? unlimited}),
    quarantined as (
      select id from eligible where crash_count >= ${threshold} order by due_at limit ${running.quarantineLimit}),
    claimable as (
      select id from ${table}
      where id = any(array(
          select id from eligible
          where crash_count < ${threshold} or id in (select id from quarantined)
          order by turn, due_at limit ${limit}))
        and claimed_slot is null and due_at <= statement_timestamp()
      for update skip locked)
    update ${table}
    set claimed_slot = ${deps.slot.slot}, claimed_epoch = ${deps.slot.epoch}, claims = claims + 1
    where id = any(array(select id from claimable)) returning ${claimedColumnsOf(queue)}`;
  if (queue.globalLimits === undefined) return (await statement.execute(deps.db)).rows;
  return transaction(deps.db, async (db) => {
    await prepareSerialClaim(db, `claim ${queue.name}`, queue.asyncCommit ? 'off' : 'on');
    return (await statement.execute(db)).rows;
  });
}

/** With global limits the running rows of all processes are counted in the table, otherwise only those of this process. */
const selectRunningByOwner = (queue: Queue, running: Running): Fragment =>
  queue.globalLimits === undefined
    ? sql`select * from unnest(${[...running.countByOwner.keys()]}::uuid[],
        ${[...running.countByOwner.values()]}::int[]) u(owner, count)`
    : sql`select ${sql.ref(queue.owner)} as owner, count(*) as count ${fromRunningRows(queue, running)} group by 1`;

const selectRunningByKey = (queue: Queue, running: Running): Fragment =>
  queue.globalLimits === undefined
    ? sql`select '' as concurrency_key, 0 as count`
    : sql`select ${concurrencyKey(queue)} as concurrency_key, count(*) as count ${fromRunningRows(queue, running)}
        group by 1`;

const fromRunningRows = (queue: Queue, { finishedIds }: Running): Fragment =>
  sql`from ${sql.table(queue.name)} where claimed_slot is not null and id <> all(${finishedIds}::uuid[])`;

// Two processes that count at the same time would both claim the last free place of an owner or key.
const lockClaims = 'pg_advisory_xact_lock(hashtextextended($1, 0))';
const setCommitMode = "set_config('synchronous_commit', $2, true)";
// A queue table fills within seconds. A planner with statistics from before would choose to read the whole table. This
// matters most here: the lock makes all other processes wait, and the running rows are counted too. Claims without global
// limits have no transaction, so they could set this only with an extra round trip.
const useIndexesOnly = "set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)";

/**
 * Prepares the transaction of a claim under global limits. One statement, to save round trips; but not part of the claim,
 * because a statement sees what was committed before it began. The claim must begin after the lock is acquired, so that
 * its count sees what the previous holder of the lock committed.
 */
const prepareSerialClaim = prepared<object, [lockName: string, synchronousCommit: 'on' | 'off']>(
  'prepare serial claim',
  `select ${lockClaims}, ${setCommitMode}, ${useIndexesOnly}`,
);
