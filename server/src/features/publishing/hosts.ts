// Decides for which hosts a proxy may get certificates: that of the installation, and those of published apps and
// previews. Without the database, the hosts that were found within the last minute are known. About all others nothing
// can be said: they may have been published meanwhile.
//
//   name                     database   answer
//   plinth.example           any        served
//   shop.apps.example        reached    served if the app is published, otherwise unknown
//   shop.apps.example        away       served if it was found within the last minute, otherwise unavailable
//   apps.example             any        unknown: there is no app without a label
import { setTimeout as sleep } from 'node:timers/promises';
import { isPreviewLabel } from '../../core/auth/previews.ts';
import type { Clock } from '../../kit/clock.ts';
import { createFairGate } from '../../kit/fair-gate.ts';
import { LatestMap } from '../../kit/latest-map.ts';
import { hostOf } from '../../kit/outbound/address.ts';
import type { Db } from '../../tables.ts';
import { findShown } from './previews/serve.ts';
import { createTargetFinder } from './serve/address.ts';
import { findLiveApp } from './store.ts';

export type HostAnswer = 'served' | 'unknown' | 'unavailable';

const maxNameLength = 253;
const rememberedMs = 60_000;
const maxRemembered = 10_000;
/** A browser is waiting for its connection meanwhile. */
const maxReadMs = 2_000;

interface HostDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly baseUrl: string;
  readonly appsDomain: string | undefined;
  onHostsUnreadable(error: unknown): void;
}

export function createHosts({ db, clock, baseUrl, appsDomain, onHostsUnreadable }: HostDeps) {
  const ownHost = hostOf(new URL(baseUrl));
  const findTarget = createTargetFinder(appsDomain);
  const foundAt = new LatestMap<string, number>(maxRemembered);
  const gate = createFairGate({ inAll: 4, perOwner: 4, maxWaitingOfOwner: 100, maxWaitMs: maxReadMs });

  /** Remembers that an app or a preview was found at the host with this label. */
  const noteFound = (label: string): void => void foundAt.set(label, clock.now().getTime());
  const wasFound = (label: string): boolean =>
    clock.now().getTime() - (foundAt.get(label) ?? Number.NEGATIVE_INFINITY) < rememberedMs;

  async function exists(label: string): Promise<boolean> {
    const leave = await gate.enter('');
    try {
      const found = isPreviewLabel(label) ? await findShown(db, label, clock.now()) : await findLiveApp(db, label);
      return found !== undefined;
    } finally {
      leave();
    }
  }

  async function checkLabel(label: string): Promise<HostAnswer> {
    try {
      const isFound = await withinTime(exists(label));
      if (isFound) noteFound(label);
      else foundAt.delete(label);
      return isFound ? 'served' : 'unknown';
    } catch (error) {
      onHostsUnreadable(error);
      return wasFound(label) ? 'served' : 'unavailable';
    }
  }

  async function check(name: string): Promise<HostAnswer> {
    if (name.length > maxNameLength) return 'unknown';
    if (name.toLowerCase() === ownHost) return 'served';
    const isName = appsDomain !== undefined && /^[\w.-]+$/.test(name);
    const label = isName ? findTarget({ headers: { host: name }, url: '/' })?.slug : undefined;
    return label === undefined ? 'unknown' : checkLabel(label);
  }

  return { noteFound, check };
}

/** A database that does not answer counts as away. */
async function withinTime<Result>(reading: Promise<Result>): Promise<Result> {
  const stopped = new AbortController();
  const tooLate = sleep(maxReadMs, undefined, { signal: stopped.signal }).then((): never => {
    throw new Error(`the database did not answer within ${maxReadMs} ms`);
  });
  try {
    return await Promise.race([reading, tooLate]);
  } finally {
    stopped.abort();
  }
}
