// Owns the shapes of webhooks and deliveries that a caller sees (docs/api/webhooks.md).
import { z } from 'zod';
import type { JsonRow } from '../../core/auth/lookup.ts';
import {
  answer,
  body,
  clearable,
  count,
  id,
  integer,
  list,
  oneOf,
  optional,
  pageQuery,
  query,
  queryInteger,
  queryTime,
  text,
  timestamp,
  urlText,
} from '../../kit/http/shapes.ts';

export const webhookEvents = {
  agent: ['message.created', 'message.completed'],
  app: ['entity.created', 'entity.updated', 'entity.deleted'],
} as const;
export type Scope = keyof typeof webhookEvents;

export const LastError = answer('WebhookError', {
  message: z.string(),
  attempted_at: timestamp,
  status_code: count.nullable(),
  response_body: z.string().nullable().meta({ description: 'The first 512 bytes of the response body.' }),
  error_type: z.string().nullable(),
});
export type LastError = z.input<typeof LastError>;

const commonFields = {
  description: z.string().nullable(),
  has_secret: z.boolean(),
  last_trigger_time: timestamp.nullable(),
  last_error: LastError.nullable(),
  consecutive_failures: count,
  disabled_at: timestamp.nullable(),
  created_date: timestamp,
  updated_date: timestamp,
  secret: z
    .string()
    .nullable()
    .optional()
    .meta({ description: 'The signing secret. Only the response that creates it contains it.' }),
};

export const Webhook = answer('Webhook', {
  id,
  target_url: z.string(),
  events: z.array(oneOf(...webhookEvents.agent)),
  ...commonFields,
});

export const AppWebhook = answer('AppWebhook', {
  id,
  target_url: z.string(),
  events: z.array(oneOf(...webhookEvents.app)),
  entity_names: z
    .array(z.string())
    .nullable()
    .meta({ description: 'The entities whose events the webhook receives. Null means all.' }),
  ...commonFields,
});

const eventList = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  list(oneOf(...names), 1, 100).transform((events) => [...new Set(events)] as string[]);

const newFields = {
  target_url: urlText,
  description: optional(text(0, 500)),
  generate_secret: optional(z.boolean()),
};
const changeFields = {
  target_url: optional(urlText),
  description: clearable(text(0, 500)),
  enabled: optional(z.boolean()),
  signing: optional(oneOf('rotate', 'disable')),
};
export const entityNames = list(text(1, 64), 1, 100);

export const NewWebhook = body({ ...newFields, events: eventList(webhookEvents.agent) });
export const NewAppWebhook = body({
  ...newFields,
  events: eventList(webhookEvents.app),
  entity_names: clearable(entityNames),
});
export type NewWebhook = z.output<typeof NewWebhook> & Partial<z.output<typeof NewAppWebhook>>;

export const WebhookChange = body({ ...changeFields, events: optional(eventList(webhookEvents.agent)) });
export const AppWebhookChange = body({
  ...changeFields,
  events: optional(eventList(webhookEvents.app)),
  entity_names: clearable(entityNames),
});
export type WebhookChange = z.output<typeof WebhookChange> & Partial<z.output<typeof AppWebhookChange>>;

export interface WebhookRow {
  readonly workspace_id: string;
  readonly id: string;
  readonly app_id: string;
  readonly scope: Scope;
  readonly target_url: string;
  readonly events: string[];
  readonly entity_names: string[] | null;
  readonly description: string | null;
  readonly secret: string | null;
  readonly previous_secret: string | null;
  readonly previous_secret_expires_at: Date | null;
  readonly last_trigger_time: Date | null;
  readonly last_error: LastError | null;
  readonly consecutive_failures: number;
  readonly disabled_at: Date | null;
  readonly replay_until: Date | null;
  readonly resync_pending: boolean;
  /** The person who created it; null if that was not recorded. Not part of what callers see. */
  readonly created_by_id: string | null;
  readonly created_date: Date;
  readonly updated_date: Date;
}

export function webhookFromJson(json: JsonRow<WebhookRow>): WebhookRow {
  const toDate = (time: string | null) => (time === null ? null : new Date(time));
  return {
    ...json,
    previous_secret_expires_at: toDate(json.previous_secret_expires_at),
    last_trigger_time: toDate(json.last_trigger_time),
    disabled_at: toDate(json.disabled_at),
    replay_until: toDate(json.replay_until),
    created_date: new Date(json.created_date),
    updated_date: new Date(json.updated_date),
  };
}

/** `secret`: the plain text of the secret, for the one response that shows it. */
export const presentWebhook = (webhook: WebhookRow, secret?: string): z.input<typeof Webhook> =>
  ({
    id: webhook.id,
    target_url: webhook.target_url,
    events: webhook.events,
    ...(webhook.scope === 'app' && { entity_names: webhook.entity_names }),
    description: webhook.description,
    has_secret: webhook.secret !== null,
    last_trigger_time: webhook.last_trigger_time?.toISOString() ?? null,
    last_error: webhook.last_error,
    consecutive_failures: webhook.consecutive_failures,
    disabled_at: webhook.disabled_at?.toISOString() ?? null,
    created_date: webhook.created_date.toISOString(),
    updated_date: webhook.updated_date.toISOString(),
    ...(secret !== undefined && { secret }),
  }) as z.input<typeof Webhook>;

export const MemberWebhook = answer('MemberWebhook', {
  scope: oneOf('agent', 'app').meta({ description: 'Whether the webhook receives events of an agent or of an app.' }),
  app_id: id.meta({ description: 'The agent or app.' }),
  app_name: z.string(),
  webhook: z.union([Webhook, AppWebhook]),
});

export const presentMemberWebhook = (row: WebhookRow & { app_name: string }): z.input<typeof MemberWebhook> => ({
  scope: row.scope,
  app_id: row.app_id,
  app_name: row.app_name,
  webhook: presentWebhook(row),
});

export const MemberWebhookQuery = query({ ...pageQuery });

export const WebhookTest = answer('WebhookTest', {
  ok: z.boolean(),
  delivery_id: id,
  status_code: count.nullable(),
  error_type: z.string().nullable(),
  response_body: z.string().nullable(),
  duration_ms: count,
});

// ---- deliveries

export const deliveryStatuses = ['pending', 'delivering', 'delivered', 'failed', 'held', 'missed', 'expired'] as const;
const attemptKinds = ['scheduled', 'manual', 'replay'] as const;

const deliveryFields = {
  id,
  webhook_id: id,
  event_id: id,
  event_type: z.string(),
  sequence: count,
  status: oneOf(...deliveryStatuses),
  attempts_made: count,
  next_attempt_at: timestamp.nullable(),
  created_date: timestamp,
  delivered_at: timestamp.nullable(),
  last_status_code: count.nullable(),
};

export const Delivery = answer('WebhookDelivery', deliveryFields);

const Attempt = answer('WebhookAttempt', {
  number: count,
  attempted_at: timestamp,
  duration_ms: count,
  status_code: count.nullable(),
  error_type: z.string().nullable(),
  response_body: z.string().nullable(),
  kind: oneOf(...attemptKinds),
});
export type Attempt = z.input<typeof Attempt>;

export const DeliveryDetail = answer('WebhookDeliveryInFull', {
  ...deliveryFields,
  payload: z.record(z.string(), z.unknown()),
  attempts: z.array(Attempt).meta({ description: 'The newest 100 attempts.' }),
});

const sequence = queryInteger(0, Number.MAX_SAFE_INTEGER);

export const DeliveryQuery = query({
  ...pageQuery,
  status: oneOf(...deliveryStatuses).optional(),
  event_type: z.string().optional(),
  after_seq: sequence.optional(),
  before_seq: sequence.optional(),
  from: queryTime.optional(),
  to: queryTime.optional(),
});
export type DeliveryQuery = z.output<typeof DeliveryQuery>;

export const Redelivered = answer('Redelivered', { delivery_id: id, queued: z.literal(true) });

const sequenceBound = optional(integer(0, Number.MAX_SAFE_INTEGER));

export const Replay = body({
  statuses: optional(list(oneOf('pending', 'delivered', 'failed', 'missed', 'expired'), 1, 5)),
  from: optional(queryTime),
  to: optional(queryTime),
  after_seq: sequenceBound,
  to_seq: sequenceBound,
  limit: optional(integer(1, 10_000)),
});
export type Replay = z.output<typeof Replay>;

export const Replayed = answer('Replayed', {
  queued: count,
  first_seq: count.nullable(),
  last_seq: count.nullable(),
});

export interface DeliveryRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly webhook_id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly sequence: number;
  readonly status: Exclude<(typeof deliveryStatuses)[number], 'delivering'>;
  readonly kind: (typeof attemptKinds)[number];
  readonly scheduled_attempts: number;
  readonly resume_at: Date | null;
  readonly failure_counted: boolean;
  readonly attempts_made: number;
  readonly attempts: readonly Attempt[];
  readonly last_status_code: number | null;
  readonly created_date: Date;
  readonly delivered_at: Date | null;
  readonly due_at: Date | null;
  readonly claimed_slot: number | null;
  readonly concurrency_key: string;
}

export const presentDelivery = (delivery: Omit<DeliveryRow, 'attempts'>): z.input<typeof Delivery> => ({
  id: delivery.id,
  webhook_id: delivery.webhook_id,
  event_id: delivery.event_id,
  event_type: delivery.event_type,
  sequence: delivery.sequence,
  status: delivery.claimed_slot === null ? delivery.status : 'delivering',
  attempts_made: delivery.attempts_made,
  next_attempt_at: delivery.claimed_slot === null ? (delivery.due_at?.toISOString() ?? null) : null,
  created_date: delivery.created_date.toISOString(),
  delivered_at: delivery.delivered_at?.toISOString() ?? null,
  last_status_code: delivery.last_status_code,
});
