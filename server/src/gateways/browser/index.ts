// Checks a page in a real browser: the text it shows, and its errors. The page receives its own files and
// nothing else from the network. If the browser can't check the page, the reason is returned, not thrown.
import { createFairGate, GateClosed, type Leave } from '../../kit/fair-gate.ts';
import { type ChromiumSettings, NotStarted, startChromium } from './chromium.ts';
import { BrowserGone } from './connection.ts';
import { inspectPage } from './inspect-page.ts';
import { type FindFile, startPageServer } from './page-server.ts';
import type { LoadedPage } from './report.ts';

export interface PageCheck {
  /** The page's owner, such as a workspace. Owners take turns, and each can have one check at a time per process. */
  readonly owner: string;
  /** Errors thrown here are rethrown by `checkPage`. */
  readonly files: FindFile;
  /** The page to open, such as `/`. */
  readonly path: string;
  readonly signal: AbortSignal;
  /** Selects addresses to watch. The report counts the page's requests to them. */
  readonly watches?: (url: string) => boolean;
  /** A JavaScript expression. The report states whether it was true in the page after loading. */
  readonly condition?: string;
}

export interface UnavailablePage {
  readonly outcome: 'unavailable';
  /**
   * `timeout` means that the page did not finish in time, for example because of an infinite loop. `crashed` means that
   * the browser or the page crashed, for example because it ran out of memory. `cancelled` means that the caller's
   * signal was aborted, or that this process is shutting down.
   */
  readonly reason: 'not_configured' | 'not_started' | 'timeout' | 'crashed' | 'busy' | 'cancelled';
}

/** All of a report's texts come from the page. They are untrusted, and limited in number and length. */
export type PageReport = LoadedPage | UnavailablePage;

export interface Browser {
  readonly configured: boolean;
  checkPage(check: PageCheck): Promise<PageReport>;
  /** Ends all checks, and waits until their browsers have exited. */
  close(): Promise<void>;
}

export interface BrowserSettings extends Omit<ChromiumSettings, 'executable'> {
  /** The path of Chromium or Chrome. Undefined if not configured. */
  readonly executable: string | undefined;
  /** Receives the reason why the browser crashed or did not start, for the log. */
  readonly onFailure: (outcome: 'not_started' | 'crashed', why: string) => void;
  /** The maximum time from the call to the report, including waiting for a turn and starting the browser. */
  readonly totalMs?: number;
}

const turns = { inAll: 2, perOwner: 1, maxWaitingOfOwner: 4, maxWaitMs: 4_000 };

const unavailable = (reason: UnavailablePage['reason']): UnavailablePage => ({ outcome: 'unavailable', reason });

export function openBrowser({ executable, noSandbox, onFailure, totalMs = 20_000 }: BrowserSettings): Browser {
  if (executable === undefined)
    return { configured: false, checkPage: async () => unavailable('not_configured'), close: async () => {} };
  const gate = createFairGate(turns);
  const closing = new AbortController();
  const running = new Set<Promise<PageReport>>();

  async function waitAndCheck(check: PageCheck): Promise<PageReport> {
    const cancelled = AbortSignal.any([check.signal, closing.signal]);
    const signal = AbortSignal.any([cancelled, AbortSignal.timeout(totalMs)]);
    const leave = await enter(check.owner);
    if (leave === undefined) return unavailable('busy');
    try {
      if (signal.aborted) return unavailable(cancelled.aborted ? 'cancelled' : 'timeout');
      return await runCheck({ executable: executable ?? '', noSandbox }, check, signal);
    } catch (error) {
      if (signal.aborted) return unavailable(cancelled.aborted ? 'cancelled' : 'timeout');
      if (!(error instanceof NotStarted || error instanceof BrowserGone)) throw error;
      const reason = error instanceof NotStarted ? 'not_started' : 'crashed';
      onFailure(reason, error.message);
      return unavailable(reason);
    } finally {
      leave();
    }
  }

  async function enter(owner: string): Promise<Leave | undefined> {
    try {
      return await gate.enter(owner);
    } catch (error) {
      if (error instanceof GateClosed) return undefined;
      throw error;
    }
  }

  return {
    configured: true,
    checkPage(check) {
      const checked: Promise<PageReport> = waitAndCheck(check).finally(() => running.delete(checked));
      running.add(checked);
      return checked;
    },
    async close() {
      closing.abort();
      await Promise.allSettled(running);
    },
  };
}

/** Each page gets its own browser, so no page can see data that another page left behind. */
async function runCheck(settings: ChromiumSettings, check: PageCheck, signal: AbortSignal): Promise<PageReport> {
  const server = await startPageServer(check.files);
  try {
    const chromium = await startChromium(settings, server, signal);
    const report = inspectPage(chromium.connection, server, check);
    return await Promise.race([report, server.failed, rejectWhenAborted(signal)]).finally(chromium.stop);
  } finally {
    server.close();
  }
}

function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return promise;
}
