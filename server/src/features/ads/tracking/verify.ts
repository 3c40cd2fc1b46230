// Owns verifying that the published app tracks conversions: its page is opened in a browser, its files are scanned, and its goals
// must be published. What could be decided is stored for the launch of campaigns.
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess, AppReach } from '../../../core/auth/proofs.ts';
import { lockApp } from '../../../core/identity/apps.ts';
import type { Browser, PageReport } from '../../../gateways/browser/index.ts';
import { transaction } from '../../../kit/db/database.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import type { Db } from '../../../tables.ts';
import { getReadyAccount } from '../accounts/account.ts';
import type { ReadyAccount } from '../accounts/contract.ts';
import type { RecordAudit } from '../campaigns/reading.ts';
import { hasEnabledCampaign } from '../store/campaigns.ts';
import { findCheck, listAllMappings, saveCheck, type TrackingCheck } from '../store/tracking.ts';
import type { MappingRow, TrackingCheckItem } from './contract.ts';
import { type EnableDeps, enableWaiting, mailUnverified, waitForEnabled } from './enable.ts';
import { landingPage, type Wiring } from './gaps.ts';
import { findGoalOf, listGoals, readConversionId } from './goals.ts';
import { type Scan, type ScanDeps, type Site, scanSite } from './scan.ts';
import { readTagId } from './tag.ts';

interface VisitedSite extends Site {
  readonly firstPage: string;
  readonly isSandboxed: boolean;
  readonly policy: string | undefined;
  hasPresentPolicy(db: Db): Promise<boolean>;
  visit(url: string): Promise<{ content: Buffer; contentType: string; policy: string | undefined } | undefined>;
}

export interface VerifyDeps extends ScanDeps<VisitedSite> {
  readonly browser: Pick<Browser, 'checkPage'>;
}

/** `isUndecided`: another verification of the same may end otherwise, for example because the machine was busy. */
type CheckResult = TrackingCheckItem & { readonly isUndecided?: boolean };

/** By a caller, who waits for the campaigns that are enabled because of it. */
export async function verifyTracking(db: Db, deps: VerifyDeps & EnableDeps, access: AppAccess, now: Date) {
  const account = await getReadyAccount(db, access);
  const record: RecordAudit = (db, change) => audit(db, access, change, now);
  const { verified, checks, isKept } = await verify(db, deps, access, account, record, now);
  if (!isKept) return withNotes({ verified, checks, enabled_campaign_ids: [] }, { partial: ['checks'] });
  const enabling = verified ? await enableWaiting(db, deps, access.app, record, now) : [];
  const { ids, isComplete } = await waitForEnabled(db, deps, enabling);
  const partial = isComplete ? [] : ['enabled_campaign_ids'];
  return withNotes({ verified, checks, enabled_campaign_ids: ids }, { partial });
}

export interface Verification {
  readonly verified: boolean;
  readonly checks: TrackingCheckItem[];
  /** False: a check could not be decided, or is about something that has changed meanwhile. Then nothing is stored. */
  readonly isKept: boolean;
}

export async function verify(
  db: Db,
  deps: VerifyDeps,
  access: AppReach,
  account: ReadyAccount,
  record: RecordAudit,
  now: Date,
): Promise<Verification> {
  const goals = await listGoals(deps.platform, account);
  const conversionId = await readConversionId(deps.platform, account, goals);
  const all = await listAllMappings(db, access);
  const wiring: Wiring = { conversionId, goals, mappings: all.filter(({ is_enabled }) => is_enabled) };
  const site = await deps.openSite(db, access);
  const scan = await scanSite(site, access, wiring);
  const page = await checkPage(deps.browser, site, access, conversionId, scan);
  const results: CheckResult[] = [page, checkGaps(scan), checkGoals(wiring)];
  const verified = results.every(({ ok }) => ok);
  const isDecided = !results.some(({ isUndecided }) => isUndecided);
  const isKept = isDecided && (await storeResult(db, access, site, verified, all, record, now));
  const checks = results.map(({ name, ok, detail }) => ({ name, ok, detail }));
  if (isDecided && !isKept) checks[0] = changedMeanwhile;
  return { verified: verified && isKept, checks, isKept };
}

const changedMeanwhile: TrackingCheckItem = {
  name: 'base_tag_on_page',
  ok: false,
  detail: 'The app, its policy or its mappings changed meanwhile. Verify again.',
};

async function checkPage(
  browser: VerifyDeps['browser'],
  site: VisitedSite,
  { workspace_id }: AppReach,
  conversionId: string,
  scan: Scan,
): Promise<CheckResult> {
  const item = (ok: boolean, detail: string): CheckResult => ({ name: 'base_tag_on_page', ok, detail });
  if (site.deploymentId === null) return item(false, 'The app is not published. Publish it, and verify again.');
  if (conversionId === '')
    return item(false, 'The advertising account has no tag yet. Call buildBootstrapPrompt first.');
  const report = await browser.checkPage({
    owner: workspace_id,
    path: site.firstPage,
    files: site.visit,
    signal: new AbortController().signal, // the browser has a time limit of its own
    // By http, because the page is: it may name the tag without a scheme. The scan finds a tag that has a wrong one.
    watches: (url) => readTagId(url.replace(/^http:/, 'https:')) !== undefined,
    condition: `[...window.dataLayer].some((call) => call[0] === 'config' && call[1] === ${JSON.stringify(conversionId)})`,
  });
  if (report.outcome === 'loaded') {
    if (report.watched_requests === 0 || !report.condition_met)
      return item(
        false,
        `The page does not load and configure the tag ${conversionId}. Install it, or allow it in the page's policy, and publish.`,
      );
    const detail = `The page loads the tag ${conversionId}.`;
    return item(true, site.isSandboxed ? `${detail} ${noCookies}` : detail);
  }
  if (report.reason !== 'not_configured') return { ...item(false, failures[report.reason]), isUndecided: true };
  if (site.policy !== undefined) return { ...item(false, policyUnknown), isUndecided: true };
  const lacksTag = scan.gaps.some(
    ({ id, severity, file_path }) => id === 'missing-base-tag' && (severity === 'error' || file_path === landingPage),
  );
  return item(
    !lacksTag,
    'This installation has no browser: the published files were read, and the page was not opened.',
  );
}

const noCookies =
  "Pages below /p/ have no cookies, so the tag can't remember the click on an ad. Ask the operator for a domain of apps.";
const policyUnknown =
  "This installation has no browser, and the app has a Content-Security-Policy: it can't be seen whether that lets the tag load.";

type FailureReason = Exclude<Extract<PageReport, { outcome: 'unavailable' }>['reason'], 'not_configured'>;

const failures: Readonly<Record<FailureReason, string>> = {
  timeout:
    'The page was not loaded in time. It may contain an endless loop, or the server is busy. Try again in a moment.',
  crashed: 'The browser crashed. The page may use too much memory. Try again in a moment.',
  not_started: 'The browser did not start. Ask the operator.',
  busy: 'Too many pages are being looked at. Try again in a moment.',
  cancelled: 'The server is shutting down. Try again in a moment.',
};

function checkGaps({ gaps, unread, isOutOfTime }: Scan): CheckResult {
  const errors = gaps.filter(({ severity }) => severity === 'error').length;
  const item = (ok: boolean, detail: string): CheckResult => ({ name: 'no_error_gaps', ok, detail });
  if (isOutOfTime)
    return { ...item(false, 'The scan did not get through all files in time. Try again later.'), isUndecided: true };
  if (errors > 0)
    return item(false, `The scan found ${errors} ${errors === 1 ? 'error' : 'errors'}. Call scanTracking to see them.`);
  if (unread.length > 0)
    return item(false, 'Some files could not be read by the scan. Call scanTracking to see which.');
  return item(true, 'The scan found no errors.');
}

function checkGoals({ goals, mappings }: Wiring): TrackingCheckItem {
  const missing = mappings.filter((mapping) => !findGoalOf(goals, mapping)?.label);
  const ok = missing.length === 0;
  const published =
    mappings.length === 0
      ? 'No mapping is enabled, so no goal is needed.'
      : 'The goals of all enabled mappings are published.';
  const detail = ok
    ? published
    : `The goals of ${missing.length} of ${mappings.length} enabled mappings have no published tag yet. Try again in a minute.`;
  return { name: 'goal_published', ok, detail };
}

/** Returns false if the deployment, its policy or mappings changed meanwhile: the result would be about something else. */
function storeResult(
  db: Db,
  access: AppReach,
  site: VisitedSite,
  verified: boolean,
  verifiedFor: readonly MappingRow[],
  record: RecordAudit,
  now: Date,
): Promise<boolean> {
  const { id } = access.app;
  return transaction(db, async (db) => {
    const app = await lockApp(db, access); // as all changes of the three do
    const isPresent =
      app.live_deployment_id === site.deploymentId &&
      (await site.hasPresentPolicy(db)) &&
      isDeepStrictEqual(await listAllMappings(db, access), verifiedFor);
    if (!isPresent) return false;
    const check: TrackingCheck = { deployment_id: site.deploymentId, verified };
    const before = await findCheck(db, access);
    if (isDeepStrictEqual(before, check)) return true;
    await saveCheck(db, access, check, now);
    const target = { kind: 'app', id };
    await record(db, { type: 'ads.tracking.checked', target, app_id: id, before, after: check });
    if (before?.verified && !verified && (await hasEnabledCampaign(db, access)))
      await mailUnverified(db, access.app, now);
    return true;
  });
}
