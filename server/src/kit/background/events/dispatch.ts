// Owns dispatching: calls the `afterCommit` listeners with published events, in batches, by one worker at a time. A batch
// takes some events of each workspace, so that a long backlog of one delays nobody else; those of one workspace are handled
// in the order of the log. An event whose listener throws or crashes the worker is retried on its own, and the others go on.
import { type CompiledQuery, sql } from 'kysely';
import { type AnyDb, prepared, transaction } from '../../db/database.ts';
import { classifyFailure, isStatementTimeout } from '../../db/failures.ts';
import { sendTogether, sendWithCommit } from '../../db/send.ts';
import { toErrorText } from '../error-text.ts';
import { planForQueues } from '../queues/claim.ts';
import type { RunningQueue } from '../queues/run.ts';

// The round trips of a batch, on one connection:
//
//   1  begin; lock the dispatch; how many batches were not completed; list pending events
//   2  one more batch was begun; what the listeners need to know
//   3  what the listeners write; the events are dispatched; a batch was completed; commit
//
// With 3 travels the claim of what a listener has inserted into a queue, so that it starts here at once
// (`RunningQueue.claimWithCommit`).

export interface Event<Payload = unknown> {
  readonly id: string;
  readonly name: string;
  readonly payload: Payload;
  readonly occurred_at: Date;
}

/** What a listener gets beside the events. */
export interface BatchContext<Row = unknown> {
  readonly now: Date;
  /** What its `read` has read. */
  readonly rows: readonly Row[];
  /** The queues that run in this process, by name. */
  readonly queues: RunningQueues;
}

export type RunningQueues = ReadonlyMap<string, Pick<RunningQueue, 'claimWithCommit'>>;

export interface Listener<Db> {
  readonly names: readonly string[];
  /** Called in the transaction that publishes the event. Database only, for invariants that must never be broken. */
  inTransaction?(db: Db, payload: unknown, now: Date): Promise<void>;
  /** What `afterCommit` needs to know, read in one round trip with what the other listeners need. */
  read?(events: readonly Event[]): CompiledQuery;
  /**
   * Called in a worker, once per batch. What it writes commits together with marking the batch as dispatched. It should be sent
   * with the commit (kit/db/send.ts).
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
}

/** What a dispatcher remembers between two batches. */
export interface DispatchPace {
  /** How many events of one owner the next batch takes. */
  eventsOfOwner: number;
}

const initialEventsOfOwner = 50;
export const newDispatchPace = (): DispatchPace => ({ eventsOfOwner: initialEventsOfOwner });

const mebibyte = 1024 * 1024;
const maxBatch = { events: 1_000, bytes: 16 * mebibyte, owners: 500 };
const maxOfOwner = { events: 1_000, bytes: mebibyte };
// Fewer would not make a batch shorter on a busy machine, where its round trips take most of the time.
const minEventsOfOwner = 25;
/** What is published meanwhile waits for the batch, so it should not take longer than this. */
const batchMs = 50;
// A batch that takes of 500 owners reads few events of each.
const minOfOwnerRead = 4;
// A payload that is larger than this may be compressed in the table. It counts as the largest that it can be.
const maxPlainBytes = 2_000;
const maxPayloadBytes = 256 * 1024;
const maxCrashes = 3;

/** A smaller batch had everything that was pending: at least as many events of an owner fit in a batch. */
export const fullBatch = maxOfOwner.bytes / maxPayloadBytes;

/**
 * Dispatches one batch and returns how many events were handled. How a bad event is found, if event 3 of 5 is bad:
 *
 *   the listener throws on 3        the batch is rolled back; 1, 2, 4, 5 are handled one at a time, 3 is retried later
 *   the listener crashes on 3       after three crashes of the batch the events are handled one at a time: 1 and 2 are
 *                                   handled, 3 crashes three more workers, then it is retried later and 4, 5 are handled
 */
export async function dispatch(deps: DispatchDeps): Promise<number> {
  const startedAt = performance.now();
  try {
    const handled = await handleBatch(deps);
    if (handled === 'crashes') return handleEach(deps);
    adaptPace(deps.pace, handled, performance.now() - startedAt);
    return handled;
  } catch (error) {
    // If the database was unavailable, the events are not at fault. A batch that takes too long would do so again.
    if (classifyFailure(error) !== undefined && !isStatementTimeout(error)) throw error;
    return handleEach(deps);
  }
}

/** Some events take long to handle, those with many webhooks for example. The next batch takes fewer of them, or more. */
function adaptPace(pace: DispatchPace, handled: number, ms: number): void {
  if (ms > batchMs) pace.eventsOfOwner = Math.max(minEventsOfOwner, Math.floor(pace.eventsOfOwner / 2));
  else if (handled >= pace.eventsOfOwner) pace.eventsOfOwner = Math.min(maxOfOwner.events, pace.eventsOfOwner * 2);
}

// ---- what is pending

const isWaiting = 'dispatched_at is null and retry_at is null';
const isToRetry = 'dispatched_at is null and retry_at <= statement_timestamp()';

/** SQL for polling: 0 if there are events to dispatch. */
export const eventsDueInMs = `case when exists (select 1 from events where ${isWaiting})
  or exists (select 1 from events where ${isToRetry}) then 0 end`;

const payloadBytes = `case when pg_column_size(payload) > ${maxPlainBytes} then ${maxPayloadBytes} else pg_column_size(payload) end`;
// The workspace whose event it is, or '-' for none. The same expression as in the index events_waiting_by_owner.
const ownerSql = `(coalesce(payload ->> 'workspace_id', '-') collate "C")`;
const selectOwnerAfter = (previous: string) =>
  `select ${ownerSql} as owner, occurred_at from events where ${isWaiting} and ${ownerSql} > ${previous}
   order by ${ownerSql}, id limit 1`;

/** SQL: when the event that has waited longest was published. */
export const oldestWaitingEvent = `(with recursive owners as (
     (${selectOwnerAfter("''")})
     union all
     select next.owner, next.occurred_at from owners, lateral (${selectOwnerAfter('owners.owner')}) next)
   select min(occurred_at) from owners)`;

interface Pending extends Event {
  /** Where the next batch goes on: after the last owner of this one, or at the beginning if there are no more. */
  readonly next_after: string;
}

// The next $1 events of each of the owners after those of the batch before, and those to retry. At least one event of each owner
// that fits. `owners` jumps from one owner to the next in the index, so its cost does not depend on the length of their backlogs.
// With $2, nothing if the lock was not acquired.
const listPending = prepared<Pending, [eventsOfOwner: number, needsLock: boolean]>(
  'list pending events',
  `/* service */ with recursive start as (
     select coalesce((select started_after from event_dispatch_state,
       lateral (${selectOwnerAfter('started_after')}) further), '') as after
     where not $2 or current_setting('plinth.may_dispatch', true) = 'true'),
   owners as (
     (select first.owner, 1 as step from start, lateral (${selectOwnerAfter('start.after')}) first)
     union all
     select next.owner, owners.step + 1 from owners, lateral (${selectOwnerAfter('owners.owner')}) next
     where owners.step < ${maxBatch.owners}),
   pending as (
     select owners.owner, waiting.* from owners, lateral (
       select * from events where ${isWaiting} and ${ownerSql} = owners.owner order by id
       limit least($1, greatest(${minOfOwnerRead}, ${2 * maxBatch.events} / (select count(*) from owners)))) waiting
     union all
     (select ${ownerSql}, events.* from start, events where ${isToRetry} order by retry_at limit $1)),
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

// ---- a batch

// Whether the lock was acquired is a setting, so that the statements that are sent with this one can ask for it. Planning the
// statements of a batch again and again would take longer than they do.
const tryLockDispatch = prepared<object, []>(
  'lock event dispatch',
  `select ${planForQueues},
     set_config('plinth.may_dispatch', pg_try_advisory_xact_lock(hashtextextended('dispatch events', 0))::text, true)`,
);
// A batch that is begun is counted by a sequence, because `setval` outlasts a rollback. If the number is not 0 when the next
// batch starts, the worker crashed.
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
// Committed with the batch. So the batch after a crash has the same owners, and not others.
const startNextAfter = prepared<object, [owner: string]>(
  'set the start of the next event batch',
  '/* service */ update event_dispatch_state set started_after = $1 where started_after <> $1',
);

/** Returns how many events were handled, or that several workers in a row have crashed. */
const handleBatch = (deps: DispatchDeps): Promise<number | 'crashes'> =>
  transaction(deps.db, async (db) => {
    const [, [state], events] = await sendTogether(
      db,
      tryLockDispatch.query(),
      countUnfinished.query(),
      listPending.query(deps.pace.eventsOfOwner, true),
    );
    const [first] = events;
    if (first === undefined) return 0; // or another worker is dispatching
    const unfinished = state?.unfinished ?? 0;
    if (unfinished >= maxCrashes) return 'crashes';
    await callListeners(db, deps, events, setUnfinished.query(unfinished + 1));
    await markHandled(db, events);
    await sendWithCommit(db, startNextAfter.query(first.next_after));
    await sendWithCommit(db, setUnfinished.query(0));
    return events.length;
  });

const markHandled = (db: AnyDb, events: readonly Event[]) =>
  sendWithCommit(db, markDispatched.query(events.map((event) => event.id)));

/** `sentFirst` is sent with what the listeners read, before any of them can crash the worker. */
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

// Recorded outside of the transaction, so that the record survives a crash of the worker.
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

async function handleEach(deps: DispatchDeps): Promise<number> {
  let handled = 0;
  const events = await listPending(deps.db, deps.pace.eventsOfOwner, false);
  for (const event of events) {
    try {
      const outcome = await handleOne(deps, event);
      if (outcome === 'not locked') return handled; // what crashed is known to the worker that is dispatching
      if (outcome === 'handled') handled += 1;
    } catch (error) {
      if (classifyFailure(error) !== undefined) throw error;
      deps.onFailure(event, error);
      await scheduleRetry(deps.db, event.id, toErrorText(error));
    }
  }
  await markNoEventInProgress(deps.db);
  await setUnfinished(deps.db, 0);
  await startNextAfter(deps.db, events[0]?.next_after ?? '');
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
    await callListeners(db, deps, [event], markNoEventInProgress.query()); // undone by a crash
    await markHandled(db, [event]);
    return 'handled';
  });

const maxRetryMs = 60 * 60 * 1000;

/** After 1 s, 2 s, 4 s … at most an hour, without end: an event is never dropped. */
async function scheduleRetry(db: AnyDb, id: string, error: string): Promise<void> {
  await sql`/* service */ update events set failures = failures + 1, failure = ${error},
    retry_at = statement_timestamp()
      + least(1000 * power(2, least(failures, 20)), ${maxRetryMs}) * interval '1 ms'
    where id = ${id}`.execute(db);
}
