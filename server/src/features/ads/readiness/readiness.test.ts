// Tests for launch readiness: every field and blocker, in each state of the payment provider, the ad platform and
// the landing page.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../../../sandbox/src/ad-platform/server.ts';
import { startPayments } from '../../../../../sandbox/src/payments/server.ts';
import { publishFiles, visit } from '../../../../test/support/published.ts';
import { startSecondApp, startWorld } from '../../../../test/support/world.ts';
import type { AppRow } from '../../../core/auth/proofs.ts';
import { businessNameOf } from './business-name.ts';

/** The proxy in front of the server, at the published apps' address. */
const proxy = { state: 'up' as 'up' | 'failing' | 'gone' };
const front = createServer((request, response) => {
  if (proxy.state === 'gone') return void response.destroy();
  if (proxy.state === 'failing') return void response.writeHead(503).end();
  void visit(world.url, request.headers.host ?? '', request.url ?? '/').then(({ status, body }) =>
    response.writeHead(status).end(body),
  );
}).listen(0, '127.0.0.1');
await once(front, 'listening');
const { port } = front.address() as AddressInfo;
const [platform, provider] = await Promise.all([startAdPlatform(), startPayments()]);
const folder = mkdtempSync(join(tmpdir(), 'plinth-readiness-'));
const world = await startWorld({
  environment: {
    STORAGE_FOLDER: folder,
    BASE_URL: `http://plinth.example.com:${port}`,
    APPS_DOMAIN: 'apps.example',
    OUTBOUND_ALLOW: '127.0.0.0/8',
    PAYMENTS_URL: provider.url,
    PAYMENTS_SECRET_KEY: provider.secretKey,
    ADS_PLATFORM_URL: platform.url,
    ADS_PLATFORM_MANAGER_ID: platform.managerId,
    ADS_PLATFORM_CREDENTIALS: platform.credentials,
  },
  zone: (name, type) => (type === 'A' && name.endsWith('.apps.example') ? { addresses: ['127.0.0.1'] } : {}),
});
afterAll(async () => {
  front.close();
  await Promise.all([platform.close(), provider.close()]);
  rmSync(folder, { recursive: true });
});
const owner = await world.person('owner@example.com');

beforeEach(async () => {
  proxy.state = 'up';
  platform.setFaults();
  provider.setFaults();
  await world.resetRateLimits();
});

interface Scene {
  readonly app: AppRow;
  readonly as: string;
}

async function newScene(): Promise<Scene> {
  const workspace = await world.workspace(owner);
  return { app: await world.appOf(owner, workspace), as: await world.token(owner, workspace) };
}

/** An app that is ready to be advertised. */
async function readyScene(): Promise<Scene & { customerId: string }> {
  const scene = await newScene();
  const { app, as } = scene;
  await publishFiles(world, app, { 'dist/index.html': '<h1>Shop</h1>' }, as);
  const { body } = await world.call('POST', '/api/workspace/billing/setup-session', { as });
  await fetch(body.url, { method: 'POST', body: 'number=4242424242424242', redirect: 'manual' });
  const path = `/api/apps/${app.id}/ads-platform/accounts/ensure-for-tracking`;
  const account = await world.call('POST', path, { as, body: { timezone: 'Europe/Paris' } });
  return { ...scene, customerId: account.body.platform_customer_id };
}

/** Advances the clock by a minute first, because the ad platform is read at most once a minute. */
const read = ({ app, as }: Scene, on = world) => {
  on.clock.aheadMs += 60_000;
  return on.call('GET', `/api/apps/${app.id}/ads-platform/launch-readiness`, { as });
};

describe('getLaunchReadiness', () => {
  it('names what a new app lacks', async () => {
    const scene = await newScene();
    const got = await read(scene);
    expect(got).toMatchObject({ status: 200 });
    expect(got.body).toEqual({
      has_payment_method: false,
      payment_provider_unavailable: false,
      currency_code: 'USD',
      business_name: 'App',
      landing_page: `http://${scene.app.slug}.apps.example:${port}/`,
      landing_page_ready: false,
      account_exists: false,
      timezone: 'UTC',
      tracking_verified: false,
      workspace_billing_hold: false,
      account_billing_hold: false,
      can_create: ['SMART', 'PERFORMANCE_MAX'],
      ready: false,
      blockers: ['payment_method_required', 'landing_page_not_ready'],
    });
    expect(got.headers['x-partial-result']).toBeUndefined();
  });

  it('is ready with a card, an account and a published app', async () => {
    const got = await read(await readyScene());
    expect(got.body).toMatchObject({
      has_payment_method: true,
      landing_page_ready: true,
      account_exists: true,
      timezone: 'Europe/Paris',
      ready: true,
      blockers: [],
    });
    expect(got.headers['x-partial-result']).toBeUndefined();
  });

  it('names holds, and an account that cannot advertise', async () => {
    const scene = await readyScene();
    platform.setAccount(scene.customerId, { billing_status: 'CANCELLED' });
    expect((await read(scene)).body).toMatchObject({ account_billing_hold: true, blockers: ['account_billing_hold'] });
    platform.setAccount(scene.customerId, { billing_status: 'APPROVED', status: 'SUSPENDED' });
    await world.db
      .updateTable('workspaces')
      .set({ billing_hold: true })
      .where('id', '=', scene.app.workspace_id)
      .execute();
    expect((await read(scene)).body).toMatchObject({
      workspace_billing_hold: true,
      account_billing_hold: true,
      blockers: ['workspace_billing_hold', 'account_billing_hold'],
    });
    platform.setAccount(scene.customerId, { status: 'CANCELED' });
    expect((await read(scene)).body).toMatchObject({
      account_billing_hold: false,
      blockers: ['workspace_billing_hold', 'account_not_in_good_standing'],
    });
  });

  it('does not claim that there is no hold if only the billing status cannot be read', async () => {
    const scene = await readyScene();
    await read(scene);
    platform.setAccount(scene.customerId, { billing_status: 'CANCELLED' });
    platform.setFaults({ call: 'search', fault: 'error_before', customer_id: scene.customerId });
    const got = await read(scene);
    expect(got.body).toMatchObject({ account_billing_hold: false }); // the last known value
    expect(got.headers['x-partial-result']).toBe('account_billing_hold');
    platform.setFaults();
    const path = `/api/apps/${scene.app.id}/ads-platform/launch-readiness`;
    const again = await world.call('GET', path, { as: scene.as }); // within the same minute
    expect(again.body).toMatchObject({ account_billing_hold: true });
    const shared = await world.call('GET', path, { as: scene.as });
    expect(shared.headers['x-data-as-of']).toBeDefined();
  });

  it('does not claim that there is no card if the payment provider does not answer', async () => {
    const scene = await readyScene();
    provider.setFaults({ call: 'read', fault: 'error_before' });
    expect((await read(scene)).body).toMatchObject({
      has_payment_method: false,
      payment_provider_unavailable: true,
      blockers: ['payment_provider_unavailable'],
    });
  });

  it('says that the ad platform does not answer, with and without an account', async () => {
    const [scene, fresh] = [await readyScene(), await newScene()];
    platform.setAccount(scene.customerId, { status: 'SUSPENDED' });
    await read(scene);
    platform.setFaults({ call: 'search', fault: 'error_before' });
    const got = await read(scene);
    expect(got.body).toMatchObject({
      account_billing_hold: true, // the last known value
      blockers: ['account_billing_hold', 'ad_platform_unavailable'],
    });
    expect(got.headers['x-partial-result']).toBe('account_billing_hold');
    const other = await read(fresh, await startSecondApp(world));
    expect(other.body.blockers).toContain('ad_platform_unavailable');
    expect(other.headers['x-partial-result']).toBeUndefined();
  });

  it('reads the landing page, or says that it could not', async () => {
    const scene = await readyScene();
    const notReady = { landing_page_ready: false, blockers: ['landing_page_not_ready'] };
    proxy.state = 'failing';
    const failing = await read(scene);
    expect(failing.body).toMatchObject(notReady);
    expect(failing.headers['x-partial-result']).toBeUndefined();
    proxy.state = 'gone';
    const gone = await read(scene);
    expect(gone.body).toMatchObject(notReady);
    expect(gone.headers['x-partial-result']).toBe('landing_page');
  });

  it('does not read a landing page at an address that the operator does not allow', async () => {
    const scene = await readyScene();
    const environment = { OUTBOUND_ALLOW: '', ADS_CAN_CREATE: 'PERFORMANCE_MAX' };
    const got = await read(scene, await startSecondApp(world, { environment }));
    expect(got.body).toMatchObject({ landing_page_ready: false, can_create: ['PERFORMANCE_MAX'] });
    expect(got.headers['x-partial-result']).toBe('landing_page');
  });

  it('says that no campaign can have a budget in the currency of the account', async () => {
    const scene = await readyScene();
    await world.db
      .updateTable('ads_accounts')
      .set({ currency_code: 'ARS' })
      .where('app_id', '=', scene.app.id)
      .execute();
    expect((await read(scene)).body).toMatchObject({ currency_code: 'ARS', blockers: ['currency_unsupported'] });
  });
});

it.each([
  ['Flower shop', 'Flower shop'],
  ['The flower shop at the corner', 'The flower shop at the co'],
  ['Twenty-four characters a b', 'Twenty-four characters a'], // no trailing space
  ['花屋花屋花屋花屋花屋花屋花屋', '花屋花屋花屋花屋花屋花屋'], // wide characters count twice
  ['Shop 花屋 and more flowers', 'Shop 花屋 and more flower'],
  ['123456789012345678901👩‍🌾', '123456789012345678901'], // a grapheme of three characters is not split
  [`a${'\u0301'.repeat(40)}`, `a${'\u0301'.repeat(24)}`],
])('the business name of %s is %s', (name, expected) => expect(businessNameOf(name)).toBe(expected));
