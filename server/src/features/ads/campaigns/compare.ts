// The comparison of our campaigns with the platform's. A campaign with an open launch or change is skipped,
// because its state is not yet settled.
import type { PlatformCampaign, PlatformCampaignType } from '../../../gateways/ad-platform/campaign.ts';
import { findLaunchKey } from '../rules/name.ts';
import type { DifferenceKind } from '../store/accounts.ts';
import type { SeenCampaign } from './reading.ts';

export interface Difference {
  readonly kind: DifferenceKind;
  readonly platform_campaign_id: string;
  /** Empty for a campaign that is missing from our table. */
  readonly campaign_id: string;
  readonly ours: string;
  readonly theirs: string;
}

/** An account's campaigns as returned by the platform, and our rows from before the request. */
export interface Comparison {
  readonly seen: readonly SeenCampaign[];
  readonly found: readonly PlatformCampaign[];
  /** Whether the platform has more campaigns than it returned. */
  readonly isTruncated: boolean;
  /** The keys of launches that have not ended. */
  readonly openKeys: ReadonlySet<string>;
}

export function listDifferences(comparison: Comparison): Difference[] {
  const byId = new Map(comparison.found.map((found) => [found.id, found]));
  const listed = comparison.seen.filter(({ row, progress }) => row.platform_campaign_id !== '' && !progress.isBusy);
  return [
    ...listUnlisted(comparison).map(
      ({ id, status }): Difference => ({
        kind: 'unlisted',
        platform_campaign_id: id,
        campaign_id: '',
        ours: 'nothing',
        theirs: status,
      }),
    ),
    ...listed.flatMap((seen) => compareOne(seen, byId.get(seen.row.platform_campaign_id), comparison.isTruncated)),
  ];
}

/** A campaign of a type that Plinth manages. */
export type ManagedCampaign = PlatformCampaign & { readonly type: PlatformCampaignType };

/**
 * Lists the platform's campaigns that our table lacks, except removed campaigns and unmanaged types. Campaigns with an
 * open launch's key are skipped too, because that launch will find them.
 */
export function listUnlisted({ seen, found, openKeys }: Comparison): ManagedCampaign[] {
  const listed = new Set(seen.map(({ row }) => row.platform_campaign_id));
  return found
    .filter((each): each is ManagedCampaign => each.type !== undefined)
    .filter(
      ({ id, name, status }) => !listed.has(id) && status !== 'REMOVED' && !openKeys.has(findLaunchKey(name) ?? ''),
    );
}

function compareOne({ row }: SeenCampaign, found: PlatformCampaign | undefined, isTruncated: boolean): Difference[] {
  const about = { platform_campaign_id: row.platform_campaign_id, campaign_id: row.id };
  if (found === undefined)
    return row.status === 'REMOVED' || isTruncated
      ? []
      : [{ ...about, kind: 'missing', ours: row.status, theirs: 'nothing' }];
  const differences: Difference[] = [];
  if (found.status !== row.status && row.watched_until === null)
    differences.push({ ...about, kind: 'status', ours: row.status, theirs: found.status });
  if (found.dailyBudgetMicros !== row.daily_budget_micros && row.status !== 'REMOVED')
    differences.push({
      ...about,
      kind: 'budget',
      ours: `${row.daily_budget_micros} micros`,
      theirs: `${found.dailyBudgetMicros} micros`,
    });
  return differences;
}
