// The operations on the ad platform's campaigns (../campaign.ts).
import type { Calls } from '../calls.ts';
import type { PlatformCampaigns } from '../campaign.ts';
import { type MutateOptions, mutate } from '../mutate.ts';
import type { Change } from '../outcome.ts';
import { addAsset, listAssets } from './attached.ts';
import { campaignAt, createOperations } from './create.ts';
import { idOf, namesIn } from './names.ts';
import { findCampaigns, listCampaigns, readCampaign, readMetrics } from './read.ts';
import { listSearchTerms } from './search-terms.ts';
import { hasValue, removedResource, updateCampaign } from './update.ts';

export function openCampaigns(calls: Calls): PlatformCampaigns {
  return {
    create: (customerId, campaign, options) => createCampaign(calls, customerId, campaign, options),
    findByName: (customerId, name) => findCampaigns(calls, customerId, name),
    read: (customerId, campaignId, timeoutMs) => readCampaign(calls, customerId, campaignId, timeoutMs),
    list: (customerId) => listCampaigns(calls, customerId),
    setStatus: (customerId, campaignId, status, options) => {
      const update = { resourceName: namesIn(customerId)('campaigns', campaignId), status };
      return mutate(calls, customerId, [{ campaignOperation: { update, updateMask: 'status' } }], options);
    },
    remove: (customerId, campaignId, options) => removeCampaign(calls, customerId, campaignId, options),
    update: (customerId, campaignId, change, options) => updateCampaign(calls, customerId, campaignId, change, options),
    hasValue: (customerId, campaignId, change, timeoutMs) => hasValue(calls, customerId, campaignId, change, timeoutMs),
    addAsset: (customerId, campaignId, asset, options) => addAsset(calls, customerId, campaignId, asset, options),
    listAssets: (customerId, campaignId, timeoutMs) => listAssets(calls, customerId, campaignId, timeoutMs),
    readMetrics: (customerId) => readMetrics(calls, customerId),
    listSearchTerms: (customerId, source, range, timeoutMs) =>
      listSearchTerms(calls, customerId, source, range, timeoutMs),
  };
}

async function createCampaign(
  calls: Calls,
  customerId: string,
  campaign: Parameters<PlatformCampaigns['create']>[1],
  options?: MutateOptions,
): Promise<Change<{ readonly campaignId: string }>> {
  const created = await mutate(calls, customerId, createOperations(customerId, campaign), options);
  if (created.outcome !== 'applied') return created;
  return { ...created, result: { campaignId: idOf(created.result[campaignAt]?.resourceName ?? '') } };
}

async function removeCampaign(
  calls: Calls,
  customerId: string,
  campaignId: string,
  options?: MutateOptions,
): Promise<Change<unknown>> {
  const remove = namesIn(customerId)('campaigns', campaignId);
  const removed = await mutate(calls, customerId, [{ campaignOperation: { remove } }], options);
  const isRemoved = removed.outcome === 'refused' && removed.reasons.every(({ code }) => code === removedResource);
  return isRemoved ? { outcome: 'applied', result: undefined, requestId: removed.requestId } : removed;
}
