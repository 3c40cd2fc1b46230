// The drill's faults, and how often each is injected.
import { setTimeout as sleep } from 'node:timers/promises';
import type { OwnPostgres } from '../../harness/postgres.ts';
import type { Processes } from '../../harness/processes.ts';
import type { Random } from '../../harness/random.ts';
import type { OwnRedis } from '../../harness/redis.ts';
import { drawTimes, injectAt } from '../lib/fault-schedule.ts';
import type { Answer, FaultLine } from './journal.ts';

export type Fault =
  | 'api killed'
  | 'worker killed'
  | 'postgres crashed'
  | 'redis flushed'
  | 'redis gone'
  | 'receiver silent'
  | 'receiver cuts'
  | 'receiver answers 500';

/** How often each fault is injected within `seconds`, and for how long. */
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

/** Returns how often and when each fault was injected. */
export async function injectFaults(
  targets: FaultTargets,
  plan: FaultPlan,
  random: Random,
  progress: (line: string) => void,
): Promise<{ counts: Record<Fault, number>; lines: FaultLine[] }> {
  const times = drawTimes(plan.counts, plan.seconds, random);
  const lines: FaultLine[] = [];
  const injectOne = async (fault: Fault): Promise<boolean> => {
    const from = Date.now();
    const did = await inject(fault, targets, plan.durationMs, random);
    if (did) lines.push({ fault, from, to: Date.now() });
    return did;
  };
  return { counts: await injectAt(times, injectOne, progress), lines };
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
