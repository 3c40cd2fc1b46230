// Owns the HTTP contract of webhooks: ten operations on those of an agent, and the same ten on those of an app.

import { z } from 'zod';
import { writeCredentials } from '../../core/auth/credentials.ts';
import { type Limit, perMinute } from '../../core/auth/limits.ts';
import type { GatedFeature } from '../../core/auth/plans.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { agentAs, appAs, type Guard, nestedResource } from '../../core/auth/resource-guards.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { items, Success } from '../../kit/http/shapes.ts';
import type { Secrets } from '../../kit/secrets.ts';
import type { AttemptDeps } from './attempt.ts';
import {
  AppWebhook,
  AppWebhookChange,
  Delivery,
  DeliveryDetail,
  DeliveryQuery,
  NewAppWebhook,
  NewWebhook,
  presentDelivery,
  presentWebhook,
  Redelivered,
  Replay,
  Replayed,
  type Scope,
  Webhook,
  WebhookChange,
  WebhookTest,
} from './contract.ts';
import { redeliver, replay } from './delivery.ts';
import { findDelivery, findWebhook, getBody, listDeliveries, listWebhooks } from './store.ts';
import { changeWebhook, checkTarget, createWebhook, deleteWebhook, testWebhook } from './webhook.ts';

export interface WebhookDeps extends AttemptDeps {
  readonly cursors: Cursors;
  readonly secrets: Secrets;
  readonly wake: Pick<WakeUps, 'notify'>;
}

/** What differs between the two. */
interface Variant {
  readonly scope: Scope;
  readonly noun: 'Agent' | 'App';
  readonly owner: string;
  readonly base: '/api/agents/{agent_id}/webhooks' | '/api/apps/{app_id}/webhooks';
  readonly guard: Guard<AppAccess>;
  readonly plan?: GatedFeature;
  readonly updateLimit: Limit;
  readonly shapes: {
    readonly webhook: typeof Webhook;
    readonly created: typeof NewWebhook;
    readonly changed: typeof WebhookChange;
  };
}

const agentVariant: Variant = {
  scope: 'agent',
  noun: 'Agent',
  owner: 'an agent',
  base: '/api/agents/{agent_id}/webhooks',
  guard: agentAs('editor'),
  plan: 'agent_webhooks',
  updateLimit: perMinute(100, 'caller', { scaledBy: 'never' }),
  shapes: { webhook: Webhook, created: NewWebhook, changed: WebhookChange },
};

const appVariant: Variant = {
  scope: 'app',
  noun: 'App',
  owner: 'an app',
  base: '/api/apps/{app_id}/webhooks',
  guard: appAs('editor'),
  updateLimit: perMinute(100, 'caller'),
  // Beside what an agent's has: the entities it hears of.
  shapes: { webhook: AppWebhook, created: NewAppWebhook, changed: AppWebhookChange } as unknown as Variant['shapes'],
};

export const webhookRoutes = (deps: WebhookDeps): Route[] =>
  [agentVariant, appVariant].flatMap((side) => [...crudRoutes(side, deps), ...deliveryRoutes(side, deps)]);

const webhookGuard = ({ guard, scope }: Variant) =>
  nestedResource(guard, 'webhook', (db, access, id) => findWebhook(db, access, scope, id));

const notFound = { status: 404, code: 'webhook_not_found' } as const;
const webhookOff = { status: 409, code: 'webhook_off' } as const;
const writeLimit = perMinute(20, 'caller', { group: 'hook' });

const crudRoutes = (side: Variant, deps: WebhookDeps): Route[] => [
  route({
    name: `list${side.noun}Webhooks`,
    method: 'GET',
    path: side.base,
    summary: `List the webhooks of ${side.owner}, newest first`,
    credentials: writeCredentials,
    access: side.guard,
    limit: perMinute(100, 'caller'),
    answers: { 200: z.array(side.shapes.webhook) },
    handle: async ({ db, access }) =>
      (await listWebhooks(db, access, side.scope)).map((webhook) => presentWebhook(webhook)),
  }),
  route({
    name: `create${side.noun}Webhook`,
    method: 'POST',
    path: side.base,
    summary: `Create a webhook on ${side.owner}`,
    description:
      'Deliveries are signed unless `generate_secret` is false; `secret` is in this answer and never shown again.',
    credentials: writeCredentials,
    access: side.guard,
    plan: side.plan,
    limit: writeLimit,
    idempotency: 'optional',
    shownOnce: ['secret'],
    body: side.shapes.created,
    audits: ['webhook.created'],
    answers: { 200: side.shapes.webhook },
    refusals: [{ status: 409, code: 'limit_reached' }],
    precheck: ({ body }) => checkTarget(deps.outbound, body.target_url),
    handle: ({ db, access, body, now }) => createWebhook(db, access, side.scope, body, deps.secrets, now),
  }),
  route({
    name: `get${side.noun}Webhook`,
    method: 'GET',
    path: `${side.base}/{webhook_id}`,
    summary: 'Read one webhook',
    credentials: writeCredentials,
    access: webhookGuard(side),
    limit: perMinute(100, 'caller'),
    answers: { 200: side.shapes.webhook },
    handle: ({ access }) => presentWebhook(access.webhook),
  }),
  route({
    name: `update${side.noun}Webhook`,
    method: 'PATCH',
    path: `${side.base}/{webhook_id}`,
    summary: 'Change a webhook; what is left out stays',
    description:
      '`enabled: true` turns it on, resets `consecutive_failures` and sends what was held; `X-Webhook-Held` and `X-Webhook-Missed` say how many deliveries go on and how many were missed while it was off (send those with a replay). `signing: rotate` makes a new secret, shown once in `secret`; the old one signs beside it for 24 hours. All of a body is applied, or nothing.',
    credentials: writeCredentials,
    access: webhookGuard(side),
    plan: side.plan,
    limit: side.updateLimit,
    shownOnce: ['secret'],
    body: side.shapes.changed,
    audits: ['webhook.updated', 'webhook.secret_rotated', 'webhook.turned_on', 'webhook.turned_off'],
    answers: { 200: side.shapes.webhook },
    refusals: [notFound],
    precheck: ({ body }) => checkTarget(deps.outbound, body.target_url),
    handle: ({ db, access, body, now }) => changeWebhook(db, access, body, deps, now),
  }),
  route({
    name: `delete${side.noun}Webhook`,
    method: 'DELETE',
    path: `${side.base}/{webhook_id}`,
    summary: 'Delete a webhook; its events stop at once, its log goes with it',
    credentials: writeCredentials,
    access: webhookGuard(side),
    limit: writeLimit,
    audits: ['webhook.deleted'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => deleteWebhook(db, access, now),
  }),
  route({
    name: `test${side.noun}Webhook`,
    method: 'POST',
    path: `${side.base}/{webhook_id}/test`,
    summary: 'Send a sample now, and say what came back',
    description: 'Works while the webhook is off, takes no number in its sequence, and changes nothing on it.',
    credentials: writeCredentials,
    access: webhookGuard(side),
    plan: side.plan,
    limit: perMinute(10, 'caller'),
    audits: 'nothing',
    answers: { 200: WebhookTest },
    handle: ({ access, now }) => testWebhook(access, deps, now),
  }),
];

const deliveryRoutes = (side: Variant, deps: WebhookDeps): Route[] => [
  route({
    name: `list${side.noun}Deliveries`,
    method: 'GET',
    path: `${side.base}/{webhook_id}/deliveries`,
    summary: 'List the deliveries of a webhook',
    description:
      'By their number in the sequence, newest first; oldest first when `after_seq` is sent. Kept for 30 days.',
    credentials: writeCredentials,
    access: webhookGuard(side),
    limit: perMinute(100, 'caller'),
    query: DeliveryQuery,
    answers: { 200: items(Delivery) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const { limit, cursor, ...filters } = query;
      const binding = ['listDeliveries', access.webhook.id, access.caller.credential_id, filters];
      const rows = await listDeliveries(db, access.webhook, query, deps.cursors.open(cursor, binding, now));
      return deps.cursors.page(rows, limit, binding, now, presentDelivery, (row) => [row.sequence]);
    },
  }),
  route({
    name: `get${side.noun}Delivery`,
    method: 'GET',
    path: `${side.base}/{webhook_id}/deliveries/{delivery_id}`,
    summary: 'Read one delivery, with what was sent and every attempt',
    credentials: writeCredentials,
    access: nestedResource(webhookGuard(side), 'delivery', findDelivery),
    limit: perMinute(100, 'caller'),
    answers: { 200: DeliveryDetail },
    handle: async ({ db, access: { delivery } }) => ({
      ...presentDelivery(delivery),
      payload: JSON.parse((await getBody(db, delivery)).body),
      attempts: [...delivery.attempts],
    }),
  }),
  route({
    name: `redeliver${side.noun}Delivery`,
    method: 'POST',
    path: `${side.base}/{webhook_id}/deliveries/{delivery_id}/redeliver`,
    summary: 'Attempt a delivery again at once, outside of its schedule',
    description: 'Same delivery id, sequence and body.',
    credentials: writeCredentials,
    access: nestedResource(webhookGuard(side), 'delivery', findDelivery),
    plan: side.plan,
    limit: perMinute(60, 'caller'),
    idempotency: 'optional',
    audits: ['webhook.redelivered'],
    answers: { 200: Redelivered },
    refusals: [notFound, webhookOff, { status: 409, code: 'delivery_in_progress' }],
    handle: ({ db, access, now }) => redeliver(db, access, deps.wake, now),
  }),
  route({
    name: `replay${side.noun}Webhook`,
    method: 'POST',
    path: `${side.base}/{webhook_id}/replay`,
    summary: 'Send failed and missed deliveries again, in their order',
    description:
      'At most ten a second; same delivery ids, sequence numbers and bodies. Each begins its schedule anew. `statuses` may also name delivered and expired ones.',
    credentials: writeCredentials,
    access: webhookGuard(side),
    plan: side.plan,
    limit: perMinute(6, 'caller'),
    idempotency: 'optional',
    body: Replay,
    audits: ['webhook.replayed'],
    answers: { 200: Replayed },
    refusals: [notFound, webhookOff],
    handle: ({ db, access, body, now }) => replay(db, access, body, deps.wake, now),
  }),
];
