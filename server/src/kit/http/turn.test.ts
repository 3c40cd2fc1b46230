// Tests through the API that a workspace which holds the process for long waits, and others don't.
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import { usedMs } from '../process-time.ts';

const world = await startWorld({
  routes: (routes) => routes.map((route) => (route.name === 'getApp' ? { ...route, handle: useProcessor } : route)),
});

/** Uses a processor for half a second. */
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
  }, 30_000);
});
