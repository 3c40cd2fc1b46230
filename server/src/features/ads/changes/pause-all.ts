// Pauses several campaigns together. Each campaign gets its own change, and workers send the changes in parallel.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { type CampaignAccess, findProblem } from '../campaigns/change.ts';
import { type RecordedChange, type WaitDeps, waitForChange } from '../campaigns/record.ts';
import { listAllCampaigns } from '../store/campaigns.ts';
import type { CampaignRow } from '../store/rows.ts';
import type { PausedCampaigns } from './contract.ts';
import { askForPause, type ChangeDeps, isPausedAtPlatform } from './status.ts';

/**
 * Campaigns waiting for tracking are paused too, because they would be enabled later. Enabled campaigns are paused
 * first. The others are then read from the platform in parallel.
 */
export async function pauseAllCampaigns(
  db: Db,
  deps: ChangeDeps,
  access: AppAccess,
  now: Date,
): Promise<Answer<PausedCampaigns>> {
  const waitsUntil = performance.now() + deps.times.callerWaitMs;
  const { id: app_id, workspace_id } = access.app;
  const campaigns = await listAllCampaigns(db, { workspace_id, app_id });
  const pauses: Pause[] = [];
  for (const campaign of campaigns.filter(({ status }) => status === 'ENABLED'))
    pauses.push(await startPause(db, deps, { ...access, campaign }, false, now));
  const paused = campaigns.filter(({ status }) => status === 'PAUSED');
  const arePaused = await Promise.all(paused.map((campaign) => isPausedAtPlatform(db, deps, campaign)));
  for (const [at, campaign] of paused.entries())
    pauses.push(await startPause(db, deps, { ...access, campaign }, arePaused[at] === true, now));
  const tried = pauses.filter(({ isChanged }) => isChanged);
  const failed = await listUnconfirmed(db, deps, tried, waitsUntil);
  const body = {
    status: failed.length === 0 ? ('paused' as const) : ('partial' as const),
    paused: tried.length - failed.length,
    tried: tried.length,
    failed,
  };
  return withNotes(body, tried.length === 0 ? { changed: false } : {});
}

interface Pause {
  readonly campaign: CampaignRow;
  readonly isChanged: boolean;
  /** The change to wait for, if any. */
  readonly recorded?: RecordedChange;
}

async function startPause(
  db: Db,
  deps: ChangeDeps,
  access: CampaignAccess,
  isPausedNow: boolean,
  now: Date,
): Promise<Pause> {
  const { campaign } = access;
  try {
    const { isChanged, asked } = await askForPause(db, deps, access, isPausedNow, now);
    if (asked === undefined || asked.isUnconfirmed) return { campaign, isChanged };
    return { campaign, isChanged, recorded: asked.recorded };
  } catch (error) {
    // The campaign was removed in the meantime, or its launch ended without creating it.
    if (isGone(error)) return { campaign, isChanged: false };
    throw error;
  }
}

const isGone = (error: unknown): boolean =>
  error instanceof Problem && (error.code === 'campaign_removed' || error.code === 'campaign_not_found');

/** Waits for all pauses, with a shared time limit. */
export async function listUnconfirmed(
  db: Db,
  deps: WaitDeps,
  pauses: readonly Pick<Pause, 'campaign' | 'recorded'>[],
  waitsUntil = performance.now() + deps.times.callerWaitMs,
): Promise<{ campaign_id: string; code: string }[]> {
  const failed: { campaign_id: string; code: string }[] = [];
  for (const { campaign, recorded } of pauses) {
    if (recorded === undefined) continue;
    const problem = findProblem(await waitForChange(db, deps, recorded, waitsUntil), campaign);
    if (problem !== undefined && !isGone(problem)) failed.push({ campaign_id: campaign.id, code: problem.code });
  }
  return failed;
}
