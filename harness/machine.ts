// Measures how busy the machine is, because measurements on a busy machine mean little.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const watchMs = 1_000;

/** Measures the share of all processors that is busy over one second, from 0 to 1. */
export async function measureBusy(): Promise<number> {
  const before = readTimes();
  await sleep(watchMs);
  const after = readTimes();
  return 1 - (after.idle - before.idle) / Math.max(1, after.all - before.all);
}

function readTimes(): { readonly all: number; readonly idle: number } {
  // user nice system idle iowait irq softirq steal
  const times = readFileSync('/proc/stat', 'utf8').split('\n')[0]?.trim().split(/\s+/).slice(1, 9).map(Number) ?? [];
  return { all: times.reduce((sum, time) => sum + time, 0), idle: (times[3] ?? 0) + (times[4] ?? 0) };
}
