// Owns dispatching: calls the `afterCommit` listeners with published events, in batches, by one worker at a time. A batch
// takes some events of each workspace, so that a long backlog of one delays nobody else; those of one workspace are handled
// in the order of the log. An event whose listener throws or crashes the worker is retried on its own, and the others go on.
import { sql } from 'kysely';
import { type AnyDb, prepared, transaction } from '../../db/database.ts';
import { classifyFailure, isStatementTimeout } from '../../db/failures.ts';
import { toErrorText } from '../error-text.ts';

export interface Event<Payload = unknown> {
  readonly id: string;
  readonly name: string;
  readonly payload: Payload;
  readonly occurred_at: Date;
}

export interface Listener<Db> {
  readonly names: readonly string[];
  /** Called in the transaction that publishes the event. Database only, for invariants that must never be broken. */
  inTransaction?(db: Db, payload: unknown, now: Date): Promise<void>;
  /** Called in a worker, once per batch. What it writes commits together with marking the batch as dispatched. */
  afterCommit?(db: Db, events: readonly Event[], now: Date): Promise<void>;
}

interface DispatchDeps {
  readonly db: AnyDb;
  readonly listeners: readonly Listener<AnyDb>[];
  readonly now: Date;
  readonly onFailure: (event: Event, error: unknown) => void;
  readonly turns: DispatchTurns;
}

/** What a dispatcher remembers between two batches. */
export interface DispatchTurns {
  /** The owner after whom the next batch begins. */
  lastOwner: string;
  /** How many events of one owner the next batch takes. */
  eventsOfOwner: number;
}

const beforeFirstOwner = '';
const initialEventsOfOwner = 50;
export const newDispatchTurns = (): DispatchTurns => ({
  lastOwner: beforeFirstOwner,
  eventsOfOwner: initialEventsOfOwner,
});

const mebibyte = 1024 * 1024;
const maxBatch = { events: 1_000, bytes: 16 * mebibyte, owners: 500 };
const maxOfOwner = { events: 1_000, bytes: mebibyte };
const minEventsOfOwner = 10;
/** What is published meanwhile waits for the batch, so it should not take longer than this. */
const batchMs = 50;
// A payload that is larger than this may be compressed in the table. It counts as the largest that it can be.
const maxPlainBytes = 2_000;
const maxPayloadBytes = 256 * 1024;
const maxCrashes = 3;

/**
 * Dispatches one batch and returns how many events were handled. How a bad event is found, if event 3 of 5 is bad:
 *
 *   the listener throws on 3        the batch is rolled back; 1, 2, 4, 5 are handled one at a time, 3 is retried later
 *   the listener crashes on 3       after three crashes of the batch the events are handled one at a time: 1 and 2 are
 *                                   handled, 3 crashes three more workers, then it is retried later and 4, 5 are handled
 */
export async function dispatch(deps: DispatchDeps): Promise<number> {
  const [state] = await findPending(deps.db);
  if (!state?.has_pending) return 0; // the usual case, and the cheapest query
  // A worker crashed, or another one is at work. The batch that crashed is tried again, until the bad event is found.
  if (state.in_progress) deps.turns.lastOwner = state.started_after;
  if (state.crash_count >= maxCrashes) return handleEach(deps);
  try {
    return await handleBatch(deps);
  } catch (error) {
    // If the database was unavailable, the events are not at fault. A batch that takes too long would do so again.
    if (classifyFailure(error) !== undefined && !isStatementTimeout(error)) throw error;
    return handleEach(deps);
  }
}

const hasPending = `exists (select 1 from events where dispatched_at is null and retry_at is null)
     or exists (select 1 from events where dispatched_at is null and retry_at <= statement_timestamp())`;

/** SQL for polling: 0 if there are events to dispatch. */
export const eventsDueInMs = `case when ${hasPending} then 0 end`;

const findPending = prepared<
  { has_pending: boolean; crash_count: number; in_progress: boolean; started_after: string },
  []
>(
  'find pending events',
  `/* service */ select crash_count, in_progress, started_after, ${hasPending} as has_pending
   from event_dispatch_state`,
);
const tryLockDispatch = prepared<{ is_locked: boolean }, []>(
  'lock event dispatch',
  "select pg_try_advisory_xact_lock(hashtextextended('dispatch events', 0)) as is_locked",
);
const payloadBytes = `case when pg_column_size(payload) > ${maxPlainBytes} then ${maxPayloadBytes} else pg_column_size(payload) end`;
const isWaiting = 'dispatched_at is null and retry_at is null';
// The workspace whose event it is, or '-' for none. The same expression as in the index events_waiting_by_owner.
const ownerSql = `(coalesce(payload ->> 'workspace_id', '-') collate "C")`;
const selectOwnerAfter = (previous: string) =>
  `select ${ownerSql} as owner from events where ${isWaiting} and ${ownerSql} > ${previous} order by ${ownerSql} limit 1`;

// The next $2 events of each of the owners after $1, and those to retry. At least one event of each owner that fits.
// `next_after` is where the next batch goes on: after the last owner, or at the beginning if there are no more.
// `owners` jumps from one owner to the next in the index, so its cost does not depend on the length of their backlogs.
const listPending = prepared<Event & { next_after: string }, [lastOwner: string, eventsOfOwner: number]>(
  'list pending events',
  `/* service */ with recursive owners as (
     (select owner, 1 as step from (${selectOwnerAfter('$1')}) first)
     union all
     select next.owner, owners.step + 1 from owners, lateral (${selectOwnerAfter('owners.owner')}) next
     where owners.step < ${maxBatch.owners}),
   pending as (
     select owners.owner, waiting.* from owners, lateral (
       select * from events where ${isWaiting} and ${ownerSql} = owners.owner order by id limit $2) waiting
     union all
     (select ${ownerSql}, * from events where dispatched_at is null and retry_at <= statement_timestamp()
      order by retry_at limit $2)),
   in_turn as (
     select *, row_number() over of_owner as turn, sum(${payloadBytes}) over of_owner - ${payloadBytes} as bytes_before
     from pending window of_owner as (partition by owner order by id)),
   fitting as (
     select *, sum(${payloadBytes}) over (order by turn, id) - ${payloadBytes} as batch_bytes_before from in_turn
     where bytes_before < ${maxOfOwner.bytes})
   select id, name, payload, occurred_at,
     coalesce((select max(owner) from owners having count(*) = ${maxBatch.owners}), '') as next_after from (
     select * from fitting where batch_bytes_before < ${maxBatch.bytes} order by turn, id limit ${maxBatch.events}) batch
   order by id`,
);

interface Batch {
  readonly events: readonly Event[];
  /** The owner after whom the batch after this one begins. */
  readonly nextAfter: string;
}

/** Of the owners after the last one of the batch before, or of the first ones if there are none. */
async function listBatch(db: AnyDb, { lastOwner, eventsOfOwner }: DispatchTurns): Promise<Batch> {
  const events = await listPending(db, lastOwner, eventsOfOwner);
  if (events.length === 0 && lastOwner !== beforeFirstOwner)
    return listBatch(db, { lastOwner: beforeFirstOwner, eventsOfOwner });
  return { events, nextAfter: events[0]?.next_after ?? beforeFirstOwner };
}

const markDispatched = prepared<object, [readonly string[]]>(
  'mark events dispatched',
  '/* service */ update events set dispatched_at = statement_timestamp() where id = any($1::uuid[])',
);

// What is in progress is recorded outside the batch's transaction, so that the record survives a crash of the worker. If
// `in_progress` is still set when the next batch starts, the worker crashed. Async commit: losing the record in a crash of
// the database does no harm.
const markBatchInProgress = prepared<object, [startedAfter: string]>(
  'mark event batch in progress',
  `/* service */ with commit_mode as (select set_config('synchronous_commit', 'off', true))
   update event_dispatch_state set in_progress = true, event_id = null, started_after = $1,
     crash_count = case when in_progress then crash_count + 1 else 0 end
   from commit_mode`,
);
const markEventInProgress = prepared<{ event_crash_count: number }, [string]>(
  'mark event in progress',
  `/* service */ with commit_mode as (select set_config('synchronous_commit', 'off', true))
   update event_dispatch_state set in_progress = true, event_id = $1,
     event_crash_count = case when in_progress and event_id = $1 then event_crash_count + 1 else 0 end
   from commit_mode returning event_crash_count`,
);
const markIdle = prepared<object, [resetCrashCount: boolean]>(
  'mark event dispatch idle',
  `/* service */ update event_dispatch_state set in_progress = false, event_id = null,
     crash_count = case when $1 then 0 else crash_count end`,
);

/** Some events take long to handle, those with many webhooks for example. The next batch takes fewer of them, or more. */
async function handleBatch(deps: DispatchDeps): Promise<number> {
  const { turns } = deps;
  const startedAt = performance.now();
  const handled = await handleTogether(deps);
  const isLong = performance.now() - startedAt > batchMs;
  if (isLong) turns.eventsOfOwner = Math.max(minEventsOfOwner, Math.floor(turns.eventsOfOwner / 2));
  else if (handled >= turns.eventsOfOwner) turns.eventsOfOwner = Math.min(maxOfOwner.events, turns.eventsOfOwner * 2);
  return handled;
}

function handleTogether({ db: pool, listeners, now, turns }: DispatchDeps): Promise<number> {
  return transaction(pool, async (db) => {
    const [lock] = await tryLockDispatch(db);
    if (!lock?.is_locked) return 0;
    const { events, nextAfter } = await listBatch(db, turns);
    if (events.length === 0) return 0;
    await markBatchInProgress(pool, turns.lastOwner);
    await callListeners(db, listeners, events, now);
    await markDispatched(
      db,
      events.map((event) => event.id),
    );
    await markIdle(db, true);
    turns.lastOwner = nextAfter; // if the batch fails, the same events are handled one at a time
    return events.length;
  });
}

async function callListeners(
  db: AnyDb,
  listeners: readonly Listener<AnyDb>[],
  events: readonly Event[],
  now: Date,
): Promise<void> {
  for (const listener of listeners) {
    if (listener.afterCommit === undefined) continue;
    const matching = events.filter((event) => listener.names.includes(event.name));
    if (matching.length > 0) await listener.afterCommit(db, matching, now);
  }
}

async function handleEach(deps: DispatchDeps): Promise<number> {
  let handled = 0;
  const { events, nextAfter } = await listBatch(deps.db, deps.turns);
  for (const event of events) {
    try {
      handled += await handleOne(deps, event);
    } catch (error) {
      if (classifyFailure(error) !== undefined) throw error;
      deps.onFailure(event, error);
      await scheduleRetry(deps.db, event.id, toErrorText(error));
    }
  }
  await markIdle(deps.db, true);
  deps.turns.lastOwner = nextAfter;
  return handled;
}

function handleOne({ db: pool, listeners, now }: DispatchDeps, event: Event): Promise<number> {
  return transaction(pool, async (db) => {
    const [lock] = await tryLockDispatch(db);
    if (!lock?.is_locked || !(await isPending(db, event.id))) return 0;
    const [state] = await markEventInProgress(pool, event.id);
    if ((state?.event_crash_count ?? 0) >= maxCrashes)
      throw new Error('the worker crashed repeatedly while handling the event');
    await callListeners(db, listeners, [event], now);
    await markDispatched(db, [event.id]);
    await markIdle(db, false);
    return 1;
  });
}

async function isPending(db: AnyDb, id: string): Promise<boolean> {
  const { rows } = await sql`/* service */ select 1 from events where id = ${id} and dispatched_at is null`.execute(db);
  return rows.length > 0;
}

const maxRetryMs = 60 * 60 * 1000;

/** After 1 s, 2 s, 4 s … at most an hour, without end: an event is never dropped. */
async function scheduleRetry(db: AnyDb, id: string, error: string): Promise<void> {
  await sql`/* service */ update events set failures = failures + 1, failure = ${error},
    retry_at = statement_timestamp()
      + least(1000 * power(2, least(failures, 20)), ${maxRetryMs}) * interval '1 ms'
    where id = ${id}`.execute(db);
}
