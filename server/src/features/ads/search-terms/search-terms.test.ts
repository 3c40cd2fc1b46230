// Tests for the search term report, with campaigns on the sandbox's ad platform.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../../../sandbox/src/ad-platform/server.ts';
import { performanceMax, smart } from '../../../../test/support/ad-campaigns.ts';
import { openPlatformClient } from '../../../../test/support/ad-platform.ts';
import { startWorld } from '../../../../test/support/world.ts';
import type { AppRow } from '../../../core/auth/proofs.ts';
import type { Operation } from '../../../gateways/ad-platform/index.ts';
import { newId } from '../../../kit/ids.ts';
import { addUp } from './report.ts';

const dayMs = 24 * 60 * 60 * 1000;
const sandbox = await startAdPlatform();
const platform = openPlatformClient(sandbox);
const environment = {
  ADS_PLATFORM_URL: sandbox.url,
  ADS_PLATFORM_MANAGER_ID: sandbox.managerId,
  ADS_PLATFORM_CREDENTIALS: sandbox.credentials,
};
const world = await startWorld({ environment });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
afterAll(async () => {
  await platform.close();
  await sandbox.close();
});

beforeEach(async () => {
  sandbox.setFaults();
  await world.resetRateLimits();
});

const read = (app: AppRow, query = '', as = token) =>
  world.call('GET', `/api/apps/${app.id}/ads-platform/analytics/search-terms${query}`, { as });

/** Creates an app with an account in this time zone. */
async function newScene(timezone = 'UTC') {
  const app = await world.appOf(owner, workspace);
  const got = await world.call('POST', `/api/apps/${app.id}/ads-platform/accounts/ensure-for-tracking`, {
    as: token,
    body: { timezone },
  });
  const { platform_customer_id: customerId } = got.body;
  return { app, customerId: String(customerId) };
}

const create = async (customerId: string, operations: readonly Operation[]) => {
  const created = await platform.mutate(customerId, operations);
  if (created.outcome !== 'applied') throw new Error(JSON.stringify(created));
};

async function pauseAll(customerId: string) {
  const found = await platform.campaigns.list(customerId);
  if (found.outcome !== 'read') throw new Error(found.reason);
  for (const { id } of found.result.campaigns) await platform.campaigns.setStatus(customerId, id, 'PAUSED');
}

async function removeAs(customerId: string, name: string, lastName: string) {
  const found = await platform.campaigns.findByName(customerId, name);
  if (found.outcome !== 'read') throw new Error(found.reason);
  for (const { id } of found.result) {
    await platform.campaigns.update(customerId, id, { field: 'name', value: lastName });
    await platform.campaigns.remove(customerId, id);
  }
}

/** Moves both clocks, so time passes for the platform and for us. */
const letPass = (days: number) => {
  sandbox.advance(days * dayMs);
  world.clock.aheadMs += days * dayMs;
};

/** Inserts a launch that has ended. */
async function recordLaunch(app: AppRow, launch_key: string) {
  const now = world.clock.now();
  await world.db
    .insertInto('ads_launches')
    .values({
      id: newId(),
      workspace_id: app.workspace_id,
      app_id: app.id,
      campaign_id: newId(),
      identity: newId(),
      generation: 1,
      launch_key,
      state: 'live',
      content: '{}',
      start_paused: false,
      timezone: 'UTC',
      created_date: now,
      ended_date: now,
    })
    .execute();
}

type Row = Record<'search_term' | 'campaign', string> & Record<'impressions' | 'clicks' | 'cost_micros', number>;

describe('getSearchTerms', () => {
  it('adds up all kinds of campaigns, by the names that they have here, highest impressions first', async () => {
    const { app, customerId } = await newScene();
    const key = 'ABCDEFGHIJ';
    await recordLaunch(app, key);
    await create(customerId, performanceMax(customerId, { name: `Bikes [${key}]`, status: 'ENABLED' }));
    // A campaign that has the same name in our list, and one whose key is not ours.
    await create(customerId, smart(customerId, { name: 'Bikes', status: 'ENABLED' }));
    await create(customerId, smart(customerId, { name: 'Sale [KLMNOPQRST]', status: 'ENABLED' }));
    letPass(3);
    const got = await read(app);
    expect(got.status).toBe(200);
    const rows: Row[] = got.body;
    expect(new Set(rows.map(({ campaign }) => campaign))).toEqual(new Set(['Bikes', 'Sale [KLMNOPQRST]']));
    expect(rows.map(({ search_term }) => search_term)).toEqual(
      expect.arrayContaining(['city bikes', 'bike repair', 'best bike repair']),
    );
    const impressions = rows.map((row) => row.impressions);
    expect(impressions).toEqual(impressions.toSorted((a, b) => b - a));
    expect(got.headers).not.toHaveProperty('x-truncated');
    expect(got.headers).not.toHaveProperty('x-partial-result');
  });

  it('keeps campaigns apart that have the same name here, or had it at the platform', async () => {
    const { app, customerId } = await newScene();
    const [first, second] = ['AAAAAAAAAA', 'BBBBBBBBBB'];
    for (const key of [first, second]) {
      await recordLaunch(app, key);
      await create(customerId, smart(customerId, { name: `Twice [${key}]`, status: 'ENABLED' }));
    }
    // A removed campaign can share its name with another campaign.
    for (const name of ['Old', 'Older']) {
      await create(customerId, smart(customerId, { name, status: 'ENABLED' }));
      letPass(2);
      await removeAs(customerId, name, 'Removed');
    }
    await pauseAll(customerId); // keeps the metrics stable
    const dates = { from: '2020-01-01', to: '2099-01-01' };
    const found = await platform.campaigns.listSearchTerms(customerId, 'smart', dates);
    if (found.outcome !== 'read') throw new Error(found.reason);
    const repair = found.result.rows.filter(({ term }) => term === 'bike repair');
    expect(repair).toHaveLength(4);
    const rows: Row[] = (await read(app)).body.filter(({ search_term }: Row) => search_term === 'bike repair');
    expect(rows.map(({ campaign }) => campaign).sort()).toEqual(['Removed', 'Removed', 'Twice', 'Twice']);
    const metrics = (all: readonly { impressions: number }[]) => all.map(({ impressions }) => impressions).sort();
    expect(metrics(rows)).toEqual(metrics(repair));
  });

  it('adds the metrics of a term that several ad groups of a campaign have', () => {
    const row = { term: 'bikes', campaignId: '1', campaignName: 'Bikes', impressions: 5, clicks: 2, costMicros: 7 };
    const other = { ...row, term: 'cars', impressions: 9 };
    expect(
      addUp(
        [
          { ...row, conversions: 1 },
          { ...other, conversions: 0 },
          { ...row, conversions: 2 },
        ],
        new Set(),
      ),
    ).toEqual([
      { search_term: 'bikes', campaign: 'Bikes', impressions: 10, clicks: 4, cost_micros: 14, conversions: 3 },
      { search_term: 'cars', campaign: 'Bikes', impressions: 9, clicks: 2, cost_micros: 7, conversions: 0 },
    ]);
  });

  it('covers the days of the preset in the time zone of the account', async () => {
    const { app, customerId } = await newScene('Pacific/Kiritimati');
    await create(customerId, smart(customerId, { name: 'Here', status: 'ENABLED' }));
    letPass(40);
    const dayThere = (daysAgo: number) =>
      new Date(world.clock.now().getTime() + 14 * 60 * 60 * 1000 - daysAgo * dayMs).toISOString().slice(0, 10);
    const rangeOf = async (query: string) => (await read(app, query)).headers['x-date-range'];
    expect(await rangeOf('')).toBe(`${dayThere(29)}/${dayThere(0)}`);
    expect(await rangeOf('?date_range=TODAY')).toBe(`${dayThere(0)}/${dayThere(0)}`);
    expect(await rangeOf('?date_range=LAST_14_DAYS')).toBe(`${dayThere(14)}/${dayThere(1)}`);
    const total = async (query: string) =>
      ((await read(app, query)).body as Row[]).reduce((sum, { impressions }) => sum + impressions, 0);
    expect(await total('?date_range=YESTERDAY')).toBeGreaterThan(0);
    expect(await total('?date_range=LAST_7_DAYS')).toBeGreaterThan(await total('?date_range=YESTERDAY'));
  });

  it('prefers dates that are sent, and cuts them to what there is', async () => {
    const { app, customerId } = await newScene();
    await create(customerId, smart(customerId, { name: 'Dated', status: 'ENABLED' }));
    letPass(3);
    const today = world.clock.now().toISOString().slice(0, 10);
    const got = await read(app, '?date_range=LAST_MONTH&start_date=2020-01-01&end_date=2099-01-01');
    expect(got.body.length).toBeGreaterThan(0);
    expect(got.headers['x-date-range']).toMatch(new RegExp(`^\\d{4}-\\d\\d-\\d\\d/${today}$`));
    expect(got.headers['x-ignored-fields']).toBe('date_range');
    const future = await read(app, '?start_date=2099-01-01&end_date=2099-01-02');
    expect(future).toMatchObject({ status: 200, body: [] });
    expect(future.headers['x-date-range']).toBe('empty');
  });

  it('refuses wrong dates before it looks at the account', async () => {
    const app = await world.appOf(owner, workspace);
    for (const query of ['?start_date=2026-02-30&end_date=2026-03-01', '?start_date=2026-11-01&end_date=today'])
      expect(await read(app, query)).toMatchObject({ status: 422, body: { detail: [{ type: 'date_parsing' }] } });
    expect(await read(app, '?date_range=LAST_YEAR')).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', 'date_range'], type: 'enum' }] },
    });
    for (const query of ['?start_date=2026-11-01', '?end_date=2026-11-01'])
      expect(await read(app, query)).toMatchObject({ status: 400, body: { code: 'date_range_incomplete' } });
    expect(await read(app, '?start_date=2026-11-02&end_date=2026-11-01')).toMatchObject({
      status: 400,
      body: { code: 'date_range_reversed' },
    });
  });

  it('is empty without an account, by days in UTC', async () => {
    const got = await read(await world.appOf(owner, workspace), '?date_range=TODAY');
    const today = world.clock.now().toISOString().slice(0, 10);
    expect(got).toMatchObject({ status: 200, body: [] });
    expect(got.headers['x-date-range']).toBe(`${today}/${today}`);
  });

  it('names what could not be read, and answers 503 if nothing could', async () => {
    const { app, customerId } = await newScene();
    await create(customerId, performanceMax(customerId, { name: 'Half', status: 'ENABLED' }));
    letPass(3);
    const fault = { call: 'search', fault: 'error_before', customer_id: customerId } as const;
    sandbox.setFaults({ ...fault, times: 2 });
    const got = await read(app);
    expect(got.status).toBe(200);
    expect(String(got.headers['x-partial-result']).split(',')).toHaveLength(2);
    sandbox.setFaults(fault);
    expect(await read(app)).toMatchObject({ status: 503, body: { code: 'ad_platform_unavailable' } });
  });

  it('has at most 100 rows, and says so', async () => {
    const { app, customerId } = await newScene();
    for (let number = 1; number <= 34; number += 1)
      await create(customerId, smart(customerId, { name: `Campaign ${number}`, status: 'ENABLED' }));
    letPass(3);
    const got = await read(app);
    expect(got.body).toHaveLength(100);
    expect(got.headers['x-truncated']).toBe('true');
  });
});
