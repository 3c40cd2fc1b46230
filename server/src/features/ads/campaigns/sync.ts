// The campaign sync: an account's rows take the platform's values, and unlisted campaigns are added. An unlisted
// campaign with a launch key was created by a launch that had already given up, so the campaign is paused to prevent
// spending.
import { audit, auditService } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { newId } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import { type AccountDeps, getReadyAccount, platformUnavailable, readStatus } from '../accounts/account.ts';
import { accountClosed } from '../accounts/closed.ts';
import { findLaunchKey } from '../rules/name.ts';
import { claimDueAccounts, saveSync } from '../store/accounts.ts';
import {
  insertFoundCampaign,
  listAllCampaigns,
  listKnownKeys,
  listOpenLaunchKeys,
  listProgress,
  lockCampaign,
  readProgress,
  saveCampaign,
  saveMetrics,
} from '../store/campaigns.ts';
import { appendStep } from '../store/journal.ts';
import type { ReadyAccount } from '../store/rows.ts';
import type { CampaignDeps } from './campaign.ts';
import { type Comparison, type Difference, listDifferences, listUnlisted, type ManagedCampaign } from './compare.ts';
import { type CampaignSync, presentCampaign } from './contract.ts';
import { type RecordAudit, saveReading, toServing, toSettings, toStatus } from './reading.ts';
import { recordChange } from './record.ts';

export interface SyncDeps extends CampaignDeps {
  readonly platform: CampaignDeps['platform'] & AccountDeps['platform'];
  readonly wake: Pick<WakeUps, 'notify'>;
  /** Called when the platform has a campaign whose launch had already given up. */
  readonly reportUnlisted: (found: {
    readonly app_id: string;
    readonly platform_campaign_id: string;
    readonly status: string;
  }) => void;
}

interface SyncResult {
  readonly added: number;
  readonly updated: number;
  readonly removed: number;
  readonly isTruncated: boolean;
  /** The differences before the sync. */
  readonly differences: readonly Difference[];
}

/** Returns undefined if the platform did not respond. */
async function syncAccount(
  db: Db,
  deps: SyncDeps,
  account: ReadyAccount,
  record: RecordAudit,
  now: Date,
): Promise<SyncResult | undefined> {
  const comparison = await compareAccount(db, deps, account);
  if (comparison === undefined) return undefined;
  const differences = listDifferences(comparison);
  const { updated, removed } = await saveReadings(db, comparison, record, now);
  const unlisted = listUnlisted(comparison);
  const keys = await listKnownKeys(db, account, unlisted);
  let added = 0;
  for (const found of unlisted) if (await adopt(db, deps, { account, found, knownKeys: keys, record }, now)) added += 1;
  await saveSync(db, account, countByKind(differences), now);
  return { added, updated, removed, isTruncated: comparison.isTruncated, differences };
}

/** Returns undefined if the platform did not respond. Campaigns that change during the read are not compared. */
export async function compareAccount(
  db: Db,
  { platform }: Pick<CampaignDeps, 'platform'>,
  account: ReadyAccount,
): Promise<Comparison | undefined> {
  const before = await listProgress(db, account);
  const read = await platform.campaigns.list(account.platform_customer_id);
  if (read.outcome !== 'read') return undefined;
  // Read before the rows. If a launch ends in between, its campaign is either in the rows or still covered by its open
  // key.
  const openKeys = await listOpenLaunchKeys(db, account);
  const after = await listProgress(db, account);
  const seen = (await listAllCampaigns(db, account)).map((row) => {
    const [was, is] = [before.get(row.id), after.get(row.id)];
    const isBusy = was === undefined || was.isBusy || is?.isBusy !== false || is.lastChange !== was.lastChange;
    return { row, progress: { isBusy, isUncertain: is?.isUncertain ?? false, lastChange: was?.lastChange ?? 0 } };
  });
  return { seen, found: read.result.campaigns, isTruncated: read.result.isTruncated, openKeys };
}

async function saveReadings(
  db: Db,
  { seen, found }: Comparison,
  record: RecordAudit,
  now: Date,
): Promise<Pick<SyncResult, 'updated' | 'removed'>> {
  const byId = new Map(found.map((each) => [each.id, each]));
  let [updated, removed] = [0, 0];
  for (const each of seen) {
    const reading = byId.get(each.row.platform_campaign_id);
    if (reading === undefined) continue;
    const saved = await saveReading(db, each, reading, record, now);
    if (!saved?.isAdopted) continue;
    if (saved.row.status === 'REMOVED') removed += 1;
    else updated += 1;
  }
  return { updated, removed };
}

/** Returns false if another process was faster. */
const adopt = (
  db: Db,
  deps: SyncDeps,
  {
    account: { workspace_id, app_id },
    found,
    knownKeys,
    record,
  }: {
    readonly account: ReadyAccount;
    readonly found: ManagedCampaign;
    readonly knownKeys: ReadonlySet<string>;
    readonly record: RecordAudit;
  },
  now: Date,
): Promise<boolean> =>
  transaction(db, async (db) => {
    const isOfLaunch = findLaunchKey(found.name) !== undefined;
    const status = toStatus(found.status) ?? 'PAUSED';
    const row = await insertFoundCampaign(db, {
      ...toSettings(found, {}, knownKeys),
      ...toServing(found),
      id: newId(),
      workspace_id,
      app_id,
      platform_campaign_id: found.id,
      campaign_type: found.type,
      status,
      phone_number: '',
      own_reasons: isOfLaunch && status === 'PAUSED' ? ['SERVICE_LAUNCH_UNCONFIRMED'] : [],
      status_read_at: now,
      first_enabled_at: status === 'ENABLED' ? now : null,
      created_date: now,
      updated_date: now,
    });
    if (row === undefined) return false;
    const detail = isOfLaunch
      ? 'The campaign was found on the platform. Its name ends with a launch key, but it was not listed in Plinth, so it is kept paused.'
      : 'The campaign was found on the platform.';
    await appendStep(db, row, { name: 'adopt', outcome: 'applied', platform_request_id: null, detail }, now);
    const target = { kind: 'ads_campaign', id: row.id };
    const after = { platform_campaign_id: found.id, campaign_name: row.campaign_name, status };
    await record(db, { type: 'ads.campaign.adopted', target, app_id, after });
    if (!isOfLaunch) return true;
    deps.reportUnlisted({ app_id, platform_campaign_id: found.id, status });
    const pause = { kind: 'pause', reasons: ['SERVICE_LAUNCH_UNCONFIRMED'], isByCaller: false } as const;
    if (status === 'ENABLED') await recordChange(db, deps, row, pause, now);
    return true;
  });

const countByKind = (differences: readonly Difference[]): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(differences, ({ kind }) => kind)].map(([kind, list]) => [kind, list.length]));

// ---- for callers

export async function syncCampaigns(
  db: Db,
  deps: SyncDeps,
  access: AppAccess,
  now: Date,
): Promise<Answer<CampaignSync>> {
  const account = await getReadyAccount(db, access);
  const result = await syncAccount(db, deps, account, (db, change) => audit(db, access, change, now), now);
  if (result === undefined) throw platformUnavailable();
  const { added, updated, removed, isTruncated } = result;
  const campaigns = (await listAllCampaigns(db, account)).map(presentCampaign);
  const isSame = added + updated + removed === 0;
  return withNotes(
    { added, updated, removed, campaigns },
    { ...(isTruncated && { truncated: true }), ...(isSame && { changed: false }) },
  );
}

// ---- for workers

const maxPerRun = 20;

/**
 * Syncs due accounts, taking workspaces in turn, and returns their number. An account is due every 15 minutes if it has
 * an enabled campaign, and every hour otherwise, even if it has no campaigns.
 */
export async function syncDueAccounts(db: Db, deps: SyncDeps, now: Date): Promise<number> {
  if (!deps.platform.configured) return 0;
  const accounts = await claimDueAccounts(db, deps.times, maxPerRun, now);
  await Promise.all(accounts.map((account) => syncDue(db, deps, account, now)));
  return accounts.length;
}

async function syncDue(db: Db, deps: SyncDeps, account: ReadyAccount, now: Date): Promise<void> {
  const { status, isCurrent } = await readStatus(db, deps, account, now);
  const record: RecordAudit = (db, change) => auditService(db, account.workspace_id, change, now);
  // For a closed account, the platform returns nothing and shows no ads.
  if (status === 'CLOSED') return isCurrent ? recordClosed(db, account, record, now) : undefined;
  const result = await syncAccount(db, deps, account, record, now);
  if (result === undefined) return;
  const metrics = await deps.platform.campaigns.readMetrics(account.platform_customer_id);
  if (metrics.outcome === 'read') await saveMetrics(db, account, metrics.result, now);
}

/**
 * Marks the account's campaigns as not serving. If the account is reopened, the next sync restores the platform's
 * values.
 */
async function recordClosed(db: Db, account: ReadyAccount, record: RecordAudit, now: Date): Promise<void> {
  for (const { id, workspace_id, app_id, status, watched_until } of await listAllCampaigns(db, account))
    if (status === 'ENABLED' || watched_until !== null)
      await transaction(db, async (db) => {
        const row = await lockCampaign(db, { workspace_id, app_id, id });
        if (row === undefined || (await readProgress(db, row)).isBusy) return;
        const after = { status: row.status === 'ENABLED' ? 'PAUSED' : row.status, serving_status: 'ENDED' } as const;
        await saveCampaign(db, row, { ...after, watched_until: null, updated_date: now });
        if (row.status === after.status) return;
        const step = { name: 'adopt', outcome: 'applied', platform_request_id: null, detail: accountClosed } as const;
        await appendStep(db, row, step, now);
        const before = { status: row.status, serving_status: row.serving_status };
        const target = { kind: 'ads_campaign', id };
        await record(db, { type: 'ads.campaign.adopted', target, app_id, before, after });
      });
  await saveSync(db, account, {}, now);
}
