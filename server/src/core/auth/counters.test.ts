// Limits without Redis: requests go on, each process counts for itself and says so, and sharing comes back by itself.
import { type ChildProcess, spawn } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';

const port = await freePort();
let redis = await startRedis();
afterAll(() => void redis.kill('SIGKILL'));

const world = await startWorld({ environment: { REDIS_URL: `redis://127.0.0.1:${port}` } });
const owner = await world.person('owner@example.com');
const token = await world.token(owner, await world.workspace(owner, 'free'));
const ask = () => world.call('GET', '/api/apps', { as: token });
const askedSharing = async () => (await ask()).headers['x-partial-result'];

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

/** Asks without pause while `during` happens, and gives every answer. */
async function underLoad(during: () => Promise<void>): Promise<Awaited<ReturnType<typeof ask>>[]> {
  const answers: Awaited<ReturnType<typeof ask>>[] = [];
  let going = true;
  const asking = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (going && answers.length < 5_000) answers.push(await ask());
    }),
  );
  await during();
  going = false;
  await asking;
  return answers;
}

const sharedAgain = () => expect.poll(askedSharing, { timeout: 10_000, interval: 50 }).toBeUndefined();
const alone = () => expect.poll(askedSharing, { timeout: 10_000, interval: 50 }).toBe('rate_limit');

it('stopped in the middle of load: no 5xx, limits counted per process and marked, shared again when it is back', async () => {
  await sharedAgain();
  const answers = await underLoad(async () => {
    redis.kill('SIGKILL');
    await alone();
    redis = await startRedis();
    await sharedAgain();
  });
  expect(answers.filter((got) => ![200, 429].includes(got.status))).toEqual([]);
  expect(answers.some((got) => got.headers['x-partial-result'] === 'rate_limit')).toBe(true);
  // Alone, too, a limit is a limit.
  expect(answers.every((got) => got.headers['ratelimit-policy'] === '"listApps";q=300;w=60')).toBe(true);
});

it('hanging: a request waits a moment, not for ever, and the next ones not at all', async () => {
  await sharedAgain();
  redis.kill('SIGSTOP');
  const startedAt = performance.now();
  expect([200, 429]).toContain((await ask()).status);
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  await alone();
  redis.kill('SIGCONT');
  await sharedAgain();
});
