// Opens one of the draft's pages in a browser before anything is saved, and describes the result.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Browser, PageReport } from '../../../gateways/browser/index.ts';
import type { Db } from '../../../tables.ts';
import type { Draft } from '../draft.ts';

/** A file in the draft, identified by its path, or a platform file with its content. */
type PageFile = { readonly contentType: string } & ({ readonly path: string } | { readonly content: Buffer });

/**
 * Returns a function that finds the file for one of the app's addresses, as if files with these paths were published.
 */
export type OpenPreview = (app: AppAccess['app'], paths: readonly string[]) => (url: string) => PageFile | undefined;

export interface PageCheckDeps {
  readonly browser: Browser;
  readonly openPreview: OpenPreview;
}

export interface PageCheckResult {
  /** `stopped` means that the page could not be opened. */
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
    return { status: 'stopped', results: `The page was not checked: ${path} is not a page of the app.` };
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
  timeout: 'it did not load in time; it may contain an infinite loop',
  crashed: 'it made the browser crash; it may use too much memory',
  busy: 'too many pages are being checked',
  cancelled: 'the turn was stopped',
};

/** A page that never finishes loading, or that crashes the browser, is reported as faulty. */
function describeReport(report: PageReport): PageCheckResult {
  if (report.outcome === 'unavailable') {
    const isFault = report.reason === 'timeout' || report.reason === 'crashed';
    const results = `The page was not checked: ${reasons[report.reason]}.`;
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
