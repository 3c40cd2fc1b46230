// Owns the browsers that runs lease (docs/internals/browser-tests.md#leases). A row says who has a browser and until when; a worker
// that can't prolong its lease closes its browser itself, and a job closes what is left behind.
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserSession, BrowserSessions, OpenedSession } from '../../gateways/browser/session/types.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import type { Clock } from '../../kit/clock.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import { asOwner } from './end.ts';
import { toRunTopic } from './execution.ts';
import type { ExecutionRow } from './store/executions.ts';
import {
  type CloseReason,
  closeAbandonedSessions,
  insertSession,
  listOpenSessions,
  listSessionStates,
  listSessionsToKill,
  renewLease,
  type SessionKey,
  saveClosed,
  saveProcess,
} from './store/sessions.ts';
import type { TestTimes } from './times.ts';
import { RunStopped } from './watch.ts';

export interface LeaseDeps {
  readonly sessions: BrowserSessions;
  /** The name of this host, as the rows have it. */
  readonly host: string;
  /** The origin of the API, which apps call. */
  readonly apiOrigin: string;
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly clock: Clock;
  readonly times: TestTimes;
}

export interface LeasedBrowser {
  readonly id: string;
  readonly session: BrowserSession;
  /** Aborted if the browser crashed, or if the lease was lost: the browser is being closed then. */
  readonly lost: AbortSignal;
  /** Closes the browser and ends the lease. */
  close(): Promise<void>;
}

type Unavailable = Extract<OpenedSession, { outcome: 'unavailable' }>['reason'];

const pauseMs = 1_000;

/** Tries until there is a browser, or the time for it is over. */
export async function leaseBrowser(
  db: Db,
  deps: LeaseDeps,
  execution: ExecutionRow,
  signal: AbortSignal,
): Promise<LeasedBrowser | Unavailable> {
  const until = performance.now() + deps.times.browserMs;
  for (;;) {
    const opened = await openBrowser(db, deps, execution, signal, until - performance.now());
    if (typeof opened !== 'string') return opened;
    const isFinal = opened === 'not_configured' || opened === 'cancelled' || performance.now() + pauseMs > until;
    if (isFinal || signal.aborted) return opened;
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
  }
}

async function openBrowser(
  db: Db,
  deps: LeaseDeps,
  execution: ExecutionRow,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<LeasedBrowser | Unavailable> {
  const { workspace_id } = execution;
  const key = { workspace_id, id: newId() };
  // Under the lock of the run: whoever has ended or cancelled it knows that it gets no browser any more.
  await asOwner(db, execution, async (db, { cancel_requested_at }) => {
    if (cancel_requested_at !== null) throw new RunStopped('cancelled');
    await insertSession(db, execution, { id: key.id, host: deps.host }, deps.clock.now());
  });
  const lease = keepLease(db, deps, key);
  const close = async (reason: CloseReason) => {
    lease.stop();
    // The browser is gone. If that can't be saved, the lease ends and the job closes the row.
    await saveClosed(db, key, reason, deps.clock.now()).catch(() => {});
    deps.wake.notify(toRunTopic(execution.id));
  };
  const tooLate = AbortSignal.timeout(Math.max(1, Math.floor(timeoutMs)));
  const either = AbortSignal.any([signal, tooLate, lease.lost]);
  const request = { id: key.id, owner: workspace_id, url: execution.url, alsoAllowed: [deps.apiOrigin] };
  const opened = await deps.sessions.open({ ...request, signal: either }).catch(async (error) => {
    await close('not_opened');
    throw error;
  });
  if (opened.outcome === 'unavailable') {
    await close('not_opened');
    return opened.reason === 'cancelled' && !signal.aborted ? 'busy' : opened.reason;
  }
  const { session } = opened;
  lease.lost.addEventListener('abort', () => closeSoon(session), { once: true });
  if (lease.lost.aborted) closeSoon(session);
  const crashed = new AbortController();
  void session.gone.then((how) => how === 'crashed' && crashed.abort(new BrowserCrashed('the browser crashed')));
  const leased: LeasedBrowser = {
    id: key.id,
    session,
    lost: AbortSignal.any([lease.lost, crashed.signal]),
    async close() {
      lease.stop(); // if the browser can't be closed, its lease ends, and the job kills it
      await session.close().catch(throwNotClosed);
      await close(crashed.signal.aborted ? 'crashed' : 'ended');
    },
  };
  try {
    await saveProcess(db, key, session.processId);
    return leased;
  } catch (error) {
    await leased.close();
    throw error;
  }
}

/**
 * Prolongs the lease until it is stopped. It is lost if the row counts as closed, if somebody asks to kill the browser, or if the
 * database was silent for so long that others may count it as closed.
 */
export function keepLease(db: Db, { times }: Pick<LeaseDeps, 'times'>, key: SessionKey) {
  const lost = new AbortController();
  const stopped = new AbortController();
  let renewedAt = performance.now();
  const renew = async () => {
    const askedAt = performance.now();
    const lease = await renewLease(db, key);
    if (lease === undefined || lease.is_killed) lost.abort(new LeaseLost());
    else renewedAt = askedAt;
  };
  const silence = setInterval(() => {
    if (performance.now() - renewedAt > times.silenceMs) lost.abort(new LeaseLost());
  }, 1_000);
  const keep = async () => {
    while (!stopped.signal.aborted && !lost.signal.aborted) {
      await sleep(times.renewMs, undefined, { signal: stopped.signal }).catch(() => {});
      if (!stopped.signal.aborted) await renew().catch(() => {}); // `silence` decides how long that may go on
    }
    clearInterval(silence);
  };
  void keep();
  return {
    lost: lost.signal,
    stop() {
      stopped.abort();
      clearInterval(silence);
    },
  };
}

/** The browser of a run is closed, because its lease could not be prolonged. */
class LeaseLost extends Error {}
export class BrowserCrashed extends Error {}

/** Processes of the browser are still there. The run must not end yet: who deletes its flow relies on that. */
export class BrowserNotClosed extends Error {}

function throwNotClosed(cause: unknown): never {
  throw new BrowserNotClosed('the browser could not be closed', { cause });
}

/** If that fails, `LeasedBrowser.close` will say so. */
export const closeSoon = (session: BrowserSession): void => void session.close().catch(() => {});

/** Closes browsers of this run that earlier workers on this host left behind. Those of other hosts end with their lease. */
export async function closeEarlierSessions(db: Db, deps: LeaseDeps, execution: ExecutionRow): Promise<void> {
  for (const session of await listOpenSessions(db, execution)) {
    if (session.host !== deps.host) continue;
    await deps.sessions.killOnHost(session.id).catch(throwNotClosed);
    await saveClosed(db, session, 'killed', deps.clock.now());
  }
}

// ---- closing what nobody closes

const perRun = 100;
/** How long others wait for the workers of a host to kill the browsers there. */
const graceSeconds = 15;

type ReapDeps = Pick<LeaseDeps, 'sessions' | 'host'>;

const listBrowsers = async ({ sessions }: ReapDeps) => (sessions.configured ? sessions.listOnHost() : []);

/** Asks the database only if there are browsers on this host. */
export const reapBrowsers = async (db: Db, deps: ReapDeps, now: Date): Promise<number> =>
  (await listBrowsers(deps)).length > 0 ? reapSessions(db, deps, now) : 0;

/**
 * On every worker. A process of a browser on this host stays only if its row is open and its lease goes on. A process without a row
 * belongs to another installation: a row is there before its browser.
 */
export async function reapSessions(db: Db, deps: ReapDeps, now: Date): Promise<number> {
  const onHost = await listBrowsers(deps);
  const running = await listSessionStates(
    db,
    onHost.map(({ id }) => id),
  );
  const due = [
    ...running.filter(({ is_closed, has_ended_lease, is_killed }) => is_closed || has_ended_lease || is_killed),
    ...(await listSessionsToKill(db, deps.host, perRun)),
  ];
  const failures: unknown[] = [];
  for (const session of new Map(due.map((each) => [each.id, each])).values())
    try {
      await deps.sessions.killOnHost(session.id);
      await saveClosed(db, session, session.has_ended_lease ? 'lease_ended' : 'killed', now);
    } catch (error) {
      failures.push(error); // it keeps no other from being closed
    }
  const abandoned = await closeAbandonedSessions(db, graceSeconds, now, perRun);
  if (failures.length > 0) throw failures[0];
  return due.length + abandoned;
}
