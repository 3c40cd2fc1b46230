// What an operator sees of a queue and does with its rows by hand (docs/operate/queues.md).
import { type RawBuilder, sql } from 'kysely';
import { type AnyDb, transaction } from '../../db/database.ts';
import { defaultLeaseMs } from '../workers/slots.ts';
import { hideContent, hideInKey } from './hide-content.ts';
import { listPauses } from './pauses.ts';
import { claimedColumnsOf, getQuarantineThreshold, type Queue, type QueueRow, readQueueDepth } from './queue.ts';
import { readEach } from './read-each.ts';

export const rowStates = ['due', 'running', 'delayed', 'failed'] as const;
export type RowState = (typeof rowStates)[number];

const isWaiting = 'q.claimed_slot is null and q.due_at is not null';
/** Which rows are in a state, and the time that orders them. */
const conditions: Record<
  RowState,
  { readonly where: string; readonly at: string; readonly direction: 'asc' | 'desc' }
> = {
  due: { where: `${isWaiting} and q.due_at <= statement_timestamp()`, at: 'q.due_at', direction: 'asc' },
  running: { where: 'q.claimed_slot is not null', at: 'q.due_at', direction: 'asc' },
  delayed: { where: `${isWaiting} and q.due_at > statement_timestamp()`, at: 'q.due_at', direction: 'asc' },
  failed: { where: 'q.failed_at is not null', at: 'q.failed_at', direction: 'desc' },
};

// ---- looking

/** How many rows are in each state. All are null if they could not be read in time. */
interface QueueCounts {
  readonly due: number | null;
  readonly running: number | null;
  readonly delayed: number | null;
  readonly failed: number | null;
  readonly oldest_seconds: number | null;
}

export interface QueueState extends QueueCounts {
  readonly queue: string;
  /** The end of the pause of the whole queue. */
  readonly paused_until: string | null;
  readonly paused_owners: number;
  /** As estimated by PostgreSQL. */
  readonly dead_rows: number;
  readonly last_vacuum: string | null;
}

const unknownCounts: QueueCounts = { due: null, running: null, delayed: null, failed: null, oldest_seconds: null };

export async function listQueueStates(db: AnyDb, queues: readonly Queue[]): Promise<QueueState[]> {
  const pauses = await listPauses(db);
  const tables = await listTableStates(db, queues);
  const counts = await readEach(db, queues, readCounts);
  return queues.map(({ name }, n) => {
    const own = pauses.filter((pause) => pause.queue === name);
    const { dead_rows = 0, last_vacuum = null } = tables.get(name) ?? {};
    return {
      queue: name,
      ...(counts[n] ?? unknownCounts),
      paused_until: own.find(({ owner }) => owner === null)?.until.toISOString() ?? null,
      paused_owners: own.filter(({ owner }) => owner !== null).length,
      dead_rows,
      last_vacuum,
    };
  });
}

async function readCounts(db: AnyDb, queue: Queue): Promise<QueueCounts> {
  const { due, running, failed, oldestSeconds } = await readQueueDepth(db, queue);
  const { rows } = await sql<{ delayed: number }>`/* service */ select count(*)::int as delayed
    from ${sql.table(queue.name)} q where ${sql.raw(conditions.delayed.where)}`.execute(db);
  return { due, running, delayed: rows[0]?.delayed ?? 0, failed, oldest_seconds: Math.round(oldestSeconds) };
}

interface TableState {
  readonly name: string;
  readonly dead_rows: number;
  readonly last_vacuum: string | null;
}

/** Reads statistics, which takes no time and no lock. */
async function listTableStates(db: AnyDb, queues: readonly Queue[]): Promise<ReadonlyMap<string, TableState>> {
  const { rows } = await sql<TableState>`/* service */ select name, n_dead_tup::float as dead_rows,
      to_json(greatest(last_vacuum, last_autovacuum)) #>> '{}' as last_vacuum
    from unnest(${queues.map(({ name }) => name)}::text[]) name join pg_stat_user_tables on relid = name::regclass`.execute(
    db,
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** The columns of a queue. A row's own columns may contain secrets, and are left out. */
export interface OperatedRow {
  readonly id: string;
  readonly owner: string;
  /** The value that `globalLimits` counts by, without content. Null without global limits. */
  readonly key: string | null;
  readonly state: RowState | 'done';
  readonly due_at: Date | null;
  readonly failures: number;
  readonly crashes: number;
  readonly slot: number | null;
  /** How long ago the worker in the slot has sent a heartbeat. Null if it has lost the slot. */
  readonly heartbeat_seconds: number | null;
  /** Without content, such as an address that it quotes. */
  readonly last_error: string | null;
  readonly failed_at: Date | null;
}

const hideContentOf = <Row extends OperatedRow>(row: Row): Row => ({
  ...row,
  key: row.key && hideInKey(row.key),
  last_error: row.last_error && hideContent(row.last_error),
});

const selectRow = (queue: Queue, at = 'null::timestamptz'): string => `select q.id, q."${queue.owner}" as owner,
    ${queue.globalLimits === undefined ? 'null' : `q."${queue.globalLimits.concurrencyKey}"::text`} as key,
    case ${rowStates.map((state) => `when ${conditions[state].where} then '${state}'`).join(' ')} else 'done' end as state,
    q.due_at, q.failures, q.crash_count as crashes, q.claimed_slot as slot,
    extract(epoch from clock_timestamp() - s.heartbeat_at)::float as heartbeat_seconds, q.last_error, q.failed_at,
    to_json(${at}) #>> '{}' as at
  from "${queue.name}" q left join worker_slots s on s.slot = q.claimed_slot and s.epoch = q.claimed_epoch`;

/** Where a row is in the list. `at` is the time that orders its state, to the microsecond. */
export interface RowPosition {
  readonly state: RowState;
  readonly at: string;
  readonly id: string;
}

export interface ListedRow extends OperatedRow {
  readonly at: string;
}

export interface RowFilter {
  /** By default, all states: what is due first. */
  readonly state?: RowState | undefined;
  readonly owner?: string | undefined;
  /** Only rows that come later in the list. */
  readonly after?: RowPosition | undefined;
  readonly limit: number;
}

/** Lists rows that are not done. */
export async function listQueueRows(db: AnyDb, queue: Queue, filter: RowFilter): Promise<ListedRow[]> {
  const { state, owner, after, limit } = filter;
  const found: ListedRow[] = [];
  const states = state === undefined ? rowStates : [state];
  for (const each of states.slice(after && Math.max(0, states.indexOf(after.state)))) {
    const { where, at, direction } = conditions[each];
    const isLater =
      after?.state === each
        ? sql`(${sql.raw(at)}, q.id) ${sql.raw(direction === 'desc' ? '<' : '>')} (${after.at}::timestamptz, ${after.id}::uuid)`
        : sql`true`;
    const { rows } = await sql<ListedRow>`/* service */ ${sql.raw(selectRow(queue, at))}
      where ${sql.raw(where)} and ${isOwnedBy(queue, owner)} and ${isLater}
      order by ${sql.raw(`${at} ${direction}, q.id ${direction}`)} limit ${limit - found.length}`.execute(db);
    found.push(...rows.map(hideContentOf));
    if (found.length === limit) break;
  }
  return found;
}

const isOwnedBy = (queue: Queue, owner: string | undefined) =>
  owner === undefined ? sql`true` : sql`q.${sql.ref(queue.owner)} = ${owner}::uuid`;

// ---- why a row does not run

export interface ExplainedRow extends OperatedRow {
  /** Sentences: why the row does not run now, or what it does. */
  readonly why: readonly string[];
}

export async function explainQueueRow(db: AnyDb, queue: Queue, id: string): Promise<ExplainedRow | undefined> {
  const { rows } = await sql<ListedRow>`/* service */ ${sql.raw(selectRow(queue))} where q.id = ${id}`.execute(db);
  const [found] = rows;
  if (found === undefined) return undefined;
  const { at: _, ...row } = found;
  const shown = hideContentOf(row);
  // Rows with the same key are counted, so it must be the key itself.
  return { ...shown, why: await explain(db, queue, { ...shown, key: row.key }) };
}

async function explain(db: AnyDb, queue: Queue, row: OperatedRow): Promise<string[]> {
  switch (row.state) {
    case 'done':
      return ['It has run and will not run again.'];
    case 'failed':
      return [`It has failed for good: ${row.last_error}. ${describeRetry(queue)}`];
    case 'running':
      return [describeRunning(row)];
    case 'delayed':
      return [
        `It is due at ${row.due_at?.toISOString()}.${row.failures > 0 ? ` Its last run failed: ${row.last_error}.` : ''}`,
      ];
    case 'due':
      return explainDue(db, queue, row);
  }
}

const describeRetry = ({ name, byHand }: Queue): string =>
  byHand?.retry === true
    ? `To run it again: npm run plinth -- queues retry ${name} ID`
    : (byHand?.retry ?? cannotRetry);
const cannotRetry = "The queue doesn't say how a row is run again.";
const cannotCancel = "The queue doesn't say how a row is cancelled.";

const leaseSeconds = defaultLeaseMs / 1000;

function describeRunning({ slot, heartbeat_seconds: seconds }: OperatedRow): string {
  if (seconds === null)
    return `The worker in slot ${slot} crashed while running it. The next holder of the slot releases the row.`;
  const heartbeat = `whose worker sent a heartbeat ${Math.round(seconds)} s ago`;
  if (seconds > leaseSeconds)
    return `It is claimed by slot ${slot}, ${heartbeat}. Another worker takes the slot over; if none is running, start one.`;
  return `It is running in slot ${slot}, ${heartbeat}.`;
}

interface Around {
  readonly workers: number;
  readonly running_of_owner: number;
  readonly running_of_key: number;
  readonly running_quarantined: number;
  readonly earlier_of_owner: number;
}

/** Counting stops here, because a backlog may have millions of rows. */
const maxCounted = 10_000;

async function readAround(db: AnyDb, queue: Queue, row: OperatedRow): Promise<Around> {
  const table = sql.table(queue.name);
  const key =
    queue.globalLimits === undefined
      ? sql`false`
      : sql`${sql.ref(queue.globalLimits.concurrencyKey)}::text = ${row.key}`;
  const owner = sql`${sql.ref(queue.owner)} = ${row.owner}::uuid`;
  const { rows } =
    await sql<Around>`/* service */ with running as (select * from ${table} where claimed_slot is not null)
    select (select count(*)::int from worker_slots
        where heartbeat_at > clock_timestamp() - ${leaseSeconds} * interval '1 second' and epoch > 0) as workers,
      (select count(*)::int from running where ${owner}) as running_of_owner,
      (select count(*)::int from running where ${key}) as running_of_key,
      (select count(*)::int from running where crash_count >= ${getQuarantineThreshold(queue)}) as running_quarantined,
      (select count(*)::int from (select from ${table} where claimed_slot is null and ${owner}
        and due_at < ${row.due_at} limit ${maxCounted}) earlier) as earlier_of_owner`.execute(db);
  return rows[0] as Around;
}

async function explainDue(db: AnyDb, queue: Queue, row: OperatedRow): Promise<string[]> {
  const around = await readAround(db, queue, row);
  const why: string[] = [];
  if (around.workers === 0) why.push('No worker is running. Start one: npm run plinth -- worker');
  for (const { queue: name, owner, until } of await listPauses(db))
    if (name === queue.name && (owner === null || owner === row.owner))
      why.push(`${owner === null ? 'The queue' : 'Its owner'} is paused until ${until.toISOString()}.`);
  // Without global limits, each worker counts only its own rows.
  const perOwner = queue.globalLimits === undefined ? queue.perOwner * Math.max(1, around.workers) : queue.perOwner;
  if (around.running_of_owner >= perOwner)
    why.push(`Its owner is at its limit: ${around.running_of_owner} of ${perOwner} rows are running.`);
  const perKey = queue.globalLimits?.perKey ?? Number.POSITIVE_INFINITY;
  if (around.running_of_key >= perKey)
    why.push(`Its concurrency key is at its limit: ${around.running_of_key} of ${perKey} rows are running.`);
  if (row.crashes >= getQuarantineThreshold(queue))
    why.push(
      `It is quarantined, because workers crashed while running it. A worker runs one such row at a time. Crashes: ${row.crashes}, such rows that are running: ${around.running_quarantined}.`,
    );
  if (around.earlier_of_owner > 0)
    why.push(
      `Rows of its owner that are due earlier: ${around.earlier_of_owner}${around.earlier_of_owner === maxCounted ? ' or more' : ''}.`,
    );
  return why.length > 0 ? why : ['Nothing prevents it: a worker will claim it when it has a free place.'];
}

// ---- changing

/** Called in each batch's transaction, with the number of rows changed by it. */
type OnBatch = (db: AnyDb, count: number) => Promise<unknown>;

/** Thrown if a queue's rows can't be retried or cancelled by hand. The message says what to do instead. */
export class NotByHand extends Error {}

export interface RetryFilter {
  /** Only these rows. */
  readonly ids?: readonly string[] | undefined;
  readonly owner?: string | undefined;
  /** Only rows that have failed since. */
  readonly since?: Date | undefined;
}

const retryBatchSize = 1_000;
// Smaller, because each row may have a few statements of its feature.
const cancelBatchSize = 100;

/**
 * Makes dead-lettered rows due again, at most `max`, and returns how many. Rows that fail again meanwhile are not retried
 * twice.
 */
export async function retryQueueRows(
  db: AnyDb,
  queue: Queue,
  filter: RetryFilter,
  onBatch: OnBatch,
  max = Number.POSITIVE_INFINITY,
): Promise<number> {
  if (queue.byHand?.retry !== true) throw new NotByHand(queue.byHand?.retry ?? cannotRetry);
  const before = await readTime(db);
  const retryBatch = (size: number) =>
    transaction(db, async (db) => {
      const { numAffectedRows } = await sql`/* service */ update ${sql.table(queue.name)}
        set due_at = clock_timestamp(), failed_at = null, failures = 0, crash_count = 0
        where id in (select q.id from ${sql.table(queue.name)} q
          where q.failed_at is not null and q.failed_at <= ${before} and q.claimed_slot is null and q.due_at is null
            and ${isOwnedBy(queue, filter.owner)}
            and ${filter.ids === undefined ? sql`true` : sql`q.id = any(${filter.ids}::uuid[])`}
            and ${filter.since === undefined ? sql`true` : sql`q.failed_at >= ${filter.since}`}
          limit ${size} for update skip locked)`.execute(db);
      const count = Number(numAffectedRows ?? 0);
      if (count > 0) await onBatch(db, count);
      return count;
    });
  let retried = 0;
  while (retried < max) {
    const size = Math.min(retryBatchSize, max - retried);
    const count = await retryBatch(size);
    retried += count;
    if (count < size) break;
  }
  return retried;
}

export interface Cancelled {
  readonly cancelled: number;
  /** More rows were waiting than the maximum. */
  readonly hasMore: boolean;
  /** Rows that were running, and were left alone. */
  readonly running: readonly string[];
}

/**
 * Dead-letters waiting rows, as if their last retry had failed: `onDeadLetter` ends what depends on them. Either the
 * rows with these ids or the owner's: all of them, or at most `max`.
 */
export async function cancelQueueRows(
  db: AnyDb,
  queue: Queue,
  which: { readonly ids: readonly string[] } | { readonly owner: string; readonly max?: number },
  reason: string,
  onBatch: OnBatch,
): Promise<Cancelled> {
  if (queue.byHand?.cancel !== true) throw new NotByHand(queue.byHand?.cancel ?? cannotCancel);
  const error = `cancelled by an operator: ${reason}`;
  const table = sql.table(queue.name);
  const isOneOf = 'ids' in which ? sql`q.id = any(${which.ids}::uuid[])` : isOwnedBy(queue, which.owner);
  // Work that is queued after the command has started is left, so a busy owner does not keep the command running.
  const { max = Number.POSITIVE_INFINITY } = 'owner' in which ? which : {};
  const waiting = await countWaiting(db, queue, isOneOf, max + 1);
  let left = Math.min(waiting, max);
  const cancelBatch = () =>
    transaction(db, async (db) => {
      const { rows } = await sql<QueueRow>`/* service */ select ${sql.raw(claimedColumnsOf(queue))} from ${table}
        where id = any(array(select q.id from ${table} q where ${sql.raw(isWaiting)} and ${isOneOf}
          order by q.due_at limit ${Math.min(left, cancelBatchSize)} for update skip locked))`.execute(db);
      const ids = rows.map((row) => row.id);
      await sql`/* service */ update ${table} set due_at = null, last_error = ${error}, failed_at = clock_timestamp()
        where id = any(${ids}::uuid[])`.execute(db);
      for (const row of rows) await queue.onDeadLetter?.(db, row, error);
      if (rows.length > 0) await onBatch(db, rows.length);
      return rows.length;
    });
  let cancelled = 0;
  while (left > 0) {
    const count = await cancelBatch();
    if (count === 0) break; // workers have claimed the others
    cancelled += count;
    left -= count;
  }
  const { rows } = await sql<{ id: string }>`/* service */ select q.id from ${table} q
    where q.claimed_slot is not null and ${isOneOf}`.execute(db);
  return { cancelled, hasMore: waiting > max && cancelled === max, running: rows.map(({ id }) => id) };
}

/** Counts at most `max` rows. */
async function countWaiting(db: AnyDb, queue: Queue, isOneOf: RawBuilder<unknown>, max: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`/* service */ select count(*)::int as count
    from (select from ${sql.table(queue.name)} q where ${sql.raw(isWaiting)} and ${isOneOf}
      limit ${Number.isFinite(max) ? max : null}) waiting`.execute(db);
  return rows[0]?.count ?? 0;
}

async function readTime(db: AnyDb): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  return rows[0]?.now as Date;
}
