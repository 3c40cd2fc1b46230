// The request and response schemas for webhooks and deliveries (docs/api/webhooks.md).
import { z } from 'zod';
import type { JsonRow } from '../../core/auth/request/lookup.ts';
import {
  answer,
  body,
  clearable,
  count,
  createdDate,
  described,
  id,
  integer,
  list,
  oneOf,
  optional,
  pageQuery,
  parameter,
  query,
  queryInteger,
  queryTime,
  text,
  timestamp,
  updatedDate,
  urlText,
} from '../../kit/http/shapes.ts';

export const webhookEvents = {
  agent: ['message.created', 'message.completed'],
  app: ['entity.created', 'entity.updated', 'entity.deleted'],
} as const;
export type Scope = keyof typeof webhookEvents;

export const webhookModes = ['push', 'pull'] as const;

const errorTypeField = described(
  z.string().nullable(),
  'Why there was no response, such as `timeout` or `dns_error`; null if there was a response, see `status_code`.',
  null,
);

export const LastError = answer('WebhookError', {
  message: described(z.string(), 'A sentence that says what went wrong.', 'The endpoint responded with status 500.'),
  attempted_at: described(timestamp, 'When the attempt began.', '2026-11-15T09:30:00.000Z'),
  status_code: described(count.nullable(), 'The HTTP status of the response; null if there was none.', 500),
  response_body: described(z.string().nullable(), 'The first 512 bytes of the response body.', 'internal error'),
  error_type: errorTypeField,
});
export type LastError = z.input<typeof LastError>;

const modeText =
  '`push`: deliveries are sent to `target_url`. `pull`: deliveries wait until a program reads them from their stream and acknowledges them.';

const commonFields = {
  description: described(
    z.string().nullable(),
    'A note about the webhook; null if there is none.',
    'Sends new orders to the kitchen display',
  ),
  has_secret: described(z.boolean(), 'Whether deliveries are signed.'),
  last_trigger_time: described(
    timestamp.nullable(),
    'When the last attempt was made, successful or not; null before the first. Tests do not count. Of a pull webhook: when it was last read.',
    '2026-11-15T09:30:00.000Z',
  ),
  last_error: described(
    LastError.nullable(),
    'The error of the last attempt; null after a success and before the first attempt.',
  ),
  consecutive_failures: described(
    count,
    'The number of failed deliveries since the last success; at 20, the webhook is turned off.',
    0,
  ),
  disabled_at: described(
    timestamp.nullable(),
    'When the webhook was turned off, for example after 20 failed deliveries in a row, or because nobody read it for 30 days; null while it is on.',
    null,
  ),
  created_date: createdDate,
  updated_date: updatedDate,
  secret: described(
    z.string().nullable().optional(),
    'The signing secret. Only the response that creates it contains it.',
    'whsec_EXAMPLE',
  ),
};

const targetUrlText = [
  'The public https URL to which deliveries are sent. Of a pull webhook: the address of the stream of its deliveries.',
  'https://hooks.example.com/plinth',
] as const;

export const Webhook = answer('Webhook', {
  id: described(id, 'The id of the webhook.', '0198c203-41ce-7395-8a6b-e7f20d9c5b38'),
  mode: described(oneOf(...webhookModes), modeText),
  target_url: described(z.string(), ...targetUrlText),
  events: described(z.array(oneOf(...webhookEvents.agent)), 'The types of events that the webhook receives.', [
    'message.completed',
  ]),
  ...commonFields,
});

export const AppWebhook = answer('AppWebhook', {
  id: described(id, 'The id of the webhook.', '0198c203-41ce-7395-8a6b-e7f20d9c5b38'),
  mode: described(oneOf(...webhookModes), modeText),
  target_url: described(z.string(), ...targetUrlText),
  events: described(z.array(oneOf(...webhookEvents.app)), 'The types of events that the webhook receives.', [
    'entity.created',
    'entity.updated',
  ]),
  entity_names: described(
    z.array(z.string()).nullable(),
    'The entities whose events the webhook receives. Null means all.',
    ['Order'],
  ),
  ...commonFields,
});

const eventList = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  list(oneOf(...names), 1, 100).transform((events) => [...new Set(events)] as string[]);

const newFields = {
  mode: described(oneOf(...webhookModes).default('push'), modeText),
  target_url: described(
    optional(urlText),
    'The public https URL to which deliveries are sent. Required, except for a pull webhook, which has none.',
    'https://hooks.example.com/plinth',
  ),
  description: described(
    optional(text(0, 500)),
    'A note about the webhook.',
    'Sends new orders to the kitchen display',
  ),
  generate_secret: described(
    optional(z.boolean()),
    'Whether to create a secret with which deliveries are signed; true by default.',
  ),
};
const changeFields = {
  target_url: described(
    optional(urlText),
    'The public https URL to which deliveries are sent, including waiting ones; changing it does not turn the webhook on. A pull webhook has none.',
    'https://hooks.example.com/plinth',
  ),
  description: described(
    clearable(text(0, 500)),
    'A note about the webhook; null removes it.',
    'Sends new orders to the kitchen display',
  ),
  enabled: described(
    optional(z.boolean()),
    'True turns the webhook on, resets `consecutive_failures` and sends held deliveries; false turns it off.',
  ),
  signing: described(
    optional(oneOf('rotate', 'disable')),
    '`rotate` creates a secret, which is returned once, and the previous one still signs for 24 hours; `disable` removes all secrets immediately.',
  ),
};
export const entityNames = list(text(1, 64), 1, 100);

/** A push webhook has an address to send to, and a pull webhook has none. */
function checkMode({ mode, target_url }: { mode: string; target_url?: string | undefined }, context: z.RefinementCtx) {
  const refuse = (type: string, message: string) =>
    context.addIssue({ code: 'custom', path: ['target_url'], params: { type }, message });
  if (mode === 'push' && target_url === undefined) refuse('missing', 'is required unless `mode` is `pull`');
  if (mode === 'pull' && target_url !== undefined) refuse('value_error', 'must not be sent if `mode` is `pull`');
}

export const NewWebhook = body({
  ...newFields,
  events: described(
    eventList(webhookEvents.agent),
    'The types of events that the webhook receives; repeated names are merged.',
    ['message.completed'],
  ),
}).superRefine(checkMode);
export const NewAppWebhook = body({
  ...newFields,
  events: described(
    eventList(webhookEvents.app),
    'The types of events that the webhook receives; repeated names are merged.',
    ['entity.created', 'entity.updated'],
  ),
  entity_names: described(clearable(entityNames), 'The entities whose events the webhook receives; null means all.', [
    'Order',
  ]),
}).superRefine(checkMode);
export type NewWebhook = z.output<typeof NewWebhook> & Partial<z.output<typeof NewAppWebhook>>;

export const WebhookChange = body({
  ...changeFields,
  events: described(
    optional(eventList(webhookEvents.agent)),
    'The types of events that the webhook receives; repeated names are merged.',
    ['message.completed'],
  ),
});
export const AppWebhookChange = body({
  ...changeFields,
  events: described(
    optional(eventList(webhookEvents.app)),
    'The types of events that the webhook receives; repeated names are merged.',
    ['entity.created', 'entity.updated'],
  ),
  entity_names: described(clearable(entityNames), 'The entities whose events the webhook receives; null means all.', [
    'Order',
  ]),
});
export type WebhookChange = z.output<typeof WebhookChange> & Partial<z.output<typeof AppWebhookChange>>;

export interface WebhookRow {
  readonly workspace_id: string;
  readonly id: string;
  readonly app_id: string;
  readonly scope: Scope;
  readonly mode: (typeof webhookModes)[number];
  /** Of a pull webhook: `noTarget`. */
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
  /** The user who created the webhook, or null if none was recorded. Not shown to callers. */
  readonly created_by_id: string | null;
  readonly created_date: Date;
  readonly updated_date: Date;
}

/** The stored `target_url` of pull webhooks, to which nothing is sent. */
export const noTarget = 'pull:';

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

const toTargetUrl = ({ mode, target_url, scope, app_id, id }: WebhookRow, baseUrl: string): string =>
  mode === 'push' ? target_url : `${baseUrl}/api/${scope}s/${app_id}/webhooks/${id}/deliveries/stream`;

/** `secret` is the plain-text secret, which is passed only for the one response that shows it. */
export const presentWebhook = (webhook: WebhookRow, baseUrl: string, secret?: string): z.input<typeof Webhook> =>
  ({
    id: webhook.id,
    mode: webhook.mode,
    target_url: toTargetUrl(webhook, baseUrl),
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
  scope: described(oneOf('agent', 'app'), 'Whether the webhook receives events of an agent or of an app.'),
  app_id: described(id, 'The id of the agent or app that has the webhook.', '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'),
  app_name: described(z.string(), 'The name of the agent or app that has the webhook.', 'Order desk'),
  webhook: described(z.union([Webhook, AppWebhook]), 'The webhook, without its secret.'),
});

export const presentMemberWebhook = (
  row: WebhookRow & { app_name: string },
  baseUrl: string,
): z.input<typeof MemberWebhook> => ({
  scope: row.scope,
  app_id: row.app_id,
  app_name: row.app_name,
  webhook: presentWebhook(row, baseUrl),
});

export const MemberWebhookQuery = query({ ...pageQuery });

export const WebhookTest = answer('WebhookTest', {
  ok: described(z.boolean(), 'Whether the endpoint answered with a 2xx status within 10 seconds.'),
  delivery_id: described(
    id,
    'The delivery id that was sent with the sample event; tests are not in the delivery log.',
    '0198c204-0d7f-76b8-9c14-3be58a2f70d1',
  ),
  status_code: described(count.nullable(), 'The HTTP status of the response; null if there was none.', 200),
  error_type: errorTypeField,
  response_body: described(
    z.string().nullable(),
    'The first 512 bytes of the response body; null if there was no response.',
    'internal error',
  ),
  duration_ms: described(count, 'How long the attempt took, in milliseconds.', 184),
});

// ---- deliveries

export const deliveryStatuses = ['pending', 'delivering', 'delivered', 'failed', 'held', 'missed', 'expired'] as const;
const attemptKinds = ['scheduled', 'manual', 'replay'] as const;

const deliveryFields = {
  id: described(
    id,
    'The id of the delivery, sent as `webhook-id` at every attempt.',
    '0198c204-0d7f-76b8-9c14-3be58a2f70d1',
  ),
  webhook_id: described(
    id,
    'The id of the webhook to which the delivery belongs.',
    '0198c203-41ce-7395-8a6b-e7f20d9c5b38',
  ),
  event_id: described(
    id,
    'The id of the event, which is also `id` in the payload.',
    '0198c204-0d5e-7ad2-b861-08f4c7e93a5b',
  ),
  event_type: described(z.string(), 'The type of the event, which is also `type` in the payload.', 'entity.created'),
  sequence: described(
    count,
    'The number of the delivery within its webhook, from 1, without gaps, in the order of events.',
    118,
  ),
  status: described(
    oneOf(...deliveryStatuses),
    'The status of the delivery: for example `failed` after eight attempts, `held` or `missed` while the webhook is off. Of a pull webhook: `pending` until it is acknowledged, then `delivered`.',
  ),
  attempts_made: described(count, 'The total number of attempts, including those by redelivery and replay.', 1),
  next_attempt_at: described(
    timestamp.nullable(),
    'When the next attempt is due; null if none is planned, or one is running.',
    '2026-11-15T09:35:00.000Z',
  ),
  created_date: described(timestamp, 'When the delivery was queued.', '2026-11-15T09:30:00.000Z'),
  delivered_at: described(
    timestamp.nullable(),
    'When the last successful attempt was made, or when the delivery was acknowledged; null before.',
    '2026-11-15T09:30:00.000Z',
  ),
  last_status_code: described(
    count.nullable(),
    'The HTTP status of the response to the last attempt; null if there was no response or no attempt yet.',
    200,
  ),
};

export const Delivery = answer('WebhookDelivery', deliveryFields);

const Attempt = answer('WebhookAttempt', {
  number: described(count, 'The number of the attempt, from 1.', 1),
  attempted_at: described(timestamp, 'When the attempt began.', '2026-11-15T09:30:00.000Z'),
  duration_ms: described(count, 'How long the attempt took, in milliseconds.', 184),
  status_code: described(count.nullable(), 'The HTTP status of the response; null if there was none.', 500),
  error_type: errorTypeField,
  response_body: described(
    z.string().nullable(),
    'The first 512 bytes of the response body; null if there was no response, if the attempt succeeded, and for all but the newest ten attempts.',
    'internal error',
  ),
  kind: described(
    oneOf(...attemptKinds),
    'What caused the attempt: the schedule, a redelivery (`manual`) or a replay.',
  ),
});
export type Attempt = z.input<typeof Attempt>;

export const DeliveryDetail = answer('WebhookDeliveryInFull', {
  ...deliveryFields,
  payload: described(
    z.record(z.string(), z.unknown()),
    'The body of the request, which is the same at every attempt.',
    {
      id: '0198c204-0d5e-7ad2-b861-08f4c7e93a5b',
      type: 'entity.created',
      created_at: '2026-11-15T09:30:00.000Z',
      app_id: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e',
      entity_name: 'Order',
      entity_id: '0198c208-5a92-7d1c-8f6e-b40e29a7c5d3',
      data: { number: 1042, customer: 'Grace Hopper', total: 18.5 },
      old_data: null,
    },
  ),
  attempts: described(z.array(Attempt), 'The newest 100 attempts.'),
});

const sequence = queryInteger(0, Number.MAX_SAFE_INTEGER);

export const DeliveryQuery = query({
  ...pageQuery,
  status: parameter(oneOf(...deliveryStatuses).optional(), 'Only deliveries with this status.'),
  event_type: parameter(z.string().optional(), 'Only deliveries of events of this type.', 'entity.created'),
  after_seq: parameter(
    sequence.optional(),
    'Only deliveries with a greater sequence number; the list then begins with the oldest.',
    117,
  ),
  before_seq: parameter(sequence.optional(), 'Only deliveries with a smaller sequence number.', 132),
  from: parameter(
    queryTime.optional(),
    'Only what was created at or after this time; UTC if the time has no zone.',
    '2026-11-14T00:00:00.000Z',
  ),
  to: parameter(
    queryTime.optional(),
    'Only what was created at or before this time; UTC if the time has no zone.',
    '2026-11-15T00:00:00.000Z',
  ),
});
export type DeliveryQuery = z.output<typeof DeliveryQuery>;

export const AgentDeliveryQuery = query({
  ...DeliveryQuery.shape,
  event_type: described(z.string().optional(), 'Only deliveries of events of this type.', 'message.completed'),
});

// ---- streams of deliveries

export const DeliveryStreamQuery = query({
  after_seq: described(
    sequence.optional(),
    'The stream begins with the delivery after this number. `Last-Event-ID` takes precedence.',
    117,
  ),
});

export const DeliveryStreamReady = answer('DeliveryStreamReady', {
  from_sequence: described(
    count,
    'The number of the first delivery of the stream. If it is not the next one after yours, those in between are no longer in the log.',
    118,
  ),
});

export const StreamedDelivery = answer('StreamedWebhookDelivery', {
  delivery: described(Delivery, 'The delivery as the log has it.'),
  headers: described(
    z.record(z.string(), z.string()),
    'The headers of a request with this delivery, signed when the event was sent.',
    { 'webhook-id': '0198c204-0d7f-76b8-9c14-3be58a2f70d1', 'x-service-sequence': '118' },
  ),
  body: described(
    z.string(),
    'The body of the request, byte for byte what the headers sign.',
    '{"id":"0198c204-0d5e-7ad2-b861-08f4c7e93a5b","type":"entity.created"}',
  ),
});

export const Acknowledgement = body({
  up_to_sequence: described(
    integer(0, Number.MAX_SAFE_INTEGER),
    'All deliveries up to this number, inclusive, are acknowledged.',
    118,
  ),
});

export const Acknowledged = answer('DeliveriesAcknowledged', {
  acknowledged: described(count, 'How many deliveries were not acknowledged before, and are now.', 2),
});

export const Redelivered = answer('Redelivered', {
  delivery_id: described(
    id,
    'The id of the delivery, which is the same at every attempt.',
    '0198c204-0d7f-76b8-9c14-3be58a2f70d1',
  ),
  queued: described(z.literal(true), 'Always true; one attempt is made immediately.'),
});

const sequenceBound = optional(integer(0, Number.MAX_SAFE_INTEGER));

export const Replay = body({
  statuses: described(
    optional(list(oneOf('pending', 'delivered', 'failed', 'missed', 'expired'), 1, 5)),
    'The statuses of the deliveries to send again; `failed` and `missed` by default.',
    ['failed', 'missed'],
  ),
  from: described(optional(queryTime), 'Only deliveries created at or after this time.', '2026-11-14T00:00:00.000Z'),
  to: described(optional(queryTime), 'Only deliveries created at or before this time.', '2026-11-15T00:00:00.000Z'),
  after_seq: described(sequenceBound, 'Only deliveries whose sequence number is greater than this one.', 117),
  to_seq: described(sequenceBound, 'Only deliveries up to this sequence number, inclusive.', 131),
  limit: described(
    optional(integer(1, 10_000)),
    'The maximum number of deliveries to send again; 1,000 by default.',
    1000,
  ),
});
export type Replay = z.output<typeof Replay>;

export const Replayed = answer('Replayed', {
  queued: described(count, 'The number of deliveries that are sent again.', 14),
  first_seq: described(
    count.nullable(),
    'The sequence number of the first delivery that is sent again; null if there is none.',
    118,
  ),
  last_seq: described(
    count.nullable(),
    'The sequence number of the last delivery that is sent again; null if there is none.',
    131,
  ),
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
  readonly size_bytes: number;
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
