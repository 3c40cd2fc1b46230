// Measures how fast workflow steps run and are recorded, how soon a run begins, whether a noisy app delays a quiet one,
// and how much an idle worker costs.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import type { Bench } from '../harness/bench.ts';
import { cpuMs } from '../harness/cpu.ts';
import { killProcess } from '../harness/services.ts';
import { median, quantile, rounded } from '../harness/statistics.ts';
import { newId } from '../server/src/kit/ids.ts';
import type { Order } from './workflows/bare.ts';
import { stepsPerRun, type WorkflowName } from './workflows/definitions.ts';
import { type BenchWorkflowApp, type Environment, startEnvironment } from './workflows/environment.ts';

const appCount = 5;
/** The default for DATABASE_POOL_SIZE. */
const workerConnections = 16;
const blocks = 9;
const stepsBar = 0.5;
const startBarMs = 50;
const noisyBarMs = 1_000;
const idleBar = 1;

interface Size {
  readonly runsPerApp: number;
  readonly latencySeconds: number;
  readonly noisyRuns: number;
  readonly idleSeconds: number;
  readonly compares: boolean;
}

const sizes: Record<'quick' | 'full', Size> = {
  quick: { runsPerApp: 10, latencySeconds: 4, noisyRuns: 1_000, idleSeconds: 6, compares: false },
  full: { runsPerApp: 40, latencySeconds: 30, noisyRuns: 10_000, idleSeconds: 60, compares: true },
};

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

type Progress = (line: string) => void;

export const workflows: Bench = async ({ quick, progress }) => {
  const size = sizes[quick ? 'quick' : 'full'];
  const environment = await startEnvironment(appCount);
  try {
    const idle = await measureIdle(environment, size, progress);
    const steps = await measureSteps(environment, size, progress);
    const latency = await measureLatency(environment, size.latencySeconds, progress);
    const noisy = await measureBesideNoisy(environment, size.noisyRuns, progress);
    const manyApps = size.compares ? await measureManyApps(environment, progress) : {};
    return {
      figures: { ...idle, ...steps, ...latency, ...noisy, ...manyApps },
      judged: [
        {
          bar: `steps are run and recorded at >= ${stepsBar} of the rate of a bare loop that commits the same rows`,
          met: steps.steps_ratio >= stepsBar,
        },
        {
          bar: `from a change to the first step p50 <= ${startBarMs} ms at 20 runs/s`,
          met: latency.start_ms_p50 <= startBarMs,
        },
        {
          bar: `an app with ${size.noisyRuns} queued runs delays the runs of a quiet app by <= ${noisyBarMs} ms`,
          met: Math.max(noisy.quiet_delay_ms_max, noisy.same_workspace_delay_ms_max) <= noisyBarMs,
        },
        { bar: `an idle worker uses <= ${idleBar} % of a core`, met: idle.idle_worker_cpu_percent <= idleBar },
      ],
      skipped: size.compares ? [] : ['runs of many apps, and the comparison with a worker without workflows'],
    };
  } finally {
    await environment.close();
  }
};

// ---- steps per second

async function measureSteps(environment: Environment, { runsPerApp }: Size, progress: Progress) {
  const perBlock = appCount * runsPerApp * stepsPerRun;
  const measure = async (name: WorkflowName) => {
    const ids = await environment.start(name, environment.apps, runsPerApp);
    await environment.waitUntilEnded(ids);
    return perBlock / (await readSeconds(environment, ids));
  };
  await measure('literals'); // warm-up
  const bare = await startBare(environment, runsPerApp * appCount);
  try {
    await bare.measure('insert');
    const rates: Record<'plinth' | 'insert' | 'fenced', number>[] = [];
    for (let block = 1; block <= blocks; block += 1) {
      const insert = await bare.measure('insert');
      const plinth = await measure('literals');
      const fenced = await bare.measure('fenced');
      rates.push({ insert, plinth, fenced });
      progress(
        `steps, block ${block} of ${blocks}: ${rounded(plinth, 0)}/s, bare ${rounded(insert, 0)}/s, with the state ${rounded(fenced, 0)}/s`,
      );
    }
    const expressions: number[] = [];
    for (let block = 0; block < 3; block += 1) expressions.push(await measure('expressions'));
    return {
      steps_ratio: rounded(median(rates.map(({ plinth, insert }) => plinth / insert)), 3),
      steps_ratio_to_rows_and_state: rounded(median(rates.map(({ plinth, fenced }) => plinth / fenced)), 3),
      steps_per_second: rounded(median(rates.map(({ plinth }) => plinth)), 0),
      bare_steps_per_second: rounded(median(rates.map(({ insert }) => insert)), 0),
      bare_steps_with_state_per_second: rounded(median(rates.map(({ fenced }) => fenced)), 0),
      steps_with_an_expression_per_second: rounded(median(expressions), 0),
    };
  } finally {
    await bare.stop();
  }
}

/** Returns the seconds from the start of the first run to the end of the last. */
async function readSeconds({ db }: Environment, ids: readonly string[]): Promise<number> {
  const { rows } = await sql<{ seconds: number; completed: number }>`
    select extract(epoch from max(completed_at) - min(begun_at))::float as seconds,
      count(*) filter (where status = 'completed')::int as completed
    from workflow_runs where id = any(${ids}::uuid[])`.execute(db);
  const [row] = rows as [{ seconds: number; completed: number }];
  if (row.completed !== ids.length) throw new Error('not every run was completed');
  return row.seconds;
}

async function startBare({ db, postgres, apps, start, waitUntilEnded }: Environment, runCount: number) {
  const [app] = apps as [BenchWorkflowApp];
  const [template = ''] = await start('literals', [app], 1);
  await waitUntilEnded([template]);
  const { rows } = await sql<Record<string, unknown>>`select number, task_path, name, task_type, status, attempt,
    started_at::text, completed_at::text, input::text, output::text, error::text
    from workflow_steps where run_id = ${template} order by number`.execute(db);
  const steps = rows.map((row) => Object.values(row));
  const state = JSON.stringify({ frames: [{ path: '', index: 1 }], data: rows[0]?.output, context: {}, steps: 1 });
  const child = fork(file('workflows/bare.ts'), [postgres.url, String(workerConnections)]);
  await once(child, 'message');
  return {
    /** Copies the run first, because steps must belong to a run. */
    async measure(variant: Order['variant']): Promise<number> {
      const runs = Array.from({ length: runCount }, newId);
      await sql`insert into workflow_runs select copy.* from workflow_runs original, unnest(${runs}::uuid[]) as n(id),
        lateral jsonb_populate_record(original, jsonb_build_object('id', n.id)) copy
        where original.id = ${template}`.execute(db);
      child.send({ workspace_id: app.workspace_id, runs, steps, state, variant } satisfies Order);
      const [{ seconds }] = (await once(child, 'message')) as [{ seconds: number }];
      return (runCount * steps.length) / seconds;
    },
    stop: () => killProcess(child),
  };
}

// ---- from a change to the first step

async function measureLatency({ db, apps }: Environment, seconds: number, progress: Progress) {
  const perSecond = 20;
  const answered = new Map<string, number>();
  const write = async (app: BenchWorkflowApp, n: number) => {
    const { id } = (await app.call('POST', `/api/apps/${app.app_id}/entities/Task`, { n })).body;
    answered.set(id, Date.now());
  };
  const writeAll = async (count: number) => {
    const writes: Promise<void>[] = [];
    const startedAt = performance.now();
    for (let n = 0; n < count; n += 1) {
      await sleep(Math.max(0, startedAt + (n * 1000) / perSecond - performance.now()));
      writes.push(write(apps[n % appCount] as BenchWorkflowApp, n));
    }
    await Promise.all(writes);
  };
  await writeAll(perSecond); // warm-up
  answered.clear();
  await writeAll(perSecond * seconds);
  const begun = await readBegun(db, answered);
  const delays = [...answered].map(([id, at]) => (begun.get(id) ?? Number.POSITIVE_INFINITY) - at);
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((q) => rounded(quantile(delays, q), 0));
  progress(`from the change to the first step: p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms`);
  return { start_ms_p50: p50 as number, start_ms_p95: p95, start_ms_p99: p99 };
}

/** Returns the start time of each record's first workflow step. */
async function readBegun(db: Environment['db'], records: ReadonlyMap<string, number>): Promise<Map<string, number>> {
  for (const end = performance.now() + 30_000; ; await sleep(100)) {
    const { rows } = await sql<{ id: string; at: Date }>`select run.input->>'entity_id' as id, step.started_at as at
      from workflow_runs run join workflow_steps step on step.run_id = run.id and step.number = 1
      where run.trigger_type = 'entity'`.execute(db);
    const begun = new Map(rows.map(({ id, at }) => [id, at.getTime()]));
    if ([...records.keys()].every((id) => begun.has(id)) || performance.now() > end) return begun;
  }
}

// ---- a quiet app next to a noisy one

async function measureBesideNoisy(environment: Environment, noisyRuns: number, progress: Progress) {
  const [noisy, quiet] = environment.apps as [BenchWorkflowApp, BenchWorkflowApp];
  const sibling = await environment.addSibling(noisy);
  const alone = await measureStarts(environment, quiet);
  const backlog = await environment.start('literals', [noisy], noisyRuns);
  const beside = await measureStarts(environment, quiet);
  const besideInWorkspace = await measureStarts(environment, sibling);
  const left = await countQueued(environment, backlog);
  progress(
    `a run of a quiet app begins after ${Math.max(...alone)} ms at most, beside ${left} queued runs of another ${Math.max(...beside)} ms, of the same workspace ${Math.max(...besideInWorkspace)} ms`,
  );
  await sql`delete from workflow_runs where id = any(${backlog}::uuid[]) and completed_at is null`.execute(
    environment.db,
  );
  if (left === 0) throw new Error('the noisy app had nothing left to run: queue more');
  return {
    quiet_alone_delay_ms_max: Math.max(...alone),
    quiet_delay_ms_p50: median(beside),
    quiet_delay_ms_max: Math.max(...beside),
    same_workspace_delay_ms_p50: median(besideInWorkspace),
    same_workspace_delay_ms_max: Math.max(...besideInWorkspace),
    noisy_runs_left: left,
  };
}

const startsMeasured = 12;

/** Starts runs one by one. Returns how long each run waited for its first step. */
async function measureStarts({ db, start, waitUntilEnded }: Environment, app: BenchWorkflowApp): Promise<number[]> {
  const delays: number[] = [];
  for (let n = 0; n < startsMeasured; n += 1) {
    const ids = await start('short', [app], 1);
    const committedAt = Date.now();
    await waitUntilEnded(ids);
    const { rows } = await sql<{ at: Date }>`select started_at as at from workflow_steps
      where run_id = ${ids[0]} and number = 1`.execute(db);
    delays.push((rows[0]?.at.getTime() ?? Number.POSITIVE_INFINITY) - committedAt);
    await sleep(50 + 100 * Math.random());
  }
  return delays;
}

async function countQueued({ db }: Environment, ids: readonly string[]): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from workflow_runs
    where id = any(${ids}::uuid[]) and completed_at is null`.execute(db);
  return rows[0]?.count ?? 0;
}

// ---- an idle worker

async function measureIdle({ processes, settings }: Environment, { idleSeconds, compares }: Size, progress: Progress) {
  const [worker = 0] = processes.pids('worker');
  const without = compares ? await forkAndWait('workflows/worker-without.ts', [], settings) : undefined;
  try {
    await sleep(5_000); // until the worker has started and vacuums have finished
    const usage = async (pids: readonly number[]) => {
      const before = pids.map(cpuMs);
      await sleep(idleSeconds * 1000);
      return pids.map((pid, n) => rounded((cpuMs(pid) - (before[n] as number)) / (idleSeconds * 10), 2));
    };
    const [idle = 0, idleWithout] = await usage([worker, ...(without?.pid === undefined ? [] : [without.pid])]);
    progress(`an idle worker uses ${idle} %${idleWithout === undefined ? '' : `, without workflows ${idleWithout} %`}`);
    return {
      idle_worker_cpu_percent: idle,
      ...(idleWithout !== undefined && { idle_worker_without_workflows_cpu_percent: idleWithout }),
    };
  } finally {
    if (without !== undefined) await killProcess(without);
  }
}

async function forkAndWait(
  name: string,
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<ChildProcess> {
  const child = fork(file(name), args, { env: { PATH: process.env.PATH, ...settings }, stdio: 'inherit' });
  await once(child, 'message');
  return child;
}

// ---- many apps

const manyAppsCount = 500;
const runsOfManyApps = 4;

async function measureManyApps(environment: Environment, progress: Progress) {
  const apps = await environment.addMany(manyAppsCount);
  const ids = await environment.start('short', apps, runsOfManyApps);
  await environment.waitUntilEnded(ids);
  const runsPerSecond = rounded(ids.length / (await readSeconds(environment, ids)), 0);
  progress(`${manyAppsCount} apps: ${runsPerSecond} runs/s`);
  return { runs_per_second_of_500_apps: runsPerSecond };
}
