// Sessions in a real browser: opening them, each with its own browser process, and ending them. If a browser can't
// be opened, the reason is returned, not thrown.
import { createFairGate, GateClosed, type Leave } from '../../../kit/fair-gate.ts';
import type { DnsClient } from '../../../kit/outbound/resolve.ts';
import type { ChromiumSettings } from '../chromium.ts';
import { createDestinations } from './destinations.ts';
import { collectEvidence, type EvidenceCollector } from './evidence.ts';
import { killSessionOnHost, listSessionsOnHost } from './host.ts';
import { launchBrowser } from './launch.ts';
import { openPages } from './pages.ts';
import { type SessionProxy, startProxy } from './proxy.ts';
import { createSession } from './session.ts';
import { startTrace } from './trace.ts';
import type { BrowserSession, BrowserSessions, OpenedSession, SessionRequest, SessionSettings } from './types.ts';

const turns = { inAll: 2, perOwner: 1, maxWaitingOfOwner: 10, maxWaitMs: 30_000 };
const startMs = 30_000;
const viewport = { width: 1_280, height: 800 };

const unavailable = (reason: (OpenedSession & { outcome: 'unavailable' })['reason']): OpenedSession => ({
  outcome: 'unavailable',
  reason,
});

/** Set by tests. */
export interface SessionOptions {
  readonly openDns?: () => DnsClient;
  /** How long to search for an element, and how long to wait until it can be used. */
  readonly actionMs?: number;
}

export function openBrowserSessions(settings: SessionSettings, options: SessionOptions = {}): BrowserSessions {
  const { executable, noSandbox, onFailure } = settings;
  if (executable === undefined)
    return {
      configured: false,
      open: async () => unavailable('not_configured'),
      listOnHost: listSessionsOnHost,
      killOnHost: killSessionOnHost,
      close: async () => {},
    };
  const gate = createFairGate(turns);
  const closing = new AbortController();
  const opening = new Set<Promise<OpenedSession>>();
  const open = new Set<BrowserSession>();

  async function openOne(request: SessionRequest): Promise<OpenedSession> {
    const cancelled = AbortSignal.any([request.signal, closing.signal]);
    const leave = await enter(request.owner, cancelled);
    if (leave === 'busy' || leave === 'cancelled') return unavailable(leave);
    try {
      const signal = AbortSignal.any([cancelled, AbortSignal.timeout(startMs)]);
      signal.throwIfAborted();
      const session = await startSession(
        { executable: executable ?? '', noSandbox },
        request,
        signal,
        onFailure,
        options,
      );
      open.add(session);
      void freeWhenGone(session, leave);
      return { outcome: 'opened', session };
    } catch (error) {
      leave();
      if (cancelled.aborted) return unavailable('cancelled');
      onFailure('not_started', error instanceof Error ? error.message : String(error));
      return unavailable('not_started');
    }
  }

  async function freeWhenGone(session: BrowserSession, leave: Leave): Promise<void> {
    await session.gone;
    await session.close().catch((error) => onFailure('crashed', error.message));
    open.delete(session);
    leave();
  }

  async function enter(owner: string, cancelled: AbortSignal): Promise<Leave | 'busy' | 'cancelled'> {
    try {
      const entered = gate.enter(owner);
      const leave = await Promise.race([entered, whenAborted(cancelled)]);
      if (leave !== undefined) return leave;
      void Promise.resolve(entered).then(
        (late) => late(),
        () => {},
      );
      return 'cancelled';
    } catch (error) {
      if (error instanceof GateClosed) return 'busy';
      throw error;
    }
  }

  return {
    configured: true,
    open(request) {
      const opened: Promise<OpenedSession> = openOne(request).finally(() => opening.delete(opened));
      opening.add(opened);
      return opened;
    },
    listOnHost: listSessionsOnHost,
    killOnHost: killSessionOnHost,
    async close() {
      closing.abort();
      await Promise.allSettled(opening);
      await Promise.allSettled([...open].map((session) => session.close()));
    },
  };
}

const whenAborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });

async function startSession(
  settings: ChromiumSettings,
  { id, url, alsoAllowed }: SessionRequest,
  signal: AbortSignal,
  onFailure: SessionSettings['onFailure'],
  { openDns, actionMs = 5_000 }: SessionOptions,
): Promise<BrowserSession> {
  const home = new URL(url);
  const destinations = createDestinations([home.origin, ...alsoAllowed], openDns);
  let evidence: EvidenceCollector | undefined;
  const proxy: SessionProxy = await startProxy(destinations, (limit) => evidence?.noteLimit(limit));
  const ending = createEnding(onFailure);
  const cancel = () => void ending.close().catch(() => {}); // the caller of `open` gets the error below
  try {
    const started = await launchBrowser(settings, id, proxy.port, signal, ending.crash);
    ending.onEnd(async () => {
      await started.stop();
      proxy.close();
    });
    const { browser, processId, artifacts } = started;
    signal.addEventListener('abort', cancel, { once: true });
    browser.once('disconnected', () => ending.crash('Chromium exited'));
    const context = await browser.newContext({ viewport, acceptDownloads: false, permissions: [] });
    evidence = collectEvidence(context, home.origin, destinations);
    const trace = await startTrace(context, artifacts);
    const pages = await openPages(context, evidence, { onCrash: ending.crash });
    signal.throwIfAborted();
    signal.removeEventListener('abort', cancel);
    const { gone, close } = ending;
    return createSession({ processId, browser, context, pages, evidence, trace, home, actionMs, gone, close });
  } catch (error) {
    await ending.close().finally(() => proxy.close());
    throw error;
  }
}

/** Only the first reason is kept, because killing the browser makes it exit as well. */
function createEnding(onFailure: SessionSettings['onFailure']) {
  const { promise: gone, resolve: end } = Promise.withResolvers<'crashed' | 'closed'>();
  let [hasEnded, cleanUp, cleanedUp] = [false, async () => {}, undefined as Promise<void> | undefined];
  const clean = () => {
    cleanedUp ??= cleanUp();
    return cleanedUp;
  };
  return {
    gone,
    onEnd(work: () => Promise<void>) {
      cleanUp = work;
    },
    crash(why: string) {
      if (hasEnded) return;
      hasEnded = true;
      onFailure('crashed', why);
      end('crashed');
    },
    async close() {
      if (!hasEnded) end('closed');
      hasEnded = true;
      await clean();
    },
  };
}
