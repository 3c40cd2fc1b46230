// Owns the faults and their schedule, drawn from a seed so that a run can be repeated.
import { setTimeout as sleep } from 'node:timers/promises';
import type { OwnPostgres } from '../../bench/lib/postgres.ts';
import type { Processes } from '../lib/processes.ts';
import type { Random } from '../lib/random.ts';
import type { OwnRedis } from '../lib/redis.ts';
import type { Answer } from './journal.ts';

const faults = [
  'api killed',
  'worker killed',
  'postgres crashed',
  'redis flushed',
  'redis gone',
  'receiver silent',
  'receiver cuts',
  'receiver answers 500',
] as const;
export type Fault = (typeof faults)[number];

/** How often each fault is injected within these seconds, and how long lasting faults take. */
export interface FaultPlan {
  readonly seconds: number;
  readonly durationMs: number;
  readonly counts: Readonly<Record<Fault, number>>;
}

export interface FaultTargets {
  readonly processes: Processes;
  readonly postgres: OwnPostgres;
  readonly redis: OwnRedis;
  readonly addresses: readonly string[];
  receive(address: string, answer: Answer): void;
}

/** Returns how often each fault was injected. */
export async function injectFaults(
  targets: FaultTargets,
  plan: FaultPlan,
  random: Random,
  progress: (line: string) => void,
): Promise<Record<Fault, number>> {
  const schedule = faults
    .flatMap((fault) => Array.from({ length: plan.counts[fault] }, () => ({ fault, at: random() * plan.seconds })))
    .sort((a, b) => a.at - b.at);
  const injected = Object.fromEntries(faults.map((fault) => [fault, 0])) as Record<Fault, number>;
  const pending: Promise<void>[] = [];
  const startedAt = performance.now();
  for (const { fault, at } of schedule) {
    await sleep(Math.max(0, startedAt + at * 1000 - performance.now()));
    progress(`${at.toFixed(1)} s: ${fault}`);
    pending.push(
      inject(fault, targets, plan.durationMs, random).then((did) => {
        if (did) injected[fault] += 1;
      }),
    );
  }
  await Promise.all(pending);
  return injected;
}

const answers = { 'receiver silent': 'silence', 'receiver cuts': 'cut', 'receiver answers 500': 500 } as const;

/** Returns false if there was no process to kill. */
async function inject(fault: Fault, targets: FaultTargets, spellMs: number, random: Random): Promise<boolean> {
  const { processes, postgres, redis, addresses, receive } = targets;
  const choose = (count: number) => Math.floor(random() * count);
  switch (fault) {
    case 'api killed':
      return processes.kill('api', choose);
    case 'worker killed':
      return processes.kill('worker', choose);
    case 'postgres crashed':
      postgres.restartImmediately();
      return true;
    case 'redis flushed':
      while (!(await redis.flush())) await sleep(50);
      return true;
    case 'redis gone':
      redis.stop();
      await sleep(spellMs);
      await redis.start();
      return true;
    default: {
      const address = addresses[choose(addresses.length)] as string;
      receive(address, answers[fault]);
      await sleep(spellMs);
      receive(address, 200);
      return true;
    }
  }
}
