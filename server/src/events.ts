// Owns the events that features publish: their names and payloads. A payload is stored as receivers will get it.
import type { Event } from './kit/background/events/dispatch.ts';
import { createListeners, type EventBus } from './kit/background/events/event-bus.ts';
import type { Db } from './tables.ts';

/** A message as webhooks deliver it (docs/api/webhooks.md). */
export interface MessageEvent {
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly conversation_id: string;
  readonly data: {
    readonly message: {
      readonly id: string;
      readonly role: 'user' | 'assistant';
      readonly content: string;
      /** The content was cut, because it is too long for an event. */
      readonly content_truncated?: true;
      readonly file_urls: readonly string[];
      readonly created_date: string;
      readonly updated_date: string;
    };
    readonly user: { readonly id: string; readonly email: string };
  };
}

/** A change of an app's record as webhooks deliver it (docs/api/entities.md). */
export interface RecordEvent {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly entity_name: string;
  readonly entity_id: string;
  /** All fields, whatever the read rules say; null if there is no record, or both together are too large for an event. */
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly old_data: Readonly<Record<string, unknown>> | null;
  readonly changed_fields: readonly string[];
  readonly actor: { readonly id: string; readonly email: string } | null;
  /** For the audit log; receivers don't get it. Null for app users and anonymous callers. */
  readonly credential_id: string | null;
  /** How many automations and workflows are between a person's change and this one. */
  readonly depth: number;
  readonly payload_too_large: boolean;
}

export interface EmittedEvent {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly type: string;
  readonly data: unknown;
  /** How many workflows and automations are between a person's change and this event. */
  readonly depth: number;
  readonly run_id: string;
}

export interface Events {
  /** A person's or an agent's message was added to a conversation. */
  'message.created': MessageEvent;
  /** An agent completed its reply. Published for the same message right after `message.created`. */
  'message.completed': MessageEvent;
  /** A record was created or restored. */
  'entity.created': RecordEvent;
  'entity.updated': RecordEvent;
  'entity.deleted': RecordEvent;
  /** Another snapshot of an app's files is live: a new one, or an earlier one again. */
  'app.published': {
    readonly workspace_id: string;
    readonly app_id: string;
    readonly deployment_id: string;
    readonly revision: number;
  };
  /** A run of a workflow has emitted an event. `type` and `data` are what its definition says. */
  'app.event_emitted': EmittedEvent;
  /** A member left the workspace or was removed. Their apps now belong to `owner_id`. */
  'member.removed': { readonly workspace_id: string; readonly user_id: string; readonly owner_id: string };
}

export type Publish = EventBus<Events, Db>['publish'];

/** For changes whose own statement inserts their events. */
export type EventWriter = Pick<EventBus<Events, Db>, 'newRow' | 'published'>;

/** Create listeners that run in the transaction of the change, or in a worker after it has committed. */
export const { listenInTransaction, listenAfterCommit } = createListeners<Events, Db>();

/** A change of a record as webhooks, automations and workflows receive it. The log loses the order of keys, so it is set here. */
export function presentRecordEvent({ id, name: type, occurred_at, payload }: Event<RecordEvent>) {
  const { app_id, entity_name, entity_id, data, old_data, changed_fields, depth, payload_too_large } = payload;
  const actor = payload.actor && { id: payload.actor.id, email: payload.actor.email };
  const what = { id, type, created_at: occurred_at.toISOString(), app_id, entity_name, entity_id };
  return { ...what, data, old_data, changed_fields, actor, depth, payload_too_large };
}

/** A message as webhooks and workflows receive it. */
export function presentMessageEvent({ id: event_id, name: type, occurred_at, payload }: Event<MessageEvent>) {
  const { agent_id, conversation_id, data } = payload;
  const { id, role, content, content_truncated, file_urls, created_date, updated_date } = data.message;
  const message = { id, role, content, content_truncated, file_urls, created_date, updated_date };
  const what = { id: event_id, type, created_at: occurred_at.toISOString(), agent_id, conversation_id };
  return { ...what, data: { message, user: { id: data.user.id, email: data.user.email } } };
}
