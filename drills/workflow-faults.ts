// Drill: runs of workflows call a receiver that misbehaves, write records, wait, fail, emit events and are cancelled, while
// processes are killed, PostgreSQL crashes and Redis is gone. Judged by the journals of the people who start runs, of the
// observers who read them and of the receiver, and by what the API says at the end.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, BenchOptions } from '../bench/lib/bench.ts';
import { median, quantile, rounded } from '../bench/lib/statistics.ts';
import { drawTimes, injectAt } from './lib/fault-schedule.ts';
import { type Random, randomFrom } from './lib/random.ts';
import { type Environment, type EnvironmentSize, startEnvironment } from './workflow-faults/environment.ts';
import { collectEvidence, countExpectedRuns } from './workflow-faults/evidence.ts';
import { judge } from './workflow-faults/judge.ts';
import { measureMemory } from './workflow-faults/memory.ts';
import { observe } from './workflow-faults/observers.ts';
import { takeEverythingDown } from './workflow-faults/outage.ts';
import { type PeopleJournal, startAll } from './workflow-faults/people.ts';
import { waitUntilFinished } from './workflow-faults/reading.ts';

type Fault = 'api killed' | 'worker killed' | 'postgres crashed' | 'redis gone';

interface Size extends EnvironmentSize {
  readonly starts: number;
  readonly ticks: number;
  /** Over how many seconds runs are started and faults injected. */
  readonly seconds: number;
  readonly faults: Readonly<Record<Fault, number>>;
  /** How many of them must have hit a process that was working. */
  readonly leastKills: number;
  readonly redisGoneMs: number;
  readonly drainMs: number;
  /** How many runs wait while everything is down. */
  readonly outageRuns: number;
  readonly memory: Parameters<typeof measureMemory>[1];
}

const sizes: Record<'quick' | 'full', Size> = {
  quick: {
    workspaces: 2,
    appsPerWorkspace: 2,
    starts: 300,
    ticks: 4,
    seconds: 12,
    faults: { 'api killed': 2, 'worker killed': 4, 'postgres crashed': 1, 'redis gone': 1 },
    leastKills: 4,
    redisGoneMs: 1_000,
    drainMs: 60_000,
    outageRuns: 20,
    memory: { waiting: 5_000, work: 20, idleSeconds: 2 },
  },
  full: {
    workspaces: 5,
    appsPerWorkspace: 2,
    starts: 5_000,
    ticks: 50,
    seconds: 400,
    faults: { 'api killed': 20, 'worker killed': 60, 'postgres crashed': 8, 'redis gone': 5 },
    leastKills: 60,
    redisGoneMs: 5_000,
    drainMs: 300_000,
    outageRuns: 200,
    memory: { waiting: 100_000, work: 300, idleSeconds: 15 },
  },
};

const wentOnWithinMs = 5_000;
const memoryBarMb = 50;
const seed = Number(process.env.BENCH_SEED ?? 4711);

export const workflowFaults: Bench = async (options) => {
  const size = sizes[options.quick ? 'quick' : 'full'];
  const environment = await startEnvironment(size);
  try {
    return await drill(environment, size, options);
  } finally {
    await environment.close();
  }
};

async function drill(environment: Environment, size: Size, { progress }: BenchOptions) {
  const { apps, processes } = environment;
  progress(`${apps.length} apps, ${size.starts} starts; seed ${seed}`);
  const journal: PeopleJournal = { starts: [], ticks: [] };
  const ended = new AbortController();
  const observing = observe(journal, randomFrom(seed + 1), ended.signal);
  const reporting = report(journal, progress, ended.signal);
  const [injected] = await Promise.all([
    injectFaults(environment, size, randomFrom(seed + 2), progress),
    startAll(environment, size, randomFrom(seed), journal),
  ]);
  await processes.allReady();
  ended.abort();
  await reporting;
  const sightings = await observing;
  const countExpected = (app: Environment['apps'][number]) =>
    [...countExpectedRuns(app, journal).values()].reduce((sum, count) => sum + count, 0);
  const startedDraining = performance.now();
  const isDrained = await waitUntilFinished(apps, countExpected, size.drainMs, progress);
  const drainSeconds = rounded((performance.now() - startedDraining) / 1000, 1);
  progress('faults are over; now everything goes down while runs wait');

  const outage = await takeEverythingDown(environment, size.outageRuns, journal);
  progress(`runs went on ${Math.round(median(outage.lateMs))} ms after a worker was ready`);
  const isFinished = await waitUntilFinished(apps, countExpected, size.drainMs, progress);
  const { judged, figures } = judge(await collectEvidence(environment, journal, sightings));
  processes.stop();
  const memory = await measureMemory(environment, size.memory, progress);
  const killed = injected['api killed'] + injected['worker killed'];
  return {
    figures: {
      seed,
      faults_injected: injected,
      processes_started_again: processes.restarts,
      drain_seconds: drainSeconds,
      ...figures,
      due_while_down: outage.due,
      went_on_after_ms_p50: Math.round(median(outage.lateMs)),
      went_on_after_ms_p95: Math.round(quantile(outage.lateMs, 0.95)),
      went_on_after_ms_max: Math.round(Math.max(...outage.lateMs)),
      memory,
    },
    judged: [
      { bar: `${size.starts} starts were acknowledged`, met: journal.starts.length === size.starts + size.outageRuns },
      { bar: 'nothing is stuck', met: isDrained && isFinished },
      ...judged,
      {
        bar: `a wait that was due while everything was down goes on within ${wentOnWithinMs / 1000} s of a worker being ready`,
        met: outage.due >= size.outageRuns / 2 && Math.max(...outage.lateMs) <= wentOnWithinMs,
      },
      {
        bar: `processes were killed ${size.leastKills} times, and every fault was injected`,
        met: killed >= size.leastKills && Object.values(injected).every((count) => count > 0),
      },
      {
        bar: `${memory.waiting} waiting runs keep a worker within ${memoryBarMb} MB of idle`,
        met: memory.beside_waiting_mb - memory.idle_mb <= memoryBarMb,
      },
    ],
    skipped: [],
  };
}

function injectFaults(
  { processes, postgres, redis }: Environment,
  { faults, seconds, redisGoneMs }: Size,
  random: Random,
  progress: (line: string) => void,
): Promise<Record<Fault, number>> {
  const choose = (count: number) => Math.floor(random() * count);
  const inject = async (fault: Fault): Promise<boolean> => {
    switch (fault) {
      case 'api killed':
        return processes.kill('api', choose);
      case 'worker killed':
        return processes.kill('worker', choose);
      case 'postgres crashed':
        postgres.restartImmediately();
        return true;
      case 'redis gone':
        redis.stop();
        await sleep(redisGoneMs);
        await redis.start();
        return true;
    }
  };
  return injectAt(drawTimes(faults, seconds, random), inject, progress);
}

async function report({ starts }: PeopleJournal, progress: (line: string) => void, signal: AbortSignal) {
  while (!signal.aborted) {
    await sleep(10_000, undefined, { signal }).catch(() => {});
    progress(`${starts.length} runs were started`);
  }
}
