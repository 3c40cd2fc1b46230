// The operations that create a Smart campaign: budget, campaign, settings, themes, locations and its single ad.
// Pure.
import type { NewCampaign } from '../campaign.ts';
import type { Operation } from '../mutate.ts';
import { commonFields, locationOperations, temporaryBudget, temporaryCampaign } from './common.ts';
import { findLanguage } from './languages.ts';
import type { NameOf } from './names.ts';
import { toPlatformPhone } from './phone.ts';

export function createSmart(nameOf: NameOf, campaign: NewCampaign): Operation[] {
  const { name, dailyBudgetMicros } = campaign;
  const own = temporaryCampaign(nameOf);
  const adGroup = nameOf('adGroups', -3);
  const budget = {
    resourceName: temporaryBudget(nameOf),
    name,
    type: 'SMART_CAMPAIGN',
    amountMicros: String(dailyBudgetMicros),
  };
  const type = { advertisingChannelType: 'SMART', advertisingChannelSubType: 'SMART_CAMPAIGN' };
  return [
    { campaignBudgetOperation: { create: budget } },
    { campaignOperation: { create: { ...commonFields(nameOf, campaign), ...type } } },
    // The platform creates the settings together with the campaign, under the same id.
    updateSetting(nameOf('smartCampaignSettings', -2), {
      finalUrl: campaign.landingPage,
      businessName: campaign.businessName,
      advertisingLanguageCode: findLanguage(campaign.languageCode).code,
      ...(campaign.phoneNumber !== '' && { phoneNumber: toPlatformPhone(campaign.phoneNumber) }),
    }),
    ...campaign.keywordThemes.map((theme) => createKeywordTheme(own, theme)),
    ...locationOperations(own, campaign),
    { adGroupOperation: { create: { resourceName: adGroup, name, campaign: own, type: 'SMART_CAMPAIGN_ADS' } } },
    {
      adGroupAdOperation: {
        create: {
          adGroup,
          ad: {
            type: 'SMART_CAMPAIGN_AD',
            smartCampaignAd: {
              headlines: toSmartTexts(campaign.headlines, smartHeadlines),
              descriptions: toSmartTexts(campaign.descriptions, smartDescriptions),
            },
          },
        },
      },
    },
  ];
}

/** A Smart campaign's ad has exactly this many texts. */
export const smartHeadlines = 3;
export const smartDescriptions = 2;

export const toSmartTexts = (texts: readonly string[], count: number) =>
  texts.slice(0, count).map((text) => ({ text }));

export const createKeywordTheme = (campaign: string, freeFormKeywordTheme: string): Operation => ({
  campaignCriterionOperation: { create: { campaign, keywordTheme: { freeFormKeywordTheme } } },
});

export const updateSetting = (resourceName: string, fields: Readonly<Record<string, unknown>>): Operation => ({
  smartCampaignSettingOperation: { update: { resourceName, ...fields }, updateMask: Object.keys(fields).join(',') },
});
