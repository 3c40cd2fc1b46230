// The operations that create a campaign and all its parts in one request. Pure.
import type { NewCampaign } from '../campaign.ts';
import type { Operation } from '../mutate.ts';
import { namesIn } from './names.ts';
import { createPerformanceMax } from './performance-max.ts';
import { createSmart } from './smart.ts';

/** The index of the operation that creates the campaign. */
export const campaignAt = 1;

/** The campaign is created paused, because its own status alone decides whether it spends. */
export function createOperations(customerId: string, campaign: NewCampaign): Operation[] {
  const nameOf = namesIn(customerId);
  return campaign.type === 'SMART' ? createSmart(nameOf, campaign) : createPerformanceMax(nameOf, campaign);
}
