// Verifies that the published app tracks conversions. Its page is opened in a browser, its files are scanned, and
// its goals must be published. A conclusive result is stored for campaign launches.
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess, AppReach } from '../../../core/auth/proofs.ts';
import { lockApp } from '../../../core/identity/apps.ts';
import type { Browser, PageReport } from '../../../gateways/browser/index.ts';
import { transaction } from '../../../kit/db/database.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import type { Db } from '../../../tables.ts';
import { getReadyAccount } from '../accounts/account.ts';
import type { RecordAudit } from '../campaigns/reading.ts';
import { hasEnabledCampaign } from '../store/campaigns.ts';
import type { MappingRow, ReadyAccount } from '../store/rows.ts';
import { findCheck, listAllMappings, saveCheck, type TrackingCheck } from '../store/tracking.ts';
import type { TrackingCheckItem } from './contract.ts';
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

/**
 * `isUndecided` means that a second verification may give a different result, for example because the machine was busy.
 */
type CheckResult = TrackingCheckItem & { readonly isUndecided?: boolean };

/** Verifies on behalf of a caller, who waits until the campaigns are enabled. */
export async function verifyTracking(db: Db, deps: VerifyDeps & EnableDeps, access: AppAccess, now: Date) {
  const account = await getReadyAccount(db, access);
  const record: RecordAudit = (db, change) => audit(db, access, change, now);
  const { verified, checks, isKept } = await verify(db, deps, access, { account, record }, now);
  if (!isKept) return withNotes({ verified, checks, enabled_campaign_ids: [] }, { partial: ['checks'] });
  const enabling = verified ? await enableWaiting(db, deps, access.app, record, now) : [];
  const { ids, isComplete } = await waitForEnabled(db, deps, enabling);
  const partial = isComplete ? [] : ['enabled_campaign_ids'];
  return withNotes({ verified, checks, enabled_campaign_ids: ids }, { partial });
}

export interface Verification {
  readonly verified: boolean;
  readonly checks: TrackingCheckItem[];
  /** False if a check was inconclusive or its subject has changed in the meantime. Nothing is stored in that case. */
  readonly isKept: boolean;
}

export async function verify(
  db: Db,
  deps: VerifyDeps,
  access: AppReach,
  { account, record }: { readonly account: ReadyAccount; readonly record: RecordAudit },
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
  const isKept = isDecided && (await storeResult(db, access, { site, verified, verifiedFor: all, record }, now));
  const checks = results.map(({ name, ok, detail }) => ({ name, ok, detail }));
  if (isDecided && !isKept) checks[0] = changedMeanwhile;
  return { verified: verified && isKept, checks, isKept };
}

const changedMeanwhile: TrackingCheckItem = {
  name: 'base_tag_on_page',
  ok: false,
  detail: 'The app, its policy or its mappings changed during the check. Try again.',
};

async function checkPage(
  browser: VerifyDeps['browser'],
  site: VisitedSite,
  { workspace_id }: AppReach,
  conversionId: string,
  scan: Scan,
): Promise<CheckResult> {
  const item = (ok: boolean, detail: string): CheckResult => ({ name: 'base_tag_on_page', ok, detail });
  if (site.deploymentId === null) return item(false, 'The app is not published. Publish it, then try again.');
  if (conversionId === '')
    return item(false, 'The advertising account has no tag yet. Call buildBootstrapPrompt first.');
  const report = await browser.checkPage({
    owner: workspace_id,
    path: site.firstPage,
    files: site.visit,
    signal: new AbortController().signal, // the browser has its own time limit
    // The page is opened over http, so tag URLs without a scheme use http too. Tags with an explicit http scheme are
    // caught by the scan.
    watches: (url) => readTagId(url.replace(/^http:/, 'https:')) !== undefined,
    condition: `[...window.dataLayer].some((call) => call[0] === 'config' && call[1] === ${JSON.stringify(conversionId)})`,
  });
  if (report.outcome === 'loaded') {
    if (report.watched_requests === 0 || !report.condition_met)
      return item(
        false,
        `The page does not load and configure the tag ${conversionId}. Install the tag, or allow it in the page's policy, then publish the app.`,
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
    'This installation has no browser, so Plinth checked the published files without opening the page.',
  );
}

const noCookies =
  "Pages under /p/ can't use cookies, so the tag can't remember ad clicks. Ask the operator to set up a domain for apps.";
const policyUnknown =
  "This installation has no browser, so Plinth can't check whether the app's Content-Security-Policy allows the tag to load.";

type FailureReason = Exclude<Extract<PageReport, { outcome: 'unavailable' }>['reason'], 'not_configured'>;

const failures: Readonly<Record<FailureReason, string>> = {
  timeout:
    'The page did not load in time. It may contain an infinite loop, or the server may be busy. Try again in a moment.',
  crashed: 'The browser crashed. The page may use too much memory. Try again in a moment.',
  not_started: 'The browser did not start. Contact the operator.',
  busy: 'Too many pages are being checked right now. Try again in a moment.',
  cancelled: 'The server is shutting down. Try again in a moment.',
};

function checkGaps({ gaps, unread, isOutOfTime }: Scan): CheckResult {
  const errors = gaps.filter(({ severity }) => severity === 'error').length;
  const item = (ok: boolean, detail: string): CheckResult => ({ name: 'no_error_gaps', ok, detail });
  if (isOutOfTime) return { ...item(false, 'The scan did not finish in time. Try again later.'), isUndecided: true };
  if (errors > 0)
    return item(false, `The scan found ${errors} ${errors === 1 ? 'error' : 'errors'}. Call scanTracking to see them.`);
  if (unread.length > 0) return item(false, 'The scan could not read some files. Call scanTracking to list them.');
  return item(true, 'The scan found no errors.');
}

function checkGoals({ goals, mappings }: Wiring): TrackingCheckItem {
  const missing = mappings.filter((mapping) => !findGoalOf(goals, mapping)?.label);
  const ok = missing.length === 0;
  const published =
    mappings.length === 0
      ? 'No mappings are enabled, so no goals are needed.'
      : 'The goals for all enabled mappings are published.';
  const detail = ok
    ? published
    : `The goals for ${missing.length} of ${mappings.length} enabled mappings have no published tag yet. Try again in a minute.`;
  return { name: 'goal_published', ok, detail };
}

/** Returns false if the deployment, its policy or the mappings have changed since the verification. */
function storeResult(
  db: Db,
  access: AppReach,
  {
    site,
    verified,
    verifiedFor,
    record,
  }: {
    readonly site: VisitedSite;
    readonly verified: boolean;
    readonly verifiedFor: readonly MappingRow[];
    readonly record: RecordAudit;
  },
  now: Date,
): Promise<boolean> {
  const { id } = access.app;
  return transaction(db, async (db) => {
    const app = await lockApp(db, access); // every change to the deployment, policy or mappings takes this lock
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
