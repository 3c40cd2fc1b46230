// Tests rate limits while Redis is unavailable: requests are served, each process counts separately, and counts are
// shared again once Redis is back.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { startSecondApp, startWorld } from '../../../../test/support/world.ts';
import { openCounters } from './counters.ts';

const port = await freePort();
let redis = await startRedis();
afterAll(() => void redis.kill('SIGKILL'));

const world = await startWorld({ environment: { REDIS_URL: `redis://127.0.0.1:${port}` } });
const owner = await world.person('owner@example.com');
const token = await world.token(owner, await world.workspace(owner, 'free'));
const listApps = () => world.call('GET', '/api/apps', { as: token });
const readPartialResult = async () => (await listApps()).headers['x-partial-result'];

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startRedis(): Promise<ChildProcess> {
  const child = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  for await (const chunk of child.stdout as NodeJS.ReadableStream)
    if (String(chunk).includes('Ready to accept connections')) break;
  child.stdout?.resume();
  return child;
}

/** Sends requests continuously while `during` runs. Returns all responses. */
async function callRepeatedlyDuring(during: () => Promise<void>): Promise<Awaited<ReturnType<typeof listApps>>[]> {
  const answers: Awaited<ReturnType<typeof listApps>>[] = [];
  let isRunning = true;
  const calling = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (isRunning && answers.length < 5_000) answers.push(await listApps());
    }),
  );
  await during();
  isRunning = false;
  await calling;
  return answers;
}

const expectSharedCounts = () => expect.poll(readPartialResult, { interval: 50 }).toBeUndefined();
const expectLocalCounts = () => expect.poll(readPartialResult, { interval: 50 }).toBe('rate_limit');

it('a crash of Redis under load causes no 5xx; counts are local and marked, then shared again', async () => {
  await expectSharedCounts();
  const answers = await callRepeatedlyDuring(async () => {
    redis.kill('SIGKILL');
    await expectLocalCounts();
    redis = await startRedis();
    await expectSharedCounts();
  });
  expect(answers.filter((got) => ![200, 429].includes(got.status))).toEqual([]);
  expect(answers.some((got) => got.headers['x-partial-result'] === 'rate_limit')).toBe(true);
  // Local counters have the same quota.
  expect(answers.every((got) => got.headers['ratelimit-policy'] === '"listApps";q=300;w=60')).toBe(true);
});

it('a Redis that hangs delays only the requests that are under way', async () => {
  await expectSharedCounts();
  redis.kill('SIGSTOP');
  const startedAt = performance.now();
  expect([200, 429]).toContain((await listApps()).status);
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  await expectLocalCounts();
  redis.kill('SIGCONT');
  await expectSharedCounts();
});

it('a process that is busy for longer than Redis may take does not give it up', async () => {
  await expect.poll(readPartialResult).toBeUndefined();
  const counters = openCounters(`redis://127.0.0.1:${port}`, 'busy:');
  await expect.poll(async () => (await counters.add('n', 60, 0)).shared).toBe(true);
  for (let count = 1; count <= 3; count++) {
    const adding = counters.add('n', 60);
    await new Promise((resolve) => setImmediate(resolve)); // the count has been sent
    const until = performance.now() + 400;
    while (performance.now() < until);
    expect(await adding).toMatchObject({ count, shared: true });
  }
  counters.close();
});

it('counts of one turn are one command, and each gets its own value', async () => {
  const counters = openCounters(`redis://127.0.0.1:${port}`, 'turn:');
  await expect.poll(async () => (await counters.add('first', 60)).shared).toBe(true);
  await counters.add('first', 60, -(await counters.add('first', 60, 0)).count); // back to 0
  const commandsBefore = await countCommands();
  const added = await Promise.all([
    counters.add('first', 60),
    counters.add('second', 30, 5),
    counters.add('first', 60, 3),
    counters.add('second', 30, 0),
    counters.add('first', 60),
  ]);
  expect((await countCommands()) - commandsBefore).toBe(1);
  expect(added.map(({ count }) => count)).toEqual([1, 5, 4, 5, 5]);
  expect(added.every(({ shared }) => shared)).toBe(true);
  expect(added[1]?.resetMs).toBe(30_000);
  expect(added[0]?.resetMs).toBeLessThanOrEqual(60_000);
  expect(await counters.add('first', 60)).toMatchObject({ count: 6 });
  counters.close();
});

it('counts of one turn that Redis did not answer are counted locally, each by its own step', async () => {
  const counters = openCounters(`redis://127.0.0.1:${port}`, 'lost:');
  await expect.poll(async () => (await counters.add('shared', 60, 0)).shared).toBe(true);
  redis.kill('SIGSTOP');
  const added = await Promise.all([counters.add('n', 60, 2), counters.add('n', 60, 3), counters.add('other', 60)]);
  redis.kill('SIGCONT');
  expect(added.map(({ count, shared }) => [count, shared])).toEqual([
    [2, false],
    [5, false],
    [1, false],
  ]);
  counters.close();
});

/** The number of counter commands that Redis has run. */
async function countCommands(): Promise<number> {
  const { stdout } = await promisify(execFile)('redis-cli', ['-p', String(port), 'info', 'commandstats']);
  return [...stdout.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

it('Redis lost and regained is logged once each, and gauged', async () => {
  const count = (text: string) => world.logLines.filter((line) => line.includes(text)).length;
  const readGauge = async () => /^plinth_redis_connected (\d)$/m.exec(await world.app.metrics.render())?.[1];
  const readCheck = async () => (await world.call('GET', '/readyz')).body.checks.redis;
  const restart = async () => {
    redis = await startRedis();
  };
  const crash = { stop: () => redis.kill('SIGKILL'), resume: restart };
  const hang = { stop: () => redis.kill('SIGSTOP'), resume: async () => void redis.kill('SIGCONT') };
  for (const { stop, resume } of [crash, hang]) {
    await expectSharedCounts();
    expect(await readGauge()).toBe('1');
    const before = { lost: count('Redis connection lost'), regained: count('Redis connection restored') };
    await callRepeatedlyDuring(async () => {
      stop();
      await expect.poll(readGauge).toBe('0');
      await sleep(2_500); // enough for many connection attempts
    });
    expect(await readCheck()).toBe('unreachable');
    expect(count('Redis connection lost')).toBe(before.lost + 1);
    expect(count('Redis connection restored')).toBe(before.regained);
    await resume();
    await expect.poll(readGauge).toBe('1');
    expect(await readCheck()).toBe('ok');
    await sleep(500);
    expect(count('Redis connection lost')).toBe(before.lost + 1);
    expect(count('Redis connection restored')).toBe(before.regained + 1);
  }
});

it('a Redis that cannot be reached at first is logged once too', async () => {
  const alone = await startSecondApp(world, { environment: { REDIS_URL: `redis://127.0.0.1:${await freePort()}` } });
  const lines = () => alone.logLines.filter((line) => line.includes('Redis'));
  await expect.poll(lines).toHaveLength(1);
  await sleep(1_500); // enough for several connection attempts
  expect(lines()).toEqual([expect.stringContaining('Redis connection lost')]);
  expect(await alone.app.metrics.render()).toMatch(/^plinth_redis_connected 0$/m);
});
