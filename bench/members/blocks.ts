// Blocks of runs: each run's duration, and the CPU time it used in this process and in its PostgreSQL backend.
import { setTimeout as sleep } from 'node:timers/promises';
import { preciseCpuMs } from '../../harness/cpu.ts';
import { median, rounded } from '../../harness/statistics.ts';

export interface CpuTime {
  readonly nodeMs: number;
  readonly postgresMs: number;
}

export interface Block {
  /** Each run's duration, in ms. */
  readonly times: readonly number[];
  /** The average CPU time per run. */
  readonly cpu: CpuTime;
}

/** Calls `work` this many times in sequence. PostgreSQL must run on this machine. */
export async function measureBlock(work: () => Promise<unknown>, runs: number, backendPid: number): Promise<Block> {
  const before = await readCpu(backendPid);
  const times = await timed(work, runs);
  const after = await readCpu(backendPid);
  return {
    times,
    cpu: {
      nodeMs: (after.nodeMs - before.nodeMs) / runs,
      postgresMs: (after.postgresMs - before.postgresMs) / runs,
    },
  };
}

export async function timed(work: () => Promise<unknown>, runs: number): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < runs; i += 1) {
    const startedAt = performance.now();
    await work();
    taken.push(performance.now() - startedAt);
  }
  return taken;
}

/** Returns the number of runs that together take about this long. With fewer runs, the CPU time would be noise. */
export async function countRuns(work: () => Promise<unknown>, blockMs: number): Promise<number> {
  return Math.max(1, Math.min(100, Math.ceil(blockMs / median(await timed(work, 3)))));
}

export const medianCpu = (list: readonly Block[]): CpuTime => ({
  nodeMs: rounded(median(list.map(({ cpu }) => cpu.nodeMs)), 3),
  postgresMs: rounded(median(list.map(({ cpu }) => cpu.postgresMs)), 3),
});

async function readCpu(backendPid: number): Promise<CpuTime> {
  // The scheduler accounts for a thread's CPU time when the thread stops running, or at the next clock tick.
  await sleep(2);
  return { nodeMs: preciseCpuMs(process.pid), postgresMs: preciseCpuMs(backendPid) };
}
