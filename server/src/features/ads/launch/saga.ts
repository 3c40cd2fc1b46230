// A launch's states (docs/internals/launches.md). A worker runs a launch from its recorded state to its end, and
// records each request before sending it. A launch found in a `…_sent` state was therefore interrupted, and its request
// may have been applied. A campaign is created paused, and is enabled only after our row has its id.
//
//   state           action                                                next state
//   recorded        find the account, or record its request as sent       account_ready, account_sent
//   account_sent    create the account, or find it by name                account_ready, refused, account_sent
//   account_ready   fetch images, dry run, record create_sent, send       created, unknown (create), refused
//   create_sent     none, because the worker was interrupted              unknown (create)
//   unknown create  find the campaign by name                             created, or absent after three empty reads
//   created         check for obstacles, record enable_sent, send         live, held, unknown (enable)
//   enable_sent     none, because the worker was interrupted              unknown (enable)
//   unknown enable  read the status, resend while it is early enough      live, held, unknown (enable)
import type { Change, NewCampaign, PlatformCampaign, PlatformCampaigns } from '../../../gateways/ad-platform/index.ts';
import type { Outcome } from '../../../kit/background/queues/queue.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import type { FairGate } from '../../../kit/fair-gate.ts';
import type { Db } from '../../../tables.ts';
import { type AccountDeps, settleAccount } from '../accounts/account.ts';
import { accountClosed, isClosedBy } from '../accounts/closed.ts';
import type { OwnReason } from '../campaigns/contract.ts';
import { toPlatformName } from '../rules/name.ts';
import { findAccount } from '../store/accounts.ts';
import type { LaunchRow, Obstacles } from '../store/launches.ts';
import { isReady, type ReadyAccount } from '../store/rows.ts';
import type { AdsTimes } from '../times.ts';
import type { LaunchContent } from './content.ts';
import { fromProblem, toFailure } from './failure.ts';
import { collectImages, hasImages, type ImageDeps, ImageFault } from './images.ts';
import { createRecorder, type Recorder } from './record.ts';

export interface SagaDeps extends AccountDeps, ImageDeps {
  readonly platform: AccountDeps['platform'] & { readonly campaigns: PlatformCampaigns };
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly times: AdsTimes;
  /** Limits concurrent launches with images, because images use a lot of memory. */
  readonly imageGate: FairGate;
}

/**
 * The launch in its next state, or the delay before it is rerun in the same state. Undefined if another worker has
 * claimed it.
 */
type Next = { readonly launch: LaunchRow } | { readonly againInMs: number } | undefined;

interface Run {
  readonly db: Db;
  readonly deps: SagaDeps;
  readonly launch: LaunchRow;
  readonly record: Recorder;
  readonly signal: AbortSignal;
}

/** Runs a launch until it ends or has to wait. */
export async function runLaunch(db: Db, deps: SagaDeps, claimed: LaunchRow, signal: AbortSignal): Promise<Outcome> {
  let launch = claimed;
  while (launch.ended_date === null) {
    signal.throwIfAborted();
    const next = await step({ db, deps, launch, record: createRecorder(db, deps, launch), signal });
    if (next === undefined) return {};
    if ('againInMs' in next) return { runAgainInMs: next.againInMs };
    launch = next.launch;
  }
  return {};
}

function step(run: Run): Promise<Next> {
  switch (run.launch.state) {
    case 'recorded':
    case 'account_sent':
      return ensureAccount(run);
    case 'account_ready':
      return create(run);
    case 'create_sent':
      return goOn(run.record.unknown('create'));
    case 'created':
      return enable(run);
    case 'enable_sent':
      return goOn(run.record.unknown('enable'));
    case 'unknown':
      return run.launch.unknown_request === 'create' ? findCreated(run) : readEnabled(run);
    default:
      return Promise.resolve(undefined);
  }
}

const goOn = async (moved: Promise<LaunchRow | undefined>): Promise<Next> => {
  const launch = await moved;
  return launch && { launch };
};

/** Postpones reading the platform, because a caller is waiting to learn that the outcome is unknown. */
const waitAfter = async ({ deps }: Run, moved: Promise<LaunchRow | undefined>): Promise<Next> =>
  (await moved) && { againInMs: deps.times.reconcileMs };

/** The cast is safe, because only `recordLaunch` writes this column. */
const contentOf = ({ content }: LaunchRow): LaunchContent => content as unknown as LaunchContent;

const accountOf = (db: Db, { workspace_id, app_id }: LaunchRow) =>
  findAccount(db, { app: { workspace_id, id: app_id } });

// ---- the account

async function ensureAccount(run: Run): Promise<Next> {
  const { db, deps, launch, record } = run;
  const obstacles = await record.readObstacles();
  if (obstacles === undefined || obstacles.is_app_deleted) return goOn(record.refuse({ code: 'app_not_found' }));
  const row = await accountOf(db, launch);
  if (row === undefined) return goOn(record.refuse({ code: 'ad_platform_unavailable' }));
  if (isReady(row)) return accept(run, row, false);
  if (launch.state === 'recorded') return goOn(record.move({ state: 'account_sent' }));
  const terms =
    row.state === 'recorded' ? { timezone: launch.timezone, currency_code: contentOf(launch).currency_code } : {};
  try {
    const now = deps.clock.now();
    const settled = await settleAccount(db, deps, { ...row, ...terms }, record.auditChange, now);
    if (settled !== undefined) return await accept(run, settled.account, settled.isNew);
  } catch (error) {
    const failure = fromProblem(error);
    if (failure === undefined) throw error;
    return goOn(record.refuse(failure, { name: 'account', outcome: 'refused', detail: failure.code }));
  }
  if (row.state === 'recorded')
    await record.note({ name: 'account', outcome: 'unknown', detail: 'The account request got no response.' });
  return { againInMs: deps.times.reconcileMs };
}

/** An existing account's currency may differ from the currency that the budget was checked in. */
function accept({ launch, record }: Run, account: ReadyAccount, isNew: boolean): Promise<Next> {
  const { currency_code } = contentOf(launch);
  if (account.currency_code !== currency_code) {
    const message = `The account's currency is ${account.currency_code}, but the budget is in ${currency_code}. Send the budget in the account's currency.`;
    const platform_reasons = [{ code: 'SERVICE_CURRENCY_DIFFERS', message }];
    const failure = { code: 'platform_rejected', platform_reasons, account_created: true } as const;
    return goOn(record.refuse(failure, { name: 'account', outcome: 'refused', detail: message }));
  }
  const detail = isNew ? 'The account was created.' : 'The app already has an account.';
  const change = { state: 'account_ready', ...(isNew && { account_created: true }) } as const;
  return goOn(record.move(change, { name: 'account', outcome: isNew ? 'applied' : 'skipped', detail }));
}

// ---- creating

async function create(run: Run): Promise<Next> {
  const { deps, launch } = run;
  if (!hasImages(contentOf(launch))) return sendCreation(run);
  const leave = await deps.imageGate.enter(launch.workspace_id);
  try {
    return await sendCreation(run);
  } finally {
    leave();
  }
}

async function sendCreation(run: Run): Promise<Next> {
  const { db, deps, launch, record } = run;
  const account = await accountOf(db, launch);
  if (account === undefined || !isReady(account)) return goOn(record.refuse({ code: 'ad_platform_unavailable' }));
  const campaign = await compose(run);
  if ('launch' in campaign) return campaign;
  const customerId = account.platform_customer_id;
  const { campaigns } = deps.platform;
  const checked = await campaigns.create(customerId, campaign, { validateOnly: true });
  if (isDuplicate(checked)) return goOn(record.unknown('create', toStep('dry_run', checked)));
  if (checked.outcome !== 'applied') return refuse(run, 'dry_run', checked);
  await record.note(toStep('dry_run', checked));
  // Other workers search for the campaign after this time. By then this request has been sent, or never will be.
  const notAfter = performance.now() + deps.times.requestMs;
  const sent = await record.sendCreate();
  if (sent === undefined) return undefined;
  const made = await campaigns.create(customerId, campaign, { notAfter });
  const { record: recordSent } = continueWith(run, sent);
  if (made.outcome === 'applied')
    return goOn(recordSent.created({ id: made.result.campaignId, status: 'PAUSED' }, toStep('create', made)));
  if (isDuplicate(made)) return goOn(recordSent.unknown('create', toStep('create', made)));
  if (made.outcome === 'unknown') return waitAfter(run, recordSent.unknown('create', toStep('create', made)));
  return refuse(continueWith(run, sent), 'create', made);
}

const continueWith = (run: Run, launch: LaunchRow): Run => ({
  ...run,
  launch,
  record: createRecorder(run.db, run.deps, launch),
});

/** Returns the campaign with its images, or the ended launch if the images can't be fetched. */
async function compose({ db, deps, launch, record, signal }: Run): Promise<NewCampaign | { launch: LaunchRow }> {
  const content = contentOf(launch);
  try {
    const images = await collectImages(db, deps, launch, content, signal);
    const row = await record.readCampaign();
    if (hasImages(content))
      await record.note({ name: 'images', outcome: 'applied', detail: 'The images were fetched.' });
    return { ...content.campaign, ...images, name: toPlatformName(row.campaign_name, launch.launch_key) };
  } catch (error) {
    if (!(error instanceof ImageFault)) throw error;
    const failure = { code: 'platform_rejected', platform_reasons: [error.reason], account_created: true } as const;
    const ended = await record.refuse(failure, { name: 'images', outcome: 'refused', detail: error.message });
    if (ended === undefined) throw new Error('another worker has claimed the launch');
    return { launch: ended };
  }
}

/** Used when nothing was created, because the request was refused, was certainly not sent, or was only a dry run. */
function refuse({ record }: Run, name: 'dry_run' | 'create', change: Change<unknown>): Promise<Next> {
  const failure =
    change.outcome === 'refused' ? toFailure(change.reasons) : ({ code: 'ad_platform_unavailable' } as const);
  return goOn(record.refuse(failure, toStep(name, change)));
}

const isDuplicate = (change: Change<unknown>): boolean =>
  change.outcome === 'refused' && change.reasons.some(({ kind }) => kind === 'duplicate_name');

/** Names are unique among campaigns that have not been removed. */
async function findCreated(run: Run): Promise<Next> {
  const { db, deps, launch, record } = run;
  const account = await accountOf(db, launch);
  const { campaign_name } = await record.readCampaign();
  const name = toPlatformName(campaign_name, launch.launch_key);
  const found = await deps.platform.campaigns.findByName(account?.platform_customer_id ?? '', name);
  if (await isClosedBy(db, found, launch))
    return goOn(record.absent({ name: 'find_by_name', outcome: 'refused', detail: accountClosed }));
  if (found.outcome !== 'read') return { againInMs: deps.times.reconcileMs };
  const [campaign] = found.result;
  const step = { name: 'find_by_name', platform_request_id: found.requestId } as const;
  if (campaign !== undefined)
    return goOn(
      record.created(toFound(campaign), { ...step, outcome: 'applied', detail: 'The campaign was created.' }),
    );
  return countEmptyRead(run, { ...step, outcome: 'applied', detail: 'The platform has no campaign with this name.' });
}

/**
 * Counts at most one empty read per `reconcileMs`. The last read counts only when none of our requests can still be in
 * flight.
 */
async function countEmptyRead({ deps, launch, record }: Run, step: Parameters<Recorder['note']>[0]): Promise<Next> {
  const { reconcileMs, requestMs, emptyReads } = deps.times;
  const now = deps.clock.now();
  const sentAt = (launch.sent_at ?? launch.created_date).getTime();
  const lastCounted = launch.read_at?.getTime() ?? sentAt;
  if (now.getTime() - lastCounted < reconcileMs - toleranceMs) return { againInMs: reconcileMs };
  const count = launch.empty_reads + 1;
  if (count >= emptyReads && now.getTime() - sentAt >= requestMs) return goOn(record.absent(step));
  const counted = await record.move({ read_at: now, empty_reads: count }, step);
  return counted && { againInMs: reconcileMs };
}

/** Needed because the database's clock decides when a launch is due, while our clock records when it was read. */
const toleranceMs = 50;

// ---- enabling

async function enable(run: Run): Promise<Next> {
  const { db, deps, launch, record } = run;
  const account = await accountOf(db, launch);
  const notAfter = performance.now() + deps.times.requestMs;
  // Decided under the campaign's lock. A pause that is recorded later waits for the launch to end.
  const sent = await record.enableUnless((obstacles) => listReasons(run, obstacles));
  if (sent === undefined || sent.ended_date !== null) return sent && { launch: sent };
  const { platform_campaign_id } = await record.readCampaign();
  const customerId = account?.platform_customer_id ?? '';
  const set = await deps.platform.campaigns.setStatus(customerId, platform_campaign_id, 'ENABLED', { notAfter });
  return recordEnabling(run, sent, set);
}

/** `run` holds the launch as it was before the request was sent. */
async function recordEnabling(run: Run, sent: LaunchRow, set: Change<unknown>): Promise<Next> {
  const { times, clock } = run.deps;
  const { record } = continueWith(run, sent);
  const step = toStep('enable', set);
  if (set.outcome === 'applied') return goOn(record.live(step));
  const isBusy = set.outcome === 'refused' && set.reasons.some(({ kind }) => kind === 'busy');
  if (set.outcome === 'refused' && !isBusy) return goOn(record.hold(['SERVICE_LAUNCH_UNCONFIRMED'], step));
  // This request or an earlier one may have been applied.
  if (set.outcome === 'unknown' || run.launch.state === 'unknown')
    return waitAfter(run, record.unknown('enable', step));
  const back = await record.notEnabled(step);
  const isAwaited = clock.now().getTime() - run.launch.created_date.getTime() < times.callerWaitMs;
  return back && { againInMs: (isAwaited && times.resendMs[0]) || times.reconcileMs };
}

/** The reasons to keep the campaign paused. Empty if it may be enabled. */
function listReasons({ deps, launch }: Run, obstacles: Obstacles): OwnReason[] {
  const age = deps.clock.now().getTime() - launch.created_date.getTime();
  const own: readonly (readonly [boolean, OwnReason])[] = [
    [launch.start_paused, 'SERVICE_PAUSED_BY_USER'],
    [!obstacles.is_tracking_verified, 'SERVICE_TRACKING_PENDING'],
    [obstacles.is_workspace_on_hold || obstacles.is_account_on_hold, 'SERVICE_BILLING_HOLD'],
    [obstacles.is_app_deleted, 'SERVICE_APP_DELETED'],
    [age > deps.times.enableWithinMs, 'SERVICE_LAUNCH_UNCONFIRMED'],
  ];
  const asked = (obstacles.stop_reasons ?? []) as readonly OwnReason[];
  return [...new Set([...asked, ...own.filter(([applies]) => applies).map(([, reason]) => reason)])];
}

/** The request may have been applied, or may still arrive. Enabling twice is harmless. */
async function readEnabled(run: Run): Promise<Next> {
  const { db, deps, launch, record } = run;
  const account = await accountOf(db, launch);
  const { platform_campaign_id } = await record.readCampaign();
  const read = await deps.platform.campaigns.read(account?.platform_customer_id ?? '', platform_campaign_id);
  if (await isClosedBy(db, read, launch)) {
    const refused = { name: 'read_status', outcome: 'refused', detail: accountClosed } as const;
    return goOn(record.hold(['SERVICE_LAUNCH_UNCONFIRMED'], refused));
  }
  if (read.outcome !== 'read') return leaveToStop(run);
  // Only the status `REMOVED` proves a removal. A campaign that is not found now may be found later.
  if (read.result === null) return leaveToStop(run);
  const step = { name: 'read_status', platform_request_id: read.requestId, outcome: 'applied' } as const;
  const { status } = read.result;
  if (status === 'ENABLED') return goOn(record.live({ ...step, detail: 'The campaign is enabled.' }));
  if (status === 'REMOVED')
    return goOn(record.removed({ ...step, detail: 'The campaign was removed on the platform.' }));
  await record.note({ ...step, detail: 'The campaign is paused.' });
  return enable(run);
}

/**
 * Ends the launch if a pause or removal is waiting for it. That change decides the status, whether or not enabling
 * succeeded.
 */
async function leaveToStop({ deps, record }: Run): Promise<Next> {
  const obstacles = await record.readObstacles();
  if (!obstacles?.stop_reasons) return { againInMs: deps.times.reconcileMs };
  const detail = 'Plinth could not check whether the campaign is enabled. It will be paused or removed, as requested.';
  return goOn(record.leaveEnabled({ name: 'read_status', outcome: 'unknown', detail }));
}

const toFound = ({ id, status }: PlatformCampaign) =>
  ({ id, status: status === 'ENABLED' ? 'ENABLED' : 'PAUSED' }) as const;

// ---- journal steps

type JournalStep = Parameters<Recorder['note']>[0];

function toStep(name: JournalStep['name'], change: Change<unknown>): JournalStep {
  if (change.outcome === 'unavailable')
    return { name, outcome: 'skipped', detail: 'The platform could not be reached. Nothing was sent.' };
  const platform_request_id = change.requestId;
  if (change.outcome === 'applied')
    return { name, outcome: 'applied', platform_request_id, detail: details[name] ?? '' };
  if (change.outcome === 'unknown')
    return { name, outcome: 'unknown', platform_request_id, detail: 'The platform did not respond.' };
  const detail = change.reasons
    .map(({ code, message }) => `${code}: ${message}`)
    .join(' ')
    .slice(0, 1_000);
  return { name, outcome: 'refused', platform_request_id, detail };
}

const details: Readonly<Partial<Record<JournalStep['name'], string>>> = {
  dry_run: 'The platform validated the campaign.',
  create: 'The campaign was created and is paused.',
  enable: 'The campaign was enabled.',
};
