// Owns the states of a launch (docs/internals/launches.md). A worker runs a launch from its recorded state to its end. Before it sends
// something, it records that it does; so a launch that is found in a state `…_sent` was interrupted, and its request may have been
// applied. A campaign is created paused, and enabled only when our row has its id.
//
//   state           what is done                                         what follows
//   recorded        look for the account, or record that it is sent      account_ready, account_sent
//   account_sent    create the account, or look for it by its name       account_ready, refused; not known: account_sent
//   account_ready   fetch the images, dry run, record create_sent, send  created, unknown (create), refused
//   create_sent     interrupted                                          unknown (create)
//   unknown create  find the campaign by its name                        created; after three empty reads absent
//   created         look for what forbids it; record enable_sent, send   live, held, unknown (enable)
//   enable_sent     interrupted                                          unknown (enable)
//   unknown enable  read the status; send it again while it is early     live, held, unknown (enable)
import type { Change, NewCampaign, PlatformCampaign, PlatformCampaigns } from '../../../gateways/ad-platform/index.ts';
import type { Outcome } from '../../../kit/background/queues/queue.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import type { FairGate } from '../../../kit/fair-gate.ts';
import type { Db } from '../../../tables.ts';
import { type AccountDeps, settleAccount } from '../accounts/account.ts';
import { accountClosed, isClosedBy } from '../accounts/closed.ts';
import { isReady, type ReadyAccount } from '../accounts/contract.ts';
import type { OwnReason } from '../campaigns/contract.ts';
import { toPlatformName } from '../campaigns/name.ts';
import { findAccount } from '../store/accounts.ts';
import type { LaunchRow, Obstacles } from '../store/launches.ts';
import type { AdsTimes } from '../times.ts';
import type { LaunchContent } from './content.ts';
import { fromProblem, toFailure } from './failure.ts';
import { collectImages, hasImages, type ImageDeps, ImageFault } from './images.ts';
import { createRecorder, type Recorder } from './record.ts';

export interface SagaDeps extends AccountDeps, ImageDeps {
  readonly platform: AccountDeps['platform'] & { readonly campaigns: PlatformCampaigns };
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly times: AdsTimes;
  /** Images take much memory. */
  readonly imageGate: FairGate;
}

/** The launch after a step: in its next state, or as it is, to be run again later. Undefined: another worker has it. */
type Next = { readonly launch: LaunchRow } | { readonly againInMs: number } | undefined;

interface Run {
  readonly db: Db;
  readonly deps: SagaDeps;
  readonly launch: LaunchRow;
  readonly record: Recorder;
  readonly signal: AbortSignal;
}

/** Runs a launch until it ends, or until there is something to wait for. */
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

/** Somebody waits to be told that the outcome is not known. The platform is read later. */
const waitAfter = async ({ deps }: Run, moved: Promise<LaunchRow | undefined>): Promise<Next> =>
  (await moved) && { againInMs: deps.times.reconcileMs };

/** Asserted: only `recordLaunch` writes it. */
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
    await record.note({ name: 'account', outcome: 'unknown', detail: 'The request for the account had no answer.' });
  return { againInMs: deps.times.reconcileMs };
}

/** An account that was found may have another currency than the one in which the budget was checked. */
function accept({ launch, record }: Run, account: ReadyAccount, isNew: boolean): Promise<Next> {
  const { currency_code } = contentOf(launch);
  if (account.currency_code !== currency_code) {
    const message = `The account has the currency ${account.currency_code}, and the budget is in ${currency_code}. Send it again in the currency of the account.`;
    const platform_reasons = [{ code: 'SERVICE_CURRENCY_DIFFERS', message }];
    const failure = { code: 'platform_rejected', platform_reasons, account_created: true } as const;
    return goOn(record.refuse(failure, { name: 'account', outcome: 'refused', detail: message }));
  }
  const detail = isNew ? 'The account was created.' : 'The app has an account.';
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
  // Others look for the campaign from then on. This request is sent by then, or never.
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

/** The campaign with its images, or the launch if they can't be fetched. */
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
    if (ended === undefined) throw new Error('another worker has the launch');
    return { launch: ended };
  }
}

/** Nothing was created: it was refused, or certainly not sent, or it was the dry run. */
function refuse({ record }: Run, name: 'dry_run' | 'create', change: Change<unknown>): Promise<Next> {
  const failure =
    change.outcome === 'refused' ? toFailure(change.reasons) : ({ code: 'ad_platform_unavailable' } as const);
  return goOn(record.refuse(failure, toStep(name, change)));
}

const isDuplicate = (change: Change<unknown>): boolean =>
  change.outcome === 'refused' && change.reasons.some(({ kind }) => kind === 'duplicate_name');

/** The name is unique among the campaigns that are not removed. */
async function findCreated(run: Run): Promise<Next> {
  const { db, deps, launch, record } = run;
  const account = await accountOf(db, launch);
  const { campaign_name } = await record.readCampaign();
  const name = toPlatformName(campaign_name, launch.launch_key);
  const found = await deps.platform.campaigns.findByName(account?.platform_customer_id ?? '', name);
  if (await isClosedBy(found, db, launch))
    return goOn(record.absent({ name: 'find_by_name', outcome: 'refused', detail: accountClosed }));
  if (found.outcome !== 'read') return { againInMs: deps.times.reconcileMs };
  const [campaign] = found.result;
  const step = { name: 'find_by_name', platform_request_id: found.requestId } as const;
  if (campaign !== undefined)
    return goOn(
      record.created(toFound(campaign), { ...step, outcome: 'applied', detail: 'The campaign was created.' }),
    );
  return countEmptyRead(run, { ...step, outcome: 'applied', detail: 'The platform has no campaign with the name.' });
}

/** Reads count once in `reconcileMs`. The last one that counts comes when no request can be on its way from here any more. */
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

/** The database's clock decides when a launch is due, and ours when it was read. */
const toleranceMs = 50;

// ---- enabling

async function enable(run: Run): Promise<Next> {
  const { db, deps, launch, record } = run;
  const account = await accountOf(db, launch);
  const notAfter = performance.now() + deps.times.requestMs;
  // Under the lock of the campaign: a pause that is recorded later waits for the end of the launch.
  const sent = await record.enableUnless((obstacles) => listReasons(run, obstacles));
  if (sent === undefined || sent.ended_date !== null) return sent && { launch: sent };
  const { platform_campaign_id } = await record.readCampaign();
  const customerId = account?.platform_customer_id ?? '';
  const set = await deps.platform.campaigns.setStatus(customerId, platform_campaign_id, 'ENABLED', { notAfter });
  return recordEnabling(run, sent, set);
}

/** `run` has the launch as it was before it was sent. */
async function recordEnabling(run: Run, sent: LaunchRow, set: Change<unknown>): Promise<Next> {
  const { times, clock } = run.deps;
  const { record } = continueWith(run, sent);
  const step = toStep('enable', set);
  if (set.outcome === 'applied') return goOn(record.live(step));
  const isBusy = set.outcome === 'refused' && set.reasons.some(({ kind }) => kind === 'busy');
  if (set.outcome === 'refused' && !isBusy) return goOn(record.hold(['SERVICE_LAUNCH_UNCONFIRMED'], step));
  // An earlier request may have been applied, or this one.
  if (set.outcome === 'unknown' || run.launch.state === 'unknown')
    return waitAfter(run, record.unknown('enable', step));
  const back = await record.notEnabled(step);
  const isAwaited = clock.now().getTime() - run.launch.created_date.getTime() < times.callerWaitMs;
  return back && { againInMs: (isAwaited && times.resendMs[0]) || times.reconcileMs };
}

/** Why the campaign stays paused. Empty: nothing forbids to enable it. */
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

/** The request may have been applied, or may still be. Enabling again is harmless. */
async function readEnabled(run: Run): Promise<Next> {
  const { db, deps, launch, record } = run;
  const account = await accountOf(db, launch);
  const { platform_campaign_id } = await record.readCampaign();
  const read = await deps.platform.campaigns.read(account?.platform_customer_id ?? '', platform_campaign_id);
  if (await isClosedBy(read, db, launch)) {
    const refused = { name: 'read_status', outcome: 'refused', detail: accountClosed } as const;
    return goOn(record.hold(['SERVICE_LAUNCH_UNCONFIRMED'], refused));
  }
  if (read.outcome !== 'read') return leaveToStop(run);
  // Only the platform's own word says that it was removed: what it does not find may be found later.
  if (read.result === null) return leaveToStop(run);
  const step = { name: 'read_status', platform_request_id: read.requestId, outcome: 'applied' } as const;
  const { status } = read.result;
  if (status === 'ENABLED') return goOn(record.live({ ...step, detail: 'The campaign is enabled.' }));
  if (status === 'REMOVED')
    return goOn(record.removed({ ...step, detail: 'The campaign was removed at the platform.' }));
  await record.note({ ...step, detail: 'The campaign is paused.' });
  return enable(run);
}

/** A pause or removal waits for the end of the launch. It decides the status, whatever became of the enabling. */
async function leaveToStop({ deps, record }: Run): Promise<Next> {
  const obstacles = await record.readObstacles();
  if (!obstacles?.stop_reasons) return { againInMs: deps.times.reconcileMs };
  const detail = 'It could not be read whether the campaign is enabled. It is paused or removed, as was asked for.';
  return goOn(record.leaveEnabled({ name: 'read_status', outcome: 'unknown', detail }));
}

const toFound = ({ id, status }: PlatformCampaign) =>
  ({ id, status: status === 'ENABLED' ? 'ENABLED' : 'PAUSED' }) as const;

// ---- what is noted in the journal

type JournalStep = Parameters<Recorder['note']>[0];

function toStep(name: JournalStep['name'], change: Change<unknown>): JournalStep {
  if (change.outcome === 'unavailable')
    return { name, outcome: 'skipped', detail: 'The platform could not be reached. Nothing was sent.' };
  const platform_request_id = change.requestId;
  if (change.outcome === 'applied')
    return { name, outcome: 'applied', platform_request_id, detail: details[name] ?? '' };
  if (change.outcome === 'unknown')
    return { name, outcome: 'unknown', platform_request_id, detail: 'The platform did not answer.' };
  const detail = change.reasons
    .map(({ code, message }) => `${code}: ${message}`)
    .join(' ')
    .slice(0, 1_000);
  return { name, outcome: 'refused', platform_request_id, detail };
}

const details: Readonly<Partial<Record<JournalStep['name'], string>>> = {
  dry_run: 'The platform has checked the campaign.',
  create: 'The campaign was created, paused.',
  enable: 'The campaign was enabled.',
};
