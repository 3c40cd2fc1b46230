// Deliveries through the whole house: events told in a transaction, workers, a real endpoint over TLS.
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { startHookWorld } from '../../../test/hooks.ts';
import type { ToldMessage } from '../../events.ts';
import { newId } from '../../kit/ids.ts';

const { world, endpoint, url } = await startHookWorld();
await world.startWorker();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });

const as = { as: token };
const create = async (body: object = {}) =>
  (
    await world.call('POST', `/api/agents/${agent.id}/webhooks`, {
      ...as,
      body: { target_url: url(), events: ['message.created'], ...body },
    })
  ).body;

const told = (content = 'hello'): ToldMessage => ({
  workspace_id: workspace,
  agent_id: agent.id,
  conversation_id: newId(),
  data: {
    message: {
      id: newId(),
      role: 'user',
      content,
      file_urls: [],
      created_date: new Date().toISOString(),
      updated_date: new Date().toISOString(),
    },
    user: { id: owner.id, email: owner.email },
  },
});

describe('a delivery', () => {
  it('reaches the endpoint signed, numbered, and is in the log', async () => {
    const webhook = await create();
    await world.app.publish(world.app.database.db, 'message.created', told(), new Date());
    await expect.poll(() => endpoint.heard.length).toBe(1);
    const [heard] = endpoint.heard;
    expect(heard?.headers['x-service-sequence']).toBe('1');
    expect(heard?.headers['x-service-signature']).toBe(
      createHmac('sha256', webhook.secret)
        .update(heard?.body ?? '')
        .digest('hex'),
    );
    const path = `/api/agents/${agent.id}/webhooks/${webhook.id}/deliveries`;
    await expect
      .poll(async () => (await world.call('GET', path, as)).body.items)
      .toMatchObject([{ sequence: 1, status: 'delivered', attempts_made: 1, last_status_code: 200 }]);
  });
});
