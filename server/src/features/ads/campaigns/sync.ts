// Owns comparing all campaigns of an account with the platform: our rows then show what it has, and what we did not list is listed.
// A campaign that bears a launch key without a row was created by a launch that had given up. It must not spend: it is paused.
import { audit, auditService } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { newId } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import { type AccountDeps, getReadyAccount, platformUnavailable, readStatus } from '../accounts/account.ts';
import { accountClosed } from '../accounts/closed.ts';
import type { ReadyAccount } from '../accounts/contract.ts';
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
import type { CampaignDeps } from './campaign.ts';
import { type Comparison, type Difference, listDifferences, listUnlisted, type ManagedCampaign } from './compare.ts';
import { type CampaignSync, presentCampaign } from './contract.ts';
import { findLaunchKey } from './name.ts';
import { type RecordAudit, saveReading, toServing, toSettings, toStatus } from './reading.ts';
import { recordChange } from './record.ts';

export interface SyncDeps extends CampaignDeps {
  readonly platform: CampaignDeps['platform'] & AccountDeps['platform'];
  readonly wake: Pick<WakeUps, 'notify'>;
  /** A campaign of a launch that had given up was found at the platform. */
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
  /** As it was before. */
  readonly differences: readonly Difference[];
}

/** Undefined: the platform did not answer. */
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
  for (const found of unlisted) if (await adopt(db, deps, account, found, keys, record, now)) added += 1;
  await saveSync(db, account, countByKind(differences), now);
  return { added, updated, removed, isTruncated: comparison.isTruncated, differences };
}

/** Undefined: the platform did not answer. What changed while it was asked is not compared. */
export async function compareAccount(
  db: Db,
  { platform }: Pick<CampaignDeps, 'platform'>,
  account: ReadyAccount,
): Promise<Comparison | undefined> {
  const before = await listProgress(db, account);
  const read = await platform.campaigns.list(account.platform_customer_id);
  if (read.outcome !== 'read') return undefined;
  // Before the rows are read: what a launch has found that ends in between is then listed, or still its own.
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

/** False: another process was faster. */
const adopt = (
  db: Db,
  deps: SyncDeps,
  { workspace_id, app_id }: ReadyAccount,
  found: ManagedCampaign,
  knownKeys: ReadonlySet<string>,
  record: RecordAudit,
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
      ? 'The campaign was found at the platform. It bears a launch key and was not listed, so that it is paused.'
      : 'The campaign was found at the platform.';
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

// ---- by a caller

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
  return withNotes({ added, updated, removed, campaigns }, isTruncated ? { truncated: true } : {});
}

// ---- by a worker

const maxPerRun = 20;

/**
 * The accounts that are due, workspaces by turns: every 15 minutes if a campaign is enabled, every hour otherwise, and the accounts
 * without campaigns too. Returns how many.
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
  // The platform answers nothing about a closed account, and nothing in it is served.
  if (status === 'CLOSED') return isCurrent ? recordClosed(db, account, record, now) : undefined;
  const result = await syncAccount(db, deps, account, record, now);
  if (result === undefined) return;
  const metrics = await deps.platform.campaigns.readMetrics(account.platform_customer_id);
  if (metrics.outcome === 'read') await saveMetrics(db, account, metrics.result, now);
}

/** Our rows show that nothing is served. If the account is opened again, they show what the platform then has. */
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
