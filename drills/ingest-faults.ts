// Drill: clients send events with ids and repeat each request blindly until it gets a response, while API and worker
// processes are killed and PostgreSQL crashes. Judged by the clients' journal: every event must be stored exactly once,
// and the user counts must equal a recount of the journal.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Bench, BenchOptions } from '../harness/bench.ts';
import { createBenchApp } from '../harness/fixtures.ts';
import { type Installation, startInstallation } from '../harness/installation.ts';
import type { OwnPostgres } from '../harness/postgres.ts';
import type { Processes } from '../harness/processes.ts';
import { type Random, randomFrom } from '../harness/random.ts';
import { type Call, retryingClient } from '../harness/retrying-client.ts';
import { drawTimes, injectAt } from './lib/fault-schedule.ts';

const sizes = {
  quick: { seconds: 15, clients: 6, apps: 2, faults: { 'api killed': 3, 'worker killed': 1, 'postgres crashed': 2 } },
  full: {
    seconds: 300,
    clients: 12,
    apps: 5,
    faults: { 'api killed': 40, 'worker killed': 10, 'postgres crashed': 12 },
  },
};
type Size = (typeof sizes)['quick'];
type Fault = keyof Size['faults'];

const batchSize = 40;
const usersPerApp = 200;
const dayMs = 24 * 60 * 60 * 1000;
const seed = Number(process.env.BENCH_SEED ?? 4711);

/** The acknowledged events: the time of each event by id, and the time of each user's latest event. */
interface Journal {
  readonly app_id: string;
  readonly events: Map<string, number>;
  readonly users: Map<string, number>;
}

export const ingestFaults: Bench = async ({ quick, progress }) => {
  const size = sizes[quick ? 'quick' : 'full'];
  await using installation = await startInstallation();
  const { token, journals } = await createApps(installation, size.apps);
  const processes = await installation.startProcesses({ api: 2, worker: 1 });
  return await drill({ postgres: installation.postgres, processes, token, journals }, size, progress);
};

async function createApps(installation: Installation, count: number) {
  const workspace = await installation.createWorkspace();
  const journals: Journal[] = [];
  for (let n = 0; n < count; n += 1) {
    const { id } = await createBenchApp(installation.db, workspace, 'user_app');
    journals.push({ app_id: id, events: new Map(), users: new Map() });
  }
  return { token: workspace.token, journals };
}

interface Environment {
  readonly postgres: OwnPostgres;
  readonly processes: Processes;
  readonly token: string;
  readonly journals: readonly Journal[];
}

async function drill(
  { postgres, processes, token, journals }: Environment,
  size: Size,
  progress: BenchOptions['progress'],
) {
  const random = randomFrom(seed);
  const ended = new AbortController();
  const sent = { repeated: 0 };
  const clients = Array.from({ length: size.clients }, (_, n) =>
    sendUntil(ended.signal, retryingClient(processes.apis, token), journals, randomFrom(seed + n + 1), sent),
  );
  const inject = async (fault: Fault): Promise<boolean> => {
    if (fault === 'postgres crashed') postgres.restartImmediately();
    else return killOne(processes, fault === 'api killed' ? 'api' : 'worker', random);
    return true;
  };
  const injected = await injectAt(drawTimes<Fault>(size.faults, size.seconds, random), inject, progress);
  ended.abort();
  await Promise.all(clients);
  await processes.allReady();
  progress('faults are over; comparing with the journals');
  const call = retryingClient(processes.apis, token);
  const faults = { missing: 0, stored_twice: 0, unknown: 0, miscounted: 0 };
  for (const journal of journals) {
    const stored = await listStored(postgres.url, journal.app_id);
    const counts = new Map<string, number>();
    for (const id of stored) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const id of journal.events.keys()) if (!counts.has(id)) faults.missing += 1;
    for (const [id, count] of counts) {
      if (count > 1) faults.stored_twice += 1;
      if (!journal.events.has(id)) faults.unknown += 1;
    }
    faults.miscounted += await countDifference(call, journal);
  }
  const acknowledged = journals.reduce((sum, { events }) => sum + events.size, 0);
  return {
    figures: {
      seed,
      faults_injected: injected,
      processes_started_again: processes.restarts,
      acknowledged,
      ...sent,
      ...faults,
    },
    judged: [
      { bar: 'every acknowledged event is stored', met: acknowledged > 0 && faults.missing === 0 },
      { bar: 'no event is stored twice, and none that was not sent', met: faults.stored_twice + faults.unknown === 0 },
      { bar: 'the counts of users equal a recount of the journals', met: faults.miscounted === 0 },
      {
        bar: `${Object.values(size.faults).reduce((sum, count) => sum + count, 0)} faults were injected`,
        met:
          JSON.stringify(injected, Object.keys(size.faults)) === JSON.stringify(size.faults, Object.keys(size.faults)),
      },
    ],
    skipped: [],
  };
}

/** Sends batches and repeats each one until it gets a response. Occasionally repeats an acknowledged batch. */
async function sendUntil(
  signal: AbortSignal,
  call: Call,
  journals: readonly Journal[],
  random: Random,
  sent: { repeated: number },
): Promise<void> {
  while (!signal.aborted) {
    const journal = journals[Math.floor(random() * journals.length)] as Journal;
    const now = Date.now();
    const events = Array.from({ length: batchSize }, () => ({
      event_name: 'drill',
      event_id: randomUUID(),
      user_id: `user-${Math.floor(random() * usersPerApp)}`,
      timestamp: new Date(now - Math.floor(random() ** 2 * 59 * dayMs)).toISOString(),
    }));
    const path = `/api/apps/${journal.app_id}/analytics/track/batch`;
    const { body } = await call('POST', path, { events });
    if (body.rejected.length > 0) throw new Error(`rejected: ${JSON.stringify(body.rejected)}`);
    for (const { event_id, user_id, timestamp } of events) {
      const at = Date.parse(timestamp);
      journal.events.set(event_id, at);
      journal.users.set(user_id, Math.max(journal.users.get(user_id) ?? 0, at));
    }
    if (random() < 0.2) {
      sent.repeated += 1;
      const again = await call('POST', path, { events });
      if (again.body.accepted !== 0) throw new Error('an event that was acknowledged was accepted again');
    }
  }
}

async function killOne(processes: Processes, kind: 'api' | 'worker', random: Random): Promise<boolean> {
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(50))
    if (processes.kill(kind, (count) => Math.floor(random() * count))) return true;
  return false;
}

async function listStored(url: string, app_id: string): Promise<string[]> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query('select event_id from analytics_events where app_id = $1', [app_id]);
  await client.end();
  return rows.map((row) => row.event_id);
}

/** Returns the difference between the API's counts and the journal's, at the time stated in the response. */
async function countDifference(call: Call, { app_id, users }: Journal): Promise<number> {
  const { body, headers } = await call('GET', `/api/apps/${app_id}/analytics/stats/users`);
  const now = Date.parse(String(headers['x-data-as-of']));
  const ages = [...users.values()].map((at) => now - at);
  const expected = {
    active_users: ages.filter((age) => age < 7 * dayMs).length,
    inactive_7d: ages.filter((age) => age >= 7 * dayMs && age <= 30 * dayMs).length,
    inactive_30d: ages.filter((age) => age > 30 * dayMs && age <= 60 * dayMs).length,
  };
  return Object.entries(expected).reduce((sum, [name, count]) => sum + Math.abs(body[name] - count), 0);
}
