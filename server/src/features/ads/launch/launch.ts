// The caller's side of a campaign launch: checking the request, recording the launch, waiting for it and
// responding. A worker does the rest (saga.ts). Any process can wait for any launch.
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { warnResponsible } from '../../../core/identity/warnings.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import type { LanguageModel } from '../../../gateways/language-model/index.ts';
import { WakeableSleep, type WakeUps } from '../../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../../kit/db/database.ts';
import { type Answer, resumableAnswer, withNotes } from '../../../kit/http/answer.ts';
import { newId } from '../../../kit/ids.ts';
import { notFound, type Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { platformUnavailable, recordNewAccount } from '../accounts/account.ts';
import { presentAccount } from '../accounts/contract.ts';
import { currencyOf } from '../accounts/currencies.ts';
import { justCreated, presentCampaign } from '../campaigns/contract.ts';
import { type LaunchJournal, maxSteps, presentLaunchJournal, readCampaignState } from '../campaigns/journal.ts';
import { requireWithinCeiling } from '../ceilings/ceiling.ts';
import { describeBusiness } from '../creative/brief.ts';
import { alreadyLaunched, launchInProgress, launchNotConfirmed, launchNotSent } from '../problems.ts';
import { businessNameOf } from '../readiness/business-name.ts';
import type { ReadinessDeps } from '../readiness/readiness.ts';
import { requireMaySpend } from '../readiness/spending.ts';
import { dayIn } from '../rules/dates.ts';
import { findAccount } from '../store/accounts.ts';
import { findCampaignByKey, insertCampaign, readProgress } from '../store/campaigns.ts';
import { lockAppOf } from '../store/changes.ts';
import { listSteps } from '../store/journal.ts';
import {
  findLatestLaunch,
  findLaunch,
  findLaunchByKey,
  hasLaunched,
  insertLaunch,
  type LaunchKey,
  type LaunchRow,
  releaseDraft,
} from '../store/launches.ts';
import { type AccountRow, isReady } from '../store/rows.ts';
import type { AdsTimes } from '../times.ts';
import {
  checkDays,
  completeTexts,
  composeContent,
  type LaunchContent,
  listWithoutEffect,
  writeTexts,
} from './content.ts';
import type { CampaignInput, LaunchedCampaign } from './contract.ts';
import { type LaunchFailure, toProblem } from './failure.ts';
import { identify, toLaunchKey } from './identity.ts';
import { checkCampaign, type InputDeps } from './input.ts';

export interface LaunchDeps extends ReadinessDeps, InputDeps {
  readonly model: LanguageModel;
  readonly wake: Pick<WakeUps, 'notify' | 'listen' | 'pollMs'>;
  readonly shutdownSignal: AbortSignal;
  readonly times: AdsTimes;
}

/** The launch queue's table and wake-up topic. */
export const launchQueue = 'ads_launches';
export const toLaunchTopic = (id: string): string => `ads_launch:${id}`;

/** A launch request. `at` is the campaign's path in the body. */
export interface LaunchOrder {
  readonly campaign: CampaignInput;
  readonly timezone?: string;
  readonly idempotencyKey: string | undefined;
  readonly at: readonly string[];
  /** Whether the app must already have an account. */
  readonly needsAccount: boolean;
}

export interface PreparedLaunch {
  readonly order: LaunchOrder;
  readonly identity: string;
  readonly content: LaunchContent;
  readonly ignored: readonly string[];
  /** When the caller's wait ends, on the `performance.now()` clock. */
  readonly waitsUntil: number;
}

/**
 * Completes all steps that need the network, without changing anything. Refuses in the order given in
 * docs/api/ads.md#launching.
 */
export async function prepareLaunch(
  db: Db,
  deps: LaunchDeps,
  access: AppAccess,
  order: LaunchOrder,
  now: Date,
): Promise<PreparedLaunch> {
  const waitsUntil = performance.now() + deps.times.callerWaitMs;
  const { campaign, timezone = 'UTC' } = order;
  const account = await findAccount(db, access);
  const isAccountReady = account !== undefined && isReady(account);
  if (order.needsAccount && !isAccountReady) throw notFound('ads_account_not_found');
  checkDays(campaign, dayIn(isAccountReady ? account.timezone : timezone, now), order.at);
  const { country_code } = await getWorkspaceRow(db, access);
  const currency_code = chooseCurrency(account, country_code, deps);
  const targets = await checkCampaign(db, deps, campaign, { currency_code, country_code });
  const identity = identify(campaign, order.idempotencyKey, access.caller.user_id ?? access.caller.credential_id);
  await requireFreeDraft(db, access, identity);
  const { isPlatformLive } = await requireMaySpend(
    db,
    deps,
    access,
    { row: account, about: { campaign_state: 'absent' } },
    now,
  );
  // Before the model is asked, and again when the launch is recorded.
  const budget = { currency_code, daily_micros: campaign.daily_budget_micros, ...newCampaign };
  await requireWithinCeiling(db, deps, access, budget, { lock: false });
  const businessName = campaign.business_name ?? businessNameOf(access.app.name);
  const business = describeBusiness(
    access.app,
    { ...campaign, business_name: businessName, landing_page_url: campaign.landing_page },
    '',
  );
  const texts = await completeTexts(campaign, (slots, language) =>
    writeTexts(db, deps.model, access.app, { slots, language, business }, now),
  );
  if (!isPlatformLive) throw platformUnavailable();
  const content = composeContent(campaign, businessName, targets, texts, currency_code);
  return { order, identity, content, ignored: listIgnored(order, isAccountReady), waitsUntil };
}

const newCampaign = { campaign_id: undefined, about: { campaign_state: 'absent' } } as const;

/** Once the account request has been sent, the platform may have created the account with the row's currency. */
function chooseCurrency(account: AccountRow | undefined, country: string, { defaultCurrency }: LaunchDeps): string {
  const isFixed = account !== undefined && account.state !== 'recorded';
  return isFixed ? account.currency_code : currencyOf(country, defaultCurrency);
}

function listIgnored({ campaign, timezone, at }: LaunchOrder, isAccountReady: boolean): string[] {
  const fields = listWithoutEffect(campaign).map((field) => [...at, field].join('.'));
  return isAccountReady && timezone !== undefined ? [...fields, 'timezone'] : fields;
}

/**
 * Refuses if one of the draft's launches is running or has created a campaign that still exists. Returns the draft's
 * last launch.
 */
async function requireFreeDraft(db: Db, access: AppAccess, identity: string): Promise<LaunchRow | undefined> {
  const launch = await findLatestLaunch(db, access, identity);
  if (launch === undefined || !launch.is_current) return launch;
  const about = { campaign_id: launch.campaign_id, launch_id: launch.id };
  if (launch.ended_date === null) throw launchInProgress(about);
  const campaign = await findCampaignByKey(db, toCampaignKey(launch));
  const campaign_state = readCampaignState({ launch, campaign, isUncertain: false });
  if (campaign_state === 'absent' || campaign_state === 'removed') return launch;
  throw alreadyLaunched({ campaign_state, ...about });
}

const toCampaignKey = ({ workspace_id, app_id, campaign_id }: LaunchRow) => ({ workspace_id, app_id, id: campaign_id });

/** Lists the campaign and records everything that the worker will send. */
export async function recordLaunch(
  db: Db,
  deps: LaunchDeps,
  access: AppAccess,
  prepared: PreparedLaunch,
  now: Date,
): Promise<Answer<LaunchedCampaign>> {
  const { identity, content, order, ignored, waitsUntil } = prepared;
  const { start_paused = false, campaign_name } = order.campaign;
  const timezone = order.timezone ?? 'UTC';
  const launch = await transaction(db, async (db) => {
    // The lock serialises identical launches, and ensures that deleting the app or workspace does not miss this launch.
    const app = await lockAppOf(db, { workspace_id: access.app.workspace_id, app_id: access.app.id });
    if (app === undefined || app.isGone) throw notFound('app_not_found');
    const last = await requireFreeDraft(db, access, identity);
    const { currency_code, campaign } = content;
    const budget = { currency_code, daily_micros: campaign.dailyBudgetMicros, ...newCampaign };
    await requireWithinCeiling(db, deps, access, budget, { lock: true });
    if (last?.is_current) await releaseDraft(db, last);
    const isFirst = !(await hasLaunched(db, access));
    if ((await findAccount(db, access)) === undefined) await recordNewAccount(db, deps, access, timezone, now);
    const generation = (last?.generation ?? 0) + 1;
    const launch_key = toLaunchKey(access.app.id, identity, generation);
    const [id, campaign_id] = [newId(), newId()];
    const user_id = access.caller.user_id;
    const row = { id, campaign_id, identity, generation, launch_key, start_paused, timezone, user_id };
    const launch = await insertLaunch(db, access, { ...row, content: JSON.stringify(content) }, now);
    await insertCampaign(db, toCampaignRow(launch, content, campaign_name, now));
    const { type, dailyBudgetMicros } = content.campaign;
    const after = { campaign_id, campaign_name, campaign_type: type, daily_budget_micros: dailyBudgetMicros };
    const target = { kind: 'ads_launch', id };
    await audit(db, access, { type: 'ads.launch.requested', target, app_id: access.app.id, after }, now);
    if (isFirst) await mailFirstLaunch(db, access, after, now);
    afterCommit(db, () => deps.wake.notify(launchQueue));
    return launch;
  });
  return resumableAnswer({ launch_id: launch.id }, async (db) =>
    withNotes(await waitForLaunch(db, deps, access, launch, waitsUntil), { ignored }),
  );
}

/** The workspace's owner pays, and may not know that the app advertises. */
async function mailFirstLaunch(
  db: Db,
  { app, caller }: AppAccess,
  { campaign_name }: { readonly campaign_name: string },
  now: Date,
): Promise<void> {
  const body = `${caller.email ?? 'Somebody'} has launched the campaign "${campaign_name}" for the app "${app.name}". It is the first campaign of this app, and the workspace pays for it.

To see its daily budget, call listCampaigns. To stop it, call pauseAllCampaigns. To limit what app editors can spend a day, call putAdsCeilings.
`;
  const subject = `The app "${app.name}" has launched its first campaign`;
  await warnResponsible(db, { workspace_id: app.workspace_id, app_id: app.id, subject, body }, now);
}

function toCampaignRow(launch: LaunchRow, { campaign }: LaunchContent, campaign_name: string, now: Date) {
  return {
    id: launch.campaign_id,
    workspace_id: launch.workspace_id,
    app_id: launch.app_id,
    launch_id: launch.id,
    platform_campaign_id: '',
    campaign_name,
    campaign_type: campaign.type,
    status: 'PAUSED' as const,
    daily_budget_micros: campaign.dailyBudgetMicros,
    landing_page: campaign.landingPage,
    geo_targets: [...campaign.locations],
    excluded_geo_targets: [...campaign.excludedLocations],
    phone_number: campaign.phoneNumber,
    ...justCreated,
    own_reasons: ['SERVICE_LAUNCH_UNCONFIRMED'],
    created_date: now,
    updated_date: now,
  };
}

/** Handles a repeated Idempotency-Key by returning the launch's result. A launch that created nothing is restarted. */
export async function resumeLaunch(
  db: Db,
  deps: LaunchDeps,
  access: AppAccess,
  { begun, order }: { readonly begun: unknown; readonly order: LaunchOrder },
  now: Date,
): Promise<Answer<LaunchedCampaign>> {
  const first = await findLaunch(db, access, (begun as { launch_id: string }).launch_id);
  const launch = first && (await findLatestLaunch(db, access, first.identity));
  if (launch?.ended_date === null) throw launchInProgress({ campaign_id: launch.campaign_id, launch_id: launch.id });
  if (launch?.state === 'live' || launch?.state === 'held')
    return withNotes(await presentLaunched(db, access, launch), {
      ignored: listIgnored(order, !launch.account_created),
    });
  return recordLaunch(db, deps, access, await prepareLaunch(db, deps, access, order, now), now);
}

// ---- waiting

/**
 * Waits until the launch has ended or one of its requests got no response, because the remaining time is then unknown.
 */
async function waitForLaunch(
  db: Db,
  { wake, shutdownSignal }: LaunchDeps,
  access: AppAccess,
  { workspace_id, app_id, id }: LaunchKey,
  waitsUntil: number,
): Promise<LaunchedCampaign> {
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toLaunchTopic(id), idle.wake);
  try {
    for (;;) {
      const launch = await findLaunchByKey(db, { workspace_id, app_id, id });
      if (launch === undefined) throw notFound('app_not_found');
      if (launch.ended_date !== null) return await presentLaunched(db, access, launch);
      const leftMs = shutdownSignal.aborted ? 0 : waitsUntil - performance.now();
      if (launch.state === 'unknown' || leftMs <= 0) throw launchTimeout(launch);
      await idle.sleep(Math.min(wake.pollMs(), leftMs), shutdownSignal);
    }
  } finally {
    unlisten();
  }
}

const unsentStates: readonly LaunchRow['state'][] = ['recorded', 'account_sent', 'account_ready'];

function launchTimeout({ id, campaign_id, state }: LaunchRow): Problem {
  const about = { campaign_state: 'unknown', campaign_id, launch_id: id } as const;
  return unsentStates.includes(state) ? launchNotSent(about) : launchNotConfirmed(about);
}

/** Presents a launch that has ended. Throws the reason if it created nothing. */
async function presentLaunched(db: Db, access: AppAccess, launch: LaunchRow): Promise<LaunchedCampaign> {
  if (launch.state === 'refused') throw toProblem(launch.failure as unknown as LaunchFailure);
  const campaign = await findCampaignByKey(db, toCampaignKey(launch));
  const account = await findAccount(db, access);
  // An `absent` launch was `unknown` before, so its caller already got the timeout response.
  if (campaign === undefined || account === undefined || !isReady(account)) throw launchTimeout(launch);
  return { account: presentAccount(account), campaign: presentCampaign(campaign) };
}

// ---- reading

export async function getLaunch(db: Db, access: AppAccess, id: string): Promise<Answer<LaunchJournal>> {
  const launch = await findLaunch(db, access, id);
  if (launch === undefined) throw notFound('launch_not_found');
  const key = toCampaignKey(launch);
  const campaign = await findCampaignByKey(db, key);
  const { isUncertain } = await readProgress(db, key);
  const steps = await listSteps(db, key, maxSteps + 1);
  const journal = presentLaunchJournal({
    launch,
    campaign,
    isUncertain,
    created_date: launch.created_date,
    steps: steps.slice(-maxSteps),
  });
  return withNotes(journal, steps.length > maxSteps ? { truncated: true } : {});
}
