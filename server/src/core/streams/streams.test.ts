// Tests the streams of runs, turns and sessions: what they cost, how many there may be, and when they end
// (docs/internals/streams.md).
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { define, startWorkflowWorld } from '../../../test/support/workflows.ts';
import { newId } from '../../kit/ids.ts';
import type { Source } from './reader.ts';
import { createStreams, ping } from './streams.ts';

const statements: string[] = [];
const limits = { ofCredential: 500, ofWorkspace: 505, accessEveryMs: 2_000 };
const scene = await startWorkflowWorld({
  streamLimits: limits,
  environment: { MAX_CONNECTIONS_PER_ADDRESS: '2000' },
  onStatement: (text) => void statements.push(text),
});
const { world, owner, workspace, token, send, create, newApp, getRun, pathOf } = scene;
await world.startWorker();

const waiting = define([{ pause: { wait: { days: 1 } } }]);

/** A run that waits, with its path. */
async function startRun() {
  const app = await newApp();
  const { id } = await create(app, { definition: waiting });
  const { run_id } = (await send('POST', app, `/${id}/run-now`)).body;
  await expect.poll(async () => (await getRun(app, id, run_id)).steps.length).toBe(1);
  return { app, id, run_id: run_id as string, path: pathOf(app, `/${id}/runs/${run_id}`) };
}

/** Opens a stream, and reads it until it ends or is closed. */
async function open(path: string, as = token) {
  const aborted = new AbortController();
  const response = await fetch(world.url + path, {
    headers: { authorization: `Bearer ${as}`, accept: 'text/event-stream' },
    signal: aborted.signal,
  });
  const received = { text: '', isOver: false };
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body as ReadableStream<Uint8Array>)
      received.text += decoder.decode(chunk, { stream: true });
  };
  const ended = read()
    .catch(() => {})
    .finally(() => {
      received.isOver = true;
    });
  return { status: response.status, headers: response.headers, received, ended, close: () => aborted.abort() };
}

const insertStep = (run_id: string, number: number) =>
  world.db
    .insertInto('workflow_steps')
    .values({
      workspace_id: workspace,
      run_id,
      number,
      task_path: '/do/0/pause',
      name: 'pause',
      task_type: 'set',
      status: 'completed',
      started_at: new Date(),
      completed_at: new Date(),
    })
    .execute();

const countStepReads = () => statements.filter((text) => /from workflow_steps\s+where .*number >= /s.test(text)).length;

const countLookups = () => statements.filter((text) => text.startsWith('/* lookup */')).length;
/** How often callers are looked up again while nothing else is sent. */
const countLookupsAgain = async () => {
  statements.length = 0;
  await sleep(limits.accessEveryMs + 500);
  return countLookups();
};

describe('streams of a run', () => {
  it('cost one read per wake-up, also with 500 followers', async () => {
    const { run_id, path } = await startRun();
    const streams = await Promise.all(Array.from({ length: 500 }, () => open(path)));
    const haveSeen = (number: number) =>
      streams.filter(({ received }) => received.text.includes(`id: ${run_id}:${number}:`)).length;
    await expect.poll(() => haveSeen(1), { timeout: 20_000 }).toBe(500);
    statements.length = 0;
    const wakeUps = 3;
    for (let number = 2; number < 2 + wakeUps; number += 1) {
      await insertStep(run_id, number);
      world.app.wake.notify(`run:${run_id}`);
      await expect.poll(() => haveSeen(number), { timeout: 20_000 }).toBe(500);
    }
    // Polling, every two seconds, may add a few.
    expect(countStepReads()).toBeLessThanOrEqual(2 * wakeUps + 3);
    for (const { close } of streams) close();
    await Promise.all(streams.map(({ ended }) => ended));
    await expect.poll(countLookupsAgain, { timeout: 10_000 }).toBe(0);
  }, 120_000);

  it('end soon after their reader was blocked', async ({ expect }) => {
    const { path } = await startRun();
    const person = await world.member(workspace, 'editor', `blocked-${newId()}@example.com`);
    const stream = await open(path, await world.token(person, workspace));
    await expect.poll(() => stream.received.text).toContain('run.step');
    await world.db
      .updateTable('memberships')
      .set({ access_state: 'blocked' })
      .where('workspace_id', '=', workspace)
      .where('user_id', '=', person.id)
      .execute();
    await expect.poll(() => stream.received.isOver, { timeout: 10_000 }).toBe(true);
  });

  it('end soon after their credential was revoked or has expired', async ({ expect }) => {
    const { path } = await startRun();
    const tokens = [await world.token(owner, workspace), await world.token(owner, workspace)];
    const [revoked, expired] = await Promise.all(tokens.map((as) => open(path, as)));
    const credentials = await world.db
      .selectFrom('credentials')
      .select('id')
      .where('user_id', '=', owner.id)
      .orderBy('created_date', 'desc')
      .limit(2)
      .execute();
    const change = (index: number, fields: { revoked_at: Date } | { expires_at: Date }) =>
      world.db
        .updateTable('credentials')
        .set(fields)
        .where('id', '=', credentials[index]?.id as string)
        .execute();
    await change(0, { revoked_at: new Date() });
    await change(1, { expires_at: new Date(Date.now() - 1_000) });
    await expect
      .poll(() => [revoked, expired].map((stream) => stream?.received.isOver), { timeout: 10_000 })
      .toEqual([true, true]);
  });

  it('are not followed for HEAD, which has no body', async () => {
    const { path } = await startRun();
    for (let n = 0; n < 5; n += 1) {
      const headers = { accept: 'text/event-stream' };
      const got = await world.call('HEAD', path, { as: token, headers });
      expect([got.status, got.headers['content-type']]).toEqual([200, 'text/event-stream']);
    }
    expect(await countLookupsAgain()).toBe(0);
  });

  it('are limited per credential and per workspace, until one is closed', async () => {
    const { path } = await startRun();
    const streams = await Promise.all(Array.from({ length: limits.ofCredential }, () => open(path)));
    const refused = await open(path);
    await refused.ended;
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(JSON.parse(refused.received.text)).toMatchObject({
      code: 'too_many_streams',
      limit: 500,
      of: 'credential',
      retry_safe: true,
    });
    expect((await world.call('GET', path, { as: token })).status).toBe(200);
    const other = await world.token(owner, workspace);
    const others = await Promise.all(Array.from({ length: 6 }, () => open(path, other)));
    expect(others.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429]);
    streams[0]?.close();
    await expect
      .poll(async () => {
        const again = await open(path);
        again.close();
        return again.status;
      })
      .toBe(200);
    for (const { close } of [...streams, ...others]) close();
  }, 120_000);
});

describe('following', () => {
  interface Entry {
    readonly position: number;
  }

  /** A source of numbered entries, and what was read of it. */
  function createNumbers({ batchSize = 10 } = {}) {
    const numbers = { count: 0, isOver: false, reads: [] as number[], topic: `numbers ${newId()}` };
    const source: Source<number, Entry, string> = {
      topic: numbers.topic,
      owner: { owner: numbers.topic, part: 'part' },
      compare: (a, b) => a - b,
      async read(_db, from) {
        numbers.reads.push(from);
        const to = Math.min(numbers.count, from + batchSize);
        const items = Array.from({ length: Math.max(0, to - from) }, (_, index) => ({ position: from + index + 1 }));
        const hasMore = to < numbers.count;
        return { items, hasMore, ...(numbers.isOver && !hasMore && { end: { value: 'over' } }) };
      },
    };
    return { numbers, source };
  }

  const held = { recheck: async () => {}, onClose: () => {} };
  const shutdown = new AbortController();
  const { wake, shares, database } = world.app;
  const streams = createStreams({ db: database.db, shares, wake, clock: world.clock, shutdownSignal: shutdown.signal });

  /** Follows until the end, and returns the positions that were received. */
  async function followFrom(
    source: Source<number, Entry, string>,
    from: number,
    onItem?: (n: number) => Promise<void>,
  ) {
    const seen: number[] = [];
    const following = { from, maxMs: 20_000, held, closed: new AbortController().signal };
    const items = streams.follow(source, following, ({ position }) => [position]);
    for (let next = await items.next(); ; next = await items.next()) {
      if (next.done) return { seen, ending: next.value };
      if (next.value === ping) continue;
      seen.push(next.value as number);
      await onItem?.(next.value as number);
    }
  }

  it('gives each follower everything after its position, once and in order', async () => {
    const { numbers, source } = createNumbers();
    numbers.count = 60;
    const from = [0, 60, 7, 33, 0, 59, 12];
    const followers = from.map((position) => followFrom(source, position));
    await sleep(50);
    numbers.count = 95;
    numbers.isOver = true;
    wake.notify(numbers.topic);
    for (const [index, { seen, ending }] of (await Promise.all(followers)).entries()) {
      const first = (from[index] as number) + 1;
      expect(seen).toEqual(Array.from({ length: 95 - first + 1 }, (_, n) => first + n));
      expect(ending).toEqual({ reason: 'ended', value: 'over' });
    }
  });

  it('merges wake-ups: one read per 100 ms', async () => {
    const { numbers, source } = createNumbers();
    const followers = Array.from({ length: 50 }, () => followFrom(source, 0));
    const startedAt = performance.now();
    for (let count = 1; count <= 100; count += 1) {
      numbers.count = count;
      wake.notify(numbers.topic);
      await sleep(5);
    }
    const { length } = numbers.reads;
    expect(length).toBeGreaterThan(1);
    expect(length).toBeLessThanOrEqual(2 + ((performance.now() - startedAt) / 100) * 2);
    numbers.isOver = true;
    wake.notify(numbers.topic);
    for (const { seen } of await Promise.all(followers)) expect(seen).toHaveLength(100);
  });

  it('reads only what a slow follower can take, and does not delay the others', async () => {
    const { numbers, source } = createNumbers({ batchSize: 5 });
    numbers.count = 100;
    const mayGoOn = Promise.withResolvers<void>();
    const slow = followFrom(source, 0, () => mayGoOn.promise);
    await expect.poll(() => numbers.reads.length).toBe(1);
    await sleep(500);
    wake.notify(numbers.topic);
    await sleep(300);
    expect(numbers.reads).toEqual([0]); // one batch is in memory, and no other is read
    const fast = followFrom(source, 90);
    numbers.isOver = true;
    wake.notify(numbers.topic);
    expect((await fast).seen).toHaveLength(10);
    expect(numbers.reads).toEqual([0, 90, 95]);
    mayGoOn.resolve();
    expect((await slow).seen).toHaveLength(100);
  });

  it("takes the workspace's share of the connection pool for each read", async () => {
    const { numbers, source } = createNumbers();
    numbers.count = 1;
    numbers.isOver = true;
    const release = await shares.take('slow', source.owner);
    // Beyond 100 ms, no other slow work of the same part may start.
    await sleep(150);
    const follower = followFrom(source, 0);
    await sleep(300);
    expect(numbers.reads).toEqual([]);
    release();
    expect((await follower).seen).toEqual([1]);
  });
});
