// Tests that failed lookups are limited: unknown credentials and apps per client address, and rejected kinds per
// credential. Each test uses its own client addresses.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';
import { newId } from '../../../kit/ids.ts';
import { mintToken } from '../tokens.ts';
import { type FailureKind, failureQuotas } from './failed-lookups.ts';

let lookups = 0;
const world = await startWorld({
  environment: { TRUSTED_PROXIES: '127.0.0.1' },
  onStatement: (text) => {
    if (text.startsWith('/* lookup */')) lookups += 1;
  },
});
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const app = await world.appOf(owner, workspace);
const openApp = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });

const from = (address: string) => ({ 'x-forwarded-for': address });
const madeUp = () => mintToken('personal_token', world.config.CELL_CODE);
const callAs = (as: string, address: string) =>
  world.call('GET', `/api/apps/${app.id}`, { as, headers: from(address) });
const callWithout = (appId: string, address: string) =>
  world.call('GET', `/api/apps/${appId}/entities/Task`, { headers: from(address) });

/** Uses up the quota, and then sends failing requests until the process refuses them. */
async function exceed(kind: FailureKind, who: string, fail: () => Promise<{ status: number }>): Promise<void> {
  await world.app.counters.add(`failed_${kind}:${who}`, 60, failureQuotas[kind]);
  await expect.poll(async () => (await fail()).status).toBe(429);
}

async function listCounters(): Promise<string[]> {
  const redis = new Redis(world.config.REDIS_URL);
  const keys = await redis.keys(`${world.config.REDIS_PREFIX}*`);
  redis.disconnect();
  return keys.map((key) => key.slice(world.config.REDIS_PREFIX.length));
}

beforeEach(() => {
  world.clock.aheadMs = 0;
});

describe('an address that sends made-up credentials', () => {
  it('is refused with 429 before the database is asked, and no other address is', async () => {
    const sent = await Promise.all(
      Array.from({ length: failureQuotas.credentials }, () => callAs(madeUp(), '192.0.2.1')),
    );
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([401]));
    await expect.poll(async () => (await callAs(madeUp(), '192.0.2.1')).status).toBe(429);
    lookups = 0;
    const { status, body, headers } = await callAs(madeUp(), '192.0.2.1');
    expect([status, body.code, body.limit, body.window_seconds]).toEqual([
      429,
      'rate_limited',
      failureQuotas.credentials,
      60,
    ]);
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(lookups).toBe(0);
    expect((await callAs(madeUp(), '192.0.2.2')).status).toBe(401);
  });

  it('is not refused with a credential that was valid in the last ten minutes', async () => {
    const [used, unused] = [await world.token(owner, workspace), await world.token(owner, workspace)];
    expect((await callAs(used, '192.0.2.3')).status).toBe(200);
    await exceed('credentials', '192.0.2.3', () => callAs(madeUp(), '192.0.2.3'));
    expect((await callAs(used, '192.0.2.3')).status).toBe(200);
    expect((await callAs(unused, '192.0.2.3')).status).toBe(429);
    world.clock.aheadMs = 11 * 60 * 1000;
    expect((await callAs(used, '192.0.2.3')).status).toBe(429);
    expect((await callAs(used, '192.0.2.4')).status).toBe(200);
  });

  it('waits for each answer after five failures', async () => {
    const time = async () => {
      const startedAt = performance.now();
      expect((await callAs(madeUp(), '192.0.2.15')).status).toBe(401);
      return performance.now() - startedAt;
    };
    for (let n = 0; n < 5; n += 1) await time();
    expect(await time()).toBeGreaterThan(490);
    expect(await time()).toBeGreaterThan(490);
  });

  it('is a whole /64 of IPv6', async () => {
    const randomHost = () => `2001:db8:1:2::${Math.floor(Math.random() * 0xffff).toString(16)}`;
    await exceed('credentials', '2001:db8:1:2::/64', () => callAs(madeUp(), randomHost()));
    expect((await callAs(madeUp(), '2001:db8:1:2:ffff::1')).status).toBe(429);
    expect((await callAs(madeUp(), '2001:db8:1:3::1')).status).toBe(401);
  });

  it('is counted for revoked credentials too', async () => {
    const revoked = await world.credential({
      kind: 'personal_token',
      user_id: owner.id,
      workspace_id: workspace,
      permission: 'full_access',
    });
    expect((await callAs(revoked.token, '192.0.2.5')).status).toBe(200);
    await world.db.updateTable('credentials').set({ revoked_at: new Date() }).where('id', '=', revoked.id).execute();
    await exceed('credentials', '192.0.2.5', () => callAs(revoked.token, '192.0.2.5'));
  });
});

describe('a request that succeeds, or whose credential is malformed', () => {
  it('is not counted as a failed lookup', async () => {
    await world.resetRateLimits();
    const token = await world.token(owner, workspace);
    expect((await callAs(token, '192.0.2.6')).status).toBe(200);
    expect((await callAs('plp_nonsense', '192.0.2.6')).status).toBe(401);
    expect((await callAs(madeUp(), '192.0.2.7')).status).toBe(401);
    await expect.poll(listCounters).toContain('failed_credentials:192.0.2.7');
    expect((await listCounters()).filter((name) => name.includes('192.0.2.6'))).toEqual([]);
  });
});

describe('an address that asks for unknown apps without a credential', () => {
  it('is refused with 429 before the database is asked', async () => {
    await exceed('apps', '192.0.2.8', () => callWithout(newId(), '192.0.2.8'));
    lookups = 0;
    expect((await callWithout(openApp.id, '192.0.2.8')).status).toBe(429);
    expect(lookups).toBe(0);
    expect((await callWithout(openApp.id, '192.0.2.9')).status).toBe(404); // the app is open but has no such entity
  });
});

describe('a credential of a kind that an operation does not accept', () => {
  it('is refused with 429 after too many such requests, with no effect on others', async () => {
    const newUser = async (name: string) => {
      const { id } = await world.appUser(app, `${name}@customers.example`);
      const owners = { user_id: null, app_user_id: id, workspace_id: workspace };
      const expires_at = new Date(Date.now() + 60 * 60 * 1000);
      return world.credential({ ...owners, kind: 'app_user_token', permission: 'full_access', expires_at });
    };
    const [one, two] = [await newUser('one'), await newUser('two')];
    await exceed('kinds', one.id, () => callAs(one.token, '192.0.2.10'));
    lookups = 0;
    expect((await callAs(one.token, '192.0.2.10')).status).toBe(429);
    expect(lookups).toBe(0);
    expect((await callAs(two.token, '192.0.2.10')).status).toBe(403);
  });
});

describe('the counter of a limit per app', () => {
  const left = async (as: string, appId: string) => {
    const { headers } = await world.call('GET', `/api/apps/${appId}/entities/Task`, { as });
    return Number(/r=(\d+)/.exec(headers.ratelimit ?? '')?.[1]);
  };

  it('is the same for all apps that do not exist, and for other spellings of an id', async () => {
    const token = await world.token(await world.member(workspace, 'editor', 'speller@example.com'), workspace);
    const first = await left(token, app.id);
    expect(await left(token, app.id)).toBe(first - 1);
    const ids = [newId(), newId(), app.id.toUpperCase(), 'x'.repeat(100), `${newId()}x`];
    const seen: number[] = [];
    for (const id of ids) seen.push(await left(token, id));
    expect(seen).toEqual(ids.map((_, index) => first - index));
    expect(await left(token, app.id)).toBe(first - 2);
    expect((await listCounters()).filter((name) => name.includes(ids[0] as string))).toEqual([]);
  });
});

describe('a preflight', () => {
  const preflight = (appId: string, origin: string, address: string) =>
    world.call('OPTIONS', `/api/apps/${appId}/entities/Task`, {
      headers: { origin, 'access-control-request-method': 'POST', ...from(address) },
    });
  const isAllowed = (got: { headers: Readonly<Record<string, string | undefined>> }) =>
    got.headers['access-control-allow-origin'] !== undefined;
  const list = (origins: string[]) =>
    world.db.updateTable('apps').set({ public_origins: origins }).where('id', '=', app.id).execute();

  it('of an origin that no app lists is answered without the database', async () => {
    await list(['https://shop.example']);
    expect(isAllowed(await preflight(app.id, 'https://unknown.example', '192.0.2.11'))).toBe(false);
    lookups = 0;
    const startedAt = performance.now();
    for (let n = 0; n < 100; n += 1) await preflight(app.id, `https://${n}.unknown.example`, '192.0.2.11');
    expect(lookups).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - startedAt) / 1_000));
  });

  it('of an origin that an app has just listed is allowed after a second', async () => {
    const origin = 'https://new.example';
    expect(isAllowed(await preflight(app.id, origin, '192.0.2.12'))).toBe(false);
    await list(['https://shop.example', origin]);
    await sleep(1_100);
    expect(isAllowed(await preflight(app.id, origin, '192.0.2.12'))).toBe(true);
  });

  it('of a known origin at unknown apps counts as a failed lookup', async () => {
    await list(['https://shop.example']);
    await world.app.counters.add('failed_apps:192.0.2.13', 60, failureQuotas.apps);
    for (let n = 0; n < 3; n += 1) await preflight(newId(), 'https://shop.example', '192.0.2.13');
    lookups = 0;
    expect(isAllowed(await preflight(app.id, 'https://shop.example', '192.0.2.13'))).toBe(false);
    expect(lookups).toBe(0);
    expect(isAllowed(await preflight(app.id, 'https://shop.example', '192.0.2.14'))).toBe(true);
  });
});
