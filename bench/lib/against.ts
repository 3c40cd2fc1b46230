// The comparison with another checkout (`--against FOLDER`). The other checkout's API runs twice, each time on its
// own copy of the database, and the difference between the two runs is the noise. "No worse" means within that noise,
// or within 3 %. A run with more than 10 % noise proves nothing, so it does not meet its bars.
import type { Judged } from '../../harness/bench.ts';
import { type BenchDatabase, type Running, startApi } from '../../harness/services.ts';
import { median, rounded } from '../../harness/statistics.ts';

export interface Rival extends Running {
  readonly database: BenchDatabase;
  /** The environment of its processes. */
  readonly environment: Readonly<Record<string, string>>;
}

/** No session may be connected to the database yet, and the checkout's packages must be installed. */
export async function startRivals(
  checkout: string | undefined,
  database: BenchDatabase,
  environment: Readonly<Record<string, string>>,
): Promise<Readonly<Record<'before' | 'before_again', Rival>> | undefined> {
  if (checkout === undefined) return undefined;
  const start = async (name: string): Promise<Rival> => {
    const copy = await database.copy(name);
    const own = { ...environment, DATABASE_URL: copy.url, REDIS_PREFIX: `${environment.REDIS_PREFIX}${name}:` };
    const running = await startApi(own, checkout);
    const stop = async () => {
      await running.stop();
      await copy.drop();
    };
    return { ...running, database: copy, environment: own, stop };
  };
  return { before: await start('before'), before_again: await start('before_again') };
}

const always = 0.03;
export const maxNoise = 0.1;

export interface Comparison {
  readonly ratio: number;
  readonly noise: number;
  readonly isNoWorse: boolean;
}

/** Compares figures block by block. `isLess` means that smaller figures are better. */
export function compare(
  now: readonly number[],
  before: readonly number[],
  beforeAgain: readonly number[],
  isLess = false,
): Comparison {
  const ratio = (figures: readonly number[]) =>
    median(figures.map((figure, block) => figure / (before[block] ?? Number.NaN)));
  const noise = Math.abs(1 - ratio(beforeAgain));
  const allowed = Math.max(noise, always);
  const isWithin = isLess ? ratio(now) <= 1 + allowed : ratio(now) >= 1 - allowed;
  return {
    ratio: rounded(ratio(now), 3),
    noise: rounded(noise, 3),
    isNoWorse: isWithin && rounded(noise, 3) <= maxNoise,
  };
}

export const judgeComparisons = (comparisons: Readonly<Record<string, Comparison>>): Judged[] =>
  Object.entries(comparisons).map(([what, { isNoWorse }]) => ({
    bar: `${what}: no worse than before`,
    met: isNoWorse,
  }));
