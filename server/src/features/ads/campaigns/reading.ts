// Saves a campaign as read from the platform. Our row takes the platform's values, unless a newer change was
// requested during the read.
import type { AuditedChange } from '../../../core/audit/audit.ts';
import type { PlatformCampaign } from '../../../gateways/ad-platform/campaign.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import { toCampaignName } from '../rules/name.ts';
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
import type { CampaignRow } from '../store/rows.ts';
import { campaignStatuses } from './contract.ts';

/** Writes the audit entry, either as the caller or as the service. */
export type RecordAudit = (db: Db, change: AuditedChange) => Promise<void>;

/** A campaign as it was before the read. */
export interface SeenCampaign {
  readonly row: CampaignRow;
  readonly progress: Progress;
}

/** Undefined for an unknown status word. */
export const toStatus = (word: string): CampaignRow['status'] | undefined =>
  campaignStatuses.find((status) => status === word);

/** The fields that the platform changes on its own. */
export const toServing = (found: PlatformCampaign) => ({
  review_status: found.reviewStatus,
  serving_status: found.servingStatus,
  primary_status: found.primaryStatus,
  platform_reasons: [...found.primaryStatusReasons],
});

/** The settings that users control. Locations have no order, so our order is kept. */
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
  /** Whether the platform's status or a setting differed and was copied to our row. */
  readonly isAdopted: boolean;
}

/**
 * Saves a reading. Nothing is saved if a change has been recorded or has ended since `seen`, because the reading may
 * predate that change. Only the serving state is saved while the launch or a change is open. While a late request may
 * still arrive, the status is not adopted, because the latest requested change wins (watch.ts). Returns undefined if
 * the campaign no longer exists.
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
    const isWatched = row.watched_until !== null; // cleared by the watch's first read after that time
    const difference = listDifference(row, { ...settings, ...(isWatched ? {} : toOwnState(row, found, now)) });
    if (Object.keys(difference).length === 0)
      return { row: (await saveCampaign(db, key, read)) ?? row, isAdopted: false };
    const saved = await saveCampaign(db, key, { ...read, ...difference, updated_date: now });
    if (difference.status === 'REMOVED') await freeDraft(db, row);
    await recordAdoption(db, row, difference, record, now);
    return { row: saved ?? row, isAdopted: true };
  });

/** Plinth's own reasons for a pause no longer apply once the campaign has been enabled or removed on the platform. */
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
  const detail = `Some values on the platform differed from Plinth's: ${fields.join(', ')}. Plinth now shows the platform's values.`;
  await appendStep(db, row, { name: 'adopt', outcome: 'applied', platform_request_id: null, detail }, now);
  const target = { kind: 'ads_campaign', id: row.id };
  await record(db, { type: 'ads.campaign.adopted', target, app_id: row.app_id, before, after });
}
