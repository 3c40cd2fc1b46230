// Tests which hosts a proxy may get certificates for, with and without the database.
import { once } from 'node:events';
import { request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startDatabaseProxy } from '../../../test/support/database-proxy.ts';
import { publishFiles, visit } from '../../../test/support/published.ts';
import { startSecondApp, startWorld, type World } from '../../../test/support/world.ts';

const environment = { APPS_DOMAIN: 'apps.example', BASE_URL: 'https://plinth.example:8443' };
const world = await startWorld({ environment });
const owner = await world.person('ann@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
const minuteMs = 60_000;

/** Sends a request to a process's internal port, without a `Host` that Plinth serves. */
async function send({ app }: World, path: string, method = 'GET'): Promise<number> {
  const port = await listen(app.internalServer);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = request({ port, host: '127.0.0.1', path, method, agent: false }, (answer) => {
    answer.resume();
    resolve(answer.statusCode ?? 0);
  });
  sent.on('error', reject);
  sent.end();
  return promise;
}

async function listen(server: Server): Promise<number> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

const ask = (name: string, of = world) => send(of, `/internal/tls?domain=${encodeURIComponent(name)}`);

async function publishApp() {
  const app = await world.appOf(owner, workspace, { name: 'Shop' });
  await publishFiles(world, app, { 'dist/index.html': 'shop' }, token);
  return { app, host: `${app.slug}.apps.example` };
}
const unpublish = async ({ id }: { readonly id: string }) =>
  expect((await world.call('POST', `/api/apps/${id}/unpublish`, { as: token })).status).toBe(200);

describe('a proxy may get a certificate for', () => {
  it('the host of BASE_URL', async () => {
    expect(await ask('plinth.example')).toBe(200);
    expect(await ask('Plinth.EXAMPLE')).toBe(200);
  });

  it('the host of an app, while it is published', async () => {
    const app = await world.appOf(owner, workspace, { name: 'Shop' });
    const host = `${app.slug}.apps.example`;
    expect(await ask(host)).toBe(404);
    await publishFiles(world, app, { 'dist/index.html': 'shop' }, token);
    expect(await ask(host)).toBe(200);
    expect(await ask(host.toUpperCase())).toBe(200);
    await unpublish(app);
    expect(await ask(host)).toBe(404);
  });

  it('the host of a preview, until it ends', async () => {
    const app = await world.appOf(owner, workspace, { name: 'Shop' });
    const created = await world.call('POST', `/api/apps/${app.id}/previews`, { as: token, body: {} });
    const { hostname } = new URL(created.body.url);
    expect(await ask(hostname)).toBe(200);
    await world.call('DELETE', `/api/apps/${app.id}/previews/${created.body.id}`, { as: token });
    expect(await ask(hostname)).toBe(404);
  });

  it('no other host', async () => {
    const { host } = await publishApp();
    const others = ['apps.example', `x.${host}`, 'nobody.apps.example', host.replace('.example', '.test'), 'example'];
    const malformed = [
      '',
      '127.0.0.1',
      '*.apps.example',
      `${host}:443`,
      `${host}/`,
      'é.apps.example',
      `${'a.'.repeat(127)}x`,
    ];
    for (const name of [...others, ...malformed]) expect([name, await ask(name)]).toEqual([name, 404]);
  });

  it('no host of an app, if apps have no domain', async () => {
    const { app, host } = await publishApp();
    const without = await startSecondApp(world, { environment: { APPS_DOMAIN: '', APPS_BELOW_BASE_URL: 'true' } });
    for (const name of [host, app.slug, `p/${app.slug}`]) expect(await ask(name, without)).toBe(404);
    expect(await ask('plinth.example', without)).toBe(200);
  });
});

describe('the internal port', () => {
  it('answers one path and one name', async () => {
    const path = '/internal/tls?domain=plinth.example';
    for (const other of ['/', '/internal', '/internal/tls', '/internal/tls/', '/healthz', '/api/info', `/x${path}`])
      expect([other, await send(world, other)]).toEqual([other, 404]);
    expect(await send(world, `${path}&domain=plinth.example`)).toBe(404);
    expect(await send(world, path, 'POST')).toBe(404);
    expect(await send(world, `${path}${'x'.repeat(5_000)}`)).toBe(431);
    expect(await send(world, path)).toBe(200);
  });

  it('is the only one that answers it', async () => {
    const { host } = await publishApp();
    const get = (to: string) => visit(world.url, to, '/internal/tls?domain=plinth.example');
    for (const to of ['plinth.example', 'internal', '127.0.0.1']) expect((await get(to)).status).toBe(404);
    expect((await get(host)).text).toBe('shop'); // a path of the app like any other
  });
});

/** Makes every read of apps wait, until the returned function is called. */
async function lockApps(): Promise<() => Promise<void>> {
  const [locked, isOver] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transaction = world.db.transaction().execute(async (db) => {
    await sql`lock table apps in access exclusive mode`.execute(db);
    locked.resolve();
    await isOver.promise;
  });
  await Promise.race([locked.promise, transaction]);
  return () => {
    isOver.resolve();
    return transaction;
  };
}

describe('while the database is away', () => {
  it.each(['closes its connections', 'does not answer'])(
    'and %s, the hosts that were found within the last minute are known',
    async (way) => {
      const [asked, visited, other] = [await publishApp(), await publishApp(), await publishApp()];
      const database = await startDatabaseProxy(world.config.DATABASE_URL);
      const apart = await startSecondApp(world, { databaseUrl: database.url });
      expect(await ask(asked.host, apart)).toBe(200);
      expect(await visit(apart.url, visited.host, '/')).toMatchObject({ status: 200, text: 'shop' });
      expect(await ask('nobody.apps.example', apart)).toBe(404);
      if (way === 'closes its connections') database.close();
      const unlock = way === 'does not answer' ? await lockApps() : async () => {};

      expect(await ask(asked.host, apart)).toBe(200);
      expect(await ask(visited.host, apart)).toBe(200);
      expect(await ask('plinth.example', apart)).toBe(200);
      for (const name of [other.host, 'nobody.apps.example']) expect(await ask(name, apart)).toBe(503);
      apart.clock.aheadMs = minuteMs + 1;
      expect(await ask(asked.host, apart)).toBe(503);
      expect(await ask('plinth.example', apart)).toBe(200);
      expect(apart.logLines.join()).toContain('hosts of apps could not be read for the proxy');
      await unlock();
      database.close();
    },
  );

  it('an app that was unpublished before is unknown', async () => {
    const { app, host } = await publishApp();
    const database = await startDatabaseProxy(world.config.DATABASE_URL);
    const apart = await startSecondApp(world, { databaseUrl: database.url });
    expect(await ask(host, apart)).toBe(200);
    await unpublish(app);
    expect(await ask(host, apart)).toBe(404);
    database.close();
    expect(await ask(host, apart)).toBe(503);
  });
});
