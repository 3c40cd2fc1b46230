// Drill: flows run in the demo shop while their workers and browsers are killed and tests are deleted during their
// runs. No browser process may be left over, every run must end, no run may fail because of a fault, and deleted tests
// must no longer exist while their history is still listed. The faults are planned in advance, and each must have
// occurred. Browsers are judged by /proc, everything else by the API.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, BenchOptions } from '../harness/bench.ts';
import { startTestInstallation, type TestInstallation } from '../harness/browser-tests.ts';
import { startPostgres } from '../harness/postgres.ts';
import { randomFrom } from '../harness/random.ts';
import { startRedis } from '../harness/redis.ts';
import { type ShopFlow, shopFlows } from '../sandbox/src/demo-shop/flows.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { type BrowserWatch, watchBrowsers } from './browser-faults/browsers.ts';
import { judge, type RunLine } from './browser-faults/judge.ts';
import { type Counts, isDeletion, type PlannedRun, planRuns } from './browser-faults/plan.ts';

const counts: Record<'quick' | 'full', Counts> = {
  quick: { 'delete at once': 1, delete: 1, browser: 1, worker: 1, none: 2 },
  full: { 'delete at once': 3, delete: 5, browser: 8, worker: 6, none: 8 },
};
const concurrency = 3;
const seed = Number(process.env.BENCH_SEED ?? 2323);

/** The minimum number of processes in a browser that displays a page. */
const wholeBrowser = 4;

/** Allows for one or two crashes. */
const endsWithinMs = 4 * 60_000;

interface Drill {
  readonly installation: TestInstallation;
  readonly watch: BrowserWatch;
  readonly appId: string;
  progress(line: string): void;
}

export const browserFaults: Bench = async (options) => {
  const random = randomFrom(seed);
  const plan = planRuns(random, counts[options.quick ? 'quick' : 'full']);
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
      return await drill({ installation, watch, appId, progress: options.progress }, plan, options);
    } finally {
      watch.stop();
      await installation.close();
    }
  } finally {
    redis.stop();
    postgres.stop();
  }
};

async function drill(environment: Drill, plan: readonly PlannedRun[], { quick, progress }: BenchOptions) {
  const { installation, watch, appId } = environment;
  progress(`${plan.length} runs; seed ${seed}`);
  const startedAt = performance.now();
  const waiting = [...plan];
  const lines: RunLine[] = [];
  const takeRuns = async () => {
    for (let planned = waiting.shift(); planned !== undefined; planned = waiting.shift()) {
      const line = await runFlow(environment, planned);
      lines.push(line);
      progress(describeLine(line));
      if (line.status === 'failed') progress(await describeFailure(environment, line));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, takeRuns));
  const atTheEnd = await endAllWorkers(environment);
  const { judged, figures } = await judge(installation, appId, lines, watch);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  return {
    figures: { seconds, ...watch.count(), ...atTheEnd, ...figures },
    judged: [
      { bar: 'a browser was alive when all workers were killed', met: atTheEnd.alive_before >= wholeBrowser },
      { bar: 'no browser outlives all workers by 5 s', met: atTheEnd.alive_after === 0 },
      ...judged,
    ],
    skipped: quick ? [`${sum(counts.full) - plan.length} of ${sum(counts.full)} runs`] : [],
  };
}

const sum = (each: Counts): number => Object.values(each).reduce((one, other) => one + other, 0);

const describeLine = ({ number, status, fault, hasHappened }: RunLine): string =>
  `run ${number + 1}: ${status}${fault === undefined ? '' : `; ${fault}${hasHappened ? '' : ' (did not happen)'}`}`;

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

function getFlow(name: string | undefined): ShopFlow {
  const flow = shopFlows.get(name ?? '');
  if (flow === undefined) throw new Error(`there is no flow ${name}`);
  return flow;
}

/** Runs a new flow with its planned fault. */
async function runFlow(drill: Drill, planned: PlannedRun): Promise<RunLine> {
  const { installation, appId } = drill;
  const { number, fault } = planned;
  const flow = getFlow(flowNames[number % flowNames.length]);
  const name = `${flow.name} (${number + 1})`;
  const flowId = await installation.createFlow(appId, { ...flow, name });
  const executionId = await installation.start(appId, flowId);
  const hasHappened = fault !== undefined && (await causeFault(drill, planned, flowId, executionId));
  const { status, error_message } = await installation
    .waitForEnd(appId, executionId, endsWithinMs)
    .catch(() => ({ status: 'not ended', error_message: null }));
  return { number, fault, hasHappened, flowId, name, executionId, status, error_message };
}

/** Returns whether the fault occurred while the run was in progress. */
async function causeFault(drill: Drill, { fault, afterMs }: PlannedRun, flowId: string, executionId: string) {
  const { installation, appId } = drill;
  if (fault === 'delete at once') {
    await sleep(afterMs);
    return deleteFlow(drill, flowId, executionId);
  }
  await installation.waitFor(appId, executionId, ({ status }) => status !== 'pending', endsWithinMs);
  await sleep(afterMs);
  if (isDeletion(fault)) return deleteFlow(drill, flowId, executionId);
  const browser = await findBrowser(drill, executionId);
  if (browser === undefined) return false;
  return fault === 'worker'
    ? installation.processes.kill('worker', (_, pids) => pids.indexOf(browser.parent))
    : kill(browser.pid);
}

/** Returns the run's browser, or the next one if another fault has just crashed it. Undefined if the run has ended. */
async function findBrowser({ installation, watch, appId }: Drill, executionId: string) {
  for (;;) {
    const { status, browser_session_id } = await installation.read(appId, executionId);
    if (status !== 'running') return undefined;
    const browser = watch.findBySession(browser_session_id ?? '');
    if (browser !== undefined) return browser;
    await sleep(100);
  }
}

/** A 503 means that the browser may still be open. The client then repeats the deletion. */
async function deleteFlow({ installation, appId }: Drill, flowId: string, executionId: string): Promise<boolean> {
  const { status } = await installation.read(appId, executionId);
  await installation.call('DELETE', `/api/apps/${appId}/testing-agent/flows/${flowId}`).catch((error: Error) => {
    if (!/answered 404/.test(error.message)) throw error; // an earlier attempt deleted the flow
  });
  return status === 'pending' || status === 'running';
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false; // the process has already ended
  }
}

/**
 * Kills all workers during a run. Counts the browser processes before, and again 5 seconds later, while there are no
 * workers to reap them.
 */
async function endAllWorkers({ installation, watch, appId, progress }: Drill) {
  const flowId = await installation.createFlow(appId, getFlow('An order is taken'));
  const executionId = await installation.start(appId, flowId);
  for (let tries = 0; watch.living().length < wholeBrowser && tries < 600; tries += 1) await sleep(100);
  const alive_before = watch.living().length;
  installation.processes.takeDown();
  await sleep(5_000);
  const alive_after = watch.living().length;
  progress(`all workers were killed: of ${alive_before} browser processes ${alive_after} live 5 s later`);
  await installation.processes.bringUp();
  await installation.waitForEnd(appId, executionId, endsWithinMs);
  return { alive_before, alive_after };
}
