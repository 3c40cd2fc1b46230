// A launch step's writes. One transaction writes the launch's state, the campaign's row, a journal step and the
// audit log. It commits only while the worker still holds its claim.
import { type AuditedChange, auditService } from '../../../core/audit/audit.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import type { Clock } from '../../../kit/clock.ts';
import { afterCommit, transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { OwnReason } from '../campaigns/contract.ts';
import { findCampaignByKey, lockCampaign, removeAdopted, removeCampaign, saveCampaign } from '../store/campaigns.ts';
import { makeChangesDue } from '../store/changes.ts';
import { appendStep, type Step } from '../store/journal.ts';
import { type LaunchChange, type LaunchRow, moveLaunch, type Obstacles, readObstacles } from '../store/launches.ts';
import type { CampaignRow } from '../store/rows.ts';
import type { AdsTimes } from '../times.ts';
import type { LaunchFailure } from './failure.ts';
import { toLaunchTopic } from './launch.ts';

export interface RecorderDeps {
  readonly clock: Clock;
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly times: Pick<AdsTimes, 'watchMs'>;
}

export type LaunchStep = Omit<Step, 'platform_request_id'> & { readonly platform_request_id?: string | null };
/** The launch in its new state, or undefined if another worker has claimed it. */
type Moved = Promise<LaunchRow | undefined>;
type CampaignChange = Parameters<typeof saveCampaign>[2];

/** The change queue. Changes to this campaign wait for the launch to end. */
const changeQueue = 'ads_changes';

export type Recorder = ReturnType<typeof createRecorder>;

export function createRecorder(db: Db, deps: RecorderDeps, launch: LaunchRow) {
  const { workspace_id, app_id, campaign_id } = launch;
  const key = { workspace_id, app_id, id: campaign_id };
  /** Read for each write, because a step may run for a long time before it writes. */
  const now = () => deps.clock.now();
  const wasUnknown = launch.state === 'unknown';

  const auditChange = (db: Db, change: AuditedChange) => auditService(db, workspace_id, change, now());
  const auditLaunch = (db: Db, type: 'ads.launch.ended' | 'ads.reconciled', after: object) =>
    auditChange(db, { type, target: { kind: 'ads_launch', id: launch.id }, app_id, after });

  const append = (db: Db, { platform_request_id = null, ...step }: LaunchStep) =>
    appendStep(db, key, { ...step, platform_request_id }, now());

  /** Wakes callers waiting for the launch, and changes waiting for it to end. */
  function wake(db: Db, state: LaunchRow['state'], hasEnded: boolean): void {
    if (hasEnded || state === 'unknown') afterCommit(db, () => deps.wake.notify(toLaunchTopic(launch.id)));
    if (hasEnded) afterCommit(db, () => deps.wake.notify(changeQueue));
  }

  /** `save` updates the campaign while its row is locked. */
  const write = (
    change: LaunchChange,
    step: LaunchStep | undefined,
    save: (db: Db, campaign: CampaignRow) => Promise<unknown> = async () => {},
  ): Moved =>
    transaction(db, async (db) => {
      const campaign = await lockCampaign(db, key);
      const left = change.state !== undefined && change.state !== 'unknown' ? { unknown_request: null } : {};
      const moved = await moveLaunch(db, launch, { ...left, ...change });
      if (moved === undefined || campaign === undefined) return undefined;
      if (step !== undefined) await append(db, step);
      await save(db, campaign);
      const { state } = moved;
      const hasEnded = moved.ended_date !== null;
      if (wasUnknown && state !== 'unknown')
        await auditLaunch(db, 'ads.reconciled', { request: launch.unknown_request, state });
      if (hasEnded) await auditLaunch(db, 'ads.launch.ended', { campaign_id, state, failure: moved.failure });
      if (hasEnded) await makeChangesDue(db, key);
      wake(db, state, hasEnded);
      return moved;
    });

  const saving = (change: CampaignChange) => (db: Db) => saveCampaign(db, key, { ...change, updated_date: now() });

  /** Ends a launch that created nothing. */
  const end = (change: LaunchChange, step: LaunchStep | undefined): Moved =>
    write({ ...change, ended_date: now(), is_current: false }, step, (db) => removeCampaign(db, key));

  const hold = (reasons: readonly OwnReason[], step?: LaunchStep): Moved =>
    write({ state: 'held', ended_date: now() }, step, (db, { status }) => {
      // The new campaign may have been enabled directly on the platform, in which case our row already says so.
      const isEnabled = launch.state === 'created' && status === 'ENABLED';
      return saving(isEnabled ? { own_reasons: [] } : { status: 'PAUSED', own_reasons: [...reasons] })(db);
    });

  return {
    auditChange,
    readObstacles: () => readObstacles(db, launch),
    async readCampaign(): Promise<CampaignRow> {
      const row = await findCampaignByKey(db, key);
      if (row === undefined) throw new Error("the launch's campaign no longer exists");
      return row;
    },
    note: (step: LaunchStep) => append(db, step),
    move: (change: LaunchChange, step?: LaunchStep) => write(change, step),
    sendCreate: () => write({ state: 'create_sent', sent_at: now(), read_at: null, empty_reads: 0 }, undefined),
    /** After an enable request the campaign is watched, because the request may still arrive. */
    unknown: (request: 'create' | 'enable', step?: LaunchStep) =>
      write(
        { state: 'unknown', unknown_request: request },
        step,
        request === 'enable' ? saving({ watched_until: new Date(now().getTime() + deps.times.watchMs) }) : undefined,
      ),
    created: (found: { readonly id: string; readonly status: 'ENABLED' | 'PAUSED' }, step: LaunchStep) =>
      write({ state: 'created' }, step, async (db) => {
        // If a database restore lost this launch, the sync may have listed the campaign without a launch.
        await removeAdopted(db, key, found.id);
        await saving({ platform_campaign_id: found.id, status: found.status })(db);
      }),
    /** Holds the campaign if there are reasons. Otherwise it may be spending from this point on. */
    enableUnless: (listReasons: (obstacles: Obstacles) => readonly OwnReason[]): Moved =>
      transaction(db, async (db) => {
        await lockCampaign(db, key);
        const obstacles = await readObstacles(db, launch);
        if (obstacles === undefined) return undefined;
        const reasons = listReasons(obstacles);
        const inside = createRecorder(db, deps, launch);
        return reasons.length > 0 ? inside.hold(reasons) : inside.sendEnable();
      }),
    sendEnable: () => write({ state: 'enable_sent', sent_at: now() }, undefined, saving({ status: 'ENABLED' })),
    notEnabled: (step: LaunchStep) => write({ state: 'created' }, step, saving({ status: 'PAUSED' })),
    live: (step: LaunchStep) =>
      write({ state: 'live', ended_date: now() }, step, (db, { first_enabled_at }) =>
        saving({ status: 'ENABLED', own_reasons: [], first_enabled_at: first_enabled_at ?? now() })(db),
      ),
    hold,
    /**
     * Ends the launch without knowing whether the campaign is enabled. A stop follows, and the campaign remains
     * watched.
     */
    leaveEnabled: (step: LaunchStep) => write({ state: 'held', ended_date: now() }, step, saving({ own_reasons: [] })),
    removed: (step: LaunchStep) =>
      write(
        { state: 'held', ended_date: now(), is_current: false },
        step,
        saving({ status: 'REMOVED', own_reasons: [] }),
      ),
    refuse: (failure: LaunchFailure, step?: LaunchStep) =>
      end({ state: 'refused', failure: JSON.stringify(failure) }, step),
    absent: (step: LaunchStep) => end({ state: 'absent' }, step),
  };
}
