// Owns what a queue table is: the table that is the record of the work is its queue. A row that is due is claimed by a
// slot, run, and closed in one transaction with what it did, which a claim that is no longer held cannot commit.
import { sql } from 'kysely';
import type { AnyDb } from '../../db/database.ts';

/** The columns a queue table has beside its own; written by migrations. `docs/later.md` shows them with their indexes. */
export interface QueueRow {
  readonly id: string;
  /** When it is to be run; null once it is over. */
  readonly due_at: Date | null;
  /** Counted up by each claim: who closes must name the claim it ran under. */
  readonly claims: number;
  /** How often it was run and failed; and how often its process ended while it ran. */
  readonly failures: number;
  readonly crash_count: number;
  readonly claimed_slot: number | null;
  readonly claimed_epoch: number | null;
  readonly last_error: string | null;
  /** When it was given up. */
  readonly failed_at: Date | null;
}

/** How a run ended. Something thrown is a failure, run again by the queue's schedule. */
export interface Outcome {
  /** Written to the row's own columns (the queue's `sets`), with the closing. */
  readonly columns?: Readonly<Record<string, unknown>>;
  /** Writes what came of it, in the transaction that closes the claim. */
  readonly record?: (db: AnyDb) => Promise<void>;
  /** What the queue's `recordAll` is told. */
  readonly result?: unknown;
  /** Run it again after this time; it is over otherwise. */
  readonly runAgainInMs?: number;
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
  /**
   * `perOwner`, and `perKey` of those with the same text in a column, hold over all processes together. An owner's rows
   * are in one lane: those that wait for room in it use up the owner's share.
   */
  readonly globalLimits?: { readonly concurrencyKey: string; readonly perKey: number };
  /**
   * Claims and closings are not waited for to be on disk: what a crash of the database's server takes along is run again.
   * For work that bears that, at a rate where the waiting would be most of it.
   */
  readonly asyncCommit?: true;
  /** A run that takes longer has failed. */
  readonly timeoutMs: number;
  /** After how many deaths of its process a row may be what ends them, and runs alone. More where runs take long. */
  readonly quarantineAfter?: number;
  /** The columns that outcomes set, and their types in SQL. */
  readonly outcomeColumns?: Readonly<Record<string, string>>;
  /** When it is run again after so many failures; undefined: it is given up. */
  retryMs(failures: number): number | undefined;
  /** Fetches what the runs need, for all rows of a claim at once; gives the rows as `run` gets them. */
  load?(db: AnyDb, rows: readonly Row[]): Promise<readonly Row[]>;
  /** Work that touches the outside: no transaction is open. What `db` writes here bears being done again. */
  run(row: Row, at: { db: AnyDb; now: Date; signal: AbortSignal }): Promise<Outcome>;
  /** What came of runs that ended about the same time, in the transaction that closes their claims. */
  recordAll?(db: AnyDb, results: readonly never[]): Promise<void>;
  /** Called in the transaction that gives a row up. */
  onDeadLetter?(db: AnyDb, row: Row, error: string): Promise<void>;
}

/** A wait before each next try; then it is given up. */
export const retries =
  (...waitsMs: number[]) =>
  (failures: number): number | undefined =>
    waitsMs[failures - 1];

const defaultQuarantineThreshold = 2;

export const getQuarantineThreshold = (queue: Queue): number => queue.quarantineAfter ?? defaultQuarantineThreshold;

export interface QueueDepth {
  readonly due: number;
  readonly running: number;
  readonly failed: number;
  /** How long the oldest row that is due has waited. */
  readonly oldestSeconds: number;
}

export async function readQueueDepth(queue: Pick<Queue, 'name'>, db: AnyDb): Promise<QueueDepth> {
  const table = sql.table(queue.name);
  // Each by an index of its own: the table may be a log of millions that is over.
  const { rows } = await sql<QueueDepth>`/* service */ select due.count as due, due."oldestSeconds",
      (select count(*)::int from ${table} where claimed_slot is not null) as running,
      (select count(*)::int from ${table} where failed_at is not null) as failed
    from (select count(*)::int, coalesce(extract(epoch from clock_timestamp() - min(due_at)), 0)::float as "oldestSeconds"
      from ${table} where claimed_slot is null and due_at <= statement_timestamp()) due`.execute(db);
  return rows[0] as QueueDepth;
}
