// Owns the queue of changes: a worker sends what was asked for to the ad platform, in the order of the requests, until the platform has
// answered.
//
//   state       what is true                                 what a worker does
//   recorded    nothing was sent                             waits for the launch and earlier changes, then sends it
//   sent        a request is under way, or a worker was      the answer decides; without one, as `unknown`
//               interrupted
//   unknown     a request had no answer                      sends it again every 15 seconds, which has no second effect
//   applied     the platform has confirmed it                –
//   refused     it is not applied, and will not be           –
//   superseded  a later pause, resume or removal counts      –
//
// A request without an answer may still arrive later, even after a later change. So the campaign is then watched for a minute
// (watch.ts), and what was asked for last is sent again if the platform has something else.
import { auditService } from '../../../core/audit/audit.ts';
import type { Change, Reason } from '../../../gateways/ad-platform/index.ts';
import type { Outcome, Queue } from '../../../kit/background/queues/queue.ts';
import type { Job } from '../../../kit/background/workers/schedule.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import type { Clock } from '../../../kit/clock.ts';
import { afterCommit, transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import { accountClosed, isClosedBy } from '../accounts/closed.ts';
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
import type { AdsTimes } from '../times.ts';
import type { CampaignRow } from './contract.ts';
import { type Kind, type KindDeps, kinds, type OutgoingChange, removedRow } from './kinds.ts';
import { changeQueue, isStatusChange, isStop, supersede, toChangeTopic } from './record.ts';

export interface ChangeQueueDeps extends KindDeps {
  readonly times: AdsTimes;
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly clock: Clock;
}

export const createChangeQueue = (deps: ChangeQueueDeps): Queue<ChangeRow> => ({
  name: changeQueue,
  owner: 'workspace_id',
  // A run mostly waits for the platform.
  concurrency: 32,
  perOwner: 8,
  timeoutMs: 2 * deps.times.requestMs,
  // Workers that are replaced one after the other must not delay a pause.
  quarantineAfter: 5,
  // For ever: a campaign that somebody wanted to stop may be spending.
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

/** After workers crashed twenty times while they ran it. */
const crashedMs = 60_000;
/**
 * For what another change or the launch has to end before. Whoever ends it makes this one due at once, unless a worker has it at that
 * moment: then it waits no longer than it has waited already.
 */
const toWaitMs = ({ times, clock }: ChangeQueueDeps, { created_date }: ChangeRow): number =>
  Math.min(Math.max(minWaitMs, clock.now().getTime() - created_date.getTime()), Math.max(minWaitMs, times.reconcileMs));
const minWaitMs = 1_000;
/** An update that fails more often than this fails because of what it contains. */
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
  if (campaign !== undefined) await end(db, deps, campaign, change, 'refused', { code: 'internal_error' }, now);
}

const toCampaignKey = ({ workspace_id, app_id, campaign_id }: ChangeRow) => ({ workspace_id, app_id, id: campaign_id });

/** A worker that has lost its claim writes nothing. */
const isOwn = (current: ChangeRow | undefined, claimed: ChangeRow): current is ChangeRow =>
  current?.ended_date === null && current.claims === claimed.claims && current.claimed_slot !== null;

// ---- before a request is sent

interface Turn extends OutgoingChange {
  readonly kind: Kind;
  /** An earlier request of this change may have been applied. */
  readonly wasSent: boolean;
  /** Why it is not sent any more: whether an earlier request has enabled the campaign is only read. */
  readonly obstacle: Obstacle | undefined;
  /** Nothing is sent after this time (`performance.now()`). */
  readonly notAfter: number;
}

type Obstacle = 'ad_platform_timeout' | 'workspace_billing_hold' | 'account_billing_hold';

const obstacleTexts: Readonly<Record<Obstacle, string>> = {
  ad_platform_timeout: 'It could not be sent in time, and is not sent any more.',
  workspace_billing_hold: 'It is not sent, because the workspace is on billing hold.',
  account_billing_hold: 'It is not sent, because the account is on billing hold.',
};

/** Nobody expects a campaign to begin to spend so late. A hold may have begun since somebody asked for it. */
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

/** Commits that a request is sent, unless the change has ended or has to wait. */
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
      await end(db, deps, campaign, change, state, state === 'refused' ? { code } : null, now);
      return 'ended';
    }
    const kind = kinds[change.kind];
    const customerId = await findCustomerId(db, change);
    if (kind === undefined || customerId === null || campaign.platform_campaign_id === '')
      throw new Error(`can't send a change of the kind ${change.kind}`);
    const obstacle = await findObstacle(db, deps, change, now);
    const wasSent = change.state !== 'recorded';
    return { change: await recordSending(db, change), campaign, customerId, kind, wasSent, obstacle, notAfter };
  });
}

/** A pause and a removal wait only for what could undo them, and a pause not for a removal that the platform keeps refusing. */
async function mustWait(db: Db, campaign: CampaignRow, { kind, number }: ChangeRow): Promise<boolean> {
  if ((await findOpenLaunch(db, campaign)) !== undefined) return true;
  const earlier = (await listUnfinishedChanges(db, campaign)).filter((each) => each.number < number);
  const isPassed = (each: ChangeRow) => kind === 'pause' && each.kind === 'remove' && each.state !== 'sent';
  return earlier.some((each) => !isStop(kind) || (isStatusChange(each.kind) && !isPassed(each)));
}

/** A removal is final, and nothing replaces it. */
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
  const detail = 'The worker that sent it was interrupted before there was an answer. It may have been applied.';
  await writeStep(db, campaign, change, { outcome: 'unknown', platform_request_id: null, detail }, now);
}

// ---- the request and its answer

async function send(db: Db, deps: ChangeQueueDeps, turn: Turn): Promise<Change<unknown>> {
  if (turn.obstacle === undefined) return turn.kind.send(db, deps, turn, { notAfter: turn.notAfter });
  const { campaigns } = deps.platform;
  const read = await campaigns.read(turn.customerId, turn.campaign.platform_campaign_id, deps.times.liveReadMs);
  if (read.outcome !== 'read') return read;
  if (read.result?.status === 'ENABLED') return { outcome: 'applied', result: {}, requestId: read.requestId };
  return { outcome: 'refused', reasons: [], requestId: read.requestId };
}

async function settle(db: Db, deps: ChangeQueueDeps, turn: Turn, answer: Change<unknown>): Promise<Outcome> {
  if (await isClosedBy(answer, db, turn.change)) return settleClosed(db, deps, turn);
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

/** Runs `work` with the rows as they are now, unless the change has ended, or another worker has it. */
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
    // A pause may be confirmed just after a removal that was sent meanwhile, which is final.
    if (campaign.status !== 'REMOVED')
      await saveCampaign(db, campaign, { ...kind.toRow(sending, now), updated_date: now });
    await kind.record?.(db, sending, result, now);
    await end(db, deps, campaign, change, 'applied', null, now, turn.wasSent);
    return {};
  });
}

/** The account is closed: what was to be stopped is, and nothing else can be changed. */
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
    await end(db, deps, campaign, change, isDone ? 'applied' : 'refused', failure, now, wasSent);
    return {};
  });
}

function settleUnknown(db: Db, deps: ChangeQueueDeps, turn: Turn, requestId: string | null): Promise<Outcome> {
  const now = deps.clock.now();
  return decide(db, turn.change, async (db, campaign) => {
    const { change } = turn;
    await watch(db, deps, campaign, change, now);
    const detail = 'There was no answer. It may have been applied.';
    await writeStep(db, campaign, change, { outcome: 'unknown', platform_request_id: requestId, detail }, now);
    return keep(db, deps, turn, campaign, 'unknown', { runAgainInMs: deps.times.reconcileMs });
  });
}

/**
 * A campaign that has what was asked for has it by an earlier request, and one that is removed can't be changed. Other refusals of a
 * pause or a removal can only pass.
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
  // Only the word says so: what is not found may be found later.
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
    await end(db, deps, campaign, change, 'refused', toFailure(turn, isRemoved, answer.reasons), now, turn.wasSent);
    return {};
  });
}

function toFailure({ obstacle }: Turn, isRemoved: boolean, reasons: readonly Reason[]): object {
  if (isRemoved) return { code: 'campaign_removed' };
  if (obstacle !== undefined) return { code: obstacle };
  return { code: 'platform_rejected', platform_reasons: presentReasons(reasons) };
}

const describeReasons = (reasons: readonly Reason[]): string =>
  `The ad platform refused it: ${reasons.map(({ code }) => code).join(', ')}.`;

/** Nothing was applied by this request. */
function postpone(
  db: Db,
  deps: ChangeQueueDeps,
  turn: Turn,
  error: string,
  afterMs = toResendMs(deps, turn.change.failures + 1),
): Promise<Outcome> {
  return decide(db, turn.change, (db, campaign) =>
    keep(db, deps, turn, campaign, turn.wasSent ? 'unknown' : 'recorded', { error, runAgainInMs: afterMs }),
  );
}

/** The change goes on later, unless a later one counts by now. */
async function keep(
  db: Db,
  deps: ChangeQueueDeps,
  { change }: Turn,
  campaign: CampaignRow,
  state: 'recorded' | 'unknown',
  outcome: Outcome,
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

// ---- what is written

async function end(
  db: Db,
  deps: ChangeQueueDeps,
  campaign: CampaignRow,
  change: ChangeRow,
  state: FinalState,
  failure: { readonly code: string } | object | null,
  now: Date,
  wasUnknown = false,
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

/** Changes that waited for this one. */
async function wakeOthers(db: Db, { wake }: ChangeQueueDeps, campaign: CampaignRow): Promise<void> {
  await makeChangesDue(db, campaign);
  afterCommit(db, () => wake.notify(changeQueue));
}

/** The request may still arrive. */
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
