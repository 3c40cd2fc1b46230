// Tests that deliveries survive a crashed worker: another worker sends them again, unchanged.
import { afterAll, expect, it } from 'vitest';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import type { ReceivedRequest } from '../../../sandbox/src/webhook-endpoint.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { commandLine } from './command.ts';
import { startReceiver } from './receiver.ts';

const { endpoint, url: targetUrl, settings } = await startReceiver();
const model = await startModelSandbox();
const database = await cloneTemplate();
const { plinth, start, startApi } = commandLine({
  ...newKeys(),
  DATABASE_URL: database.url,
  MODEL_URL: model.url,
  ...settings,
});
afterAll(async () => {
  await model.close();
  await database.drop();
});
const token = (
  await plinth('bootstrap', '--email', 'first@example.com', '--name', 'First', '--workspace', 'Ours')
).stdout.trim();

/** The parts of a request that must be the same in every attempt. */
const essence = ({ headers, body }: ReceivedRequest) => [
  headers['x-service-sequence'],
  headers['x-service-delivery'],
  body,
];
const inOrder = (requests: readonly ReceivedRequest[]) =>
  requests.map(essence).sort((a, b) => Number(a[0]) - Number(b[0]));

it('after kill -9 of a worker, another sends the same ids, sequence numbers and bodies again, and no others', async () => {
  const [{ url }, first] = await Promise.all([startApi(), start('worker', /"msg":"worker started"/)]);
  const ask = async (method: string, path: string, body?: object) =>
    (await call(url, method, path, { as: token, body })).body;
  const agent = await ask('POST', '/api/agents', { name: 'Support' });
  const hooks = `/api/agents/${agent.id}/webhooks`;
  const events = ['message.created', 'message.completed'];
  const webhook = await ask('POST', hooks, { target_url: targetUrl, events });
  const conversation = await ask('POST', `/api/agents/${agent.id}/conversations`);

  endpoint.respond = () => 'silence';
  await ask('POST', `/api/agents/${agent.id}/conversations/${conversation.id}/messages`, { content: 'Hello' });
  await expect.poll(() => endpoint.received.length).toBe(3); // message.created (message and reply), message.completed
  first.child.kill('SIGKILL');
  endpoint.respond = () => ({});
  await start('worker', /"msg":"worker started"/);
  await expect.poll(() => endpoint.received.length).toBe(6);

  const [before, again] = [inOrder(endpoint.received.slice(0, 3)), inOrder(endpoint.received.slice(3))];
  expect(again).toEqual(before);
  expect(before.map(([sequence]) => sequence)).toEqual(['1', '2', '3']);
  const listed = async () => {
    const { items } = await ask('GET', `${hooks}/${webhook.id}/deliveries?after_seq=0`);
    return items.map((each: { sequence: number; status: string }) => [each.sequence, each.status]);
  };
  await expect.poll(listed).toEqual([
    [1, 'delivered'],
    [2, 'delivered'],
    [3, 'delivered'],
  ]);
});
