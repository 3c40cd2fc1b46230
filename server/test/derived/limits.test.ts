// Checks that every declared rate limit is enforced: a caller gets 429 once the quota is used up.
import { describe, expect, it } from 'vitest';
import { countWorkspaceBytes } from '../../src/core/auth/rate-limits/byte-budget.ts';
import type { CallResult } from '../support/client.ts';
import { startWorld } from '../support/world.ts';
import { fillPath, insertFolder, insertHook, stubHandlers } from './stub-handlers.ts';

const world = await startWorld({ environment: { TRUSTED_PROXIES: '127.0.0.1' }, routes: stubHandlers });

const limited = world.app.routes.flatMap(({ limit, ...route }) => (limit === 'unlimited' ? [] : [{ ...route, limit }]));

const withByteBudget = limited.flatMap(({ bytes, ...route }) =>
  bytes && route.method !== 'GET' ? [{ ...route, bytes }] : [],
);
const isForAppUsers = ({ credentials }: (typeof limited)[number]) =>
  credentials !== 'open' && credentials.appUser !== undefined;
const isAnonymous = ({ credentials }: (typeof limited)[number]) =>
  credentials !== 'open' && credentials.appUser === true;

/** The first response announces the quota. Once the quota is used up, the next response is 429. */
async function expectLimit(quota: number, send: () => Promise<CallResult>): Promise<void> {
  await world.resetRateLimits();
  const first = await send();
  expect(first.headers['ratelimit-policy']).toMatch(new RegExp(`^"\\w+";q=${quota};w=\\d+$`));
  await world.addToRateLimits(quota - 2);
  expect((await send()).status).not.toBe(429); // the last request within the quota
  let last = await send();
  // One more request may not be enough, because the process briefly counts on its own if Redis is slow.
  for (let sent = 1; sent <= 3 * quota && last.status !== 429; sent += 1) last = await send();
  expect(last.status).toBe(429);
  expect(last.body).toMatchObject({ code: 'rate_limited', limit: quota, retry_safe: true });
  expect(Number(last.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect(last.headers.ratelimit).toMatch(/r=0;t=\d+$/);
}

describe('the rate limit', () => {
  const forPeople = limited.filter(
    ({ credentials }) => credentials === 'open' || credentials.session || credentials.token,
  );
  it.each(forPeople.map((route, index) => ({ name: route.name, route, index })))(
    'of $name is announced by every answer and enforced with 429',
    async ({ route, index }) => {
      const owner = await world.person(`${route.name}@example.com`);
      const workspace = await world.workspace(owner, 'free');
      const app = await world.appOf(owner, workspace);
      if (route.name === 'restoreApp') {
        await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', app.id).execute();
      }
      const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
      const path = fillPath(route.path, {
        app_id: app.id,
        agent_id: agent.id,
        folder_id: await insertFolder(world, workspace),
        file: 'start.js',
        hook_token: await insertHook(world, app),
      });
      const session = { kind: 'session', user_id: owner.id, workspace_id: null, permission: 'full_access' } as const;
      const takesTokens = route.credentials === 'open' || route.credentials.token !== undefined;
      const credential: Record<string, string> = takesTokens
        ? { authorization: `Bearer ${await world.token(owner, workspace)}` }
        : { cookie: `plinth_session=${(await world.credential(session)).token}` };
      // Each route is called from its own address, so the cases do not share per-address counters.
      const headers = { ...credential, 'x-forwarded-for': `203.0.113.${index + 1}` };
      await expectLimit(route.limit.quota, () => world.call(route.method, path, { headers }));
    },
  );

  it.each(limited.filter(isForAppUsers).map((route) => ({ name: route.name, route })))(
    "of $name applies to app users and anonymous callers, unless the runtime's limit is smaller",
    async ({ route }) => {
      const owner = await world.person(`${route.name}.runtime@example.com`);
      const app = await world.appOf(owner, await world.workspace(owner, 'free'), {
        public_settings: 'public_without_login',
      });
      const path = fillPath(route.path, { app_id: app.id });
      const { quota } = route.limit;
      const as = await world.appUserToken(app, await world.appUser(app, 'ann@customers.example'));
      await expectLimit(Math.min(quota, 600), () => world.call(route.method, path, { as }));
      if (isAnonymous(route)) await expectLimit(Math.min(quota, 120), () => world.call(route.method, path));
    },
  );
});

describe('the byte budget', () => {
  it.each(withByteBudget.map((route) => ({ name: route.name, route })))(
    'of $name refuses with 429 once it is used up',
    async ({ route }) => {
      const owner = await world.person(`${route.name}.bytes@example.com`);
      const workspace = await world.workspace(owner, 'pro');
      const path = fillPath(route.path, { app_id: (await world.appOf(owner, workspace)).id });
      const send = async () => world.call(route.method, path, { as: await world.token(owner, workspace) });
      const limit = 3 * (route.bytes.at(-1)?.quota ?? 0); // the plan's factor is 3
      await countWorkspaceBytes(world.app.counters, route.bytes, workspace, limit);
      expect((await send()).status).not.toBe(429);
      await countWorkspaceBytes(world.app.counters, route.bytes, workspace, 1);
      expect(await send()).toMatchObject({ status: 429, body: { code: 'rate_limited', limit } });
    },
  );
});
