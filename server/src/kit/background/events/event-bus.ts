// Owns events: told by one insert in the transaction that caused them, heard by listeners. Commit = it will be heard,
// rollback = it never happened. `inTransaction` listeners run at once, inside; `after` listeners run in workers.
import { sql } from 'kysely';
import { type AnyDb, afterCommit, prepared } from '../../db/database.ts';
import { newId } from '../../ids.ts';
import type { WakeUps } from '../workers/wake.ts';
import { dispatch, type Event, type Listener } from './dispatch.ts';

/** Makes listeners whose payloads have the types of the catalogue. */
export const createListeners = <Events extends { [Name in keyof Events]: object }, Db>() => ({
  listenInTransaction: <Name extends keyof Events & string>(
    name: Name,
    listen: (db: Db, payload: Events[Name], now: Date) => Promise<void>,
  ): Listener<Db> => ({ names: [name], inTransaction: listen as Listener<Db>['inTransaction'] }),
  /** Of several names: one listener that hears them in the order of the log. */
  listenAfterCommit: <Name extends keyof Events & string>(
    names: Name | readonly Name[],
    listen: (db: Db, events: readonly Event<Events[Name]>[], now: Date) => Promise<void>,
  ): Listener<Db> => ({ names: [names].flat() as string[], afterCommit: listen as Listener<Db>['afterCommit'] }),
});

/** An event as it stands in the table. */
export interface EventRow {
  readonly id: string;
  readonly name: string;
  readonly payload: string;
  readonly occurred_at: Date;
}

export interface EventBus<Events, Db> {
  publish<Name extends keyof Events & string>(db: Db, name: Name, payload: Events[Name], now: Date): Promise<void>;
  /**
   * An event for a statement that makes a change and inserts what it tells, at once; `told` must follow. Nobody can listen
   * in the transaction of such an event: there is no moment for it.
   */
  newRow<Name extends keyof Events & string>(name: Name, payload: Events[Name], now: Date): EventRow;
  /** Wakes the dispatcher once what was inserted is committed. */
  published(db: Db): void;
  /** Called once, when every feature is there. */
  listen(listeners: readonly Listener<Db>[]): void;
  /** Lets the `after` listeners hear one batch of what waits; gives how many events were done. */
  dispatch(db: Db, now: Date): Promise<number>;
}

/** What wakes the dispatcher. */
export const eventsTopic = 'events';

const insertEvent = prepared<object, [string, string, string, Date]>(
  'publish event',
  'insert into events (id, name, payload, occurred_at) values ($1, $2, $3, $4)',
);

export function eventBus<Events extends { [Name in keyof Events]: object }, Db extends AnyDb>(
  wake: Pick<WakeUps, 'notify'>,
  onFailure: (event: Event, error: unknown) => void,
): EventBus<Events, Db> {
  let all: readonly Listener<Db>[] = [];
  const told = (db: Db) => afterCommit(db, () => wake.notify(eventsTopic));
  return {
    async publish(db, name, payload, now) {
      await insertEvent(db, newId(), name, JSON.stringify(payload), now);
      for (const listener of all) {
        if (listener.names.includes(name)) await listener.inTransaction?.(db, payload as never, now);
      }
      told(db);
    },
    newRow(name, payload, now) {
      if (all.some((listener) => listener.inTransaction && listener.names.includes(name)))
        throw new Error(`${name} is told by the statement that causes it: nobody can listen in its transaction`);
      return { id: newId(), name, payload: JSON.stringify(payload), occurred_at: now };
    },
    published: told,
    listen: (listeners) => {
      all = listeners;
    },
    dispatch: (db, now) => dispatch({ db, listeners: all as readonly Listener<AnyDb>[], now, onFailure }),
  };
}

const keptMs = 7 * 24 * 60 * 60 * 1000;

/** Events that were heard are kept for a week, to be looked at. Gives how many went. */
export async function removeDispatchedEvents(db: AnyDb, now: Date): Promise<number> {
  const oldest = new Date(now.getTime() - keptMs);
  const { numAffectedRows } = await sql`/* service */ delete from events where id in (
    select id from events where dispatched_at < ${oldest} limit 5000)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
