// Owns the closing of claims: what was done is written down together with the end of its claim; and the giving back of
// claims whose holder is gone.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type AnyDb, prepared, transaction } from '../../db/database.ts';
import { classifyFailure, isLockOrStatementTimeout } from '../../db/failures.ts';
import { toErrorText } from '../error-text.ts';
import { getQuarantineThreshold, type Outcome, type Queue, type QueueRow } from './queue.ts';

export type RunResult = 'done' | 'again' | 'given_up' | 'superseded';

interface FinishedRun {
  readonly row: QueueRow;
  readonly outcome: Outcome;
  readonly closed: PromiseWithResolvers<RunResult>;
}

/** A run that threw: again by the queue's schedule, or given up. */
export const failedOutcome = (queue: Queue, row: QueueRow, error: unknown): Outcome => ({
  error: toErrorText(error),
  runAgainInMs: queue.retryMs(row.failures + 1),
});

const maxBatch = 256;
const maxCompleteAttempts = 5;

/**
 * Closes claims, each together with what came of its run. Those of runs that end while others are being closed are closed
 * with one transaction: at a high rate a commit for each would be most of the work.
 */
export function startCompleter(queue: Queue, db: AnyDb) {
  const statement = closing(queue);
  let waiting: FinishedRun[] = [];
  let busy = false;

  const closeAll = async () => {
    busy = true;
    while (waiting.length > 0) {
      const ends = waiting.slice(0, maxBatch);
      waiting = waiting.slice(maxBatch);
      await closeInTheEnd(ends);
    }
    busy = false;
  };

  /** What was done must be written down: again when the database was away, and as a failure when it cannot be. */
  async function closeInTheEnd(ends: readonly FinishedRun[], asFailure = false): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        const closed = await close(queue, statement, ends, db);
        for (const end of ends) end.closed.resolve(closed.get(end.row.id) ?? 'superseded');
        return;
      } catch (error) {
        const databaseAway = classifyFailure(error) !== undefined;
        if (databaseAway ? tries === maxCompleteAttempts : asFailure) return giveUp(ends, error);
        if (!databaseAway || (isLockOrStatementTimeout(error) && ends.length > 1)) return closeEach(ends, error);
        await sleep(tries * 200);
      }
    }
  }

  const giveUp = (ends: readonly FinishedRun[], error: unknown) => {
    for (const end of ends) end.closed.reject(error);
  };

  /** One of them cannot be written: it alone has failed. */
  async function closeEach(ends: readonly FinishedRun[], error: unknown): Promise<void> {
    if (ends.length > 1) for (const end of ends) await closeInTheEnd([end]);
    else for (const end of ends) await closeInTheEnd([{ ...end, outcome: failedOutcome(queue, end.row, error) }], true);
  }

  return (row: QueueRow, outcome: Outcome): Promise<RunResult> => {
    const closed = Promise.withResolvers<RunResult>();
    waiting.push({ row, outcome, closed });
    if (!busy) void closeAll();
    return closed.promise;
  };
}

/** One statement for any number of claims; a claim that somebody else holds by now is left alone. */
function closing(queue: Queue) {
  const columns = Object.entries(queue.outcomeColumns ?? {});
  const sets = columns.map(([name]) => `, ${name} = case when c.sets then c.${name} else q.${name} end`).join('');
  return prepared<{ id: string }, [string]>(
    `close ${queue.name}`,
    `/* service */ ${queue.asyncCommit ? "with hurry as (select set_config('synchronous_commit', 'off', true)) " : ''}update "${queue.name}" q
     set due_at = clock_timestamp() + c.again_ms * interval '1 ms', claimed_slot = null, claimed_epoch = null,
       last_error = c.error, crash_count = 0, failures = q.failures + (c.error is not null)::int,
       failed_at = case when c.error is not null and c.again_ms is null then clock_timestamp() end${sets}
     from json_to_recordset($1::json) as c(id uuid, claims integer, again_ms float8, error text, sets boolean
       ${columns.map(([name, type]) => `, ${name} ${type}`).join('')})
     ${queue.asyncCommit ? 'cross join hurry ' : ''}where q.id = c.id and q.claims = c.claims and q.claimed_slot is not null
     returning q.id`,
  );
}

const closedRow = ({ row, outcome }: FinishedRun) => ({
  ...outcome.columns,
  sets: outcome.columns !== undefined,
  id: row.id,
  claims: row.claims,
  again_ms: outcome.runAgainInMs ?? null,
  error: outcome.error ?? null,
});

function close(queue: Queue, statement: ReturnType<typeof closing>, ends: readonly FinishedRun[], db: AnyDb) {
  return transaction(db, async (db) => {
    const rows = new Set((await statement(db, JSON.stringify(ends.map(closedRow)))).map((row) => row.id));
    const closed = ends.filter((end) => rows.has(end.row.id));
    const results = closed.flatMap(({ outcome }) => (outcome.result === undefined ? [] : [outcome.result]));
    if (results.length > 0) await queue.recordAll?.(db, results as never[]);
    for (const { row, outcome } of closed) {
      await outcome.record?.(db);
      if (outcome.error !== undefined && outcome.runAgainInMs === undefined)
        await queue.onDeadLetter?.(db, row, outcome.error);
    }
    return new Map(closed.map(({ row, outcome }) => [row.id, wordFor(outcome)]));
  });
}

function wordFor({ runAgainInMs: againInMs, error }: Outcome): RunResult {
  if (againInMs !== undefined) return 'again';
  return error === undefined ? 'done' : 'given_up';
}

const maxCrashDelayMs = 60_000;
const maxCrashes = 20;

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
    set claimed_slot = null, claimed_epoch = null, crash_count = crash_count + 1,
      due_at = case when crash_count + 1 < ${getQuarantineThreshold(queue)} then due_at
        else clock_timestamp() + least(power(2, crash_count) * 100, ${maxCrashDelayMs}) * interval '1 ms' end,
      last_error = 'its process ended while it ran, ' || crash_count + 1 || ' times'
    where id in (select id from ${table} q where ${left} and crash_count + 1 < ${maxCrashes}
      for update skip locked)`.execute(db);
  const { rows } = await sql<QueueRow>`/* service */ select * from ${table} q where ${left}`.execute(db);
  for (const row of rows) if (row.crash_count + 1 >= maxCrashes) await deadLetterCrashing(queue, row, db);
  return Number(numAffectedRows ?? 0);
}

async function deadLetterCrashing(queue: Queue, row: QueueRow, db: AnyDb): Promise<void> {
  const error = `its process ended while it ran, ${row.crash_count + 1} times`;
  await transaction(db, async (db) => {
    const { rows } = await sql`/* service */ update ${sql.table(queue.name)}
      set claimed_slot = null, claimed_epoch = null, due_at = null, crash_count = crash_count + 1,
        last_error = ${error}, failed_at = clock_timestamp()
      where id = ${row.id} and claims = ${row.claims} and claimed_slot is not null returning 1`.execute(db);
    if (rows.length > 0) await queue.onDeadLetter?.(db, row, error);
  });
}
