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

const sizes = { quick: { runs: 6, leastKills: 3 }, full: { runs: 30, leastKills: 15 } };
const concurrency = 3;
const killEveryMs = { least: 2_000, most: 9_000 };
const deletedShare = 0.34;
const deleteWithinMs = 9_000;
const seed = Number(process.env.BENCH_SEED ?? 2323);

/** Long enough for a crash or two. */
const endsWithinMs = 4 * 60_000;

interface Drill {
  readonly installation: TestInstallation;
  readonly watch: BrowserWatch;
  readonly random: Random;
  readonly appId: string;
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
      return await drill({ installation, watch, random, appId }, options);
    } finally {
      watch.stop();
      await installation.close();
    }
  } finally {
    redis.stop();
    postgres.stop();
  }
};

async function drill({ installation, watch, random, appId }: Drill, { quick, progress }: BenchOptions) {
  const { runs, leastKills } = sizes[quick ? 'quick' : 'full'];
  progress(`${runs} runs; seed ${seed}`);
  const startedAt = performance.now();
  const ended = new AbortController();
  const killing = killAtRandom({ installation, watch, random, appId }, ended.signal, progress);
  const waiting = Array.from({ length: runs }, (_, number) => number);
  const lines: RunLine[] = [];
  const takeRuns = async () => {
    for (let number = waiting.shift(); number !== undefined; number = waiting.shift()) {
      const line = await runFlow({ installation, watch, random, appId }, number);
      lines.push(line);
      progress(`run ${number + 1}: ${line.status}${line.isDeleted ? ', its test was deleted' : ''}`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, takeRuns));
  ended.abort();
  const kills = await killing;
  const left = await endAllWorkers({ installation, watch, random, appId }, progress);
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

const flowNames = [
  'An order is taken',
  'A note is changed',
  'The total counts each piece',
  'Paid orders can be listed',
];

/** Runs a flow of its own; some are deleted meanwhile. */
async function runFlow({ installation, random, appId }: Drill, number: number): Promise<RunLine> {
  const shopFlow = shopFlows.get(flowNames[number % flowNames.length] as string);
  if (shopFlow === undefined) throw new Error('no such flow');
  const name = `${shopFlow.name} (${number + 1})`;
  const flowId = await installation.createFlow(appId, { ...shopFlow, name });
  const executionId = await installation.start(appId, flowId);
  const isDeleted = random() < deletedShare;
  if (isDeleted) {
    await sleep(random() * deleteWithinMs);
    await deleteFlow(installation, appId, flowId);
  }
  const { status } = await installation
    .waitForEnd(appId, executionId, endsWithinMs)
    .catch(() => ({ status: 'not ended' }));
  return { flowId, name, executionId, isDeleted, status };
}

/** 503 means that the browser is not known to be closed yet: it is deleted when that is asked for again. */
async function deleteFlow({ call }: TestInstallation, appId: string, flowId: string): Promise<void> {
  await call('DELETE', `/api/apps/${appId}/testing-agent/flows/${flowId}`).catch((error: Error) => {
    if (!/answered 404/.test(error.message)) throw error; // it was deleted between two attempts
  });
}

/**
 * Kills workers and browsers with SIGKILL until the signal is aborted. Returns how many. The last worker that is ready is rarely
 * killed, so that on a slow machine, where a process takes long to start, something is done in between.
 */
async function killAtRandom(
  { installation, watch, random }: Drill,
  signal: AbortSignal,
  progress: (line: string) => void,
) {
  const kills = { worker: 0, browser: 0 };
  const pick = (count: number) => Math.floor(random() * count);
  const pickWorker = (ready: number) => (ready === 1 && random() > 0.1 ? -1 : pick(ready));
  while (!signal.aborted) {
    const pauseMs = killEveryMs.least + random() * (killEveryMs.most - killEveryMs.least);
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    const kind = random() < 0.35 ? 'worker' : 'browser';
    watch.living(); // what was started until now is known, also if its worker is gone
    const did =
      kind === 'worker' ? installation.processes.kill('worker', pickWorker) : killBrowser(watch.leaders(), pick);
    if (!did) continue;
    kills[kind] += 1;
    progress(`killed a ${kind}`);
  }
  return kills;
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
async function endAllWorkers({ installation, watch, appId }: Drill, progress: (line: string) => void): Promise<number> {
  const shopFlow = shopFlows.get('Paid orders can be listed');
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
