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
  DeliveryInFull,
  DeliveryQuery,
  NewAppWebhook,
  NewWebhook,
  presentDelivery,
  presentWebhook,
  Redelivered,
  Replay,
  Replayed,
  type Scope,
  Tested,
  Webhook,
  WebhookChange,
} from './contract.ts';
import { redeliver, replay } from './delivery.ts';
import { findDelivery, findWebhook, getBody, listDeliveries, listWebhooks } from './store.ts';
import { changeWebhook, createWebhook, deleteWebhook, testWebhook, vetTarget } from './webhook.ts';

export interface WebhookDeps extends AttemptDeps {
  readonly cursors: Cursors;
  readonly secrets: Secrets;
  readonly wake: Pick<WakeUps, 'notify'>;
}

/** What differs between the two. */
interface Side {
  readonly scope: Scope;
  readonly noun: 'Agent' | 'App';
  readonly whose: string;
  readonly base: '/api/agents/{agent_id}/webhooks' | '/api/apps/{app_id}/webhooks';
  readonly guard: Guard<AppAccess>;
  readonly plan?: GatedFeature;
  readonly updates: Limit;
  readonly shapes: {
    readonly webhook: typeof Webhook;
    readonly created: typeof NewWebhook;
    readonly changed: typeof WebhookChange;
  };
}

const agentSide: Side = {
  scope: 'agent',
  noun: 'Agent',
  whose: 'an agent',
  base: '/api/agents/{agent_id}/webhooks',
  guard: agentAs('editor'),
  plan: 'agent_webhooks',
  updates: perMinute(100, 'caller', { scaledBy: 'never' }),
  shapes: { webhook: Webhook, created: NewWebhook, changed: WebhookChange },
};

const appSide: Side = {
  scope: 'app',
  noun: 'App',
  whose: 'an app',
  base: '/api/apps/{app_id}/webhooks',
  guard: appAs('editor'),
  updates: perMinute(100, 'caller'),
  // Beside what an agent's has: the entities it hears of.
  shapes: { webhook: AppWebhook, created: NewAppWebhook, changed: AppWebhookChange } as unknown as Side['shapes'],
};

export const webhookRoutes = (deps: WebhookDeps): Route[] =>
  [agentSide, appSide].flatMap((side) => [...lives(side, deps), ...log(side, deps)]);

const webhookIn = ({ guard, scope }: Side) =>
  nestedResource(guard, 'webhook', (db, access, id) => findWebhook(db, access, scope, id));

const gone = { status: 404, code: 'webhook_not_found' } as const;
const off = { status: 409, code: 'webhook_off' } as const;
const hookWrites = perMinute(20, 'caller', { group: 'hook' });

const lives = (side: Side, deps: WebhookDeps): Route[] => [
  route({
    name: `list${side.noun}Webhooks`,
    method: 'GET',
    path: side.base,
    summary: `List the webhooks of ${side.whose}, newest first`,
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
    summary: `Create a webhook on ${side.whose}`,
    description:
      'Deliveries are signed unless `generate_secret` is false; `secret` is in this answer and never shown again.',
    credentials: writeCredentials,
    access: side.guard,
    plan: side.plan,
    limit: hookWrites,
    idempotency: 'optional',
    shownOnce: ['secret'],
    body: side.shapes.created,
    audits: ['webhook.created'],
    answers: { 200: side.shapes.webhook },
    refusals: [{ status: 409, code: 'limit_reached' }],
    precheck: ({ body }) => vetTarget(deps.outbound, body.target_url),
    handle: ({ db, access, body, now }) => createWebhook(db, access, side.scope, body, deps.secrets, now),
  }),
  route({
    name: `get${side.noun}Webhook`,
    method: 'GET',
    path: `${side.base}/{webhook_id}`,
    summary: 'Read one webhook',
    credentials: writeCredentials,
    access: webhookIn(side),
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
    access: webhookIn(side),
    plan: side.plan,
    limit: side.updates,
    shownOnce: ['secret'],
    body: side.shapes.changed,
    audits: ['webhook.updated', 'webhook.secret_rotated', 'webhook.turned_on', 'webhook.turned_off'],
    answers: { 200: side.shapes.webhook },
    refusals: [gone],
    precheck: ({ body }) => vetTarget(deps.outbound, body.target_url),
    handle: ({ db, access, body, now }) => changeWebhook(db, access, body, deps, now),
  }),
  route({
    name: `delete${side.noun}Webhook`,
    method: 'DELETE',
    path: `${side.base}/{webhook_id}`,
    summary: 'Delete a webhook; its events stop at once, its log goes with it',
    credentials: writeCredentials,
    access: webhookIn(side),
    limit: hookWrites,
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
    access: webhookIn(side),
    plan: side.plan,
    limit: perMinute(10, 'caller'),
    audits: 'nothing',
    answers: { 200: Tested },
    handle: ({ access, now }) => testWebhook(access, deps, now),
  }),
];

const log = (side: Side, deps: WebhookDeps): Route[] => [
  route({
    name: `list${side.noun}Deliveries`,
    method: 'GET',
    path: `${side.base}/{webhook_id}/deliveries`,
    summary: 'List the deliveries of a webhook',
    description:
      'By their number in the sequence, newest first; oldest first when `after_seq` is sent. Kept for 30 days.',
    credentials: writeCredentials,
    access: webhookIn(side),
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
    access: nestedResource(webhookIn(side), 'delivery', findDelivery),
    limit: perMinute(100, 'caller'),
    answers: { 200: DeliveryInFull },
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
    access: nestedResource(webhookIn(side), 'delivery', findDelivery),
    plan: side.plan,
    limit: perMinute(60, 'caller'),
    idempotency: 'optional',
    audits: ['webhook.redelivered'],
    answers: { 200: Redelivered },
    refusals: [gone, off, { status: 409, code: 'delivery_in_progress' }],
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
    access: webhookIn(side),
    plan: side.plan,
    limit: perMinute(6, 'caller'),
    idempotency: 'optional',
    body: Replay,
    audits: ['webhook.replayed'],
    answers: { 200: Replayed },
    refusals: [gone, off],
    handle: ({ db, access, body, now }) => replay(db, access, body, deps.wake, now),
  }),
];
