// Owns claiming: which due rows a worker reserves next. Claims are fair between owners and stay within the limits on how
// many rows of one owner, and of one concurrency key, run at once.
import { type RawBuilder, sql } from 'kysely';
import { type AnyDb, prepared, transaction } from '../../db/database.ts';
import type { SlotEpoch } from '../workers/slots.ts';
import { getQuarantineThreshold, type Queue, type QueueRow } from './queue.ts';

// How rows are chosen. First a strategy selects candidates, then `rankAndClaim` numbers them and claims the best.
//
// Example: perOwner = 2, perKey = 3, limit = 10. A and B have the concurrency key x, C has y. One row of C is running.
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
// Rows are claimed in the order (turn, due time): 1, 4, 2, 7. With limit = 3 they would be 1, 4, 2.
// Rows 5, 3, 6 and 8 follow as soon as rows of the same owner or key have run. claim.test.ts runs this example.

/**
 * How candidates are selected. The two alternate: `oldest` alone would let one long backlog delay everybody else, and
 * `eachOwner` alone would ignore how long rows have waited.
 * - `oldest`: the rows that have been due longest, whoever owns them.
 * - `eachOwner`: up to `perOwner` rows of each of the next thousand owners.
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
      const owners = await listNextOwners(queue, deps.db, state);
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

/** Alternates. While nothing is running, no owner can be in another's way, and the oldest rows go first. */
const chooseStrategy = (lastStrategy: Strategy, running: Running): Strategy =>
  lastStrategy === 'oldest' && running.owners.length > 0 ? 'eachOwner' : 'oldest';

/** What this process is running: `counts[n]` rows of `owners[n]`. */
interface Running {
  readonly owners: readonly string[];
  readonly counts: readonly number[];
  /** Rows that are still claimed in the table but have run. */
  readonly finishedIds: readonly string[];
  /** How many quarantined rows may be claimed now: one, or none while one is running. */
  readonly quarantineLimit: 0 | 1;
}

function countRunning(queue: Queue, claimedRows: readonly QueueRow[], finishedRows: ReadonlySet<QueueRow>): Running {
  const runningRows = claimedRows.filter((row) => !finishedRows.has(row));
  const byOwner = Map.groupBy(runningRows, (row) => String(Reflect.get(row, queue.owner)));
  const threshold = getQuarantineThreshold(queue);
  return {
    owners: [...byOwner.keys()],
    counts: [...byOwner.values()].map((rows) => rows.length),
    finishedIds: [...finishedRows].map((row) => row.id),
    quarantineLimit: runningRows.some((row) => row.crash_count >= threshold) ? 0 : 1,
  };
}

/** A part of a statement. */
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
 * The next owners that have a due row. The recursive query jumps from one owner to the next in the index on (owner,
 * due_at), so its cost depends on the number of owners and not on the length of their backlogs.
 */
async function listNextOwners(queue: Queue, db: AnyDb, state: ClaimerState): Promise<string[]> {
  const owner = sql.ref(queue.owner);
  const selectOwnerAfter = (previous: Fragment) => sql`select ${owner} as owner, due_at from ${sql.table(queue.name)}
    where claimed_slot is null and due_at is not null and ${owner} > ${previous} order by ${owner}, due_at limit 1`;
  const { rows } = await sql<{ owner: string; is_due: boolean }>`/* service */ with recursive visited as (
      (select owner, due_at, 1 as step from (${selectOwnerAfter(sql`${state.lastOwner}`)}) first)
      union all
      select next.owner, next.due_at, visited.step + 1
      from visited, lateral (${selectOwnerAfter(sql`visited.owner`)}) next
      where visited.step < ${maxOwnersPerClaim})
    select owner, due_at <= statement_timestamp() as is_due from visited`.execute(db);
  const reachedLastOwner = rows.length < maxOwnersPerClaim;
  state.lastOwner = reachedLastOwner ? beforeFirstOwner : (rows.at(-1)?.owner ?? beforeFirstOwner);
  return rows.filter((row) => row.is_due).map((row) => row.owner);
}

// ---- ranking and claiming

/** Claims the best of the candidates. The example at the top of this file shows `turn` and `key_turn`. */
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
    where id = any(array(select id from claimable)) returning *`;
  if (queue.globalLimits === undefined) return (await statement.execute(deps.db)).rows;
  return transaction(deps.db, async (db) => {
    await prepareSerialClaim(db, `claim ${queue.name}`, queue.asyncCommit ? 'off' : 'on');
    return (await statement.execute(db)).rows;
  });
}

/** With global limits the running rows of all processes are counted in the table, otherwise only those of this process. */
const selectRunningByOwner = (queue: Queue, running: Running): Fragment =>
  queue.globalLimits === undefined
    ? sql`select * from unnest(${running.owners}::uuid[], ${running.counts}::int[]) u(owner, count)`
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
// A queue table fills within seconds. A planner with statistics from before would choose to read the whole table.
const useIndexesOnly = "set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)";

/** Prepares the transaction of a claim under global limits. One statement, to save round trips. */
const prepareSerialClaim = prepared<object, [lockName: string, synchronousCommit: 'on' | 'off']>(
  'prepare serial claim',
  `select ${lockClaims}, ${setCommitMode}, ${useIndexesOnly}`,
);
