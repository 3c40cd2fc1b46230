// Enables campaigns that are waiting only for verified tracking, and sends the mails about it.
import type { AppRow } from '../../../core/auth/proofs.ts';
import { warnOwnerAnd } from '../../../core/identity/warnings.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { RecordAudit } from '../campaigns/reading.ts';
import { addChange, type RecordDeps, type RecordedChange, type WaitDeps, waitForChange } from '../campaigns/record.ts';
import { findLaunchOfCampaign, listWaitingForTracking, lockCampaign, readProgress } from '../store/campaigns.ts';
import { lockAppOf } from '../store/changes.ts';
import type { CampaignKey, CampaignRow } from '../store/rows.ts';

export type EnableDeps = RecordDeps & WaitDeps;

/** Marks the change that enables a campaign, so a mail is sent when it is complete. */
export const trackingVerified = { cause: 'tracking_verified' } as const;

/** Records resumes for the waiting campaigns. Skips campaigns that are on billing hold or paused for another reason. */
export async function enableWaiting(
  db: Db,
  deps: RecordDeps,
  { id: app_id, workspace_id }: AppRow,
  record: RecordAudit,
  now: Date,
): Promise<RecordedChange[]> {
  const waiting = await listWaitingForTracking(db, { workspace_id, app_id });
  const recorded: RecordedChange[] = [];
  for (const key of waiting) {
    const change = await enable(db, deps, key, record, now);
    if (change !== undefined) recorded.push(change);
  }
  return recorded;
}

/** Undefined if the campaign has been paused or changed in the meantime. */
const enable = (
  db: Db,
  deps: RecordDeps,
  key: CampaignKey,
  record: RecordAudit,
  now: Date,
): Promise<RecordedChange | undefined> =>
  transaction(db, async (db) => {
    const app = await lockAppOf(db, key);
    const campaign = await lockCampaign(db, key);
    if (app === undefined || app.isGone || campaign === undefined || !isWaiting(campaign)) return undefined;
    if ((await readProgress(db, key)).isBusy) return undefined;
    const target = { kind: 'ads_campaign', id: key.id };
    await record(db, { type: 'ads.campaign.resume_requested', target, app_id: key.app_id, after: trackingVerified });
    return addChange(db, deps, campaign, { kind: 'resume', content: trackingVerified, isByCaller: false }, now);
  });

const isWaiting = ({ status, own_reasons }: CampaignRow): boolean =>
  status === 'PAUSED' && own_reasons.join() === 'SERVICE_TRACKING_PENDING';

export interface Enabled {
  /** The campaigns that the platform has confirmed as enabled. */
  readonly ids: string[];
  readonly isComplete: boolean;
}

export async function waitForEnabled(db: Db, deps: WaitDeps, recorded: readonly RecordedChange[]): Promise<Enabled> {
  const ended = await Promise.all(recorded.map((each) => waitForChange(db, deps, each)));
  const ids = ended.flatMap((change) => (change?.state === 'applied' ? [change.campaign_id] : []));
  return { ids, isComplete: ended.every((change) => change === undefined || change.ended_date !== null) };
}

/**
 * Mails the app's owner and the user who launched the campaign. Runs in the transaction that records the campaign as
 * enabled.
 */
export async function mailEnabled(db: Db, campaign: CampaignRow, now: Date): Promise<void> {
  const { workspace_id, app_id, campaign_name } = campaign;
  const launch = await findLaunchOfCampaign(db, campaign);
  const body = `The campaign "${campaign_name}" was paused until its app's conversion tracking was verified.

Tracking is now verified, and the ad platform has confirmed that the campaign is enabled. From now on, it can spend up to its daily budget.

To pause the campaign, call pauseCampaign. To pause all of the app's campaigns, call pauseAllCampaigns.
`;
  const subject = `The campaign "${campaign_name}" is now enabled`;
  await warnOwnerAnd(db, { workspace_id, app_id, subject, body }, launch?.user_id ?? null, now);
}

/** Running campaigns are not paused when tracking is no longer verified. */
export async function mailUnverified(db: Db, { id: app_id, workspace_id, name }: AppRow, now: Date): Promise<void> {
  const body = `Conversion tracking for the app "${name}" was verified earlier, but the latest check failed. This does not pause the app's campaigns, but their conversions may not be counted.

To see what is missing, call scanTracking and verifyTracking. To reinstall the tag, call buildBootstrapPrompt.
`;
  const subject = `Conversions in the app "${name}" may not be counted`;
  await warnOwnerAnd(db, { workspace_id, app_id, subject, body }, null, now);
}
