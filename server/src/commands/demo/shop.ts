// The demo's shop: an app with a user, records, an entity with rules, and a webhook with successful deliveries and
// a failed one. Everything is created through the API, so the deliveries in the log were really made by a worker.
import { setTimeout as sleep } from 'node:timers/promises';
import type { DemoRequest } from './request.ts';

const onlyAdmins = { user_condition: { role: 'admin' } };
const ownOrAdmin = { $or: [{ created_by_id: '{{user.id}}' }, onlyAdmins] };

const orderSchema = {
  name: 'Order',
  properties: {
    item: { type: 'string', maxLength: 200 },
    quantity: { type: 'integer', minimum: 1, default: 1 },
    state: { type: 'string', enum: ['new', 'paid', 'sent'], default: 'new' },
    margin: { type: 'number', rls: { read: onlyAdmins, write: onlyAdmins } },
  },
  required: ['item'],
  rls: { read: ownOrAdmin, create: ownOrAdmin, update: onlyAdmins, delete: onlyAdmins },
};

/** `receiverUrl` is the sandbox's receiver. If it is undefined, the shop has no webhook. */
export async function createShop(request: DemoRequest, appId: string, receiverUrl: string | undefined): Promise<void> {
  const base = `/api/apps/${appId}`;
  await request('PUT', `${base}/entity-schemas/Order`, orderSchema);
  const eve = await request<{ id: string }>('POST', `${base}/users`, {
    email: 'eve@shop.example',
    full_name: 'Eve',
    data: { tier: 'gold' },
  });
  const { token } = await request<{ token: string }>('POST', `${base}/users/${eve.id}/tokens`);
  const order = (record: object, as?: string) => request<{ id: string }>('POST', `${base}/entities/Order`, record, as);

  const webhook = receiverUrl === undefined ? undefined : await createOrderWebhook(request, base, receiverUrl);
  const first = await order({ item: 'Tea, 500 g', quantity: 2 }, token);
  await order({ item: 'Kettle' }, token);
  await order({ item: 'Cups, set of six', state: 'paid', margin: 4.5 });
  await request('PUT', `${base}/entities/Order/${first.id}`, { state: 'sent', margin: 1.2 });
  if (webhook === undefined) return;
  await webhook.waitFor('delivered', 4);
  await webhook.failOnce(() => order({ item: 'Strainer' }));
}

async function createOrderWebhook(request: DemoRequest, base: string, receiverUrl: string) {
  const target_url = `${receiverUrl}/orders`;
  const { id, secret } = await request<{ id: string; secret: string }>('POST', `${base}/webhooks`, {
    target_url,
    events: ['entity.created', 'entity.updated'],
    description: 'Orders of the demo, to the sandbox',
  });
  await fetch(`${receiverUrl}/secrets`, { method: 'POST', body: secret });
  const path = `${base}/webhooks/${id}`;

  const list = async (status: string) =>
    (await request<{ items: { id: string }[] }>('GET', `${path}/deliveries?status=${status}`)).items;

  /** Waits until `count` deliveries have this status, and returns the first of them. */
  async function waitFor(status: string, count: number): Promise<{ id: string }> {
    for (const deadline = Date.now() + 120_000; Date.now() < deadline; await sleep(250)) {
      const found = await list(status);
      if (found.length >= count && found[0] !== undefined) return found[0];
    }
    throw new Error(`demo data: the worker did not bring ${count} deliveries to the status ${status} in two minutes`);
  }

  /**
   * A delivery fails permanently after eight attempts in 28 hours. As a shortcut, an event that the webhook missed
   * while it was off is redelivered once, to an endpoint that returns 503.
   */
  async function failOnce(causeEvent: () => Promise<unknown>): Promise<void> {
    await request('PATCH', path, { enabled: false, target_url: `${receiverUrl}/status/503/orders` });
    await causeEvent();
    const missed = await waitFor('missed', 1);
    await request('PATCH', path, { enabled: true });
    await request('POST', `${path}/deliveries/${missed.id}/redeliver`);
    await waitFor('failed', 1);
    await request('PATCH', path, { target_url });
  }

  return { waitFor, failOnce };
}
