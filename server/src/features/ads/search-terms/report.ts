// The search term report, which totals the platform's three sources by term and campaign.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { AdPlatform, SearchTerm, SearchTermSource } from '../../../gateways/ad-platform/index.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { platformUnavailable } from '../accounts/account.ts';
import { cutRange, type DateRange, dayIn, toRange } from '../rules/dates.ts';
import { toCampaignName } from '../rules/name.ts';
import { findAccount } from '../store/accounts.ts';
import { listKnownKeys } from '../store/campaigns.ts';
import { isReady, type ReadyAccount } from '../store/rows.ts';
import type { AdsTimes } from '../times.ts';
import type { SearchTermQuery, SearchTermRow } from './contract.ts';

export interface ReportDeps {
  readonly platform: { readonly campaigns: Pick<AdPlatform['campaigns'], 'listSearchTerms'> };
  readonly times: Pick<AdsTimes, 'reportMs'>;
}

const maxRows = 100;
const sources: readonly SearchTermSource[] = ['search', 'performance_max', 'smart'];

export async function getSearchTerms(
  db: Db,
  deps: ReportDeps,
  access: AppAccess,
  query: SearchTermQuery,
  now: Date,
): Promise<Answer<SearchTermRow[]>> {
  const dates = readDates(query);
  const account = await findAccount(db, access);
  const today = dayIn(account?.timezone ?? 'UTC', now);
  const range = dates === undefined ? toRange(query.date_range ?? 'LAST_30_DAYS', today) : cutRange(dates, today);
  const notes = {
    headers: { 'x-date-range': range === undefined ? 'empty' : `${range.from}/${range.to}` },
    ...(dates !== undefined && query.date_range !== undefined && { ignored: ['date_range'] }),
  };
  if (range === undefined || account === undefined || !isReady(account)) return withNotes([], notes);
  const { terms, failed, isTruncated } = await readSources(deps, account, range);
  const rows = addUp(terms, await listKnownKeys(db, account, listNames(terms)));
  return withNotes(rows.slice(0, maxRows), {
    ...notes,
    partial: failed,
    ...((isTruncated || rows.length > maxRows) && { truncated: true }),
  });
}

/** Undefined if no dates were sent. */
function readDates({ start_date, end_date }: SearchTermQuery): DateRange | undefined {
  if (start_date === undefined && end_date === undefined) return undefined;
  if (start_date === undefined || end_date === undefined)
    throw new Problem(
      'bad_request',
      'date_range_incomplete',
      'Only one of `start_date` and `end_date` was sent. Send both, or use `date_range` instead.',
    );
  if (start_date > end_date)
    throw new Problem(
      'bad_request',
      'date_range_reversed',
      'The `start_date` is after the `end_date`. Send the earlier date as `start_date`.',
    );
  return { from: start_date, to: end_date };
}

/** Reports unreadable sources. Throws if none could be read. */
async function readSources({ platform, times }: ReportDeps, account: ReadyAccount, range: DateRange) {
  const readings = await Promise.all(
    sources.map((source) =>
      platform.campaigns.listSearchTerms(account.platform_customer_id, source, range, times.reportMs),
    ),
  );
  const failed = sources.filter((_source, index) => readings[index]?.outcome !== 'read');
  if (failed.length === sources.length) throw platformUnavailable();
  const read = readings.flatMap((reading) => (reading.outcome === 'read' ? [reading.result] : []));
  return {
    terms: read.flatMap(({ rows }) => rows),
    failed,
    isTruncated: read.some(({ isTruncated }) => isTruncated),
  };
}

const listNames = (terms: readonly SearchTerm[]) =>
  [...new Set(terms.map(({ campaignName }) => campaignName))].map((name) => ({ name }));

/**
 * Merges rows with the same term and campaign id, because two campaigns can have the same name. Sorts by impressions,
 * highest first.
 */
export function addUp(terms: readonly SearchTerm[], launchKeys: ReadonlySet<string>): SearchTermRow[] {
  const rows = new Map<string, SearchTermRow>();
  for (const { term, campaignId, campaignName, impressions, clicks, costMicros, conversions } of terms) {
    const key = JSON.stringify([term, campaignId]);
    const row = rows.get(key);
    rows.set(key, {
      search_term: term,
      campaign: toCampaignName(campaignName, launchKeys),
      impressions: impressions + (row?.impressions ?? 0),
      clicks: clicks + (row?.clicks ?? 0),
      cost_micros: costMicros + (row?.cost_micros ?? 0),
      conversions: conversions + (row?.conversions ?? 0),
    });
  }
  return [...rows.values()].sort(
    (a, b) =>
      b.impressions - a.impressions ||
      b.clicks - a.clicks ||
      compare(a.search_term, b.search_term) ||
      compare(a.campaign, b.campaign),
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
