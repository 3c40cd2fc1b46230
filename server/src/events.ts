// What features may tell each other: the names of events and what each carries, frozen as a receiver will see it.
import { type EventBus, listenersOf } from './kit/later/events.ts';
import type { Db } from './tables.ts';

export interface Events {
  /** A member left the workspace or was removed. What they owned passes to its owner. */
  'member.removed': { readonly workspace_id: string; readonly user_id: string; readonly owner_id: string };
}

export type Publish = EventBus<Events, Db>['publish'];

/** Listens in the transaction of the change itself: both happen, or neither. */
export const { inTransaction } = listenersOf<Events, Db>();
