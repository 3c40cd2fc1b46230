// Owns queue tables: the table that is the record of the work is its queue. A row that is due is claimed by a slot, run,
// and closed in one transaction with what it did, which a claim that is no longer held cannot commit.

import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../clock.ts';
import { type AnyDb, prepared, transaction } from '../db/database.ts';
import { failureOf } from '../db/failures.ts';
import { runLoop } from './loop.ts';
import { reasonOf } from './reason.ts';
import type { Claim } from './slots.ts';
import { Rest, type Wake } from './wake.ts';

/** The columns a queue table has beside its own; written by migrations. `docs/later.md` shows them with their indexes. */
export interface QueueRow {
  readonly id: string;
  /** When it is to be run; null once it is over. */
  readonly due_at: Date | null;
  /** Counted up by each claim: who closes must name the claim it ran under. */
  readonly claims: number;
  /** How often it was run and failed; and how often its process ended while it ran. */
  readonly failures: number;
  readonly interruptions: number;
  readonly claimed_slot: number | null;
  readonly claimed_epoch: number | null;
  readonly last_error: string | null;
  /** When it was given up. */
  readonly failed_at: Date | null;
}

/** How a run ended. Something thrown is a failure, run again by the queue's schedule. */
export interface Outcome {
  /** Writes what came of it, in the transaction that closes the claim. */
  readonly record?: (db: AnyDb) => Promise<void>;
  /** Run it again after this time; it is over otherwise. */
  readonly againInMs?: number;
  /** Why it has to be run again, or was given up. */
  readonly error?: string;
}

export interface Queue<Row extends QueueRow = QueueRow> {
  /** The table. */
  readonly name: string;
  /** The column (a uuid) that says whose the work is: nobody's backlog holds up another's. */
  readonly owner: string;
  /** How many run at once in a process, and of one owner. */
  readonly concurrency: number;
  readonly perOwner: number;
  /** A run that takes longer has failed. */
  readonly timeoutMs: number;
  /** After how many deaths of its process a row may be what ends them, and runs alone. More where runs take long. */
  readonly suspectAfter?: number;
  /** When it is run again after so many failures; undefined: it is given up. */
  retryMs(failures: number): number | undefined;
  /** Work that touches the outside: no transaction is open. What `db` writes here bears being done again. */
  run(row: Row, at: { db: AnyDb; now: Date; signal: AbortSignal }): Promise<Outcome>;
  /** Called in the transaction that gives a row up. */
  givenUp?(db: AnyDb, row: Row, error: string): Promise<void>;
}

/** A wait before each next try; then it is given up. */
export const retries =
  (...waitsMs: number[]) =>
  (failures: number): number | undefined =>
    waitsMs[failures - 1];

const contendedMs = 100;
const failedMs = 500;
const strayMs = 10_000;
const longestInterruptedMs = 60_000;
const mostInterruptions = 20;
const suspectAfterDefault = 2;

export interface QueueRun {
  /** Claims nothing more, lets what runs end for as long, and gives back the rest. */
  stop(withinMs: number): Promise<void>;
}

export interface QueueParts {
  readonly db: AnyDb;
  readonly clock: Clock;
  readonly claim: Claim;
  readonly wake: Pick<Wake, 'listen' | 'pollMs'>;
  readonly onError: (queue: string, error: unknown) => void;
  /** Told of every run that ended: for figures. */
  readonly onRun?: (queue: string, outcome: Closed, seconds: number) => void;
}

type Closed = 'done' | 'again' | 'given_up' | 'superseded';

/** Runs one queue in this process until stopped. */
export function runQueue(queue: Queue, parts: QueueParts): QueueRun {
  const givenBack = new AbortController();
  const rest = new Rest();
  const running = new Map<Promise<void>, QueueRow>();
  const nextDue = nextDueOf(queue);
  let sweptAt = performance.now();
  parts.wake.listen(queue.name, rest.wake);

  const start = (row: QueueRow) => {
    const work = runOne(queue, row, parts, givenBack.signal)
      .catch((error: unknown) => {
        parts.onError(queue.name, error);
        sweptAt = 0; // its claim may still stand
      })
      .finally(() => {
        running.delete(work);
        // Woken for each row that ends, the claim would fetch one row at a time.
        if (running.size <= queue.concurrency / 2) rest.wake();
      });
    running.set(work, row);
  };
  /** Gives how long there is nothing to do. */
  const turn = async (): Promise<number> => {
    if (performance.now() - sweptAt > strayMs) {
      await releaseStrays(queue, parts, [...running.values()]);
      sweptAt = performance.now();
    }
    const room = queue.concurrency - running.size;
    if (room <= 0) return parts.wake.pollMs();
    const [next] = await nextDue(parts.db);
    if (next === undefined || next.in_ms > 0)
      return Math.min(next?.in_ms ?? Number.POSITIVE_INFINITY, parts.wake.pollMs());
    const rows = await claimRows(queue, parts, room, [...running.values()]);
    for (const row of rows) start(row);
    // Nothing, though something is due: it is of owners who have their share, or somebody else was first.
    return rows.length > 0 && running.size < queue.concurrency ? 0 : contendedMs;
  };
  const loop = runLoop(rest, () =>
    turn().catch((error: unknown) => {
      parts.onError(queue.name, error);
      sweptAt = 0; // rows may have been claimed by a statement whose answer was lost
      return failedMs;
    }),
  );
  return {
    async stop(withinMs) {
      await loop.stop();
      await Promise.race([Promise.all(running.keys()), sleep(withinMs)]);
      await releaseStrays(queue, parts, []);
      givenBack.abort(new Error('the worker stops'));
    },
  };
}

const nextDueOf = (queue: Queue) =>
  prepared<{ in_ms: number }, []>(
    `next due of ${queue.name}`,
    `/* service */ select extract(epoch from due_at - statement_timestamp())::float * 1000 as in_ms
     from "${queue.name}" where claimed_slot is null and due_at is not null order by due_at limit 1`,
  );

/** Gives back what this worker has claimed and does not run: nobody else would, as long as it lives. */
async function releaseStrays(queue: Queue, { db, claim }: QueueParts, running: readonly QueueRow[]): Promise<void> {
  await sql`/* service */ update ${sql.table(queue.name)} set claimed_slot = null, claimed_epoch = null
    where claimed_slot = ${claim.slot} and claimed_epoch = ${claim.epoch}
      and id <> all(${running.map((row) => row.id)}::uuid[])`.execute(db);
}

const suspectAfterOf = (queue: Queue): number => queue.suspectAfter ?? suspectAfterDefault;

const ownerOf = (queue: Queue, row: QueueRow): string =>
  String((row as unknown as Record<string, unknown>)[queue.owner]);

async function runOne(queue: Queue, row: QueueRow, parts: QueueParts, givenBack: AbortSignal): Promise<void> {
  const startedAt = performance.now();
  const closed = await closeInTheEnd(queue, row, await runInTime(queue, row, parts, givenBack), parts.db);
  parts.onRun?.(queue.name, closed, (performance.now() - startedAt) / 1000);
}

async function runInTime(
  queue: Queue,
  row: QueueRow,
  { db, clock }: QueueParts,
  givenBack: AbortSignal,
): Promise<Outcome> {
  const limit = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`took longer than ${queue.timeoutMs} ms`);
    limit.abort(error);
    late.reject(error); // what ignores the signal is no longer waited for
  }, queue.timeoutMs);
  try {
    return await Promise.race([
      queue.run(row, { db, now: clock.now(), signal: AbortSignal.any([limit.signal, givenBack]) }),
      late.promise,
    ]);
  } catch (error) {
    return failed(queue, row, error);
  } finally {
    clearTimeout(timer);
  }
}

const failed = (queue: Queue, row: QueueRow, error: unknown): Outcome => ({
  error: reasonOf(error),
  againInMs: queue.retryMs(row.failures + 1),
});

const closeTries = 5;

/** What was done must be written down: again when the database was away, and as a failure when it cannot be. */
async function closeInTheEnd(queue: Queue, row: QueueRow, outcome: Outcome, db: AnyDb): Promise<Closed> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await close(queue, row, outcome, db);
    } catch (error) {
      if (failureOf(error) === undefined) return close(queue, row, failed(queue, row, error), db);
      if (tries === closeTries) throw error;
      await sleep(tries * 200);
    }
  }
}

/** Closes the claim together with what came of the run; a claim that somebody else holds by now closes nothing. */
async function close(queue: Queue, row: QueueRow, outcome: Outcome, db: AnyDb): Promise<Closed> {
  const { againInMs, error } = outcome;
  const givesUp = againInMs === undefined && error !== undefined;
  const due = againInMs === undefined ? null : sql`clock_timestamp() + ${againInMs} * interval '1 ms'`;
  return transaction(db, async (db) => {
    const { rows } = await sql`/* service */ update ${sql.table(queue.name)}
      set due_at = ${due}, claimed_slot = null, claimed_epoch = null, last_error = ${error ?? null}, interruptions = 0,
        failures = failures + ${error === undefined ? 0 : 1}, failed_at = ${givesUp ? sql`clock_timestamp()` : null}
      where id = ${row.id} and claims = ${row.claims} and claimed_slot is not null returning 1`.execute(db);
    if (rows.length === 0) return 'superseded';
    await outcome.record?.(db);
    if (givesUp) await queue.givenUp?.(db, row, error);
    return givesUp ? 'given_up' : againInMs === undefined ? 'done' : 'again';
  });
}

/**
 * Claims rows that are due, at most `perOwner` of each owner in this process: in turns the oldest of all, and a few of each
 * owner in a round, so that nobody waits behind others' backlogs, however old and many they are.
 */
async function claimRows(queue: Queue, parts: QueueParts, room: number, running: QueueRow[]): Promise<QueueRow[]> {
  const byOwner = Map.groupBy(running, (row) => ownerOf(queue, row));
  const shares = {
    owners: [...byOwner.keys()],
    counts: [...byOwner.values()].map((rows) => rows.length),
    suspects: running.some((row) => row.interruptions >= suspectAfterOf(queue)) ? 0 : 1,
  };
  const round = rounds.get(queue) ?? { isNext: false, owner: firstOwner };
  rounds.set(queue, round);
  round.isNext = !round.isNext && shares.owners.length > 0; // with nothing running nobody is in anybody's way
  const first = await (round.isNext ? claimRound : claimOldest)(queue, parts, room, shares);
  return first.length > 0 ? first : (round.isNext ? claimOldest : claimRound)(queue, parts, room, shares);
}

// Whether the next claim is a round over the owners, and where it goes on.
const rounds = new WeakMap<Queue, { isNext: boolean; owner: string }>();
const firstOwner = '00000000-0000-0000-0000-000000000000';
const ownersARound = 100;

/** What runs already of each owner; and whether there is room for a suspect. */
interface Shares {
  readonly owners: readonly string[];
  readonly counts: readonly number[];
  readonly suspects: number;
}

async function claimOldest(queue: Queue, { db, claim }: QueueParts, room: number, shares: Shares): Promise<QueueRow[]> {
  const due = sql`select id, ${sql.ref(queue.owner)} as owner, due_at, interruptions from ${sql.table(queue.name)}
    where claimed_slot is null and due_at <= statement_timestamp() order by due_at limit ${room * 4}`;
  return claimOf(queue, db, claim, room, shares, due);
}

async function claimRound(queue: Queue, { db, claim }: QueueParts, room: number, shares: Shares): Promise<QueueRow[]> {
  const table = sql.table(queue.name);
  const owner = sql.ref(queue.owner);
  const round = rounds.get(queue) as { owner: string };
  const next = (after: ReturnType<typeof sql>) => sql`select ${owner} as owner from ${table}
    where claimed_slot is null and due_at is not null and ${owner} > ${after} order by ${owner} limit 1`;
  const { rows } = await sql<{ owner: string }>`/* service */ with recursive round as (
      (select owner, 1 as step from (${next(sql`${round.owner}`)}) first)
      union all
      select next.owner, round.step + 1 from round, lateral (${next(sql`round.owner`)}) next
      where round.step < ${ownersARound})
    select owner from round`.execute(db);
  round.owner = rows.length < ownersARound ? firstOwner : (rows.at(-1)?.owner ?? firstOwner);
  if (rows.length === 0) return [];
  const due = sql`select d.id, o.owner, d.due_at, d.interruptions from unnest(${rows.map((row) => row.owner)}::uuid[]) o(owner), lateral (
    select id, due_at, interruptions from ${table} where ${owner} = o.owner and claimed_slot is null
      and due_at <= statement_timestamp() order by due_at limit ${queue.perOwner}) d`;
  return claimOf(queue, db, claim, room, shares, due);
}

async function claimOf(
  queue: Queue,
  db: AnyDb,
  claim: Claim,
  room: number,
  shares: Shares,
  due: ReturnType<typeof sql>,
): Promise<QueueRow[]> {
  const { rows } = await sql<QueueRow>`/* service */ with due as materialized (${due}),
    turns as (
      select id, due_at, interruptions, row_number() over (partition by due.owner order by due_at)
        + coalesce(busy.running, 0) as turn
      from due left join unnest(${shares.owners}::uuid[], ${shares.counts}::int[]) busy(owner, running)
        on busy.owner = due.owner),
    suspects as (
      select id from turns where turn <= ${queue.perOwner} and interruptions >= ${suspectAfterOf(queue)}
      order by due_at limit ${shares.suspects}),
    mine as (
      select id from ${sql.table(queue.name)} q
      where id in (
          select id from turns where turn <= ${queue.perOwner}
            and (interruptions < ${suspectAfterOf(queue)} or id in (select id from suspects))
          order by turn, due_at limit ${room})
        and claimed_slot is null and due_at <= statement_timestamp()
      for update skip locked)
    update ${sql.table(queue.name)} q
    set claimed_slot = ${claim.slot}, claimed_epoch = ${claim.epoch}, claims = claims + 1
    from mine where q.id = mine.id returning q.*`.execute(db);
  return rows;
}

/**
 * Gives back what was claimed under epochs that are over: called when a slot is taken over, and now and then. A row whose
 * process ended again and again while it ran may be what ends them: it is run without others of its kind, which clears
 * the innocent, later and later, and at last given up.
 */
export async function releaseClaims(queue: Queue, db: AnyDb): Promise<number> {
  const table = sql.table(queue.name);
  const left = sql`claimed_slot is not null and not exists (
    select 1 from worker_slots s where s.slot = q.claimed_slot and s.epoch = q.claimed_epoch)`;
  const { numAffectedRows } = await sql`/* service */ update ${table} q
    set claimed_slot = null, claimed_epoch = null, interruptions = interruptions + 1,
      due_at = case when interruptions + 1 < ${suspectAfterOf(queue)} then due_at
        else clock_timestamp() + least(power(2, interruptions) * 100, ${longestInterruptedMs}) * interval '1 ms' end,
      last_error = 'its process ended while it ran, ' || interruptions + 1 || ' times'
    where id in (select id from ${table} q where ${left} and interruptions + 1 < ${mostInterruptions}
      for update skip locked)`.execute(db);
  const { rows } = await sql<QueueRow>`/* service */ select * from ${table} q where ${left}`.execute(db);
  for (const row of rows) if (row.interruptions + 1 >= mostInterruptions) await giveUpDeadly(queue, row, db);
  return Number(numAffectedRows ?? 0);
}

async function giveUpDeadly(queue: Queue, row: QueueRow, db: AnyDb): Promise<void> {
  const error = `its process ended while it ran, ${row.interruptions + 1} times`;
  await transaction(db, async (db) => {
    const { rows } = await sql`/* service */ update ${sql.table(queue.name)}
      set claimed_slot = null, claimed_epoch = null, due_at = null, interruptions = interruptions + 1,
        last_error = ${error}, failed_at = clock_timestamp()
      where id = ${row.id} and claims = ${row.claims} and claimed_slot is not null returning 1`.execute(db);
    if (rows.length > 0) await queue.givenUp?.(db, row, error);
  });
}

export interface Depth {
  readonly due: number;
  readonly running: number;
  readonly failed: number;
  /** How long the oldest row that is due has waited. */
  readonly oldestSeconds: number;
}

export async function depthOf(queue: Pick<Queue, 'name'>, db: AnyDb): Promise<Depth> {
  const { rows } = await sql<Depth>`/* service */ select
      count(*) filter (where claimed_slot is null and due_at <= statement_timestamp())::int as due,
      count(claimed_slot)::int as running,
      (select count(*)::int from ${sql.table(queue.name)} where failed_at is not null) as failed,
      coalesce(extract(epoch from clock_timestamp() - min(due_at) filter (where claimed_slot is null
        and due_at <= statement_timestamp())), 0)::float as "oldestSeconds"
    from ${sql.table(queue.name)} where due_at is not null`.execute(db);
  return rows[0] as Depth;
}
