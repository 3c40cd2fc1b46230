// Decides what all caller-requested campaign changes share: the locks and preconditions, the audit entry, and the
// response once the platform has confirmed the change or failed to (docs/api/ads.md#changing-campaigns).
import { audit } from '../../../core/audit/audit.ts';
import type { AuditType } from '../../../core/audit/types.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { type Answer, resumableAnswer } from '../../../kit/http/answer.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { platformUnavailable } from '../accounts/account.ts';
import {
  type AboutCampaign,
  accountBillingHold,
  campaignRemoved,
  changeNotConfirmed,
  changeNotSent,
  changeReplaced,
  launchInProgress,
  workspaceBillingHold,
} from '../problems.ts';
import { lockCampaign } from '../store/campaigns.ts';
import { type ChangeRow, findChange, findOpenLaunch, hasLaterChange, lockAppOf } from '../store/changes.ts';
import type { CampaignRow } from '../store/rows.ts';
import { type RecordedChange, type WaitDeps, waitForChange } from './record.ts';

export type CampaignAccess = AppAccess & { readonly campaign: CampaignRow };

/** Locks the app and the campaign. Throws 404 if either has been removed since the guard read it. */
export async function lockForChange(db: Db, { campaign }: CampaignAccess): Promise<CampaignRow> {
  const app = await lockAppOf(db, campaign);
  if (app === undefined || app.isGone) throw notFound('app_not_found');
  const row = await lockCampaign(db, campaign);
  if (row === undefined) throw notFound('campaign_not_found');
  return row;
}

/** Runs before all other checks, once the campaign is locked. */
export async function requireChangeable(db: Db, campaign: CampaignRow): Promise<void> {
  if (campaign.status === 'REMOVED') throw campaignRemoved();
  const launch = await findOpenLaunch(db, campaign);
  if (launch !== undefined) throw launchInProgress({ campaign_id: campaign.id, launch_id: launch.id });
}

/** Runs before a change is recorded, because without a platform no worker could send it. */
export function requirePlatform({ platform }: { readonly platform: { readonly configured: boolean } }): void {
  if (!platform.configured) throw platformUnavailable();
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

/** The campaign state to report in a refusal. */
export const describeCampaign = ({ id, launch_id, status }: CampaignRow): AboutCampaign => ({
  campaign_state: status === 'ENABLED' ? 'live' : status === 'PAUSED' ? 'paused' : 'removed',
  campaign_id: id,
  ...(launch_id !== null && { launch_id }),
});

/** Waits for the change. Throws if the platform has not confirmed it. */
export async function confirm(db: Db, deps: WaitDeps, recorded: RecordedChange, campaign: CampaignRow): Promise<void> {
  const problem = findProblem(await waitForChange(db, deps, recorded), campaign);
  if (problem !== undefined) throw problem;
}

/**
 * Answers once the platform has confirmed the change, which is undefined if there is nothing to change. With an
 * Idempotency-Key, the change is stored, and a repeat waits for the same one.
 */
export const answerWithChange = <Body>(
  deps: WaitDeps,
  campaign: CampaignRow,
  change: ChangeRow | undefined,
  present: (db: Db) => Answer<Body> | Promise<Answer<Body>>,
): Answer<Body> =>
  resumableAnswer({ change_id: change?.id ?? null }, async (db) => {
    if (change !== undefined) await confirm(db, deps, { change, isNew: true }, campaign);
    return present(db);
  });

/**
 * Finds the change that the first request with an Idempotency-Key recorded. Throws if a later request replaced it. A
 * change that ended without effect is 'without effect', and the repeat begins afresh.
 */
export async function findBegunChange(
  db: Db,
  campaign: CampaignRow,
  begun: unknown,
): Promise<ChangeRow | undefined | 'without effect'> {
  const { change_id } = begun as { change_id: string | null };
  if (change_id === null) return undefined;
  const { workspace_id, app_id } = campaign;
  const change = await findChange(db, { workspace_id, app_id, id: change_id });
  if (change?.state === 'superseded')
    throw changeReplaced({ ...describeCampaign(campaign), campaign_state: 'unknown' });
  const isWithoutEffect = change === undefined || (change.ended_date !== null && change.state !== 'applied');
  return isWithoutEffect ? 'without effect' : change;
}

/**
 * Call this before a repeated key begins afresh with a change that could undo what was asked for since, such as a
 * pause. Throws if the campaign got another change after the first request's.
 */
export async function requireNoLaterChange(db: Db, campaign: CampaignRow, begun: unknown): Promise<void> {
  const { change_id } = begun as { change_id: string | null };
  const { workspace_id, app_id, id } = campaign;
  if (change_id !== null && (await hasLaterChange(db, { workspace_id, app_id, id: change_id, campaign_id: id })))
    throw changeReplaced({ ...describeCampaign(campaign), campaign_state: 'unknown' });
}

/** Undefined if the platform has confirmed the change. */
export function findProblem(change: ChangeRow | undefined, campaign: CampaignRow): Problem | undefined {
  if (change === undefined) return notFound('campaign_not_found');
  if (change.state === 'applied') return undefined;
  const about = { ...describeCampaign(campaign), campaign_state: 'unknown' } as const;
  if (change.state === 'superseded') return changeReplaced(about);
  if (change.state === 'recorded') return changeNotSent(about);
  if (change.state !== 'refused') return changeNotConfirmed(about);
  const { code, platform_reasons = [] } = change.failure as { code: string; platform_reasons?: object[] };
  if (code === 'campaign_removed') return campaignRemoved();
  if (code === 'app_not_found') return notFound('app_not_found');
  if (code === 'ad_platform_timeout') return changeNotConfirmed(about);
  if (code === 'workspace_billing_hold') return workspaceBillingHold(describeCampaign(campaign));
  if (code === 'account_billing_hold') return accountBillingHold(describeCampaign(campaign));
  if (code === 'internal_error') throw new Error('a campaign change failed with an internal error');
  return platformRejected(platform_reasons);
}

const platformRejected = (platform_reasons: readonly object[]) =>
  new Problem(
    'bad_request',
    'platform_rejected',
    'The ad platform rejected the change, so the campaign is unchanged. Fix the problems listed in `platform_reasons`, then try again.',
    { members: { platform_reasons, account_created: true } },
  );
