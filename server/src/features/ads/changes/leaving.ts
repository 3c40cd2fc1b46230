// Stops campaigns before their app or workspace is deleted, because users without access to the app can't pause
// them.
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess, WorkspaceAccess } from '../../../core/auth/proofs.ts';
import { transaction } from '../../../kit/db/database.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import {
  type NewChange,
  type RecordDeps,
  type RecordedChange,
  recordChange,
  type WaitDeps,
} from '../campaigns/record.ts';
import {
  addReasonToPaused,
  listEnabledOfDeletedApps,
  listSpendingCampaigns,
  lockAppsOfWorkspace,
  type Owner,
} from '../store/leaving.ts';
import type { CampaignRow } from '../store/rows.ts';
import { type AdsTimes, defaultTimes } from '../times.ts';
import { listUnconfirmed } from './pause-all.ts';

const reason = 'SERVICE_APP_DELETED';
const pause: NewChange = { kind: 'pause', reasons: [reason], isByCaller: true };

type LeavingDeps = Omit<WaitDeps & RecordDeps, 'times' | 'wake'> & {
  readonly wake: WaitDeps['wake'] & RecordDeps['wake'];
  readonly times: Partial<AdsTimes> | undefined;
};

/** Used by the features that delete apps and workspaces. */
export function createCampaignStops({ times, ...given }: LeavingDeps) {
  const deps = { ...given, times: { ...defaultTimes, ...times } };
  return {
    /**
     * Pauses all campaigns in the app or workspace. Must run outside a transaction, because it waits for the ad
     * platform.
     */
    stopApp: (db: Db, access: AppAccess, now: Date) => stop(db, deps, access, ownerOfApp(access), now),
    stopWorkspace: (db: Db, access: WorkspaceAccess, now: Date) => stop(db, deps, access, access, now),
    /**
     * Runs in the deleting transaction, once it has locked the app, because a campaign may have been resumed since
     * `stopApp`.
     */
    requireAppStopped: (db: Db, access: AppAccess, now: Date) => requireStopped(db, ownerOfApp(access), now),
    requireWorkspaceStopped: async (db: Db, access: WorkspaceAccess, now: Date) => {
      await lockAppsOfWorkspace(db, access);
      await requireStopped(db, access, now);
    },
  };
}

const ownerOfApp = ({ app }: AppAccess): Owner => ({ workspace_id: app.workspace_id, app_id: app.id });

async function stop(
  db: Db,
  deps: WaitDeps & RecordDeps,
  access: WorkspaceAccess,
  { workspace_id, app_id }: Owner,
  now: Date,
): Promise<void> {
  const pauses: { campaign: CampaignRow; recorded: RecordedChange }[] = [];
  for (const campaign of await listSpendingCampaigns(db, { workspace_id, ...(app_id && { app_id }) })) {
    const recorded = await recordPause(db, deps, access, campaign, now);
    if (recorded !== undefined) pauses.push({ campaign, recorded });
  }
  const failed = await listUnconfirmed(db, deps, pauses);
  if (failed[0] !== undefined) throw notStopped(failed[0].campaign_id);
}

const recordPause = (db: Db, deps: RecordDeps, access: WorkspaceAccess, campaign: CampaignRow, now: Date) =>
  transaction(db, async (db) => {
    const recorded = await recordChange(db, deps, campaign, pause, now);
    const target = { kind: 'ads_campaign', id: campaign.id };
    const after = { reasons: [reason] };
    if (recorded?.isNew)
      await audit(db, access, { type: 'ads.campaign.pause_requested', target, app_id: campaign.app_id, after }, now);
    return recorded;
  });

/** Adds the reason to paused campaigns too, so none is enabled automatically after the app is restored. */
async function requireStopped(db: Db, owner: Owner, now: Date): Promise<void> {
  const [spending] = await listSpendingCampaigns(db, owner);
  if (spending !== undefined) throw notStopped(spending.id);
  await addReasonToPaused(db, owner, reason, now);
}

const notStopped = (campaign_id: string) =>
  new Problem(
    'conflict',
    'ad_platform_timeout',
    'The ad platform has not confirmed that a campaign is paused, so nothing was deleted. Plinth is still trying to pause it. Send the request again in 15 seconds.',
    { members: { campaign_state: 'unknown', campaign_id }, headers: { 'retry-after': '15' } },
  );

const maxPerRun = 100;

/**
 * A worker job, because a campaign may be enabled directly on the platform after its app was deleted. Returns the
 * number of campaigns to pause.
 */
export async function pauseOfDeletedApps(db: Db, deps: RecordDeps, now: Date): Promise<number> {
  const campaigns = await listEnabledOfDeletedApps(db, maxPerRun);
  for (const campaign of campaigns) await recordChange(db, deps, campaign, { ...pause, isByCaller: false }, now);
  return campaigns.length;
}
