// Owns events: told by one insert in the transaction that caused them, heard by listeners. Commit = it will be heard,
// rollback = it never happened. `inTransaction` listeners run at once, inside; `after` listeners run in workers.
import { sql } from 'kysely';
import { type AnyDb, afterCommit, prepared, transaction } from '../db/database.ts';
import { newId } from '../ids.ts';
import type { Wake } from './wake.ts';

export interface Event<Payload = unknown> {
  readonly id: string;
  readonly name: string;
  readonly payload: Payload;
  readonly occurred_at: Date;
}

interface Listener<Db> {
  readonly event: string;
  /** In the transaction that tells the event: database only, for what must never be seen undone. */
  readonly inTransaction?: (db: Db, payload: never, now: Date) => Promise<void>;
  /** In a worker, once for each batch: everything it writes commits together with the batch being done. */
  readonly after?: (db: Db, events: readonly Event<never>[], now: Date) => Promise<void>;
}

/** Makes listeners whose payloads have the types of the catalogue. */
export const listenersOf = <Events extends { [Name in keyof Events]: object }, Db>() => ({
  inTransaction: <Name extends keyof Events & string>(
    event: Name,
    listen: (db: Db, payload: Events[Name], now: Date) => Promise<void>,
  ): Listener<Db> => ({ event, inTransaction: listen as Listener<Db>['inTransaction'] }),
  after: <Name extends keyof Events & string>(
    event: Name,
    listen: (db: Db, events: readonly Event<Events[Name]>[], now: Date) => Promise<void>,
  ): Listener<Db> => ({ event, after: listen as Listener<Db>['after'] }),
});

export type { Listener };

export interface EventBus<Events, Db> {
  publish<Name extends keyof Events & string>(db: Db, name: Name, payload: Events[Name], now: Date): Promise<void>;
  /** Called once, when every feature is there. */
  listen(listeners: readonly Listener<Db>[]): void;
  /** Lets the `after` listeners hear one batch of what waits; gives how many events were done. */
  dispatch(db: Db, now: Date): Promise<number>;
}

const topic = 'events';
const batchSize = 1_000;

const insertEvent = prepared<object, [string, string, string, Date]>(
  'publish event',
  'insert into events (id, name, payload, occurred_at) values ($1, $2, $3, $4)',
);

export function eventBus<Events extends { [Name in keyof Events]: object }, Db extends AnyDb>(
  wake: Pick<Wake, 'tell'>,
  onFailure: (event: Event, error: unknown) => void,
): EventBus<Events, Db> {
  let all: readonly Listener<Db>[] = [];
  return {
    async publish(db, name, payload, now) {
      await insertEvent(db, newId(), name, JSON.stringify(payload), now);
      for (const listener of all) {
        if (listener.event === name) await listener.inTransaction?.(db, payload as never, now);
      }
      afterCommit(db, () => wake.tell(topic));
    },
    listen: (listeners) => {
      all = listeners;
    },
    dispatch: (db, now) => dispatch(db, all, now, onFailure),
  };
}

/** What wakes the dispatcher. */
export const eventsTopic = topic;

// One dispatcher at a time in a cell, so that listeners hear events in the order of the log.
const claimTurn = prepared<{ mine: boolean }, []>(
  'claim the turn to dispatch',
  "select pg_try_advisory_xact_lock(hashtextextended('dispatch events', 0)) as mine",
);
const anyWaiting = prepared<object, [Date]>(
  'any waiting event',
  `/* service */ select 1 from events
   where dispatched_at is null and (retry_at is null or retry_at <= $1) order by id limit 1`,
);
const listWaiting = prepared<Event, [Date, number]>(
  'list waiting events',
  `/* service */ select id, name, payload, occurred_at from events
   where dispatched_at is null and (retry_at is null or retry_at <= $1) order by id limit $2`,
);
const markDispatched = prepared<object, [readonly string[], Date]>(
  'mark events dispatched',
  '/* service */ update events set dispatched_at = $2 where id = any($1::uuid[])',
);

async function dispatch<Db extends AnyDb>(
  db: Db,
  listeners: readonly Listener<Db>[],
  now: Date,
  onFailure: (event: Event, error: unknown) => void,
): Promise<number> {
  if ((await anyWaiting(db, now)).length === 0) return 0; // the usual answer, and the cheapest question
  try {
    return (await dispatchBatch(db, listeners, now, batchSize)).length;
  } catch {
    // Something in this batch cannot be heard. One at a time, the others can; this one waits with its reason.
    return dispatchOneByOne(db, listeners, now, onFailure);
  }
}

async function dispatchBatch<Db extends AnyDb>(
  db: Db,
  listeners: readonly Listener<Db>[],
  now: Date,
  size: number,
): Promise<readonly Event[]> {
  return transaction(db, async (db) => {
    const [turn] = await claimTurn(db);
    if (!turn?.mine) return [];
    const events = await listWaiting(db, now, size);
    if (events.length === 0) return events;
    await hear(db as Db, listeners, events, now);
    await markDispatched(
      db,
      events.map((event) => event.id),
      now,
    );
    return events;
  });
}

async function hear<Db extends AnyDb>(
  db: Db,
  listeners: readonly Listener<Db>[],
  events: readonly Event[],
  now: Date,
): Promise<void> {
  const byName = Map.groupBy(events, (event) => event.name);
  for (const { event, after } of listeners) {
    const heard = byName.get(event);
    if (after !== undefined && heard !== undefined) await after(db, heard as unknown as readonly Event<never>[], now);
  }
}

const longestRetryMs = 60 * 60 * 1000;

async function dispatchOneByOne<Db extends AnyDb>(
  db: Db,
  listeners: readonly Listener<Db>[],
  now: Date,
  onFailure: (event: Event, error: unknown) => void,
): Promise<number> {
  const waiting = await listWaiting(db, now, batchSize);
  let done = 0;
  for (const event of waiting) {
    try {
      done += await transaction(db, async (db) => {
        const [turn] = await claimTurn(db);
        if (!turn?.mine || !(await stillWaits(db, event.id))) return 0;
        await hear(db as Db, listeners, [event], now);
        await markDispatched(db, [event.id], now);
        return 1;
      });
    } catch (error) {
      onFailure(event, error);
      await setAside(db, event.id, error, now);
    }
  }
  return done;
}

async function stillWaits(db: AnyDb, id: string): Promise<boolean> {
  const { rows } = await sql`/* service */ select 1 from events where id = ${id} and dispatched_at is null`.execute(db);
  return rows.length > 0;
}

/** Tried again after 1 s, 2 s, 4 s … at most an hour, for as long as it takes: an event is never dropped. */
async function setAside(db: AnyDb, id: string, error: unknown, now: Date): Promise<void> {
  const reason = (error instanceof Error ? error.message : String(error)).slice(0, 1_000);
  await sql`/* service */ update events set failures = failures + 1, failure = ${reason},
    retry_at = ${now}::timestamptz + least(1000 * power(2, least(failures, 20)), ${longestRetryMs}) * interval '1 ms'
    where id = ${id}`.execute(db);
}

const keptMs = 7 * 24 * 60 * 60 * 1000;

/** Events that were heard are kept for a week, to be looked at. Gives how many went. */
export async function forgetDispatched(db: AnyDb, now: Date): Promise<number> {
  const oldest = new Date(now.getTime() - keptMs);
  const { numAffectedRows } = await sql`/* service */ delete from events where id in (
    select id from events where dispatched_at < ${oldest} limit 5000)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
