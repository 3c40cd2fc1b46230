// Compares queue tables with pg-boss, graphile-worker and DBOS Transact: enqueuing, processing a backlog, and picking up a job.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import type { Judged } from '../../harness/bench.ts';
import { cpuMs, cpuMsWithChildren } from '../../harness/cpu.ts';
import { type OwnPostgres, startPostgres } from '../../harness/postgres.ts';
import { median, quantile, rounded } from '../../harness/statistics.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { clockMs } from './journal.ts';
import { graphileWorkerSettings, pgBossSettings, plinthSettings } from './settings.ts';
import { openSystem, type System, type SystemName, systemNames } from './systems.ts';
import { WorkerProcess } from './worker-process.ts';

const clients = 8;
const jobsPerSecond = 20;
const pickUpBar = 2;
const drainBar = 0.5;
/** How many jobs a transaction enqueues beside its other write. */
const jobsPerTransaction = [1, 100];

interface Size {
  readonly blocks: number;
  readonly backlog: number;
  readonly enqueueSeconds: number;
  readonly latencySeconds: number;
}

const sizes: Record<'quick' | 'full', Size> = {
  quick: { blocks: 3, backlog: 5_000, enqueueSeconds: 0.4, latencySeconds: 1 },
  full: { blocks: 9, backlog: 20_000, enqueueSeconds: 3, latencySeconds: 6 },
};

type Progress = (line: string) => void;
type OfSystems<Value> = Record<SystemName, Value>;

export interface Measured {
  readonly figures: Readonly<Record<string, unknown>>;
  readonly judged: readonly Judged[];
}

interface Compared {
  readonly systems: readonly System[];
  readonly postgres: OwnPostgres;
  readonly size: Size;
  readonly progress: Progress;
  /** Starts the workers when they are first needed. */
  startWorkers(): Promise<readonly WorkerProcess[]>;
}

/** In this order, because enqueuing is measured without workers, which would compete for CPU time. */
const comparisons: Readonly<Record<string, (compared: Compared) => Promise<Measured>>> = {
  enqueue: compareEnqueue,
  drain: compareDrain,
  latency: compareLatency,
};
export const comparisonNames = Object.keys(comparisons);

export async function compareSystems(
  names: readonly string[],
  quick: boolean,
  progress: Progress,
): Promise<Measured[]> {
  const postgres = await startPostgres();
  const systems: System[] = [];
  const workers: WorkerProcess[] = [];
  try {
    for (const name of systemNames) systems.push(await openSystem(name, postgres.url, clients));
    const startWorkers = async () => {
      if (workers.length === 0) workers.push(...(await Promise.all(systems.map(WorkerProcess.start))));
      return workers;
    };
    const size = sizes[quick ? 'quick' : 'full'];
    const measured: Measured[] = [
      {
        figures: {
          configuration: { plinth: plinthSettings, graphile_worker: graphileWorkerSettings, pg_boss: pgBossSettings },
        },
        judged: [],
      },
    ];
    for (const name of names)
      measured.push(
        await (comparisons[name] as (compared: Compared) => Promise<Measured>)({
          systems,
          postgres,
          size,
          progress,
          startWorkers,
        }),
      );
    return measured;
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(systems.map((system) => system.close()));
    postgres.stop();
  }
}

/** Without Plinth's own. */
const listOthers = ({ plinth: _, plinth_with_limits: __, ...others }: OfSystems<number>): number[] =>
  Object.values(others);

let lastNumber = 0;

/** Returns numbers that no earlier job had, so a late repeat is detected. */
function takeNumbers(count: number): readonly number[] {
  const first = lastNumber + 1;
  lastNumber += count;
  return Array.from({ length: count }, (_, n) => first + n);
}

/** Runs `work` in a transaction and wakes the worker after the commit. */
async function transact({ pool, wake }: System, work: (client: ClientBase) => Promise<unknown>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await work(client);
    await client.query('commit');
  } finally {
    client.release();
  }
  wake?.();
}

const insertRow = (client: ClientBase) =>
  client.query({
    name: 'row',
    text: 'insert into bench_rows values ($1, $2)',
    values: [newId(), 'a row of the caller'],
  });

/** Vacuums the previous block's leftovers now. Otherwise autovacuum might do so while another system is measured. */
const vacuum = ({ pool, table }: System) => pool.query(`vacuum analyze ${table}`);

// ---- enqueuing in the caller's transaction

async function compareEnqueue({ systems, size, progress }: Compared): Promise<Measured> {
  const figures: Record<string, unknown> = {};
  const judged: Judged[] = [];
  for (const jobs of jobsPerTransaction) {
    const { rates, adds } = await measureEnqueue(systems, jobs, size, progress);
    figures[`transactions_per_second_with_${jobs}`] = rates;
    figures[`enqueue_${jobs}_adds`] = adds;
    judged.push({
      bar: `transactions that write a row and enqueue ${jobs === 1 ? 'a job' : `${jobs} jobs`}: rate >= that of each other system`,
      met: rates.plinth >= Math.max(...listOthers(rates)),
    });
  }
  return { figures, judged };
}

async function measureEnqueue(
  systems: readonly System[],
  jobs: number,
  { blocks, enqueueSeconds }: Size,
  progress: Progress,
) {
  const numbers = Array.from({ length: jobs }, (_, n) => n);
  const runBlock = async () => {
    const withoutJob = await countTransactions(systems[0] as System, enqueueSeconds, insertRow);
    const withJobs = await ofEach(systems, async (system) => {
      const count = await countTransactions(system, enqueueSeconds, async (client) => {
        await insertRow(client);
        await (jobs === 1 ? system.enqueue(client, 0) : system.enqueueMany(client, numbers));
      });
      await removeJobs(system, count * jobs);
      return count / enqueueSeconds;
    });
    return { without_job: withoutJob / enqueueSeconds, ...withJobs };
  };
  await runBlock(); // warm-up
  const rates = await runBlocks(`transactions/s with ${jobs} jobs`, blocks, runBlock, progress);
  return {
    rates: medians(rates, ['without_job', ...systemNames]),
    adds: ofNames((name) => rounded(median(rates.map((rate) => rate.without_job / rate[name])) - 1, 3)),
  };
}

async function countTransactions(
  system: System,
  seconds: number,
  work: (client: ClientBase) => Promise<unknown>,
): Promise<number> {
  const end = clockMs() + seconds * 1000;
  let count = 0;
  const client = async () => {
    for (; clockMs() < end; count += 1) await transact(system, work);
  };
  await Promise.all(Array.from({ length: clients }, client));
  return count;
}

/** Throws unless every transaction enqueued a job. */
async function removeJobs({ name, pool, table }: System, expected: number): Promise<void> {
  const { rows } = await pool.query(`select count(*)::int as count from ${table}`);
  if (rows[0].count !== expected) throw new Error(`${name}: ${rows[0].count} jobs of ${expected} transactions`);
  await pool.query(`truncate ${table} cascade`);
}

// ---- processing a backlog

interface Drain {
  readonly perSecond: number;
  readonly workerUs: number;
  readonly postgresUs: number;
}

async function compareDrain({ startWorkers, postgres, size, progress }: Compared): Promise<Measured> {
  const { blocks, backlog } = size;
  const workers = await startWorkers();
  for (const worker of workers) await drain(worker, postgres, backlog); // warm-up
  const drains: OfSystems<Drain>[] = [];
  const runBlock = async () => {
    const block = await ofEach(workers, (worker) => drain(worker, postgres, backlog));
    drains.push(block);
    return ofNames((name) => block[name].perSecond);
  };
  const rates = await runBlocks('jobs/s from a backlog', blocks, runBlock, progress);
  const cpu = (of: 'workerUs' | 'postgresUs') =>
    ofNames((name) => rounded(median(drains.map((block) => block[name][of])), 0));
  const fractionOf = (name: SystemName) => ({
    plinth: rounded(median(rates.map((rate) => rate.plinth / rate[name]))),
    plinth_with_limits: rounded(median(rates.map((rate) => rate.plinth_with_limits / rate[name]))),
  });
  const ofGraphileWorker = fractionOf('graphile_worker');
  return {
    figures: {
      drain_per_second: medians(rates, systemNames),
      /** Plinth's rate as a fraction of each other system's rate. */
      drain_ratio: {
        graphile_worker: ofGraphileWorker,
        pg_boss: fractionOf('pg_boss'),
        dbos: fractionOf('dbos'),
      },
      worker_cpu_us_per_job: cpu('workerUs'),
      postgres_cpu_us_per_job: cpu('postgresUs'),
    },
    judged: [
      {
        bar: `a backlog drains at >= ${drainBar} of the rate of graphile-worker`,
        met: ofGraphileWorker.plinth >= drainBar,
      },
      {
        bar: `with limits over all workers, a backlog drains at >= ${drainBar} of the rate of graphile-worker`,
        met: ofGraphileWorker.plinth_with_limits >= drainBar,
      },
      { bar: 'a backlog drains at >= the rate of DBOS Transact', met: fractionOf('dbos').plinth >= 1 },
    ],
  };
}

/**
 * Measures from the start of the first job to the completion of the last. CPU time is counted from the moment the
 * backlog is enqueued.
 */
async function drain(worker: WorkerProcess, postgres: OwnPostgres, backlog: number): Promise<Drain> {
  const { system } = worker;
  await vacuum(system);
  const numbers = takeNumbers(backlog * system.share);
  const readCpu = () => {
    const [main = 0, ...children] = postgres.pids();
    return { worker: cpuMs(worker.pid), postgres: cpuMsWithChildren(main, children) };
  };
  let [before, after] = [readCpu(), readCpu()];
  const enqueue = async (client: ClientBase) => {
    await system.enqueueMany(client, numbers);
    before = readCpu();
  };
  const { startedAt, completedAt } = await worker.work(
    numbers,
    () => transact(system, enqueue),
    () => {
      after = readCpu();
    },
  );
  const microsPerJob = (now: number, then: number) => ((now - then) * 1000) / numbers.length;
  return {
    perSecond: numbers.length / ((completedAt - Math.min(...startedAt)) / 1000),
    workerUs: microsPerJob(after.worker, before.worker),
    postgresUs: microsPerJob(after.postgres, before.postgres),
  };
}

// ---- from the commit to the start of the job

async function compareLatency({ startWorkers, size, progress }: Compared): Promise<Measured> {
  const { blocks, latencySeconds } = size;
  const workers = await startWorkers();
  const samples: OfSystems<number[]>[] = [];
  const runBlock = async () => {
    const block = await ofEach(workers, (worker) => measureDelays(worker, latencySeconds));
    samples.push(block);
    return ofNames((name) => median(block[name]));
  };
  const p50s = await runBlocks('ms from the commit to the start, p50', blocks, runBlock, progress);
  const p50 = medians(p50s, systemNames, 1);
  const p99 = ofNames((name) =>
    rounded(
      quantile(
        samples.flatMap((block) => block[name]),
        0.99,
      ),
      1,
    ),
  );
  return {
    figures: { pick_up_ms_p50: p50, pick_up_ms_p99: p99 },
    judged: [
      {
        bar: `from the commit to the start of a job p50 <= ${pickUpBar} of the fastest of the others`,
        met: p50.plinth <= pickUpBar * Math.min(...listOthers(p50)),
      },
    ],
  };
}

/** Enqueues jobs at random times, so they do not always arrive at the same point of a polling interval. */
async function measureDelays(worker: WorkerProcess, seconds: number): Promise<number[]> {
  await vacuum(worker.system);
  const numbers = takeNumbers(seconds * jobsPerSecond);
  const committedAt: number[] = [];
  const enqueueAll = async () => {
    for (const number of numbers) {
      await sleep((2_000 * Math.random()) / jobsPerSecond);
      await transact(worker.system, async (client) => {
        await insertRow(client);
        await worker.system.enqueue(client, number);
      });
      committedAt.push(clockMs());
    }
  };
  const { startedAt } = await worker.work(numbers, enqueueAll);
  return startedAt.map((at, n) => at - (committedAt[n] as number));
}

// ---- blocks

/** Measures the items one after another. */
async function ofEach<Item extends { readonly name: SystemName }, Value>(
  items: readonly Item[],
  measure: (item: Item) => Promise<Value>,
): Promise<OfSystems<Value>> {
  const values: [SystemName, Value][] = [];
  for (const item of items) values.push([item.name, await measure(item)]);
  return Object.fromEntries(values) as OfSystems<Value>;
}

/** Each block measures all systems, so other activity on the machine affects them equally. */
async function runBlocks<Name extends string>(
  what: string,
  blocks: number,
  runBlock: () => Promise<Record<Name, number>>,
  progress: Progress,
): Promise<Record<Name, number>[]> {
  const results: Record<Name, number>[] = [];
  for (let block = 1; block <= blocks; block += 1) {
    const result = await runBlock();
    results.push(result);
    const described = Object.entries<number>(result).map(([name, value]) => `${name} ${rounded(value, 1)}`);
    progress(`${what}, block ${block} of ${blocks}: ${described.join(', ')}`);
  }
  return results;
}

const ofNames = <Value>(read: (name: SystemName) => Value): OfSystems<Value> =>
  Object.fromEntries(systemNames.map((name) => [name, read(name)])) as OfSystems<Value>;

/** Returns each name's median over the blocks. */
const medians = <Name extends string>(blocks: readonly Record<Name, number>[], names: readonly Name[], digits = 0) =>
  Object.fromEntries(
    names.map((name) => [name, rounded(median(blocks.map((block) => block[name])), digits)]),
  ) as Record<Name, number>;
