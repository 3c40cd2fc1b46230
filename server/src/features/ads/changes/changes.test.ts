// Tests for pausing, resuming and deleting campaigns. The platform must end up in the last requested state, and no
// response may claim more than is known. The tests spend most of their time waiting, so they run concurrently, each
// with its own account. Tests that move the clock or depend on timing run alone.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Insertable } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../../../sandbox/src/ad-platform/server.ts';
import type { FaultKind } from '../../../../../sandbox/src/faults.ts';
import { startPayments } from '../../../../../sandbox/src/payments/server.ts';
import { type CampaignScene, createCampaigns, type TestCampaign } from '../../../../test/support/campaigns.ts';
import { startSecondApp, startWorld } from '../../../../test/support/world.ts';
import { releaseClaims } from '../../../kit/background/queues/complete.ts';
import type { Queue } from '../../../kit/background/queues/queue.ts';
import type { Tables } from '../../../tables.ts';

const [platform, provider] = await Promise.all([startAdPlatform(), startPayments()]);
afterAll(() => Promise.all([platform.close(), provider.close()]));
const adsTimes = {
  reconcileMs: 1_500,
  requestMs: 5_000,
  watchMs: 9_000,
  // Otherwise the sync job could adopt a test's campaigns before the test does.
  syncRetryMs: 1e9,
  resendMs: [50, 100, 200],
};
const world = await startWorld({
  environment: {
    PAYMENTS_URL: provider.url,
    PAYMENTS_SECRET_KEY: provider.secretKey,
    ADS_PLATFORM_URL: platform.url,
    ADS_PLATFORM_MANAGER_ID: platform.managerId,
    ADS_PLATFORM_CREDENTIALS: platform.credentials,
  },
  adsTimes,
  adPlatform: { changeTimeoutMs: 2_500 },
});
const owner = await world.person('owner@example.com');
const { client, newScene, newCampaign, endLaunch, readStatus } = createCampaigns(world, platform);
afterAll(() => client.close());
await world.startWorker();

beforeEach(() => world.resetRateLimits());

type Action = 'pause' | 'resume';
const pathOf = ({ app }: CampaignScene, { id }: Pick<TestCampaign, 'id'>) =>
  `/api/apps/${app.id}/ads-platform/campaigns/${id}`;
const ask = (scene: CampaignScene, campaign: TestCampaign, action: Action) =>
  world.call('POST', `${pathOf(scene, campaign)}/${action}`, { as: scene.as });
const remove = (scene: CampaignScene, campaign: TestCampaign) =>
  world.call('DELETE', pathOf(scene, campaign), { as: scene.as });
const pauseAll = ({ app, as }: CampaignScene) =>
  world.call('POST', `/api/apps/${app.id}/ads-platform/campaigns/pause-all`, { as });

const addCard = async ({ as }: CampaignScene) => {
  const { body } = await world.call('POST', '/api/workspace/billing/setup-session', { as });
  await fetch(body.url, { method: 'POST', body: 'number=4242424242424242', redirect: 'manual' });
};
const payingScene = async () => {
  const scene = await newScene(owner);
  await addCard(scene);
  return scene;
};
const paused = { status: 'PAUSED', own_reasons: ['SERVICE_PAUSED_BY_USER'] } as const;
const pausedCampaign = (scene: CampaignScene) =>
  newCampaign(scene, { ...paused, own_reasons: [...paused.own_reasons] });
const rowOf = ({ id }: TestCampaign) =>
  world.db.selectFrom('ads_campaigns').where('id', '=', id).selectAll().executeTakeFirstOrThrow();
const launchOf = ({ launch_id }: TestCampaign) =>
  world.db.selectFrom('ads_launches').where('id', '=', launch_id).selectAll().executeTakeFirst();
const changesOf = ({ id }: TestCampaign) =>
  world.db.selectFrom('ads_changes').where('campaign_id', '=', id).orderBy('number').selectAll().execute();
/** Inserts a change in the state that an earlier process left it in. */
const insertChange = (
  { app }: CampaignScene,
  { id }: TestCampaign,
  change: Partial<Insertable<Tables['ads_changes']>>,
) =>
  world.db
    .insertInto('ads_changes')
    .values({
      id,
      workspace_id: app.workspace_id,
      app_id: app.id,
      campaign_id: id,
      kind: 'pause',
      state: 'recorded',
      is_by_caller: true,
      created_date: new Date(),
      ...change,
    })
    .execute();
const stepsOf = ({ id }: TestCampaign) =>
  world.db.selectFrom('ads_journal').where('campaign_id', '=', id).orderBy('number').selectAll().execute();
const entriesOf = async ({ app, as }: CampaignScene, type: string) =>
  (await world.call('GET', `/api/workspace/audit-log?type=${type}&app_id=${app.id}`, { as })).body.items;
/** The statuses requested by the changes that the platform received for this account. */
const listSent = ({ customerId }: CampaignScene) =>
  platform.journal.flatMap(({ event, call, customer_id, body }) =>
    event === 'received' && call === 'mutate' && customer_id === customerId
      ? [JSON.stringify(body).match(/"status":"(ENABLED|PAUSED)"/)?.[1] ?? 'other']
      : [],
  );
const mutateFault = ({ customerId }: CampaignScene, fault: FaultKind, more: object = {}) =>
  platform.setFaultsOf(customerId, { call: 'mutate', fault, ...more });
const endFaults = ({ customerId }: CampaignScene) => platform.setFaultsOf(customerId);

describe.concurrent('pauseCampaign', () => {
  it('pauses the campaign at the platform, and says so once it is confirmed', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const got = await ask(scene, campaign, 'pause');
    expect(got).toMatchObject({ status: 200, body: { status: 'paused' } });
    expect(got.headers['x-changed']).toBeUndefined();
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
    expect(await rowOf(campaign)).toMatchObject({ status: 'PAUSED', own_reasons: ['SERVICE_PAUSED_BY_USER'] });
    expect(await stepsOf(campaign)).toMatchObject([
      { name: 'pause', outcome: 'applied', platform_request_id: expect.any(String) },
    ]);
    expect(await entriesOf(scene, 'ads.campaign.pause_requested')).toMatchObject([{ actor: { kind: 'user' } }]);
    expect(await entriesOf(scene, 'ads.campaign.changed')).toMatchObject([
      { actor: { kind: 'service' }, after: { kind: 'pause', state: 'applied' } },
    ]);
  });

  it('can be repeated: the platform is read, and gets nothing', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await ask(scene, campaign, 'pause');
    const sent = listSent(scene).length;
    const again = await ask(scene, campaign, 'pause');
    expect(again).toMatchObject({ status: 200, body: { status: 'paused' }, headers: { 'x-changed': 'false' } });
    expect(listSent(scene)).toHaveLength(sent);
    expect(await entriesOf(scene, 'ads.campaign.pause_requested')).toHaveLength(1);
  });

  it('sends the pause if somebody has enabled the campaign at the platform itself', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await ask(scene, campaign, 'pause');
    await client.campaigns.setStatus(scene.customerId, campaign.platformId, 'ENABLED');
    const got = await ask(scene, campaign, 'pause');
    expect(got.headers['x-changed']).toBeUndefined();
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
  });

  it('keeps a campaign paused that waits for tracking, without a request', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { status: 'PAUSED', own_reasons: ['SERVICE_TRACKING_PENDING'] });
    const sent = listSent(scene).length;
    const got = await ask(scene, campaign, 'pause');
    expect(got.status).toBe(200);
    expect(got.headers['x-changed']).toBeUndefined();
    expect((await rowOf(campaign)).own_reasons).toEqual(['SERVICE_TRACKING_PENDING', 'SERVICE_PAUSED_BY_USER']);
    expect(listSent(scene)).toHaveLength(sent);
  });

  it.for<FaultKind>(['drop_before', 'drop_after', 'error_after', 'delay'])(
    'answers 409 if the platform does not answer, and continues until it does (%s)',
    async (fault, { expect }) => {
      const scene = await newScene(owner);
      const campaign = await newCampaign(scene);
      mutateFault(scene, fault, { times: 1, delay_ms: 3_000 });
      expect(await ask(scene, campaign, 'pause')).toMatchObject({
        status: 409,
        body: { code: 'ad_platform_timeout', retry_safe: true, campaign_state: 'unknown', campaign_id: campaign.id },
      });
      expect(await changesOf(campaign)).toMatchObject([{ state: 'unknown' }]);
      expect((await rowOf(campaign)).watched_until).not.toBeNull();
      await expect.poll(() => rowOf(campaign)).toMatchObject({ status: 'PAUSED' });
      expect(await readStatus(scene, campaign)).toBe('PAUSED');
      // On a busy machine, an answer that was not dropped may be late as well.
      const outcomes = (await stepsOf(campaign)).map(({ outcome }) => outcome);
      expect(outcomes.at(-1)).toBe('applied');
      expect(new Set(outcomes.slice(0, -1))).toEqual(new Set(['unknown']));
      expect(await entriesOf(scene, 'ads.reconciled')).toMatchObject([{ after: { kind: 'pause', state: 'applied' } }]);
    },
  );

  it('is sent again at once if the caller repeats it', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    mutateFault(scene, 'drop_before', { times: 1 });
    expect((await ask(scene, campaign, 'pause')).status).toBe(409);
    expect(await ask(scene, campaign, 'pause')).toMatchObject({ status: 200, body: { status: 'paused' } });
    expect(await changesOf(campaign)).toMatchObject([{ state: 'applied', sent_count: 2 }]);
  });

  it('is never given up: a refusal of the platform can only pass', async ({ expect }) => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    mutateFault(scene, 'refuse');
    // While the worker resends the change, its outcome is unknown.
    await expect
      .poll(() => ask(scene, campaign, 'pause'))
      .toMatchObject({
        status: 409,
        body: { code: 'ad_platform_timeout', detail: expect.stringContaining('not applied yet') },
      });
    await expect.poll(() => changesOf(campaign)).toMatchObject([{ state: 'recorded', ended_date: null }]);
    endFaults(scene);
    await expect.poll(() => readStatus(scene, campaign)).toBe('PAUSED');
  });

  it('is applied if the platform refuses it, but has the campaign paused', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await client.campaigns.setStatus(scene.customerId, campaign.platformId, 'PAUSED');
    mutateFault(scene, 'refuse');
    expect(await ask(scene, campaign, 'pause')).toMatchObject({ status: 200, body: { status: 'paused' } });
    expect(await rowOf(campaign)).toMatchObject({ status: 'PAUSED', own_reasons: ['SERVICE_PAUSED_BY_USER'] });
    expect(await stepsOf(campaign)).toMatchObject([{ name: 'pause', outcome: 'applied' }]);
  });

  it('continues if the platform does not find the campaign: only its word says that it is removed', async ({
    expect,
  }) => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const setId = (platform_campaign_id: string) =>
      world.db.updateTable('ads_campaigns').set({ platform_campaign_id }).where('id', '=', campaign.id).execute();
    await setId('9999999999');
    expect(await ask(scene, campaign, 'pause')).toMatchObject({ status: 409, body: { code: 'ad_platform_timeout' } });
    expect(await rowOf(campaign)).toMatchObject({ status: 'ENABLED' });
    await setId(campaign.platformId);
    await expect.poll(() => readStatus(scene, campaign)).toBe('PAUSED');
  });

  it('does not wait for a removal that the platform refuses', async ({ expect }) => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await insertChange(scene, campaign, { kind: 'remove', state: 'unknown', sent_count: 9 }); // not due
    expect(await ask(scene, campaign, 'pause')).toMatchObject({ status: 200, body: { status: 'paused' } });
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
    expect(await rowOf(campaign)).toMatchObject({ status: 'PAUSED' });
    await world.db.updateTable('ads_changes').set({ due_at: new Date() }).where('id', '=', campaign.id).execute();
    await expect.poll(() => rowOf(campaign)).toMatchObject({ status: 'REMOVED' });
  });

  it('refuses a campaign that is removed, also one that was removed at the platform itself', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await client.campaigns.remove(scene.customerId, campaign.platformId);
    for (const _ of ['by the platform', 'by our row'])
      expect(await ask(scene, campaign, 'pause')).toMatchObject({
        status: 409,
        body: { code: 'campaign_removed', retry_safe: false },
      });
    expect(await rowOf(campaign)).toMatchObject({ status: 'REMOVED', own_reasons: [] });
  });

  it('is recorded and answered at once while the launch is not confirmed, and sent once it has ended', async ({
    expect,
  }) => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { launch: 'held', own_reasons: ['SERVICE_LAUNCH_UNCONFIRMED'] });
    expect(await ask(scene, campaign, 'pause')).toMatchObject({ status: 200, body: { status: 'paused' } });
    expect((await ask(scene, campaign, 'pause')).headers['x-changed']).toBe('false');
    expect((await rowOf(campaign)).own_reasons).toEqual(['SERVICE_LAUNCH_UNCONFIRMED', 'SERVICE_PAUSED_BY_USER']);
    await sleep(300);
    expect(await readStatus(scene, campaign)).toBe('ENABLED');
    await endLaunch(campaign.launch_id, 'live');
    await expect.poll(() => readStatus(scene, campaign)).toBe('PAUSED');
    await expect.poll(() => changesOf(campaign)).toMatchObject([{ kind: 'pause', state: 'applied' }]);
  });
});

describe.concurrent('resumeCampaign', () => {
  it('enables the campaign, and clears the reasons', async () => {
    const scene = await payingScene();
    const campaign = await pausedCampaign(scene);
    const got = await ask(scene, campaign, 'resume');
    expect(got).toMatchObject({ status: 200, body: { status: 'resumed' } });
    expect(await readStatus(scene, campaign)).toBe('ENABLED');
    expect(await rowOf(campaign)).toMatchObject({
      status: 'ENABLED',
      own_reasons: [],
      first_enabled_at: expect.any(Date),
    });
    expect(await entriesOf(scene, 'ads.campaign.resume_requested')).toHaveLength(1);
    const again = await ask(scene, campaign, 'resume');
    expect(again).toMatchObject({ status: 200, body: { status: 'resumed' }, headers: { 'x-changed': 'false' } });
  });

  it('does not enable a campaign again that was paused since the first request with the same key', async () => {
    const scene = await payingScene();
    const campaign = await pausedCampaign(scene);
    const sent = { as: scene.as, headers: { 'idempotency-key': 'resume' } };
    const resume = () => world.call('POST', `${pathOf(scene, campaign)}/resume`, sent);
    expect(await resume()).toMatchObject({ status: 200, body: { status: 'resumed' } });
    expect((await ask(scene, campaign, 'pause')).status).toBe(200);
    expect(await resume()).toMatchObject({ status: 200, headers: { 'idempotent-replayed': 'true' } });
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
    expect(await entriesOf(scene, 'ads.campaign.resume_requested')).toHaveLength(1);
  });

  it('does not begin afresh with the key of a refused request if the campaign was changed since', async () => {
    const scene = await payingScene();
    const campaign = await pausedCampaign(scene);
    const resume = (key: string) =>
      world.call('POST', `${pathOf(scene, campaign)}/resume`, { as: scene.as, headers: { 'idempotency-key': key } });
    expect(await resume('not a key')).toMatchObject({ status: 422 });
    mutateFault(scene, 'refuse', { times: 1 });
    expect(await resume('refused')).toMatchObject({ status: 400, body: { code: 'platform_rejected' } });
    expect((await ask(scene, campaign, 'resume')).status).toBe(200);
    expect((await ask(scene, campaign, 'pause')).status).toBe(200);
    expect(await resume('refused')).toMatchObject({
      status: 409,
      body: { code: 'ad_platform_timeout', retry_safe: false },
    });
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
  });

  it('is sent if somebody has paused the campaign at the platform itself', async () => {
    const scene = await payingScene();
    const campaign = await newCampaign(scene);
    await client.campaigns.setStatus(scene.customerId, campaign.platformId, 'PAUSED');
    expect((await ask(scene, campaign, 'resume')).headers['x-changed']).toBeUndefined();
    expect(await readStatus(scene, campaign)).toBe('ENABLED');
  });

  it('refuses a removed campaign, and one whose launch is not confirmed, before anything else', async () => {
    const scene = await newScene(owner); // without a card
    await world.db.deleteFrom('tracking_checks').where('app_id', '=', scene.app.id).execute();
    const gone = await pausedCampaign(scene);
    await remove(scene, gone);
    expect(await ask(scene, gone, 'resume')).toMatchObject({ status: 409, body: { code: 'campaign_removed' } });
    const open = await newCampaign(scene, { launch: 'unconfirmed', status: 'PAUSED' });
    expect(await ask(scene, open, 'resume')).toMatchObject({
      status: 409,
      body: {
        code: 'launch_in_progress',
        campaign_state: 'unknown',
        campaign_id: open.id,
        launch_id: open.launch_id,
        retry_safe: false,
      },
    });
  });

  it('says why the platform refuses it, and the campaign stays paused', async () => {
    const scene = await payingScene();
    const campaign = await pausedCampaign(scene);
    mutateFault(scene, 'refuse');
    expect(await ask(scene, campaign, 'resume')).toMatchObject({
      status: 400,
      body: {
        code: 'platform_rejected',
        platform_reasons: [{ code: expect.stringContaining('contextError') }],
        account_created: true,
      },
    });
    expect(await rowOf(campaign)).toMatchObject(paused);
    expect(await changesOf(campaign)).toMatchObject([{ state: 'refused' }]);
  });

  it('never answers "resumed" without a confirmation', async ({ expect }) => {
    const scene = await payingScene();
    const campaign = await pausedCampaign(scene);
    mutateFault(scene, 'drop_after', { times: 1 });
    expect(await ask(scene, campaign, 'resume')).toMatchObject({
      status: 409,
      body: { code: 'ad_platform_timeout', retry_safe: false, campaign_state: 'unknown' },
    });
    await expect.poll(() => rowOf(campaign)).toMatchObject({ status: 'ENABLED', own_reasons: [] });
  });
});

describe.concurrent('deleteCampaign', () => {
  it('removes the campaign forever; it stays listed', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const got = await remove(scene, campaign);
    expect(got).toMatchObject({ status: 200, body: { status: 'deleted' } });
    expect(await readStatus(scene, campaign)).toBe('REMOVED');
    expect(await rowOf(campaign)).toMatchObject({ status: 'REMOVED', primary_status: 'REMOVED' });
    const again = await remove(scene, campaign);
    expect(again).toMatchObject({ status: 200, body: { status: 'deleted' }, headers: { 'x-changed': 'false' } });
    expect(await entriesOf(scene, 'ads.campaign.delete_requested')).toHaveLength(1);
  });

  it('succeeds if the campaign was removed at the platform itself', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await client.campaigns.remove(scene.customerId, campaign.platformId);
    expect(await remove(scene, campaign)).toMatchObject({ status: 200, body: { status: 'deleted' } });
    expect(await rowOf(campaign)).toMatchObject({ status: 'REMOVED' });
  });

  it.for<FaultKind>(['drop_before', 'drop_after'])(
    'answers 409 if the platform does not answer, and continues; a repeat waits for the same deletion (%s)',
    async (fault, { expect }) => {
      const scene = await newScene(owner);
      const campaign = await newCampaign(scene);
      mutateFault(scene, fault, { times: 1 });
      expect(await remove(scene, campaign)).toMatchObject({
        status: 409,
        body: { code: 'ad_platform_timeout', retry_safe: true, campaign_state: 'unknown', campaign_id: campaign.id },
      });
      expect(await remove(scene, campaign)).toMatchObject({ status: 200, body: { status: 'deleted' } });
      expect(await rowOf(campaign)).toMatchObject({ status: 'REMOVED' });
      expect(await readStatus(scene, campaign)).toBe('REMOVED');
      expect(await changesOf(campaign)).toMatchObject([{ kind: 'remove', state: 'applied' }]);
      expect(await entriesOf(scene, 'ads.campaign.delete_requested')).toHaveLength(1);
    },
  );

  it('lets the draft be launched again', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { launch: 'live' });
    await remove(scene, campaign);
    expect(await launchOf(campaign)).toMatchObject({ is_current: false, state: 'live' });
  });

  it('is recorded and answered at once while the launch is not confirmed', async ({ expect }) => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { launch: 'held' });
    expect(await remove(scene, campaign)).toMatchObject({ status: 200, body: { status: 'deleted' } });
    expect(await remove(scene, campaign)).toMatchObject({ status: 200, headers: { 'x-changed': 'false' } });
    await endLaunch(campaign.launch_id, 'held');
    await expect.poll(() => readStatus(scene, campaign)).toBe('REMOVED');
  });

  it('makes a launch whose outcome is not known look at once', async ({ expect }) => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { launch: 'unconfirmed' });
    expect(await remove(scene, campaign)).toMatchObject({ status: 200, body: { status: 'deleted' } });
    await expect.poll(() => launchOf(campaign)).toMatchObject({ ended_date: expect.any(Date) });
    await expect.poll(() => readStatus(scene, campaign)).toBe('REMOVED');
  });
});

describe.concurrent('the order of changes', () => {
  it('is that of the requests: what was asked for last counts', async ({ expect }) => {
    const scene = await payingScene();
    const campaign = await newCampaign(scene);
    mutateFault(scene, 'delay', { delay_ms: 300 });
    const pausing = ask(scene, campaign, 'pause');
    await expect.poll(() => changesOf(campaign)).toMatchObject([{ state: 'sent' }]);
    const resuming = ask(scene, campaign, 'resume');
    await expect.poll(() => changesOf(campaign)).toMatchObject([{ kind: 'pause' }, { kind: 'resume' }]);
    expect((await pausing).body).toEqual({ status: 'paused' });
    expect((await resuming).body).toEqual({ status: 'resumed' });
    expect(await readStatus(scene, campaign)).toBe('ENABLED');
    expect((await stepsOf(campaign)).map(({ name }) => name)).toEqual(['pause', 'resume']);
  });

  it('a pause replaces a resume without an answer, and whoever asked for that learns it', async () => {
    const scene = await payingScene();
    const campaign = await newCampaign(scene, { status: 'PAUSED' });
    mutateFault(scene, 'drop_before');
    expect((await ask(scene, campaign, 'resume')).status).toBe(409);
    endFaults(scene);
    expect(await ask(scene, campaign, 'pause')).toMatchObject({ status: 200 });
    expect(await changesOf(campaign)).toMatchObject([
      { kind: 'resume', state: 'superseded' },
      { kind: 'pause', state: 'applied' },
    ]);
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
  });

  it('a pause keeps the reasons of the pause that it replaces', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await insertChange(scene, campaign, { reasons: ['SERVICE_BILLING_HOLD'], state: 'unknown', is_by_caller: false });
    expect((await ask(scene, campaign, 'pause')).status).toBe(200);
    expect((await rowOf(campaign)).own_reasons.toSorted()).toEqual(['SERVICE_BILLING_HOLD', 'SERVICE_PAUSED_BY_USER']);
  });

  it('a pause that was not sent yet gets the reasons of the next one, and nobody learns of a replacement', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await insertChange(scene, campaign, { reasons: ['SERVICE_BILLING_HOLD'], is_by_caller: false });
    expect((await ask(scene, campaign, 'pause')).status).toBe(200);
    expect(await changesOf(campaign)).toMatchObject([{ state: 'applied' }]);
    expect((await rowOf(campaign)).own_reasons.toSorted()).toEqual(['SERVICE_BILLING_HOLD', 'SERVICE_PAUSED_BY_USER']);
    expect(await entriesOf(scene, 'ads.campaign.pause_requested')).toHaveLength(1);
  });

  it('a change whose worker was interrupted is sent again, and the campaign is watched', async ({ expect }) => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await insertChange(scene, campaign, { state: 'sent', sent_count: 1, due_at: new Date() });
    await expect.poll(() => readStatus(scene, campaign)).toBe('PAUSED');
    await expect.poll(() => stepsOf(campaign)).toMatchObject([{ outcome: 'unknown' }, { outcome: 'applied' }]);
    expect((await rowOf(campaign)).watched_until).not.toBeNull();
    expect(await entriesOf(scene, 'ads.reconciled')).toHaveLength(1);
  });

  it('a resume that arrives late, after a pause, is undone', async ({ expect }) => {
    const scene = await payingScene();
    const campaign = await newCampaign(scene, { status: 'PAUSED' });
    mutateFault(scene, 'delay', { delay_ms: 6_000, times: 1 });
    expect((await ask(scene, campaign, 'resume')).status).toBe(409);
    expect((await ask(scene, campaign, 'pause')).status).toBe(200);
    const statuses = () =>
      platform.journal.filter(({ customer_id, event }) => event === 'applied' && customer_id === scene.customerId);
    await expect.poll(() => JSON.stringify(statuses().at(-1))).toContain('ENABLED');
    await expect.poll(() => readStatus(scene, campaign)).toBe('PAUSED');
    expect(await changesOf(campaign)).toMatchObject([
      { kind: 'resume', state: 'superseded' },
      { kind: 'pause', is_by_caller: true },
      { kind: 'pause', is_by_caller: false },
    ]);
  });

  it('a pause that crashed twenty workers is run again; an update is given up', async () => {
    const scene = await newScene(owner);
    const [paused, updated] = [await newCampaign(scene), await newCampaign(scene)];
    const crashed = { claimed_slot: 5, claimed_epoch: 1, crash_count: 19, due_at: new Date() };
    await insertChange(scene, paused, crashed);
    await insertChange(scene, updated, { ...crashed, kind: 'update' });
    const queue = world.app.background.queues.find(({ name }) => name === 'ads_changes');
    await releaseClaims(world.app.database.db, queue as Queue);
    expect(await changesOf(paused)).toMatchObject([{ state: 'recorded', failed_at: null, due_at: expect.any(Date) }]);
    expect(await changesOf(updated)).toMatchObject([{ state: 'refused', failure: { code: 'internal_error' } }]);
  });

  it('a resume of an app in the trash is not sent', async ({ expect }) => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene, { status: 'PAUSED' });
    await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', scene.app.id).execute();
    await insertChange(scene, campaign, { kind: 'resume', due_at: new Date() });
    await expect.poll(() => changesOf(campaign)).toMatchObject([{ state: 'refused' }]);
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
  });
});

describe.concurrent('pauseAllCampaigns', () => {
  it('pauses every campaign that could spend, and those that wait for tracking', async () => {
    const scene = await newScene(owner);
    const running = await Promise.all([newCampaign(scene), newCampaign(scene), newCampaign(scene)]);
    const waiting = await newCampaign(scene, { status: 'PAUSED', own_reasons: ['SERVICE_TRACKING_PENDING'] });
    const gone = await newCampaign(scene);
    await remove(scene, gone);
    expect(await pauseAll(scene)).toMatchObject({
      status: 200,
      body: { status: 'paused', paused: 4, tried: 4, failed: [] },
    });
    for (const campaign of running) expect(await readStatus(scene, campaign)).toBe('PAUSED');
    expect((await rowOf(waiting)).own_reasons).toContain('SERVICE_PAUSED_BY_USER');
    const again = await pauseAll(scene);
    expect(again).toMatchObject({ body: { status: 'paused', paused: 0, tried: 0 }, headers: { 'x-changed': 'false' } });
  });

  it('names those that are not confirmed, and continues', async ({ expect }) => {
    const scene = await newScene(owner);
    const campaigns = [await newCampaign(scene), await newCampaign(scene)];
    mutateFault(scene, 'drop_before', { times: 1 });
    const { status, body } = await pauseAll(scene);
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'partial', paused: 1, tried: 2 } });
    expect(body.failed).toEqual([{ campaign_id: expect.any(String), code: 'ad_platform_timeout' }]);
    for (const campaign of campaigns) await expect.poll(() => readStatus(scene, campaign)).toBe('PAUSED');
  });

  it('leaves out a campaign that is gone meanwhile', async ({ expect }) => {
    const scene = await newScene(owner);
    const gone = await newCampaign(scene, { status: 'PAUSED', own_reasons: ['SERVICE_LAUNCH_UNCONFIRMED'] });
    platform.setFaultsOf(scene.customerId, { call: 'search', fault: 'delay', delay_ms: 700 });
    const reads = () =>
      platform.journal.filter((each) => each.call === 'search' && each.customer_id === scene.customerId);
    const before = reads().length;
    const pausing = pauseAll(scene);
    await expect.poll(() => reads().length).toBeGreaterThan(before);
    await world.db.deleteFrom('ads_campaigns').where('id', '=', gone.id).execute();
    expect(await pausing).toMatchObject({ status: 200, body: { status: 'paused', tried: 0 } });
  });
});

// These tests must act before the platform responds or a worker sends the change.
describe('changes that overlap', () => {
  it.for(['workspace_billing_hold', 'account_billing_hold'])(
    'a resume is not sent if a hold has begun since it was asked for (%s)',
    async (code, { expect }) => {
      const scene = await payingScene();
      const campaign = await pausedCampaign(scene);
      const { app } = scene;
      await insertChange(scene, campaign, { kind: 'update' }); // not due, and the resume waits for it
      const asked = ask(scene, campaign, 'resume');
      await expect.poll(() => changesOf(campaign)).toHaveLength(2);
      if (code === 'workspace_billing_hold')
        await world.db
          .updateTable('workspaces')
          .set({ billing_hold: true })
          .where('id', '=', app.workspace_id)
          .execute();
      else
        await world.db
          .updateTable('ads_accounts')
          .set({ billing_status: 'PENDING' })
          .where('app_id', '=', app.id)
          .execute();
      await world.db.deleteFrom('ads_changes').where('id', '=', campaign.id).execute();
      expect(await asked).toMatchObject({ status: 409, body: { code, campaign_state: 'paused', retry_safe: true } });
      expect(listSent(scene)).not.toContain('ENABLED');
      expect(await readStatus(scene, campaign)).toBe('PAUSED');
      expect(await stepsOf(campaign)).toMatchObject([{ name: 'resume', outcome: 'skipped' }]);
    },
  );

  it('ten pauses at once are one change', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    mutateFault(scene, 'delay', { delay_ms: 300 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(scene, campaign, 'pause')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await changesOf(campaign)).toMatchObject([{ state: 'applied' }]);
    expect(listSent(scene).filter((status) => status === 'PAUSED')).toHaveLength(1);
  });

  it('a pause answers 404 if the campaign is gone before it was paused', async ({ expect }) => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    mutateFault(scene, 'delay', { delay_ms: 600 });
    const asked = ask(scene, campaign, 'pause');
    await expect.poll(() => changesOf(campaign)).toMatchObject([{ state: 'sent' }]);
    await world.db.deleteFrom('ads_campaigns').where('id', '=', campaign.id).execute();
    expect(await asked).toMatchObject({ status: 404, body: { code: 'campaign_not_found' } });
  });

  it('a change that is replaced while its caller waits answers 409', async ({ expect }) => {
    const scene = await payingScene();
    const campaign = await newCampaign(scene);
    mutateFault(scene, 'delay', { delay_ms: 700, times: 1 });
    const removing = ask(scene, campaign, 'pause');
    await expect.poll(() => changesOf(campaign)).toMatchObject([{ state: 'sent' }]);
    const resuming = ask(scene, campaign, 'resume');
    await expect.poll(() => changesOf(campaign)).toHaveLength(2);
    const deleting = remove(scene, campaign);
    // Repeating the resume would undo the later deletion.
    expect(await resuming).toMatchObject({
      status: 409,
      body: { code: 'ad_platform_timeout', retry_safe: false, detail: expect.stringContaining('replaced') },
    });
    expect((await removing).status).toBe(200);
    expect((await deleting).body).toEqual({ status: 'deleted' });
    expect(listSent(scene).filter((status) => status === 'ENABLED')).toHaveLength(1); // sent at creation
  });

  it('a worker that has lost its claim writes nothing', async ({ expect }) => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    mutateFault(scene, 'delay', { delay_ms: 600, times: 1 });
    const asked = ask(scene, campaign, 'pause');
    await expect.poll(() => changesOf(campaign)).toMatchObject([{ state: 'sent' }]);
    const change = world.db.updateTable('ads_changes').where('campaign_id', '=', campaign.id);
    await change.set((is) => ({ claims: is('claims', '+', 1) })).execute();
    await expect.poll(() => readStatus(scene, campaign)).toBe('PAUSED');
    await sleep(300);
    expect(await changesOf(campaign)).toMatchObject([{ state: 'sent' }]);
    expect(await stepsOf(campaign)).toEqual([]);
    await change.set({ claimed_slot: null, claimed_epoch: null, due_at: new Date() }).execute();
    expect((await asked).status).toBe(200);
    expect(await stepsOf(campaign)).toMatchObject([{ outcome: 'unknown' }, { outcome: 'applied' }]);
  });
});

// Runs alone, because it measures time.
describe('pauseAllCampaigns', () => {
  it('pauses what spends at once, and reads those that are paused side by side', async ({ expect }) => {
    const scene = await newScene(owner);
    const waiting = { status: 'PAUSED', own_reasons: ['SERVICE_TRACKING_PENDING'] } as const;
    const newWaiting = () => newCampaign(scene, { ...waiting, own_reasons: [...waiting.own_reasons] });
    const first = [await newWaiting(), await newWaiting()];
    const running = await newCampaign(scene);
    const others = [...first, await newWaiting(), await newWaiting()];
    platform.setFaultsOf(scene.customerId, { call: 'search', fault: 'delay', delay_ms: 2_000 });
    const begun = performance.now();
    let isAnswered = false;
    const pausing = pauseAll(scene).finally(() => (isAnswered = true));
    await expect.poll(() => changesOf(running)).toMatchObject([{ kind: 'pause', state: 'applied' }]);
    expect(isAnswered).toBe(false);
    expect(await pausing).toMatchObject({ status: 200, body: { status: 'paused', paused: 5, tried: 5 } });
    expect(performance.now() - begun).toBeLessThan(others.length * 2_000);
    for (const each of others) expect(await changesOf(each)).toEqual([]);
  });
});

describe('without a configured ad platform', () => {
  it('every change answers 503, and nothing is recorded', async () => {
    const scene = await payingScene();
    const [running, paused] = [await newCampaign(scene), await newCampaign(scene, { status: 'PAUSED' })];
    const unset = { ADS_PLATFORM_URL: '', ADS_PLATFORM_MANAGER_ID: '', ADS_PLATFORM_CREDENTIALS: '' };
    const off = await startSecondApp(world, { environment: unset });
    const { as } = scene;
    const answers = [
      await off.call('POST', `${pathOf(scene, running)}/pause`, { as }),
      await off.call('POST', `${pathOf(scene, paused)}/resume`, { as }),
      await off.call('DELETE', pathOf(scene, running), { as }),
      await off.call('PATCH', pathOf(scene, running), { as, body: { field: 'budget', value: 30_000_000 } }),
      await off.call('POST', `/api/apps/${scene.app.id}/ads-platform/campaigns/pause-all`, { as }),
    ];
    for (const each of answers) expect(each).toMatchObject({ status: 503, body: { code: 'ad_platform_unavailable' } });
    for (const each of [running, paused]) expect(await changesOf(each)).toEqual([]);
  });
});

// These run alone, because the clock and the payment provider are shared by all tests.
describe('resumeCampaign', () => {
  it('refuses while nobody pays, in the order payment, provider, holds, tracking', async () => {
    const scene = await newScene(owner);
    const campaign = await pausedCampaign(scene);
    await world.db.deleteFrom('tracking_checks').where('app_id', '=', scene.app.id).execute();
    const setHold = (billing_hold: boolean) =>
      world.db.updateTable('workspaces').set({ billing_hold }).where('id', '=', scene.app.workspace_id).execute();
    const resume = async () => {
      world.clock.aheadMs += 61_000; // the account's status is read at most once a minute
      await world.resetRateLimits();
      return ask(scene, campaign, 'resume');
    };
    await setHold(true);
    platform.setAccount(scene.customerId, { status: 'CANCELED' });
    expect(await resume()).toMatchObject({ status: 402, body: { code: 'payment_method_required' } });
    await addCard(scene);
    expect(await resume()).toMatchObject({ status: 402, body: { code: 'account_not_in_good_standing' } });
    platform.setAccount(scene.customerId, { status: 'SUSPENDED' });
    provider.setFaults({ call: 'read', fault: 'error_before' });
    expect(await resume()).toMatchObject({ status: 503, body: { code: 'payment_provider_unavailable' } });
    provider.setFaults();
    const held = { campaign_state: 'paused', campaign_id: campaign.id, retry_safe: true };
    expect(await resume()).toMatchObject({ status: 409, body: { code: 'workspace_billing_hold', ...held } });
    await setHold(false);
    expect(await resume()).toMatchObject({ status: 409, body: { code: 'account_billing_hold', ...held } });
    platform.setAccount(scene.customerId, { status: 'ENABLED' });
    expect(await resume()).toMatchObject({ status: 409, body: { code: 'tracking_not_verified', ...held } });
    expect(await changesOf(campaign)).toEqual([]);
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
  });

  it('is not sent any more 15 minutes later', async ({ expect }) => {
    const scene = await payingScene();
    const campaign = await pausedCampaign(scene);
    mutateFault(scene, 'drop_before');
    expect((await ask(scene, campaign, 'resume')).status).toBe(409);
    const before = await changesOf(campaign);
    world.clock.aheadMs += 16 * 60_000;
    endFaults(scene);
    await expect.poll(() => changesOf(campaign)).toMatchObject([{ state: 'refused' }]);
    expect(before).toMatchObject([{ state: 'unknown' }]);
    expect(await readStatus(scene, campaign)).toBe('PAUSED');
    expect((await stepsOf(campaign)).at(-1)).toMatchObject({ name: 'resume', outcome: 'skipped' });
  });

  it('is recorded as applied 15 minutes later if the platform has enabled the campaign', async ({ expect }) => {
    const scene = await payingScene();
    const campaign = await pausedCampaign(scene);
    mutateFault(scene, 'drop_after');
    expect((await ask(scene, campaign, 'resume')).status).toBe(409);
    world.clock.aheadMs += 16 * 60_000;
    await expect.poll(() => rowOf(campaign)).toMatchObject({ status: 'ENABLED' });
  });
});
