// Drill: coding sessions are launched, answered, continued and cancelled while workers are killed at every boundary of
// their work, processes are killed at random, and the git host drops, delays, duplicates and fails requests. Clients
// repeat every request blindly. Judged by the git host's own journal and repositories, and by the journals of the
// clients, the model and the boundaries.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Report } from '../harness/bench.ts';
import { startPostgres } from '../harness/postgres.ts';
import { type Random, randomFrom } from '../harness/random.ts';
import { startRedis } from '../harness/redis.ts';
import { quantile, rounded } from '../harness/statistics.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { type Ending, runClient } from './coding-faults/clients.ts';
import type { BoundaryLine } from './coding-faults/control.ts';
import { type DescendantWatch, watchDescendants } from './coding-faults/descendants.ts';
import { type Environment, openEnvironment, type Services, type Size } from './coding-faults/environment.ts';
import { type Coverage, judge } from './coding-faults/judge.ts';
import { listLeaks, listLeftovers } from './coding-faults/leftovers.ts';
import type { ModelCall } from './coding-faults/model.ts';
import type { ClientLine, DrillApp } from './coding-faults/requests.ts';
import { drawScripts, drawSpares, type Script } from './coding-faults/scripts.ts';
import { openJournal, readJournal } from './lib/journal-file.ts';

interface Sessions {
  readonly scripts: readonly Script[];
  /** Sessions that run one after another at the end, as long as planned kills are outstanding. */
  readonly spares: readonly Script[];
}

export interface DrillPlan extends Size {
  /** The number of concurrent clients. */
  readonly atOnce: number;
  /**
   * The interval between random kills, which are in addition to those at boundaries. If undefined, there are no random
   * kills.
   */
  readonly killEveryMs?: number;
  readonly coverage: Coverage;
}

const plans: Record<'quick' | 'full', DrillPlan & { sessions: number; killedTwice: number }> = {
  quick: {
    sessions: 15,
    killedTwice: 0.1,
    apps: 5,
    workspaces: 2,
    apis: 2,
    workers: 4,
    atOnce: 6,
    killEveryMs: 12_000,
    faultRounds: 1,
    coverage: 'some',
  },
  full: {
    sessions: 100,
    killedTwice: 0.4,
    apps: 20,
    workspaces: 4,
    apis: 2,
    workers: 4,
    atOnce: 8,
    killEveryMs: 6_000,
    faultRounds: 8,
    coverage: 'all',
  },
};

const endsWithinMs = 4 * 60_000;
const seed = Number(process.env.BENCH_SEED ?? 2424);

export const codingFaults: Bench = async (options) => {
  const plan = plans[options.quick ? 'quick' : 'full'];
  const random = randomFrom(seed);
  const scripts = drawScripts(plan, random);
  const spares = drawSpares(plan);
  options.progress(`${scripts.length} sessions; seed ${seed}`);
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  try {
    await migrateAll(postgres.url);
    const services = { databaseUrl: postgres.url, redis: { REDIS_URL: redis.url } };
    return await runDrill(services, plan, { scripts, spares }, random, options.progress);
  } finally {
    redis.stop();
    postgres.stop();
  }
};

export async function runDrill(
  services: Services,
  plan: DrillPlan,
  sessions: Sessions,
  random: Random,
  progress: (line: string) => void,
): Promise<Report> {
  const environment = await openEnvironment(services, plan, [...sessions.scripts, ...sessions.spares], random);
  const { processes, canary } = environment;
  const watch = watchDescendants(() => [...processes.pids('api'), ...processes.pids('worker')], [canary]);
  try {
    return await drill(environment, plan, sessions, watch, random, progress);
  } finally {
    watch.stop();
    await environment.close();
  }
}

async function drill(
  environment: Environment,
  plan: DrillPlan,
  { scripts, spares }: Sessions,
  watch: DescendantWatch,
  random: Random,
  progress: (line: string) => void,
): Promise<Report> {
  const { processes, files } = environment;
  const startedAt = performance.now();
  const ended = new AbortController();
  environment.host.startFaults();
  const killing = killAtRandom(environment, plan.killEveryMs, random, ended.signal);
  const endings = await runAll(environment, scripts, plan.atOnce, random, progress);
  ended.abort();
  const randomKills = await killing;
  for (const spare of spares)
    if (environment.control.isOwing()) endings.push(...(await runAll(environment, [spare], 1, random, progress)));
  environment.host.stopFaults();
  await processes.allReady();
  const left = await listLeftovers(environment, watch);
  const host = environment.host.read();
  const boundaryLines = readJournal<BoundaryLine>(files.boundaries);
  const modelCalls = readJournal<ModelCall>(files.modelCalls);
  const clientLines = readJournal<ClientLine>(files.clients);
  const account = await readAccount(environment);
  const { judged, faults } = judge(
    { endings, host, modelCalls, boundaryLines, clientLines, ...account },
    plan.coverage,
  );
  const leaks = await listLeaks(environment, watch, endings);
  const kills = Map.groupBy(
    boundaryLines.filter(({ killed }) => killed),
    ({ boundary }) => boundary,
  );
  const cancelled = endings.filter(({ cancelledFrom }) => cancelledFrom !== undefined);
  return {
    figures: {
      seed,
      seconds: Math.round((performance.now() - startedAt) / 1000),
      sessions: endings.length,
      settled_s: quantiles(endings.map(({ settledMs }) => settledMs)),
      cancelled_s: quantiles(cancelled.map(({ settledMs }) => settledMs)),
      kills_at: Object.fromEntries(kills.entries().map(([boundary, lines]) => [boundary, lines.length])),
      kills_at_random: randomKills,
      git_faults: host.faults.length,
      requests: clientLines.length,
      requests_lost: clientLines.filter(({ action, status }) => action !== 'settled' && status === undefined).length,
      model_calls: modelCalls.length,
      model_calls_repeated: modelCalls.length - new Set(modelCalls.map(toKey)).size,
      pushes: host.pushes,
      pull_requests_asked_for: host.creates,
      processes_seen: watch.count(),
      left,
      leaks,
      faults,
    },
    judged: [
      ...judged,
      { bar: 'no process, cgroup or folder of a session is left', met: left.length === 0 },
      { bar: 'the token is in no log, event, page, command line or file', met: leaks.length === 0 },
      ...(plan.killEveryMs === undefined
        ? []
        : [{ bar: 'processes were killed at random', met: randomKills.api > 0 && randomKills.worker > 0 }]),
    ],
    skipped: plan.coverage === 'some' ? ['every fault at every call of the git host: too few calls'] : [],
  };
}

const toKey = ({ session, turn, step }: ModelCall): string => `${session} ${turn} ${step}`;

const quantiles = (times: readonly number[]) => ({
  p50: rounded(quantile(times, 0.5) / 1000),
  p95: rounded(quantile(times, 0.95) / 1000),
  max: rounded(Math.max(0, ...times) / 1000),
});

async function runAll(
  { processes, control, model, apps, files }: Environment,
  scripts: readonly Script[],
  atOnce: number,
  random: Random,
  progress: (line: string) => void,
): Promise<Ending[]> {
  const record = openJournal<ClientLine>(files.clients);
  const deps = { apis: processes.apis, random, endsWithinMs, record, control, model };
  const endings: Ending[] = [];
  const waiting = scripts.values();
  const runNext = async () => {
    for (const script of waiting) {
      const ending = await runClient(deps, script, apps[script.app] as DrillApp);
      endings.push(ending);
      progress(
        `${endings.length}: session ${script.number} (${script.kind}) ${ending.last.state} ${ending.last.error_code ?? ''} after ${ending.settledMs} ms`,
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runNext));
  return endings;
}

/**
 * Alternately kills API and worker processes with SIGKILL until the signal is aborted, but never the last process of a
 * kind.
 */
async function killAtRandom(
  { processes, control }: Environment,
  everyMs: number | undefined,
  random: Random,
  signal: AbortSignal,
) {
  const kills = { api: 0, worker: 0 };
  if (everyMs === undefined) return kills;
  const choose = (ready: number) => (ready > 1 ? Math.floor(random() * ready) : -1);
  const killAnyWorker = () => {
    const pids = processes.countReady('worker') > 1 ? processes.pids('worker') : [];
    const first = Math.floor(random() * pids.length);
    return [...pids.slice(first), ...pids.slice(0, first)].some(control.kill);
  };
  /** Retries, because at times no worker can be killed. */
  const killWorker = async () => {
    const end = performance.now() + everyMs;
    while (!killAnyWorker()) {
      if (signal.aborted || performance.now() > end) return false;
      await sleep(50);
    }
    return true;
  };
  for (let kind: 'api' | 'worker' = 'api'; !signal.aborted; kind = kind === 'api' ? 'worker' : 'api') {
    await sleep((everyMs / 2) * (0.5 + random()), undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    if (kind === 'api' ? processes.kill('api', choose) : await killWorker()) kills[kind] += 1;
  }
  return kills;
}

/** Reads the credits and sessions from the API. */
async function readAccount({ owners, apps }: Environment) {
  const charged = new Map<string, number>();
  let reserved = 0;
  for (const owner of owners) {
    reserved += (await owner('GET', '/api/workspace/credits')).body.reserved;
    for (let query = '?limit=100'; query !== ''; ) {
      const page = (await owner('GET', `/api/workspace/credits/ledger${query}`)).body;
      for (const { kind, reference_id, amount } of page.items)
        if (kind === 'use' || kind === 'refund')
          charged.set(reference_id, (charged.get(reference_id) ?? 0) + (kind === 'use' ? amount : -amount));
      query = page.has_more ? `?limit=100&cursor=${page.next_cursor}` : '';
    }
  }
  let listed = 0;
  for (const [index, { id }] of apps.entries()) {
    const owner = owners[index % owners.length];
    listed += (await owner?.('GET', `/api/apps/${id}/imported/sessions?limit=100`))?.body.items.length;
  }
  return { charged, reserved, listed };
}
