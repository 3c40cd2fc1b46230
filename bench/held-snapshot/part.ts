// What each part of the measurement does: add work, do it with the product's own functions, and complete work of others.
import type pg from 'pg';
import { preciseCpuMs } from '../../harness/cpu.ts';
import { median, quantile, rounded } from '../../harness/statistics.ts';
import type { Db } from '../../server/src/tables.ts';

export interface Services {
  /** Used only by the product's functions. */
  readonly db: Db;
  /** Used by everything else. */
  readonly pool: pg.Pool;
}

export interface Opened {
  /** How many rows `add` adds, and `work` must handle. */
  readonly added: number;
  add(): Promise<unknown>;
  /** The measured call. Returns how many rows it handled. */
  work(): Promise<number>;
  /** Completes what `work` has claimed, outside of the measured time. */
  finish(): Promise<unknown>;
  /** Adds and completes rows as other processes do. */
  complete(count: number): Promise<unknown>;
  /** Called before the database is closed. */
  close?(): Promise<unknown>;
}

/** The first owners of rows, from 1. */
export const ownerOf = (number: number): string => `00000000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;

/** Measures `work`, of which the backend `pid` does the statements. */
export async function measureRounds(part: Opened, pid: number, rounds: number) {
  const took: number[] = [];
  const used: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await part.add();
    const before = { at: performance.now(), cpu: preciseCpuMs(pid) };
    const worked = await part.work();
    took.push(performance.now() - before.at);
    used.push(preciseCpuMs(pid) - before.cpu);
    if (worked !== part.added) throw new Error(`${worked} rows were handled instead of ${part.added}`);
    await part.finish();
  }
  return {
    p50_ms: rounded(median(took)),
    p95_ms: rounded(quantile(took, 0.95)),
    cpu_ms: rounded(median(used), 3),
  };
}
