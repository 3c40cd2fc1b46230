// Tests that workflow runs survive crashed workers: another worker continues where they stopped. The drill
// `workflow-faults` tests the same at random and for longer.
import { afterAll, expect, it } from 'vitest';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { commandLine } from './command.ts';
import { startReceiver } from './receiver.ts';

const { endpoint, url: endpointUrl, settings } = await startReceiver();
const database = await cloneTemplate();
const { plinth, start, startApi } = commandLine({ ...newKeys(), DATABASE_URL: database.url, ...settings });
afterAll(database.drop);
const as = (
  await plinth('bootstrap', '--email', 'ann@example.com', '--name', 'Ann', '--workspace', 'Ours')
).stdout.trim();

const startWorker = () => start('worker', /"msg":"worker started"/);
const lines = 8;
const runs = 4;

const keep = {
  call: 'entity.create',
  with: { entity: 'Line', data: { token: '${ $context.token }', n: '${ $n }' } },
};
const definition = {
  document: { dsl: '1.0.0', namespace: 'app', name: 'crash', version: '1.0.0' },
  do: [
    { begin: { set: { token: '${ .token }' }, export: { as: '${ . }' } } },
    { loop: { for: { each: 'n', in: `\${ [range(${lines})] }` }, do: [{ keep }] } },
    { send: { call: 'http', with: { method: 'post', endpoint: endpointUrl, body: { token: '${ $context.token }' } } } },
    { pause: { wait: { seconds: 1 } } },
    { finish: { set: { done: true } } },
  ],
};
const expectedSteps = ['begin', ...Array.from({ length: lines }, () => 'keep'), 'send', 'pause', 'finish'];

it('after kill -9 of workers, runs continue: each record is written once, and a call repeats under its key', async () => {
  const [{ url }, first] = await Promise.all([startApi(), startWorker()]);
  const ask = async (method: string, path: string, body?: object) => {
    const got = await call(url, method, path, { as, ...(body && { body }) });
    expect(got.status, got.text).toBe(200);
    return got.body;
  };
  const app = `/api/apps/${(await ask('POST', '/api/apps', { name: 'Shop' })).id}`;
  const properties = { token: { type: 'string' }, n: { type: 'integer' } };
  await ask('PUT', `${app}/entity-schemas/Line`, { name: 'Line', properties });
  const trigger = { config: { trigger_type: 'manual' } };
  const workflow = await ask('POST', `${app}/workflows`, { name: 'crash', definition, trigger });
  const countLines = async () => (await ask('GET', `${app}/entities/Line/count`)).count;

  endpoint.respond = () => 'silence';
  const ids: string[] = [];
  for (let n = 0; n < runs; n += 1) {
    const started = await ask('POST', `${app}/workflows/${workflow.id}/run-now`, { input: { token: `run-${n}` } });
    ids.push(started.run_id);
  }
  await expect.poll(countLines, { interval: 5 }).toBeGreaterThan(lines / 2);
  first.child.kill('SIGKILL'); // while records are being written
  const second = await startWorker();
  await expect.poll(() => endpoint.received.length).toBeGreaterThanOrEqual(runs);
  const before = endpoint.received.length;
  second.child.kill('SIGKILL'); // while calls are waiting for their responses
  endpoint.respond = () => ({});
  await startWorker();
  const readRuns = () => Promise.all(ids.map((id) => ask('GET', `${app}/workflows/${workflow.id}/runs/${id}`)));
  const listStatuses = async () => (await readRuns()).map(({ status }) => status);
  await expect.poll(listStatuses).toEqual(ids.map(() => 'completed'));

  for (const { steps } of await readRuns()) {
    expect(steps.map(({ name }: { name: string }) => name)).toEqual(expectedSteps);
    expect(steps.map(({ number }: { number: number }) => number)).toEqual(expectedSteps.map((_, n) => n + 1));
    expect(new Set(steps.map(({ status }: { status: string }) => status))).toEqual(new Set(['completed']));
  }
  const { items } = await ask('GET', `${app}/entities/Line?limit=1000`);
  const written = items.map(({ token, n }: { token: string; n: number }) => `${token} ${n}`);
  const expected = ids.flatMap((_, run) => Array.from({ length: lines }, (_, n) => `run-${run} ${n}`));
  expect(written.toSorted()).toEqual(expected.toSorted());

  expect(endpoint.received.length).toBe(before + runs);
  const toKey = ({ headers, body }: { headers: Record<string, unknown>; body: string }) =>
    `${headers['idempotency-key']} ${body}`;
  const keys = ids.map(
    (id, n) => `${id}.${expectedSteps.indexOf('send') + 1} ${JSON.stringify({ token: `run-${n}` })}`,
  );
  expect([...new Set(endpoint.received.map(toKey))].toSorted()).toEqual(keys.toSorted());
});
