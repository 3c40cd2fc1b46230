// The operators' read-only report on how our campaigns differ from the ad platform's, across all accounts.
import type { Db } from '../../../tables.ts';
import { listReadyAccounts } from '../store/accounts.ts';
import type { ReadyAccount } from '../store/rows.ts';
import type { CampaignDeps } from './campaign.ts';
import { type Difference, listDifferences } from './compare.ts';
import { compareAccount } from './sync.ts';

export interface PlatformReport {
  readonly accounts: number;
  /** The number of campaigns on the platform that Plinth manages and that are not removed. */
  readonly campaigns: number;
  /** The number of enabled campaigns of unmanaged types, which were created directly on the platform. */
  readonly otherCampaigns: number;
  readonly differences: readonly (Difference & { readonly app_id: string; readonly customer_id: string })[];
  /** Accounts for which the platform returned nothing or an incomplete list. */
  readonly unread: readonly { readonly app_id: string; readonly customer_id: string }[];
}

type AccountReport = Omit<PlatformReport, 'accounts'>;

const atATime = 4;

export async function compareWithPlatform(db: Db, deps: Pick<CampaignDeps, 'platform'>): Promise<PlatformReport> {
  const reports: AccountReport[] = [];
  for (let page = await listReadyAccounts(db, null); page.length > 0; ) {
    for (let from = 0; from < page.length; from += atATime)
      reports.push(
        ...(await Promise.all(page.slice(from, from + atATime).map((account) => reportOn(db, deps, account)))),
      );
    page = await listReadyAccounts(db, page.at(-1)?.id ?? null);
  }
  return {
    accounts: reports.length,
    campaigns: sum(reports.map(({ campaigns }) => campaigns)),
    otherCampaigns: sum(reports.map(({ otherCampaigns }) => otherCampaigns)),
    differences: reports.flatMap(({ differences }) => differences),
    unread: reports.flatMap(({ unread }) => unread),
  };
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

async function reportOn(db: Db, deps: Pick<CampaignDeps, 'platform'>, account: ReadyAccount): Promise<AccountReport> {
  const about = { app_id: account.app_id, customer_id: account.platform_customer_id };
  const comparison = await compareAccount(db, deps, account);
  if (comparison === undefined) return { campaigns: 0, otherCampaigns: 0, differences: [], unread: [about] };
  const { found, isTruncated } = comparison;
  return {
    campaigns: found.filter(({ type, status }) => type !== undefined && status !== 'REMOVED').length,
    otherCampaigns: found.filter(({ type, status }) => type === undefined && status === 'ENABLED').length,
    differences: listDifferences(comparison).map((difference) => ({ ...difference, ...about })),
    unread: isTruncated ? [about] : [],
  };
}
