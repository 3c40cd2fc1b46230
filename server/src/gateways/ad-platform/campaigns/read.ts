// Reads campaigns: first the campaign with its budget, then its locations, landing page and review.
import type { Calls } from '../calls.ts';
import type { CampaignMetrics, PlatformCampaign, PlatformCampaignType } from '../campaign.ts';
import { asArray, asText, type Json } from '../json.ts';
import type { Reading } from '../outcome.ts';
import { quote, type Row, search } from '../search.ts';
import { get, getNumber, getText } from './names.ts';

const maxRows = 100_000;

const campaignFields =
  'campaign.id, campaign.name, campaign.status, campaign.serving_status, campaign.primary_status, campaign.primary_status_reasons, campaign.advertising_channel_type, campaign_budget.amount_micros';

interface CampaignList {
  readonly campaigns: readonly PlatformCampaign[];
  readonly isTruncated: boolean;
}

export const listCampaigns = (calls: Calls, customerId: string): Promise<Reading<CampaignList>> =>
  readCampaigns(calls, customerId, []);

export async function findCampaigns(
  calls: Calls,
  customerId: string,
  name: string,
): Promise<Reading<readonly PlatformCampaign[]>> {
  const found = await readCampaigns(calls, customerId, [`campaign.name = ${quote(name)}`, isKept('campaign')]);
  return found.outcome === 'read' ? { ...found, result: found.result.campaigns } : found;
}

/** The platform keeps and lists removed resources, so queries must exclude them. */
export const isKept = (resource: string): string => `${resource}.status != 'REMOVED'`;

export async function readCampaign(
  calls: Calls,
  customerId: string,
  campaignId: string,
  timeoutMs?: number,
): Promise<Reading<PlatformCampaign | null>> {
  const found = await readCampaigns(calls, customerId, [isCampaign(campaignId)], timeoutMs);
  return found.outcome === 'read' ? { ...found, result: found.result.campaigns[0] ?? null } : found;
}

/** Ids come from the platform and from our own tables. Anything else must be kept out of queries. */
export function isCampaign(campaignId: string): string {
  if (!/^\d{1,20}$/.test(campaignId)) throw new Error('a platform campaign id must contain only digits');
  return `campaign.id = ${campaignId}`;
}

/** Reads the details once for all campaigns, and only for the types found. */
async function readCampaigns(
  calls: Calls,
  customerId: string,
  conditions: readonly string[],
  timeoutMs?: number,
): Promise<Reading<CampaignList>> {
  const until = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
  const run = (query: string, only = conditions) =>
    search(
      calls,
      customerId,
      query + where(only),
      maxRows,
      until === undefined ? undefined : until - performance.now(),
    );
  const found = await run(`SELECT ${campaignFields} FROM campaign`);
  if (found.outcome !== 'read') return found;
  const { rows, isTruncated } = found.result;
  if (rows.length === 0) return { ...found, result: { campaigns: [], isTruncated } };
  const types = new Set(rows.map(readType));
  const details = await Promise.all([
    run(locationQuery, [...conditions, "campaign_criterion.type = 'LOCATION'", isKept('campaign_criterion')]),
    ...(types.has('PERFORMANCE_MAX')
      ? [
          run(assetGroupQuery, [...conditions, isKept('asset_group')]),
          run(assetReviewQuery, [...conditions, isKept('asset_group_asset')]),
        ]
      : []),
    ...(types.has('SMART') ? [run(settingQuery), run(adReviewQuery, [...conditions, isKept('ad_group_ad')])] : []),
  ]);
  const detailRows: Row[] = [];
  for (const detail of details) {
    if (detail.outcome !== 'read') return detail;
    if (detail.result.isTruncated) return { outcome: 'unavailable', reason: 'too_many_rows' };
    detailRows.push(...detail.result.rows);
  }
  const byCampaign = Map.groupBy(detailRows, (row) => getText(row, 'campaign', 'id'));
  const campaigns = rows.map((row) => toCampaign(row, byCampaign.get(getText(row, 'campaign', 'id')) ?? []));
  return { ...found, result: { campaigns, isTruncated } };
}

const where = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;

const locationQuery =
  'SELECT campaign.id, campaign_criterion.negative, campaign_criterion.location.geo_target_constant FROM campaign_criterion';
const assetGroupQuery = 'SELECT campaign.id, asset_group.final_urls FROM asset_group';
const assetReviewQuery = 'SELECT campaign.id, asset_group_asset.policy_summary.review_status FROM asset_group_asset';
const settingQuery = 'SELECT campaign.id, smart_campaign_setting.final_url FROM smart_campaign_setting';
const adReviewQuery = 'SELECT campaign.id, ad_group_ad.policy_summary.review_status FROM ad_group_ad';

const readType = (row: Row): PlatformCampaignType | undefined =>
  types.find((type) => type === getText(row, 'campaign', 'advertisingChannelType'));

const types = ['SMART', 'PERFORMANCE_MAX'] as const;

function toCampaign(row: Row, details: readonly Row[]): PlatformCampaign {
  const locations = details.filter((each) => each.campaignCriterion !== undefined);
  const [excluded, included] = [true, false].map((negative) =>
    locations
      .filter((each) => (get(each, 'campaignCriterion', 'negative') === true) === negative)
      .map((each) => getText(each, 'campaignCriterion', 'location', 'geoTargetConstant')),
  );
  return {
    id: getText(row, 'campaign', 'id'),
    name: getText(row, 'campaign', 'name'),
    type: readType(row),
    status: getText(row, 'campaign', 'status'),
    servingStatus: getText(row, 'campaign', 'servingStatus'),
    primaryStatus: getText(row, 'campaign', 'primaryStatus'),
    primaryStatusReasons: asArray(get(row, 'campaign', 'primaryStatusReasons')).map(asText),
    reviewStatus: findReview(details),
    dailyBudgetMicros: getNumber(row, 'campaignBudget', 'amountMicros'),
    landingPage: findLandingPage(details),
    locations: included ?? [],
    excludedLocations: excluded ?? [],
  };
}

function findLandingPage(details: readonly Row[]): string {
  const pages = details.map(
    (row) =>
      asText(asArray(get(row, 'assetGroup', 'finalUrls'))[0]) || getText(row, 'smartCampaignSetting', 'finalUrl'),
  );
  return pages.find((page) => page !== '') ?? '';
}

const reviews = ['REVIEW_IN_PROGRESS', 'UNDER_APPEAL', 'ELIGIBLE_MAY_SERVE', 'REVIEWED'];

function findReview(details: readonly Row[]): string {
  const found = new Set(
    details.map(
      (row: Json) =>
        getText(row, 'assetGroupAsset', 'policySummary', 'reviewStatus') ||
        getText(row, 'adGroupAd', 'policySummary', 'reviewStatus'),
    ),
  );
  return reviews.find((review) => found.has(review)) ?? '';
}

export async function readMetrics(
  calls: Calls,
  customerId: string,
): Promise<Reading<ReadonlyMap<string, CampaignMetrics>>> {
  const query =
    'SELECT campaign.id, metrics.impressions, metrics.clicks, metrics.cost_micros, metrics.conversions FROM campaign WHERE metrics.impressions > 0';
  const found = await search(calls, customerId, query, maxRows);
  if (found.outcome !== 'read') return found;
  if (found.result.isTruncated) return { outcome: 'unavailable', reason: 'too_many_rows' };
  return {
    ...found,
    result: new Map(found.result.rows.map((row) => [getText(row, 'campaign', 'id'), toMetrics(row)])),
  };
}

export const toMetrics = (row: Row): CampaignMetrics => ({
  impressions: getNumber(row, 'metrics', 'impressions'),
  clicks: getNumber(row, 'metrics', 'clicks'),
  costMicros: getNumber(row, 'metrics', 'costMicros'),
  conversions: getNumber(row, 'metrics', 'conversions'),
});
