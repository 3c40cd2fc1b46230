// Owns the schemas of campaigns as a caller sees them (docs/api/ads.md#campaigns).
import type { Selectable } from 'kysely';
import { z } from 'zod';
import { answer, count, id, oneOf, pageQuery, query, queryFlag, timestamp } from '../../../kit/http/shapes.ts';
import type { Tables } from '../../../tables.ts';
import { campaignTypes } from '../budgets/table.ts';

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

/** Why Plinth keeps a campaign paused, or that its launch is not confirmed. The other reasons are the platform's words. */
export type OwnReason =
  | 'SERVICE_TRACKING_PENDING'
  | 'SERVICE_BILLING_HOLD'
  | 'SERVICE_PAUSED_BY_USER'
  | 'SERVICE_LAUNCH_UNCONFIRMED'
  | 'SERVICE_APP_DELETED';

const campaignFields = {
  id,
  platform_campaign_id: z.string(),
  campaign_name: z.string(),
  campaign_type: oneOf(...campaignTypes),
  status: oneOf(...campaignStatuses),
  daily_budget_micros: count,
  landing_page: z.string(),
  geo_targets: z.array(z.string()),
  phone_number: z.string(),
  review_status: oneOf(...reviewStatuses, 'UNKNOWN'),
  serving_status: oneOf(...servingStatuses, 'UNKNOWN'),
  primary_status: oneOf(...primaryStatuses, 'UNKNOWN'),
  primary_status_reasons: z.array(z.string()),
  created_date: timestamp,
  updated_date: timestamp,
  learning_ends_at: timestamp,
};

export const Campaign = answer('Campaign', campaignFields);
export type Campaign = z.input<typeof Campaign>;

export type CampaignRow = Selectable<Tables['ads_campaigns']>;
export type CampaignKey = Pick<CampaignRow, 'workspace_id' | 'app_id' | 'id'>;

/** Of a campaign that the platform was not read for yet. */
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

/** The platform adds words from time to time. */
const toKnown = <Word extends string>(words: readonly Word[], word: string): Word | 'UNKNOWN' =>
  words.find((known) => known === word) ?? 'UNKNOWN';

export const CampaignListQuery = query({ ...pageQuery, include_metrics: queryFlag.default(true) });
export type CampaignListQuery = z.output<typeof CampaignListQuery>;

export const ListedCampaign = answer('ListedCampaign', {
  ...campaignFields,
  impressions: count,
  clicks: count,
  cost_micros: count,
  conversions: z.number(),
  metrics_pending: z.boolean(),
});
export type ListedCampaign = z.input<typeof ListedCampaign>;

/** Metrics that were not asked for, or never read, may be out of date: they are pending. */
export const presentListed = (row: CampaignRow, isAskedFor: boolean): ListedCampaign => ({
  ...presentCampaign(row),
  impressions: row.impressions,
  clicks: row.clicks,
  cost_micros: row.cost_micros,
  conversions: row.conversions,
  metrics_pending: !isAskedFor || row.metrics_read_at === null,
});

export const CampaignSync = answer('CampaignSync', {
  added: count,
  updated: count,
  removed: count,
  campaigns: z.array(Campaign),
});
export type CampaignSync = z.input<typeof CampaignSync>;
