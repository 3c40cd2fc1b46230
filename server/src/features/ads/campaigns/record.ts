// Owns recording what is asked for a campaign, and waiting until the platform has confirmed it. Nothing is sent here: a worker does
// (background.ts). So all requests for one campaign are in one line, and survive whatever happens to a process.
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
import type { AdsTimes } from '../times.ts';
import type { CampaignKey, CampaignRow, OwnReason } from './contract.ts';

/** The queue table of changes, and its wake-up topic. */
export const changeQueue = 'ads_changes';
export const toChangeTopic = (id: string): string => `ads_change:${id}`;
const launchQueue = 'ads_launches';

export type ChangeKind = ChangeRow['kind'];

/** What decides whether a campaign spends. Of these, the last one that was asked for counts. */
export const isStatusChange = (kind: ChangeKind): boolean => kind === 'pause' || kind === 'resume' || kind === 'remove';

/** Allowed at any time, also while the launch is not confirmed and for apps in the trash. */
export const isStop = (kind: ChangeKind): boolean => kind === 'pause' || kind === 'remove';

export interface NewChange {
  readonly kind: ChangeKind;
  /** Why it is paused. */
  readonly reasons?: readonly OwnReason[];
  readonly content?: object;
  /** False: Plinth asks for it itself. */
  readonly isByCaller: boolean;
}

export interface RecordDeps {
  readonly wake: Pick<WakeUps, 'notify'>;
}

/** `isNew` is false if the same was asked for before, for the same reasons, and has not ended. */
export interface RecordedChange {
  readonly change: ChangeRow;
  readonly isNew: boolean;
}

/**
 * For work without a caller. Undefined: the campaign is removed or gone, or its app is in the trash and the change would not stop it.
 * Whoever locks an app and a campaign locks them in this order.
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

/** Within a transaction that has locked the app and the campaign. */
export async function addChange(
  db: Db,
  { wake }: RecordDeps,
  campaign: CampaignRow,
  { kind, reasons = [], content = {}, isByCaller }: NewChange,
  now: Date,
): Promise<RecordedChange> {
  const unfinished = await listUnfinishedChanges(db, campaign);
  const last = unfinished.findLast((each) => isStatusChange(each.kind));
  afterCommit(db, () => wake.notify(changeQueue));
  if (last?.kind === kind && reasons.every((reason) => last.reasons.includes(reason))) {
    await makeChangeDue(db, last);
    return { change: last, isNew: false };
  }
  if (kind === 'pause' && last?.kind === 'pause' && last.state === 'recorded') {
    const change = await saveChangeReasons(db, last, joinReasons(last.reasons, reasons));
    await makeChangeDue(db, change);
    await stopLaunch(db, { wake }, campaign, change, now);
    return { change, isNew: true };
  }
  if (isStatusChange(kind)) {
    for (const each of unfinished) if (isReplaceable(each)) await supersede(db, { wake }, each, now);
    await makeChangesDue(db, campaign); // those that waited for one of them
  }
  const change = await insertChange(db, campaign, {
    id: newId(),
    kind,
    // Of pauses that follow each other, the last one keeps the reasons of all.
    reasons: kind === 'pause' && last?.kind === 'pause' ? [...new Set([...last.reasons, ...reasons])] : [...reasons],
    content: JSON.stringify(content),
    is_by_caller: isByCaller,
    created_date: now,
  });
  if (isStop(kind)) await stopLaunch(db, { wake }, campaign, change, now);
  return { change, isNew: true };
}

/** Not while a request is under way: what is sent next must not overtake it. */
const isReplaceable = ({ kind, state }: ChangeRow): boolean =>
  (kind === 'pause' || kind === 'resume') && state !== 'sent';

export async function supersede(db: Db, { wake }: RecordDeps, change: ChangeRow, now: Date): Promise<void> {
  await endChange(db, change, 'superseded', null, now);
  afterCommit(db, () => wake.notify(toChangeTopic(change.id)));
}

/** A launch that has not ended looks for pauses and removals before it enables. They are carried out after it has ended. */
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
 * Until the change has ended, was sent without an answer, or could not be sent several times: it goes on, but nobody should wait for it.
 * Undefined: the campaign is gone, because its launch created nothing.
 */
export async function waitForChange(
  db: Db,
  { wake, times, shutdownSignal }: WaitDeps,
  { change }: RecordedChange,
  waitsUntil = performance.now() + times.callerWaitMs,
): Promise<ChangeRow | undefined> {
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toChangeTopic(change.id), idle.wake);
  // Of a change that others wait for already, only what happens from now on counts.
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
