// Pauses, resumes and deletes campaigns for callers (docs/api/ads.md#changing-campaigns). The change is
// recorded, a worker sends it, and the caller waits until the platform confirms it.
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, unchanged, withNotes } from '../../../kit/http/answer.ts';
import type { Db } from '../../../tables.ts';
import {
  answerWithChange,
  type CampaignAccess,
  confirm,
  describeCampaign,
  findBegunChange,
  lockForChange,
  requireChangeable,
  requireNoLaterChange,
  requirePlatform,
  writeEntry,
} from '../campaigns/change.ts';
import {
  addChange,
  addReasons,
  isStatusChange,
  type NewChange,
  type RecordDeps,
  type RecordedChange,
  type WaitDeps,
} from '../campaigns/record.ts';
import { requireWithinCeiling } from '../ceilings/ceiling.ts';
import {
  accountBillingHold,
  accountNotActive,
  campaignRemoved,
  paymentMethodRequired,
  paymentProviderUnavailable,
  trackingNotVerified,
  workspaceBillingHold,
} from '../problems.ts';
import { type ReadinessDeps, readAccountState } from '../readiness/readiness.ts';
import { findAccount } from '../store/accounts.ts';
import { readRaisedBudget } from '../store/ceilings.ts';
import { type ChangeRow, findCustomerId, findOpenLaunch, listUnfinishedChanges } from '../store/changes.ts';
import type { CampaignRow } from '../store/rows.ts';
import { readTrackingVerified } from '../store/tracking.ts';
import type { KindDeps } from './kinds.ts';

export type ChangeDeps = Omit<ReadinessDeps, 'wake'> & RecordDeps & WaitDeps & KindDeps;

const pausedByUser = 'SERVICE_PAUSED_BY_USER';

// ---- pausing

/** A change that a caller requested. */
export interface ChangeRequest {
  readonly recorded: RecordedChange;
  /** Whether the change has to wait for an open launch to end. In that case the launch does not enable the campaign. */
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

/** If the campaign is already paused on the platform, only the reason is recorded and no request is sent. */
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
    // A caller that repeats an unfinished pause waits for the same change.
    return { isChanged: recorded.isNew || !isUnconfirmed, asked: { recorded, isUnconfirmed } };
  });

// ---- resuming

/**
 * Checks in this order: the campaign, payment, the payment provider, holds, tracking, the ad platform. Returns whether
 * the campaign is enabled at the platform.
 */
export async function checkResume(db: Db, deps: ChangeDeps, access: CampaignAccess, now: Date): Promise<boolean> {
  await requireChangeable(db, access.campaign);
  await requirePayment(db, deps, access, now);
  const isEnabledNow = await hasStatusNow(db, deps, access.campaign, 'ENABLED');
  if (!isEnabledNow && !(await readTrackingVerified(db, access)))
    throw trackingNotVerified(describeCampaign(access.campaign));
  return isEnabledNow;
}

export async function resumeCampaign(
  db: Db,
  deps: ChangeDeps,
  access: CampaignAccess,
  isEnabledNow: boolean,
  now: Date,
): Promise<Answer<{ status: 'resumed' }>> {
  const recorded = await transaction(db, async (db) => {
    const campaign = await lockForChange(db, access);
    await requireChangeable(db, campaign);
    if (isEnabledNow && (await isSettled(db, campaign, 'ENABLED'))) return undefined;
    await requireCampaignWithinCeiling(db, deps, { ...access, campaign }, await readRaisedBudget(db, campaign));
    requirePlatform(deps);
    const recorded = await addChange(db, deps, campaign, { kind: 'resume', isByCaller: true }, now);
    if (recorded.isNew) await writeEntry(db, access, 'ads.campaign.resume_requested', now);
    return recorded;
  });
  return answerWithResume(deps, access, recorded?.change);
}

/**
 * Handles a repeated Idempotency-Key: waits for the change that the first request recorded. A campaign that was paused
 * since then stays paused.
 */
export async function repeatResume(
  db: Db,
  deps: ChangeDeps,
  access: CampaignAccess,
  begun: unknown,
  now: Date,
): Promise<Answer<{ status: 'resumed' }>> {
  const change = await findBegunChange(db, access.campaign, begun);
  if (change !== 'without effect') return answerWithResume(deps, access, change);
  await requireNoLaterChange(db, access.campaign, begun);
  return resumeCampaign(db, deps, access, await checkResume(db, deps, access, now), now);
}

const answerWithResume = (deps: ChangeDeps, { campaign }: CampaignAccess, change: ChangeRow | undefined) =>
  answerWithChange(deps, campaign, change, () => {
    const body = { status: 'resumed' } as const;
    return change === undefined ? unchanged(body) : withNotes(body, {});
  });

/** Checks in the same order as a launch: payment first, then unavailable services, then holds. */
async function requirePayment(db: Db, deps: ChangeDeps, access: CampaignAccess, now: Date): Promise<void> {
  const row = await findAccount(db, access);
  const [billing, account] = await Promise.all([deps.readBilling(db, access), readAccountState(db, deps, row, now)]);
  const about = describeCampaign(access.campaign);
  if (!billing.has_payment_method && !billing.payment_provider_unavailable) throw paymentMethodRequired();
  if (account.status === 'PENDING' || account.status === 'CLOSED') throw accountNotActive();
  if (billing.payment_provider_unavailable) throw paymentProviderUnavailable();
  if (billing.billing_hold) throw workspaceBillingHold(about);
  if (account.isOnHold) throw accountBillingHold(about);
}

/** Call this in the transaction that records the change. */
export async function requireCampaignWithinCeiling(
  db: Db,
  deps: ChangeDeps,
  access: CampaignAccess,
  daily_micros: number,
): Promise<void> {
  const { campaign } = access;
  const currency_code = (await findAccount(db, access))?.currency_code ?? '';
  const planned = { currency_code, daily_micros, campaign_id: campaign.id, about: describeCampaign(campaign) };
  await requireWithinCeiling(db, deps, access, planned, { lock: true });
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
  if (!asked.isUnconfirmed) await confirm(db, deps, asked.recorded, access.campaign);
  return withNotes({ status: 'deleted' }, {});
}

// ---- shared

/**
 * Whether both our row and the platform currently have this status. Our row alone does not show changes made directly
 * on the platform.
 */
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

/** Whether the campaign has this status and no unfinished change can alter it. */
async function isSettled(db: Db, campaign: CampaignRow, status: CampaignRow['status']): Promise<boolean> {
  const unfinished = await listUnfinishedChanges(db, campaign);
  return campaign.status === status && !unfinished.some(({ kind }) => isStatusChange(kind));
}
