// What features may tell each other: the names of events and what each carries, frozen as a receiver will see it.
import { type EventBus, listenersOf } from './kit/later/events.ts';
import type { Db } from './tables.ts';

/** A message as the world outside is told of it (docs/contract.md §4.4). */
export interface ToldMessage {
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly conversation_id: string;
  readonly data: {
    readonly message: {
      readonly id: string;
      readonly role: 'user' | 'assistant';
      readonly content: string;
      /** The content was longer than an event takes. */
      readonly content_truncated?: true;
      readonly file_urls: readonly string[];
      readonly created_date: string;
      readonly updated_date: string;
    };
    readonly user: { readonly id: string; readonly email: string };
  };
}

export interface Events {
  /** A person's or an agent's message was added to a conversation. */
  'message.created': ToldMessage;
  /** An agent finished its reply: the same message, right after. */
  'message.completed': ToldMessage;
  /** A member left the workspace or was removed. What they owned passes to its owner. */
  'member.removed': { readonly workspace_id: string; readonly user_id: string; readonly owner_id: string };
}

export type Publish = EventBus<Events, Db>['publish'];

/** Listens in the transaction of the change itself: both happen, or neither. */
export const { inTransaction } = listenersOf<Events, Db>();
