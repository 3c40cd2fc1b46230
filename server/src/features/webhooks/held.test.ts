// A delivery whose webhook is turned off or on while a worker has it: held if it is off, sent if it is on, and never left
// between the two.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startHookWorld } from '../../../test/hooks.ts';
import { systemClock } from '../../kit/clock.ts';
import { newId } from '../../kit/ids.ts';
import type { Queue } from '../../kit/later/queue.ts';
import { type QueueRun, runQueue } from '../../kit/later/queue-run.ts';

const { world, endpoint, url } = await startHookWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const as = { as: await world.token(owner, workspace) };
const deliveries = world.app.later.queues.find(({ name }) => name === 'webhook_deliveries') as Queue;
const { db } = world.app.database;

let path: string;
let running: QueueRun | undefined;

/** A delivery that waits for a webhook which was turned off while the event was on its way to it. */
beforeEach(async () => {
  const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
  const asked = { target_url: url(), events: ['message.created'] };
  const made = await world.call('POST', `/api/agents/${agent.id}/webhooks`, { ...as, body: asked });
  path = `/api/agents/${agent.id}/webhooks/${made.body.id}`;
  const at = new Date().toISOString();
  const message = { id: newId(), role: 'user', content: 'hello', file_urls: [], created_date: at, updated_date: at };
  const data = { message: { ...message, role: 'user' as const }, user: { id: owner.id, email: owner.email } };
  const told = { workspace_id: workspace, agent_id: agent.id, conversation_id: newId(), data };
  await world.app.publish(db, 'message.created', told, new Date());
  await world.app.later.dispatch(db, new Date());
  await world.db
    .updateTable('webhooks')
    .set({ disabled_at: new Date() })
    .where('workspace_id', '=', workspace)
    .where('id', '=', made.body.id)
    .execute();
});
afterEach(() => running?.stop(5_000));

/** Lets a worker take it; `afterLoad` happens once it has read that the webhook is off. */
function work(afterLoad: () => Promise<unknown> = async () => {}): void {
  const load: Queue['load'] = async (db, rows) => {
    const loaded = (await deliveries.load?.(db, rows)) ?? [];
    if (rows.length > 0) await afterLoad();
    return loaded;
  };
  const { wake } = world.app;
  const onError = (_: string, error: unknown) => expect.fail(String(error));
  running = runQueue({ ...deliveries, load }, { db, clock: systemClock, claim: { slot: 0, epoch: 1 }, wake, onError });
}

const status = async () => (await world.call('GET', `${path}/deliveries`, as)).body.items[0].status;

it('off: it is held, and sent once the webhook is on', async () => {
  work();
  await expect.poll(status).toBe('held');
  await world.call('PATCH', path, { ...as, body: { enabled: true } });
  await expect.poll(status).toBe('delivered');
  expect(endpoint.heard.length).toBe(1);
});

it('off when it was taken, on again before it could be held: it is sent, not held for ever', async () => {
  let isOff = true;
  work(async () => {
    if (isOff) await world.call('PATCH', path, { ...as, body: { enabled: true } });
    isOff = false;
  });
  await expect.poll(status).toBe('delivered');
  expect(endpoint.heard.length).toBe(2);
});
