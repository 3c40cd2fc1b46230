// What features may tell each other: the names of events and what each carries, frozen as a receiver will see it.
import { createListeners, type EventBus } from './kit/background/events/event-bus.ts';
import type { Db } from './tables.ts';

/** A message as the world outside is told of it (docs/contract.md §4.4). */
export interface MessageEvent {
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

/** A change of an app's record as the world outside is told of it (docs/contract.md §5.10). */
export interface RecordEvent {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly entity_name: string;
  readonly entity_id: string;
  /** Whole records, unfiltered by read rules; null where there is none, or both together are too large for an event. */
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly old_data: Readonly<Record<string, unknown>> | null;
  readonly changed_fields: readonly string[];
  readonly actor: { readonly id: string; readonly email: string } | null;
  /** How many automations and workflows lie between a person's change and this one. */
  readonly depth: number;
  readonly payload_too_large: boolean;
}

export interface Events {
  /** A person's or an agent's message was added to a conversation. */
  'message.created': MessageEvent;
  /** An agent finished its reply: the same message, right after. */
  'message.completed': MessageEvent;
  /** A record was created or restored, changed, deleted. */
  'entity.created': RecordEvent;
  'entity.updated': RecordEvent;
  'entity.deleted': RecordEvent;
  /** A member left the workspace or was removed. What they owned passes to its owner. */
  'member.removed': { readonly workspace_id: string; readonly user_id: string; readonly owner_id: string };
}

export type Publish = EventBus<Events, Db>['publish'];

/** For changes whose own statement inserts what they tell. */
export type EventWriter = Pick<EventBus<Events, Db>, 'newRow' | 'published'>;

/** Listens in the transaction of the change itself: both happen, or neither; or in a worker, once it is committed. */
export const { listenInTransaction, listenAfterCommit } = createListeners<Events, Db>();
