// Tests for accepting generated assets for campaigns, and for reading a campaign's assets on the platform.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../../../sandbox/src/ad-platform/server.ts';
import { writeAdTexts } from '../../../../../sandbox/src/ad-texts.ts';
import type { FaultKind } from '../../../../../sandbox/src/faults.ts';
import { startModelSandbox } from '../../../../../sandbox/src/model.ts';
import { type CampaignScene, createCampaigns, type TestCampaign } from '../../../../test/support/campaigns.ts';
import { startSecondApp, startWorld } from '../../../../test/support/world.ts';
import { newId } from '../../../kit/ids.ts';

const [platform, model] = await Promise.all([startAdPlatform(), startModelSandbox()]);
afterAll(() => Promise.all([platform.close(), model.close()]));
const world = await startWorld({
  environment: {
    MODEL_URL: model.url,
    ADS_PLATFORM_URL: platform.url,
    ADS_PLATFORM_MANAGER_ID: platform.managerId,
    ADS_PLATFORM_CREDENTIALS: platform.credentials,
  },
  adsTimes: { reconcileMs: 500, requestMs: 5_000, callerWaitMs: 6_000, resendMs: [50, 100, 200], syncRetryMs: 1e9 },
  adPlatform: { changeTimeoutMs: 1_000 },
});
const owner = await world.person('owner@example.com');
const { client, newScene, newCampaign, newOpenLaunch, endLaunch } = createCampaigns(world, platform);
afterAll(() => client.close());
await world.startWorker();

beforeEach(async () => {
  platform.setFaults();
  model.script((request) => writeAdTexts(request) ?? {});
  await world.resetRateLimits();
});

interface Asset {
  readonly session_asset_id: string;
  readonly session_id: string;
  readonly slot: string;
  readonly kind: string;
  readonly text: string | null;
  readonly status: string;
}

const pathOf = ({ app }: CampaignScene, rest = '') => `/api/apps/${app.id}/ads-platform/assets${rest}`;
const list = (scene: CampaignScene, query = '') => world.call('GET', pathOf(scene, query), { as: scene.as });
const accept = (
  scene: CampaignScene,
  { session_asset_id, session_id }: Pick<Asset, 'session_asset_id' | 'session_id'>,
  campaign: Pick<TestCampaign, 'id'>,
  headers: Record<string, string> = {},
) =>
  world.call('POST', pathOf(scene, `/${session_asset_id}/accept`), {
    as: scene.as,
    headers,
    body: { session_id, campaign_id: campaign.id },
  });

/** Inserts a headline into the library. */
async function newAsset({ app }: CampaignScene, more: object = {}): Promise<Asset> {
  const row = {
    id: newId(),
    workspace_id: app.workspace_id,
    app_id: app.id,
    session_id: newId(),
    position: 0,
    slot: 'HEADLINE' as const,
    kind: 'text' as const,
    text: `Headline ${Math.random()}`.slice(0, 20),
    language: 'en',
    status: 'ready' as const,
    created_date: new Date(),
    ...more,
  };
  await world.db.insertInto('ads_assets').values(row).execute();
  return { ...row, session_asset_id: row.id };
}

const listDurable = async ({ customerId }: CampaignScene, { platformId }: TestCampaign) => {
  const found = await client.campaigns.listAssets(customerId, platformId);
  if (found.outcome !== 'read') throw new Error(found.reason);
  return found.result.assets;
};
const mutateFault = ({ customerId }: CampaignScene, fault: FaultKind, more: object = {}) =>
  platform.setFaults({ call: 'mutate', fault, customer_id: customerId, ...more });
const entriesOf = async ({ app, as }: CampaignScene, type: string) =>
  (await world.call('GET', `/api/workspace/audit-log?type=${type}&app_id=${app.id}`, { as })).body.items;

describe('acceptAsset', () => {
  it('answers 503 without a configured platform, and records nothing', async () => {
    const scene = await newScene(owner);
    const [campaign, asset] = [await newCampaign(scene), await newAsset(scene)];
    const unset = { ADS_PLATFORM_URL: '', ADS_PLATFORM_MANAGER_ID: '', ADS_PLATFORM_CREDENTIALS: '' };
    const off = await startSecondApp(world, { environment: unset });
    const got = await off.call('POST', pathOf(scene, `/${asset.session_asset_id}/accept`), {
      as: scene.as,
      body: { session_id: asset.session_id, campaign_id: campaign.id },
    });
    expect(got).toMatchObject({ status: 503, body: { code: 'ad_platform_unavailable' } });
    expect(await entriesOf(scene, 'ads.campaign.asset_accepted')).toEqual([]);
  });

  it('adds generated texts and images of every slot to the campaign', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const { body: generated } = await world.call('POST', pathOf(scene, '/generate'), {
      as: scene.as,
      body: { channel_type: 'PERFORMANCE_MAX' },
    });
    await expect
      .poll(async () => (await list(scene, `?session_id=${generated.session_id}`)).body.session)
      .not.toEqual([]);
    const library: Asset[] = (await list(scene)).body.library;
    const slots = [...new Map(library.map((asset) => [asset.slot, asset])).values()];
    expect(slots).toHaveLength(7);
    const before = (await listDurable(scene, campaign)).length;
    for (const asset of slots) {
      const got = await accept(scene, asset, campaign);
      expect(got).toMatchObject({
        status: 200,
        body: {
          ...asset,
          status: 'accepted',
          accepted_campaign_id: campaign.id,
          accepted_resource_names: [expect.stringContaining('/assetGroupAssets/')],
        },
      });
      expect(got.headers['x-changed']).toBeUndefined();
    }
    const attached = await listDurable(scene, campaign);
    expect(attached).toHaveLength(before + 7);
    const accepted = (await list(scene)).body.library.filter(({ status }: Asset) => status === 'accepted');
    const names = accepted.flatMap((asset: { accepted_resource_names: string[] }) => asset.accepted_resource_names);
    expect(attached.map(({ resourceName }) => resourceName)).toEqual(expect.arrayContaining(names));
    expect(await entriesOf(scene, 'ads.campaign.asset_accepted')).toHaveLength(7);
    const journal = await world.call('GET', `/api/apps/${scene.app.id}/ads-platform/campaigns/${campaign.id}/journal`, {
      as: scene.as,
    });
    expect(journal.body.steps.map(({ name }: { name: string }) => name)).toEqual(Array(7).fill('add_asset'));
  });

  it('adds nothing twice, and says so', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const asset = await newAsset(scene);
    await accept(scene, asset, campaign);
    const count = (await listDurable(scene, campaign)).length;
    const again = await accept(scene, asset, campaign);
    expect(again).toMatchObject({ status: 200, body: { status: 'accepted' }, headers: { 'x-changed': 'false' } });
    expect(await listDurable(scene, campaign)).toHaveLength(count);
  });

  it('waits for the first of two requests for the same, and adds it to another campaign on request', async () => {
    const scene = await newScene(owner);
    const [first, second] = [await newCampaign(scene), await newCampaign(scene)];
    const asset = await newAsset(scene);
    const count = (await listDurable(scene, first)).length;
    const answers = await Promise.all([1, 2, 3].map(() => accept(scene, asset, first)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await listDurable(scene, first)).toHaveLength(count + 1);
    expect(await accept(scene, asset, second)).toMatchObject({ body: { accepted_campaign_id: second.id } });
    expect((await listDurable(scene, second)).some(({ text }) => text === asset.text)).toBe(true);
  });

  it.each(['drop_before', 'drop_after', 'error_after'] as const)(
    'answers 409 after %s, continues, and attaches it once',
    async (fault) => {
      const scene = await newScene(owner);
      const campaign = await newCampaign(scene);
      const asset = await newAsset(scene);
      const count = (await listDurable(scene, campaign)).length;
      mutateFault(scene, fault, { times: 1 });
      const headers = { 'idempotency-key': newId() };
      expect(await accept(scene, asset, campaign, headers)).toMatchObject({
        status: 409,
        body: { code: 'ad_platform_timeout', retry_safe: true, campaign_state: 'unknown', campaign_id: campaign.id },
      });
      const again = await accept(scene, asset, campaign, headers);
      expect(again).toMatchObject({ status: 200, body: { status: 'accepted' } });
      expect(again.headers['idempotent-replayed']).toBe('true');
      expect(await listDurable(scene, campaign)).toHaveLength(count + 1);
    },
  );

  it('repeats the answer for a repeated key, even if nothing was changed', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const asset = await newAsset(scene);
    await accept(scene, asset, campaign);
    const headers = { 'idempotency-key': newId() };
    const first = await accept(scene, asset, campaign, headers);
    const second = await accept(scene, asset, campaign, headers);
    expect(second.body).toEqual(first.body);
    expect(second.headers['x-changed']).toBe('false');
  });

  it('begins again for a repeated key if the platform refused it', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const asset = await newAsset(scene);
    mutateFault(scene, 'refuse', { times: 1 });
    const headers = { 'idempotency-key': newId() };
    expect(await accept(scene, asset, campaign, headers)).toMatchObject({
      status: 400,
      body: { code: 'platform_rejected' },
    });
    const again = await accept(scene, asset, campaign, headers);
    expect(again, again.text).toMatchObject({ status: 200, body: { status: 'accepted' } });
    expect(await entriesOf(scene, 'ads.campaign.asset_accepted')).toHaveLength(2);
    expect((await accept(scene, asset, campaign, headers)).body).toEqual(again.body);
    expect(await entriesOf(scene, 'ads.campaign.asset_accepted')).toHaveLength(2);
  });

  it('tells what the platform refuses, and keeps the asset as it was', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const asset = await newAsset(scene, { text: 'A headline that is much longer than thirty characters' });
    expect(await accept(scene, asset, campaign)).toMatchObject({
      status: 400,
      body: { code: 'platform_rejected', platform_reasons: [{ code: 'stringLengthError.TOO_LONG' }] },
    });
    expect((await list(scene)).body.library[0]).toMatchObject({ status: 'ready', accepted_campaign_id: null });
  });

  it('refuses images that are not made, and one that is not stored any more', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const image = { slot: 'SQUARE_IMAGE', kind: 'image', text: null, width: 1200, height: 1200 };
    const newImage = (status: string) => newAsset(scene, { ...image, status, file_name: `${newId()}.jpg` });
    for (const [status, code] of [
      ['processing', 'asset_processing'],
      ['failed', 'asset_unusable'],
    ] as const)
      expect(await accept(scene, await newImage(status), campaign)).toMatchObject({ status: 409, body: { code } });
    expect(await accept(scene, await newImage('ready'), campaign)).toMatchObject({
      status: 400,
      body: { code: 'platform_rejected', platform_reasons: [{ code: 'SERVICE_ASSET_GONE' }] },
    });
  });

  it('is refused at the storage quota, and records nothing', async () => {
    const scene = await newScene(owner);
    const [campaign, asset] = [await newCampaign(scene), await newAsset(scene)];
    const { workspace_id } = scene.app;
    await world.db.updateTable('workspaces').set({ storage_quota_bytes: 0 }).where('id', '=', workspace_id).execute();
    expect(await accept(scene, asset, campaign)).toMatchObject({
      status: 402,
      body: { code: 'storage_quota_exceeded' },
    });
    expect(await entriesOf(scene, 'ads.campaign.asset_accepted')).toEqual([]);
  });

  it('refuses campaigns that cannot have it', async () => {
    const scene = await newScene(owner);
    const asset = await newAsset(scene);
    const smart = await newCampaign(scene, { type: 'SMART' });
    expect(await accept(scene, asset, smart)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'campaign_id'], type: 'value_error' }] },
    });
    for (const id of [newId(), 'malformed', '', 'x'.repeat(65)])
      expect(await accept(scene, asset, { id })).toMatchObject({ status: 404, body: { code: 'campaign_not_found' } });
    const campaign = await newCampaign(scene);
    await world.db.updateTable('ads_campaigns').set({ status: 'REMOVED' }).where('id', '=', campaign.id).execute();
    expect(await accept(scene, asset, campaign)).toMatchObject({ status: 409, body: { code: 'campaign_removed' } });
    expect(await accept(scene, asset, await newUnconfirmed(scene))).toMatchObject({
      status: 409,
      body: { code: 'campaign_not_on_platform' },
    });
  });

  it('finds that somebody has removed the campaign at the platform', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    await client.campaigns.remove(scene.customerId, campaign.platformId);
    expect(await accept(scene, await newAsset(scene), campaign)).toMatchObject({
      status: 409,
      body: { code: 'campaign_removed' },
    });
  });

  it('knows only assets of the app and of the session', async () => {
    const scene = await newScene(owner);
    const other = await newScene(owner);
    const campaign = await newCampaign(scene);
    const asset = await newAsset(scene);
    for (const wrong of [
      { ...asset, session_id: newId() },
      { ...asset, session_id: '' },
      { ...asset, session_id: 'x'.repeat(65) },
      { ...asset, session_asset_id: newId() },
      { ...asset, session_asset_id: 'malformed' },
      await newAsset(other),
    ])
      expect(await accept(scene, wrong, campaign)).toMatchObject({ status: 404, body: { code: 'asset_not_found' } });
  });
});

/** A campaign whose creation request has had no response. */
async function newUnconfirmed(scene: CampaignScene): Promise<TestCampaign> {
  const campaign = await newCampaign(scene);
  const launch_id = await newOpenLaunch(scene, campaign.id);
  await world.db
    .updateTable('ads_campaigns')
    .set({ launch_id, platform_campaign_id: '' })
    .where('id', '=', campaign.id)
    .execute();
  // No worker runs this launch.
  afterAll(() => endLaunch(launch_id, 'held'));
  return campaign;
}

describe('listAssets with campaign_id', () => {
  it('reads what the campaign has at the platform', async () => {
    const scene = await newScene(owner);
    const campaign = await newCampaign(scene);
    const asset = await newAsset(scene);
    await accept(scene, asset, campaign);
    const { status, body, headers } = await list(scene, `?campaign_id=${campaign.id}`);
    expect(status).toBe(200);
    expect(headers['ratelimit-policy']).toMatch(/^"listAssets";q=\d+;w=60$/);
    expect(headers.ratelimit).toMatch(/^"listAssets";r=\d+;t=\d+$/);
    expect(Object.keys(body).sort()).toEqual(['durable', 'library']);
    expect(body.durable).toEqual(
      expect.arrayContaining([
        {
          resource_name: expect.stringMatching(/\/assetGroupAssets\/.*~HEADLINE$/),
          field_type: 'HEADLINE',
          kind: 'text',
          text: asset.text,
          image_url: null,
          asset_group_name: expect.stringMatching(/^Bikes/),
          approval_status: 'UNKNOWN',
        },
        expect.objectContaining({ field_type: 'BUSINESS_NAME', asset_group_name: '' }),
        expect.objectContaining({ field_type: 'LOGO', kind: 'image', image_url: expect.stringMatching(/^https:/) }),
      ]),
    );
    const both = await list(scene, `?campaign_id=${campaign.id}&session_id=${newId()}`);
    expect(Object.keys(both.body).sort()).toEqual(['durable', 'session']);
  });

  it('says if nothing is known of the campaign, and answers 503 if the platform cannot be read', async () => {
    const scene = await newScene(owner);
    const got = await list(scene, `?campaign_id=${(await newUnconfirmed(scene)).id}`);
    expect(got).toMatchObject({ status: 200, body: { durable: [] }, headers: { 'x-partial-result': 'durable' } });
    const campaign = await newCampaign(scene);
    platform.setFaults({ call: 'search', fault: 'error_before', customer_id: scene.customerId });
    expect(await list(scene, `?campaign_id=${campaign.id}`)).toMatchObject({
      status: 503,
      body: { code: 'ad_platform_unavailable' },
    });
  });

  it('is limited, unlike the same without a campaign', async () => {
    const scene = await newScene(owner);
    const { workspace_id } = scene.app;
    await world.db.updateTable('workspaces').set({ plan: 'free' }).where('id', '=', workspace_id).execute();
    const statuses: number[] = [];
    for (let number = 0; number < 60; number += 1) statuses.push((await list(scene, '?campaign_id=unknown')).status);
    expect(new Set(statuses)).toEqual(new Set([404]));
    expect(await list(scene, '?campaign_id=unknown')).toMatchObject({
      status: 429,
      body: { code: 'rate_limited', limit: 60, window_seconds: 60 },
      headers: { 'ratelimit-policy': '"listAssets";q=60;w=60', ratelimit: expect.stringMatching(/;r=0;t=\d+$/) },
    });
    const without = await list(scene);
    expect(without.status).toBe(200);
    expect(without.headers.ratelimit).toBeUndefined();
  });
});
