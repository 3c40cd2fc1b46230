// The operations that create a Performance Max campaign: budget, campaign, criteria, assets, asset group and
// signals. Pure.
import type { NewCampaign } from '../campaign.ts';
import type { Operation } from '../mutate.ts';
import { collectAssets, linkToCampaign, linkToGroup, toImageAsset, toTextAsset } from './assets.ts';
import { commonFields, locationOperations, temporaryBudget, temporaryCampaign } from './common.ts';
import { findLanguage } from './languages.ts';
import type { NameOf } from './names.ts';
import { toPlatformPhone } from './phone.ts';

export function createPerformanceMax(nameOf: NameOf, campaign: NewCampaign): Operation[] {
  const { name, dailyBudgetMicros } = campaign;
  const own = temporaryCampaign(nameOf);
  const assetGroup = nameOf('assetGroups', -3);
  const assets = collectAssets(nameOf);
  const links = linkAssets(campaign, own, assetGroup, assets);
  const languageConstant = `languageConstants/${findLanguage(campaign.languageCode).id}`;
  const budget = {
    resourceName: temporaryBudget(nameOf),
    name,
    amountMicros: String(dailyBudgetMicros),
    deliveryMethod: 'STANDARD',
    explicitlyShared: false,
  };
  return [
    { campaignBudgetOperation: { create: budget } },
    { campaignOperation: { create: { ...commonFields(nameOf, campaign), ...performanceMax } } },
    ...locationOperations(own, campaign),
    { campaignCriterionOperation: { create: { campaign: own, language: { languageConstant } } } },
    ...assets.operations,
    {
      assetGroupOperation: {
        create: {
          resourceName: assetGroup,
          campaign: own,
          name: [...name].slice(0, maxGroupName).join(''),
          finalUrls: [campaign.landingPage],
          status: 'ENABLED',
        },
      },
    },
    ...links,
    ...campaign.searchThemes.map((theme) => createSearchTheme(assetGroup, theme)),
  ];
}

/** Shorter than the limit for campaign names. */
const maxGroupName = 128;

const performanceMax = {
  advertisingChannelType: 'PERFORMANCE_MAX',
  maximizeConversions: {},
  // The business name and logo belong to the campaign.
  brandGuidelinesEnabled: true,
  // Otherwise the platform could send visitors to other pages instead of our landing page.
  assetAutomationSettings: [
    { assetAutomationType: 'FINAL_URL_EXPANSION_TEXT_ASSET_AUTOMATION', assetAutomationStatus: 'OPTED_OUT' },
  ],
} as const;

function linkAssets(
  campaign: NewCampaign,
  own: string,
  assetGroup: string,
  assets: ReturnType<typeof collectAssets>,
): Operation[] {
  const { logo, phoneNumber } = campaign;
  const texts = (fieldType: string, list: readonly string[]) =>
    unique(list).map((text) => linkToGroup(assetGroup, assets.add(toTextAsset(text)), fieldType));
  const images = (fieldType: string, list: readonly Uint8Array[]) =>
    unique(list.map((image) => assets.add(toImageAsset(image)))).map((asset) =>
      linkToGroup(assetGroup, asset, fieldType),
    );
  const phone = phoneNumber === '' ? [] : [assets.add({ callAsset: toPlatformPhone(phoneNumber) })];
  return [
    linkToCampaign(own, assets.add(toTextAsset(campaign.businessName)), 'BUSINESS_NAME'),
    ...(logo === undefined ? [] : [linkToCampaign(own, assets.add(toImageAsset(logo)), 'LOGO')]),
    ...phone.map((asset) => linkToCampaign(own, asset, 'CALL')),
    ...texts('HEADLINE', campaign.headlines),
    ...texts('LONG_HEADLINE', campaign.longHeadlines),
    ...texts('DESCRIPTION', campaign.descriptions),
    ...images('MARKETING_IMAGE', campaign.marketingImages),
    ...images('SQUARE_MARKETING_IMAGE', campaign.squareImages),
  ];
}

const unique = (list: readonly string[]): string[] => [...new Set(list)];

export const createSearchTheme = (assetGroup: string, text: string): Operation => ({
  assetGroupSignalOperation: { create: { assetGroup, searchTheme: { text } } },
});
