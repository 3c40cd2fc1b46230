// Watches campaigns whose last request got no response. The platform may apply that request after a later one, so a job
// compares the campaigns' status every few seconds and resends the latest requested change if needed.
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import { endWatch, lockCampaign, readProgress, takeWatched, type WatchedCampaign } from '../store/campaigns.ts';
import { lockAppOf } from '../store/changes.ts';
import { appendStep } from '../store/journal.ts';
import type { CampaignRow } from '../store/rows.ts';
import type { OwnReason } from './contract.ts';
import { toStatus } from './reading.ts';
import { recordChange } from './record.ts';
import type { SyncDeps } from './sync.ts';

const maxPerRun = 100;
/** Limited, because other work also needs the platform. */
const maxReads = 8;
/** A watch that is overdue by this much ends even if the campaign still can't be read. */
const maxOverdueMs = 60 * 60_000;

/** Always returns 0, so the campaigns are compared again at the next interval. */
export async function watchCampaigns(db: Db, deps: SyncDeps, now: Date): Promise<0> {
  const watched = (await takeWatched(db, maxPerRun)).values();
  const compareNext = async () => {
    for (const campaign of watched) await compareWatched(db, deps, campaign, now);
  };
  await Promise.all(Array.from({ length: maxReads }, compareNext));
  return 0;
}

async function compareWatched(db: Db, deps: SyncDeps, campaign: WatchedCampaign, now: Date): Promise<void> {
  const { isBusy, lastChange } = await readProgress(db, campaign);
  if (isBusy) return;
  const { customer_id, platform_campaign_id, watched_until } = campaign;
  const read = await deps.platform.campaigns.read(customer_id, platform_campaign_id, deps.times.liveReadMs);
  if (read.outcome !== 'read') {
    if (watched_until.getTime() < now.getTime() - maxOverdueMs) await endWatch(db, campaign);
    return;
  }
  const status = read.result === null ? undefined : toStatus(read.result.status);
  if (status !== undefined && status !== campaign.status && status !== 'REMOVED')
    await askAgain(db, deps, { campaign, lastChange, found: status }, now);
  // The watch ends only when a read matches our row and is so late that no earlier request can still arrive.
  else if (watched_until <= now) await endWatch(db, campaign);
}

/** Does nothing if there is a newer change or the campaign may no longer be enabled. */
const askAgain = (
  db: Db,
  deps: SyncDeps,
  {
    campaign,
    lastChange,
    found,
  }: { readonly campaign: WatchedCampaign; readonly lastChange: number; readonly found: CampaignRow['status'] },
  now: Date,
): Promise<void> =>
  transaction(db, async (db) => {
    await lockAppOf(db, campaign); // every change locks in this order
    const row = await lockCampaign(db, campaign);
    const progress = await readProgress(db, campaign);
    // A change may have ended between listing the campaigns and reading this one.
    if (row?.status !== campaign.status || progress.isBusy || progress.lastChange !== lastChange) return;
    const kind = row.status === 'ENABLED' ? 'resume' : 'pause';
    const change = { kind, reasons: row.own_reasons as OwnReason[], isByCaller: false } as const;
    if ((await recordChange(db, deps, row, change, now)) === undefined) return;
    const detail = `An earlier request took effect late, so the campaign is ${found} on the platform. Plinth is setting it to ${row.status} again.`;
    await appendStep(db, row, { name: 'read_status', outcome: 'applied', platform_request_id: null, detail }, now);
  });
