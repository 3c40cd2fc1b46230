// Tests fair use of the database through the API. Every World has a pool of 8 connections. The slow operation is
// `countRecords`, whose handler waits here until the test lets it respond.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Person, startWorld } from '../../../../test/support/world.ts';
import { answerWithFollowUp, withNotes } from '../answer.ts';

let running = 0;
let gate = Promise.withResolvers<void>();
const followUp = Promise.withResolvers<void>();

const world = await startWorld({
  routes: (routes) =>
    routes.map((route) => {
      if (route.name === 'countRecords') return { ...route, handle: waitAndCount };
      return route.name === 'getEntitySchema' ? { ...route, handle: answerLater } : route;
    }),
});

async function waitAndCount() {
  running += 1;
  await gate.promise;
  running -= 1;
  return { count: 0 };
}

let begun = 0;
function answerLater() {
  begun += 1;
  const schema = { name: 'Task', schema: {}, revision: 1, record_count: 0, updated_date: new Date().toISOString() };
  return answerWithFollowUp(schema, async () => {
    await followUp.promise;
    return withNotes(schema, {});
  });
}

/** A workspace with an app that has one record. */
async function createTenant(name: string) {
  const owner = await world.person(`${name}@example.com`);
  const workspace = await world.workspace(owner);
  const token = await world.token(owner, workspace);
  const app = await createApp(owner, workspace, token);
  return { owner, workspace, token, app };
}

async function createApp(owner: Person, workspace: string, token: string) {
  const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
  const rls = { create: true, read: true, update: true, delete: true };
  const schema = { name: 'Task', type: 'object', properties: { title: { type: 'string' } }, rls };
  const saved = await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Task`, { as: token, body: schema });
  expect(saved.status, saved.text).toBe(200);
  const created = await world.call('POST', `/api/apps/${app.id}/entities/Task`, { as: token, body: { title: 'One' } });
  return { ...app, record: String(created.body.id) };
}

const hostile = await createTenant('hostile');
const second = await createTenant('second');
const third = await createTenant('third');
const quiet = await createTenant('quiet');

const count = (app: { readonly id: string }, as?: string) =>
  world.call('GET', `/api/apps/${app.id}/entities/Task/count`, as === undefined ? {} : { as });
const times = <Result>(n: number, send: () => Promise<Result>) => Array.from({ length: n }, send);

/** Waits until this many slow handlers are running, and expects no more to start. */
async function expectRunning(n: number) {
  await expect.poll(() => running).toBeGreaterThanOrEqual(n);
  await sleep(200);
  expect(running).toBe(n);
}

beforeEach(() => {
  gate = Promise.withResolvers();
});

describe('slow work', () => {
  it('of one app takes an eighth of the pool, whoever calls: members, app users and anonymous callers', async () => {
    const { app, token } = hostile;
    const appUser = await world.appUserToken(app, await world.appUser(app, 'user@customers.example'));
    const calls = [count(app, token), count(app, appUser), count(app), ...times(3, () => count(app))];
    await expectRunning(1);
    gate.resolve();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
  });

  it('of one workspace takes a quarter of the pool, with however many apps, and that of all three quarters', async () => {
    const { owner, workspace, token, app } = hostile;
    const more = [await createApp(owner, workspace, token), await createApp(owner, workspace, token)];
    const calls = [app, ...more].flatMap((each) => times(4, () => count(each, token)));
    await expectRunning(2);
    for (const tenant of [second, third])
      for (const each of [tenant.app, await createApp(tenant.owner, tenant.workspace, tenant.token)])
        calls.push(...times(4, () => count(each, tenant.token)));
    await expectRunning(6);
    const late = count(quiet.app, quiet.token);
    gate.resolve();
    expect((await late).status).toBe(200);
    await Promise.all(calls);
  });

  it('beyond its share is refused with 503 after a wait, while other workspaces and short work are served', async () => {
    const calls = [count(hostile.app, hostile.token)];
    await expectRunning(1);
    const refused = count(hostile.app, hostile.token);
    expect((await world.call('GET', `/api/apps/${hostile.app.id}`, { as: hostile.token })).status).toBe(200);
    expect((await world.call('GET', '/api/apps', { as: quiet.token })).status).toBe(200);
    const { status, headers, body } = await refused;
    expect([status, body.code, body.retry_safe, headers['retry-after']]).toEqual([503, 'busy', true, '1']);
    gate.resolve();
    await Promise.all(calls);
    expect(world.logLines.join('')).not.toContain('request failed');
  });
});

describe('requests of one workspace that wait for a lock', () => {
  it('leave connections for other workspaces', async () => {
    const { app, token } = hostile;
    const path = `/api/apps/${app.id}/entities/Task/${app.record}`;
    const updates: Promise<{ status: number }>[] = [];
    await world.db.transaction().execute(async (tx) => {
      await sql`select from entity_records where id = ${app.record} for update`.execute(tx);
      updates.push(...times(30, () => world.call('PUT', path, { as: token, body: { title: 'Two' } })));
      let most = 0;
      const count = async () => {
        most = Math.max(most, await countWaitingForLock());
        return most;
      };
      await expect.poll(count).toBeGreaterThanOrEqual(6);
      const other = await world.call('GET', '/api/workspace', { as: quiet.token });
      expect(other.status).toBe(200);
      expect(await countWaitingForLock()).toBe(6); // none of them had to give its connection back for this request
      expect(most).toBe(6);
    });
    expect((await Promise.all(updates)).every(({ status }) => status === 200 || status === 503)).toBe(true);
  });

  async function countWaitingForLock(): Promise<number> {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(world.db);
    return rows[0]?.count ?? 0;
  }
});

describe('a follow-up', () => {
  it('has given its share back, because it may wait for minutes', async () => {
    const path = `/api/apps/${hostile.app.id}/entity-schemas/Task`;
    const calls = times(5, () => world.call('GET', path, { as: hostile.token }));
    await expect.poll(() => begun).toBe(5);
    followUp.resolve();
    await Promise.all(calls);
  });
});

describe('sign-in and health checks', () => {
  it('have connections of their own', async () => {
    const clients = await Promise.all(times(8, () => world.app.database.pool.connect()));
    try {
      const body = { email: 'nobody@example.com', password: 'wrong password' };
      expect((await world.call('POST', '/api/auth/sign-in', { body })).status).toBe(401);
      expect((await world.call('GET', '/readyz')).status).toBe(200);
      expect((await world.call('GET', '/healthz')).status).toBe(200);
    } finally {
      for (const client of clients) client.release();
    }
  });
});
