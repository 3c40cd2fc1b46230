// Owns which deployment of an app is live, as this process knows it: by a read that began at most a second before the request
// came. So whatever a process does, every other one sees it within a second, however long its reads take. Whoever asks
// meanwhile shares one read; that an app is not published is remembered too.
import type { OutgoingHttpHeaders } from 'node:http';
import { createFairGate } from '../../../kit/fair-gate.ts';
import { LatestMap } from '../../../kit/latest-map.ts';
import type { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { HeaderSettings } from '../contract.ts';
import { findLiveApp } from '../store.ts';

const maxAgeMs = 1_000;
const maxKept = 10_000;

export interface LiveApp {
  readonly id: string;
  readonly slug: string;
  readonly deployment_id: string;
  readonly revision: number;
  /** Those of its security settings. */
  readonly headers: OutgoingHttpHeaders;
}

export interface LiveApps {
  /** Undefined if the app is not published. `client` names the sender: they wait for their own lookups of unknown apps. */
  find(slug: string, client: () => string): LiveApp | undefined | Promise<LiveApp | undefined>;
}

export interface LiveAppDeps {
  readonly db: Db;
  toHeaders(settings: HeaderSettings): OutgoingHttpHeaders;
  /** The refusal of a client who asked for too many apps that are not published. */
  findRefusal(client: string): Problem | undefined;
  /** Called after a read that found nothing. */
  onUnknown(client: string): void;
}

interface Known {
  /** When the database was asked; infinite until then. */
  startedAt: number;
  /** The result, once it is known. */
  app: LiveApp | undefined | Promise<LiveApp | undefined>;
  readonly wasLive: boolean;
}

export function createLiveApps({ db, toHeaders, findRefusal, onUnknown }: LiveAppDeps): LiveApps {
  const known = new LatestMap<string, Known>(maxKept);
  // Apps that are live are read again without waiting for strangers who try one name after the other.
  const liveGate = createFairGate({ inAll: 8, perOwner: 2, maxWaitingOfOwner: 10, maxWaitMs: 5_000 });
  const unknownGate = createFairGate({ inAll: 4, perOwner: 2, maxWaitingOfOwner: 100, maxWaitMs: 5_000 });

  async function read(slug: string, entry: Known, client: () => string): Promise<LiveApp | undefined> {
    const leave = await (entry.wasLive ? liveGate.enter(slug) : unknownGate.enter(client()));
    try {
      entry.startedAt = performance.now();
      const row = await findLiveApp(db, slug);
      if (row !== undefined) return { ...row, slug, headers: toHeaders(row) };
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
