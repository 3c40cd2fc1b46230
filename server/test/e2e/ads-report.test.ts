// Tests `plinth ads report`: the lines that an operator sees for each kind of difference between Plinth and the ad
// platform.
import { afterAll, beforeEach, expect, it } from 'vitest';
import { startAdPlatform } from '../../../sandbox/src/ad-platform/server.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { performanceMax } from '../support/ad-campaigns.ts';
import { createCampaigns } from '../support/campaigns.ts';
import { startWorld } from '../support/world.ts';
import { commandLine } from './command.ts';

const platform = await startAdPlatform();
afterAll(() => platform.close());
const environment = {
  ADS_PLATFORM_URL: platform.url,
  ADS_PLATFORM_MANAGER_ID: platform.managerId,
  ADS_PLATFORM_CREDENTIALS: platform.credentials,
};
const world = await startWorld({ environment });
const { client, newScene, newCampaign } = createCampaigns(world, platform);
afterAll(() => client.close());
const { plinth } = commandLine({ ...newKeys(), ...environment, DATABASE_URL: world.config.DATABASE_URL });
const withoutPlatform = commandLine({ ...newKeys(), DATABASE_URL: world.config.DATABASE_URL });
const owner = await world.person('owner@example.com');
const scene = await newScene(owner);
const campaign = await newCampaign(scene);
beforeEach(() => platform.setFaults());

const report = () =>
  plinth('ads', 'report').then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }) => ({ code, stdout: stdout as string }),
  );

it('says so if there is no difference', async () => {
  expect(await report()).toEqual({ code: 0, stdout: 'compared 1 campaigns in 1 of 1 accounts\nNo difference\n' });
});

it('names what differs, and exits with 1', async () => {
  await client.campaigns.setStatus(scene.customerId, campaign.platformId, 'PAUSED');
  await client.campaigns.update(scene.customerId, campaign.platformId, {
    field: 'dailyBudgetMicros',
    value: 9_000_000,
  });
  await client.mutate(scene.customerId, performanceMax(scene.customerId, { name: 'By hand', status: 'ENABLED' }));
  const { code, stdout } = await report();
  expect(code).toBe(1);
  expect(stdout).toMatch(/^unlisted: campaign \d+ .*: Plinth has nothing, the platform has ENABLED$/m);
  expect(stdout).toContain(`campaign ${campaign.id}: Plinth has ENABLED, the platform has PAUSED`);
  expect(stdout).toMatch(/^budget: .*: Plinth has 20000000 micros, the platform has 9000000 micros$/m);
  expect(stdout).toMatch(/^Differences: 3$/m);
  const missing = { platform_campaign_id: '123' };
  await world.db.updateTable('ads_campaigns').set(missing).where('id', '=', campaign.id).execute();
  expect((await report()).stdout).toMatch(/^missing: campaign 123 .*: Plinth has ENABLED, the platform has nothing$/m);
});

it('names the accounts that could not be read', async () => {
  platform.setFaults({ call: 'search', fault: 'drop_before', customer_id: scene.customerId, times: 100 });
  const { code, stdout } = await report();
  expect(code).toBe(1);
  expect(stdout).toContain(`not read: account ${scene.customerId} of app ${scene.app.id}\n`);
  expect(stdout).toContain('No difference in the accounts that were read');
});

it('needs an ad platform', async () => {
  await expect(withoutPlatform.plinth('ads', 'report')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('This installation has no ad platform.'),
  });
  await expect(plinth('ads', 'repair')).rejects.toMatchObject({ code: 2 });
});
