// Reads campaigns: the list with its metrics, and a single campaign with its live statuses.
import { auditService } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { PlatformCampaigns } from '../../../gateways/ad-platform/campaign.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import type { Cursors } from '../../../kit/http/cursor.ts';
import type { Db } from '../../../tables.ts';
import { findAccount } from '../store/accounts.ts';
import { listCampaigns, readProgress, saveMetrics } from '../store/campaigns.ts';
import type { CampaignRow } from '../store/rows.ts';
import type { AdsTimes } from '../times.ts';
import {
  type Campaign,
  type CampaignListQuery,
  type ListedCampaign,
  presentCampaign,
  presentListed,
} from './contract.ts';
import { saveReading } from './reading.ts';

export interface CampaignDeps {
  readonly platform: { readonly campaigns: PlatformCampaigns };
  readonly cursors: Cursors;
  readonly times: AdsTimes;
}

export type CampaignAccess = AppAccess & { readonly campaign: CampaignRow };

/** Returns the platform's current statuses, or the last known ones if the platform does not respond in time. */
export async function getCampaign(
  db: Db,
  { platform, times }: CampaignDeps,
  access: CampaignAccess,
  now: Date,
): Promise<Answer<Campaign>> {
  const { campaign: row } = access;
  if (row.status === 'REMOVED') return withNotes(presentCampaign(row), {}); // a removal is final
  const customerId = (await findAccount(db, access))?.platform_customer_id ?? null;
  const progress = await readProgress(db, row);
  const read =
    customerId === null || row.platform_campaign_id === ''
      ? undefined
      : await platform.campaigns.read(customerId, row.platform_campaign_id, times.liveReadMs);
  if (read?.outcome !== 'read' || read.result === null)
    return withNotes(presentCampaign(row), { partial: ['live_status'], asOf: readAt(row) });
  const saved = await saveReading(
    db,
    { row, progress },
    read.result,
    (db, change) => auditService(db, row.workspace_id, change, now),
    now,
  );
  return withNotes(presentCampaign(saved?.row ?? row), {});
}

const readAt = (row: CampaignRow): Date => row.status_read_at ?? row.updated_date;

/** Lists campaigns, newest first, including removed and unconfirmed ones. */
export async function listAppCampaigns(
  db: Db,
  deps: CampaignDeps,
  access: AppAccess,
  query: CampaignListQuery,
  now: Date,
) {
  const { limit, cursor, include_metrics } = query;
  const binding = ['listCampaigns', access.app.id, access.caller.credential_id];
  const after = deps.cursors.open(cursor, binding, now);
  const rows = await listCampaigns(db, access, limit, after);
  const read = include_metrics ? await refreshMetrics(db, deps, access, rows, now) : undefined;
  const present = (row: CampaignRow): ListedCampaign => presentListed(row, include_metrics);
  const page = deps.cursors.page(read?.rows ?? rows, limit, binding, now, present, ({ created_date, id }) => [
    created_date.toISOString(),
    id,
  ]);
  const asOf = findOldestReading(rows.slice(0, limit));
  return withNotes(page, { ...(asOf && { asOf }), ...(read?.isCurrent === false && { partial: ['metrics'] }) });
}

/** The time of the oldest status. A background job reads statuses from the platform every few minutes (sync.ts). */
function findOldestReading(rows: readonly CampaignRow[]): Date | undefined {
  const times = rows.filter(({ status }) => status !== 'REMOVED').map(readAt);
  return times.toSorted((one, other) => one.getTime() - other.getTime())[0];
}

/**
 * Refreshes the metrics, even for removed campaigns, because their costs remain. `isCurrent` is false if the platform
 * did not respond.
 */
async function refreshMetrics(
  db: Db,
  { platform }: CampaignDeps,
  access: AppAccess,
  rows: readonly CampaignRow[],
  now: Date,
): Promise<{ readonly rows: readonly CampaignRow[]; readonly isCurrent: boolean }> {
  const customerId = (await findAccount(db, access))?.platform_customer_id ?? null;
  if (customerId === null || rows.every(({ platform_campaign_id }) => platform_campaign_id === ''))
    return { rows, isCurrent: true };
  const read = await platform.campaigns.readMetrics(customerId);
  if (read.outcome !== 'read') return { rows, isCurrent: false };
  const { id: app_id, workspace_id } = access.app;
  const saved = await saveMetrics(db, { workspace_id, app_id }, read.result, now);
  return { rows: rows.map((row) => ({ ...row, ...saved.get(row.id) })), isCurrent: true };
}
