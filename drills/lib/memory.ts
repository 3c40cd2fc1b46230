// Measures processes' memory, as reported by the kernel.
import { readFileSync } from 'node:fs';

const pageBytes = 4096;
const everyMs = 100;

/** A process's resident memory, in MB. 0 if the process has ended. */
export function residentMb(pid: number): number {
  try {
    return (Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageBytes) / 1e6;
  } catch {
    return 0;
  }
}

export interface MemoryWatch {
  /** Returns the peak since the last call, in MB. */
  takePeak(): number;
  stop(): void;
}

/** Samples the processes that `pids` currently returns, because a process may be restarted. */
export function watchMemory(pids: () => readonly number[]): MemoryWatch {
  let peak = 0;
  const look = () => {
    peak = Math.max(peak, ...pids().map(residentMb));
  };
  const timer = setInterval(look, everyMs);
  return {
    takePeak() {
      look();
      const taken = peak;
      peak = 0;
      return taken;
    },
    stop: () => clearInterval(timer),
  };
}
