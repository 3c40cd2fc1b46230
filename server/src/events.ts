// Owns what features tell each other: the names of events and what each carries. A listener runs in the transaction of
// the change it hears of, so that both happen or neither.
import type { Db } from './tables.ts';

export interface Events {
  /** A member left the workspace or was removed. What they owned passes to its owner. */
  'member.removed': { readonly workspace_id: string; readonly user_id: string; readonly owner_id: string };
}

export type Event = { [Name in keyof Events]: { readonly name: Name; readonly payload: Events[Name] } }[keyof Events];

/** Tells every room that listens, in this transaction. */
export type Publish = (db: Db, event: Event, now: Date) => Promise<void>;

/** What a room does when it hears of something. */
export type Listens = { readonly [Name in keyof Events]?: (db: Db, payload: Events[Name], now: Date) => Promise<void> };
