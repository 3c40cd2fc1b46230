// Owns enabling the campaigns that wait only for their tracking to be verified, and telling people about it.
import type { AppRow } from '../../../core/auth/proofs.ts';
import { warnOwnerAnd } from '../../../core/identity/warnings.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { CampaignKey, CampaignRow } from '../campaigns/contract.ts';
import type { RecordAudit } from '../campaigns/reading.ts';
import { addChange, type RecordDeps, type RecordedChange, type WaitDeps, waitForChange } from '../campaigns/record.ts';
import { findLaunchOfCampaign, listWaitingForTracking, lockCampaign, readProgress } from '../store/campaigns.ts';
import { lockAppOf } from '../store/changes.ts';

export type EnableDeps = RecordDeps & WaitDeps;

/** Part of the change that enables a campaign, by which its end is announced. */
export const trackingVerified = { cause: 'tracking_verified' } as const;

/** Records that they are to be enabled. Not those that somebody else keeps paused, or on billing hold. */
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

/** Undefined: somebody has paused or changed it meanwhile. */
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
  /** Those that the platform has confirmed. */
  readonly ids: string[];
  readonly isComplete: boolean;
}

export async function waitForEnabled(db: Db, deps: WaitDeps, recorded: readonly RecordedChange[]): Promise<Enabled> {
  const ended = await Promise.all(recorded.map((each) => waitForChange(db, deps, each)));
  const ids = ended.flatMap((change) => (change?.state === 'applied' ? [change.campaign_id] : []));
  return { ids, isComplete: ended.every((change) => change === undefined || change.ended_date !== null) };
}

/** To the owner of the app, and to whoever launched the campaign. In the transaction in which it is known to be enabled. */
export async function mailEnabled(db: Db, campaign: CampaignRow, now: Date): Promise<void> {
  const { workspace_id, app_id, campaign_name } = campaign;
  const launch = await findLaunchOfCampaign(db, campaign);
  const body = `The campaign "${campaign_name}" was paused until the conversion tracking of its app is verified.

It is verified now, and the ad platform has confirmed that the campaign is enabled. It spends up to its daily budget from now on.

To stop it, pause it: pauseCampaign, or pauseAllCampaigns for all campaigns of the app.
`;
  const subject = `The campaign "${campaign_name}" is enabled`;
  await warnOwnerAnd(db, { workspace_id, app_id, subject, body }, launch?.user_id ?? null, now);
}

/** A running campaign is not paused because of it. */
export async function mailUnverified(db: Db, { id: app_id, workspace_id, name }: AppRow, now: Date): Promise<void> {
  const body = `The conversion tracking of the app "${name}" was verified before, and a later check has failed. Its campaigns go on as they are, but their conversions may not be counted.

To see what is missing, call scanTracking and verifyTracking. To install the tag again, call buildBootstrapPrompt.
`;
  const subject = `Conversions of the app "${name}" may not be counted`;
  await warnOwnerAnd(db, { workspace_id, app_id, subject, body }, null, now);
}
