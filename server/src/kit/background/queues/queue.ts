// Owns the definition of a queue table: a table whose rows are both the record of the work and its queue. A worker claims a
// due row, runs it, and completes it; the outcome is written in the transaction that releases the claim.
import { type CompiledQuery, sql } from 'kysely';
import type { AnyDb } from '../../db/database.ts';

/**
 * The columns that a queue table has beside its own. Migrations create them;
 * docs/internals/background-work.md#queue-tables shows them with their indexes.
 */
export interface QueueRow {
  readonly id: string;
  /** When to run the row; null once it is completed or dead-lettered. */
  readonly due_at: Date | null;
  /** Incremented by each claim. Completing a row names the claim it ran under, so a lost claim writes nothing. */
  readonly claims: number;
  /** How many runs failed. */
  readonly failures: number;
  /** How many times a worker crashed while running the row, since its last completed run. */
  readonly crash_count: number;
  readonly claimed_slot: number | null;
  readonly claimed_epoch: number | null;
  readonly last_error: string | null;
  /** When the row was dead-lettered. */
  readonly failed_at: Date | null;
}

/** How a run ended. A run that throws has failed, and the queue's `retryMs` decides when it runs again. */
export interface Outcome {
  /** Values for columns of the row (those the queue lists in `outcomeColumns`), written when the row is completed. */
  readonly columns?: Readonly<Record<string, unknown>>;
  /** Writes the results of this run, in the transaction that completes the row. */
  readonly record?: (db: AnyDb) => Promise<void>;
  /** Passed to the queue's `recordAll`. */
  readonly result?: unknown;
  /** Run the row again after this time. Without it the row is not run again. */
  readonly runAgainInMs?: number;
  /** Why the run failed. With `runAgainInMs` the row is retried, without it dead-lettered. */
  readonly error?: string;
}

export interface Queue<Row extends QueueRow = QueueRow> {
  /** The table. */
  readonly name: string;
  /** The uuid column that names the owner of a row. Claims are fair between owners. */
  readonly owner: string;
  /** How many rows run at once in a process. */
  readonly concurrency: number;
  /** How many rows of one owner run at once: per process, or in all processes together if there are `globalLimits`. */
  readonly perOwner: number;
  /**
   * Applies `perOwner` to all processes together, and also `perKey` to the rows with the same text in the column
   * `concurrencyKey`. All rows of an owner should have the same key: rows that wait for their key use up the owner's limit.
   */
  readonly globalLimits?: { readonly concurrencyKey: string; readonly perKey: number };
  /** Uses `synchronous_commit = off`: after a database crash, recent rows may run again. For high rates only. */
  readonly asyncCommit?: true;
  /** A run that takes longer has failed. */
  readonly timeoutMs: number;
  /** After how many crashes a row is quarantined. Raise it where runs take minutes. Default: 2. */
  readonly quarantineAfter?: number;
  /** The columns that a claim reads: without those that may be large. Default: all. */
  readonly claimedColumns?: readonly string[];
  /** The columns that outcomes may set, with their SQL types. */
  readonly outcomeColumns?: Readonly<Record<string, string>>;
  /** How long to wait before the next run after this many failures; undefined: dead-letter the row. */
  retryMs(failures: number): number | undefined;
  /** Reads what the runs need, for all rows of a claim at once. Returns the rows as `run` gets them. */
  load?(db: AnyDb, rows: readonly Row[]): Promise<readonly Row[]>;
  /** Does the work. No transaction is open, and a row may run more than once: writes to `db` must be repeatable. */
  run(row: Row, context: { db: AnyDb; now: Date; signal: AbortSignal }): Promise<Outcome>;
  /** Writes the results of runs that ended about the same time, in the transaction that completes their rows. */
  recordAll?(db: AnyDb, results: readonly unknown[]): Promise<void>;
  /**
   * The same by one statement, which is sent with the one that completes the rows, so that it must check itself which of them were
   * completed. Undefined if these results need more than that; `recordAll` is called then.
   */
  recordTogether?(results: readonly unknown[]): CompiledQuery | undefined;
  /** Called in the transaction that dead-letters a row. */
  onDeadLetter?(db: AnyDb, row: Row, error: string): Promise<void>;
}

/** One retry after each of these delays; then the row is dead-lettered. */
export const retries =
  (...delaysMs: number[]) =>
  (failures: number): number | undefined =>
    delaysMs[failures - 1];

/** SQL: what `run` and `onDeadLetter` get. */
export const claimedColumnsOf = ({ claimedColumns }: Queue): string =>
  claimedColumns === undefined ? '*' : claimedColumns.map((name) => `"${name}"`).join(', ');

/** The value for `setCommitMode`. */
export const commitModeOf = ({ asyncCommit }: Queue): 'off' | null => (asyncCommit ? 'off' : null);

/** SQL: null leaves `synchronous_commit` as the operator has set it. */
export const setCommitMode = (parameter: string): string =>
  `set_config('synchronous_commit', coalesce(${parameter}, current_setting('synchronous_commit')), true)`;

/**
 * SQL for a statement that changes claimed rows: `q.id = any(…) and isClaimed`, after `planForIds` in the same transaction. A
 * planner that knows the table from when it was small would read all of it, and one that knows it from when nothing was claimed
 * would read the index of claimed rows, which has entries of all that ran since the last vacuum. So sequential scans are off, and
 * this is a form of `claimed_slot is not null` that no partial index covers: what remains is to look up the ids. What follows in
 * the transaction is planned without sequential scans too.
 */
export const isClaimed = 'coalesce(claimed_slot, -1) <> -1';
export const planForIds = "set_config('enable_seqscan', 'off', true)";

const defaultQuarantineThreshold = 2;

export const getQuarantineThreshold = (queue: Queue): number => queue.quarantineAfter ?? defaultQuarantineThreshold;

export interface QueueDepth {
  readonly due: number;
  readonly running: number;
  /** Dead-lettered rows. */
  readonly failed: number;
  /** How long the oldest due row has waited. */
  readonly oldestSeconds: number;
}

export async function readQueueDepth(queue: Pick<Queue, 'name'>, db: AnyDb): Promise<QueueDepth> {
  const table = sql.table(queue.name);
  // Each count uses an index of its own, because the table may hold millions of completed rows.
  const { rows } = await sql<QueueDepth>`/* service */ select due.count as due, due."oldestSeconds",
      (select count(*)::int from ${table} where claimed_slot is not null) as running,
      (select count(*)::int from ${table} where failed_at is not null) as failed
    from (select count(*)::int, coalesce(extract(epoch from clock_timestamp() - min(due_at)), 0)::float as "oldestSeconds"
      from ${table} where claimed_slot is null and due_at <= statement_timestamp()) due`.execute(db);
  return rows[0] as QueueDepth;
}
