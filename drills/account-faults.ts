// Drill: apps get their advertising accounts while the ad platform drops, delays, duplicates, rejects and fails
// requests, and processes are killed. Judged by the platform's journal: Plinth must not have requested two accounts for
// any app.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Bench, BenchOptions } from '../harness/bench.ts';
import { createBenchApp } from '../harness/fixtures.ts';
import { type Installation, startInstallation } from '../harness/installation.ts';
import type { Processes } from '../harness/processes.ts';
import { type Random, randomFrom } from '../harness/random.ts';
import { type AdPlatformEntry, startAdPlatform } from '../sandbox/src/ad-platform/server.ts';
import { type Fault, type FaultKind, faultKinds } from '../sandbox/src/faults.ts';
import { call } from '../server/test/support/client.ts';
import { speed } from './account-faults/speed.ts';

const program = fileURLToPath(new URL('account-faults/server.ts', import.meta.url));
const seed = Number(process.env.BENCH_SEED ?? 1717);
const atOnce = 25;
/** Shorter than the minute after which a request that produced no account is sent again. */
const longestDelayMs = 50_000 / speed;

export const accountFaults: Bench = async ({ quick, progress }) => {
  const tries = quick ? 50 : 500;
  const random = randomFrom(seed);
  await using installation = await startInstallation();
  const platform = await startAdPlatform({ folder: installation.folder });
  installation.ends.defer(platform.close);
  const { token, apps } = await createApps(installation, tries);
  platform.setFaults(...drawFaults(tries, random));
  progress('starting the processes');
  const settings = {
    ADS_PLATFORM_URL: platform.url,
    ADS_PLATFORM_MANAGER_ID: platform.managerId,
    ADS_PLATFORM_CREDENTIALS: platform.credentials,
    DRILL_STARTED_AT: String(Date.now()),
  };
  const processes = await installation.startProcesses({ api: 3, worker: 0 }, settings, program);
  progress(`${tries} apps; seed ${seed}`);

  const ended = new AbortController();
  const killing = killAtRandom(processes, random, ended.signal);
  const accounts = await ensureAccounts({ processes, token, apps }, random, progress);
  ended.abort();
  return { ...judge(apps, accounts, platform.journal, await killing), skipped: [] };
};

async function createApps(installation: Installation, count: number) {
  const workspace = await installation.createWorkspace();
  const apps: string[] = [];
  for (let n = 0; n < count; n += 1) apps.push((await createBenchApp(installation.db, workspace, 'user_app')).id);
  return { token: workspace.token, apps };
}

/**
 * About two thirds of the account requests fail, up to an average of one fault per app. Every fifth read fails as well.
 */
function drawFaults(tries: number, random: Random): Fault[] {
  const draw = () => faultKinds[Math.floor(random() * faultKinds.length)] as FaultKind;
  const creating = Array.from({ length: tries }, () => ({
    call: 'createCustomerClient',
    fault: draw(),
    times: 1,
    after: Math.floor(random() * 2),
    delay_ms: random() * longestDelayMs,
  }));
  const reading = Array.from({ length: tries }, () => ({
    call: 'search',
    fault: draw(),
    times: 1,
    after: Math.floor(random() * 9),
    delay_ms: random() * 1_000,
  }));
  const tokens = Array.from({ length: 5 }, () => ({ call: 'token', fault: draw(), times: 1, after: 1 }));
  return [...creating, ...reading, ...tokens];
}

interface Callers {
  readonly processes: Processes;
  readonly token: string;
  readonly apps: readonly string[];
}

/**
 * Returns each app's account, as reported by the API. A call that returns no account is repeated on any process,
 * sometimes twice concurrently.
 */
async function ensureAccounts({ processes, token, apps }: Callers, random: Random, progress: BenchOptions['progress']) {
  const accounts = new Map<string, string>();
  const ensure = async (app: string): Promise<string | undefined> => {
    const api = processes.apis[Math.floor(random() * processes.apis.length)] as string;
    const path = `/api/apps/${app}/ads-platform/accounts/ensure-for-tracking`;
    const got = await call(api, 'POST', path, { as: token, body: {} }).catch(() => undefined); // the process was killed
    return got?.status === 200 ? got.body.platform_customer_id : undefined;
  };
  const waiting = [...apps];
  const work = async () => {
    for (let app = waiting.pop(); app !== undefined; app = waiting.pop()) {
      while (!accounts.has(app)) {
        const answers = await Promise.all([ensure(app), ...(random() < 0.3 ? [ensure(app)] : [])]);
        const found = answers.find((id) => id !== undefined);
        if (found === undefined) await sleep((5_000 + random() * 10_000) / speed);
        else accounts.set(app, found);
      }
      if (accounts.size % 50 === 0) progress(`${accounts.size} accounts`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return accounts;
}

/** Always leaves one process running, so even a slow machine makes progress between kills. */
async function killAtRandom(processes: Processes, random: Random, signal: AbortSignal): Promise<number> {
  let kills = 0;
  while (!signal.aborted) {
    await sleep(500 + random() * 1_500, undefined, { signal }).catch(() => {});
    if (!signal.aborted && processes.kill('api', (ready) => (ready > 1 ? Math.floor(random() * ready) : -1)))
      kills += 1;
  }
  return kills;
}

function judge(
  apps: readonly string[],
  accounts: ReadonlyMap<string, string>,
  journal: readonly AdPlatformEntry[],
  kills: number,
) {
  const creating = journal.filter(({ call }) => call === 'createCustomerClient');
  const received = creating.filter(({ event }) => event === 'received');
  const faults = Map.groupBy(received, ({ fault = 'none' }) => fault);
  const created = creating
    .filter(({ event }) => event === 'applied')
    .flatMap(({ request_id, changes = [] }) =>
      changes.flatMap(([, resource]) =>
        resource?.descriptiveName === undefined
          ? []
          : { request_id, id: String(resource.id), app: String(resource.descriptiveName).slice(0, 36) },
      ),
    );
  const byApp = Map.groupBy(created, ({ app }) => app);
  const countRequests = (app: string) => new Set(byApp.get(app)?.map(({ request_id }) => request_id)).size;
  return {
    figures: {
      seed,
      apps: apps.length,
      requests: received.length,
      faults: Object.fromEntries([...faults].map(([fault, entries]) => [fault, entries.length])),
      repeated_by_the_network: created.length - new Set(created.map(({ request_id }) => request_id)).size,
      processes_killed: kills,
    },
    judged: [
      { bar: 'every app has an account', met: accounts.size === apps.length },
      { bar: 'one request of Plinth per app was applied', met: apps.every((app) => countRequests(app) === 1) },
      {
        bar: 'the API names the first account of each app',
        met: apps.every((app) => accounts.get(app) === byApp.get(app)?.[0]?.id),
      },
      {
        bar: 'each kind of fault occurred, and processes were killed',
        met: faultKinds.every((kind) => faults.has(kind)) && kills > 0,
      },
    ],
  };
}
