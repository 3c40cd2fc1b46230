// Owns pausing, resuming and deleting campaigns, as callers ask for it (docs/api/ads.md#changing-campaigns). What is asked for is
// recorded, a worker sends it, and the caller waits until the platform has confirmed it.
import { audit } from '../../../core/audit/audit.ts';
import type { AuditType } from '../../../core/audit/types.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, unchanged, withNotes } from '../../../kit/http/answer.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { platformUnavailable } from '../accounts/account.ts';
import {
  type AboutCampaign,
  accountBillingHold,
  accountNotActive,
  campaignRemoved,
  changeNotConfirmed,
  changeNotSent,
  changeReplaced,
  launchInProgress,
  paymentMethodRequired,
  paymentProviderUnavailable,
  trackingNotVerified,
  workspaceBillingHold,
} from '../problems.ts';
import { type ReadinessDeps, readAccountState } from '../readiness/readiness.ts';
import { findAccount } from '../store/accounts.ts';
import { lockCampaign } from '../store/campaigns.ts';
import { type ChangeRow, findCustomerId, findOpenLaunch, listUnfinishedChanges, lockAppOf } from '../store/changes.ts';
import { readTrackingVerified } from '../store/tracking.ts';
import type { CampaignRow } from './contract.ts';
import type { KindDeps } from './kinds.ts';
import {
  addChange,
  addReasons,
  isStatusChange,
  type NewChange,
  type RecordDeps,
  type RecordedChange,
  type WaitDeps,
  waitForChange,
} from './record.ts';

export type ChangeDeps = Omit<ReadinessDeps, 'wake'> & RecordDeps & WaitDeps & KindDeps;
export type CampaignAccess = AppAccess & { readonly campaign: CampaignRow };

const pausedByUser = 'SERVICE_PAUSED_BY_USER';

// ---- pausing

/** What pauseCampaign does. Undefined: nothing had to be changed. */
export interface ChangeRequest {
  readonly recorded: RecordedChange;
  /** It is carried out once the launch has ended, which enables nothing meanwhile. */
  readonly isUnconfirmed: boolean;
}

export async function pauseCampaign(
  db: Db,
  deps: ChangeDeps,
  access: CampaignAccess,
  now: Date,
): Promise<Answer<{ status: 'paused' }>> {
  const isPausedNow = await isPausedAtPlatform(db, deps, access.campaign);
  const { isChanged, asked } = await askForPause(db, deps, access, isPausedNow, now);
  if (asked !== undefined && !asked.isUnconfirmed) await confirm(db, deps, asked.recorded, access.campaign);
  return withNotes({ status: 'paused' }, isChanged ? {} : { changed: false });
}

export const isPausedAtPlatform = (db: Db, deps: ChangeDeps, campaign: CampaignRow): Promise<boolean> =>
  hasStatusNow(db, deps, campaign, 'PAUSED');

/** A campaign that the platform says is paused needs no request, only the reason. */
export const askForPause = (
  db: Db,
  deps: ChangeDeps,
  access: CampaignAccess,
  isPausedNow: boolean,
  now: Date,
): Promise<{ readonly isChanged: boolean; readonly asked?: ChangeRequest }> =>
  transaction(db, async (db) => {
    const campaign = await lockForChange(db, access);
    if (campaign.status === 'REMOVED') throw campaignRemoved();
    const isUnconfirmed = (await findOpenLaunch(db, campaign)) !== undefined;
    if (isPausedNow && !isUnconfirmed && (await isSettled(db, campaign, 'PAUSED'))) {
      if (campaign.own_reasons.includes(pausedByUser)) return { isChanged: false };
      await addReasons(db, campaign, [pausedByUser], now);
      await writeEntry(db, access, 'ads.campaign.pause_requested', now);
      return { isChanged: true };
    }
    requirePlatform(deps);
    const change: NewChange = { kind: 'pause', reasons: [pausedByUser], isByCaller: true };
    const recorded = await addChange(db, deps, campaign, change, now);
    if (recorded.isNew) await writeEntry(db, access, 'ads.campaign.pause_requested', now);
    // Who joins a pause that has not ended waits for the same change.
    return { isChanged: recorded.isNew || !isUnconfirmed, asked: { recorded, isUnconfirmed } };
  });

// ---- resuming

/** Refuses in this order: the campaign, payment, the payment provider, holds, tracking, the ad platform. */
export async function resumeCampaign(
  db: Db,
  deps: ChangeDeps,
  access: CampaignAccess,
  now: Date,
): Promise<Answer<{ status: 'resumed' }>> {
  await requireChangeable(db, access.campaign);
  await requirePayment(db, deps, access, now);
  const isEnabledNow = await hasStatusNow(db, deps, access.campaign, 'ENABLED');
  if (!isEnabledNow && !(await readTrackingVerified(db, access))) throw trackingNotVerified(describe(access.campaign));
  const recorded = await transaction(db, async (db) => {
    const campaign = await lockForChange(db, access);
    await requireChangeable(db, campaign);
    if (isEnabledNow && (await isSettled(db, campaign, 'ENABLED'))) return undefined;
    requirePlatform(deps);
    const recorded = await addChange(db, deps, campaign, { kind: 'resume', isByCaller: true }, now);
    if (recorded.isNew) await writeEntry(db, access, 'ads.campaign.resume_requested', now);
    return recorded;
  });
  if (recorded === undefined) return unchanged({ status: 'resumed' });
  await confirm(db, deps, recorded, access.campaign);
  return withNotes({ status: 'resumed' }, {});
}

/** As for a launch, in the order of refusals: what has to be paid, then what is unavailable, then holds. */
async function requirePayment(db: Db, deps: ChangeDeps, access: CampaignAccess, now: Date): Promise<void> {
  const row = await findAccount(db, access);
  const [billing, account] = await Promise.all([deps.readBilling(db, access), readAccountState(db, deps, row, now)]);
  const about = describe(access.campaign);
  if (!billing.has_payment_method && !billing.payment_provider_unavailable) throw paymentMethodRequired();
  if (account.status === 'PENDING' || account.status === 'CLOSED') throw accountNotActive();
  if (billing.payment_provider_unavailable) throw paymentProviderUnavailable();
  if (billing.billing_hold) throw workspaceBillingHold(about);
  if (account.isOnHold) throw accountBillingHold(about);
}

// ---- deleting

export async function deleteCampaign(
  db: Db,
  deps: ChangeDeps,
  access: CampaignAccess,
  now: Date,
): Promise<Answer<{ status: 'deleted' }>> {
  const asked = await transaction(db, async (db): Promise<ChangeRequest | undefined> => {
    const campaign = await lockForChange(db, access);
    if (campaign.status === 'REMOVED') return undefined;
    requirePlatform(deps);
    const isUnconfirmed = (await findOpenLaunch(db, campaign)) !== undefined;
    const recorded = await addChange(db, deps, campaign, { kind: 'remove', isByCaller: true }, now);
    if (recorded.isNew) await writeEntry(db, access, 'ads.campaign.delete_requested', now);
    return { recorded, isUnconfirmed };
  });
  if (asked === undefined || (asked.isUnconfirmed && !asked.recorded.isNew)) return unchanged({ status: 'deleted' });
  if (!asked.isUnconfirmed) await confirm(db, deps, asked.recorded, access.campaign, { retrySafe: false });
  return withNotes({ status: 'deleted' }, {});
}

// ---- shared

/** Locks the app and the campaign. 404 if one is gone since the guard read it. */
export async function lockForChange(db: Db, { campaign }: CampaignAccess): Promise<CampaignRow> {
  const app = await lockAppOf(db, campaign);
  if (app === undefined || app.isGone) throw notFound('app_not_found');
  const row = await lockCampaign(db, campaign);
  if (row === undefined) throw notFound('campaign_not_found');
  return row;
}

/** Before anything else is checked, and once the campaign is locked. */
export async function requireChangeable(db: Db, campaign: CampaignRow): Promise<void> {
  if (campaign.status === 'REMOVED') throw campaignRemoved();
  const launch = await findOpenLaunch(db, campaign);
  if (launch !== undefined) throw launchInProgress({ campaign_id: campaign.id, launch_id: launch.id });
}

/** Before a change is recorded: without a platform, no worker could ever send it. */
export function requirePlatform({ platform }: { readonly platform: { readonly configured: boolean } }): void {
  if (!platform.configured) throw platformUnavailable();
}

/** Whether our row has this status and the platform says the same now. What somebody did at the platform itself is not in our row. */
async function hasStatusNow(
  db: Db,
  { platform, times }: ChangeDeps,
  campaign: CampaignRow,
  status: CampaignRow['status'],
): Promise<boolean> {
  const customerId = await findCustomerId(db, campaign);
  if (campaign.status !== status || campaign.platform_campaign_id === '' || customerId === null) return false;
  const read = await platform.campaigns.read(customerId, campaign.platform_campaign_id, times.liveReadMs);
  return read.outcome === 'read' && read.result?.status === status;
}

/** Nothing that was asked for before can change the status any more. */
async function isSettled(db: Db, campaign: CampaignRow, status: CampaignRow['status']): Promise<boolean> {
  const unfinished = await listUnfinishedChanges(db, campaign);
  return campaign.status === status && !unfinished.some(({ kind }) => isStatusChange(kind));
}

export const writeEntry = (
  db: Db,
  access: CampaignAccess,
  type: AuditType,
  now: Date,
  after?: object,
): Promise<void> => {
  const target = { kind: 'ads_campaign', id: access.campaign.id };
  return audit(db, access, { type, target, app_id: access.app.id, ...(after && { after }) }, now);
};

const describe = ({ id, launch_id, status }: CampaignRow): AboutCampaign => ({
  campaign_state: status === 'ENABLED' ? 'live' : status === 'PAUSED' ? 'paused' : 'removed',
  campaign_id: id,
  ...(launch_id !== null && { launch_id }),
});

/** Waits for the change. Refuses if the platform has not confirmed it. */
export async function confirm(
  db: Db,
  deps: WaitDeps,
  recorded: RecordedChange,
  campaign: CampaignRow,
  options: { readonly retrySafe: boolean } = { retrySafe: true },
): Promise<void> {
  const problem = findProblem(await waitForChange(db, deps, recorded), campaign, options);
  if (problem !== undefined) throw problem;
}

/** Undefined: the platform has confirmed it. */
export function findProblem(
  change: ChangeRow | undefined,
  campaign: CampaignRow,
  options: { readonly retrySafe: boolean } = { retrySafe: true },
): Problem | undefined {
  if (change === undefined) return notFound('campaign_not_found');
  if (change.state === 'applied') return undefined;
  const about = { ...describe(campaign), campaign_state: 'unknown' } as const;
  if (change.state === 'superseded') return changeReplaced(about);
  if (change.state === 'recorded') return changeNotSent(about, options);
  if (change.state !== 'refused') return changeNotConfirmed(about, options);
  const { code, platform_reasons = [] } = change.failure as { code: string; platform_reasons?: object[] };
  if (code === 'campaign_removed') return campaignRemoved();
  if (code === 'app_not_found') return notFound('app_not_found');
  if (code === 'ad_platform_timeout') return changeNotConfirmed(about, options);
  if (code === 'workspace_billing_hold') return workspaceBillingHold(describe(campaign));
  if (code === 'account_billing_hold') return accountBillingHold(describe(campaign));
  if (code === 'internal_error') throw new Error('a change of a campaign was given up');
  return platformRejected(platform_reasons);
}

const platformRejected = (platform_reasons: readonly object[]) =>
  new Problem(
    'bad_request',
    'platform_rejected',
    'The ad platform refused the change, and the campaign is as before. See `platform_reasons`.',
    { members: { platform_reasons, account_created: true } },
  );
