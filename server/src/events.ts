// The names and payloads of the events that features publish. A payload is stored in the form that receivers get.
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
      /** Set if the content was truncated because it is too long for an event. */
      readonly content_truncated?: true;
      readonly file_urls: readonly string[];
      readonly created_date: string;
      readonly updated_date: string;
    };
    readonly user: { readonly id: string; readonly email: string };
  };
}

/** A change to an app's record as webhooks deliver it (docs/api/entities.md). */
export interface RecordEvent {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly entity_name: string;
  readonly entity_id: string;
  /**
   * All fields, regardless of the read rules. Null if there is no record, or if `data` and `old_data` together are too
   * large for an event.
   */
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly old_data: Readonly<Record<string, unknown>> | null;
  readonly changed_fields: readonly string[];
  readonly actor: { readonly id: string; readonly email: string } | null;
  /** For the audit log. Not sent to receivers. Null for app users and anonymous callers. */
  readonly credential_id: string | null;
  /** The number of automations and workflows between a person's change and this one. */
  readonly depth: number;
  readonly payload_too_large: boolean;
}

export interface EmittedEvent {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly type: string;
  readonly data: unknown;
  /** The number of workflows and automations between a person's change and this event. */
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
  /** A new or an earlier snapshot of an app's files has gone live. */
  'app.published': {
    readonly workspace_id: string;
    readonly app_id: string;
    readonly deployment_id: string;
    readonly revision: number;
  };
  /** A workflow run has emitted an event. `type` and `data` come from its definition. */
  'app.event_emitted': EmittedEvent;
  /** A member left the workspace or was removed. Their apps now belong to `owner_id`. */
  'member.removed': { readonly workspace_id: string; readonly user_id: string; readonly owner_id: string };
}

export type Publish = EventBus<Events, Db>['publish'];

/** For changes that insert their events in their own statement. */
export type EventWriter = Pick<EventBus<Events, Db>, 'newRow' | 'published'>;

/** Functions for creating listeners that run in the change's transaction, or in a worker after the commit. */
export const { listenInTransaction, listenAfterCommit } = createListeners<Events, Db>();

/**
 * Returns a change to a record as webhooks, automations and workflows receive it. The order of keys is set here,
 * because the log does not preserve it.
 */
export function presentRecordEvent({ id, name: type, occurred_at, payload }: Event<RecordEvent>) {
  const { app_id, entity_name, entity_id, data, old_data, changed_fields, depth, payload_too_large } = payload;
  const actor = payload.actor && { id: payload.actor.id, email: payload.actor.email };
  const what = { id, type, created_at: occurred_at.toISOString(), app_id, entity_name, entity_id };
  return { ...what, data, old_data, changed_fields, actor, depth, payload_too_large };
}

/** Returns a message as webhooks and workflows receive it. */
export function presentMessageEvent({ id: event_id, name: type, occurred_at, payload }: Event<MessageEvent>) {
  const { agent_id, conversation_id, data } = payload;
  const { id, role, content, content_truncated, file_urls, created_date, updated_date } = data.message;
  const message = { id, role, content, content_truncated, file_urls, created_date, updated_date };
  const what = { id: event_id, type, created_at: occurred_at.toISOString(), agent_id, conversation_id };
  return { ...what, data: { message, user: { id: data.user.id, email: data.user.email } } };
}
