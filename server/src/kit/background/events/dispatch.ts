// Owns the hearing of events in workers: in batches, in the order of the log, one dispatcher at a time in a cell. What
// cannot be heard (its listener throws, or ends its process) is set aside with its reason, and the others go on.
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
  /** In the transaction that tells the event: database only, for what must never be seen undone. */
  readonly inTransaction?: (db: Db, payload: never, now: Date) => Promise<void>;
  /** In a worker, once for each batch: everything it writes commits together with the batch being done. */
  readonly afterCommit?: (db: Db, events: readonly Event<never>[], now: Date) => Promise<void>;
}

interface Dispatch {
  readonly db: AnyDb;
  readonly listeners: readonly Listener<AnyDb>[];
  readonly now: Date;
  readonly onFailure: (event: Event, error: unknown) => void;
}

const batchSize = 1_000;
const maxCrashes = 3;

/** Gives how many events were heard. */
export async function dispatch(of: Dispatch): Promise<number> {
  const [waiting] = await lookAhead(of.db);
  if (!waiting?.any) return 0; // the usual answer, and the cheapest question
  if (waiting.crash_count >= maxCrashes) return oneByOne(of); // something in the batch ends the process that hears it
  try {
    return await hearBatch(of);
  } catch (error) {
    // A batch that takes too long would take too long again; otherwise nothing is wrong with the events.
    if (classifyFailure(error) !== undefined && !isStatementTimeout(error)) throw error;
    return oneByOne(of);
  }
}

const lookAhead = prepared<{ any: boolean; crash_count: number }, []>(
  'any waiting event',
  `/* service */ select crash_count, exists (select 1 from events where dispatched_at is null and retry_at is null)
     or exists (select 1 from events where dispatched_at is null and retry_at <= statement_timestamp()) as any
   from event_dispatch_state`,
);
const claimTurn = prepared<{ mine: boolean }, []>(
  'claim the turn to dispatch',
  "select pg_try_advisory_xact_lock(hashtextextended('dispatch events', 0)) as mine",
);
// At most so many, and so many bytes of them, but one at least.
const listWaiting = prepared<Event, [number]>(
  'list waiting events',
  `/* service */ select id, name, payload, occurred_at from (
     select *, sum(pg_column_size(payload)) over (order by id) - pg_column_size(payload) as bytes_before from (
       select * from (
         (select * from events where dispatched_at is null and retry_at is null order by id limit $1)
         union all
         (select * from events where dispatched_at is null and retry_at <= statement_timestamp() order by retry_at limit $1)
       ) waiting order by id limit $1) next) fitting
   where bytes_before < ${16 * 1024 * 1024} order by id`,
);
const markDispatched = prepared<object, [readonly string[]]>(
  'mark events dispatched',
  '/* service */ update events set dispatched_at = statement_timestamp() where id = any($1::uuid[])',
);
// Marks of what is being heard are made beside the transaction, so that they are still there when the process is not.
// They are not waited for to be on disk: one that a crash of the server takes along was of no use.
const beginBatch = prepared<object, []>(
  'begin to hear a batch',
  `/* service */ with hurry as (select set_config('synchronous_commit', 'off', true))
   update event_dispatch_state set in_progress = true, event_id = null, crash_count = case when in_progress then crash_count + 1 else 0 end from hurry`,
);
const beginAlone = prepared<{ event_crash_count: number }, [string]>(
  'begin to hear one event',
  `/* service */ with hurry as (select set_config('synchronous_commit', 'off', true))
   update event_dispatch_state set in_progress = true, event_id = $1,
     event_crash_count = case when in_progress and event_id = $1 then event_crash_count + 1 else 0 end
   from hurry returning event_crash_count`,
);
const endTurn = prepared<object, [boolean]>(
  'end to hear events',
  '/* service */ update event_dispatch_state set in_progress = false, event_id = null, crash_count = case when $1 then 0 else crash_count end',
);

function hearBatch({ db: outer, listeners, now }: Dispatch): Promise<number> {
  return transaction(outer, async (db) => {
    const [turn] = await claimTurn(db);
    if (!turn?.mine) return 0;
    const events = await listWaiting(db, batchSize);
    if (events.length === 0) return 0;
    await beginBatch(outer);
    await hear(db, listeners, events, now);
    await markDispatched(
      db,
      events.map((event) => event.id),
    );
    await endTurn(db, true);
    return events.length;
  });
}

async function hear(
  db: AnyDb,
  listeners: readonly Listener<AnyDb>[],
  events: readonly Event[],
  now: Date,
): Promise<void> {
  for (const { names, afterCommit: after } of listeners) {
    if (after === undefined) continue;
    const heard = events.filter((event) => names.includes(event.name));
    if (heard.length > 0) await after(db, heard as unknown as readonly Event<never>[], now);
  }
}

async function oneByOne(of: Dispatch): Promise<number> {
  let done = 0;
  for (const event of await listWaiting(of.db, batchSize)) {
    try {
      done += await hearAlone(of, event);
    } catch (error) {
      if (classifyFailure(error) !== undefined) throw error;
      of.onFailure(event, error);
      await setAside(of.db, event.id, toErrorText(error));
    }
  }
  await endTurn(of.db, true);
  return done;
}

function hearAlone({ db: outer, listeners, now }: Dispatch, event: Event): Promise<number> {
  return transaction(outer, async (db) => {
    const [turn] = await claimTurn(db);
    if (!turn?.mine || !(await stillWaits(db, event.id))) return 0;
    const [begun] = await beginAlone(outer, event.id);
    if ((begun?.event_crash_count ?? 0) >= maxCrashes)
      throw new Error('the process that heard it ended, again and again');
    await hear(db, listeners, [event], now);
    await markDispatched(db, [event.id]);
    await endTurn(db, false);
    return 1;
  });
}

async function stillWaits(db: AnyDb, id: string): Promise<boolean> {
  const { rows } = await sql`/* service */ select 1 from events where id = ${id} and dispatched_at is null`.execute(db);
  return rows.length > 0;
}

const longestRetryMs = 60 * 60 * 1000;

/** Tried again after 1 s, 2 s, 4 s … at most an hour, for as long as it takes: an event is never dropped. */
async function setAside(db: AnyDb, id: string, reason: string): Promise<void> {
  await sql`/* service */ update events set failures = failures + 1, failure = ${reason},
    retry_at = statement_timestamp()
      + least(1000 * power(2, least(failures, 20)), ${longestRetryMs}) * interval '1 ms'
    where id = ${id}`.execute(db);
}
