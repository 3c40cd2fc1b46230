// Owns the campaigns whose last request had no answer: it may still be applied, after a later one. Their status is compared every few
// seconds, and what was asked for last is asked for again.
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import { endWatch, lockCampaign, readProgress, takeWatched, type WatchedCampaign } from '../store/campaigns.ts';
import { lockAppOf } from '../store/changes.ts';
import { appendStep } from '../store/journal.ts';
import type { CampaignRow, OwnReason } from './contract.ts';
import { toStatus } from './reading.ts';
import { recordChange } from './record.ts';
import type { SyncDeps } from './sync.ts';

const maxPerRun = 100;
/** Others wait for the platform too. */
const maxReads = 8;
/** A campaign that could not be read for so long after its watch has ended is not watched any more. */
const maxOverdueMs = 60 * 60_000;

/** Always 0: they are compared at the next interval again. */
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
    await askAgain(db, deps, campaign, lastChange, status, now);
  // Only after a reading that was later than any request could arrive, and that found what our row has.
  else if (watched_until <= now) await endWatch(db, campaign);
}

/** Unless somebody has asked for something else meanwhile, or the campaign must not be enabled any more. */
const askAgain = (
  db: Db,
  deps: SyncDeps,
  campaign: WatchedCampaign,
  lastChange: number,
  found: CampaignRow['status'],
  now: Date,
): Promise<void> =>
  transaction(db, async (db) => {
    await lockAppOf(db, campaign); // as whoever records a change
    const row = await lockCampaign(db, campaign);
    const progress = await readProgress(db, campaign);
    // A change may have ended since the campaigns were listed, and before this one was read.
    if (row?.status !== campaign.status || progress.isBusy || progress.lastChange !== lastChange) return;
    const kind = row.status === 'ENABLED' ? 'resume' : 'pause';
    const change = { kind, reasons: row.own_reasons as OwnReason[], isByCaller: false } as const;
    if ((await recordChange(db, deps, row, change, now)) === undefined) return;
    const detail = `An earlier request was late: the platform has ${found}. ${row.status} is asked for again.`;
    await appendStep(db, row, { name: 'read_status', outcome: 'applied', platform_request_id: null, detail }, now);
  });
