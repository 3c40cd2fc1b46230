// Drill: workflow runs call a receiver that misbehaves, write records, wait, fail, emit events and are cancelled, while
// processes are killed, PostgreSQL crashes and Redis is stopped. Judged by the journals of the people who start runs,
// the observers who read them and the receiver, and by the API's final state.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, BenchOptions } from '../harness/bench.ts';
import { startInstallation } from '../harness/installation.ts';
import { randomFrom } from '../harness/random.ts';
import { median, quantile, rounded } from '../harness/statistics.ts';
import { type Environment, type EnvironmentSize, startEnvironment } from './workflow-faults/environment.ts';
import { collectEvidence, countExpectedRuns } from './workflow-faults/evidence.ts';
import { countFaults, type FaultPlan, injectFaults, noFaults } from './workflow-faults/faults.ts';
import { judge } from './workflow-faults/judge.ts';
import { measureMemory } from './workflow-faults/memory.ts';
import { observe } from './workflow-faults/observers.ts';
import { takeEverythingDown } from './workflow-faults/outage.ts';
import { type PeopleJournal, startAll } from './workflow-faults/people.ts';
import { waitUntilFinished } from './workflow-faults/reading.ts';

interface Size extends EnvironmentSize, FaultPlan {
  readonly starts: number;
  readonly ticks: number;
  readonly drainMs: number;
  /** The number of runs that wait while everything is down. */
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
    redisGoneMs: 1_000,
    drainMs: 180_000,
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
  await using installation = await startInstallation();
  return await drill(await startEnvironment(installation, size), size, options);
};

async function drill(environment: Environment, size: Size, { quick, progress }: BenchOptions) {
  const { apps, processes } = environment;
  progress(`${apps.length} apps, ${size.starts} starts; seed ${seed}`);
  const journal: PeopleJournal = { starts: [], ticks: [] };
  const ended = new AbortController();
  const observing = observe(journal, randomFrom(seed + 1), ended.signal);
  const reporting = report(journal, progress, ended.signal);
  const injected = noFaults();
  // Spreads the starts over all faults, even if a slow machine takes long to restart processes.
  const share = () => (countFaults(injected) + 1) / countFaults(size.faults);
  await Promise.all([
    injectFaults(environment, size, randomFrom(seed + 2), injected, progress),
    startAll(environment, { ...size, share }, randomFrom(seed), journal),
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
  progress(`runs continued ${Math.round(median(outage.lateMs))} ms after a worker was ready`);
  const isFinished = await waitUntilFinished(apps, countExpected, size.drainMs, progress);
  const { judged, figures } = judge(await collectEvidence(environment, journal, sightings));
  processes.stop();
  const memory = await measureMemory(environment, size.memory, progress);
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
      // In a quick run, the few crashes may not affect any call.
      ...(quick ? [] : [{ bar: 'crashes repeated calls', met: Number(figures.calls_repeated_for_a_crash) > 0 }]),
      {
        bar: `a wait that was due while everything was down continues within ${wentOnWithinMs / 1000} s of a worker being ready`,
        met: outage.due >= size.outageRuns / 2 && Math.max(...outage.lateMs) <= wentOnWithinMs,
      },
      {
        bar: `${countFaults(size.faults)} faults: ${describeFaults(size.faults)}`,
        met: describeFaults(injected) === describeFaults(size.faults),
      },
      {
        bar: `${memory.waiting} waiting runs keep a worker within ${memoryBarMb} MB of idle`,
        met: memory.beside_waiting_mb - Math.max(memory.idle_before_mb, memory.idle_after_mb) <= memoryBarMb,
      },
    ],
    skipped: quick ? ['crashes repeated calls'] : [],
  };
}

const describeFaults = (counts: FaultPlan['faults']): string =>
  Object.entries(counts)
    .map(([fault, count]) => `${fault} ${count} times`)
    .sort()
    .join(', ');

async function report({ starts }: PeopleJournal, progress: (line: string) => void, signal: AbortSignal) {
  while (!signal.aborted) {
    await sleep(10_000, undefined, { signal }).catch(() => {});
    progress(`${starts.length} runs were started`);
  }
}
