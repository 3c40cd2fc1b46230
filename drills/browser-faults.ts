// Drill: flows are run in the demo shop while workers and browsers are killed at random, and tests are deleted during their
// runs. No browser process is left, every run ends, and every deleted test is gone with its history listed. Browsers are judged
// by /proc, everything else by what the API answers.
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestInstallation, type TestInstallation } from '../bench/browser-tests/installation.ts';
import type { Bench, BenchOptions } from '../bench/lib/bench.ts';
import { startPostgres } from '../bench/lib/postgres.ts';
import { shopFlows } from '../sandbox/src/demo-shop/flows.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { type BrowserWatch, watchBrowsers } from './browser-faults/browsers.ts';
import { judge, type RunLine } from './browser-faults/judge.ts';
import { type Random, randomFrom } from './lib/random.ts';
import { startRedis } from './lib/redis.ts';

const sizes = { quick: { runs: 6, leastKills: 2 }, full: { runs: 30, leastKills: 10 } };
const concurrency = 3;
/** How many of ten runs are deleted, or lose a process. The others only suffer from what is killed beside them. */
const shares = { delete: 3, browser: 3, worker: 2 };
/** After the run was started, or after it has a browser. */
const faultWithinMs = { delete: 9_000, kill: 6_000 };
const seed = Number(process.env.BENCH_SEED ?? 2323);

/** Long enough for a crash or two. */
const endsWithinMs = 4 * 60_000;

interface Drill {
  readonly installation: TestInstallation;
  readonly watch: BrowserWatch;
  readonly random: Random;
  readonly appId: string;
  readonly kills: { worker: number; browser: number };
  progress(line: string): void;
}

export const browserFaults: Bench = async (options) => {
  const random = randomFrom(seed);
  const postgres = await startPostgres();
  const redis = await startRedis();
  try {
    await migrateAll(postgres.url);
    const installation = await startTestInstallation({
      databaseUrl: postgres.url,
      redis: { REDIS_URL: redis.url },
      workers: 2,
      think: () => sleep(50 + random() * 250),
    });
    const watch = watchBrowsers(() => installation.processes.pids('worker'));
    try {
      const { id: appId } = await installation.publish();
      const kills = { worker: 0, browser: 0 };
      return await drill({ installation, watch, random, appId, kills, progress: options.progress }, options);
    } finally {
      watch.stop();
      await installation.close();
    }
  } finally {
    redis.stop();
    postgres.stop();
  }
};

async function drill(environment: Drill, { quick, progress }: BenchOptions) {
  const { installation, watch, appId, kills } = environment;
  const { runs, leastKills } = sizes[quick ? 'quick' : 'full'];
  progress(`${runs} runs; seed ${seed}`);
  const startedAt = performance.now();
  const waiting = Array.from({ length: runs }, (_, number) => number);
  const lines: RunLine[] = [];
  const takeRuns = async () => {
    for (let number = waiting.shift(); number !== undefined; number = waiting.shift()) {
      const line = await runFlow(environment, number);
      lines.push(line);
      progress(`run ${number + 1}: ${line.status}${line.isDeleted ? ', its test was deleted' : ''}`);
      if (line.status === 'failed') progress(await describeFailure(environment, line));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, takeRuns));
  const left = await endAllWorkers(environment);
  const { judged, figures } = await judge(installation, appId, lines, watch);
  return {
    figures: { seconds: Math.round((performance.now() - startedAt) / 1000), kills, ...watch.count(), ...figures },
    judged: [
      { bar: `at least ${leastKills} processes were killed`, met: kills.worker + kills.browser >= leastKills },
      { bar: 'no browser outlives all workers by 5 s', met: left === 0 },
      ...judged,
    ],
    skipped: [],
  };
}

async function describeFailure({ installation, appId }: Drill, { executionId }: RunLine): Promise<string> {
  const { issues } = await installation.readReport(appId, executionId);
  return issues.map(({ title, description }) => `  ${title}: ${description}`).join('\n');
}

const flowNames = [
  'An order is taken',
  'A note is changed',
  'The total counts each piece',
  'Paid orders can be listed',
];

/** Runs a flow of its own, with the fault that is drawn for it. */
async function runFlow(drill: Drill, number: number): Promise<RunLine> {
  const { installation, random, appId } = drill;
  const shopFlow = shopFlows.get(flowNames[number % flowNames.length] as string);
  if (shopFlow === undefined) throw new Error('no such flow');
  const name = `${shopFlow.name} (${number + 1})`;
  const [fault, moment] = [drawFault(random), random()];
  const flowId = await installation.createFlow(appId, { ...shopFlow, name });
  const executionId = await installation.start(appId, flowId);
  if (fault === 'delete') {
    await sleep(moment * faultWithinMs.delete);
    await deleteFlow(installation, appId, flowId);
  } else if (fault !== undefined) await killDuring(drill, executionId, fault, moment * faultWithinMs.kill);
  const { status } = await installation
    .waitForEnd(appId, executionId, endsWithinMs)
    .catch(() => ({ status: 'not ended' }));
  return { flowId, name, executionId, isDeleted: fault === 'delete', status };
}

function drawFault(random: Random): keyof typeof shares | undefined {
  const draw = Math.floor(random() * 10);
  if (draw < shares.delete) return 'delete';
  if (draw < shares.delete + shares.browser) return 'browser';
  return draw < shares.delete + shares.browser + shares.worker ? 'worker' : undefined;
}

/** Kills any browser or worker with SIGKILL, some time after this run has got its browser. */
async function killDuring(drill: Drill, executionId: string, kind: 'browser' | 'worker', afterMs: number) {
  const { installation, watch, random, appId, kills, progress } = drill;
  await installation.waitFor(appId, executionId, ({ status }) => status !== 'pending', endsWithinMs).catch(() => {});
  await sleep(afterMs);
  const pick = (count: number) => Math.floor(random() * count);
  const leaders = watch.leaders(); // what was started until now is known, also if its worker is gone
  if (!(kind === 'worker' ? installation.processes.kill('worker', pick) : killBrowser(leaders, pick))) return;
  kills[kind] += 1;
  progress(`killed a ${kind}`);
}

/** 503 means that the browser is not known to be closed yet: it is deleted when that is asked for again. */
async function deleteFlow({ call }: TestInstallation, appId: string, flowId: string): Promise<void> {
  await call('DELETE', `/api/apps/${appId}/testing-agent/flows/${flowId}`).catch((error: Error) => {
    if (!/answered 404/.test(error.message)) throw error; // it was deleted between two attempts
  });
}

function killBrowser(leaders: readonly number[], pick: (count: number) => number): boolean {
  const pid = leaders[pick(leaders.length)];
  if (pid === undefined) return false;
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false; // it has ended meanwhile
  }
}

/** Kills all workers while runs go on. Returns how many browser processes live 5 seconds later, when nobody could reap them. */
async function endAllWorkers({ installation, watch, appId, progress }: Drill): Promise<number> {
  const shopFlow = shopFlows.get('An order is taken');
  if (shopFlow === undefined) throw new Error('no such flow');
  const executionId = await installation.start(appId, await installation.createFlow(appId, shopFlow));
  for (let tries = 0; watch.leaders().length === 0 && tries < 600; tries += 1) await sleep(100);
  installation.processes.takeDown();
  await sleep(5_000);
  const left = watch.living().length;
  progress(`all workers were killed: ${left} browser processes live 5 s later`);
  await installation.processes.bringUp();
  await installation.waitForEnd(appId, executionId, endsWithinMs);
  return left;
}
