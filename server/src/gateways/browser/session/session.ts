// One session: a browser for one app, the actions performed in it, and ending it.
import { setTimeout as wait } from 'node:timers/promises';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { type ActionView, performAction } from './actions.ts';
import { PageStuck, runBounded } from './bounded.ts';
import { evaluateCheck } from './checks.ts';
import type { EvidenceCollector } from './evidence.ts';
import type { Pages } from './pages.ts';
import type { TakenSnapshot } from './place.ts';
import type { Trace } from './trace.ts';
import { readTree, renderTree } from './tree.ts';
import { type ActionOutcome, type BrowserSession, SessionGone } from './types.ts';

export interface SessionParts {
  readonly processId: number;
  readonly browser: Browser;
  readonly context: BrowserContext;
  readonly pages: Pages;
  readonly evidence: EvidenceCollector;
  readonly trace: Trace;
  /** The app's address. */
  readonly home: URL;
  readonly actionMs: number;
  readonly gone: Promise<'crashed' | 'closed'>;
  close(): Promise<void>;
}

const defaultCheckMs = 5_000;
const defaultTreeLength = 20_000;
const maxTitleLength = 200;
const settleMs = 3_000;
const restMs = 100;
/** Longer, so the last step includes effects that a timer causes shortly afterwards. */
const lastRestMs = 500;
/**
 * A page is considered stuck after this time, for example because a script never ends. Must exceed the longest action
 * deadline.
 */
const stuckMs = 25_000;
const snapshotMs = 10_000;
const screenshotMs = 5_000;
const pulseMs = 5_000;
/** The maximum time until a browser's exit is noticed. */
const goneMs = 1_000;
const picture = { width: 1_280, height: 1_024 };

export function createSession(parts: SessionParts): BrowserSession {
  const { pages, evidence } = parts;
  const run = <T>(work: () => Promise<T>, maxMs: number, signal?: AbortSignal) =>
    runBounded(parts.gone, work, maxMs, signal);
  const painters = new WeakMap<Page, Promise<CDPSession>>();
  let taken: TakenSnapshot | undefined;
  let lastPicture: Buffer | undefined;
  let pulse: Promise<CDPSession> | undefined;

  const view: ActionView = {
    home: parts.home,
    actionMs: parts.actionMs,
    get page() {
      return pages.current;
    },
    get quietMs() {
      return pages.quietMs;
    },
    get taken() {
      return taken;
    },
    refuseQuestions: pages.refuseQuestions,
  };

  /** A failure is meaningful only if the browser is still running, and its exit may be reported with a delay. */
  async function requireBrowser(): Promise<void> {
    try {
      pulse ??= parts.browser.newBrowserCDPSession();
      await run(async () => (await pulse)?.send('Browser.getVersion'), pulseMs);
    } catch (error) {
      if (error instanceof PageStuck) return; // it is running but busy
      await Promise.race([parts.gone, wait(goneMs, undefined, { ref: false })]);
      throw error instanceof SessionGone ? error : new SessionGone('The browser does not respond.');
    }
  }

  async function takeSnapshot(maxLength: number) {
    await pages.settle(settleMs, restMs);
    const page = pages.current;
    const nodes = readTree(await page.ariaSnapshotJSON({ mode: 'ai', timeout: snapshotMs }));
    taken = { page, nodes };
    const title = await page.title();
    return { url: page.url(), title: title.slice(0, maxTitleLength), tree: renderTree(nodes, maxLength) };
  }

  async function takePicture(): Promise<Buffer> {
    const page = pages.current;
    const painter = painters.get(page) ?? parts.context.newCDPSession(page);
    painters.set(page, painter);
    const { width, height } = page.viewportSize() ?? picture;
    const scale = Math.min(1, picture.width / width, picture.height / height);
    const clip = scale === 1 ? {} : { clip: { x: 0, y: 0, width, height, scale } };
    // Skips Playwright's preparations for comparable screenshots, which take longer than the screenshot itself.
    const { data } = await (await painter).send('Page.captureScreenshot', { format: 'jpeg', quality: 60, ...clip });
    return Buffer.from(data, 'base64');
  }

  return {
    processId: parts.processId,
    gone: parts.gone,
    beginStep: evidence.beginStep,
    evidence: evidence.build,
    close: parts.close,
    endTrace: parts.trace.end,
    settle: () => run(() => pages.settle(settleMs, lastRestMs), stuckMs),
    snapshot: (maxLength = defaultTreeLength) => run(() => takeSnapshot(maxLength), stuckMs),
    async act(action, signal) {
      if (action.action !== 'wait') {
        evidence.beginAction();
        pages.beginAction();
      }
      try {
        const outcome = await run(() => performAction(view, action), stuckMs, signal);
        if (outcome.outcome !== 'done') await requireBrowser();
        return withAnswers(outcome, pages.answers);
      } catch (error) {
        if (error instanceof PageStuck) return { outcome: 'not_possible', why: error.message };
        throw error;
      } finally {
        if (action.action !== 'wait') pages.noteAction();
      }
    },
    async check(check, signal, timeoutMs = defaultCheckMs) {
      try {
        const outcome = await run(() => evaluateCheck(view, check, timeoutMs), timeoutMs + stuckMs, signal);
        if (!outcome.holds) await requireBrowser();
        return outcome;
      } catch (error) {
        if (error instanceof PageStuck) return { holds: false, seen: error.message, target: null };
        throw error;
      }
    },
    async screenshot() {
      try {
        lastPicture = await run(takePicture, screenshotMs);
      } catch (error) {
        // If the page hangs, the last screenshot is returned.
        if (error instanceof SessionGone || lastPicture === undefined) throw error;
      }
      return lastPicture;
    },
  };
}

/** If we cancelled the action's confirmation dialog, the action was not performed. */
function withAnswers(outcome: ActionOutcome, { accepted, refused }: Pages['answers']): ActionOutcome {
  if (outcome.outcome !== 'done') return outcome;
  if (refused === 0) return { ...outcome, confirmed: accepted > 0 };
  const why =
    'The page opened a confirmation dialog that was not recorded. The dialog was cancelled because the element has changed.';
  return { outcome: 'not_possible', why };
}
