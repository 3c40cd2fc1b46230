// Tests campaigns over the wire, against the sandbox's ad platform.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../../../sandbox/src/ad-platform/server.ts';
import { startRawServer } from '../../../../../sandbox/src/raw-server.ts';
import { openPlatformClient } from '../../../../test/support/ad-platform.ts';
import type { CampaignChange, NewCampaign } from '../campaign.ts';
import type { Change, Reading } from '../outcome.ts';
import { toPlatformPhone } from './phone.ts';

const sandbox = await startAdPlatform();
const platform = openPlatformClient(sandbox);
const { campaigns } = platform;

afterAll(async () => {
  await platform.close();
  await sandbox.close();
});
beforeEach(() => sandbox.setFaults());

const image = (name: string) => Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from(name)]);

const bikes = {
  dailyBudgetMicros: 20_000_000,
  landingPage: 'https://bikes.example.com/',
  businessName: 'Bike shop',
  languageCode: 'nb',
  locations: ['geoTargetConstants/2578', 'geoTargetConstants/2752'],
  excludedLocations: ['geoTargetConstants/1010826'],
  phoneNumber: '+4722000000',
  keywordThemes: ['bike repair', 'city bikes'],
  searchThemes: ['city bikes', 'bike shop'],
  headlines: ['Bikes', 'Fast bikes', 'Good bikes', 'Bike shop'],
  longHeadlines: ['Bikes for everybody in town'],
  descriptions: ['Buy a bike', 'Rent a bike today'],
  logo: image('logo'),
  marketingImages: [image('wide'), image('wide')],
  squareImages: [image('logo')],
  euPoliticalAdvertising: 'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING',
} as const satisfies Omit<NewCampaign, 'name' | 'type'>;

const performanceMax = (name: string, more: Partial<NewCampaign> = {}): NewCampaign => ({
  ...bikes,
  name,
  type: 'PERFORMANCE_MAX',
  ...more,
});
const smart = (name: string, more: Partial<NewCampaign> = {}): NewCampaign => ({
  ...bikes,
  name,
  type: 'SMART',
  ...more,
});

function applied<Result>(change: Change<Result>): Result {
  if (change.outcome !== 'applied') throw new Error(JSON.stringify(change));
  return change.result;
}

function known<Result>(reading: Reading<Result>): Result {
  if (reading.outcome !== 'read') throw new Error(reading.reason);
  return reading.result;
}

async function newAccount(): Promise<string> {
  const account = { name: `account ${Math.random()}`, currencyCode: 'EUR', timeZone: 'Europe/Oslo' };
  return applied(await platform.createClientAccount(account)).customerId;
}

const query = async (customerId: string, text: string) => known(await platform.search(customerId, text, 1_000)).rows;
/** The number of changes that the platform has received. */
const countChanges = (customerId: string) =>
  sandbox.journal.filter(
    (entry) => entry.customer_id === customerId && entry.event === 'received' && entry.call === 'mutate',
  ).length;

async function newCampaign(type: 'SMART' | 'PERFORMANCE_MAX') {
  const customerId = await newAccount();
  const campaign = type === 'SMART' ? smart('Bikes [key]') : performanceMax('Bikes [key]');
  const { campaignId } = applied(await campaigns.create(customerId, campaign));
  return { customerId, campaignId };
}

describe('create', () => {
  it.each(['PERFORMANCE_MAX', 'SMART'] as const)(
    'makes a paused %s campaign with all that belongs to it',
    async (type) => {
      const { customerId, campaignId } = await newCampaign(type);
      expect(countChanges(customerId)).toBe(1);
      expect(await campaigns.read(customerId, campaignId)).toMatchObject({
        outcome: 'read',
        result: {
          id: campaignId,
          name: 'Bikes [key]',
          type,
          status: 'PAUSED',
          servingStatus: 'NONE',
          primaryStatus: 'PAUSED',
          primaryStatusReasons: ['CAMPAIGN_PAUSED'],
          reviewStatus: 'REVIEW_IN_PROGRESS',
          dailyBudgetMicros: 20_000_000,
          landingPage: 'https://bikes.example.com/',
          locations: bikes.locations,
          excludedLocations: bikes.excludedLocations,
        },
      });
      sandbox.advance(60_000);
      expect(await campaigns.read(customerId, campaignId)).toMatchObject({ result: { reviewStatus: 'REVIEWED' } });
    },
  );

  it('sends a Performance Max campaign its language, themes, telephone number, brand and dates', async () => {
    const customerId = await newAccount();
    const dates = { startDate: '2031-01-02', endDate: '2031-02-03' };
    const { campaignId } = applied(await campaigns.create(customerId, performanceMax('Dated', dates)));
    const [row] = await query(
      customerId,
      'SELECT campaign.start_date_time, campaign.end_date_time, campaign.brand_guidelines_enabled, campaign.contains_eu_political_advertising FROM campaign',
    );
    expect(row?.campaign).toMatchObject({
      startDateTime: '2031-01-02 00:00:00',
      endDateTime: '2031-02-03 23:59:59',
      brandGuidelinesEnabled: true,
      containsEuPoliticalAdvertising: 'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING',
    });
    expect(
      await query(
        customerId,
        "SELECT campaign_criterion.language.language_constant FROM campaign_criterion WHERE campaign_criterion.type = 'LANGUAGE'",
      ),
    ).toMatchObject([{ campaignCriterion: { language: { languageConstant: 'languageConstants/1013' } } }]);
    expect(await listThemes(customerId)).toEqual(['bike shop', 'city bikes']);
    const { assets } = known(await campaigns.listAssets(customerId, campaignId));
    const list = (fieldType: string) => assets.filter((asset) => asset.fieldType === fieldType);
    expect(list('HEADLINE').map(({ text }) => text)).toEqual(bikes.headlines);
    expect(list('BUSINESS_NAME')).toMatchObject([{ text: 'Bike shop', imageUrl: null, assetGroupName: '' }]);
    expect(list('CALL')).toMatchObject([{ text: '+4722000000', imageUrl: null }]);
    // An image that is sent twice is one asset, and the logo is also the square image.
    expect(list('MARKETING_IMAGE')).toHaveLength(1);
    expect(list('LOGO')[0]?.imageUrl).toBe(list('SQUARE_MARKETING_IMAGE')[0]?.imageUrl);
    expect(list('SQUARE_MARKETING_IMAGE')).toMatchObject([
      { text: null, imageUrl: expect.stringMatching(/^https:/), assetGroupName: 'Dated', approvalStatus: 'UNKNOWN' },
    ]);
    sandbox.advance(60_000);
    const later = known(await campaigns.listAssets(customerId, campaignId));
    expect(new Set(later.assets.map(({ approvalStatus }) => approvalStatus))).toEqual(new Set(['APPROVED']));
  });

  it.each(['SMART', 'PERFORMANCE_MAX'] as const)('accepts the longest name of a %s campaign', async (type) => {
    const customerId = await newAccount();
    const name = `${'ö'.repeat(120)} [ABCDEFGHIJ]`;
    applied(await campaigns.create(customerId, type === 'SMART' ? smart(name) : performanceMax(name)));
    expect(await campaigns.findByName(customerId, name)).toMatchObject({ result: [{ name }] });
  });

  it('gives a Smart campaign its settings, and the first three headlines and two descriptions', async () => {
    const customerId = await newAccount();
    await campaigns.create(customerId, smart('Smart', { descriptions: ['One', 'Two', 'Three'] }));
    const received = sandbox.journal.findLast(({ event, call }) => event === 'received' && call === 'mutate');
    expect(JSON.stringify(received?.body)).toContain(
      '"advertisingLanguageCode":"no","phoneNumber":{"countryCode":"NO","phoneNumber":"+4722000000"}',
    );
    const [row] = await query(
      customerId,
      'SELECT ad_group_ad.ad.smart_campaign_ad.headlines, ad_group_ad.ad.smart_campaign_ad.descriptions FROM ad_group_ad',
    );
    expect(row).toMatchObject({
      adGroupAd: {
        ad: {
          smartCampaignAd: {
            headlines: [{ text: 'Bikes' }, { text: 'Fast bikes' }, { text: 'Good bikes' }],
            descriptions: [{ text: 'One' }, { text: 'Two' }],
          },
        },
      },
    });
  });

  it.each([performanceMax, smart])('refuses a name that exists, and makes nothing (%#)', async (make) => {
    const customerId = await newAccount();
    const first = applied(await campaigns.create(customerId, make('Same')));
    expect(await campaigns.create(customerId, make('Same'))).toMatchObject({
      outcome: 'refused',
      reasons: [{ kind: 'duplicate_name' }],
    });
    expect(await campaigns.findByName(customerId, 'Same')).toMatchObject({ result: [{ id: first.campaignId }] });
  });

  it('only checks with validateOnly', async () => {
    const customerId = await newAccount();
    const check = (more: Partial<NewCampaign>) =>
      campaigns.create(customerId, performanceMax('Dry', more), { validateOnly: true });
    expect(await check({})).toMatchObject({ outcome: 'applied', result: { campaignId: '' } });
    expect(await check({ landingPage: 'https://nowhere.invalid/' })).toMatchObject({
      outcome: 'refused',
      reasons: [{ kind: 'input', code: 'assetGroupError.FINAL_URL_CONTAINS_INVALID_DOMAIN_NAME' }],
    });
    expect(await check({ logo: Buffer.from('no image') })).toMatchObject({
      reasons: [{ code: 'imageError.INVALID_IMAGE' }],
    });
    expect(known(await campaigns.list(customerId)).campaigns).toEqual([]);
  });

  it('sends nothing after the time until which the caller waits', async () => {
    const customerId = await newAccount();
    const options = { notAfter: performance.now() };
    expect((await campaigns.create(customerId, smart('Late'), options)).outcome).toBe('unavailable');
    expect((await campaigns.setStatus(customerId, '1', 'ENABLED', options)).outcome).toBe('unavailable');
    expect((await campaigns.update(customerId, '1', { field: 'name', value: 'x' }, options)).outcome).toBe(
      'unavailable',
    );
    expect(countChanges(customerId)).toBe(0);
  });
});

describe('findByName, read and list', () => {
  it('find live campaigns by their whole name, and removed ones by id', async () => {
    const customerId = await newAccount();
    const { campaignId } = applied(await campaigns.create(customerId, smart("Ann's [a]")));
    applied(await campaigns.create(customerId, performanceMax("Ann's [a] 2")));
    expect(known(await campaigns.findByName(customerId, "Ann's [a]")).map(({ id }) => id)).toEqual([campaignId]);
    applied(await campaigns.remove(customerId, campaignId));
    expect(known(await campaigns.findByName(customerId, "Ann's [a]"))).toEqual([]);
    expect(await campaigns.read(customerId, campaignId)).toMatchObject({ result: { status: 'REMOVED' } });
    expect(await campaigns.read(customerId, '4711')).toMatchObject({ outcome: 'read', result: null });
    const { campaigns: all, isTruncated } = known(await campaigns.list(customerId));
    expect(all.map(({ status }) => status).sort()).toEqual(['PAUSED', 'REMOVED']);
    expect(isTruncated).toBe(false);
  });

  it('give campaigns that somebody made by hand no type', async () => {
    const customerId = await newAccount();
    const budget = `customers/${customerId}/campaignBudgets/-1`;
    await platform.mutate(customerId, [
      { campaignBudgetOperation: { create: { resourceName: budget, name: 'b', amountMicros: '5000000' } } },
      {
        campaignOperation: {
          create: {
            name: 'By hand',
            advertisingChannelType: 'SEARCH',
            campaignBudget: budget,
            containsEuPoliticalAdvertising: bikes.euPoliticalAdvertising,
          },
        },
      },
    ]);
    expect(known(await campaigns.list(customerId)).campaigns).toMatchObject([
      { name: 'By hand', type: undefined, status: 'ENABLED', landingPage: '', locations: [], reviewStatus: '' },
    ]);
  });

  it('are unavailable if one part cannot be read', async () => {
    const { customerId, campaignId } = await newCampaign('SMART');
    for (const after of [0, 1, 2, 3]) {
      sandbox.setFaults({ call: 'search', fault: 'error_before', times: 1, after });
      expect((await campaigns.read(customerId, campaignId)).outcome).toBe('unavailable');
    }
    sandbox.setFaults({ call: 'search', fault: 'delay', times: 1, delay_ms: 500 });
    expect((await campaigns.read(customerId, campaignId, 100)).outcome).toBe('unavailable');
  });

  it('never put an id that is not one into a query', async () => {
    await expect(campaigns.read('1', "1 OR campaign.name = 'x'")).rejects.toThrow('only digits');
  });
});

describe('setStatus and remove', () => {
  it('can be repeated, and a removed campaign stays removed', async () => {
    const { customerId, campaignId } = await newCampaign('PERFORMANCE_MAX');
    const read = async () => known(await campaigns.read(customerId, campaignId))?.status;
    for (const status of ['ENABLED', 'ENABLED', 'PAUSED', 'PAUSED'] as const) {
      expect((await campaigns.setStatus(customerId, campaignId, status)).outcome).toBe('applied');
      expect(await read()).toBe(status);
    }
    for (const _attempt of [1, 2]) expect((await campaigns.remove(customerId, campaignId)).outcome).toBe('applied');
    expect(await campaigns.setStatus(customerId, campaignId, 'ENABLED')).toMatchObject({
      outcome: 'refused',
      reasons: [{ kind: 'input', code: 'contextError.OPERATION_NOT_PERMITTED_FOR_REMOVED_RESOURCE' }],
    });
    for (const field of ['searchThemes', 'locations'] as const)
      expect((await campaigns.update(customerId, campaignId, { field, value: [] })).outcome).toBe('refused');
    const asset = { fieldType: 'HEADLINE', text: 'Too late' };
    expect((await campaigns.addAsset(customerId, campaignId, asset)).outcome).toBe('refused');
    expect(await read()).toBe('REMOVED');
    expect((await campaigns.remove(customerId, '4711')).outcome).toBe('refused');
  });

  it('are unknown without an answer', async () => {
    const { customerId, campaignId } = await newCampaign('SMART');
    for (const fault of ['drop_before', 'drop_after', 'error_after'] as const) {
      sandbox.setFaults({ call: 'mutate', fault, times: 1 });
      expect((await campaigns.setStatus(customerId, campaignId, 'ENABLED')).outcome).toBe('unknown');
    }
  });
});

const listThemes = async (customerId: string) =>
  (await query(customerId, 'SELECT asset_group_signal.search_theme.text FROM asset_group_signal'))
    .map((row) => (row.assetGroupSignal as { searchTheme: { text: string } }).searchTheme.text)
    .sort();
const listKeywordThemes = async (customerId: string) =>
  (
    await query(
      customerId,
      "SELECT campaign_criterion.keyword_theme.free_form_keyword_theme FROM campaign_criterion WHERE campaign_criterion.type = 'KEYWORD_THEME' AND campaign_criterion.status != 'REMOVED'",
    )
  )
    .map((row) => (row.campaignCriterion as { keywordTheme: { freeFormKeywordTheme: string } }).keywordTheme)
    .map(({ freeFormKeywordTheme }) => freeFormKeywordTheme)
    .sort();

describe('update', () => {
  /** Applies a change twice. The second time, there is nothing to send. */
  async function update(type: 'SMART' | 'PERFORMANCE_MAX', ...changes: CampaignChange[]) {
    const { customerId, campaignId } = await newCampaign(type);
    for (const change of changes) {
      const before = countChanges(customerId);
      expect(known(await campaigns.hasValue(customerId, campaignId, change, 5_000))).toBe(false);
      applied(await campaigns.update(customerId, campaignId, change));
      expect(countChanges(customerId)).toBe(before + 1);
      expect(known(await campaigns.hasValue(customerId, campaignId, change, 5_000))).toBe(true);
      applied(await campaigns.update(customerId, campaignId, change));
      expect(countChanges(customerId)).toBe(before + 1);
    }
    const campaign = known(await campaigns.read(customerId, campaignId));
    return { customerId, campaignId, campaign };
  }

  it.each(['SMART', 'PERFORMANCE_MAX'] as const)(
    'changes what a %s campaign is and where it is shown',
    async (type) => {
      const { campaign, customerId, campaignId } = await update(
        type,
        { field: 'name', value: 'Cars [key]' },
        { field: 'dailyBudgetMicros', value: 7_500_000 },
        { field: 'landingPage', value: 'https://cars.example.com/' },
        { field: 'locations', value: ['geoTargetConstants/2752', 'geoTargetConstants/2208'] },
        { field: 'excludedLocations', value: ['geoTargetConstants/1010827'] },
        { field: 'endDate', value: '2031-05-06' },
      );
      expect(campaign).toMatchObject({
        name: 'Cars [key]',
        status: 'PAUSED',
        dailyBudgetMicros: 7_500_000,
        landingPage: 'https://cars.example.com/',
        locations: ['geoTargetConstants/2752', 'geoTargetConstants/2208'],
        excludedLocations: ['geoTargetConstants/1010827'],
      });
      const readEnd = async () => (await query(customerId, 'SELECT campaign.end_date_time FROM campaign'))[0]?.campaign;
      expect(await readEnd()).toMatchObject({ endDateTime: '2031-05-06 23:59:59' });
      applied(await campaigns.update(customerId, campaignId, { field: 'endDate', value: '' }));
      expect(await readEnd()).not.toHaveProperty('endDateTime');
      applied(await campaigns.update(customerId, campaignId, { field: 'excludedLocations', value: [] }));
      expect(known(await campaigns.read(customerId, campaignId))?.excludedLocations).toEqual([]);
    },
  );

  it('changes the themes and texts of a Smart campaign', async () => {
    const { customerId } = await update(
      'SMART',
      { field: 'keywordThemes', value: ['city bikes', 'cargo bikes'] },
      { field: 'texts', value: { headlines: ['A', 'B', 'C', 'D'] } },
    );
    expect(await listKeywordThemes(customerId)).toEqual(['cargo bikes', 'city bikes']);
    const [row] = await query(
      customerId,
      'SELECT ad_group_ad.ad.smart_campaign_ad.headlines, ad_group_ad.ad.smart_campaign_ad.descriptions FROM ad_group_ad',
    );
    expect(row).toMatchObject({
      adGroupAd: {
        ad: {
          smartCampaignAd: {
            headlines: [{ text: 'A' }, { text: 'B' }, { text: 'C' }],
            descriptions: bikes.descriptions.map((text) => ({ text })),
          },
        },
      },
    });
  });

  it('changes the themes and texts of a Performance Max campaign, which never has too few', async () => {
    const texts = { headlines: ['New', 'Newer', 'Newest'], descriptions: ['Buy a bike', 'Rent one'] };
    const { customerId, campaignId } = await update(
      'PERFORMANCE_MAX',
      { field: 'searchThemes', value: ['city bikes', 'cargo bikes'] },
      { field: 'texts', value: texts },
    );
    expect(await listThemes(customerId)).toEqual(['cargo bikes', 'city bikes']);
    const { assets } = known(await campaigns.listAssets(customerId, campaignId));
    const list = (fieldType: string) =>
      assets.filter((asset) => asset.fieldType === fieldType).map(({ text }) => text ?? '');
    expect(list('HEADLINE')).toEqual(texts.headlines);
    expect(list('DESCRIPTION').sort()).toEqual(texts.descriptions);
    expect(list('LONG_HEADLINE')).toEqual(bikes.longHeadlines);
    expect(list('BUSINESS_NAME')).toEqual(['Bike shop']);
    expect(
      await campaigns.update(customerId, campaignId, { field: 'texts', value: { headlines: ['Only one'] } }),
    ).toMatchObject({ outcome: 'refused', reasons: [{ code: 'assetGroupError.NOT_ENOUGH_HEADLINE_ASSET' }] });
  });

  it('is refused for a field that the type does not have, and for a campaign that does not exist', async () => {
    const { customerId, campaignId } = await newCampaign('SMART');
    const change = (id: string, field: 'keywordThemes' | 'searchThemes') =>
      campaigns.update(customerId, id, { field, value: ['x'] });
    expect(await change(campaignId, 'searchThemes')).toMatchObject({ reasons: [{ code: 'not_applicable' }] });
    const themes = { field: 'searchThemes', value: ['x'] } as const;
    expect(known(await campaigns.hasValue(customerId, campaignId, themes, 5_000))).toBe(false);
    expect(await change('4711', 'keywordThemes')).toMatchObject({
      outcome: 'refused',
      reasons: [{ kind: 'input', code: 'mutateError.RESOURCE_NOT_FOUND' }],
    });
  });

  it('is unavailable, and sends nothing, if the campaign cannot be read', async () => {
    const { customerId, campaignId } = await newCampaign('PERFORMANCE_MAX');
    for (const after of [0, 1, 2]) {
      sandbox.setFaults({ call: 'search', fault: 'drop_before', times: 1, after });
      const change = { field: 'texts', value: { headlines: ['A', 'B', 'C'] } } as const;
      expect((await campaigns.update(customerId, campaignId, change)).outcome).toBe('unavailable');
    }
    sandbox.setFaults({ call: 'search', fault: 'drop_before', times: 1 });
    const name = { field: 'name', value: 'x' } as const;
    expect((await campaigns.hasValue(customerId, campaignId, name, 5_000)).outcome).toBe('unavailable');
    expect(countChanges(customerId)).toBe(1);
  });
});

describe('addAsset', () => {
  it('attaches a text or an image once', async () => {
    const { customerId, campaignId } = await newCampaign('PERFORMANCE_MAX');
    const count = async () => known(await campaigns.listAssets(customerId, campaignId)).assets.length;
    const before = await count();
    for (const asset of [
      { fieldType: 'HEADLINE', text: 'Another' },
      { fieldType: 'PORTRAIT_MARKETING_IMAGE', image: image('tall') },
    ]) {
      const first = applied(await campaigns.addAsset(customerId, campaignId, asset));
      expect(first.resourceNames).toEqual([
        expect.stringMatching(new RegExp(`^customers/${customerId}/assetGroupAssets/.*~${asset.fieldType}$`)),
      ]);
      expect(applied(await campaigns.addAsset(customerId, campaignId, asset))).toEqual(first);
    }
    expect(await count()).toBe(before + 2);
    // The campaign was created with this image.
    applied(await campaigns.addAsset(customerId, campaignId, { fieldType: 'MARKETING_IMAGE', image: image('wide') }));
    expect(await count()).toBe(before + 2);
  });

  it('is refused by the platform beyond the number that it allows, and for a campaign without asset groups', async () => {
    const { customerId, campaignId } = await newCampaign('PERFORMANCE_MAX');
    const add = (text: string) => campaigns.addAsset(customerId, campaignId, { fieldType: 'DESCRIPTION', text });
    for (const text of ['3', '4', '5']) applied(await add(text));
    expect((await add('6')).outcome).toBe('refused');
    const other = await newCampaign('SMART');
    expect(
      (await campaigns.addAsset(other.customerId, other.campaignId, { fieldType: 'HEADLINE', text: 'x' })).outcome,
    ).toBe('refused');
  });
});

describe('readMetrics and listSearchTerms', () => {
  const dayMs = 24 * 60 * 60 * 1000;
  const allDays = { from: '2020-01-01', to: '2099-12-31' };

  it('report what campaigns got, and a removed one still has its figures', async () => {
    const { customerId, campaignId } = await newCampaign('SMART');
    const { campaignId: paused } = applied(await campaigns.create(customerId, performanceMax('Paused')));
    await campaigns.setStatus(customerId, campaignId, 'ENABLED');
    sandbox.advance(3 * dayMs);
    await campaigns.remove(customerId, campaignId);
    const metrics = known(await campaigns.readMetrics(customerId));
    expect(metrics.get(campaignId)).toMatchObject({
      impressions: expect.any(Number),
      clicks: expect.any(Number),
      conversions: expect.any(Number),
    });
    expect(metrics.get(campaignId)?.costMicros).toBeGreaterThan(1_000_000);
    expect(metrics.has(paused)).toBe(false);
  });

  it('list the terms of each kind of campaign once, highest impressions first', async () => {
    const { customerId, campaignId } = await newCampaign('SMART');
    const { campaignId: other } = applied(await campaigns.create(customerId, performanceMax('Max [key]')));
    const budget = `customers/${customerId}/campaignBudgets/-1`;
    await platform.mutate(customerId, [
      { campaignBudgetOperation: { create: { resourceName: budget, name: 'b', amountMicros: '50000000' } } },
      {
        campaignOperation: {
          create: {
            name: 'By hand',
            advertisingChannelType: 'SEARCH',
            campaignBudget: budget,
            containsEuPoliticalAdvertising: bikes.euPoliticalAdvertising,
          },
        },
      },
    ]);
    await campaigns.setStatus(customerId, campaignId, 'ENABLED');
    await campaigns.setStatus(customerId, other, 'ENABLED');
    sandbox.advance(5 * dayMs);
    const names = { search: 'By hand', performance_max: 'Max [key]', smart: 'Bikes [key]' } as const;
    for (const source of ['search', 'performance_max', 'smart'] as const) {
      const { rows, isTruncated } = known(await campaigns.listSearchTerms(customerId, source, allDays));
      expect(isTruncated).toBe(false);
      expect(rows.length).toBeGreaterThan(1);
      expect(new Set(rows.map(({ campaignName }) => campaignName))).toEqual(new Set([names[source]]));
      const impressions = rows.map((row) => row.impressions);
      expect(impressions).toEqual(impressions.toSorted((a, b) => b - a));
      if (source === 'smart') expect(rows.every(({ conversions }) => conversions === 0)).toBe(true);
    }
    const none = await campaigns.listSearchTerms(customerId, 'smart', { from: '2020-01-01', to: '2020-01-31' });
    expect(known(none).rows).toEqual([]);
  });

  it('end with the end date of a campaign', async () => {
    const { customerId, campaignId } = await newCampaign('SMART');
    await campaigns.setStatus(customerId, campaignId, 'ENABLED');
    applied(await campaigns.update(customerId, campaignId, { field: 'endDate', value: '2020-01-01' }));
    sandbox.advance(3 * dayMs);
    expect(known(await campaigns.readMetrics(customerId)).size).toBe(0);
    expect(await campaigns.read(customerId, campaignId)).toMatchObject({
      result: { servingStatus: 'ENDED', primaryStatus: 'ENDED' },
    });
  });
});

describe('an answer', () => {
  const failure = (...codes: string[]) => ({
    code: 3,
    details: [
      {
        errors: codes.map((code) => ({
          errorCode: { [code.split('.')[0] ?? '']: code.split('.')[1] },
          message: 'x',
          location: { fieldPathElements: [{ fieldName: 'mutate_operations', index: 0 }] },
        })),
      },
    ],
  });
  const responses = [{ campaignResult: { resourceName: 'customers/1/campaigns/1' } }];
  const duplicate = 'campaignError.DUPLICATE_CAMPAIGN_NAME';
  const many = [...Array<string>(60).fill('fieldError.REQUIRED'), 'internalError.INTERNAL_ERROR'];

  async function answerWith(body: unknown, status = 200) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const head = `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n`;
    const raw = await startRawServer({ address: '127.0.0.1', onData: (socket) => void socket.end(head + text) });
    const misled = openPlatformClient({ ...sandbox, url: `http://127.0.0.1:${raw.port}` });
    return Object.assign(misled.campaigns, {
      async close() {
        await misled.close();
        await raw.close();
      },
    });
  }

  it.each([
    ['a success', {}, 'applied'],
    ['failures in a success', { partialFailureError: failure(duplicate) }, 'refused'],
    [
      'an unfinished failure in a success',
      { partialFailureError: failure(duplicate, 'internalError.INTERNAL_ERROR') },
      'unknown',
    ],
    ['a failure without details', { partialFailureError: { code: 13, message: 'Internal' } }, 'unknown'],
    ['a page of a proxy', '<html/>', 'unknown'],
  ] as const)('to a check with %s is %s', async (_name, body, outcome) => {
    const misled = await answerWith(body);
    expect((await misled.create('1', smart('x'), { validateOnly: true })).outcome).toBe(outcome);
    await misled.close();
  });

  it.each([
    ['a result', { mutateOperationResponses: responses }, 200, 'applied'],
    [
      'a result and failures',
      { mutateOperationResponses: responses, partialFailureError: failure(duplicate) },
      200,
      'unknown',
    ],
    ['no result', { mutateOperationResponses: [{}] }, 200, 'unknown'],
    ['60 reasons, and one that is unfinished', { error: failure(...many) }, 400, 'unknown'],
    ['60 reasons', { error: failure(...many.slice(0, 60)) }, 400, 'refused'],
  ] as const)('to a change with %s is %s', async (_name, body, status, outcome) => {
    const misled = await answerWith(body, status);
    const changed = await misled.setStatus('1', '1', 'PAUSED');
    expect(changed.outcome).toBe(outcome);
    if (changed.outcome === 'refused') expect(changed.reasons).toHaveLength(50);
    await misled.close();
  });
});

it.each([
  ['+15551234567', 'US'],
  ['+4930123456', 'DE'],
  ['+358401234567', 'FI'],
  ['+79161234567', 'RU'],
  ['+8801712345678', 'BD'],
])('the telephone number %s is of %s', (number, countryCode) => {
  expect(toPlatformPhone(number)).toEqual({ countryCode, phoneNumber: number });
});
