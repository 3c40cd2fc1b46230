// The definition of a queue table. Its rows are queued work, and remain as a record of it. A worker claims a due
// row, runs it, and completes it. The outcome is written in the transaction that releases the claim.
import { type CompiledQuery, sql } from 'kysely';
import type { AnyDb } from '../../db/database.ts';

/**
 * The columns that all queue tables have in common. Migrations create them.
 * docs/internals/background-work.md#queue-tables shows them with their indexes.
 */
export interface QueueRow {
  readonly id: string;
  /** When to run the row. Null once it is completed or dead-lettered. */
  readonly due_at: Date | null;
  /**
   * Incremented by each claim. A completion states its claim's number, so a run that has lost its claim writes nothing.
   */
  readonly claims: number;
  /** How many runs have failed. */
  readonly failures: number;
  /** How many times a worker has crashed while running the row since its last completed run. */
  readonly crash_count: number;
  readonly claimed_slot: number | null;
  readonly claimed_epoch: number | null;
  readonly last_error: string | null;
  /** When the row was dead-lettered. */
  readonly failed_at: Date | null;
}

/** How a run ended. A run that throws has failed, and the queue's `retryMs` decides when it runs again. */
export interface Outcome {
  /**
   * Values for the row's own columns, written when the row is completed. The queue's `outcomeColumns` lists these
   * columns.
   */
  readonly columns?: Readonly<Record<string, unknown>>;
  /** Writes this run's results in the transaction that completes the row. */
  readonly record?: (db: AnyDb) => Promise<void>;
  /** Passed to the queue's `recordAll` or `recordTogether`. */
  readonly result?: unknown;
  /** The delay before the row runs again. If undefined, the row does not run again. */
  readonly runAgainInMs?: number;
  /** Why the run failed. The row is dead-lettered unless `runAgainInMs` is set. */
  readonly error?: string;
}

/** What an operator may do with a queue's rows by hand (operate.ts). A sentence says what to do instead. */
export interface ByHand {
  /**
   * True if it is enough to make a dead-lettered row due again. This needs a queue whose `onDeadLetter` changes nothing,
   * such as credits that it has refunded.
   */
  readonly retry: true | string;
  /** True if dead-lettering a waiting row ends everything that depends on it. */
  readonly cancel: true | string;
}

export interface Queue<Row extends QueueRow = QueueRow> {
  /** The table's name. */
  readonly name: string;
  /** The uuid column that identifies a row's owner. Claims are fair between owners. */
  readonly owner: string;
  /** The maximum number of rows that run concurrently in a process. */
  readonly concurrency: number;
  /** The maximum for one owner's rows: per process or, with `globalLimits`, across all processes. */
  readonly perOwner: number;
  /**
   * Applies `perOwner` across all processes. `perKey` is a second limit, on rows with the same value in the column
   * `concurrencyKey`. All of an owner's rows should have the same key, because a row that waits for its key counts
   * towards its owner's limit.
   */
  readonly globalLimits?: { readonly concurrencyKey: string; readonly perKey: number };
  /**
   * Uses `synchronous_commit = off`, which only high rates justify: after a database crash, completed rows may run
   * again.
   */
  readonly asyncCommit?: true;
  /** A run that takes longer than this counts as failed. */
  readonly timeoutMs: number;
  /** The number of crashes after which a row is quarantined. Should be higher if runs take minutes. Default: 2. */
  readonly quarantineAfter?: number;
  /** The columns that a claim reads. Omit columns that may be large. Default: all columns. */
  readonly claimedColumns?: readonly string[];
  /** The columns that outcomes may set, with their SQL types. */
  readonly outcomeColumns?: Readonly<Record<string, string>>;
  /** By default, neither. All of the product's queues declare it. */
  readonly byHand?: ByHand;
  /** Returns the delay before the next run after this many failures, or undefined to dead-letter the row. */
  retryMs(failures: number): number | undefined;
  /** Reads the data that runs need, for all claimed rows together. Returns the rows to pass to `run`. */
  load?(db: AnyDb, rows: readonly Row[]): Promise<readonly Row[]>;
  /** Does the work, outside a transaction. A row may run more than once, so writes to `db` must be repeatable. */
  run(row: Row, context: { db: AnyDb; now: Date; signal: AbortSignal }): Promise<Outcome>;
  /** Writes the results of several runs in the transaction that completes their rows. */
  recordAll?(db: AnyDb, results: readonly unknown[]): Promise<void>;
  /**
   * Like `recordAll`, but returns a single statement, which is sent together with the completion. The statement must
   * check which rows were completed. If the results need more than one statement, returns undefined, and `recordAll` is
   * called instead.
   */
  recordTogether?(results: readonly unknown[]): CompiledQuery | undefined;
  /** Called in the transaction that dead-letters a row. */
  onDeadLetter?(db: AnyDb, row: Row, error: string): Promise<void>;
}

/** Retries once after each of these delays, then dead-letters the row. */
export const retries =
  (...delaysMs: number[]) =>
  (failures: number): number | undefined =>
    delaysMs[failures - 1];

/** SQL for the columns that `run` and `onDeadLetter` receive. */
export const claimedColumnsOf = ({ claimedColumns }: Queue): string =>
  claimedColumns === undefined ? '*' : claimedColumns.map((name) => `"${name}"`).join(', ');

export const commitModeOf = ({ asyncCommit }: Queue): 'off' | null => (asyncCommit ? 'off' : null);

/** SQL that sets `synchronous_commit`. If the parameter is null, the operator's setting remains. */
export const setCommitMode = (parameter: string): string =>
  `set_config('synchronous_commit', coalesce(${parameter}, current_setting('synchronous_commit')), true)`;

/**
 * SQL for a statement that changes claimed rows: `q.id = any(…) and isClaimed`, after `planForIds` in the same
 * transaction. With statistics from when the table was small, the planner would scan the whole table. With statistics
 * from when nothing was claimed, it would scan the index of claimed rows, which has an entry for every row that has run
 * since the last vacuum. To make the planner look up the ids, `planForIds` turns sequential scans off, and `isClaimed`
 * is a form of `claimed_slot is not null` that matches no partial index. The setting also applies to later statements
 * in the transaction.
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

export async function readQueueDepth(db: AnyDb, queue: Pick<Queue, 'name'>): Promise<QueueDepth> {
  const table = sql.table(queue.name);
  // Each count uses its own index, because the table may hold millions of completed rows.
  const { rows } = await sql<QueueDepth>`/* service */ select due.count as due, due."oldestSeconds",
      (select count(*)::int from ${table} where claimed_slot is not null) as running,
      (select count(*)::int from ${table} where failed_at is not null) as failed
    from (select count(*)::int, coalesce(extract(epoch from clock_timestamp() - min(due_at)), 0)::float as "oldestSeconds"
      from ${table} where claimed_slot is null and due_at <= statement_timestamp()) due`.execute(db);
  return rows[0] as QueueDepth;
}
