// The drill's faults. They occur one after another, each as soon as there is something to break.
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kind } from '../../harness/processes.ts';
import type { Random } from '../../harness/random.ts';
import { drawTimes } from '../lib/fault-schedule.ts';
import type { Environment } from './environment.ts';

export type Fault = 'api killed' | 'worker killed' | 'postgres crashed' | 'redis gone';

export interface FaultPlan {
  /** The minimum duration over which the faults are spread, in seconds. */
  readonly seconds: number;
  readonly faults: Readonly<Record<Fault, number>>;
  readonly redisGoneMs: number;
}

/** How often each fault has been injected so far. */
export type FaultCounts = Record<Fault, number>;

export const noFaults = (): FaultCounts => ({
  'api killed': 0,
  'worker killed': 0,
  'postgres crashed': 0,
  'redis gone': 0,
});

export const countFaults = (counts: Readonly<FaultCounts>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Injects the faults and counts them in `injected`. */
export async function injectFaults(
  environment: Environment,
  { faults, seconds, redisGoneMs }: FaultPlan,
  random: Random,
  injected: FaultCounts,
  progress: (line: string) => void,
): Promise<void> {
  const { postgres, redis } = environment;
  const startedAt = performance.now();
  for (const { fault, at } of drawTimes(faults, seconds, random)) {
    await sleep(Math.max(0, startedAt + at * 1000 - performance.now()));
    if (fault === 'api killed') await killWorking(environment, 'api', random);
    else if (fault === 'worker killed') await killWorking(environment, 'worker', random);
    else if (fault === 'postgres crashed') postgres.restartImmediately();
    else {
      redis.stop();
      await sleep(redisGoneMs);
      await redis.start();
    }
    injected[fault] += 1;
    progress(`${((performance.now() - startedAt) / 1000).toFixed(1)} s: ${fault}`);
  }
}

const readyWithinMs = 180_000;
/** Lets a process work for a while first, because a process that has just started has nothing to interrupt. */
const worksForMs = 500;
const callsWithinMs = 5_000;

async function killWorking({ processes, journal }: Environment, kind: Kind, random: Random): Promise<void> {
  for (const end = Date.now() + readyWithinMs; Date.now() < end; await sleep(50)) {
    if (processes.countReady(kind) === 0) continue;
    if (kind === 'worker') await waitForCalls(journal);
    await sleep(random() * worksForMs);
    if (processes.kill(kind, (count) => Math.floor(random() * count))) return;
  }
  throw new Error(`no ${kind} process came to work`);
}

/** Waits until runs call the receiver, so some runs are in the middle of a call. */
async function waitForCalls(journal: string): Promise<void> {
  const { size } = statSync(journal);
  for (const end = Date.now() + callsWithinMs; statSync(journal).size === size && Date.now() < end; ) await sleep(20);
}
