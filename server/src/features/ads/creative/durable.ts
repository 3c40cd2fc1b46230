// Live reads of a campaign's assets from the ad platform.
import {
  nameCounter,
  perMinute,
  rateLimited,
  scaleQuota,
  toLimitHeaders,
  toWholeSeconds,
} from '../../../core/auth/limits.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Counters } from '../../../core/auth/rate-limits/counters.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import type { AttachedAsset, PlatformCampaigns } from '../../../gateways/ad-platform/campaign.ts';
import type { Notes } from '../../../kit/http/answer.ts';
import type { Db } from '../../../tables.ts';
import { platformUnavailable } from '../accounts/account.ts';
import { findCustomerId } from '../store/changes.ts';
import type { CampaignRow } from '../store/rows.ts';
import type { AdsTimes } from '../times.ts';
import type { DurableAsset } from './contract.ts';

export interface DurableDeps {
  readonly platform: { readonly campaigns: Pick<PlatformCampaigns, 'listAssets'> };
  readonly times: Pick<AdsTimes, 'liveReadMs'>;
  readonly counters: Counters;
}

const limit = perMinute(60, 'caller+app');

/**
 * Counts a read with a campaign id against the rate limit, and returns the rate limit headers. Reads without a campaign
 * are not limited, so the limit is applied here and not to the whole operation.
 */
export async function countRead(
  db: Db,
  { counters }: DurableDeps,
  access: AppAccess,
): Promise<Readonly<Record<string, string>>> {
  const { plan, rate_multiplier } = await getWorkspaceRow(db, access);
  const quota = scaleQuota(limit, plan, rate_multiplier);
  const caller = { ...access.caller, app_user_id: null };
  const name = nameCounter(limit, 'listAssets', caller, '', access.app.id);
  const { windowSeconds } = limit;
  const { count, resetMs } = await counters.add(name, windowSeconds);
  const seconds = toWholeSeconds(resetMs);
  const headers = toLimitHeaders('listAssets', quota, windowSeconds, quota - count, seconds);
  if (count <= quota) return headers;
  const refusal = rateLimited(
    `At most ${quota} requests with campaign_id per ${windowSeconds} seconds are allowed. Retry in ${seconds} seconds.`,
    quota,
    windowSeconds,
    seconds,
  );
  Object.assign(refusal.headers, headers);
  throw refusal;
}

/** Until it is known whether the campaign exists, the list is empty and marked as partial. */
export async function listDurable(
  db: Db,
  { platform, times }: DurableDeps,
  campaign: CampaignRow,
): Promise<{ readonly durable: DurableAsset[]; readonly notes: Notes }> {
  const customerId = await findCustomerId(db, campaign);
  if (customerId === null || campaign.platform_campaign_id === '')
    return { durable: [], notes: { partial: ['durable'] } };
  const read = await platform.campaigns.listAssets(customerId, campaign.platform_campaign_id, times.liveReadMs);
  if (read.outcome !== 'read') throw platformUnavailable();
  const { assets, isTruncated } = read.result;
  return { durable: assets.map(presentAttached), notes: isTruncated ? { truncated: true } : {} };
}

const presentAttached = (asset: AttachedAsset): DurableAsset => ({
  resource_name: asset.resourceName,
  field_type: asset.fieldType,
  kind: asset.imageUrl === null ? 'text' : 'image',
  text: asset.text,
  image_url: asset.imageUrl,
  asset_group_name: asset.assetGroupName,
  approval_status: asset.approvalStatus,
});
