// Tests browser leases with real rows and processes: how leases are renewed, and how abandoned browsers are closed.
import { type ChildProcess, spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import {
  chromium,
  listSessionsOnHost,
  openBrowserSessions,
  profileOf,
  startFlowWorld,
} from '../../../test/support/flows.ts';
import { newId } from '../../kit/ids.ts';
import { keepLease, leaseBrowser, reapSessions } from './sessions.ts';
import { findExecutionByKey } from './store/executions.ts';
import { type CloseReason, removeOldSessions, renewLease, saveClosed } from './store/sessions.ts';
import { usualTimes } from './times.ts';
import { RunStopped } from './watch.ts';

const scene = await startFlowWorld();
const { world, workspace: workspace_id } = scene;
const { db } = world.app.database;
const sessions = openBrowserSessions({ executable: chromium, noSandbox: true, onFailure: () => {} });
afterAll(() => sessions.close());
const reap = (host = hostname()) => reapSessions(db, { sessions, host }, new Date());

interface SessionOptions {
  readonly leaseSeconds?: number;
  readonly host?: string;
  readonly isKilled?: boolean;
}

async function insert({ leaseSeconds = 30, host = hostname(), isKilled = false }: SessionOptions = {}) {
  const id = newId();
  await sql`insert into browser_sessions (id, workspace_id, execution_id, host, created_date, lease_until, kill_requested_at)
    values (${id}, ${workspace_id}, ${newId()}, ${host}, now(), now() + make_interval(secs => ${leaseSeconds}),
      ${isKilled ? new Date() : null})`.execute(world.db);
  return { workspace_id, id };
}
const find = ({ id }: { id: string }) =>
  world.db.selectFrom('browser_sessions').where('id', '=', id).selectAll().executeTakeFirstOrThrow();
const findReason = async (session: { id: string }): Promise<CloseReason | null> => (await find(session)).close_reason;

const processes: ChildProcess[] = [];
afterAll(() => {
  for (const process of processes) process.kill('SIGKILL');
});
/** Starts a process that looks like this session's browser, in its own process group. */
async function startProcess({ id }: { id: string }): Promise<() => boolean> {
  const child = spawn(
    process.execPath,
    ['-e', 'setInterval(() => {}, 1000)', '--', `--user-data-dir=${profileOf(id)}`],
    {
      detached: true,
      stdio: 'ignore',
    },
  );
  processes.push(child);
  await expect.poll(async () => (await listSessionsOnHost()).some((each) => each.id === id)).toBe(true);
  return () => child.exitCode === null && child.signalCode === null;
}

describe('the job on every worker', () => {
  it('leaves a browser whose lease continues, and one of another installation', async () => {
    const session = await insert();
    const [isOpen, isForeign] = [await startProcess(session), await startProcess({ id: newId() })];
    await reap();
    expect([isOpen(), isForeign(), await findReason(session)]).toEqual([true, true, null]);
  });

  it.each([
    ['whose lease has ended', { leaseSeconds: -1 }, 'lease_ended'],
    ['that is to be killed', { isKilled: true }, 'killed'],
  ] as const)('kills a browser %s, and closes its row', async (_what, options, reason) => {
    const session = await insert(options);
    const isOpen = await startProcess(session);
    await reap();
    await expect.poll(isOpen).toBe(false);
    expect(await findReason(session)).toBe(reason);
  });

  it('kills a browser whose row is closed', async () => {
    const session = await insert();
    const isOpen = await startProcess(session);
    await saveClosed(db, session, 'ended', new Date());
    await reap();
    await expect.poll(isOpen).toBe(false);
    expect(await findReason(session)).toBe('ended');
  });

  it('closes rows whose browser is gone already', async () => {
    const session = await insert({ leaseSeconds: -1 });
    await reap();
    expect(await find(session)).toMatchObject({ close_reason: 'lease_ended', closed_at: expect.any(Date) });
  });

  it('leaves rows of other hosts to them, for 15 seconds', async () => {
    const [recent, old, live] = [
      await insert({ host: 'elsewhere', leaseSeconds: -5 }),
      await insert({ host: 'elsewhere', leaseSeconds: -20 }),
      await insert({ host: 'elsewhere', isKilled: true }),
    ];
    await reap();
    expect([await findReason(recent), await findReason(old), await findReason(live)]).toEqual([
      null,
      'lease_ended',
      null,
    ]);
  });

  it('closes each session once, if two workers do it at the same time', async () => {
    const session = await insert({ leaseSeconds: -1 });
    const isOpen = await startProcess(session);
    await Promise.all([reap(), reap()]);
    expect([isOpen(), await findReason(session)]).toEqual([false, 'lease_ended']);
  });

  it('closes others although one cannot be killed', async () => {
    const [stuck, other] = [await insert({ isKilled: true }), await insert({ isKilled: true })];
    const killOnHost = async (id: string) => {
      if (id === stuck.id) throw new Error('still there');
    };
    const job = reapSessions(db, { sessions: { ...sessions, killOnHost }, host: hostname() }, new Date());
    await expect(job).rejects.toThrow('still there');
    expect([await findReason(stuck), await findReason(other)]).toEqual([null, 'killed']);
    await saveClosed(db, stuck, 'killed', new Date());
  });

  it('removes rows a day after they were closed', async () => {
    const [open, closed] = [await insert(), await insert()];
    await saveClosed(db, closed, 'ended', new Date());
    await removeOldSessions(db, new Date(Date.now() + 1_000), 500);
    await expect(find(closed)).rejects.toThrow();
    expect((await find(open)).closed_at).toBeNull();
  });
});

describe('a lease', () => {
  const keep = (session: { workspace_id: string; id: string }, more: object = {}) =>
    keepLease(db, { times: { ...usualTimes, renewMs: 50, ...more } }, session);
  const waitForLoss = (lease: { lost: AbortSignal }) => expect.poll(() => lease.lost.aborted).toBe(true);

  it('is prolonged until it is stopped', async () => {
    const session = await insert({ leaseSeconds: 1 });
    const { lease_until } = await find(session);
    const lease = keep(session);
    await expect.poll(async () => (await find(session)).lease_until > lease_until).toBe(true);
    lease.stop();
    expect(lease.lost.aborted).toBe(false);
  });

  it('is lost if the session counts as closed', async () => {
    const session = await insert();
    await saveClosed(db, session, 'lease_ended', new Date());
    expect(await renewLease(db, session)).toBeUndefined();
    await waitForLoss(keep(session));
  });

  it('is lost if the browser is to be killed', async () => {
    await waitForLoss(keep(await insert({ isKilled: true })));
  });

  it('is lost if it could not be prolonged for too long', async () => {
    await waitForLoss(keep(await insert(), { renewMs: 60_000, silenceMs: 1 }));
  });

  it('is ended once, for the first reason', async () => {
    const session = await insert();
    expect([
      await saveClosed(db, session, 'ended', new Date()),
      await saveClosed(db, session, 'killed', new Date()),
    ]).toEqual([true, false]);
    expect(await findReason(session)).toBe('ended');
  });
});

describe('the browser of a run', () => {
  const deps = {
    sessions,
    host: hostname(),
    apiOrigin: world.config.BASE_URL,
    wake: { notify() {} },
    clock: world.clock,
    times: usualTimes,
  };
  async function newRun() {
    const app = await scene.publishedApp();
    const { id, session } = await scene.startElsewhere(app, await scene.createFlow(app));
    await scene.closeSession(session);
    const run = await findExecutionByKey(db, { workspace_id, app_id: app.id, id });
    if (run === undefined) throw new Error('the run is missing');
    return { run, lease: () => leaseBrowser(db, deps, run, new AbortController().signal) };
  }
  const findNewest = ({ id }: { id: string }) =>
    world.db
      .selectFrom('browser_sessions')
      .where('execution_id', '=', id)
      .orderBy('id', 'desc')
      .selectAll()
      .executeTakeFirstOrThrow();
  /** Makes the database refuse changes to a column of `browser_sessions` while `work` runs. */
  async function withRefused(column: 'process_id' | 'closed_at', work: () => Promise<void>): Promise<void> {
    await sql`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
      create trigger refuse before update of ${sql.ref(column)} on browser_sessions execute function refuse()`.execute(
      world.db,
    );
    await work().finally(() => sql`drop function refuse cascade`.execute(world.db));
  }
  const listIdsOnHost = async () => (await listSessionsOnHost()).map(({ id }) => id);

  it('is closed if its process cannot be saved', async () => {
    const { run, lease } = await newRun();
    await withRefused('process_id', () => expect(lease()).rejects.toThrow('refused'));
    const { id, close_reason } = await findNewest(run);
    expect([close_reason, (await listIdsOnHost()).includes(id)]).toEqual(['ended', false]);
  });

  it('is closed although that cannot be saved: its lease ends', async () => {
    const { run, lease } = await newRun();
    const leased = await lease();
    if (typeof leased === 'string') throw new Error(leased);
    expect(await listIdsOnHost()).toContain(leased.id);
    await withRefused('closed_at', () => leased.close());
    const { id, closed_at } = await findNewest(run);
    expect([id, closed_at, (await listIdsOnHost()).includes(id)]).toEqual([leased.id, null, false]);
  });

  it('does not start if the run was cancelled', async () => {
    const { run, lease } = await newRun();
    const { id } = await findNewest(run);
    await sql`update test_executions set cancel_requested_at = now() where id = ${run.id}`.execute(world.db);
    await expect(lease()).rejects.toThrow(RunStopped);
    expect((await findNewest(run)).id).toBe(id);
  });
});
