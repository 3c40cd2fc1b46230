// Complete campaigns that the ad platform accepts in one change: a Performance Max campaign and a Smart campaign.
import type { Operation } from '../../src/gateways/ad-platform/index.ts';

const declaration = { containsEuPoliticalAdvertising: 'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING' };
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64');

const texts = {
  HEADLINE: ['Bikes', 'Fast bikes', 'Good bikes'],
  LONG_HEADLINE: ['Bikes for everybody in town'],
  DESCRIPTION: ['Buy a bike', 'Rent a bike today'],
};

export interface CampaignInput {
  readonly name: string;
  readonly status?: 'ENABLED' | 'PAUSED';
  readonly amountMicros?: string;
  readonly finalUrl?: string;
}

/** Uses brand guidelines, the default for new campaigns: the campaign owns the business name and the logo. */
export function performanceMax(customerId: string, input: CampaignInput): Operation[] {
  const { name, status = 'PAUSED', amountMicros = '20000000', finalUrl = 'https://bikes.example.com/' } = input;
  const of = (collection: string, id: number) => `customers/${customerId}/${collection}/${id}`;
  const [budget, campaign, group] = [of('campaignBudgets', -1), of('campaigns', -2), of('assetGroups', -3)];
  let next = -10;
  const assets: Operation[] = [];
  const links: Operation[] = [];
  const add = (fieldType: string, content: object) => {
    const asset = of('assets', next);
    next -= 1;
    assets.push({ assetOperation: { create: { resourceName: asset, ...content } } });
    const isBrand = fieldType === 'BUSINESS_NAME' || fieldType === 'LOGO';
    links.push(
      isBrand
        ? { campaignAssetOperation: { create: { campaign, asset, fieldType } } }
        : { assetGroupAssetOperation: { create: { assetGroup: group, asset, fieldType } } },
    );
  };
  for (const [fieldType, list] of Object.entries(texts))
    for (const text of list) add(fieldType, { textAsset: { text } });
  add('BUSINESS_NAME', { textAsset: { text: 'Bike shop' } });
  for (const fieldType of ['LOGO', 'MARKETING_IMAGE', 'SQUARE_MARKETING_IMAGE'])
    add(fieldType, { name: fieldType, imageAsset: { data: png } });
  return [
    { campaignBudgetOperation: { create: { resourceName: budget, name, amountMicros, explicitlyShared: false } } },
    {
      campaignOperation: {
        create: {
          resourceName: campaign,
          name,
          status,
          advertisingChannelType: 'PERFORMANCE_MAX',
          campaignBudget: budget,
          maximizeConversions: {},
          ...declaration,
        },
      },
    },
    {
      campaignCriterionOperation: { create: { campaign, location: { geoTargetConstant: 'geoTargetConstants/2840' } } },
    },
    ...assets,
    {
      assetGroupOperation: {
        create: { resourceName: group, campaign, name, finalUrls: [finalUrl], status: 'ENABLED' },
      },
    },
    ...links,
    { assetGroupSignalOperation: { create: { assetGroup: group, searchTheme: { text: 'city bikes' } } } },
  ];
}

export function smart(customerId: string, { name, status = 'PAUSED', finalUrl }: CampaignInput): Operation[] {
  const of = (collection: string, id: number) => `customers/${customerId}/${collection}/${id}`;
  const [budget, campaign, group] = [of('campaignBudgets', -1), of('campaigns', -2), of('adGroups', -3)];
  const setting = {
    resourceName: of('smartCampaignSettings', -2),
    finalUrl: finalUrl ?? 'https://bikes.example.com/',
    businessName: 'Bike shop',
    advertisingLanguageCode: 'en',
  };
  return [
    {
      campaignBudgetOperation: {
        create: { resourceName: budget, name: `${name} budget`, type: 'SMART_CAMPAIGN', amountMicros: '5000000' },
      },
    },
    {
      campaignOperation: {
        create: {
          resourceName: campaign,
          name,
          status,
          advertisingChannelType: 'SMART',
          advertisingChannelSubType: 'SMART_CAMPAIGN',
          campaignBudget: budget,
          ...declaration,
        },
      },
    },
    {
      smartCampaignSettingOperation: {
        update: setting,
        updateMask: 'finalUrl,businessName,advertisingLanguageCode',
      },
    },
    { campaignCriterionOperation: { create: { campaign, keywordTheme: { freeFormKeywordTheme: 'bike repair' } } } },
    {
      adGroupOperation: {
        create: { resourceName: group, name, campaign, type: 'SMART_CAMPAIGN_ADS' },
      },
    },
    {
      adGroupAdOperation: {
        create: {
          adGroup: group,
          ad: {
            smartCampaignAd: {
              headlines: [{ text: 'A' }, { text: 'B' }, { text: 'C' }],
              descriptions: [{ text: 'D' }, { text: 'E' }],
            },
          },
        },
      },
    },
  ];
}
