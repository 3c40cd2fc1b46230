// Owns how much CPU time processes use, as the kernel reports it.
import { readFileSync } from 'node:fs';

/** User and system time of a process, in ms; 0 when it is gone. */
export function cpuMs(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return 0;
  }
}

/** CPU time that these processes used since then. A process that started in between counts in full. */
export const usedSince = (pids: readonly number[], before: ReadonlyMap<number, number>): number =>
  pids.reduce((sum, pid) => sum + cpuMs(pid) - (before.get(pid) ?? 0), 0);
