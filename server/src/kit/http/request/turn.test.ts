// Tests through the API that only workspaces that hold the process for a long time have to wait.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';
import { createShares } from '../../db/shares.ts';
import { usedMs } from '../../process-time.ts';
import type { Exchange } from '../exchange.ts';
import { createTurns, inTurn, nameOwner } from './turn.ts';

const world = await startWorld({
  routes: (routes) => routes.map((route) => (route.name === 'getApp' ? { ...route, handle: useProcessor } : route)),
});

/** Keeps the processor busy for half a second. */
function useProcessor() {
  for (const end = usedMs() + 500; usedMs() < end; );
  return { id: 'held' };
}

async function createTenant(name: string) {
  const owner = await world.person(`${name}@example.com`);
  const workspace = await world.workspace(owner);
  const app = await world.appOf(owner, workspace);
  const token = await world.token(owner, workspace);
  return {
    token,
    hold: () => world.call('GET', `/api/apps/${app.id}`, { as: token }),
    async readMs() {
      const startedAt = performance.now();
      expect((await world.call('GET', `/api/apps/${app.id}/shares`, { as: token })).status).toBe(200);
      return performance.now() - startedAt;
    },
  };
}

const [hostile, quiet] = [await createTenant('hostile'), await createTenant('quiet')];

describe('a workspace whose request held the process for long', () => {
  it('waits before its next request runs, while others are served', async () => {
    await hostile.hold();
    const [waited, served] = await Promise.all([hostile.readMs(), quiet.readMs()]);
    expect(waited).toBeGreaterThan(5_000);
    expect(served).toBeLessThan(2_000);
  });
});

describe('who waits', () => {
  const actor = { id: 'u', workspaceId: 'w', appId: 'a', appIds: '', lookup: {} };

  it('is the workspace for its own people, and the app for its users and for strangers', () => {
    expect(nameOwner({ ...actor, isOutsider: false })).toBe('w');
    expect(nameOwner({ ...actor, isOutsider: true })).toBe('w a');
    expect(nameOwner({ ...actor, isOutsider: true, appId: 'b' })).toBe('w b');
    expect(nameOwner({ ...actor, isOutsider: false, workspaceId: null })).toBeUndefined();
  });
});

/** Opens a connection from a local address. `answered` counts its responses. */
async function openFrom(from: string, token: string) {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(world.url).port), localAddress: from });
  await once(socket, 'connect');
  const opened = {
    answered: 0,
    send: (count: number) =>
      socket.write(`GET /api/auth/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`.repeat(count)),
  };
  socket.on('data', (chunk: Buffer) => {
    opened.answered += chunk.toString('latin1').split('HTTP/1.1 ').length - 1;
  });
  return opened;
}

describe('strangers at many addresses', () => {
  it('do not make a caller wait whose credential was valid of late', async () => {
    const turns = createTurns(createShares(16));
    const at = (address: string) => ({ address }) as Exchange;
    let started = 0;
    const never = () => {
      started += 1;
      return new Promise<never>(() => {});
    };
    for (let n = 0; n < 100; n += 1) void inTurn(at(`198.51.100.${n}`), undefined, turns, never).catch(() => {});
    expect(await inTurn(at('192.0.2.1'), 'a workspace', turns, async () => 'looked up')).toBe('looked up');
    expect(started).toBe(8);
  });
});

describe('a workspace that sends a thousand requests at once', () => {
  it('delays another workspace by a few of them only', async () => {
    const flood = await Promise.all(Array.from({ length: 100 }, () => openFrom('127.0.0.1', hostile.token)));
    const other = await openFrom('127.0.0.2', quiet.token);
    for (const connection of flood) connection.send(10);
    await sleep(20);
    other.send(1);
    await expect.poll(() => other.answered, { interval: 1 }).toBe(1);
    expect(flood.reduce((sum, { answered }) => sum + answered, 0)).toBeLessThan(500);
  });
});
