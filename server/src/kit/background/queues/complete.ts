// Owns completing rows: the outcome of a run is written in the transaction that releases its claim. Also releases the
// claims of workers that are gone, and dead-letters rows that crash workers again and again.
import { setTimeout as sleep } from 'node:timers/promises';
import { type CompiledQuery, sql } from 'kysely';
import { type AnyDb, prepared, preparedByText, transaction, transactionOf } from '../../db/database.ts';
import { classifyFailure, isLockOrStatementTimeout } from '../../db/failures.ts';
import { sendTogether } from '../../db/send.ts';
import { describeCrashes, toErrorText } from '../error-text.ts';
import { gather } from '../gather.ts';
import {
  claimedColumnsOf,
  commitModeOf,
  getQuarantineThreshold,
  isClaimed,
  type Outcome,
  planForIds,
  type Queue,
  type QueueRow,
  setCommitMode,
} from './queue.ts';

/** What became of a run; the values are label values of the metric `plinth_queue_runs_total`. */
export type RunResult = 'done' | 'again' | 'given_up' | 'superseded';

interface FinishedRun {
  readonly row: QueueRow;
  readonly outcome: Outcome;
  readonly completed: PromiseWithResolvers<RunResult>;
}

/** The outcome of a run that threw: a retry if the queue allows one more, otherwise a dead letter. */
export const toFailedOutcome = (queue: Queue, row: QueueRow, error: unknown): Outcome => ({
  error: toErrorText(error),
  runAgainInMs: queue.retryMs(row.failures + 1),
});

const maxBatch = 256;
const maxAttempts = 5;

/**
 * Returns a function that completes one row. Runs that end while others are being completed share the next transaction:
 * at a high rate, one commit per row would be most of the work.
 */
export function createCompleter(queue: Queue, db: AnyDb): (row: QueueRow, outcome: Outcome) => Promise<RunResult> {
  const statement = prepareComplete(queue);
  /**
   * - The database is unavailable: try again, five times in all.
   * - Something in the batch cannot be written, or the batch took too long: complete each row alone.
   * - A single outcome cannot be written: record the run as failed instead.
   */
  async function completeWithRetry(runs: readonly FinishedRun[], isFailureRecord = false): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const results = await completeBatch(queue, statement, runs, db);
        for (const { row, completed } of runs) completed.resolve(results.get(row.id) ?? 'superseded');
        return;
      } catch (error) {
        const isUnavailable = classifyFailure(error) !== undefined;
        if (isUnavailable ? attempt === maxAttempts : isFailureRecord) return rejectAll(runs, error);
        if (!isUnavailable || (isLockOrStatementTimeout(error) && runs.length > 1)) return completeEach(runs, error);
        await sleep(attempt * 200);
      }
    }
  }

  const rejectAll = (runs: readonly FinishedRun[], error: unknown) => {
    for (const { completed } of runs) completed.reject(error);
  };

  async function completeEach(runs: readonly FinishedRun[], error: unknown): Promise<void> {
    if (runs.length > 1) for (const run of runs) await completeWithRetry([run]);
    else
      for (const run of runs)
        await completeWithRetry([{ ...run, outcome: toFailedOutcome(queue, run.row, error) }], true);
  }

  const add = gather<FinishedRun>({ handle: (runs) => completeWithRetry(runs), countFitting: () => maxBatch });
  return (row, outcome) => {
    const completed = Promise.withResolvers<RunResult>();
    add({ row, outcome, completed });
    return completed.promise;
  };
}

const setUpCompletion = prepared<object, [commitMode: 'off' | null]>(
  'set up completion',
  `select ${setCommitMode('$1')}, ${planForIds}`,
);

/** One statement for any number of rows. Rows that were claimed by another worker in the meantime are left alone. */
function prepareComplete(queue: Queue) {
  const columns = Object.entries(queue.outcomeColumns ?? {});
  const setColumns = columns.map(([name]) => `, ${name} = case when c.has_columns then c.${name} else q.${name} end`);
  const columnTypes = columns.map(([name, type]) => `, ${name} ${type}`);
  return preparedByText<{ id: string }, [ids: readonly string[], outcomes: string]>(
    `complete ${queue.name}`,
    `/* service */ update "${queue.name}" q
     set due_at = clock_timestamp() + c.run_again_ms * interval '1 ms', claimed_slot = null, claimed_epoch = null,
       last_error = c.error, crash_count = 0, failures = q.failures + (c.error is not null)::int,
       failed_at = case when c.error is not null and c.run_again_ms is null then clock_timestamp() end${setColumns.join('')}
     from json_to_recordset($2::json) as c(
       id uuid, claims integer, run_again_ms float8, error text, has_columns boolean${columnTypes.join('')})
     where q.id = any($1::uuid[]) and q.id = c.id and q.claims = c.claims and ${isClaimed}
     returning q.id`,
  );
}

const toRecord = ({ row, outcome }: FinishedRun) => ({
  ...outcome.columns,
  has_columns: outcome.columns !== undefined,
  id: row.id,
  claims: row.claims,
  run_again_ms: outcome.runAgainInMs ?? null,
  error: outcome.error ?? null,
});

async function completeBatch(
  queue: Queue,
  statement: ReturnType<typeof prepareComplete>,
  runs: readonly FinishedRun[],
  db: AnyDb,
): Promise<Map<string, RunResult>> {
  const setUp = setUpCompletion.query(commitModeOf(queue));
  const complete = statement.query(
    runs.map(({ row }) => row.id),
    JSON.stringify(runs.map(toRecord)),
  );
  const record = findOneStatement(queue, runs);
  if (record !== undefined) {
    const [, completed] = await transactionOf(db, setUp, complete, ...record);
    return toResults(runs, completed);
  }
  return transaction(db, async (db) => {
    const [, completed] = await sendTogether(db, setUp, complete);
    const results = toResults(runs, completed);
    const completedRuns = runs.filter((run) => results.has(run.row.id));
    await recordEach(queue, completedRuns, db);
    return results;
  });
}

/** What records these runs if that is no more than a statement, to be sent with the one that completes them: the usual case. */
function findOneStatement(queue: Queue, runs: readonly FinishedRun[]): readonly CompiledQuery[] | undefined {
  if (runs.some(({ outcome }) => outcome.record !== undefined || toRunResult(outcome) === 'given_up')) return undefined;
  const results = listResults(runs);
  if (results.length === 0) return [];
  const statement = queue.recordTogether?.(results);
  return statement && [statement];
}

async function recordEach(queue: Queue, runs: readonly FinishedRun[], db: AnyDb): Promise<void> {
  const results = listResults(runs);
  if (results.length > 0) await queue.recordAll?.(db, results);
  for (const { row, outcome } of runs) {
    await outcome.record?.(db);
    if (outcome.error !== undefined && outcome.runAgainInMs === undefined)
      await queue.onDeadLetter?.(db, row, outcome.error);
  }
}

const listResults = (runs: readonly FinishedRun[]): unknown[] =>
  runs.flatMap(({ outcome }) => (outcome.result === undefined ? [] : [outcome.result]));

/** By row. Those that were claimed by another worker in the meantime are left out. */
function toResults(runs: readonly FinishedRun[], completed: readonly { readonly id: string }[]) {
  const ids = new Set(completed.map((row) => row.id));
  return new Map(
    runs.flatMap(({ row, outcome }) => (ids.has(row.id) ? [[row.id, toRunResult(outcome)] as const] : [])),
  );
}

function toRunResult({ runAgainInMs, error }: Outcome): RunResult {
  if (runAgainInMs !== undefined) return 'again';
  return error === undefined ? 'done' : 'given_up';
}

const maxCrashDelayMs = 60_000;
const maxCrashes = 20;

/** `q` is the queue. */
const isAbandoned = `q.claimed_slot is not null and not exists (
  select 1 from worker_slots s where s.slot = q.claimed_slot and s.epoch = q.claimed_epoch)`;

/** The queues with claims of workers that are gone, in one round trip: normally there are none. */
export async function listAbandonedQueues(queues: readonly Queue[], db: AnyDb): Promise<Queue[]> {
  if (queues.length === 0) return [];
  const selects = queues.map(
    ({ name }, n) => `select ${n} as n where exists (select 1 from "${name}" q where ${isAbandoned})`,
  );
  const { rows } = await sql<{ n: number }>`/* service */ ${sql.raw(selects.join(' union all '))}`.execute(db);
  return queues.filter((_, n) => rows.some((row) => row.n === n));
}

/**
 * Releases the claims of workers that are gone: rows claimed under an epoch that is no longer its slot's current one.
 * Called when a slot changes hands, and periodically. Each such release counts as a crash:
 *
 *   crashes  with the default threshold of 2
 *   1        due again at once
 *   2 … 19   quarantined: due after 0.2 s, 0.4 s, 0.8 s … 60 s, and at most one runs at a time in each process
 *   20       dead-lettered
 *
 * Rows that merely shared the crashed process complete normally, and leave quarantine by that.
 */
export async function releaseClaims(queue: Queue, db: AnyDb): Promise<number> {
  const table = sql.table(queue.name);
  const { numAffectedRows } = await sql`/* service */ update ${table} q
    set claimed_slot = null, claimed_epoch = null, crash_count = crash_count + 1,
      due_at = case when crash_count + 1 < ${getQuarantineThreshold(queue)} then due_at
        else clock_timestamp() + least(power(2, crash_count) * 100, ${maxCrashDelayMs}) * interval '1 ms' end,
      last_error = 'the worker crashed while running it, ' || crash_count + 1 || ' times'
    where id in (select id from ${table} q where ${sql.raw(isAbandoned)} and crash_count + 1 < ${maxCrashes}
      for update skip locked)`.execute(db);
  const { rows } = await sql<QueueRow>`/* service */ select ${sql.raw(claimedColumnsOf(queue))} from ${table} q
    where ${sql.raw(isAbandoned)}`.execute(db);
  for (const row of rows) if (row.crash_count + 1 >= maxCrashes) await deadLetterCrashing(queue, row, db);
  return Number(numAffectedRows ?? 0);
}

async function deadLetterCrashing(queue: Queue, row: QueueRow, db: AnyDb): Promise<void> {
  const error = describeCrashes(row.crash_count + 1);
  await transaction(db, async (db) => {
    const { rows } = await sql`/* service */ update ${sql.table(queue.name)}
      set claimed_slot = null, claimed_epoch = null, due_at = null, crash_count = crash_count + 1,
        last_error = ${error}, failed_at = clock_timestamp()
      where id = ${row.id} and claims = ${row.claims} and claimed_slot is not null returning 1`.execute(db);
    if (rows.length > 0) await queue.onDeadLetter?.(db, row, error);
  });
}
