// Matches events with triggers, and the input for the runs that an event starts.
import {
  type Events,
  type MessageEvent,
  presentMessageEvent,
  presentRecordEvent,
  type RecordEvent,
} from '../../../events.ts';
import type { Event } from '../../../kit/background/events/dispatch.ts';
import type { Trigger, TriggerConfig } from './trigger.ts';

const recordEvents = ['entity.created', 'entity.updated', 'entity.deleted'] as const;
const messageEvents = ['message.created', 'message.completed'] as const;
export const triggeringEvents = [...recordEvents, ...messageEvents, 'app.published', 'app.event_emitted'] as const;

type Name = (typeof triggeringEvents)[number];
export type TriggeringEvent = Event<Events[Name]>;

/**
 * An event as triggers see it. An agent's messages may start workflows in any of the workspace's apps. Other events
 * only start workflows in their own app.
 */
export interface Occurrence {
  readonly workspace_id: string;
  /** Null means any app in the workspace. */
  readonly app_id: string | null;
  readonly trigger_type: TriggerConfig['trigger_type'];
  readonly trigger_key: string | null;
  readonly depth: number;
}

export function toOccurrence({ name, payload }: TriggeringEvent): Occurrence {
  const { workspace_id } = payload;
  const depth = 'depth' in payload && typeof payload.depth === 'number' ? payload.depth : 0;
  if (isRecordEvent(name, payload))
    return { workspace_id, app_id: payload.app_id, trigger_type: 'entity', trigger_key: payload.entity_name, depth };
  if (isMessageEvent(name, payload))
    return { workspace_id, app_id: null, trigger_type: 'agent_message', trigger_key: payload.agent_id, depth };
  if (isEmitted(name, payload))
    return { workspace_id, app_id: payload.app_id, trigger_type: 'event', trigger_key: payload.type, depth };
  return { workspace_id, app_id: toAppId(payload), trigger_type: 'app_publish', trigger_key: null, depth };
}

/** Returns the app or agent that the event is about. */
export const toAppId = (payload: TriggeringEvent['payload']): string =>
  'agent_id' in payload ? payload.agent_id : payload.app_id;

/** Whether a trigger that waits for this type of event is also waiting for this particular event. */
export function isWaitedFor({ config }: Trigger, { name }: TriggeringEvent): boolean {
  if (config.trigger_type === 'entity') return config.event_types.some((type) => `entity.${type}d` === name);
  return config.trigger_type !== 'agent_message' || config.event === name;
}

/** Returns the run's input, which is the same payload that webhooks deliver. */
export function toRunInput(event: TriggeringEvent): Readonly<Record<string, unknown>> {
  const { id, name, occurred_at, payload } = event;
  if (isRecordEvent(name, payload)) return presentRecordEvent({ ...event, payload });
  if (isMessageEvent(name, payload)) return presentMessageEvent({ ...event, payload });
  const what = { id, type: name, created_at: occurred_at.toISOString() };
  if (isEmitted(name, payload)) return { ...what, app_id: payload.app_id, type: payload.type, data: payload.data };
  const { app_id, deployment_id, revision } = payload as Events['app.published'];
  return { ...what, app_id, deployment_id, revision };
}

type Payload = TriggeringEvent['payload'];
const isRecordEvent = (name: string, _payload: Payload): _payload is RecordEvent =>
  (recordEvents as readonly string[]).includes(name);
const isMessageEvent = (name: string, _payload: Payload): _payload is MessageEvent =>
  (messageEvents as readonly string[]).includes(name);
const isEmitted = (name: string, _payload: Payload): _payload is Events['app.event_emitted'] =>
  name === 'app.event_emitted';
