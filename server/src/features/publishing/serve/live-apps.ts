// This process's cache of live deployments. A request uses only results of reads that started at most one second
// before it arrived, so every process sees a change within a second, however long its reads take. Concurrent requests
// share one read. Apps that are not published are cached too.
import type { OutgoingHttpHeaders } from 'node:http';
import { createFairGate } from '../../../kit/fair-gate.ts';
import { LatestMap } from '../../../kit/latest-map.ts';
import type { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { HeaderSettings } from '../contract.ts';
import { findLiveApp, type LiveAppRow } from '../store.ts';

const maxAgeMs = 1_000;
const maxKept = 10_000;

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
  /** Called after a lookup that found no app. */
  onUnknown(client: string): void;
}

interface Known {
  /** When the database query started. Infinity before that. */
  startedAt: number;
  /** The result, or a promise while the read is running. */
  app: LiveApp | undefined | Promise<LiveApp | undefined>;
  readonly wasLive: boolean;
}

export function createLiveApps({ db, toHeaders, readSignInOffer, findRefusal, onUnknown }: LiveAppDeps): LiveApps {
  const known = new LatestMap<string, Known>(maxKept);
  // Reads of live apps don't wait for clients that try one name after another.
  const liveGate = createFairGate({ inAll: 8, perOwner: 2, maxWaitingOfOwner: 10, maxWaitMs: 5_000 });
  const unknownGate = createFairGate({ inAll: 4, perOwner: 2, maxWaitingOfOwner: 100, maxWaitMs: 5_000 });

  async function read(slug: string, entry: Known, client: () => string): Promise<LiveApp | undefined> {
    const leave = await (entry.wasLive ? liveGate.enter(slug) : unknownGate.enter(client()));
    try {
      entry.startedAt = performance.now();
      const row = await findLiveApp(db, slug);
      if (row !== undefined) return { ...row, slug, headers: toHeaders(row), signIn: await readSignInOffer(db, row) };
      onUnknown(client());
      return undefined;
    } finally {
      leave();
    }
  }

  function start(slug: string, wasLive: boolean, client: () => string): Promise<LiveApp | undefined> {
    const refusal = wasLive ? undefined : findRefusal(client());
    if (refusal !== undefined) throw refusal;
    const entry: Known = { startedAt: Number.POSITIVE_INFINITY, app: undefined, wasLive };
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

  return {
    find(slug, client) {
      const entry = known.get(slug);
      if (entry === undefined) return start(slug, false, client);
      if (performance.now() - entry.startedAt < maxAgeMs) return entry.app;
      return start(slug, entry.app instanceof Promise ? entry.wasLive : entry.app !== undefined, client);
    },
  };
}
