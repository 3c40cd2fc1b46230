// Tests clients that hang up while they send a request, while the server works, or while it responds. None of these may
// be logged as a server error.
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';
import { Answer } from '../answer.ts';

const working = { started: 0, ended: 0 };

/** Handlers for two real routes, slow enough for the client to hang up. */
const slowHandlers: Record<string, () => unknown> = {
  serverInfo: async () => {
    working.started += 1;
    await sleep(300);
    working.ended += 1;
    throw new Error('noticed');
  },
  openapi: () => {
    working.started += 1;
    return new Answer(Readable.from(endlessText()), {}, 200, 'text/plain');
  },
};
async function* endlessText(): AsyncGenerator<string> {
  try {
    for (;;) {
      yield 'x'.repeat(64 * 1024);
      await sleep(5);
    }
  } finally {
    working.ended += 1;
  }
}

const world = await startWorld({
  routes: (routes) => routes.map((route) => ({ ...route, handle: slowHandlers[route.name] ?? route.handle })) as never,
});
const owner = await world.person('owner@example.com');
const token = await world.token(owner, await world.workspace(owner));
beforeEach(() => Object.assign(working, { started: 0, ended: 0 }));

/** Starts a request that the test aborts later. */
function begin(method: string, path: string, headers: Record<string, string> = {}) {
  const { hostname, port } = new URL(world.url);
  const outgoing = request({ method, hostname, port, path, headers: { authorization: `Bearer ${token}`, ...headers } });
  outgoing.on('error', () => {}); // expected, because the test hangs up
  return outgoing;
}

async function linesDuring(work: () => Promise<void>): Promise<Record<string, unknown>[]> {
  const before = world.logLines.length;
  await work();
  await sleep(100);
  return world.logLines.slice(before).map((line) => JSON.parse(line));
}
const warningLevel = 40;
const complaints = (lines: readonly Record<string, unknown>[]) =>
  lines.filter(({ level }) => Number(level) >= warningLevel);

describe('a client that hangs up is not an error in the log', () => {
  it('while it sends its body', async () => {
    const lines = await linesDuring(async () => {
      const outgoing = begin('POST', '/api/app-folders', {
        'content-type': 'application/json',
        'content-length': '100',
      });
      outgoing.write('{"name": ');
      await sleep(100);
      outgoing.destroy();
    });
    expect(complaints(lines)).toEqual([]);
    expect(lines).toMatchObject([{ operation: 'createFolder', status: 499 }]);
  });

  it('while the server works, even if the work then fails', async () => {
    const lines = await linesDuring(async () => {
      const outgoing = begin('GET', '/api/info').end();
      await expect.poll(() => working.started).toBe(1);
      outgoing.destroy();
      await expect.poll(() => working.ended).toBe(1);
    });
    expect(complaints(lines)).toMatchObject([{ msg: 'request failed', error: { message: 'noticed' } }]);
  });

  it('while it receives the answer, which is then no longer produced', async () => {
    const lines = await linesDuring(async () => {
      const outgoing = begin('GET', '/openapi.json').end();
      outgoing.once('response', (incoming) => incoming.once('data', () => outgoing.destroy()));
      await expect.poll(() => working).toEqual({ started: 1, ended: 1 });
    });
    expect(complaints(lines)).toEqual([]);
    expect(lines).toMatchObject([{ operation: 'openapi', status: 499 }]);
  });

  it('right after it sent the request', async () => {
    const lines = await linesDuring(async () => {
      for (let i = 0; i < 20; i += 1) {
        const outgoing = begin('GET', '/openapi.json').end();
        setTimeout(() => outgoing.destroy(), i);
      }
      await sleep(500);
    });
    expect(complaints(lines)).toEqual([]);
  });
});
