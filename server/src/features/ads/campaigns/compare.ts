// Owns the difference between what we list and what the platform has. What has not ended is not compared: it is being decided.
import type { PlatformCampaign, PlatformCampaignType } from '../../../gateways/ad-platform/campaign.ts';
import { findLaunchKey } from './name.ts';
import type { SeenCampaign } from './reading.ts';

/**
 * unlisted: the platform has a campaign that we don't list. missing: we list one that the platform doesn't have. status, budget: they
 * are not the same.
 */
export const differenceKinds = ['unlisted', 'missing', 'status', 'budget'] as const;
export type DifferenceKind = (typeof differenceKinds)[number];

export interface Difference {
  readonly kind: DifferenceKind;
  readonly platform_campaign_id: string;
  /** Empty for what we don't list. */
  readonly campaign_id: string;
  readonly ours: string;
  readonly theirs: string;
}

/** What the platform answered for an account, and what we had before it was asked. */
export interface Comparison {
  readonly seen: readonly SeenCampaign[];
  readonly found: readonly PlatformCampaign[];
  /** There are more at the platform. */
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

/** Of a type that Plinth manages. */
export type ManagedCampaign = PlatformCampaign & { readonly type: PlatformCampaignType };

/** Removed ones and those of other types do not count, and what bears the key of a launch that has not ended is found by that launch. */
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
