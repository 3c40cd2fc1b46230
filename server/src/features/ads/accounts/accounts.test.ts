// Tests for advertising accounts. Each app gets exactly one account, even if the request that creates it fails.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../../../sandbox/src/ad-platform/server.ts';
import type { FaultKind } from '../../../../../sandbox/src/faults.ts';
import { startSecondApp, startWorld } from '../../../../test/support/world.ts';
import type { AppRow } from '../../../core/auth/proofs.ts';

const platform = await startAdPlatform();
afterAll(() => platform.close());
const environment = {
  ADS_PLATFORM_URL: platform.url,
  ADS_PLATFORM_MANAGER_ID: platform.managerId,
  ADS_PLATFORM_CREDENTIALS: platform.credentials,
};
const world = await startWorld({ environment });
const impatient = await startSecondApp(world, { adPlatform: { changeTimeoutMs: 500 } });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);

beforeEach(async () => {
  platform.setFaults();
  platform.configure({ client_delay_ms: 0 });
  await world.resetRateLimits();
});

const pathOf = (app: AppRow) => `/api/apps/${app.id}/ads-platform/accounts`;
const newApp = () => world.appOf(owner, workspace);
const read = (app: AppRow) => world.call('GET', pathOf(app), { as: token });
const ensure = (app: AppRow, body: object = {}, on = world) =>
  on.call('POST', `${pathOf(app)}/ensure-for-tracking`, { as: token, body });
/** The accounts created for this app, according to the platform's own journal. */
const listCreated = (app: AppRow) =>
  platform.journal.flatMap(({ call, changes }) =>
    call !== 'createCustomerClient'
      ? []
      : (changes ?? []).flatMap(([, resource]) =>
          String(resource?.descriptiveName).startsWith(app.id) ? [String(resource?.id)] : [],
        ),
  );
/** Runs the job that a worker runs every 15 seconds. */
const settle = async () => {
  world.clock.aheadMs += 16_000;
  const job = world.app.background.jobs.find(({ name }) => name === 'settle advertising accounts');
  return job?.run(world.app.database.db, world.clock.now());
};

describe('ensureTrackingAccount', () => {
  it('creates an account, which can then be read', async () => {
    const app = await newApp();
    expect(await read(app)).toMatchObject({ status: 404, body: { code: 'ads_account_not_found' } });
    const got = await ensure(app, { timezone: 'Europe/Paris' });
    expect(got).toMatchObject({
      status: 200,
      body: {
        status: 'ACTIVE',
        account_name: expect.stringMatching(new RegExp(`^${app.id} [0-9a-f]{10}$`)),
        currency_code: 'USD',
        timezone: 'Europe/Paris',
        platform_customer_id: expect.stringMatching(/^\d+$/),
      },
    });
    expect(await read(app)).toMatchObject({ status: 200, body: got.body });
    expect(listCreated(app)).toEqual([got.body.platform_customer_id]);
  });

  it('returns the account that exists, whose time zone is fixed', async () => {
    const app = await newApp();
    const { body } = await ensure(app, { timezone: 'Europe/Paris' });
    const again = await ensure(app, { timezone: 'Asia/Tokyo' });
    expect(again).toMatchObject({ status: 200, body });
    expect(again.headers['x-changed']).toBe('false');
    expect(again.headers['x-ignored-fields']).toBe('timezone');
    expect((await ensure(app, { timezone: 'Mars/Olympus' })).body.detail[0]).toMatchObject({ type: 'value_error' });
    expect(listCreated(app)).toHaveLength(1);
  });

  it("has the currency of the workspace's country", async () => {
    const elsewhere = await world.workspace(owner, 'free');
    await world.db.updateTable('workspaces').set({ country_code: 'JP' }).where('id', '=', elsewhere).execute();
    const app = await world.appOf(owner, elsewhere);
    const as = await world.token(owner, elsewhere);
    const got = await world.call('POST', `${pathOf(app)}/ensure-for-tracking`, { as, body: {} });
    expect(got).toMatchObject({ status: 200, body: { currency_code: 'JPY', timezone: 'UTC' } });
  });

  it('makes one account out of many requests at the same time', async () => {
    const app = await newApp();
    const second = await startSecondApp(world);
    platform.setFaults({ call: 'createCustomerClient', fault: 'delay', delay_ms: 100 });
    const answers = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => ensure(app, {}, n % 2 ? world : second)));
    for (const { status, body } of answers)
      expect([200, 'ad_platform_timeout']).toContain(status === 200 ? 200 : body.code);
    expect((await ensure(app)).status).toBe(200);
    expect(listCreated(app)).toHaveLength(1);
  });

  it.each<FaultKind>(['drop_after', 'error_after', 'delay'])(
    'finds the account that was created without an answer (%s)',
    async (fault) => {
      const app = await newApp();
      await ensure(await newApp(), {}, impatient); // opens the connection
      platform.setFaults({ call: 'createCustomerClient', fault, times: 1, delay_ms: 800 });
      expect(await ensure(app, {}, impatient)).toMatchObject({
        status: 409,
        body: { code: 'ad_platform_timeout', retry_safe: true, campaign_state: 'absent' },
      });
      await expect.poll(() => listCreated(app)).toHaveLength(1);
      expect((await ensure(app)).status).toBe(200);
      expect(listCreated(app)).toHaveLength(1);
    },
  );

  it.each<FaultKind>(['drop_before', 'error_before'])(
    'sends the request again only after the account was missing three times (%s)',
    async (fault) => {
      const app = await newApp();
      platform.setFaults({ call: 'createCustomerClient', fault, times: 1 });
      // A caller's read must not count before the request has ended, or within 15 seconds of the last counted read.
      for (const aheadMs of [0, 0, 10_000, 10_000, 15_000, 0, 0]) {
        world.clock.aheadMs += aheadMs;
        expect((await ensure(app)).body.code).toBe('ad_platform_timeout');
      }
      await settle();
      expect((await ensure(app)).body.code).toBe('ad_platform_timeout');
      await settle();
      expect(listCreated(app)).toEqual([]);
      expect((await ensure(app)).status).toBe(200);
      expect(listCreated(app)).toHaveLength(1);
    },
  );

  it('is settled by the worker, which writes the audit entry', async () => {
    const app = await newApp();
    platform.setFaults({ call: 'createCustomerClient', fault: 'drop_after', times: 1 });
    await ensure(app);
    await settle();
    expect((await read(app)).body).toMatchObject({ status: 'ACTIVE', platform_customer_id: listCreated(app)[0] });
    const { body } = await world.call('GET', `/api/workspace/audit-log?type=ads.account.created&app_id=${app.id}`, {
      as: token,
    });
    expect(body.items).toMatchObject([
      { actor: { kind: 'service' }, after: { platform_customer_id: listCreated(app)[0] } },
    ]);
  });

  it('looks for the account before it sends a second request, however late the platform shows it', async () => {
    const app = await newApp();
    platform.configure({ client_delay_ms: 60_000 });
    platform.setFaults({ call: 'createCustomerClient', fault: 'drop_after', times: 1 });
    await ensure(app);
    world.clock.aheadMs += 30_000;
    for (const _ of [1, 2, 3]) await settle();
    platform.configure({ client_delay_ms: 0 });
    expect((await ensure(app)).status).toBe(200);
    expect(listCreated(app)).toHaveLength(1);
  });

  it('adopts the account that exists, as the platform has it, if the database was restored from a backup', async () => {
    const app = await newApp();
    const { body } = await ensure(app, { timezone: 'Europe/Paris' });
    await world.db.deleteFrom('ads_accounts').where('app_id', '=', app.id).execute();
    const again = await ensure(app, { timezone: 'Asia/Tokyo' });
    expect(again.body).toEqual({ ...body, id: again.body.id });
    expect(again.headers['x-ignored-fields']).toBe('timezone');
    expect(listCreated(app)).toHaveLength(1);
  });

  it('uses the oldest account and reports the others, if a network repeats the request', async () => {
    const app = await newApp();
    platform.setFaults({ call: 'createCustomerClient', fault: 'duplicate', times: 1 });
    const { body } = await ensure(app);
    const [oldest, surplus] = listCreated(app);
    expect(body.platform_customer_id).toBe(oldest);
    expect(world.logLines.join('')).toContain(`"customer_ids":["${surplus}"]`);
  });

  it('uses the oldest account even if the platform could not be read at first', async () => {
    const app = await newApp();
    platform.setFaults(
      { call: 'createCustomerClient', fault: 'duplicate', times: 1 },
      { call: 'search', fault: 'error_before', times: 1, after: 1 },
    );
    expect((await ensure(app)).body.code).toBe('ad_platform_timeout');
    expect((await ensure(app)).body.platform_customer_id).toBe(listCreated(app)[0]);
  });

  it('answers the reasons of a refusal, after which another time zone can be sent', async () => {
    const app = await newApp();
    expect(await ensure(app, { timezone: 'US/Eastern' })).toMatchObject({
      status: 400,
      body: {
        code: 'platform_rejected',
        account_created: false,
        platform_reasons: [{ code: 'timeZoneError.INVALID_TIME_ZONE' }],
      },
    });
    const corrected = await ensure(app, { timezone: 'America/New_York' });
    expect(corrected).toMatchObject({ status: 200, body: { timezone: 'America/New_York' } });
    expect(listCreated(app)).toHaveLength(1);
  });

  it('answers 503 to a refusal that the caller cannot change, and logs it', async () => {
    const app = await newApp();
    platform.setFaults({ call: 'createCustomerClient', fault: 'refuse', times: 1 });
    expect(await ensure(app)).toMatchObject({ status: 503, body: { code: 'ad_platform_unavailable' } });
    expect(world.logLines.join('')).toContain('"reason":"contextError.OPERATION_NOT_PERMITTED_FOR_CONTEXT"');
    expect((await ensure(app)).status).toBe(200);
  });

  it('answers 503 if nothing could be sent, and 503 without a configured platform', async () => {
    const app = await newApp();
    const nowhere = await startSecondApp(world, { environment: { ADS_PLATFORM_URL: 'http://127.0.0.1:1' } });
    const unset = { ADS_PLATFORM_URL: '', ADS_PLATFORM_MANAGER_ID: '', ADS_PLATFORM_CREDENTIALS: '' };
    const off = await startSecondApp(world, { environment: unset });
    for (const each of [nowhere, off]) {
      const got = await ensure(app, {}, each);
      expect(got).toMatchObject({ status: 503, body: { code: 'ad_platform_unavailable', retry_safe: true } });
    }
    expect((await ensure(app)).status).toBe(200);
  });
});

describe('getAdsAccount', () => {
  it('has the status that was read at most a minute ago, or else the last one', async () => {
    const app = await newApp();
    const { platform_customer_id } = (await ensure(app)).body;
    expect((await read(app)).body.status).toBe('ACTIVE');
    platform.setAccount(platform_customer_id, { status: 'SUSPENDED' });
    const countReads = () =>
      platform.journal.filter(({ event, call }) => event === 'received' && call === 'search').length;
    const reads = countReads();
    const fresh = await read(app);
    expect(fresh.body.status).toBe('ACTIVE');
    expect(fresh.headers['x-data-as-of']).toBeDefined();
    expect(countReads()).toBe(reads);
    world.clock.aheadMs += 60_000;
    expect((await read(app)).body.status).toBe('SUSPENDED');
    platform.setAccount(platform_customer_id, { status: 'CANCELED' });
    platform.setFaults({ call: 'search', fault: 'error_before' });
    world.clock.aheadMs += 60_000;
    const got = await read(app);
    expect(got).toMatchObject({ status: 200, body: { status: 'SUSPENDED' } });
    expect(got.headers['x-partial-result']).toBe('live_status');
    platform.setFaults();
    expect((await read(app)).body.status).toBe('CLOSED');
  });
});

it('goes with its app', async () => {
  const app = await newApp();
  await ensure(app);
  await world.db.deleteFrom('apps').where('id', '=', app.id).execute();
  expect(await world.db.selectFrom('ads_accounts').where('app_id', '=', app.id).selectAll().execute()).toEqual([]);
});
