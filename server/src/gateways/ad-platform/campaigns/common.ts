// The fields that all campaign types are created with: the temporary names of the budget and the campaign, dates
// and locations. Pure.
import type { NewCampaign } from '../campaign.ts';
import type { Json } from '../json.ts';
import type { Operation } from '../mutate.ts';
import { endOfDay, type NameOf, startOfDay } from './names.ts';

export const temporaryBudget = (nameOf: NameOf): string => nameOf('campaignBudgets', -1);
export const temporaryCampaign = (nameOf: NameOf): string => nameOf('campaigns', -2);

/** The fields that both campaign types have. */
export const commonFields = (nameOf: NameOf, campaign: NewCampaign): Json => ({
  resourceName: temporaryCampaign(nameOf),
  name: campaign.name,
  status: 'PAUSED',
  campaignBudget: temporaryBudget(nameOf),
  // A campaign without this declaration can block all changes in the account.
  containsEuPoliticalAdvertising: campaign.euPoliticalAdvertising,
  ...(campaign.startDate !== undefined && { startDateTime: startOfDay(campaign.startDate) }),
  ...(campaign.endDate !== undefined && { endDateTime: endOfDay(campaign.endDate) }),
});

export const locationOperations = (campaign: string, { locations, excludedLocations }: NewCampaign): Operation[] => [
  ...locations.map((location) => createLocation(campaign, location, false)),
  ...excludedLocations.map((location) => createLocation(campaign, location, true)),
];

export const createLocation = (campaign: string, geoTargetConstant: string, negative: boolean): Operation => ({
  campaignCriterionOperation: { create: { campaign, location: { geoTargetConstant }, ...(negative && { negative }) } },
});
