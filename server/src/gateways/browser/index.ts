// Owns looking at a page in a real browser: what it shows, and which errors it has. The page gets its own files and nothing
// else from the network. A browser that can't look is a return value, not an exception.
import { createFairGate, GateClosed, type Leave } from '../../kit/fair-gate.ts';
import { type ChromiumSettings, NotStarted, startChromium } from './chromium.ts';
import { BrowserGone } from './connection.ts';
import { inspectPage } from './inspect-page.ts';
import { type FindFile, startPageServer } from './page-server.ts';
import type { LoadedPage } from './report.ts';

export interface PageCheck {
  /** Whose page it is, such as a workspace. Owners take turns, and have one check at a time per process. */
  readonly owner: string;
  /** An error that it throws is thrown by `checkPage`. */
  readonly files: FindFile;
  /** The page to open, such as `/`. */
  readonly path: string;
  readonly signal: AbortSignal;
  /** Addresses to look out for: the report counts how often the page requested one. */
  readonly watches?: (url: string) => boolean;
  /** A JavaScript expression: the report says whether it is true in the page once that has loaded. */
  readonly condition?: string;
}

export interface UnavailablePage {
  readonly outcome: 'unavailable';
  /**
   * `timeout`: the page was not done in time, for example because of an endless loop. `crashed`: the browser or the page
   * crashed, for example for lack of memory. `cancelled`: the caller's signal, or this process is shutting down.
   */
  readonly reason: 'not_configured' | 'not_started' | 'timeout' | 'crashed' | 'busy' | 'cancelled';
}

/** All texts of a report come from the page: they are data, not to be trusted, and bounded in number and length. */
export type PageReport = LoadedPage | UnavailablePage;

export interface Browser {
  readonly configured: boolean;
  checkPage(check: PageCheck): Promise<PageReport>;
  /** Ends all checks, and waits until their browsers are gone. */
  close(): Promise<void>;
}

export interface BrowserSettings extends Omit<ChromiumSettings, 'executable'> {
  /** Chromium or Chrome. Undefined: not configured. */
  readonly executable: string | undefined;
  /** For the log: why the browser did not start, or crashed. */
  readonly onFailure: (outcome: 'not_started' | 'crashed', why: string) => void;
  /** From the call to the report, with waiting for a turn and starting the browser. */
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

/** One browser for one page: nothing that a page leaves behind is seen by another. */
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
