// Owns the operations that create a campaign with all that belongs to it, in one request. Pure.
import type { NewCampaign } from '../campaign.ts';
import type { Operation } from '../mutate.ts';
import { namesIn } from './names.ts';
import { createPerformanceMax } from './performance-max.ts';
import { createSmart } from './smart.ts';

/** The second operation creates the campaign. */
export const campaignAt = 1;

/** The campaign is paused: only its own status decides whether it spends. */
export function createOperations(customerId: string, campaign: NewCampaign): Operation[] {
  const nameOf = namesIn(customerId);
  return campaign.type === 'SMART' ? createSmart(nameOf, campaign) : createPerformanceMax(nameOf, campaign);
}
