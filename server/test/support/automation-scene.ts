// Test worlds with automations: a workspace with one app that has the entity Order, and endpoints that automations
// call.
import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Responder } from '../../../sandbox/src/webhook-endpoint.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import { newId } from '../../src/kit/ids.ts';
import type { CallResult } from './client.ts';
import { startWebhookWorld } from './webhook-receiver.ts';
import type { WorldOptions } from './world.ts';

// biome-ignore lint/suspicious/noExplicitAny: Responses are not typed here.
type AnyBody = any;

export async function startAutomationScene(options: WorldOptions = {}) {
  const outside = await startWebhookWorld(options);
  const { world, endpoint, url } = outside;
  const owner = await world.person('owner@example.com');
  const workspace = await world.workspace(owner);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
  const token = await world.token(owner, workspace);
  const responders = new Map<string, Responder>();
  endpoint.respond = (request) => responders.get(request.path)?.(request) ?? {};
  const call = (method: string, path: string, body?: object, as = token): Promise<CallResult> =>
    world.call(method, path, { as, body });

  async function createApp(): Promise<AppRow> {
    const app = await world.appOf(owner, workspace);
    const schema = { name: 'Order', properties: { total: { type: 'number' } }, rls: { read: true, write: true } };
    expect(await call('PUT', `/api/apps/${app.id}/entity-schemas/Order`, schema)).toMatchObject({ status: 200 });
    return app;
  }

  /**
   * Creates an automation with its own endpoint, in a new app unless one is given. By default, it sends each new order.
   */
  async function createAutomation(body: object = {}, action: object = {}, on?: AppRow) {
    const app = on ?? (await createApp());
    const path = `/${newId()}`;
    const base = `/api/apps/${app.id}/automations`;
    const created = await call('POST', base, {
      name: 'Orders',
      type: 'entity',
      ...(!('type' in body) && { entity_name: 'Order', event_types: ['create'] }),
      action: { type: 'http_request', url: url(path), ...action },
      ...body,
    });
    expect(created.status, created.text).toBe(200);
    const { id } = created.body;
    const get = async (): Promise<AnyBody> =>
      (await call('GET', base)).body.items.find((item: AnyBody) => item.id === id);
    const listRuns = async () => {
      const { rows } =
        await sql<AnyBody>`select * from automation_runs where automation_id = ${id} order by id`.execute(world.db);
      return rows;
    };
    return {
      app,
      id,
      path: `${base}/${id}`,
      get,
      listRuns,
      patch: (change: object) => call('PATCH', `${base}/${id}`, change),
      respondWith: (responder: Responder) => void responders.set(path, responder),
      received: () => endpoint.received.filter((request) => request.path === path),
      /** Creates a record that triggers the automation. */
      order: async (record: object = { total: 1 }): Promise<AnyBody> => {
        const order = await call('POST', `/api/apps/${app.id}/entities/Order`, record);
        expect(order.status, order.text).toBe(200);
        return order.body;
      },
      waitForEnd: (count = 1) =>
        expect.poll(async () => (await listRuns()).filter((run) => run.completed_at !== null).length).toBe(count),
      /** Makes the automation's waiting runs due now. */
      async makeDueNow() {
        await sql`update automation_runs set due_at = clock_timestamp()
          where automation_id = ${id} and due_at is not null and claimed_slot is null`.execute(world.db);
        world.app.wake.notify('automation_runs');
      },
    };
  }
  return { ...outside, owner, workspace, token, call, createApp, createAutomation };
}
