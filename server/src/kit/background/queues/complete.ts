// Completes rows: a run's outcome is written in the transaction that releases its claim. Also releases the claims
// of workers that have lost their slot, and dead-letters rows that repeatedly crash workers.
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

/** A run's result, used as a label value in the metric `plinth_queue_runs_total`. */
export type RunResult = 'done' | 'again' | 'given_up' | 'superseded';

interface FinishedRun {
  readonly row: QueueRow;
  readonly outcome: Outcome;
  readonly completed: PromiseWithResolvers<RunResult>;
}

/** The outcome of a run that threw: a retry if the queue allows one, otherwise a dead letter. */
export const toFailedOutcome = (queue: Queue, row: QueueRow, error: unknown): Outcome => ({
  error: toErrorText(error),
  runAgainInMs: queue.retryMs(row.failures + 1),
});

const maxBatch = 256;
const maxAttempts = 5;

/**
 * Returns the function that completes a row. Runs that end while others are being completed share the next transaction,
 * because at a high rate, committing each row separately would take most of the time.
 */
export function createCompleter(db: AnyDb, queue: Queue): (row: QueueRow, outcome: Outcome) => Promise<RunResult> {
  const statement = prepareComplete(queue);
  /**
   * - If the database is unavailable, makes up to five attempts.
   * - If part of a batch cannot be written, or the batch takes too long, completes each row separately.
   * - If a single outcome cannot be written, records the run as failed instead.
   */
  async function completeWithRetry(runs: readonly FinishedRun[], isFailureRecord = false): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const results = await completeBatch(db, queue, statement, runs);
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

// The outcomes must be joined by hash. A nested loop compares every row with every outcome, so the time of a batch would
// grow with the square of its size.
export const setUpCompletion = prepared<object, [commitMode: 'off' | null]>(
  'set up completion by hash',
  `select ${setCommitMode('$1')}, ${planForIds}, set_config('enable_nestloop', 'off', true)`,
);

/**
 * Completes any number of rows in one statement. Skips rows that another worker has claimed in the meantime. While it
 * runs, the statement turns nested loops on again, for the statements that record the results.
 */
export function prepareComplete(queue: Queue) {
  const columns = Object.entries(queue.outcomeColumns ?? {});
  const setColumns = columns.map(([name]) => `, ${name} = case when c.has_columns then c.${name} else q.${name} end`);
  const columnTypes = columns.map(([name, type]) => `, ${name} ${type}`);
  return preparedByText<{ id: string }, [ids: readonly string[], outcomes: string]>(
    `complete ${queue.name}`,
    `/* service */ with c as materialized (
       select * from json_to_recordset($2::json) as c(
         id uuid, claims integer, run_again_ms float8, error text, has_columns boolean${columnTypes.join('')})
       where (select set_config('enable_nestloop', null, true)) is not null)
     update "${queue.name}" q
     set due_at = clock_timestamp() + c.run_again_ms * interval '1 ms', claimed_slot = null, claimed_epoch = null,
       last_error = c.error, crash_count = 0, failures = q.failures + (c.error is not null)::int,
       failed_at = case when c.error is not null and c.run_again_ms is null then clock_timestamp() end${setColumns.join('')}
     from c where q.id = any($1::uuid[]) and q.id = c.id and q.claims = c.claims and ${isClaimed}
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
  db: AnyDb,
  queue: Queue,
  statement: ReturnType<typeof prepareComplete>,
  runs: readonly FinishedRun[],
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
    await recordEach(db, queue, completedRuns);
    return results;
  });
}

/**
 * Returns the statement that records these runs, to be sent together with their completion. An empty list means that
 * there is nothing to record. Returns undefined in the rare case that one statement is not enough.
 */
function findOneStatement(queue: Queue, runs: readonly FinishedRun[]): readonly CompiledQuery[] | undefined {
  if (runs.some(({ outcome }) => outcome.record !== undefined || toRunResult(outcome) === 'given_up')) return undefined;
  const results = listResults(runs);
  if (results.length === 0) return [];
  const statement = queue.recordTogether?.(results);
  return statement && [statement];
}

async function recordEach(db: AnyDb, queue: Queue, runs: readonly FinishedRun[]): Promise<void> {
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

/** Maps row ids to results. Omits rows that another worker has claimed in the meantime. */
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

/** `q` is the queue table's alias. */
const isAbandoned = `q.claimed_slot is not null and not exists (
  select 1 from worker_slots s where s.slot = q.claimed_slot and s.epoch = q.claimed_epoch)`;

/**
 * Lists the queues that contain claims of workers that have lost their slot, in one round trip. Normally there are
 * none.
 */
export async function listAbandonedQueues(db: AnyDb, queues: readonly Queue[]): Promise<Queue[]> {
  if (queues.length === 0) return [];
  const selects = queues.map(
    ({ name }, n) => `select ${n} as n where exists (select 1 from "${name}" q where ${isAbandoned})`,
  );
  const { rows } = await sql<{ n: number }>`/* service */ ${sql.raw(selects.join(' union all '))}`.execute(db);
  return queues.filter((_, n) => rows.some((row) => row.n === n));
}

/**
 * Releases the claims of workers that have lost their slot, recognised by an outdated epoch. Called when a slot changes
 * hands, and periodically. Each release counts as a crash:
 *
 *   crashes  with the default threshold of 2
 *   1        due again immediately
 *   2 … 19   quarantined: due after 0.2 s, 0.4 s, 0.8 s … 60 s, and at most one runs at a time in each process
 *   20       dead-lettered
 *
 * Rows that happened to be running in the crashed process but did not cause the crash complete normally the next time,
 * which ends their quarantine.
 */
export async function releaseClaims(db: AnyDb, queue: Queue): Promise<number> {
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
  for (const row of rows) if (row.crash_count + 1 >= maxCrashes) await deadLetterCrashing(db, queue, row);
  return Number(numAffectedRows ?? 0);
}

async function deadLetterCrashing(db: AnyDb, queue: Queue, row: QueueRow): Promise<void> {
  const error = describeCrashes(row.crash_count + 1);
  await transaction(db, async (db) => {
    const { rows } = await sql`/* service */ update ${sql.table(queue.name)}
      set claimed_slot = null, claimed_epoch = null, due_at = null, crash_count = crash_count + 1,
        last_error = ${error}, failed_at = clock_timestamp()
      where id = ${row.id} and claims = ${row.claims} and claimed_slot is not null returning 1`.execute(db);
    if (rows.length > 0) await queue.onDeadLetter?.(db, row, error);
  });
}
