// Owns looking at a page of the draft in a browser, before anything is saved, and saying what was found.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Browser, PageReport } from '../../../gateways/browser/index.ts';
import type { Db } from '../../../tables.ts';
import type { Draft } from '../draft.ts';

/** A file of the draft, by its path, or one of the platform, with its content. */
type PageFile = { readonly contentType: string } & ({ readonly path: string } | { readonly content: Buffer });

/** Returns what an address of the app would be answered with, if files of these paths were published. */
export type OpenPreview = (app: AppAccess['app'], paths: readonly string[]) => (url: string) => PageFile | undefined;

export interface PageCheckDeps {
  readonly browser: Browser;
  readonly openPreview: OpenPreview;
}

export interface PageCheckResult {
  /** `stopped`: the page could not be looked at. */
  readonly status: 'success' | 'error' | 'stopped';
  readonly results: string;
}

export async function checkPage(
  { browser, openPreview }: PageCheckDeps,
  { db, access, draft, signal }: { db: Db; access: AppAccess; draft: Draft; signal: AbortSignal },
  path: string,
): Promise<PageCheckResult> {
  const paths = (await draft.listFiles(db, access)).map((file) => file.path);
  const findFile = openPreview(access.app, paths);
  if (findFile(path) === undefined)
    return { status: 'stopped', results: `The page was not looked at: ${path} is not a page of the app.` };
  const report = await browser.checkPage({
    owner: access.workspace_id,
    path,
    signal,
    async files(url) {
      const found = findFile(url);
      if (found === undefined) return undefined;
      const content = 'content' in found ? found.content : await draft.readBytes(db, access, found.path);
      return content && { content, contentType: found.contentType };
    },
  });
  return describeReport(report);
}

const reasons: Readonly<Record<Extract<PageReport, { outcome: 'unavailable' }>['reason'], string>> = {
  not_configured: 'this installation has no browser',
  not_started: 'the browser did not start',
  timeout: 'it was not loaded in time; it may contain an endless loop',
  crashed: 'it made the browser crash; it may use too much memory',
  busy: 'too many pages are being looked at',
  cancelled: 'the turn was stopped',
};

/** A page that is never done, or that crashes the browser, is an error of the page. */
function describeReport(report: PageReport): PageCheckResult {
  if (report.outcome === 'unavailable') {
    const isFault = report.reason === 'timeout' || report.reason === 'crashed';
    const results = `The page was not looked at: ${reasons[report.reason]}.`;
    return { status: isFault ? 'error' : 'stopped', results };
  }
  const errors = [
    ...report.page_errors.map((text) => `Error: ${text}`),
    ...report.console_errors.map((text) => `Console: ${text}`),
    ...report.failed_requests.map(({ url, reason }) => `Not found: ${url} (${reason})`),
  ];
  const refused =
    report.refused_requests > 0
      ? [`${report.refused_requests} requests to data or to other hosts were not made, because none are here.`]
      : [];
  const lines = [
    `The page was loaded with ${errors.length} errors. Its title: ${report.title}`,
    ...errors,
    ...refused,
    ...(report.cut ? ['Cut: there is more.'] : []),
    `What a person sees, without data and not signed in:\n${report.text}`,
  ];
  return { status: errors.length > 0 ? 'error' : 'success', results: lines.join('\n') };
}
