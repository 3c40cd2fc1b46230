// Reads the terms that people searched for. The platform has a view for each kind of campaign.
import type { Calls } from '../calls.ts';
import type { SearchTerm, SearchTermSource } from '../campaign.ts';
import type { Reading } from '../outcome.ts';
import { search } from '../search.ts';
import { getText } from './names.ts';
import { toMetrics } from './read.ts';

interface View {
  readonly name: string;
  /** The view's name in rows. */
  readonly field: string;
  readonly metrics: string;
  readonly condition?: string;
}

const commonMetrics = 'metrics.impressions, metrics.clicks, metrics.cost_micros';

const views: Readonly<Record<SearchTermSource, View>> = {
  search: { name: 'search_term_view', field: 'searchTermView', metrics: `${commonMetrics}, metrics.conversions` },
  performance_max: {
    name: 'campaign_search_term_view',
    field: 'campaignSearchTermView',
    metrics: `${commonMetrics}, metrics.conversions`,
    // The view also includes search campaigns, which would be counted twice.
    condition: "campaign.advertising_channel_type = 'PERFORMANCE_MAX'",
  },
  // This view has no conversions.
  smart: { name: 'smart_campaign_search_term_view', field: 'smartCampaignSearchTermView', metrics: commonMetrics },
};

/** A row is a term in one ad group, so a term can have several rows. */
const maxTerms = 10_000;

export async function listSearchTerms(
  calls: Calls,
  customerId: string,
  source: SearchTermSource,
  { from, to }: { readonly from: string; readonly to: string },
  timeoutMs?: number,
): Promise<Reading<{ readonly rows: readonly SearchTerm[]; readonly isTruncated: boolean }>> {
  const { name, field, metrics, condition } = views[source];
  const conditions = [`segments.date BETWEEN '${from}' AND '${to}'`, ...(condition === undefined ? [] : [condition])];
  const query = `SELECT ${name}.search_term, campaign.id, campaign.name, ${metrics} FROM ${name} WHERE ${conditions.join(' AND ')} ORDER BY metrics.impressions DESC LIMIT ${maxTerms + 1}`;
  const found = await search(calls, customerId, query, maxTerms, timeoutMs);
  if (found.outcome !== 'read') return found;
  const rows = found.result.rows.map((row) => ({
    term: getText(row, field, 'searchTerm'),
    campaignId: getText(row, 'campaign', 'id'),
    campaignName: getText(row, 'campaign', 'name'),
    ...toMetrics(row),
  }));
  return { ...found, result: { rows, isTruncated: found.result.isTruncated } };
}
