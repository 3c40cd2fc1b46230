// Owns what follows when the platform was read for a campaign: our row then shows what the platform has. What somebody asked for
// meanwhile is newer than the reading and stays as it is.
import type { AuditedChange } from '../../../core/audit/audit.ts';
import type { PlatformCampaign } from '../../../gateways/ad-platform/campaign.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import {
  type CampaignRowChange,
  listKnownKeys,
  lockCampaign,
  type Progress,
  readProgress,
  saveCampaign,
} from '../store/campaigns.ts';
import { freeDraft } from '../store/changes.ts';
import { appendStep } from '../store/journal.ts';
import { type CampaignRow, campaignStatuses } from './contract.ts';
import { toCampaignName } from './name.ts';

/** Writes the audit entry: by the caller who asked for it, or by the service. */
export type RecordAudit = (db: Db, change: AuditedChange) => Promise<void>;

/** A campaign as it was before the platform was read. */
export interface SeenCampaign {
  readonly row: CampaignRow;
  readonly progress: Progress;
}

/** Undefined for a word that we don't know. */
export const toStatus = (word: string): CampaignRow['status'] | undefined =>
  campaignStatuses.find((status) => status === word);

/** What changes without anybody's doing. */
export const toServing = (found: PlatformCampaign) => ({
  review_status: found.reviewStatus,
  serving_status: found.servingStatus,
  primary_status: found.primaryStatus,
  platform_reasons: [...found.primaryStatusReasons],
});

/** What somebody has set. Locations have no order, so that ours is kept. */
export const toSettings = (found: PlatformCampaign, row: Partial<CampaignRow>, launchKeys: ReadonlySet<string>) => ({
  campaign_name: toCampaignName(found.name, launchKeys),
  daily_budget_micros: found.dailyBudgetMicros,
  landing_page: found.landingPage === '' ? (row.landing_page ?? '') : found.landingPage,
  geo_targets: keepOrder(row.geo_targets ?? [], found.locations),
  excluded_geo_targets: keepOrder(row.excluded_geo_targets ?? [], found.excludedLocations),
});

const keepOrder = (ours: string[], theirs: readonly string[]): string[] =>
  ours.length === theirs.length && ours.every((each) => theirs.includes(each)) ? ours : [...theirs];

export interface SavedReading {
  readonly row: CampaignRow;
  /** The status or a setting was not what we had, and is now. */
  readonly isAdopted: boolean;
}

/**
 * Saves what was read. If a change was recorded or has ended since `seen`, the reading may be older than it, and nothing is saved. If
 * the launch or a change has not ended, only how the campaign is served is. While a late request may still arrive, the status is not
 * adopted either: the last thing asked for wins (watch.ts). Undefined: the campaign is gone.
 */
export const saveReading = (
  db: Db,
  { row: { workspace_id, app_id, id }, progress }: SeenCampaign,
  found: PlatformCampaign,
  record: RecordAudit,
  now: Date,
): Promise<SavedReading | undefined> =>
  transaction(db, async (db) => {
    const key = { workspace_id, app_id, id };
    const row = await lockCampaign(db, key);
    if (row === undefined) return undefined;
    const present = await readProgress(db, key);
    if (present.isBusy !== progress.isBusy || present.lastChange !== progress.lastChange)
      return { row, isAdopted: false };
    const read = { ...toServing(found), status_read_at: now };
    if (present.isBusy) return { row: (await saveCampaign(db, key, read)) ?? row, isAdopted: false };
    const settings = toSettings(found, row, await listKnownKeys(db, row, [found]));
    const isWatched = row.watched_until !== null; // until the watch has read it once more, after that time
    const difference = listDifference(row, { ...settings, ...(isWatched ? {} : toOwnState(row, found, now)) });
    if (Object.keys(difference).length === 0)
      return { row: (await saveCampaign(db, key, read)) ?? row, isAdopted: false };
    const saved = await saveCampaign(db, key, { ...read, ...difference, updated_date: now });
    if (difference.status === 'REMOVED') await freeDraft(db, row);
    await recordAdoption(db, row, difference, record, now);
    return { row: saved ?? row, isAdopted: true };
  });

/** What keeps a campaign paused no longer does, if somebody has enabled or removed it at the platform. */
function toOwnState(row: CampaignRow, found: PlatformCampaign, now: Date): CampaignRowChange {
  const status = toStatus(found.status) ?? row.status;
  return {
    status,
    own_reasons: status === 'PAUSED' ? row.own_reasons : [],
    first_enabled_at: status === 'ENABLED' ? (row.first_enabled_at ?? now) : row.first_enabled_at,
  };
}

function listDifference(row: CampaignRow, read: CampaignRowChange): CampaignRowChange {
  const changed = Object.entries(read).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(row[field as keyof CampaignRow]),
  );
  return Object.fromEntries(changed);
}

async function recordAdoption(
  db: Db,
  row: CampaignRow,
  after: CampaignRowChange,
  record: RecordAudit,
  now: Date,
): Promise<void> {
  const fields = Object.keys(after);
  const before = Object.fromEntries(fields.map((field) => [field, row[field as keyof CampaignRow]]));
  const detail = `The platform had other values than Plinth: ${fields.join(', ')}. Plinth shows them from now on.`;
  await appendStep(db, row, { name: 'adopt', outcome: 'applied', platform_request_id: null, detail }, now);
  const target = { kind: 'ads_campaign', id: row.id };
  await record(db, { type: 'ads.campaign.adopted', target, app_id: row.app_id, before, after });
}
