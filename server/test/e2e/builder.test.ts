// Tests that builder chat turns survive crashes. Workers and APIs are killed during turns. No step may be repeated,
// there must be at most one revision, and no one may be charged twice. The model's own record of its calls is checked
// as well.
import { once } from 'node:events';
import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import type { ModelReply } from '../../../sandbox/src/model.ts';
import { callTools, say, writeFile } from '../support/chat.ts';
import { call, stream } from '../support/client.ts';
import { startModelInstallation } from './model-installation.ts';

const { model, db, token, startApi, startWorker, a, b } = await startModelInstallation();
let worker = await startWorker();
beforeEach(() => model.behave('well'));

const get = async (path: string) => (await call(b.url, 'GET', path, { as: token })).body;
const createApp = async (): Promise<{ id: string; revision: number }> =>
  (await call(a.url, 'POST', '/api/apps', { as: token, body: {} })).body;

/** Kills the worker and starts a new one. */
async function replaceWorker() {
  const exited = once(worker.child, 'exit');
  worker.child.kill('SIGKILL');
  await exited;
  worker = await startWorker();
}

const lastStep = 4;
/** Step `n` writes a file. The last step reports that everything is written. */
const replyOf = (n: number): ModelReply => {
  const usage = { prompt_tokens: 10_000, completion_tokens: 0 };
  if (n === lastStep) return { ...say('All written.'), usage };
  return { ...callTools(writeFile(`public/${n}.js`, `let step = ${n};`)), text: `Step ${n}.`, usage };
};

it.each([1, 2, 3, 4])(
  'a worker that is killed while the model answers step %i is replaced: recorded steps are not repeated',
  async (killedAt) => {
    const app = await createApp();
    const asked: number[] = [];
    let isKilled = false;
    const killed = Promise.withResolvers<void>();
    model.script(async ({ messages }) => {
      const step = messages.filter(({ role }) => role === 'assistant').length + 1;
      asked.push(step);
      if (step === killedAt && !isKilled) {
        isKilled = true;
        killed.resolve();
        await new Promise(() => {});
      }
      return replyOf(step);
    });
    const streamed = await stream(a.url, `/api/apps/${app.id}/chat/message`, { as: token, body: { content: 'Go' } });
    await killed.promise;
    await replaceWorker();
    const { data } = await streamed.until('turn.completed');
    expect(data).toMatchObject({ status: { state: 'ready' }, app: { revision: app.revision + 1 } });
    // Only the unrecorded step was requested again.
    const expected = [1, 2, 3, 4].flatMap((step) => (step === killedAt ? [step, step] : [step]));
    expect(asked).toEqual(expected);
    expect(data.conversation.messages.map(({ content }: { content: string }) => content)).toEqual([
      'Go',
      'Step 1.\n\nStep 2.\n\nStep 3.\n\nAll written.',
    ]);
    const reset = streamed.events.findLastIndex(({ event }) => event === 'message.reset');
    const texts = streamed.events.slice(reset + 1).filter(({ event }) => event === 'message.delta');
    expect(texts.map(({ data }) => data.text).join('')).toBe(data.conversation.messages[1].content);
    const { rows } = await sql<{ state: string; charged: number }>`
      select state, charged from credit_reservations where app_id = ${app.id} order by id`.execute(db);
    expect(rows).toEqual(Array(4).fill({ state: 'settled', charged: 1 }));
    const files = await get(`/api/apps/${app.id}/files`);
    expect(files.items.filter(({ path }: { path: string }) => /public\/\d/.test(path)).length).toBe(3);
  },
);

it('an API that is killed during a turn does not affect it; another one answers the repeated request', async () => {
  const app = await createApp();
  const asked: number[] = [];
  const released = Promise.withResolvers<void>();
  model.script(async ({ messages }) => {
    const step = messages.filter(({ role }) => role === 'assistant').length + 1;
    asked.push(step);
    if (step === 2) await released.promise;
    return replyOf(step);
  });
  const c = await startApi();
  const headers = { 'idempotency-key': 'killed-api' };
  const sent = { as: token, body: { content: 'Go' }, headers };
  const first = call(c.url, 'POST', `/api/apps/${app.id}/chat/message`, sent).catch(() => 'lost');
  await expect.poll(() => asked).toEqual([1, 2]);
  const exited = once(c.child, 'exit');
  c.child.kill('SIGKILL');
  await exited;
  expect(await first).toBe('lost');
  const second = call(b.url, 'POST', `/api/apps/${app.id}/chat/message`, sent);
  released.resolve();
  expect(await second).toMatchObject({
    status: 200,
    headers: { 'idempotent-replayed': 'true' },
    body: { status: { state: 'ready' }, app: { revision: app.revision + 1 } },
  });
  expect(asked).toEqual([1, 2, 3, 4]);
  expect((await get(`/api/apps/${app.id}/chat/full-conversation`)).items.length).toBe(2);
});

it('a worker that is asked to stop hands its turn to the next one, which continues after the last step', async () => {
  const app = await createApp();
  const asked: number[] = [];
  let isStopped = false;
  const reached = Promise.withResolvers<void>();
  model.script(async ({ messages }) => {
    const step = messages.filter(({ role }) => role === 'assistant').length + 1;
    asked.push(step);
    if (step === 2 && !isStopped) {
      isStopped = true;
      reached.resolve();
      await new Promise(() => {});
    }
    return replyOf(step);
  });
  const sending = call(a.url, 'POST', `/api/apps/${app.id}/chat/message`, { as: token, body: { content: 'Go' } });
  await reached.promise;
  const exited = once(worker.child, 'exit');
  worker.child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  worker = await startWorker();
  expect((await sending).body).toMatchObject({ status: { state: 'ready' } });
  expect(asked).toEqual([1, 2, 2, 3, 4]);
});
