// The drill's faults. Requests to the ad platform fail at random, such that every kind of fault affects every
// step. Processes are killed, and PostgreSQL crashes.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../harness/random.ts';
import type { AdPlatformEntry } from '../../sandbox/src/ad-platform/server.ts';
import { type Fault, type FaultKind, faultKinds } from '../../sandbox/src/faults.ts';
import type { Environment } from './environment.ts';
import { type Step, stepOf } from './platform-view.ts';

export interface PlatformFaults {
  /** The ad platform calls this function before it handles a request. */
  intercept(received: AdPlatformEntry): Promise<Fault | undefined>;
  start(): void;
  stop(): void;
  /** Campaigns that were enabled before Plinth had recorded their ids. */
  readonly enabledUnrecorded: readonly string[];
}

/** The share of requests that get a fault: about a third of the changes and a tenth of the reads. */
const shares: Readonly<Record<Step, number>> = {
  account: 0.4,
  dry_run: 0.15,
  create: 0.4,
  enable: 0.4,
  pause: 0.35,
  remove: 0.4,
  update: 0.35,
  read: 0.08,
};

export function createPlatformFaults(
  random: Random,
  longestDelayMs: number,
  getEnvironment: () => Environment,
): PlatformFaults {
  let isActive = false;
  const counts = new Map<string, number>();
  const enabledUnrecorded: string[] = [];
  /** Chooses the kind of fault that has affected this step least often. */
  const choose = (step: Step): FaultKind => {
    const count = (kind: FaultKind) => counts.get(`${step} ${kind}`) ?? 0;
    const least = Math.min(...faultKinds.map(count));
    const kinds = faultKinds.filter((kind) => count(kind) === least);
    const kind = kinds[Math.floor(random() * kinds.length)] as FaultKind;
    counts.set(`${step} ${kind}`, least + 1);
    return kind;
  };
  return {
    enabledUnrecorded,
    async intercept(received) {
      const step = stepOf(received);
      if (step === 'enable') {
        const id = readCampaignId(received);
        if (!(await getEnvironment().isRecorded(id))) enabledUnrecorded.push(id);
      }
      if (!isActive || step === undefined || random() >= shares[step]) return undefined;
      return { call: '*', fault: choose(step), delay_ms: random() * longestDelayMs };
    },
    start: () => {
      isActive = true;
    },
    stop: () => {
      isActive = false;
    },
  };
}

/** Returns the campaign id from a request that sets a status. */
function readCampaignId({ body }: AdPlatformEntry): string {
  const [, id = ''] = /campaigns\/(\d+)"/.exec(JSON.stringify(body)) ?? [];
  return id;
}

export interface ProcessFaults {
  readonly apis: number;
  readonly workers: number;
  readonly databaseCrashes: number;
}

/** Kills a process every few seconds and occasionally crashes the database, until the signal is aborted. */
export async function breakProcesses(
  { processes, postgres }: Environment,
  random: Random,
  everyMs: number,
  crashEveryMs: number,
  signal: AbortSignal,
): Promise<ProcessFaults> {
  const counts = { apis: 0, workers: 0, databaseCrashes: 0 };
  let nextCrashAt = Date.now() + crashEveryMs;
  while (!signal.aborted) {
    await sleep(everyMs * (0.5 + random()), undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    if (Date.now() >= nextCrashAt) {
      postgres.restartImmediately();
      counts.databaseCrashes += 1;
      nextCrashAt = Date.now() + crashEveryMs;
    }
    const kind = random() < 0.6 ? 'worker' : 'api';
    // Always leaves one process of each kind running, so even a slow machine makes progress between kills.
    if (processes.kill(kind, (ready) => (ready > 1 ? Math.floor(random() * ready) : -1)))
      counts[kind === 'api' ? 'apis' : 'workers'] += 1;
  }
  return counts;
}
