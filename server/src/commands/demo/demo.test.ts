// Tests that the demo data contains every role, state, limit and count that the members list can filter by.
import { sql } from 'kysely';
import { afterAll, expect, it } from 'vitest';
import { startModelSandbox } from '../../../../sandbox/src/model.ts';
import { startReceiver } from '../../../../sandbox/src/receiver.ts';
import { startWorld } from '../../../test/support/world.ts';
import { listMismatches } from '../../core/credits/reconciliation.ts';
import { createDemoData } from './demo.ts';
import { demoRequest } from './request.ts';

const model = await startModelSandbox();
const receiver = await startReceiver();
afterAll(async () => {
  await model.close();
  await receiver.close();
});
const world = await startWorld();
const answering = await startWorld({
  environment: { MODEL_URL: model.url, OUTBOUND_ALLOW: `http://${new URL(receiver.url).host}` },
});
await answering.startWorker();
const owner = await world.person('demo@example.com', { full_name: 'Demo Owner' });
const workspace = await world.workspace(owner);
const startedAt = performance.now();
const request = demoRequest(world.url, await world.token(owner, workspace));
await createDemoData(world.app.database.db, request, {}, new Date('2026-06-30T12:00:00Z'));
const seconds = (performance.now() - startedAt) / 1000;

const countBy = async (query: ReturnType<typeof sql<{ what: string | null; count: number }>>) =>
  Object.fromEntries((await query.execute(world.db)).rows.map(({ what, count }) => [String(what), count]));

it('the demo has the same 250 people of every role and state each time, within seconds', async () => {
  expect(
    await countBy(sql`select role as what, count(*) from memberships where workspace_id = ${workspace} group by role`),
  ).toEqual({ owner: 1, admin: 11, editor: 99, viewer: 64, guest: 40 });
  expect(
    await countBy(sql`select access_state as what, count(*) from memberships
      where workspace_id = ${workspace} group by access_state`),
  ).toEqual({ active: 203, blocked: 12 });
  expect(
    await countBy(sql`select expires_at > '2026-06-30T12:00:00Z' as what, count(*) from invitations
      where workspace_id = ${workspace} group by 1`),
  ).toEqual({ true: 20, false: 15 });
  expect(seconds).toBeLessThan(60);
});

it('the demo has an agent and a conversation, also without a model', async () => {
  const agents = await countBy(sql`select a.name as what, count(*) from agent_conversations c
    join apps a on a.id = c.app_id where c.workspace_id = ${workspace} group by a.name`);
  expect(agents).toEqual({ 'House guide': 1 });
  const messages = await sql`select 1 from agent_messages where workspace_id = ${workspace}`.execute(world.db);
  expect(messages.rows).toEqual([]);
});

const person = await answering.person('demo@example.com');
const token = await answering.token(person, await answering.workspace(person));
const options = { receiverUrl: receiver.url, hasSandboxModel: true };
await createDemoData(answering.app.database.db, demoRequest(answering.url, token), options, new Date());

it('the agent replies if a model is configured', async () => {
  const { rows } = await sql<{ role: string }>`select role from agent_messages order by position`.execute(answering.db);
  expect(rows.map(({ role }) => role)).toEqual(['user', 'assistant']);
  const notes = await sql<{ content: string }>`select content from agent_memories`.execute(answering.db);
  expect(notes.rows).toEqual([{ content: 'I am new here.' }]);
});

it('the task list of the demo is built by the assistant and published, and people can sign up', async () => {
  const { body: apps } = await answering.call('GET', '/api/apps?search=Task+list', { as: token });
  const [app] = apps.items;
  expect(app).toMatchObject({ status: { state: 'ready' }, published: { revision: app.revision } });
  const settings = await answering.call('GET', `/api/apps/${app.id}/auth/settings`, { as: token });
  expect(settings.body).toMatchObject({ sign_up: 'open' });
});

it('the task list of the demo has a workflow with a run, and an automation that passed on two new tasks', async () => {
  const { body: apps } = await answering.call('GET', '/api/apps?search=Task+list', { as: token });
  const read = async (path: string) =>
    (await answering.call('GET', `/api/apps/${apps.items[0].id}${path}`, { as: token })).body.items;
  expect(await read('/workflows')).toMatchObject([{ status: 'active', total_runs: 1, last_run_status: 'completed' }]);
  const [run] = await read('/workflows/runs');
  expect(run).toMatchObject({ workflow_name: 'Report open tasks', status: 'completed', steps_count: 4 });
  expect(await read('/automations')).toMatchObject([{ name: 'New tasks', is_active: true, last_error: null }]);
  const titles = ['Water the plants', 'Repair the kettle'];
  expect(await bodiesAt('/open-tasks')).toEqual([{ open: 2, titles: expect.arrayContaining(titles) }]);
  await expect.poll(async () => (await bodiesAt('/new-tasks')).length).toBe(2);
  expect(await bodiesAt('/new-tasks')).toEqual(expect.arrayContaining(titles.map((title) => ({ title }))));
});

const bodiesAt = async (path: string): Promise<unknown[]> => {
  const received = (await (await fetch(`${receiver.url}/received?path=${path}`)).json()) as { body: unknown }[];
  return received.map(({ body }) => body);
};

it('the shop of the demo has an entity with rules, records, and a webhook with deliveries of which one failed', async () => {
  const { body: apps } = await answering.call('GET', '/api/apps?limit=100', { as: token });
  const shop = apps.items.find((app: { name: string }) => app.name === 'Shop front');
  const read = async (path: string) => (await answering.call('GET', `/api/apps/${shop.id}${path}`, { as: token })).body;
  expect(await read('/entity-schemas/Order')).toMatchObject({ closed_operations: [], record_count: 4 });
  const [webhook] = await read('/webhooks');
  expect(webhook).toMatchObject({ target_url: `${receiver.url}/orders`, disabled_at: null });
  const { items } = await read(`/webhooks/${webhook.id}/deliveries?after_seq=0`);
  const statuses = items.map(({ status }: { status: string }) => status);
  expect(statuses).toEqual(['delivered', 'delivered', 'delivered', 'delivered', 'failed']);
  const all = (await (await fetch(`${receiver.url}/received`)).json()) as {
    event: string;
    signature: string;
    answered: number;
  }[];
  const received = all.filter(({ event }) => event !== '');
  expect(received.map(({ signature }) => signature)).toEqual(Array(5).fill('valid'));
  expect(received.map(({ answered }) => answered)).toEqual([200, 200, 200, 200, 503]);
});

it('the demo has members with limits, presence, own and shared apps and agents, and credit use', async () => {
  const { rows } = await sql<Record<string, number>>`select
      count(*) filter (where m.credit_limit is not null) as limited,
      count(*) filter (where exists (select 1 from credentials c where c.user_id = m.user_id and c.last_used_at is not null)) as seen,
      count(*) filter (where exists (select 1 from apps a where a.owner_id = m.user_id and a.app_type = 'user_app')) as app_owners,
      count(*) filter (where exists (select 1 from apps a where a.owner_id = m.user_id and a.app_type = 'user_agent')) as agent_owners,
      count(*) filter (where exists (select 1 from app_shares s where s.user_id = m.user_id)) as shared_with,
      count(*) filter (where exists (select 1 from credit_ledger l where l.user_id = m.user_id)) as spenders
    from memberships m where m.workspace_id = ${workspace}`.execute(world.db);
  for (const [what, count] of Object.entries(rows[0] as object)) expect(count, what).toBeGreaterThan(5);
  const guestsWithout = await sql`select 1 from memberships m where m.role = 'guest' and m.workspace_id = ${workspace}
    and not exists (select 1 from app_shares s where s.user_id = m.user_id)`.execute(world.db);
  expect(guestsWithout.rows).toEqual([]);
  const days = await sql<{ days: number }>`select count(distinct created_date::date) as days from credit_ledger
    where workspace_id = ${workspace}`.execute(world.db);
  expect(days.rows[0]?.days).toBeGreaterThanOrEqual(60);
});

it('the pools of the demo match the ledger', async () => {
  const { rows } = await sql<{ period_start: Date }>`select distinct period_start from credit_ledger
    where workspace_id = ${workspace}`.execute(world.db);
  expect(rows.length).toBeGreaterThanOrEqual(2);
  for (const { period_start } of rows)
    expect(await listMismatches(world.db, { workspace_id: workspace, period_start })).toEqual([]);
});
