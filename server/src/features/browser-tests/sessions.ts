// The browsers that runs lease (docs/internals/browser-tests.md#leases). A row records which worker has a browser
// and until when. A worker that can't renew its lease closes its browser. A job closes abandoned browsers.
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
  /** This host's name, as stored in the rows. */
  readonly host: string;
  /** The API's origin, which apps send requests to. */
  readonly apiOrigin: string;
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly clock: Clock;
  readonly times: TestTimes;
}

export interface LeasedBrowser {
  readonly id: string;
  readonly session: BrowserSession;
  /** Aborted if the browser crashed, or if the lease was lost and the browser is closing. */
  readonly lost: AbortSignal;
  /** Closes the browser and ends the lease. */
  close(): Promise<void>;
}

type Unavailable = Extract<OpenedSession, { outcome: 'unavailable' }>['reason'];

const pauseMs = 1_000;

/** Tries until a browser is available or the time is up. */
export async function leaseBrowser(
  db: Db,
  deps: LeaseDeps,
  execution: ExecutionRow,
  signal: AbortSignal,
): Promise<LeasedBrowser | Unavailable> {
  const until = performance.now() + deps.times.browserMs;
  for (;;) {
    const opened = await openBrowser(db, deps, execution, until - performance.now(), signal);
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
  timeoutMs: number,
  signal: AbortSignal,
): Promise<LeasedBrowser | Unavailable> {
  const { workspace_id } = execution;
  const key = { workspace_id, id: newId() };
  // The row is inserted while the run is locked, so no browser can start after the run has ended or been cancelled.
  await asOwner(db, execution, async (db, { cancel_requested_at }) => {
    if (cancel_requested_at !== null) throw new RunStopped('cancelled');
    await insertSession(db, execution, { id: key.id, host: deps.host }, deps.clock.now());
  });
  const lease = keepLease(db, deps, key);
  const close = async (reason: CloseReason) => {
    lease.stop();
    // The browser has exited. If this can't be saved, the lease expires and the job closes the row.
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
      lease.stop(); // if the browser can't be closed, the lease expires and the job kills it
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
 * Renews the lease until it is stopped. The lease is lost if the row is closed, if the browser is to be killed, or if
 * the database has been unresponsive for so long that others may consider the lease expired.
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
      if (!stopped.signal.aborted) await renew().catch(() => {}); // `silence` limits how long failures may continue
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

/** Thrown when the run's browser was closed because its lease could not be renewed. */
class LeaseLost extends Error {}
export class BrowserCrashed extends Error {}

/**
 * Thrown if some browser processes are still running. The run must not end before they do, because deleting its flow
 * relies on that.
 */
export class BrowserNotClosed extends Error {}

function throwNotClosed(cause: unknown): never {
  throw new BrowserNotClosed('the browser could not be closed', { cause });
}

/** If this fails, `LeasedBrowser.close` reports it. */
export const closeSoon = (session: BrowserSession): void => void session.close().catch(() => {});

/**
 * Closes browsers that earlier workers left behind on this host for this run. Browsers on other hosts are closed when
 * their leases expire.
 */
export async function closeEarlierSessions(db: Db, deps: LeaseDeps, execution: ExecutionRow): Promise<void> {
  for (const session of await listOpenSessions(db, execution)) {
    if (session.host !== deps.host) continue;
    await deps.sessions.killOnHost(session.id).catch(throwNotClosed);
    await saveClosed(db, session, 'killed', deps.clock.now());
  }
}

// ---- closing abandoned browsers

const perRun = 100;
/** How long the workers on a host have to kill its browsers before other hosts close the rows. */
const graceSeconds = 15;

type ReapDeps = Pick<LeaseDeps, 'sessions' | 'host'>;

const listBrowsers = async ({ sessions }: ReapDeps) => (sessions.configured ? sessions.listOnHost() : []);

/** Queries the database only if this host has browsers. */
export const reapBrowsers = async (db: Db, deps: ReapDeps, now: Date): Promise<number> =>
  (await listBrowsers(deps)).length > 0 ? reapSessions(db, deps, now) : 0;

/**
 * Runs on every worker. Kills browser processes on this host whose row is closed or whose lease has expired. A process
 * without a row belongs to another installation, because the row is inserted before the browser starts.
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
      failures.push(error); // the others are still closed
    }
  const abandoned = await closeAbandonedSessions(db, graceSeconds, perRun, now);
  if (failures.length > 0) throw failures[0];
  return due.length + abandoned;
}
