// Records requested campaign changes and waits until the platform confirms them. A worker sends them
// (changes/background.ts), so a campaign's requests form one queue that survives a process crash.
import { WakeableSleep, type WakeUps } from '../../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../../kit/db/database.ts';
import { newId } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import { lockCampaign, saveCampaign } from '../store/campaigns.ts';
import {
  type ChangeRow,
  endChange,
  findChange,
  findOpenLaunch,
  insertChange,
  listUnfinishedChanges,
  lockAppOf,
  makeChangeDue,
  makeChangesDue,
  makeLaunchDue,
  saveChangeReasons,
} from '../store/changes.ts';
import type { CampaignKey, CampaignRow } from '../store/rows.ts';
import type { AdsTimes } from '../times.ts';
import type { OwnReason } from './contract.ts';

/** The change queue's table and wake-up topic. */
export const changeQueue = 'ads_changes';
export const toChangeTopic = (id: string): string => `ads_change:${id}`;
const launchQueue = 'ads_launches';

export type ChangeKind = ChangeRow['kind'];

/** Whether the change decides if the campaign spends. Of several status changes, the latest wins. */
export const isStatusChange = (kind: ChangeKind): boolean => kind === 'pause' || kind === 'resume' || kind === 'remove';

/** Stops are always allowed, even before the launch is confirmed and for apps in the trash. */
export const isStop = (kind: ChangeKind): boolean => kind === 'pause' || kind === 'remove';

export interface NewChange {
  readonly kind: ChangeKind;
  /** Reasons for a pause. */
  readonly reasons?: readonly OwnReason[];
  readonly content?: object;
  /** False if Plinth requests the change itself. */
  readonly isByCaller: boolean;
}

export interface RecordDeps {
  readonly wake: Pick<WakeUps, 'notify'>;
}

/** `isNew` is false if the same change is already recorded for the same reasons and has not ended. */
export interface RecordedChange {
  readonly change: ChangeRow;
  readonly isNew: boolean;
}

/**
 * Records a change on Plinth's own behalf. Returns undefined if the campaign has been removed or no longer exists, or
 * if its app is in the trash and the change is not a stop. Code that locks both an app and a campaign locks the app
 * first.
 */
export const recordChange = (
  db: Db,
  deps: RecordDeps,
  key: CampaignKey,
  change: NewChange,
  now: Date,
): Promise<RecordedChange | undefined> =>
  transaction(db, async (db) => {
    const app = await lockAppOf(db, key);
    if (app === undefined || (app.isGone && !isStop(change.kind))) return undefined;
    const campaign = await lockCampaign(db, key);
    if (campaign === undefined || campaign.status === 'REMOVED') return undefined;
    return addChange(db, deps, campaign, change, now);
  });

/** Must run in a transaction that has locked the app and the campaign. */
export async function addChange(
  db: Db,
  { wake }: RecordDeps,
  campaign: CampaignRow,
  { kind, reasons = [], content = {}, isByCaller }: NewChange,
  now: Date,
): Promise<RecordedChange> {
  const unfinished = await listUnfinishedChanges(db, campaign);
  const last = unfinished.findLast((each) => isStatusChange(each.kind));
  if (last?.kind === kind && reasons.every((reason) => last.reasons.includes(reason)))
    return joinChange(db, { wake }, last);
  afterCommit(db, () => wake.notify(changeQueue));
  if (kind === 'pause' && last?.kind === 'pause' && last.state === 'recorded') {
    const change = await saveChangeReasons(db, last, joinReasons(last.reasons, reasons));
    await makeChangeDue(db, change);
    await stopLaunch(db, { wake }, campaign, change, now);
    return { change, isNew: true };
  }
  if (isStatusChange(kind)) {
    for (const each of unfinished) if (isReplaceable(each)) await supersede(db, { wake }, each, now);
    await makeChangesDue(db, campaign); // changes that were waiting for a superseded one
  }
  const change = await insertChange(db, campaign, {
    id: newId(),
    kind,
    // The last of several consecutive pauses keeps all their reasons.
    reasons: kind === 'pause' && last?.kind === 'pause' ? [...new Set([...last.reasons, ...reasons])] : [...reasons],
    content: JSON.stringify(content),
    is_by_caller: isByCaller,
    created_date: now,
  });
  if (isStop(kind)) await stopLaunch(db, { wake }, campaign, change, now);
  return { change, isNew: true };
}

/** For a caller that requests again what is already recorded, and waits for it. */
export async function joinChange(db: Db, { wake }: RecordDeps, change: ChangeRow): Promise<RecordedChange> {
  await makeChangeDue(db, change);
  afterCommit(db, () => wake.notify(changeQueue));
  return { change, isNew: false };
}

/** A change with a request in flight is not replaced, because the next request must not overtake it. */
const isReplaceable = ({ kind, state }: ChangeRow): boolean =>
  (kind === 'pause' || kind === 'resume') && state !== 'sent';

export async function supersede(db: Db, { wake }: RecordDeps, change: ChangeRow, now: Date): Promise<void> {
  await endChange(db, change, 'superseded', null, now);
  afterCommit(db, () => wake.notify(toChangeTopic(change.id)));
}

/**
 * An open launch checks for pauses and removals before it enables its campaign. They are carried out when the launch
 * has ended.
 */
async function stopLaunch(
  db: Db,
  { wake }: RecordDeps,
  campaign: CampaignRow,
  { kind, reasons }: ChangeRow,
  now: Date,
): Promise<void> {
  if ((await findOpenLaunch(db, campaign)) === undefined) return;
  if (kind === 'pause') await addReasons(db, campaign, reasons, now);
  await makeLaunchDue(db, campaign);
  afterCommit(db, () => wake.notify(launchQueue));
}

export const addReasons = (db: Db, campaign: CampaignRow, reasons: readonly string[], now: Date) =>
  saveCampaign(db, campaign, { own_reasons: joinReasons(campaign.own_reasons, reasons), updated_date: now });

export const joinReasons = (present: readonly string[], more: readonly string[]): string[] => [
  ...new Set([...present, ...more]),
];

// ---- waiting

export interface WaitDeps {
  readonly wake: Pick<WakeUps, 'listen' | 'pollMs'>;
  readonly times: AdsTimes;
  readonly shutdownSignal: AbortSignal;
}

/**
 * Waits until the change has ended, has been sent without a response, or has repeatedly not been sent. In the last two
 * cases the change continues in the background. Returns undefined if the campaign no longer exists, because its launch
 * created nothing.
 */
export async function waitForChange(
  db: Db,
  { wake, times, shutdownSignal }: WaitDeps,
  { change }: RecordedChange,
  waitsUntil = performance.now() + times.callerWaitMs,
): Promise<ChangeRow | undefined> {
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toChangeTopic(change.id), idle.wake);
  // If other callers are already waiting for this change, only progress from this point counts.
  const sentBefore = change.state === 'sent' ? change.sent_count - 1 : change.sent_count;
  const triesBefore = Math.max(change.failures, times.resendMs.length);
  try {
    for (;;) {
      const row = await findChange(db, change);
      if (row === undefined || row.ended_date !== null) return row;
      const isUnanswered = row.state === 'unknown' && row.sent_count > sentBefore;
      const leftMs = waitsUntil - performance.now();
      if (isUnanswered || row.failures > triesBefore || leftMs <= 0 || shutdownSignal.aborted) return row;
      await idle.sleep(Math.min(wake.pollMs(), leftMs), shutdownSignal);
    }
  } finally {
    unlisten();
  }
}
