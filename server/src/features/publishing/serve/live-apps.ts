// This process's cache of live deployments. A request uses only results of reads that started at most one second
// before it arrived, so every process sees a change within a second, however long its reads take. Concurrent requests
// share one read.
//
// That an app is not published is never cached: a request is told so only by a read that started after the request
// arrived. Otherwise a visitor whom one process has served the app could get 404 from another process. Instead, reads of
// one unpublished app are paced:
//
//   request ── read: not published ── 404
//      request ── waits for the pause ─┬─ read ── 200 or 404 for both
//                       request ───────┘
import type { OutgoingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FailedLookups } from '../../../core/auth/request/failed-lookups.ts';
import { createFairGate } from '../../../kit/fair-gate.ts';
import { LatestMap } from '../../../kit/latest-map.ts';
import type { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { HeaderSettings } from '../contract.ts';
import { findLiveApp, type LiveAppRow } from '../store.ts';

const maxAgeMs = 1_000;
const maxKept = 10_000;
/** The least time between the starts of two reads of an app that is not published. */
const unpublishedPauseMs = 100;

export interface LiveApp {
  readonly id: string;
  readonly slug: string;
  readonly deployment_id: string;
  readonly revision: number;
  /** The headers from the app's security settings. */
  readonly headers: OutgoingHttpHeaders;
  readonly signIn: SignInOffer;
}

/** How people can sign in to the app and sign up at present. */
export interface SignInOffer {
  readonly sign_up: 'closed' | 'invited' | 'open';
  readonly methods: { readonly password: boolean; readonly link: boolean };
  /** Whether this installation can send e-mail. */
  readonly mail: boolean;
  /** The page that shows all mails, if a stand-in keeps them instead of delivering them. */
  readonly mail_inbox?: string;
}

export interface LiveApps {
  /**
   * `undefined` if the app is not published. `client` returns the client's name. Each client waits only for its own
   * lookups of unknown apps.
   */
  find(slug: string, client: () => string): LiveApp | undefined | Promise<LiveApp | undefined>;
}

export interface LiveAppDeps {
  readonly db: Db;
  toHeaders(settings: HeaderSettings): OutgoingHttpHeaders;
  readSignInOffer(db: Db, app: LiveAppRow): Promise<SignInOffer>;
  /** Returns the error for a client that has requested too many unpublished apps. */
  findRefusal(client: string): Problem | undefined;
  /** Called after a lookup that found no app, at most once a second for a slug. */
  onUnknown(client: string): void;
}

interface Known {
  /** When the database query started. Infinity before that. */
  startedAt: number;
  /** The result, or a promise while the read is running. */
  app: LiveApp | undefined | Promise<LiveApp | undefined>;
  /** What was known before. */
  readonly previous: Previous | undefined;
  /** When `onUnknown` was last called. */
  countedAt: number;
}

interface Previous {
  readonly startedAt: number;
  readonly wasLive: boolean;
}

export function createLiveApps({ db, toHeaders, readSignInOffer, findRefusal, onUnknown }: LiveAppDeps): LiveApps {
  const known = new LatestMap<string, Known>(maxKept);
  // Reads of live apps don't wait for clients that try one name after another.
  const liveGate = createFairGate({ inAll: 8, perOwner: 2, maxWaitingOfOwner: 10, maxWaitMs: 5_000 });
  const unknownGate = createFairGate({ inAll: 4, perOwner: 2, maxWaitingOfOwner: 100, maxWaitMs: 5_000 });

  async function read(slug: string, entry: Known, client: () => string): Promise<LiveApp | undefined> {
    const { previous } = entry;
    const wasLive = previous?.wasLive === true;
    if (previous !== undefined && !wasLive) {
      const pauseMs = previous.startedAt + unpublishedPauseMs - performance.now();
      if (pauseMs > 0) await sleep(pauseMs);
    }
    const leave = await (wasLive ? liveGate.enter(slug) : unknownGate.enter(client()));
    try {
      entry.startedAt = performance.now();
      const row = await findLiveApp(db, slug);
      if (row !== undefined) return { ...row, slug, headers: toHeaders(row), signIn: await readSignInOffer(db, row) };
      if (entry.startedAt - entry.countedAt >= maxAgeMs) {
        entry.countedAt = entry.startedAt;
        onUnknown(client());
      }
      return undefined;
    } finally {
      leave();
    }
  }

  function start(slug: string, old: Known | undefined, client: () => string): Promise<LiveApp | undefined> {
    const previous = old && toPrevious(old);
    const refusal = previous?.wasLive ? undefined : findRefusal(client());
    if (refusal !== undefined) throw refusal;
    const countedAt = old?.countedAt ?? Number.NEGATIVE_INFINITY;
    const entry: Known = { startedAt: Number.POSITIVE_INFINITY, app: undefined, previous, countedAt };
    const reading = read(slug, entry, client);
    entry.app = reading;
    known.set(slug, entry);
    reading.then(
      (app) => {
        entry.app = app;
      },
      () => {
        if (known.get(slug) === entry) known.delete(slug);
      },
    );
    return reading;
  }

  function find(slug: string, client: () => string): LiveApp | undefined | Promise<LiveApp | undefined> {
    const entry = known.get(slug);
    if (entry === undefined || performance.now() - entry.startedAt >= maxAgeMs) return start(slug, entry, client);
    const { app, startedAt } = entry;
    if (!(app instanceof Promise)) return app ?? start(slug, entry, client);
    const hasStarted = startedAt !== Number.POSITIVE_INFINITY;
    return hasStarted ? app.then((live) => live ?? find(slug, client)) : app;
  }

  return { find };
}

const toPrevious = ({ app, startedAt, previous }: Known): Previous => ({
  startedAt,
  wasLive: app instanceof Promise ? previous?.wasLive === true : app !== undefined,
});

/** Limits how many apps and previews that don't exist a client may request. */
export const countUnknown = (failedLookups: FailedLookups) => ({
  findRefusal: (client: string) => failedLookups.findRefusal('apps', client),
  // A failure to count must not fail the request.
  onUnknown: (client: string) => void failedLookups.count('apps', client).catch(() => {}),
});
