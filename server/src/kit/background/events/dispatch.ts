// Dispatches: one worker at a time calls the `afterCommit` listeners with batches of published events. A batch
// contains a few events from each workspace, so one workspace's backlog does not delay the others. A workspace's events
// are handled in log order. If a listener throws or crashes the worker, the offending event is retried separately, and
// all other events are still handled.
import { type CompiledQuery, sql } from 'kysely';
import { type AnyDb, afterCommit, prepared, transaction, transactionOf } from '../../db/database.ts';
import { classifyFailure, isCancelled, isStatementTimeout } from '../../db/failures.ts';
import { sendTogether, sendWithCommit, sendWithCommitForRows } from '../../db/send.ts';
import { toErrorText } from '../error-text.ts';
import { planForQueues } from '../queues/claim.ts';
import {
  createLogReader,
  fromIdMs,
  type Log,
  type LogReader,
  type LogReaderOptions,
  type LogTurn,
  logDueInMs,
  planForLog,
  selectWaitingChanges,
  toColumns,
} from '../queues/logs.ts';
import type { RunningQueue } from '../queues/run.ts';

// A batch's round trips, on one connection:
//
//   1  begin; lock the dispatch; look at what changed; read the number of unfinished batches; list pending events
//   2  count this batch as unfinished; run the listeners' reads
//   3  the listeners' writes; mark the events as dispatched; reset the number of unfinished batches; find the floors of
//      the workspaces that were visited (queues/logs.ts); commit
//
// If a listener inserts rows into a queue, round trip 3 also claims them, so this process runs them immediately
// (`RunningQueue.claimWithCommit`).

export interface Event<Payload = unknown> {
  readonly id: string;
  readonly name: string;
  readonly payload: Payload;
  readonly occurred_at: Date;
}

/** Passed to listeners together with the events. */
export interface BatchContext<Row = unknown> {
  readonly now: Date;
  /** The rows returned by the listener's `read`. */
  readonly rows: readonly Row[];
  /** The queues that run in this process, by name. */
  readonly queues: RunningQueues;
}

export type RunningQueues = ReadonlyMap<string, Pick<RunningQueue, 'claimWithCommit'>>;

export interface Listener<Db> {
  readonly names: readonly string[];
  /** Called in the publishing transaction, to enforce invariants that must always hold. May only use the database. */
  inTransaction?(db: Db, payload: unknown, now: Date): Promise<void>;
  /** Reads the rows that `afterCommit` needs. All listeners' reads share one round trip. */
  read?(events: readonly Event[]): CompiledQuery;
  /**
   * Called in a worker, once per batch. Its writes are part of the transaction that marks the batch as dispatched, and
   * should be sent with the commit (kit/db/send.ts).
   */
  afterCommit?(db: Db, events: readonly Event[], context: BatchContext): Promise<void>;
}

export interface DispatchDeps {
  readonly db: AnyDb;
  readonly listeners: readonly Listener<AnyDb>[];
  readonly now: Date;
  readonly queues: RunningQueues;
  readonly onFailure: (event: Event, error: unknown) => void;
  readonly pace: DispatchPace;
  readonly reader: LogReader;
}

/** The dispatcher's state between batches. */
export interface DispatchPace {
  /** The maximum number of events per owner in the next batch. */
  eventsOfOwner: number;
}

const initialEventsOfOwner = 50;
export const newDispatchPace = (): DispatchPace => ({ eventsOfOwner: initialEventsOfOwner });

const mebibyte = 1024 * 1024;
const maxBatch = { events: 1_000, bytes: 16 * mebibyte, owners: 500 };
const maxOfOwner = { events: 1_000, bytes: mebibyte };
// A lower minimum would not make batches shorter on a busy machine, where the round trips take most of the time.
const minEventsOfOwner = 25;
/** A batch's target duration. Events published during a batch have to wait until it ends. */
const batchMs = 50;
// With 500 owners, a batch reads only a few events per owner.
const minOfOwnerRead = 4;
// A payload larger than this may be compressed in the table, so it counts as the largest possible payload.
const maxPlainBytes = 2_000;
const maxPayloadBytes = 256 * 1024;
const maxCrashes = 3;

/**
 * A batch with fewer events than this contained all pending events, because this many events from one owner always fit.
 */
export const fullBatch = maxOfOwner.bytes / maxPayloadBytes;

/**
 * Dispatches one batch and returns how many events were handled. A bad event, here event 3 of 5, is isolated as
 * follows:
 *
 *   the listener throws on 3     the batch is rolled back; 1, 2, 4 and 5 are handled separately, 3 is retried later
 *   the listener crashes on 3    after the batch has crashed three times, each event is handled separately: 1 and 2
 *                                are handled, 3 crashes three more workers and is retried later, 4 and 5 are handled
 */
export async function dispatch(deps: DispatchDeps): Promise<number> {
  const { reader } = deps;
  try {
    for (;;) {
      await reader.lookAtAllIfDue(deps.db);
      const turn = reader.begin(maxBatch.owners);
      const handled = await dispatchTurn(deps, turn);
      if (handled !== 'outdated') return handled;
    }
  } catch (error) {
    // The connection may be lost because the database crashed, and with it changes whose effect is remembered.
    if (!isCancelled(error)) reader.forget();
    throw error;
  }
}

async function dispatchTurn(deps: DispatchDeps, turn: LogTurn): Promise<number | 'outdated'> {
  const startedAt = performance.now();
  try {
    const handled = await handleBatch(deps, turn);
    if (handled === 'outdated') return handled;
    if (handled === 'crashes') return handleEach(deps, turn);
    adaptPace(deps.pace, handled, performance.now() - startedAt);
    return handled;
  } catch (error) {
    // If the database was unavailable, the events were not the cause. A batch that timed out would time out again.
    if (classifyFailure(error) !== undefined && !isStatementTimeout(error)) throw error;
    return handleEach(deps, turn);
  }
}

/** Halves or doubles the next batch, because some events, such as events with many webhooks, are slow to handle. */
function adaptPace(pace: DispatchPace, handled: number, ms: number): void {
  if (ms > batchMs) pace.eventsOfOwner = Math.max(minEventsOfOwner, Math.floor(pace.eventsOfOwner / 2));
  else if (handled >= pace.eventsOfOwner) pace.eventsOfOwner = Math.min(maxOfOwner.events, pace.eventsOfOwner * 2);
}

// ---- pending events

const isWaiting = 'dispatched_at is null and retry_at is null';
const isToRetry = 'dispatched_at is null and retry_at <= statement_timestamp()';

const payloadBytes = `case when pg_column_size(payload) > ${maxPlainBytes} then ${maxPayloadBytes} else pg_column_size(payload) end`;

// The event's workspace, or '-' if it has none. Must match the expression in the index events_waiting_by_owner.
const ownerSql = `(coalesce(payload ->> 'workspace_id', '-') collate "C")`;

const selectFirst = (found: string, condition: string) =>
  `select ${found} from events where ${isWaiting} and ${condition} order by ${ownerSql}, id limit 1`;
const selectOwnerAfter = (previous: string) =>
  selectFirst(`${ownerSql} as owner, id, occurred_at`, `${ownerSql} > ${previous}`);

/** Jumps from one owner to the next in the index, so its cost does not depend on the length of the backlogs. */
const ownersSql = `owners as (
    (${selectOwnerAfter("''")})
    union all
    select next.owner, next.id, next.occurred_at from owners, lateral (${selectOwnerAfter('owners.owner')}) next)`;

const eventLog: Log = {
  name: 'events',
  owner: ownerSql,
  isWaiting: 'coalesce(dispatched_at, retry_at) is null',
  owners: ownersSql,
  findFirst: (owner, fromId) => `(${selectFirst('id', `${ownerSql} = ${owner} and id >= ${fromId}`)})`,
};

/** Creates what a process remembers of the pending events. */
export const createEventReader = (options: LogReaderOptions = {}): LogReader => createLogReader(eventLog, options);

/** SQL for polling. Evaluates to 0 if there may be events to dispatch, and to null otherwise. */
export const eventsDueInMs = (known: string): string =>
  `coalesce(${logDueInMs(eventLog, known)}, case when exists (select 1 from events where ${isToRetry}) then 0 end)`;

/** SQL for the publication time of the longest-waiting event. */
export const oldestWaitingEvent = `(with recursive ${ownersSql} select min(occurred_at) from owners)`;

type PendingValues = readonly [
  eventsOfOwner: number,
  needsLock: boolean,
  owners: readonly string[],
  floors: readonly number[],
  xmax: string,
  xip: readonly string[],
];

// Lists up to $1 events of each of the owners in $3, from their floors on, and of those with new events, and events to
// retry. Every owner that fits gets at least one event. If $2 is true and the lock was not acquired, lists nothing.
const listPending = prepared<Event, PendingValues>(
  'list pending events',
  `/* service */ with start as (select where not $2 or current_setting('plinth.may_dispatch', true) = 'true'),
   known as materialized (select owner collate "C" as owner, floor from unnest($3::text[], $4::float8[]) u(owner, floor)),
   became as materialized (
     select owner, min(floor) as floor from (${selectWaitingChanges(eventLog, '$5', '$6')}) changed group by owner),
   visited as materialized (
     select owner, least(known.floor, became.floor) as floor from start, known left join became using (owner)
     union all
     (select became.* from start, became where owner not in (select owner from known) limit ${maxBatch.owners})),
   pending as (
     select visited.owner, waiting.* from visited, lateral (
       select id, name, payload, occurred_at from events
       where ${isWaiting} and ${ownerSql} = visited.owner and id >= ${fromIdMs('visited.floor')} order by ${ownerSql}, id
       limit least($1, greatest(${minOfOwnerRead}, ${2 * maxBatch.events} / (select count(*) from visited)))) waiting
     union all
     (select ${ownerSql}, id, name, payload, occurred_at from start, events where ${isToRetry} order by retry_at limit $1)),
   in_turn as (
     select *, row_number() over of_owner as turn, sum(${payloadBytes}) over of_owner - ${payloadBytes} as bytes_before
     from pending window of_owner as (partition by owner order by id)),
   fitting as (
     select *, sum(${payloadBytes}) over (order by turn, id) - ${payloadBytes} as batch_bytes_before from in_turn
     where bytes_before < ${maxOfOwner.bytes})
   select id, name, payload, occurred_at from (
     select * from fitting where batch_bytes_before < ${maxBatch.bytes} order by turn, id limit ${maxBatch.events}) batch
   order by id`,
);

const listPendingOf = ({ visited, position }: LogTurn, eventsOfOwner: number, needsLock: boolean) =>
  listPending.query(eventsOfOwner, needsLock, ...toColumns(visited), position.xmax, position.xip);

// ---- a batch

// A setting records whether the lock was acquired, so statements sent in the same round trip can check it.
// `planForQueues` makes PostgreSQL reuse plans, because planning a batch's statements takes longer than running them.
const tryLockDispatch = prepared<{ is_locked: boolean }, []>(
  'lock event dispatch',
  `select ${planForQueues}, set_config('plinth.may_dispatch',
     pg_try_advisory_xact_lock(hashtextextended('dispatch events', 0))::text, true) = 'true' as is_locked`,
);
// Unfinished batches are counted in a sequence, because a rollback does not undo `setval`. If the count is not 0 when a
// batch starts, the previous worker crashed.
const countUnfinished = prepared<{ unfinished: number }, []>(
  'count unfinished event batches',
  'select last_value as unfinished from unfinished_event_batches',
);
const setUnfinished = prepared<object, [number]>(
  'set unfinished event batches',
  "select setval('unfinished_event_batches', $1)",
);
const markDispatched = prepared<object, [readonly string[]]>(
  'mark events dispatched',
  '/* service */ update events set dispatched_at = statement_timestamp() where id = any($1::uuid[])',
);
/**
 * Returns how many events were handled; 'crashes' if several batches in a row have crashed their worker; or 'outdated' if
 * other workers have handled the events of all owners that were visited, and there may be others.
 */
const handleBatch = (deps: DispatchDeps, turn: LogTurn): Promise<number | 'crashes' | 'outdated'> =>
  transaction(deps.db, async (db) => {
    const [[lock], [seen], [state], events] = await sendTogether(
      db,
      tryLockDispatch.query(),
      turn.look,
      countUnfinished.query(),
      listPendingOf(turn, deps.pace.eventsOfOwner, true),
    );
    if (seen === undefined) throw new Error('a look must return one row');
    if (events.length === 0) {
      const isLocked = lock?.is_locked === true; // otherwise, another worker is dispatching
      const found = turn.visited.map(([owner]) => ({ owner, floor: null }));
      afterCommit(db, () => turn.learn(seen, isLocked ? found : []));
      return isLocked && turn.isFull ? 'outdated' : 0;
    }
    const unfinished = state?.unfinished ?? 0;
    if (unfinished >= maxCrashes) return 'crashes';
    await callListeners(db, deps, events, setUnfinished.query(unfinished + 1));
    await markHandled(db, events);
    const found = await sendWithCommitForRows(db, turn.findFloors(seen));
    await sendWithCommit(db, setUnfinished.query(0));
    afterCommit(db, () => turn.learn(seen, found.rows));
    return events.length;
  });

const markHandled = (db: AnyDb, events: readonly Event[]) =>
  sendWithCommit(db, markDispatched.query(events.map((event) => event.id)));

/** `sentFirst` is sent together with the listeners' reads, before any listener can crash the worker. */
async function callListeners(
  db: AnyDb,
  { listeners, now, queues }: DispatchDeps,
  events: readonly Event[],
  sentFirst: CompiledQuery,
): Promise<void> {
  const called = listeners.flatMap((listener) => {
    const matching = events.filter((event) => listener.names.includes(event.name));
    return listener.afterCommit === undefined || matching.length === 0 ? [] : [{ listener, matching }];
  });
  const reads = called.flatMap(({ listener, matching }) => listener.read?.(matching) ?? []);
  const [, ...answers] = await sendTogether(db, sentFirst, ...reads);
  for (const { listener, matching } of called) {
    const rows = listener.read === undefined ? [] : (answers.shift() ?? []);
    await listener.afterCommit?.(db, matching, { now, rows, queues });
  }
}

// ---- one event at a time

// Recorded outside the transaction, so the record survives a worker crash.
const markEventInProgress = prepared<{ event_crash_count: number }, [string]>(
  'mark event in progress',
  `/* service */ update event_dispatch_state set event_id = $1,
     event_crash_count = case when event_id = $1 then event_crash_count + 1 else 0 end returning event_crash_count`,
);
const markNoEventInProgress = prepared<object, []>(
  'mark no event in progress',
  '/* service */ update event_dispatch_state set event_id = null',
);
const findPending = prepared<{ is_locked: boolean; is_pending: boolean }, [string]>(
  'find pending event',
  `/* service */ select current_setting('plinth.may_dispatch') = 'true' as is_locked,
     exists (select 1 from events where id = $1 and dispatched_at is null) as is_pending`,
);

/** The next turn visits the same owners again, and learns their floors. */
async function handleEach(deps: DispatchDeps, turn: LogTurn): Promise<number> {
  let handled = 0;
  const [, events] = await transactionOf(
    deps.db,
    planForLog.query(),
    listPendingOf(turn, deps.pace.eventsOfOwner, false),
  );
  for (const event of events) {
    try {
      const outcome = await handleOne(deps, event);
      if (outcome === 'not locked') return handled; // another worker is dispatching, and keeps track of crashes
      if (outcome === 'handled') handled += 1;
    } catch (error) {
      if (classifyFailure(error) !== undefined) throw error;
      deps.onFailure(event, error);
      await scheduleRetry(deps.db, event.id, toErrorText(error));
    }
  }
  await markNoEventInProgress(deps.db);
  await setUnfinished(deps.db, 0);
  return handled;
}

const handleOne = (deps: DispatchDeps, event: Event): Promise<'handled' | 'not pending' | 'not locked'> =>
  transaction(deps.db, async (db) => {
    const [, [found]] = await sendTogether(db, tryLockDispatch.query(), findPending.query(event.id));
    if (!found?.is_locked) return 'not locked';
    if (!found.is_pending) return 'not pending';
    const [state] = await markEventInProgress(deps.db, event.id);
    if ((state?.event_crash_count ?? 0) >= maxCrashes)
      throw new Error('the worker crashed repeatedly while handling the event');
    await callListeners(db, deps, [event], markNoEventInProgress.query()); // a crash rolls this back
    await markHandled(db, [event]);
    return 'handled';
  });

const maxRetryMs = 60 * 60 * 1000;

/** Retries after 1 s, 2 s, 4 s and so on, up to one hour apart, indefinitely. Events are never dropped. */
async function scheduleRetry(db: AnyDb, id: string, error: string): Promise<void> {
  await sql`/* service */ update events set failures = failures + 1, failure = ${error},
    retry_at = statement_timestamp()
      + least(1000 * power(2, least(failures, 20)), ${maxRetryMs}) * interval '1 ms'
    where id = ${id}`.execute(db);
}
