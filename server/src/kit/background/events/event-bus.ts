// Events. Publishing inserts an event in the same transaction as the change that caused it. If the transaction
// commits, the event will be dispatched. If it rolls back, there is no event.
import { type CompiledQuery, sql } from 'kysely';
import { type AnyDb, afterCommit, prepared } from '../../db/database.ts';
import { sendWithCommit } from '../../db/send.ts';
import { newId } from '../../ids.ts';
import { purge } from '../purge.ts';
import type { KnownRows } from '../queues/claim.ts';
import type { LogReaderOptions } from '../queues/logs.ts';
import type { WakeUps } from '../workers/wake.ts';
import {
  type BatchContext,
  createEventReader,
  dispatch,
  type Event,
  type Listener,
  newDispatchPace,
  type RunningQueues,
} from './dispatch.ts';

type Read<Payload, Row> = (events: readonly Event<Payload>[]) => CompiledQuery<Row>;
type Handle<Payload, Db, Row = never> = (
  db: Db,
  events: readonly Event<Payload>[],
  context: BatchContext<Row>,
) => Promise<void>;

/** Creates listeners whose payload types are declared in `Events`. */
export const createListeners = <Events extends { [Name in keyof Events]: object }, Db>() => ({
  listenInTransaction: <Name extends keyof Events & string>(
    name: Name,
    handle: (db: Db, payload: Events[Name], now: Date) => Promise<void>,
  ): Listener<Db> => ({ names: [name], inTransaction: handle }),
  /** A listener with several names receives all matching events in log order. */
  listenAfterCommit: <Name extends keyof Events & string, Row = never>(
    names: Name | readonly Name[],
    handling: Handle<Events[Name], Db> | { read: Read<Events[Name], Row>; handle: Handle<Events[Name], Db, Row> },
  ): Listener<Db> => {
    const { read, handle } = typeof handling === 'function' ? { read: undefined, handle: handling } : handling;
    return { names: typeof names === 'string' ? [names] : names, read, afterCommit: handle } as Listener<Db>;
  },
});

export interface EventRow {
  readonly id: string;
  readonly name: string;
  readonly payload: string;
  readonly occurred_at: Date;
}

export interface EventBus<Events, Db> {
  publish<Name extends keyof Events & string>(db: Db, name: Name, payload: Events[Name], now: Date): Promise<void>;
  /**
   * Builds an event for a statement that makes a change and inserts the event itself. Call `published` after the
   * statement. The event can't have `inTransaction` listeners.
   */
  newRow<Name extends keyof Events & string>(name: Name, payload: Events[Name], now: Date): EventRow;
  /** Wakes the dispatcher after the transaction that inserted events has committed. */
  published(db: Db): void;
  /** Sets the listeners. Called once, after all features have been created. */
  listen(listeners: readonly Listener<Db>[]): void;
  /**
   * Calls the `afterCommit` listeners with one batch of pending events and returns how many events were handled.
   * `queues` are the queues running in this process.
   */
  dispatch(db: Db, now: Date, queues?: RunningQueues): Promise<number>;
  /** What polling needs to know of the pending events. */
  readonly known: KnownRows;
}

/** The dispatcher's wake-up topic. */
export const eventsTopic = 'events';

const insertEvent = prepared<object, [string, string, string, Date]>(
  'publish event',
  'insert into events (id, name, payload, occurred_at) values ($1, $2, $3, $4)',
);

export function eventBus<Events extends { [Name in keyof Events]: object }, Db extends AnyDb>(
  wake: Pick<WakeUps, 'notify'>,
  onFailure: (event: Event, error: unknown) => void,
  options: LogReaderOptions = {},
): EventBus<Events, Db> {
  let listeners: readonly Listener<Db>[] = [];
  const pace = newDispatchPace();
  const reader = createEventReader(options);
  const published = (db: Db) => afterCommit(db, () => wake.notify(eventsTopic));
  return {
    async publish(db, name, payload, now) {
      await sendWithCommit(db, insertEvent.query(newId(), name, JSON.stringify(payload), now));
      for (const listener of listeners) {
        if (listener.names.includes(name)) await listener.inTransaction?.(db, payload, now);
      }
      published(db);
    },
    newRow(name, payload, now) {
      if (listeners.some((listener) => listener.inTransaction && listener.names.includes(name)))
        throw new Error(
          `${name} is inserted by the statement that causes it, so it can't have inTransaction listeners`,
        );
      return { id: newId(), name, payload: JSON.stringify(payload), occurred_at: now };
    },
    published,
    listen: (all) => {
      listeners = all;
    },
    dispatch: (db, now, queues = new Map()) => dispatch({ db, listeners, now, queues, onFailure, pace, reader }),
    get known() {
      return reader.known;
    },
  };
}

/** Returns the events that still exist, for work that reads its event's payload later. */
export const listEvents = <Payload>(db: AnyDb, ids: readonly string[]): Promise<Event<Payload>[]> =>
  selectEvents(db, ids) as Promise<Event<Payload>[]>;

const selectEvents = prepared<Event, [readonly string[]]>(
  'list events by id',
  '/* service */ select id, name, payload, occurred_at from events where id = any($1::uuid[])',
);

const minuteMs = 60 * 1000;
const keptMs = 10 * minuteMs;
/** Events with a larger payload are removed sooner, so nobody fills the log with them. */
const largePayload = { bytes: 8 * 1024, keptMs: minuteMs };

/**
 * Removes dispatched events that nothing needs any more. `neededIf` are SQL conditions on `events.id` that
 * are true for an event that is still needed. Returns how many were removed.
 */
export async function removeDispatchedEvents(db: AnyDb, neededIf: readonly string[], now: Date): Promise<number> {
  const before = (ms: number) => new Date(now.getTime() - ms);
  const isNeeded = ['false', ...neededIf].map((condition) => `(${condition})`).join(' or ');
  const where = sql`dispatched_at < ${before(largePayload.keptMs)}
    and (dispatched_at < ${before(keptMs)} or pg_column_size(payload) > ${largePayload.bytes})
    and not (${sql.raw(isNeeded)})`;
  return purge(db, { table: 'events', where });
}
