// The API schemas for campaigns (docs/api/ads.md#campaigns).
import { z } from 'zod';
import {
  answer,
  count,
  createdDate,
  described,
  id,
  oneOf,
  pageQuery,
  query,
  queryFlag,
  timestamp,
  updatedDate,
} from '../../../kit/http/shapes.ts';
import { campaignTypes } from '../budgets/table.ts';
import type { CampaignRow } from '../store/rows.ts';

export const campaignStatuses = ['ENABLED', 'PAUSED', 'REMOVED'] as const;
const reviewStatuses = ['REVIEW_IN_PROGRESS', 'REVIEWED', 'UNDER_APPEAL', 'ELIGIBLE_MAY_SERVE'] as const;
const servingStatuses = ['SERVING', 'NONE', 'ENDED', 'PENDING', 'SUSPENDED'] as const;
const primaryStatuses = [
  'ELIGIBLE',
  'PAUSED',
  'REMOVED',
  'ENDED',
  'PENDING',
  'MISCONFIGURED',
  'LIMITED',
  'LEARNING',
  'NOT_ELIGIBLE',
] as const;

/**
 * Plinth's own reasons: why it keeps a campaign paused, or that the launch is unconfirmed. All other reasons come from
 * the platform.
 */
export type OwnReason =
  | 'SERVICE_TRACKING_PENDING'
  | 'SERVICE_BILLING_HOLD'
  | 'SERVICE_PAUSED_BY_USER'
  | 'SERVICE_LAUNCH_UNCONFIRMED'
  | 'SERVICE_APP_DELETED';

const campaignFields = {
  id: described(id, "The campaign's id in this API.", '0198c211-03a4-7b1e-8c55-91d0a7f4e2b6'),
  platform_campaign_id: described(
    z.string(),
    "The campaign's id at the ad platform; empty until the platform confirms the campaign.",
    '21034567890',
  ),
  campaign_name: described(z.string(), 'The name of the campaign.', 'Spring flowers'),
  campaign_type: described(oneOf(...campaignTypes), 'The type of the campaign.'),
  status: described(oneOf(...campaignStatuses), "The last confirmed status. A `REMOVED` campaign can't be restored."),
  daily_budget_micros: described(count, 'The daily budget, in millionths of the currency unit.', 15_000_000),
  landing_page: described(z.string(), 'The page that the ads link to.', 'https://flower-shop.apps.example/'),
  geo_targets: described(z.array(z.string()), 'The locations where the ads are shown.', ['geoTargetConstants/2276']),
  phone_number: described(z.string(), 'The phone number in the ads; empty if there is none.', '+4989123456'),
  review_status: described(
    oneOf(...reviewStatuses, 'UNKNOWN'),
    "The ad platform's review of the ads. `UNKNOWN` means any other status.",
  ),
  serving_status: described(
    oneOf(...servingStatuses, 'UNKNOWN'),
    'Whether the ad platform shows the ads. `UNKNOWN` means any other status.',
  ),
  primary_status: described(
    oneOf(...primaryStatuses, 'UNKNOWN'),
    "The campaign's overall status at the ad platform. `UNKNOWN` means any other status.",
  ),
  primary_status_reasons: described(
    z.array(z.string()),
    "The ad platform's reasons for the status, then Plinth's own, which begin with `SERVICE_`: docs/api/ads.md#campaigns.",
    ['SERVICE_TRACKING_PENDING'],
  ),
  created_date: createdDate,
  updated_date: updatedDate,
  learning_ends_at: described(
    timestamp,
    "When the ad platform's learning phase ends: two weeks after the campaign was first enabled.",
    '2026-11-30T09:12:44.000Z',
  ),
};

export const Campaign = answer('Campaign', campaignFields);
export type Campaign = z.input<typeof Campaign>;

/** The statuses of a campaign that has not yet been read from the platform. */
export const justCreated = {
  review_status: 'REVIEW_IN_PROGRESS',
  serving_status: 'PENDING',
  primary_status: 'PENDING',
} as const;

const learningMs = 14 * 24 * 60 * 60 * 1000;

export function presentCampaign(row: CampaignRow): Campaign {
  const learnsFrom = row.first_enabled_at ?? row.created_date;
  return {
    id: row.id,
    platform_campaign_id: row.platform_campaign_id,
    campaign_name: row.campaign_name,
    campaign_type: row.campaign_type,
    status: row.status,
    daily_budget_micros: row.daily_budget_micros,
    landing_page: row.landing_page,
    geo_targets: row.geo_targets,
    phone_number: row.phone_number,
    review_status: toKnown(reviewStatuses, row.review_status),
    serving_status: toKnown(servingStatuses, row.serving_status),
    primary_status: toKnown(primaryStatuses, row.primary_status),
    primary_status_reasons: [...row.platform_reasons, ...row.own_reasons],
    created_date: row.created_date.toISOString(),
    updated_date: row.updated_date.toISOString(),
    learning_ends_at: new Date(learnsFrom.getTime() + learningMs).toISOString(),
  };
}

/** Maps unknown values to `UNKNOWN`, because the platform occasionally adds new ones. */
const toKnown = <Word extends string>(words: readonly Word[], word: string): Word | 'UNKNOWN' =>
  words.find((known) => known === word) ?? 'UNKNOWN';

export const CampaignListQuery = query({
  ...pageQuery,
  include_metrics: described(
    queryFlag.default(true),
    'Whether to read current metrics from the ad platform; true by default. If false, the last known metrics are returned.',
    true,
  ),
});
export type CampaignListQuery = z.output<typeof CampaignListQuery>;

export const ListedCampaign = answer('ListedCampaign', {
  ...campaignFields,
  impressions: described(count, 'How often the ads were shown.', 1204),
  clicks: described(count, 'How often the ads were clicked.', 37),
  cost_micros: described(count, 'The cost of the campaign so far, in millionths of the currency unit.', 18_450_000),
  conversions: described(z.number(), 'How many conversions the campaign has led to.', 2),
  metrics_pending: described(z.boolean(), 'Whether the metrics were not requested or have never been read.'),
});
export type ListedCampaign = z.input<typeof ListedCampaign>;

/** Metrics that were never read or were not requested may be out of date, so they are marked as pending. */
export const presentListed = (row: CampaignRow, isAskedFor: boolean): ListedCampaign => ({
  ...presentCampaign(row),
  impressions: row.impressions,
  clicks: row.clicks,
  cost_micros: row.cost_micros,
  conversions: row.conversions,
  metrics_pending: !isAskedFor || row.metrics_read_at === null,
});

export const CampaignSync = answer('CampaignSync', {
  added: described(count, 'How many campaigns were added to the list.', 0),
  updated: described(count, 'How many listed campaigns had different values at the ad platform.', 1),
  removed: described(count, 'How many listed campaigns had been removed at the ad platform.', 0),
  campaigns: described(z.array(Campaign), 'All campaigns of the app, newest first.'),
});
export type CampaignSync = z.input<typeof CampaignSync>;
