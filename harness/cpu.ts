// Measures processes' CPU time, as reported by the kernel.
import { readdirSync, readFileSync } from 'node:fs';

/** The process's user and system time, in ms. 0 if the process has ended. */
export const cpuMs = (pid: number): number => readTimesMs(pid, 11, 12);

/** The combined CPU time of a process and its children, in ms. Includes children that have ended. */
export const cpuMsWithChildren = (parent: number, children: readonly number[]): number =>
  children.reduce((sum, pid) => sum + cpuMs(pid), readTimesMs(parent, 11, 12, 13, 14));

function readTimesMs(pid: number, ...positions: number[]): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return positions.reduce((sum, position) => sum + Number(fields[position]) * 10, 0);
  } catch {
    return 0;
  }
}

/**
 * The combined CPU time of the process's current threads, in ms. Unlike `cpuMs`, it is not rounded to 10 ms ticks, so
 * it suits short blocks. Throws if the kernel reports no time for a running process, which would otherwise look idle.
 */
export function preciseCpuMs(pid: number): number {
  const threads = listThreads(pid);
  const used = threads.reduce((sum, thread) => sum + readThreadMs(pid, thread), 0);
  if (used === 0 && listThreads(pid).length > 0)
    throw new Error(`the kernel does not say how much CPU time ${pid} has used`);
  return used;
}

function listThreads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // the process has ended
  }
}

function readThreadMs(pid: number, thread: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return 0; // the thread has ended
  }
}

/** The CPU time that these processes have used since `before` was read. Processes that started later count in full. */
export const usedSince = (pids: readonly number[], before: ReadonlyMap<number, number>, read = cpuMs): number =>
  pids.reduce((sum, pid) => sum + read(pid) - (before.get(pid) ?? 0), 0);

/** The combined CPU time of these processes, in µs. */
export const cpuUs = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + preciseCpuMs(pid) * 1_000, 0);
