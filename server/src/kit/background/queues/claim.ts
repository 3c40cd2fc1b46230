// Owns the claiming of rows that are due: fair between owners, whoever has a backlog; and within what an owner, and a lane,
// may have running at once.
import { type RawBuilder, sql } from 'kysely';
import { type AnyDb, prepared, transaction } from '../../db/database.ts';
import type { SlotEpoch } from '../workers/slots.ts';
import { getQuarantineThreshold, type Queue, type QueueRow } from './queue.ts';

export interface ClaimDeps {
  readonly db: AnyDb;
  readonly claim: SlotEpoch;
}

/**
 * Claims rows that are due, within the shares of owners and lanes: in turns the oldest of all, and a few of each owner in a
 * round, so that nobody waits behind others' backlogs, however old and many they are.
 */
export async function claimRows(
  queue: Queue,
  deps: ClaimDeps,
  room: number,
  claimed: QueueRow[],
  over: ReadonlySet<QueueRow>,
): Promise<QueueRow[]> {
  const running = claimed.filter((row) => !over.has(row));
  const byOwner = Map.groupBy(running, (row) => ownerOf(queue, row));
  const shares = {
    over: [...over].map((row) => row.id),
    owners: [...byOwner.keys()],
    counts: [...byOwner.values()].map((rows) => rows.length),
    suspects: running.some((row) => row.crash_count >= getQuarantineThreshold(queue)) ? 0 : 1,
  };
  const round = rounds.get(queue) ?? { isNext: false, owner: firstOwner };
  rounds.set(queue, round);
  round.isNext = !round.isNext && shares.owners.length > 0; // with nothing running nobody is in anybody's way
  const first = await (round.isNext ? claimRound : claimOldest)(queue, deps, room, shares);
  return first.length > 0 ? first : (round.isNext ? claimOldest : claimRound)(queue, deps, room, shares);
}

// Whether the next claim is a round over the owners, and where it goes on.
const rounds = new WeakMap<Queue, { isNext: boolean; owner: string }>();
const firstOwner = '00000000-0000-0000-0000-000000000000';
const ownersARound = 1_000;

const ownerOf = (queue: Queue, row: QueueRow): string =>
  String((row as unknown as Record<string, unknown>)[queue.owner]);

/** What runs already of each owner; and whether there is room for a suspect. */
interface Shares {
  /** Claimed still, but run. */
  readonly over: readonly string[];
  readonly owners: readonly string[];
  readonly counts: readonly number[];
  readonly suspects: number;
}

type Fragment = RawBuilder<unknown>;

/** What runs side by side is counted by this; without `everywhere` all rows are in one lane, as wide as may be. */
const concurrencyKeyOf = ({ globalLimits: everywhere }: Queue): Fragment =>
  everywhere === undefined ? sql`''` : sql.ref(everywhere.concurrencyKey);

const claimOldest = (queue: Queue, deps: ClaimDeps, room: number, shares: Shares): Promise<QueueRow[]> =>
  claimOf(
    queue,
    deps,
    room,
    shares,
    sql`select id, ${sql.ref(queue.owner)} as owner, ${concurrencyKeyOf(queue)} as lane, due_at, crash_count
      from ${sql.table(queue.name)}
      where claimed_slot is null and due_at <= statement_timestamp() order by due_at limit ${room * 2}`,
  );

async function claimRound(queue: Queue, deps: ClaimDeps, room: number, shares: Shares): Promise<QueueRow[]> {
  const table = sql.table(queue.name);
  const owner = sql.ref(queue.owner);
  const round = rounds.get(queue) as { owner: string };
  const next = (after: Fragment) => sql`select ${owner} as owner, due_at from ${table}
    where claimed_slot is null and due_at is not null and ${owner} > ${after} order by ${owner}, due_at limit 1`;
  const { rows } = await sql<{ owner: string; is_due: boolean }>`/* service */ with recursive round as (
      (select owner, due_at, 1 as step from (${next(sql`${round.owner}`)}) first)
      union all
      select next.owner, next.due_at, round.step + 1 from round, lateral (${next(sql`round.owner`)}) next
      where round.step < ${ownersARound})
    select owner, due_at <= statement_timestamp() as is_due from round`.execute(deps.db);
  round.owner = rows.length < ownersARound ? firstOwner : (rows.at(-1)?.owner ?? firstOwner);
  const owners = rows.filter((row) => row.is_due).map((row) => row.owner);
  if (owners.length === 0) return [];
  const due = sql`select d.id, o.owner, d.lane, d.due_at, d.crash_count
    from unnest(${owners}::uuid[]) o(owner), lateral (
      select id, ${concurrencyKeyOf(queue)} as lane, due_at, crash_count from ${table} where ${owner} = o.owner
        and claimed_slot is null and due_at <= statement_timestamp() order by due_at limit ${queue.perOwner}) d`;
  return claimOf(queue, deps, room, shares, due);
}

/** How many run already, of each owner and in each lane. */
function busyOf(queue: Queue, { owners, counts, over }: Shares): { owners: Fragment; lanes: Fragment } {
  const claimed = sql`from ${sql.table(queue.name)} where claimed_slot is not null and id <> all(${over}::uuid[])
    group by 1`;
  if (queue.globalLimits === undefined)
    return {
      owners: sql`select * from unnest(${owners}::uuid[], ${counts}::int[]) u(owner, running)`,
      lanes: sql`select '' as lane, 0 as running`,
    };
  return {
    owners: sql`select ${sql.ref(queue.owner)} as owner, count(*) as running ${claimed}`,
    lanes: sql`select ${concurrencyKeyOf(queue)} as lane, count(*) as running ${claimed}`,
  };
}

const widest = 1_000_000;

const inTurn = prepared<object, [name: string, synchronousCommit: string]>(
  'claim in turn',
  `select pg_advisory_xact_lock(hashtextextended($1, 0)), set_config('synchronous_commit', $2, true),
     set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`,
);

async function claimOf(queue: Queue, deps: ClaimDeps, room: number, shares: Shares, due: Fragment) {
  const { db, claim } = deps;
  const busy = busyOf(queue, shares);
  const statement = sql<QueueRow>`/* service */ with due as materialized (${due}),
    turns as (
      select id, lane, due_at, crash_count, row_number() over (partition by due.owner order by due_at)
        + coalesce(busy.running, 0) as turn
      from due left join (${busy.owners}) busy on busy.owner = due.owner),
    lanes as (
      select id, due_at, crash_count, turn, row_number() over (partition by turns.lane order by turn, due_at)
        + coalesce(busy.running, 0) as lane_turn
      from turns left join (${busy.lanes}) busy on busy.lane = turns.lane
      where turn <= ${queue.perOwner}),
    fair as (select * from lanes where lane_turn <= ${queue.globalLimits?.perKey ?? widest}),
    suspects as (
      select id from fair where crash_count >= ${getQuarantineThreshold(queue)} order by due_at limit ${shares.suspects}),
    mine as (
      select id from ${sql.table(queue.name)}
      where id = any(array(
          select id from fair
          where crash_count < ${getQuarantineThreshold(queue)} or id in (select id from suspects)
          order by turn, due_at limit ${room}))
        and claimed_slot is null and due_at <= statement_timestamp()
      for update skip locked)
    update ${sql.table(queue.name)}
    set claimed_slot = ${claim.slot}, claimed_epoch = ${claim.epoch}, claims = claims + 1
    where id = any(array(select id from mine)) returning *`;
  if (queue.globalLimits === undefined) return (await statement.execute(db)).rows;
  // One process at a time: two that count at once would both take what only one may have. And by the indexes: a planner
  // whose statistics are of another day would read a table that has filled since.
  return transaction(db, async (db) => {
    await inTurn(db, `claim ${queue.name}`, queue.asyncCommit ? 'off' : 'on');
    return (await statement.execute(db)).rows;
  });
}
