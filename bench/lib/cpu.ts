// Owns how much CPU time processes use, as the kernel reports it.
import { readFileSync } from 'node:fs';

/** User and system time of a process, in ms; 0 when it is gone. */
export const cpuMs = (pid: number): number => readTimesMs(pid, 11, 12);

/** The same of a process and its children together. Those that have ended count too. */
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

/** CPU time that these processes used since then. A process that started in between counts in full. */
export const usedSince = (pids: readonly number[], before: ReadonlyMap<number, number>): number =>
  pids.reduce((sum, pid) => sum + cpuMs(pid) - (before.get(pid) ?? 0), 0);
