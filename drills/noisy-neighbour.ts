// Drill: a quiet workspace makes calls at a steady rate while a hostile workspace, and then anonymous callers, do the
// worst that their credentials allow, one attack after another. Judged by the quiet workspace's calls and by the
// receiver of its webhook.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, BenchOptions, Report } from '../harness/bench.ts';
import { rounded } from '../harness/statistics.ts';
import { type MemoryWatch, watchMemory } from './lib/memory.ts';
import type { AttackReport } from './noisy-neighbour/attacker.ts';
import { nowMs } from './noisy-neighbour/clock.ts';
import { type Environment, startEnvironment } from './noisy-neighbour/environment.ts';
import {
  beyondBar,
  countFailed,
  countLost,
  findSlower,
  isFailed,
  type Latencies,
  latenciesWithin,
  maxP95Ms,
  type Stretch,
} from './noisy-neighbour/judge.ts';
import type { SeedSize } from './noisy-neighbour/seed.ts';
import type { Way } from './noisy-neighbour/way.ts';
import { ways } from './noisy-neighbour/ways.ts';

interface Size extends SeedSize {
  readonly warmUpSeconds: number;
  readonly aloneSeconds: number;
  readonly attackSeconds: number;
  readonly settleSeconds: number;
}

const sizes: Record<'quick' | 'full', Size> = {
  quick: {
    records: 10_000,
    members: 1_000,
    appUsers: 100,
    warmUpSeconds: 2,
    aloneSeconds: 2,
    attackSeconds: 4,
    settleSeconds: 0.5,
  },
  full: {
    records: 200_000,
    members: 10_000,
    appUsers: 10_000,
    warmUpSeconds: 10,
    aloneSeconds: 4,
    attackSeconds: 7,
    settleSeconds: 2,
  },
};

const maxMemoryMb = 512;
const maxCoreShare = 0.5;
const arrivedWithinMs = 60_000;
/**
 * Comma-separated parts of attack names. If set, only matching attacks run, which helps to find the cause of a failure.
 */
const only = process.env.NOISY_WAYS?.split(',');

export const noisyNeighbour: Bench = async (options) => {
  const size = sizes[options.quick ? 'quick' : 'full'];
  const chosen = ways.filter(({ name, quick }) =>
    only ? only.some((part) => name.includes(part)) : quick || !options.quick,
  );
  const environment = await startEnvironment(size, options.progress);
  try {
    return await drill(environment, chosen, size, options);
  } finally {
    await environment.close();
  }
};

interface Attacked {
  readonly way: Way;
  readonly during: Stretch;
  readonly report: AttackReport;
  readonly memoryMb: Readonly<Record<'api' | 'worker', number>>;
  readonly restarts: number;
}

async function drill(environment: Environment, chosen: readonly Way[], size: Size, { progress }: BenchOptions) {
  const { processes } = environment;
  const memory = {
    api: watchMemory(() => processes.pids('api')),
    worker: watchMemory(() => processes.pids('worker')),
  };
  environment.startQuietCalls();
  await sleep(size.warmUpSeconds * 1000);
  const alone: Stretch[] = [];
  const attacks: Attacked[] = [];
  for (const way of chosen) {
    alone.push(await during(() => sleep(size.aloneSeconds * 1000)));
    attacks.push(await attackWith(environment, way, size, memory));
    progress(lineOf(environment, attacks.at(-1) as Attacked, alone));
  }
  alone.push(await during(() => sleep(size.aloneSeconds * 1000)));
  await environment.stopQuietCalls();
  for (const end = nowMs() + arrivedWithinMs; countLost(environment) > 0 && nowMs() < end; ) await sleep(200);
  for (const watch of Object.values(memory)) watch.stop();
  return report(environment, attacks, alone);
}

async function attackWith(
  environment: Environment,
  way: Way,
  size: Size,
  memory: Record<'api' | 'worker', MemoryWatch>,
): Promise<Attacked> {
  const restartsBefore = environment.processes.restarts;
  await environment.resetLimits();
  let report: AttackReport | undefined;
  const stretch = await during(async () => {
    report = await environment.attack(way.name, size.attackSeconds);
  });
  await sleep(size.settleSeconds * 1000);
  await environment.settle();
  return {
    way,
    during: stretch,
    report: report as unknown as AttackReport,
    memoryMb: { api: rounded(memory.api.takePeak(), 0), worker: rounded(memory.worker.takePeak(), 0) },
    restarts: environment.processes.restarts - restartsBefore,
  };
}

async function during(work: () => Promise<unknown>): Promise<Stretch> {
  const from = nowMs();
  await work();
  return { from, to: nowMs() };
}

function lineOf(environment: Environment, attacked: Attacked, alone: readonly Stretch[]): string {
  const { way, report, memoryMb } = attacked;
  const beside = latenciesWithin(environment, [attacked.during]);
  const slower = findSlower(latenciesWithin(environment, alone), beside);
  const noticed = slower.length > 0 ? ` slower than max(2x, +30 ms): ${slower.join(', ')};` : '';
  return `${beyondBar(beside).length > 0 ? 'BEYOND' : 'within'}${noticed} ${way.by}: ${way.name}: ${JSON.stringify(beside)} ${JSON.stringify(report.outcomes)} failed ${countFailed(environment, attacked.during)} api ${memoryMb.api} MB worker ${memoryMb.worker} MB cpu ${rounded(report.cpuSeconds / report.seconds)}`;
}

function report(environment: Environment, attacks: readonly Attacked[], stretches: readonly Stretch[]): Report {
  const alone = latenciesWithin(environment, stretches);
  const lost = countLost(environment);
  const figures = attacks.map((attacked) => figuresOf(environment, attacked, alone));
  const failed = environment.calls.filter(isFailed).length;
  const share = Math.max(...figures.map(({ attacker_cores }) => attacker_cores));
  return {
    figures: {
      p95_alone_ms: alone,
      quiet_calls: environment.calls.length,
      quiet_deliveries: environment.arrivals.size,
      ways: figures,
    },
    judged: [
      ...figures.map(({ way, within, failed_calls, restarts, memory_mb }) => ({
        bar: `${way}: p95 <= ${maxP95Ms.call} ms, of deliveries <= ${maxP95Ms.delivery} ms, no failed call, no restart, <= ${maxMemoryMb} MB`,
        met: within && failed_calls === 0 && restarts === 0 && Math.max(memory_mb.api, memory_mb.worker) <= maxMemoryMb,
      })),
      { bar: 'every way reached what it attacks', met: figures.every(({ reached }) => reached) },
      { bar: 'no call of the quiet workspace failed, before, during or after', met: failed === 0 },
      { bar: 'every delivery of the quiet workspace arrived', met: lost === 0 && environment.arrivals.size > 0 },
      { bar: `the attacker used <= ${maxCoreShare} of a core`, met: share <= maxCoreShare },
    ],
    skipped: ways.filter((way) => !attacks.some((attacked) => attacked.way === way)).map(({ name }) => name),
  };
}

function figuresOf(environment: Environment, attacked: Attacked, alone: Latencies) {
  const { way, during, report, memoryMb, restarts } = attacked;
  const beside = latenciesWithin(environment, [during]);
  const beyond = beyondBar(beside);
  const slower = findSlower(alone, beside);
  return {
    way: `${way.by}: ${way.name}`,
    p95_ms: beside,
    within: beyond.length === 0,
    ...(beyond.length > 0 && { beyond }),
    /** Not judged: more than twice as slow as alone, and by more than 30 ms. */
    ...(slower.length > 0 && { slower }),
    failed_calls: countFailed(environment, during),
    restarts,
    memory_mb: memoryMb,
    sent: report.sent,
    outcomes: report.outcomes,
    reached: way.reaches.some((outcome) => (report.outcomes[outcome] ?? 0) > 0),
    attacker_cores: rounded(report.cpuSeconds / report.seconds),
  };
}
