// The HTTP contract for webhooks: twelve operations for agent webhooks, the same twelve for app webhooks, and the list
// of webhooks that a member created.

import { z } from 'zod';
import { writeCredentials } from '../../core/auth/credentials.ts';
import { agentAs, appAs } from '../../core/auth/guards/app.ts';
import type { Guard } from '../../core/auth/guards/guard.ts';
import { nestedAppRow, nestedResource } from '../../core/auth/guards/row.ts';
import { unlimitedToken, workspaceAs } from '../../core/auth/guards/workspace.ts';
import { type Limit, perMinute } from '../../core/auth/limits.ts';
import type { GatedFeature } from '../../core/auth/plans.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { checkTarget, type TargetRules } from '../../kit/http/check-url.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { eventMedia } from '../../kit/http/operation.ts';
import { items, ProblemBody, Success } from '../../kit/http/shapes.ts';
import type { Secrets } from '../../kit/secrets.ts';
import type { AttemptDeps } from './attempt.ts';
import {
  Acknowledged,
  Acknowledgement,
  AgentDeliveryQuery,
  AppWebhook,
  AppWebhookChange,
  Delivery,
  DeliveryDetail,
  DeliveryQuery,
  DeliveryStreamQuery,
  DeliveryStreamReady,
  MemberWebhook,
  MemberWebhookQuery,
  NewAppWebhook,
  NewWebhook,
  presentDelivery,
  presentMemberWebhook,
  presentWebhook,
  Redelivered,
  Replay,
  Replayed,
  type Scope,
  StreamedDelivery,
  Webhook,
  WebhookChange,
  type WebhookRow,
  WebhookTest,
  webhookFromJson,
} from './contract.ts';
import { redeliver, replay } from './delivery.ts';
import { acknowledge } from './pull.ts';
import { getBody } from './store/bodies.ts';
import { findDelivery, listDeliveries } from './store/deliveries.ts';
import { findWebhookCreator, listWebhooks, listWebhooksOf } from './store/webhooks.ts';
import { type StreamDeps, streamDeliveries, streamSeconds } from './stream.ts';
import { changeWebhook, createWebhook, deleteWebhook, testWebhook } from './webhook.ts';

export interface WebhookDeps extends AttemptDeps, TargetRules, StreamDeps {
  readonly baseUrl: string;
  readonly cursors: Cursors;
  readonly secrets: Secrets;
  readonly wake: Pick<WakeUps, 'notify'>;
}

/** The differences between agent webhooks and app webhooks. */
interface Variant {
  readonly scope: Scope;
  readonly noun: 'Agent' | 'App';
  readonly owner: string;
  readonly change: string;
  readonly base: '/api/agents/{agent_id}/webhooks' | '/api/apps/{app_id}/webhooks';
  readonly guard: Guard<AppAccess>;
  readonly plan?: GatedFeature;
  readonly updateLimit: Limit;
  readonly shapes: {
    readonly webhook: typeof Webhook;
    readonly created: typeof NewWebhook;
    readonly changed: typeof WebhookChange;
    readonly deliveries: typeof DeliveryQuery;
  };
}

const agentVariant: Variant = {
  scope: 'agent',
  noun: 'Agent',
  owner: 'an agent',
  change: 'a message is added or completed',
  base: '/api/agents/{agent_id}/webhooks',
  guard: agentAs('editor'),
  plan: 'agent_webhooks',
  updateLimit: perMinute(100, 'caller', { scaledBy: 'never' }),
  shapes: { webhook: Webhook, created: NewWebhook, changed: WebhookChange, deliveries: AgentDeliveryQuery },
};

const appVariant: Variant = {
  scope: 'app',
  noun: 'App',
  owner: 'an app',
  change: 'a record changes',
  base: '/api/apps/{app_id}/webhooks',
  guard: appAs('editor'),
  updateLimit: perMinute(100, 'caller'),
  // App webhooks have one more field, `entity_names`.
  shapes: {
    webhook: AppWebhook,
    created: NewAppWebhook,
    changed: AppWebhookChange,
    deliveries: DeliveryQuery,
  } as unknown as Variant['shapes'],
};

export const webhookRoutes = (deps: WebhookDeps): Route[] => [
  ...[agentVariant, appVariant].flatMap((variant) => [...crudRoutes(variant, deps), ...deliveryRoutes(variant, deps)]),
  memberWebhooksRoute(deps),
];

const memberWebhooksRoute = ({ cursors, baseUrl }: WebhookDeps): Route =>
  route({
    name: 'listMemberWebhooks',
    method: 'GET',
    path: '/api/workspace/members/{email}/webhooks',
    parameterTexts: {
      email: {
        text: 'The e-mail address of the member, or of a former member who created webhooks, percent-encoded.',
        example: 'grace@example.com',
      },
    },
    summary: 'List the webhooks that a member created in the workspace, newest first',
    description:
      'Lists the webhooks of all agents and apps, including those in the trash. Works for a former member who created webhooks, too.',
    credentials: writeCredentials,
    access: nestedResource(unlimitedToken(workspaceAs('admin')), 'member', findWebhookCreator, 'email'),
    limit: perMinute(60, 'workspace'),
    work: 'slow',
    query: MemberWebhookQuery,
    answers: { 200: items(MemberWebhook) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['listMemberWebhooks', access.member.id, access.caller.credential_id];
      const after = cursors.open(query.cursor, binding, now);
      const rows = await listWebhooksOf(db, access, access.member.id, query.limit, after);
      const present = (row: (typeof rows)[number]) => presentMemberWebhook(row, baseUrl);
      return cursors.page(rows, query.limit, binding, now, present, (row) => [row.id]);
    },
  });

const webhookGuard = ({ guard, scope }: Variant) =>
  nestedAppRow(guard, {
    noun: 'webhook',
    table: 'webhooks',
    fromJson: (json): WebhookRow | undefined => (json.scope === scope ? webhookFromJson(json) : undefined),
  });

const notFound = { status: 404, code: 'webhook_not_found' } as const;
const webhookOff = { status: 409, code: 'webhook_off' } as const;
const webhookIsPull = { status: 409, code: 'webhook_is_pull' } as const;
const writeLimit = perMinute(20, 'caller', { group: 'hook' });

const crudRoutes = (variant: Variant, deps: WebhookDeps): Route[] => [
  route({
    name: `list${variant.noun}Webhooks`,
    method: 'GET',
    path: variant.base,
    summary: `List the webhooks of ${variant.owner}, newest first`,
    credentials: writeCredentials,
    access: variant.guard,
    limit: perMinute(100, 'caller'),
    answers: { 200: z.array(variant.shapes.webhook) },
    handle: async ({ db, access }) =>
      (await listWebhooks(db, access, variant.scope)).map((webhook) => presentWebhook(webhook, deps.baseUrl)),
  }),
  route({
    name: `create${variant.noun}Webhook`,
    method: 'POST',
    path: variant.base,
    summary: `Create a webhook on ${variant.owner}, to be told when ${variant.change}`,
    description:
      'Deliveries are signed unless `generate_secret` is false. The response contains the `secret`, which is never shown again. Nothing is sent for a webhook with `mode: "pull"`: its deliveries wait until a program has read and acknowledged them.',
    credentials: writeCredentials,
    access: variant.guard,
    plan: variant.plan,
    limit: writeLimit,
    stores: 1_500,
    work: 'outside',
    idempotency: 'optional',
    secretFields: ['secret'],
    body: variant.shapes.created,
    audits: ['webhook.created'],
    answers: { 200: variant.shapes.webhook },
    refusals: [{ status: 409, code: 'limit_reached' }],
    precheck: ({ body }) => checkTarget(deps, body.target_url, ['body', 'target_url']),
    handle: ({ db, access, body, now }) => createWebhook(db, deps, access, { scope: variant.scope, input: body }, now),
  }),
  route({
    name: `get${variant.noun}Webhook`,
    method: 'GET',
    path: `${variant.base}/{webhook_id}`,
    summary: `Read one webhook of ${variant.owner}`,
    credentials: writeCredentials,
    access: webhookGuard(variant),
    limit: perMinute(100, 'caller'),
    answers: { 200: variant.shapes.webhook },
    handle: ({ access }) => presentWebhook(access.webhook, deps.baseUrl),
  }),
  route({
    name: `update${variant.noun}Webhook`,
    headers: ['X-Webhook-Held', 'X-Webhook-Missed'],
    method: 'PATCH',
    path: `${variant.base}/{webhook_id}`,
    summary: `Change a webhook of ${variant.owner}; fields that are not sent keep their value`,
    description:
      '`enabled: true` turns the webhook on, resets `consecutive_failures` and sends held deliveries. The header `X-Webhook-Held` is the number of held deliveries that are sent, `X-Webhook-Missed` the number of missed ones; a replay sends those. `signing: rotate` creates a new secret, shown once in `secret`; the previous one still signs for 24 hours. Either the whole body is applied or nothing.',
    credentials: writeCredentials,
    access: webhookGuard(variant),
    plan: variant.plan,
    limit: variant.updateLimit,
    work: 'outside',
    secretFields: ['secret'],
    body: variant.shapes.changed,
    idempotency: 'optional',
    audits: ['webhook.updated', 'webhook.secret_rotated', 'webhook.turned_on', 'webhook.turned_off'],
    answers: { 200: variant.shapes.webhook },
    refusals: [notFound, webhookIsPull],
    precheck: ({ body }) => checkTarget(deps, body.target_url, ['body', 'target_url']),
    handle: ({ db, access, body, now }) => changeWebhook(db, deps, access, body, now),
  }),
  route({
    name: `delete${variant.noun}Webhook`,
    method: 'DELETE',
    path: `${variant.base}/{webhook_id}`,
    summary: `Delete a webhook of ${variant.owner} and its delivery log; deliveries stop at once`,
    credentials: writeCredentials,
    access: webhookGuard(variant),
    limit: writeLimit,
    repeat: 'safe',
    audits: ['webhook.deleted'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => deleteWebhook(db, access, now),
  }),
  route({
    name: `test${variant.noun}Webhook`,
    heldSeconds: 10,
    method: 'POST',
    path: `${variant.base}/{webhook_id}/test`,
    summary: `Test a webhook of ${variant.owner}: send a sample event now and return the response`,
    description: 'The test works while the webhook is off, uses no sequence number, and does not change the webhook.',
    credentials: writeCredentials,
    access: webhookGuard(variant),
    plan: variant.plan,
    limit: perMinute(10, 'caller'),
    stores: 1_500,
    work: 'outside',
    audits: 'nothing',
    answers: { 200: WebhookTest },
    refusals: [webhookIsPull],
    handle: ({ access, now }) => testWebhook(access, deps, now),
  }),
];

const deliveryStream = eventMedia(
  'The deliveries of the webhook',
  'Server-sent events, listed in `x-events`. The `id` of a `delivery` is its sequence number. `ready` comes first and says with which number the stream begins. `delivery.changed` is sent when one of the newest 200 deliveries changes, and has no `id`; after reconnecting, read the list. `error` means that the caller may no longer read it.',
  {
    ready: { data: DeliveryStreamReady },
    delivery: { data: StreamedDelivery },
    'delivery.changed': { data: Delivery },
    error: { data: ProblemBody, last: true },
  },
);

const deliveryRoutes = (variant: Variant, deps: WebhookDeps): Route[] => [
  route({
    name: `list${variant.noun}Deliveries`,
    method: 'GET',
    path: `${variant.base}/{webhook_id}/deliveries`,
    summary: `List or find deliveries of a webhook of ${variant.owner}, by status, event and time`,
    description:
      'To find those that failed, send `status=failed`. Deliveries are ordered by sequence number, newest first, or oldest first if `after_seq` is sent, and are kept for 30 days.',
    credentials: writeCredentials,
    access: webhookGuard(variant),
    limit: perMinute(100, 'caller'),
    work: 'slow',
    query: variant.shapes.deliveries,
    answers: {
      200: items(
        Delivery,
        'The deliveries of this page by sequence, newest first, or oldest first if `after_seq` was sent.',
      ),
    },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const { limit, cursor, ...filters } = query;
      const binding = ['listDeliveries', access.webhook.id, access.caller.credential_id, filters];
      const rows = await listDeliveries(db, access.webhook, query, deps.cursors.open(cursor, binding, now));
      return deps.cursors.page(rows, limit, binding, now, presentDelivery, (row) => [row.sequence]);
    },
  }),
  route({
    name: `stream${variant.noun}Deliveries`,
    method: 'GET',
    path: `${variant.base}/{webhook_id}/deliveries/stream`,
    summary: `Follow the deliveries of a webhook of ${variant.owner} as a stream of events, with what is signed`,
    description:
      'Begins after `after_seq`, or after `Last-Event-ID`. Without both it begins with the oldest delivery that is not acknowledged, if the webhook is a pull webhook, and otherwise with the next one. Ends after 30 minutes; to continue, send the last `id` that you received.',
    credentials: writeCredentials,
    access: webhookGuard(variant),
    limit: perMinute(60, 'caller'),
    work: 'outside',
    heldSeconds: streamSeconds,
    query: DeliveryStreamQuery,
    answers: { 200: deliveryStream },
    refusals: [{ status: 429, code: 'too_many_streams' }],
    handle: ({ db, access, query, headers, held, now }) =>
      streamDeliveries(db, deps, access, {
        after: query.after_seq,
        lastEventId: headers['last-event-id'],
        held,
        now,
      }),
  }),
  route({
    name: `ack${variant.noun}Deliveries`,
    method: 'POST',
    path: `${variant.base}/{webhook_id}/deliveries/ack`,
    summary: `Acknowledge the deliveries of a pull webhook of ${variant.owner} up to a number`,
    description:
      'They become `delivered`. Repeats have no further effect. A call acknowledges at most 100,000 deliveries, the oldest ones; repeat it until `acknowledged` is 0.',
    credentials: writeCredentials,
    access: webhookGuard(variant),
    limit: perMinute(300, 'caller'),
    work: 'slow',
    repeat: 'safe',
    body: Acknowledgement,
    audits: 'nothing',
    answers: { 200: Acknowledged },
    refusals: [{ status: 409, code: 'webhook_is_push' }],
    handle: ({ db, access, body, now }) => acknowledge(db, access, body, deps.wake, now),
  }),
  route({
    name: `get${variant.noun}Delivery`,
    method: 'GET',
    path: `${variant.base}/{webhook_id}/deliveries/{delivery_id}`,
    summary: `Read one delivery of a webhook of ${variant.owner}, with its payload and its attempts`,
    credentials: writeCredentials,
    access: nestedResource(webhookGuard(variant), 'delivery', findDelivery),
    limit: perMinute(100, 'caller'),
    answers: { 200: DeliveryDetail },
    handle: async ({ db, access: { delivery } }) => ({
      ...presentDelivery(delivery),
      payload: JSON.parse((await getBody(db, delivery)).body),
      attempts: [...delivery.attempts],
    }),
  }),
  route({
    name: `redeliver${variant.noun}Delivery`,
    method: 'POST',
    path: `${variant.base}/{webhook_id}/deliveries/{delivery_id}/redeliver`,
    summary: `Send one delivery of a webhook of ${variant.owner} again immediately, outside its schedule`,
    description: 'The delivery id, sequence number and body stay the same.',
    needsWorker: true,
    credentials: writeCredentials,
    access: nestedResource(webhookGuard(variant), 'delivery', findDelivery),
    plan: variant.plan,
    limit: perMinute(60, 'caller'),
    stores: 1_000,
    idempotency: 'optional',
    audits: ['webhook.redelivered'],
    answers: { 200: Redelivered },
    refusals: [notFound, webhookOff, webhookIsPull, { status: 409, code: 'delivery_in_progress' }],
    handle: ({ db, access, now }) => redeliver(db, access, deps.wake, now),
  }),
  route({
    name: `replay${variant.noun}Webhook`,
    method: 'POST',
    path: `${variant.base}/{webhook_id}/replay`,
    summary: `Send failed and missed deliveries of a webhook of ${variant.owner} again, in sequence order`,
    description:
      'At most ten deliveries are sent per second. Their ids, sequence numbers and bodies stay the same; each delivery starts a new retry schedule. `statuses` may also contain `delivered` and `expired`.',
    needsWorker: true,
    credentials: writeCredentials,
    access: webhookGuard(variant),
    plan: variant.plan,
    limit: perMinute(6, 'caller'),
    stores: 1_000,
    work: 'slow',
    idempotency: 'optional',
    body: Replay,
    audits: ['webhook.replayed'],
    answers: { 200: Replayed },
    refusals: [notFound, webhookOff, webhookIsPull],
    handle: ({ db, access, body, now }) => replay(db, access, body, deps.wake, now),
  }),
];
