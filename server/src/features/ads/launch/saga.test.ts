// Tests launches when the ad platform does not respond or a worker crashes, at any point (docs/internals/launches.md).
// Time limits are much shorter than usual. The tests spend most of their time waiting, so they run concurrently, each
// with its own account. Tests that measure time or change shared state, such as the clock, run alone.
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AccountFault, Fault } from '../../../../../sandbox/src/faults.ts';
import { type LaunchScene, listCreated, startLaunchWorld, waitUntil } from '../../../../test/support/launching.ts';
import { releaseClaims } from '../../../kit/background/queues/complete.ts';
import { newId } from '../../../kit/ids.ts';

const times = {
  reconcileMs: 400,
  requestMs: 1_200,
  imagesMs: 8_000,
  watchMs: 2_000,
  resendMs: [100, 200, 400],
};
const { world, platform, provider, imageUrl, scene } = await startLaunchWorld({
  adsTimes: times,
  adPlatform: { changeTimeoutMs: 1_000, readTimeoutMs: 1_000 },
});
await world.startWorker();

beforeEach(() => world.resetRateLimits());

type Fate = Omit<AccountFault, 'call'>;
/** The changes that a launch sends in an existing account: the dry run, creating the campaign, and enabling it. */
const requests = { dryRun: 0, create: 1, enable: 2 };
type ReadyScene = LaunchScene & { readonly customer_id: string };
const failAt = ({ customer_id }: ReadyScene, after: number, fate: Fate) =>
  platform.setFaultsOf(customer_id, { call: 'mutate', after, times: 1, ...fate });
/** Like `failAt`, but the outcome can't be read afterwards. */
const failInTheDark = ({ customer_id }: ReadyScene, after: number, fate: Fate) =>
  platform.setFaultsOf(
    customer_id,
    { call: 'mutate', after, times: 1, ...fate },
    { call: 'search', fault: 'error_before' },
  );
const endFaults = ({ customer_id }: ReadyScene) => platform.setFaultsOf(customer_id);

async function readOne(here: LaunchScene) {
  const rows = await world.db
    .selectFrom('ads_launches')
    .where('app_id', '=', here.app.id)
    .orderBy('generation', 'desc')
    .selectAll()
    .execute();
  const launch = rows[0];
  if (launch === undefined) throw new Error('nothing was launched');
  return launch;
}
const waitForEnd = (here: LaunchScene) =>
  waitUntil(
    () => readOne(here),
    ({ ended_date }) => ended_date !== null,
  );
/** Waits until the worker has released the row, so a test can change it. The response may arrive earlier. */
const waitForRelease = (here: LaunchScene) =>
  waitUntil(
    () => readOne(here),
    ({ claimed_slot }) => claimed_slot === null,
  );
const createdBy = (launchKey: string) => listCreated(platform).filter(({ name }) => name.includes(launchKey));
const listCampaigns = async (here: LaunchScene) =>
  (await world.call('GET', here.at('campaigns'), { as: here.as })).body.items;
const stepsOf = async (here: LaunchScene) => {
  const { body } = await here.readLaunch((await readOne(here)).id);
  return body.steps.map(({ name, outcome }: { name: string; outcome: string }) => `${name} ${outcome}`);
};
const countAudits = async (type: string, id: string) => {
  const { rows } = await sql<{ count: number }>`/* service */ select count(*)::int from (
    select to_jsonb(p)::text as entry from audit_pending p union all select to_jsonb(e)::text from audit_entries e) all_entries
    where entry like ${`%${type}%`} and entry like ${`%${id}%`}`.execute(world.db);
  return rows[0]?.count;
};

/** An app with an account, whose launches end live. */
async function readyScene(): Promise<ReadyScene> {
  const here = await scene({ tracked: true });
  await world.call('POST', here.at('accounts/ensure-for-tracking'), { as: here.as, body: {} });
  // This read caches the status for a minute, so a launch works even if the platform can't be read.
  const { body } = await world.call('GET', here.at('accounts'), { as: here.as });
  return { ...here, customer_id: body.platform_customer_id };
}

const timeout = { status: 409, body: { code: 'ad_platform_timeout', campaign_state: 'unknown', retry_safe: false } };

describe.concurrent('a creation without an answer', () => {
  it.each<[string, Fate]>([
    ['the connection was lost', { fault: 'drop_after' }],
    ['the platform failed in the middle', { fault: 'error_after' }],
    ['the answer came too late', { fault: 'delay', delay_ms: 1_300 }],
  ])('that was applied is found by its name, and enabled: %s', async (_what, fate) => {
    const here = await readyScene();
    failAt(here, requests.create, fate);
    const got = await here.launch();
    expect(got, got.text).toMatchObject(timeout);
    const launch = await readOne(here);
    expect(got.body).toMatchObject({ launch_id: launch.id, campaign_id: launch.campaign_id });
    const ended = await waitForEnd(here);
    expect(ended.state).toBe('live');
    expect(createdBy(ended.launch_key)).toMatchObject([{ status: 'ENABLED' }]);
    expect(await listCampaigns(here)).toMatchObject([{ status: 'ENABLED', primary_status_reasons: [] }]);
    expect(await stepsOf(here)).toEqual(
      expect.arrayContaining(['create unknown', 'find_by_name applied', 'enable applied']),
    );
    expect(await countAudits('ads.reconciled', ended.id)).toBeGreaterThan(0);
  });

  it('is listed meanwhile as paused, without an id, as not confirmed', async () => {
    const here = await readyScene();
    failInTheDark(here, requests.create, { fault: 'drop_after' });
    expect(await here.launch()).toMatchObject(timeout);
    expect(await listCampaigns(here)).toMatchObject([
      { status: 'PAUSED', platform_campaign_id: '', primary_status_reasons: ['SERVICE_LAUNCH_UNCONFIRMED'] },
    ]);
    const { id } = await readOne(here);
    expect((await here.readLaunch(id)).body).toMatchObject({
      state: 'unknown',
      campaign_state: 'unknown',
      next_action: 'reconciling',
    });
    // The state remains unknown while the platform does not respond.
    await new Promise((resolve) => setTimeout(resolve, 4 * times.reconcileMs));
    expect((await readOne(here)).state).toBe('unknown');
    expect(await here.launch()).toMatchObject({ status: 409, body: { code: 'launch_in_progress', launch_id: id } });
    endFaults(here);
    expect((await waitForEnd(here)).state).toBe('live');
  });

  it('that was not applied is absent after three empty reads, and can be launched again', async () => {
    const here = await readyScene();
    failAt(here, requests.create, { fault: 'drop_before' });
    const got = await here.launch({}, { key: 'lost' });
    expect(got).toMatchObject(timeout);
    expect(await here.launch({}, { key: 'lost' })).toMatchObject({ status: 409, body: { code: 'launch_in_progress' } });
    const { sent_at, ...ended } = await waitForEnd(here);
    expect(ended).toMatchObject({ state: 'absent', is_current: false });
    expect((ended.ended_date?.getTime() ?? 0) - (sent_at?.getTime() ?? 0)).toBeGreaterThanOrEqual(times.requestMs);
    expect((await stepsOf(here)).filter((step: string) => step.startsWith('find_by_name'))).toHaveLength(3);
    expect(await listCampaigns(here)).toEqual([]);
    expect(createdBy(ended.launch_key)).toEqual([]);
    const again = await here.launch({}, { key: 'lost' });
    expect(again.status, again.text).toBe(200);
    expect((await readOne(here)).generation).toBe(2);
  });

  it('that the network repeated is one campaign', async () => {
    const here = await readyScene();
    failAt(here, requests.create, { fault: 'duplicate' });
    const got = await here.launch();
    const ended = await waitForEnd(here);
    expect(ended.state).toBe('live');
    expect([200, 409]).toContain(got.status);
    expect(createdBy(ended.launch_key)).toHaveLength(1);
  });

  it('is looked for as long as it can be on its way, even if the steps before took long', async () => {
    const here = await readyScene();
    platform.setFaultsOf(
      here.customer_id,
      { call: 'mutate', times: 1, fault: 'delay', delay_ms: 700 },
      { call: 'mutate', after: 1, times: 1, fault: 'drop_before' },
    );
    expect(await here.launch()).toMatchObject(timeout);
    const { created_date, sent_at } = await readOne(here);
    expect((sent_at?.getTime() ?? 0) - created_date.getTime()).toBeGreaterThanOrEqual(690);
    await waitForEnd(here);
  });

  it('that a comparison has listed on its own is one campaign, that of the launch', async () => {
    const here = await readyScene();
    failInTheDark(here, requests.create, { fault: 'drop_after' });
    expect(await here.launch()).toMatchObject(timeout);
    const { launch_id: _, ...row } = await world.db
      .selectFrom('ads_campaigns')
      .where('app_id', '=', here.app.id)
      .selectAll()
      .executeTakeFirstOrThrow();
    const { launch_key } = await readOne(here);
    const platform_campaign_id = createdBy(launch_key)[0]?.id ?? '';
    const adopted = { ...row, id: newId(), platform_campaign_id };
    await world.db.insertInto('ads_campaigns').values(adopted).execute();
    endFaults(here);
    expect((await waitForEnd(here)).state).toBe('live');
    expect(await listCampaigns(here)).toMatchObject([{ id: row.id, platform_campaign_id, status: 'ENABLED' }]);
  });

  it('is paused or deleted if that was asked for meanwhile: it never runs', async () => {
    for (const [method, path, status, reason] of [
      ['POST', '/pause', 'PAUSED', ['SERVICE_PAUSED_BY_USER']],
      ['DELETE', '', 'REMOVED', []],
    ] as const) {
      const here = await readyScene();
      failInTheDark(here, requests.create, { fault: 'drop_after' });
      const { body } = await here.launch();
      const asked = await world.call(method, here.at(`campaigns/${body.campaign_id}${path}`), { as: here.as });
      expect(asked.status, asked.text).toBe(200);
      endFaults(here);
      expect((await waitForEnd(here)).state).toBe('held');
      await waitUntil(
        () => listCampaigns(here),
        ([row]) => row?.status === status,
      );
      const { launch_key } = await readOne(here);
      await waitUntil(
        async () => createdBy(launch_key),
        ([found]) => found?.status === status,
      );
      const wasEnabled = platform.journal.some(({ changes = [] }) =>
        changes.some(
          ([, resource]) =>
            String(resource?.name).includes(launch_key) &&
            resource?.status === 'ENABLED' &&
            resource?.campaignBudget !== undefined,
        ),
      );
      expect(wasEnabled).toBe(false);
      if (reason.length > 0)
        expect((await listCampaigns(here))[0].primary_status_reasons).toEqual(expect.arrayContaining([...reason]));
    }
  });
});

describe.concurrent('an enabling without an answer', () => {
  it.each<[string, Fate]>([
    ['that was applied', { fault: 'drop_after' }],
    ['that was not applied', { fault: 'drop_before' }],
    ['that failed in the middle', { fault: 'error_before' }],
  ])('is listed as enabled with its id, and ends live: %s', async (_what, fate) => {
    const here = await readyScene();
    failInTheDark(here, requests.enable, fate);
    const got = await here.launch();
    expect(got, got.text).toMatchObject(timeout);
    expect(await listCampaigns(here)).toMatchObject([
      {
        status: 'ENABLED',
        platform_campaign_id: expect.stringMatching(/^\d+$/),
        primary_status_reasons: ['SERVICE_LAUNCH_UNCONFIRMED'],
      },
    ]);
    endFaults(here);
    const ended = await waitForEnd(here);
    expect(ended.state).toBe('live');
    expect(await stepsOf(here)).toEqual(expect.arrayContaining(['enable unknown', 'read_status applied']));
    expect(createdBy(ended.launch_key)).toMatchObject([{ status: 'ENABLED' }]);
    const [campaign] = await world.db
      .selectFrom('ads_campaigns')
      .where('app_id', '=', here.app.id)
      .selectAll()
      .execute();
    expect(campaign?.first_enabled_at).not.toBeNull();
    expect(await countAudits('ads.reconciled', ended.id)).toBeGreaterThan(0);
  });

  it.each([
    ['POST', '/pause', 'PAUSED'],
    ['DELETE', '', 'REMOVED'],
  ] as const)('can be stopped even while the platform cannot be read: %s%s', async (method, path, status) => {
    const here = await readyScene();
    failInTheDark(here, requests.enable, { fault: 'drop_after' });
    const { body } = await here.launch();
    expect((await world.call(method, here.at(`campaigns/${body.campaign_id}${path}`), { as: here.as })).status).toBe(
      200,
    );
    const ended = await waitForEnd(here);
    expect(ended.state).toBe('held');
    await waitUntil(
      async () => createdBy(ended.launch_key),
      ([found]) => found?.status === status,
    );
    await waitUntil(
      () => listCampaigns(here),
      ([row]) => row?.status === status,
    );
    if (status === 'PAUSED')
      expect((await listCampaigns(here))[0].primary_status_reasons).toEqual(['SERVICE_PAUSED_BY_USER']);
  });

  it('is not taken as removed because the platform does not find the campaign', async () => {
    const here = await readyScene();
    failInTheDark(here, requests.enable, { fault: 'drop_after' });
    const { body } = await here.launch();
    const [{ platform_campaign_id }] = await listCampaigns(here);
    const setId = (id: string) =>
      world.db
        .updateTable('ads_campaigns')
        .set({ platform_campaign_id: id })
        .where('id', '=', body.campaign_id)
        .execute();
    await setId('999999999');
    endFaults(here);
    await new Promise((resolve) => setTimeout(resolve, 3 * times.reconcileMs));
    expect(await readOne(here)).toMatchObject({ state: 'unknown' });
    expect(await listCampaigns(here)).toMatchObject([{ status: 'ENABLED' }]);
    await setId(platform_campaign_id);
    expect((await waitForEnd(here)).state).toBe('live');
  });

  it('that the platform refuses leaves the campaign paused', async () => {
    const here = await readyScene();
    failAt(here, requests.enable, { fault: 'refuse' });
    const got = await here.launch();
    expect(got.status, got.text).toBe(200);
    expect(got.body.campaign).toMatchObject({
      status: 'PAUSED',
      primary_status_reasons: ['SERVICE_LAUNCH_UNCONFIRMED'],
    });
    expect(await stepsOf(here)).toContain('enable refused');
    expect(createdBy((await readOne(here)).launch_key)).toMatchObject([{ status: 'PAUSED' }]);
  });
});

describe.concurrent('a platform that cannot be reached', () => {
  it.each([
    ['at the dry run', requests.dryRun, 'drop_before'],
    ['in the middle of the dry run', requests.dryRun, 'error_after'],
  ] as const)('ends the launch with 503, because nothing was created: %s', async (_when, after, fault) => {
    const here = await readyScene();
    failAt(here, after, { fault });
    expect(await here.launch()).toMatchObject({
      status: 503,
      body: { code: 'ad_platform_unavailable', retry_safe: true },
    });
    expect(await readOne(here)).toMatchObject({ state: 'refused', is_current: false });
    expect(await listCampaigns(here)).toEqual([]);
    expect((await here.launch()).status).toBe(200);
  });
});

describe.concurrent('an account', () => {
  it('whose time zone the platform refuses ends the launch, and neither exists', async () => {
    const here = await scene();
    const got = await here.launch({}, { body: { timezone: 'US/Pacific' } });
    expect(got).toMatchObject({
      status: 400,
      body: {
        code: 'platform_rejected',
        account_created: false,
        platform_reasons: [{ code: 'timeZoneError.INVALID_TIME_ZONE' }],
      },
    });
    expect(got.body.detail).toMatch(/^The ad platform rejected the new account/);
    expect((await world.call('GET', here.at('accounts'), { as: here.as })).status).toBe(404);
    expect(await listCampaigns(here)).toEqual([]);
    expect((await here.launch({}, { body: { timezone: 'Europe/Paris' } })).status).toBe(200);
  });

  it('that turns out to have another currency than the budget is not advertised in', async () => {
    const here = await readyScene();
    await here.launch({ start_paused: true });
    await waitForRelease(here);
    await sql`/* service */ update ads_launches set state = 'recorded', ended_date = null, due_at = clock_timestamp(),
      content = content || '{"currency_code": "JPY"}' where app_id = ${here.app.id}`.execute(world.db);
    world.app.wake.notify('ads_launches');
    const failure = { code: 'platform_rejected', platform_reasons: [{ code: 'SERVICE_CURRENCY_DIFFERS' }] };
    expect(await waitForEnd(here)).toMatchObject({ state: 'refused', failure });
  });
});

it.concurrent.each([
  ['create', 'absent'],
  ['enable', 'held'],
] as const)('a launch whose %s is unknown in a closed account ends as %s', async (request, state) => {
  const here = await readyScene();
  failInTheDark(here, requests[request], { fault: 'drop_after' });
  expect(await here.launch()).toMatchObject(timeout);
  platform.setAccount(here.customer_id, { status: 'CANCELED' });
  endFaults(here);
  await new Promise((resolve) => setTimeout(resolve, 2 * times.reconcileMs));
  expect((await readOne(here)).state).toBe('unknown'); // a suspended account gives the same error
  await world.db.updateTable('ads_accounts').set({ status: 'CLOSED' }).where('app_id', '=', here.app.id).execute();
  expect((await waitForEnd(here)).state).toBe(state);
  const rows = await world.db.selectFrom('ads_campaigns').where('app_id', '=', here.app.id).selectAll().execute();
  expect(rows).toMatchObject(state === 'absent' ? [] : [{ status: 'PAUSED' }]);
});

describe.concurrent('a worker that crashes', () => {
  /** Simulates a process that crashed in this state: a dead worker holds the claim, which is then released. */
  async function crashIn(here: LaunchScene, state: string, more: object = {}): Promise<void> {
    await waitForRelease(here);
    await world.db
      .updateTable('ads_launches')
      .set({
        state: state as 'created',
        unknown_request: null,
        ended_date: null,
        is_current: true,
        failure: null,
        due_at: sql<Date>`clock_timestamp()`,
        ...more,
      })
      .where('app_id', '=', here.app.id)
      .execute();
    const own_reasons = ['SERVICE_LAUNCH_UNCONFIRMED'];
    await world.db.updateTable('ads_campaigns').set({ own_reasons }).where('app_id', '=', here.app.id).execute();
    world.app.wake.notify('ads_launches');
  }

  it.each([
    ['recorded', { own: false }],
    ['account_ready', { own: false }],
    ['create_sent', { own: false }],
    ['created', { own: true }],
    ['enable_sent', { own: true }],
  ] as const)('in the state %s has a successor, and there is one campaign', async (state, { own }) => {
    const here = await readyScene();
    expect((await here.launch()).status).toBe(200); // the campaign exists on the platform in every case
    if (!own)
      await world.db
        .updateTable('ads_campaigns')
        .set({ platform_campaign_id: '', status: 'PAUSED' })
        .where('app_id', '=', here.app.id)
        .execute();
    await crashIn(here, state, { sent_at: world.clock.now() });
    const ended = await waitForEnd(here);
    expect(ended.state).toBe('live');
    expect(createdBy(ended.launch_key)).toMatchObject([{ status: 'ENABLED' }]);
    expect(await listCampaigns(here)).toMatchObject([
      { status: 'ENABLED', platform_campaign_id: expect.stringMatching(/^\d+$/), primary_status_reasons: [] },
    ]);
  });

  it('twenty times does not make a launch be forgotten', async () => {
    const here = await readyScene();
    await here.launch();
    const claim = { claimed_slot: 999, claimed_epoch: 1, crash_count: 19 };
    await crashIn(here, 'enable_sent', claim);
    const queue = world.app.background.queues.find(({ name }) => name === 'ads_launches');
    if (queue === undefined) throw new Error('no queue');
    await releaseClaims(world.db, queue);
    expect((await readOne(here)).failed_at).toBeNull(); // a worker may have claimed the launch again
    expect((await waitForEnd(here)).state).toBe('live');
  });
});

describe.concurrent('what forbids to enable', () => {
  it('holds of the workspace and the app in the trash count until the last moment', async () => {
    const here = await readyScene();
    await here.launch({ start_paused: true });
    await waitForRelease(here);
    const hold = (billing_hold: boolean) =>
      world.db.updateTable('workspaces').set({ billing_hold }).where('id', '=', here.app.workspace_id).execute();
    await hold(true);
    await world.db
      .updateTable('ads_launches')
      .set({ state: 'created', start_paused: false, ended_date: null, due_at: sql<Date>`clock_timestamp()` })
      .where('app_id', '=', here.app.id)
      .execute();
    world.app.wake.notify('ads_launches');
    expect((await waitForEnd(here)).state).toBe('held');
    expect((await listCampaigns(here))[0].primary_status_reasons).toContain('SERVICE_BILLING_HOLD');
    expect((await here.readLaunch((await readOne(here)).id)).body.next_action).toBe('fix_billing');
    await hold(false);
  });

  it.each(['apps', 'workspaces'] as const)('what is in the trash launches nothing: %s', async (table) => {
    const here = await readyScene();
    await here.launch({ start_paused: true });
    await waitForRelease(here);
    const id = table === 'apps' ? here.app.id : here.app.workspace_id;
    await world.db.updateTable(table).set({ deleted_date: world.clock.now() }).where('id', '=', id).execute();
    await world.db
      .updateTable('ads_launches')
      .set({ state: 'recorded', ended_date: null, due_at: sql<Date>`clock_timestamp()` })
      .where('app_id', '=', here.app.id)
      .execute();
    world.app.wake.notify('ads_launches');
    expect(await waitForEnd(here)).toMatchObject({ state: 'refused', failure: { code: 'app_not_found' } });
  });
});

// Runs alone, because it measures time.
describe('a server of images that does not answer', () => {
  const slow = { logo_url: imageUrl('slow') };
  const smart = { campaign_type: 'SMART', logo_url: undefined, long_headlines: undefined };

  it('ends the launch in time, and delays no other workspace', async () => {
    const [others, here] = [[await readyScene(), await readyScene()], await readyScene()];
    const startedAt = Date.now();
    const slowOnes = others.flatMap((other) =>
      [1, 2].map((number) => other.launch({ ...slow, campaign_name: `${number}` })),
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (const campaign of [{}, smart]) {
      const got = await here.launch(campaign);
      expect(got.status, got.text).toBe(200);
    }
    expect(Date.now() - startedAt).toBeLessThan(times.imagesMs);
    for (const got of await Promise.all(slowOnes))
      expect(got).toMatchObject({
        status: 400,
        body: { code: 'platform_rejected', platform_reasons: [{ code: 'SERVICE_LOGO_URL_NOT_FETCHED' }] },
      });
    expect(Date.now() - startedAt).toBeLessThan(3 * times.imagesMs); // two per workspace, one after the other
  });
});

describe('later than a quarter of an hour after the request', () => {
  it('a campaign that is found is left paused', async () => {
    const here = await readyScene();
    failInTheDark(here, requests.create, { fault: 'drop_after' });
    expect(await here.launch()).toMatchObject(timeout);
    world.clock.aheadMs += 16 * 60_000;
    endFaults(here);
    const ended = await waitForEnd(here);
    expect(ended.state).toBe('held');
    expect(await listCampaigns(here)).toMatchObject([
      { status: 'PAUSED', primary_status_reasons: expect.arrayContaining(['SERVICE_LAUNCH_UNCONFIRMED']) },
    ]);
    expect(createdBy(ended.launch_key)).toMatchObject([{ status: 'PAUSED' }]);
  });

  it('an enabling without an answer is not sent again', async () => {
    const here = await readyScene();
    failInTheDark(here, requests.enable, { fault: 'drop_before' });
    expect(await here.launch()).toMatchObject(timeout);
    world.clock.aheadMs += 16 * 60_000;
    endFaults(here);
    expect((await waitForEnd(here)).state).toBe('held');
    expect(await listCampaigns(here)).toMatchObject([
      { status: 'PAUSED', primary_status_reasons: expect.arrayContaining(['SERVICE_LAUNCH_UNCONFIRMED']) },
    ]);
  });
});

describe('an account without an answer', () => {
  afterEach(() => platform.setFaults());

  it.each<Fault['fault']>(['drop_after', 'drop_before'])('is looked for, and created once: %s', async (fault) => {
    const here = await scene({ tracked: true });
    platform.setFaults({ call: 'createCustomerClient', fault, times: 1 });
    const got = await here.launch();
    expect(got.status, got.text).toBe(200);
    const name = got.body.account.account_name;
    const made = platform.journal.flatMap(({ changes = [] }) =>
      changes.filter(([, resource]) => resource?.descriptiveName === name),
    );
    expect(new Set(made.map(([resourceName]) => resourceName)).size).toBe(1);
  });

  it('that the platform refuses ends the launch', async () => {
    const here = await scene();
    platform.setFaults({ call: 'createCustomerClient', fault: 'refuse' });
    expect(await here.launch()).toMatchObject({ status: 503, body: { code: 'ad_platform_unavailable' } });
    expect((await here.readLaunch((await readOne(here)).id)).body).toMatchObject({
      state: 'refused',
      steps: [{ name: 'account', outcome: 'refused' }],
    });
  });
});

it('a workspace that is deleted while the launch is checked launches nothing', async ({ onTestFinished }) => {
  const here = await readyScene();
  onTestFinished(() => provider.setFaults());
  provider.setFaults({ call: '*', fault: 'delay', delay_ms: 1_500 });
  const launching = here.launch();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const { workspace_id } = here.app;
  const deleted_date = world.clock.now();
  await world.db.updateTable('workspaces').set({ deleted_date }).where('id', '=', workspace_id).execute();
  expect(await launching).toMatchObject({ status: 404, body: { code: 'app_not_found' } });
  await expect(readOne(here)).rejects.toThrow('nothing was launched');
});
