// Tests that replies survive crashes. An API and a worker are killed during a reply, which must not leave a partial
// message, lose an event or leave credits reserved.
import { once } from 'node:events';
import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { call, stream } from '../support/client.ts';
import { startModelInstallation } from './model-installation.ts';

const { model, db, token, startApi, startWorker, a, b } = await startModelInstallation();
const workers = [await startWorker(), await startWorker()];

const words = 'one two three four five six seven eight';
beforeEach(() => {
  model.behave('well');
  model.script(() => ({ text: words }));
});

const post = async (path: string, body: object = {}) => (await call(a.url, 'POST', path, { as: token, body })).body;

async function createChat(name: string): Promise<string> {
  const agent = await post('/api/agents', { name });
  const conversation = await post(`/api/agents/${agent.id}/conversations`);
  return `/api/agents/${agent.id}/conversations/${conversation.id}`;
}

/** Checks a completed turn's messages, events and credits. */
async function expectCompleteTurn(path: string) {
  const messages = async () => {
    const { body } = await call(b.url, 'GET', path, { as: token });
    return body.messages.map((message: { role: string; content: string }) => [message.role, message.content]);
  };
  await expect.poll(messages).toEqual([
    ['user', 'Hello'],
    ['assistant', words],
  ]);
  const conversation = path.split('/').at(-1);
  const events = await sql<{ name: string; content: string }>`
    select name, payload->'data'->'message'->>'content' as content from events
    where payload->>'conversation_id' = ${conversation} order by id`.execute(db);
  expect(events.rows).toEqual([
    { name: 'message.created', content: 'Hello' },
    { name: 'message.created', content: words },
    { name: 'message.completed', content: words },
  ]);
  const countPending = () =>
    sql`select 1 from events where dispatched_at is null`.execute(db).then(({ rows }) => rows.length);
  await expect.poll(countPending).toBe(0);
  const reservations = await sql<{ state: string }>`select state from credit_reservations
    where app_id = ${path.split('/')[3]}`.execute(db);
  expect(reservations.rows).toEqual([{ state: 'settled' }]);
  const pool = await sql<{ reserved: number }>`select reserved from credit_pools`.execute(db);
  expect(pool.rows).toEqual([{ reserved: 0 }]);
}

it('the turn continues when the API is killed during a reply, and another API resumes the stream', async () => {
  model.behave('slow');
  const path = await createChat('API killed');
  const c = await startApi();
  const streamed = await stream(c.url, `${path}/messages`, { as: token, body: { content: 'Hello' } });
  const { id } = await streamed.until('message.delta');
  const exited = once(c.child, 'exit');
  c.child.kill('SIGKILL');
  await Promise.all([exited, streamed.ended]);
  model.behave('well');
  const headers = { 'last-event-id': id as string };
  const again = await stream(b.url, `${path}/messages`, { as: token, body: { content: 'Hello' }, headers });
  await again.until('message.completed');
  const texts = [...streamed.events, ...again.events].filter(({ event }) => event === 'message.delta');
  expect(texts.map(({ data }) => data.text).join('')).toBe(words);
  await expectCompleteTurn(path);
});

it('an API that is stopped ends open answers with 503, and the turn continues', async () => {
  model.behave('slow');
  model.script(() => ({ text: words.repeat(3) }));
  const path = await createChat('API stopped');
  const c = await startApi();
  const headers = { 'idempotency-key': 'moved' };
  const streamed = await stream(c.url, `${path}/messages`, { as: token, body: { content: 'Hello' }, headers });
  await streamed.until('message.delta');
  const waiting = call(c.url, 'POST', `${path}/messages`, { as: token, body: { content: 'Hello' }, headers });
  await new Promise((resolve) => setTimeout(resolve, 500)); // the request has arrived and is waiting
  const exited = once(c.child, 'exit');
  c.child.kill('SIGTERM');
  expect(await waiting).toMatchObject({ status: 503, body: { code: 'service_unavailable', retry_safe: true } });
  expect((await streamed.until('error')).data).toMatchObject({ code: 'service_unavailable' });
  expect(await exited).toEqual([0, null]);
  model.behave('well');
  const got = await call(b.url, 'POST', `${path}/messages`, { as: token, body: { content: 'Hello' }, headers });
  expect(got).toMatchObject({ status: 200, body: { content: words.repeat(3) } });
});

it('another worker runs the turn again when the worker is killed during a reply, and the stream is reset', async () => {
  model.behave('slow');
  const path = await createChat('Worker killed');
  const streamed = await stream(a.url, `${path}/messages`, { as: token, body: { content: 'Hello' } });
  await streamed.until('message.delta');
  const { rows } = await sql<{ holder: string }>`select holder from worker_slots s
    join agent_turns t on t.claimed_slot = s.slot`.execute(db);
  const pid = Number(rows[0]?.holder.split(':').at(-1));
  const victim = workers.find(({ child }) => child.pid === pid);
  expect(victim).toBeDefined();
  const exited = once((victim as (typeof workers)[number]).child, 'exit');
  process.kill(pid, 'SIGKILL');
  await exited;
  model.behave('well');
  await streamed.until('message.completed');
  const names = streamed.events.map(({ event }) => event);
  expect(names.filter((name) => name === 'message.reset').length).toBe(1);
  const since = streamed.events.slice(names.indexOf('message.reset'));
  const texts = since.filter(({ event }) => event === 'message.delta');
  expect(texts.map(({ data }) => data.text).join('')).toBe(words);
  await expectCompleteTurn(path);
});
