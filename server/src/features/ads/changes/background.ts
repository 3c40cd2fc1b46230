// The change queue. A worker sends requested changes to the ad platform in order, and retries each until the
// platform responds.
//
//   state       meaning                                      worker action
//   recorded    nothing was sent                             waits for the launch and earlier changes, then sends it
//   sent        a request is in flight, or its worker was    acts on the response, or treats it as `unknown`
//               interrupted
//   unknown     a request got no response                    resends it every 15 seconds, with no second effect
//   applied     the platform has confirmed the change        none
//   refused     the change is not and will not be applied    none
//   superseded  a later pause, resume or removal wins        none
//
// A request that got no response may still arrive, even after a later change. The campaign is therefore watched for a
// minute (campaigns/watch.ts), and the latest change is resent if the platform's status differs.
import { auditService } from '../../../core/audit/audit.ts';
import type { Change, Reason } from '../../../gateways/ad-platform/index.ts';
import type { Outcome, Queue } from '../../../kit/background/queues/queue.ts';
import type { Job } from '../../../kit/background/workers/schedule.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import type { Clock } from '../../../kit/clock.ts';
import { afterCommit, transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import { accountClosed, isClosedBy } from '../accounts/closed.ts';
import { changeQueue, isStatusChange, isStop, supersede, toChangeTopic } from '../campaigns/record.ts';
import { presentReasons } from '../launch/failure.ts';
import { lockCampaign, saveCampaign } from '../store/campaigns.ts';
import {
  type ChangeRow,
  endChange,
  type FinalState,
  findChange,
  findCustomerId,
  findOpenLaunch,
  listUnfinishedChanges,
  lockAppOf,
  makeChangesDue,
  readHolds,
  recordSending,
  removeOldChanges,
  reviveChange,
  saveChangeState,
} from '../store/changes.ts';
import { appendStep, type Step } from '../store/journal.ts';
import type { CampaignRow } from '../store/rows.ts';
import type { AdsTimes } from '../times.ts';
import { type Kind, type KindDeps, kinds, type OutgoingChange, removedRow } from './kinds.ts';

export interface ChangeQueueDeps extends KindDeps {
  readonly times: AdsTimes;
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly clock: Clock;
}

export const createChangeQueue = (deps: ChangeQueueDeps): Queue<ChangeRow> => ({
  name: changeQueue,
  owner: 'workspace_id',
  byHand: {
    retry: 'The change has ended as refused. Request it again.',
    cancel: 'A change may have reached the ad platform already. Request the opposite change.',
  },
  // A run spends most of its time waiting for the platform.
  concurrency: 32,
  perOwner: 8,
  timeoutMs: 2 * deps.times.requestMs,
  // Higher than the default, because a rolling worker restart must not delay a pause.
  quarantineAfter: 5,
  // Retries never stop, because a campaign that should have stopped may still be spending.
  retryMs: (failures) => toResendMs(deps, failures),
  run: (change, { db }) => runChange(db, deps, change),
  async onDeadLetter(db, change) {
    if (isStatusChange(change.kind)) await reviveChange(db, change, crashedMs);
    else await refuseFailing(db, deps, change);
  },
});

export const changeJobs: readonly Job[] = [
  { name: 'remove old changes of campaigns', everyMs: 60 * 60 * 1000, run: removeOldChanges },
];

/** The delay after twenty worker crashes on the same change. */
const crashedMs = 60_000;
/**
 * The delay for a change that must wait for the launch or an earlier change. When that ends, it makes this change due,
 * unless a worker holds this change at that moment. The delay is therefore limited to the time already waited.
 */
const toWaitMs = ({ times, clock }: ChangeQueueDeps, { created_date }: ChangeRow): number =>
  Math.min(Math.max(minWaitMs, clock.now().getTime() - created_date.getTime()), Math.max(minWaitMs, times.reconcileMs));
const minWaitMs = 1_000;
/** After more failures than this, an update's content is assumed to be the cause. */
const maxFailures = 20;

const toResendMs = ({ times }: ChangeQueueDeps, failures: number): number =>
  times.resendMs[failures - 1] ?? times.reconcileMs;

async function runChange(db: Db, deps: ChangeQueueDeps, change: ChangeRow): Promise<Outcome> {
  try {
    const turn = await begin(db, deps, change);
    if (turn === 'ended') return {};
    if (turn === 'waits') return { runAgainInMs: toWaitMs(deps, change) };
    const answer = await send(db, deps, turn);
    return await settle(db, deps, turn, answer);
  } catch (error) {
    if (isStatusChange(change.kind) || change.failures < maxFailures) throw error;
    return await decide(db, change, async (db) => {
      await refuseFailing(db, deps, change);
      return {};
    });
  }
}

async function refuseFailing(db: Db, deps: ChangeQueueDeps, change: ChangeRow): Promise<void> {
  const now = deps.clock.now();
  const campaign = await lockCampaign(db, toCampaignKey(change));
  if (campaign !== undefined)
    await end(db, deps, { campaign, change, state: 'refused', failure: { code: 'internal_error' } }, now);
}

const toCampaignKey = ({ workspace_id, app_id, campaign_id }: ChangeRow) => ({ workspace_id, app_id, id: campaign_id });

/** A worker that has lost its claim writes nothing. */
const isOwn = (current: ChangeRow | undefined, claimed: ChangeRow): current is ChangeRow =>
  current?.ended_date === null && current.claims === claimed.claims && current.claimed_slot !== null;

// ---- before a request is sent

interface Turn extends OutgoingChange {
  readonly kind: Kind;
  /** Whether an earlier request for this change may have been applied. */
  readonly wasSent: boolean;
  /**
   * The reason not to send the change. The status is then only read, because an earlier request may have enabled the
   * campaign.
   */
  readonly obstacle: Obstacle | undefined;
  /** The request's deadline, on the `performance.now()` clock. */
  readonly notAfter: number;
}

type Obstacle = 'ad_platform_timeout' | 'workspace_billing_hold' | 'account_billing_hold';

const obstacleTexts: Readonly<Record<Obstacle, string>> = {
  ad_platform_timeout: 'The change was not confirmed in time and will not be sent again.',
  workspace_billing_hold: 'The change will not be sent, because the workspace is on billing hold.',
  account_billing_hold: 'The change will not be sent, because the account is on billing hold.',
};

/**
 * A resume expires, because no one expects a campaign to start spending that late. A hold may also have begun since the
 * resume was requested.
 */
async function findObstacle(
  db: Db,
  { times }: ChangeQueueDeps,
  change: ChangeRow,
  now: Date,
): Promise<Obstacle | undefined> {
  if (change.kind !== 'resume') return undefined;
  if (now.getTime() - change.created_date.getTime() > times.enableWithinMs) return 'ad_platform_timeout';
  const holds = await readHolds(db, change);
  if (holds?.is_workspace_on_hold) return 'workspace_billing_hold';
  return holds?.is_account_on_hold ? 'account_billing_hold' : undefined;
}

/** Records that the request is being sent, unless the change has ended or must wait. */
function begin(db: Db, deps: ChangeQueueDeps, claimed: ChangeRow): Promise<Turn | 'ended' | 'waits'> {
  const now = deps.clock.now();
  const notAfter = performance.now() + deps.times.requestMs;
  return transaction(db, async (db) => {
    const isGone = claimed.kind === 'resume' && (await lockAppOf(db, claimed))?.isGone;
    const campaign = await lockCampaign(db, toCampaignKey(claimed));
    const change = await findChange(db, claimed);
    if (campaign === undefined || !isOwn(change, claimed)) return 'ended';
    if (await mustWait(db, campaign, change)) return 'waits';
    if (change.state === 'sent') await recordInterruption(db, deps, campaign, change, now);
    if (await isReplaced(db, campaign, change)) {
      await supersede(db, deps, change, now);
      await wakeOthers(db, deps, campaign);
      return 'ended';
    }
    if (campaign.status === 'REMOVED' || isGone) {
      const state = change.kind === 'remove' ? 'applied' : 'refused';
      const code = campaign.status === 'REMOVED' ? 'campaign_removed' : 'app_not_found';
      await end(db, deps, { campaign, change, state, failure: state === 'refused' ? { code } : null }, now);
      return 'ended';
    }
    const kind = kinds[change.kind];
    const customerId = await findCustomerId(db, change);
    if (kind === undefined || customerId === null || campaign.platform_campaign_id === '')
      throw new Error(`can't send a change of kind ${change.kind}`);
    const obstacle = await findObstacle(db, deps, change, now);
    const wasSent = change.state !== 'recorded';
    return { change: await recordSending(db, change), campaign, customerId, kind, wasSent, obstacle, notAfter };
  });
}

/**
 * A pause or removal waits only for changes that could undo it. A pause does not wait for a removal that the platform
 * keeps refusing.
 */
async function mustWait(db: Db, campaign: CampaignRow, { kind, number }: ChangeRow): Promise<boolean> {
  if ((await findOpenLaunch(db, campaign)) !== undefined) return true;
  const earlier = (await listUnfinishedChanges(db, campaign)).filter((each) => each.number < number);
  const isPassed = (each: ChangeRow) => kind === 'pause' && each.kind === 'remove' && each.state !== 'sent';
  return earlier.some((each) => !isStop(kind) || (isStatusChange(each.kind) && !isPassed(each)));
}

/** A removal is final, so nothing replaces it. */
async function isReplaced(db: Db, campaign: CampaignRow, { kind, number }: ChangeRow): Promise<boolean> {
  if (kind !== 'pause' && kind !== 'resume') return false;
  const unfinished = await listUnfinishedChanges(db, campaign);
  return unfinished.some((each) => each.number > number && isStatusChange(each.kind));
}

async function recordInterruption(
  db: Db,
  deps: ChangeQueueDeps,
  campaign: CampaignRow,
  change: ChangeRow,
  now: Date,
): Promise<void> {
  await watch(db, deps, campaign, change, now);
  const detail = 'The worker was interrupted before the ad platform responded. The change may have been applied.';
  await writeStep(db, campaign, change, { outcome: 'unknown', platform_request_id: null, detail }, now);
}

// ---- the request and its response

async function send(db: Db, deps: ChangeQueueDeps, turn: Turn): Promise<Change<unknown>> {
  if (turn.obstacle === undefined) return turn.kind.send(db, deps, turn, { notAfter: turn.notAfter });
  const { campaigns } = deps.platform;
  const read = await campaigns.read(turn.customerId, turn.campaign.platform_campaign_id, deps.times.liveReadMs);
  if (read.outcome !== 'read') return read;
  if (read.result?.status === 'ENABLED') return { outcome: 'applied', result: {}, requestId: read.requestId };
  return { outcome: 'refused', reasons: [], requestId: read.requestId };
}

async function settle(db: Db, deps: ChangeQueueDeps, turn: Turn, answer: Change<unknown>): Promise<Outcome> {
  if (await isClosedBy(db, answer, turn.change)) return settleClosed(db, deps, turn);
  switch (answer.outcome) {
    case 'applied':
      return settleApplied(db, deps, turn, answer);
    case 'refused':
      return settleRefused(db, deps, turn, answer);
    case 'unknown':
      return settleUnknown(db, deps, turn, answer.requestId);
    case 'unavailable':
      return postpone(db, deps, turn, `the ad platform is unavailable: ${answer.reason}`);
  }
}

type AppliedChange = Extract<Change<unknown>, { outcome: 'applied' }>;
type RefusedChange = Extract<Change<unknown>, { outcome: 'refused' }>;

/** Runs `work` on the current rows, unless the change has ended or another worker has claimed it. */
function decide(
  db: Db,
  change: ChangeRow,
  work: (db: Db, campaign: CampaignRow) => Promise<Outcome>,
): Promise<Outcome> {
  return transaction(db, async (db) => {
    const campaign = await lockCampaign(db, toCampaignKey(change));
    if (campaign === undefined || !isOwn(await findChange(db, change), change)) return {};
    return work(db, campaign);
  });
}

function settleApplied(
  db: Db,
  deps: ChangeQueueDeps,
  turn: Turn,
  { result, requestId }: AppliedChange,
): Promise<Outcome> {
  const now = deps.clock.now();
  return decide(db, turn.change, async (db, campaign) => {
    const { kind, change } = turn;
    const sending = { ...turn, campaign };
    await writeStep(
      db,
      campaign,
      change,
      { outcome: 'applied', platform_request_id: requestId, detail: kind.done },
      now,
    );
    // A pause may be confirmed just after a removal, which is final.
    if (campaign.status !== 'REMOVED')
      await saveCampaign(db, campaign, { ...kind.toRow(sending, now), updated_date: now });
    await kind.record?.(db, sending, result, now);
    await end(db, deps, { campaign, change, state: 'applied', failure: null, wasUnknown: turn.wasSent }, now);
    return {};
  });
}

/** In a closed account, a stop has already taken effect and no other change is possible. */
function settleClosed(db: Db, deps: ChangeQueueDeps, turn: Turn): Promise<Outcome> {
  const now = deps.clock.now();
  return decide(db, turn.change, async (db, campaign) => {
    const { change, kind, wasSent } = turn;
    await writeStep(
      db,
      campaign,
      change,
      { outcome: 'refused', platform_request_id: null, detail: accountClosed },
      now,
    );
    const isDone = isStop(change.kind);
    if (isDone && campaign.status !== 'REMOVED') {
      await saveCampaign(db, campaign, { ...kind.toRow({ ...turn, campaign }, now), updated_date: now });
      await kind.record?.(db, { ...turn, campaign }, {}, now);
    }
    const platform_reasons = [{ code: 'SERVICE_ACCOUNT_CLOSED', message: accountClosed }];
    const failure = isDone ? null : { code: 'platform_rejected', platform_reasons };
    await end(db, deps, { campaign, change, state: isDone ? 'applied' : 'refused', failure, wasUnknown: wasSent }, now);
    return {};
  });
}

function settleUnknown(db: Db, deps: ChangeQueueDeps, turn: Turn, requestId: string | null): Promise<Outcome> {
  const now = deps.clock.now();
  return decide(db, turn.change, async (db, campaign) => {
    const { change } = turn;
    await watch(db, deps, campaign, change, now);
    const detail = 'The ad platform did not respond. The change may have been applied.';
    await writeStep(db, campaign, change, { outcome: 'unknown', platform_request_id: requestId, detail }, now);
    return keep(db, deps, { turn, campaign, state: 'unknown', outcome: { runAgainInMs: deps.times.reconcileMs } });
  });
}

/**
 * If the campaign already has the requested status, an earlier request was applied. A removed campaign can't be
 * changed. Any other refusal of a pause or removal is treated as temporary.
 */
async function settleRefused(db: Db, deps: ChangeQueueDeps, turn: Turn, answer: RefusedChange): Promise<Outcome> {
  const { change, customerId } = turn;
  const busy = answer.reasons.find(({ kind }) => kind === 'busy');
  if (busy !== undefined) return postpone(db, deps, turn, describeReasons(answer.reasons), busy.retryAfterMs);
  const { campaigns } = deps.platform;
  const read = await campaigns.read(customerId, turn.campaign.platform_campaign_id, deps.times.liveReadMs);
  if (read.outcome !== 'read') return postpone(db, deps, turn, describeReasons(answer.reasons));
  const status = read.result?.status;
  if (status !== undefined && status === turn.kind.status)
    return settleApplied(db, deps, turn, { outcome: 'applied', result: {}, requestId: read.requestId });
  // Only the status `REMOVED` proves a removal. A campaign that is not found now may be found later.
  const isRemoved = status === 'REMOVED';
  const isUnread = status === undefined && change.kind === 'resume' && turn.obstacle === undefined;
  if (isUnread || (!isRemoved && isStop(change.kind))) return postpone(db, deps, turn, describeReasons(answer.reasons));
  const now = deps.clock.now();
  return decide(db, turn.change, async (db, campaign) => {
    const detail = turn.obstacle === undefined ? describeReasons(answer.reasons) : obstacleTexts[turn.obstacle];
    const outcome = turn.obstacle === undefined ? 'refused' : 'skipped';
    await writeStep(db, campaign, change, { outcome, platform_request_id: answer.requestId, detail }, now);
    if (isRemoved) {
      await saveCampaign(db, campaign, { ...removedRow, updated_date: now });
      await kinds.remove?.record?.(db, { ...turn, campaign }, {}, now);
    }
    await end(
      db,
      deps,
      {
        campaign,
        change,
        state: 'refused',
        failure: toFailure(turn, isRemoved, answer.reasons),
        wasUnknown: turn.wasSent,
      },
      now,
    );
    return {};
  });
}

function toFailure({ obstacle }: Turn, isRemoved: boolean, reasons: readonly Reason[]): object {
  if (isRemoved) return { code: 'campaign_removed' };
  if (obstacle !== undefined) return { code: obstacle };
  return { code: 'platform_rejected', platform_reasons: presentReasons(reasons) };
}

const describeReasons = (reasons: readonly Reason[]): string =>
  `The ad platform rejected the change: ${reasons.map(({ code }) => code).join(', ')}.`;

/** Used when this request changed nothing. */
function postpone(
  db: Db,
  deps: ChangeQueueDeps,
  turn: Turn,
  error: string,
  afterMs = toResendMs(deps, turn.change.failures + 1),
): Promise<Outcome> {
  return decide(db, turn.change, (db, campaign) =>
    keep(db, deps, {
      turn,
      campaign,
      state: turn.wasSent ? 'unknown' : 'recorded',
      outcome: { error, runAgainInMs: afterMs },
    }),
  );
}

/** Keeps the change for a later run, unless a newer change has replaced it. */
async function keep(
  db: Db,
  deps: ChangeQueueDeps,
  {
    turn: { change },
    campaign,
    state,
    outcome,
  }: {
    readonly turn: Turn;
    readonly campaign: CampaignRow;
    readonly state: 'recorded' | 'unknown';
    readonly outcome: Outcome;
  },
): Promise<Outcome> {
  if (await isReplaced(db, campaign, change)) {
    await supersede(db, deps, change, deps.clock.now());
    await wakeOthers(db, deps, campaign);
    return {};
  }
  await saveChangeState(db, change, state);
  afterCommit(db, () => deps.wake.notify(toChangeTopic(change.id)));
  return outcome;
}

// ---- writes

async function end(
  db: Db,
  deps: ChangeQueueDeps,
  {
    campaign,
    change,
    state,
    failure,
    wasUnknown = false,
  }: {
    readonly campaign: CampaignRow;
    readonly change: ChangeRow;
    readonly state: FinalState;
    readonly failure: { readonly code: string } | object | null;
    readonly wasUnknown?: boolean;
  },
  now: Date,
): Promise<void> {
  await endChange(db, change, state, failure, now);
  const { workspace_id, app_id } = campaign;
  const type = wasUnknown ? 'ads.reconciled' : 'ads.campaign.changed';
  const after = { kind: change.kind, state, ...(change.reasons.length > 0 && { reasons: change.reasons }) };
  const target = { kind: 'ads_campaign', id: campaign.id };
  await auditService(db, workspace_id, { type, target, app_id, after }, now);
  await wakeOthers(db, deps, campaign);
  afterCommit(db, () => deps.wake.notify(toChangeTopic(change.id)));
}

/** Wakes the changes that were waiting for this one. */
async function wakeOthers(db: Db, { wake }: ChangeQueueDeps, campaign: CampaignRow): Promise<void> {
  await makeChangesDue(db, campaign);
  afterCommit(db, () => wake.notify(changeQueue));
}

/** Watches the campaign, because the request may still arrive. */
async function watch(
  db: Db,
  { times }: ChangeQueueDeps,
  campaign: CampaignRow,
  { kind }: ChangeRow,
  now: Date,
): Promise<void> {
  if (!isStatusChange(kind)) return;
  await saveCampaign(db, campaign, { watched_until: new Date(now.getTime() + times.watchMs) });
}

const writeStep = (db: Db, campaign: CampaignRow, { kind }: ChangeRow, step: Omit<Step, 'name'>, now: Date) =>
  appendStep(db, campaign, { name: kinds[kind]?.step ?? 'update', ...step }, now);
