// Measures queue tables against pg-boss, graphile-worker and DBOS Transact: how fast a backlog is processed and with
// how much CPU time, how much a job adds to the cost of the transaction that enqueues it, and how soon the job starts.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import type { Bench, Judged } from '../harness/bench.ts';
import { cpuMs, cpuMsWithChildren } from '../harness/cpu.ts';
import { type OwnPostgres, startPostgres } from '../harness/postgres.ts';
import { median, quantile, rounded } from '../harness/statistics.ts';
import { newId } from '../server/src/kit/ids.ts';
import { clockMs } from './queues/journal.ts';
import { openSystem, type System, type SystemName, systemNames } from './queues/systems.ts';
import { WorkerProcess } from './queues/worker-process.ts';

const clients = 8;
const jobsPerSecond = 20;
const pickUpBar = 2;

interface Size {
  readonly blocks: number;
  readonly backlog: number;
  readonly enqueueSeconds: number;
  readonly latencySeconds: number;
}

const sizes: Record<'quick' | 'full', Size> = {
  quick: { blocks: 3, backlog: 2_000, enqueueSeconds: 0.4, latencySeconds: 1 },
  full: { blocks: 9, backlog: 20_000, enqueueSeconds: 3, latencySeconds: 6 },
};

type Progress = (line: string) => void;
type OfSystems<Value> = Record<SystemName, Value>;

export const queues: Bench = async ({ quick, progress }) => {
  const size = sizes[quick ? 'quick' : 'full'];
  const postgres = await startPostgres();
  const systems: System[] = [];
  const workers: WorkerProcess[] = [];
  try {
    for (const name of systemNames) systems.push(await openSystem(name, postgres.url, clients));
    const enqueue = await measureEnqueue(systems, size, progress);
    workers.push(...(await Promise.all(systems.map(WorkerProcess.start))));
    const drain = await measureDrain(workers, postgres, size, progress);
    const latency = await measureLatency(workers, size, progress);
    return {
      figures: { ...drain, ...enqueue, ...latency },
      judged: judge(drain.drain_ratio, enqueue.enqueue_adds, latency.pick_up_ms_p50),
      skipped: [
        'bars on the drain against pg-boss and graphile-worker, which are faster (docs/decisions/0036-one-engine.md)',
      ],
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(systems.map((system) => system.close()));
    postgres.stop();
  }
};

function judge(drainRatio: OfSystems<number>, enqueueAdds: OfSystems<number>, pickUpMs: OfSystems<number>): Judged[] {
  const least = ({ plinth: _, ...others }: OfSystems<number>) => Math.min(...Object.values(others));
  return [
    { bar: 'a backlog drains at >= the rate of DBOS Transact', met: drainRatio.dbos >= 1 },
    {
      bar: "a job adds no more to the caller's transaction than one of any of the others",
      met: enqueueAdds.plinth <= least(enqueueAdds),
    },
    {
      bar: `from the commit to the start of a job p50 <= ${pickUpBar} of the fastest of the others`,
      met: pickUpMs.plinth <= pickUpBar * least(pickUpMs),
    },
  ];
}

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

/** Runs without workers, which would compete for CPU time. */
async function measureEnqueue(systems: readonly System[], { blocks, enqueueSeconds }: Size, progress: Progress) {
  const runBlock = async () => {
    const withoutJob = await countTransactions(systems[0] as System, enqueueSeconds, insertRow);
    const withJob = await ofEach(systems, async (system) => {
      const count = await countTransactions(system, enqueueSeconds, async (client) => {
        await insertRow(client);
        await system.enqueue(client, 0);
      });
      await removeJobs(system, count);
      return count / enqueueSeconds;
    });
    return { without_job: withoutJob / enqueueSeconds, ...withJob };
  };
  await runBlock(); // warm-up
  const rates = await runBlocks('transactions/s with a job', blocks, runBlock, progress);
  return {
    transactions_per_second: medians(rates, ['without_job', ...systemNames]),
    enqueue_adds: ofNames((name) => rounded(median(rates.map((rate) => rate.without_job / rate[name])) - 1, 3)),
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

async function measureDrain(
  workers: readonly WorkerProcess[],
  postgres: OwnPostgres,
  { blocks, backlog }: Size,
  progress: Progress,
) {
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
  return {
    drain_per_second: medians(rates, systemNames),
    /** Plinth's rate as a fraction of each system's rate. */
    drain_ratio: ofNames((name) => rounded(median(rates.map((rate) => rate.plinth / rate[name])))),
    worker_cpu_us_per_job: cpu('workerUs'),
    postgres_cpu_us_per_job: cpu('postgresUs'),
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

async function measureLatency(workers: readonly WorkerProcess[], { blocks, latencySeconds }: Size, progress: Progress) {
  const samples: OfSystems<number[]>[] = [];
  const runBlock = async () => {
    const block = await ofEach(workers, (worker) => measureDelays(worker, latencySeconds));
    samples.push(block);
    return ofNames((name) => median(block[name]));
  };
  const p50s = await runBlocks('ms from the commit to the start, p50', blocks, runBlock, progress);
  return {
    pick_up_ms_p50: medians(p50s, systemNames, 1),
    pick_up_ms_p99: ofNames((name) =>
      rounded(
        quantile(
          samples.flatMap((block) => block[name]),
          0.99,
        ),
        1,
      ),
    ),
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
