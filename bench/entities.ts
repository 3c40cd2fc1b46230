// Measures record updates under rules, compared with a bare program that runs the same statements, and how the result
// changes with the number of records. With a worker, the bare program causes the same background work. A bare program
// that omits most of the background work is measured as well, but not judged.
// With `--against FOLDER`, another checkout's server and worker are measured in the same blocks.
import type { Bench } from '../harness/bench.ts';
import { median, rounded } from '../harness/statistics.ts';
import { apps, type Block, type Environment, type Server, startEnvironment } from './entities/environment.ts';
import { free, ruled } from './entities/seed.ts';
import { type Comparison, compare, judgeComparisons } from './lib/against.ts';
import { listFigures, medianOf, ratioOf, runBlocks, summarizeBlocks } from './lib/blocks.ts';

const bars = { bare: 0.6, fair: 0.65, ruleCost: 0.15, growth: 1.5, listMs: 25 };
/** A process's first requests are slower, because its code is still being compiled. */
const full = { seconds: 2, blocks: 9, warmUpRequests: 15_000 };
const short = { seconds: 1, blocks: 3, warmUpRequests: 3_000 };
const allSizes = [10_000, 1_000_000, 10_000_000];

export const entities: Bench = async ({ quick, only, against, progress }) => {
  const sizes = quick ? [50_000] : allSizes.filter((size) => only === undefined || size === Number(only));
  if (sizes.length === 0) throw new Error(`--only is one of ${allSizes.join(', ')}`);
  const environment = await startEnvironment(against);
  const load = quick ? short : full;
  const figures: Record<string, Awaited<ReturnType<typeof changes>>> = {};
  try {
    let from = 0;
    for (const size of sizes) {
      progress(`growing to ${size} records in ${apps} apps`);
      await environment.growTo(from, size);
      from = size;
      figures[size] = await changes(environment, size, load, (line) => progress(`${size} records, ${line}`));
    }
    const lists = await listing(environment, from, load);
    progress(`a list of 50 under an owner rule at ${from} records: p95 ${lists} ms`);
    const all = Object.values(figures);
    const growth = rounded((figures[from]?.p50_ms ?? Number.NaN) / (figures[sizes[0] as number]?.p50_ms ?? Number.NaN));
    const failed = all.reduce((sum, each) => sum + each.failed, 0);
    const isAtMany = sizes.length > 1;
    return {
      figures: {
        at: figures,
        ...(isAtMany && { p50_growth: growth }),
        list_p95_ms: lists,
        failed,
        events_delivered: environment.delivered(),
      },
      judged: [
        ...(quick
          ? []
          : [
              {
                bar: `a PUT under rules, without a worker, >= ${bars.bare} of bare, at every size`,
                met: all.every((at) => at.ratio >= bars.bare),
              },
              {
                bar: `with a worker >= ${bars.fair} of the bare program that causes the same work, at every size`,
                met: all.every((at) => at.fair_ratio >= bars.fair),
              },
            ]),
        {
          bar: `rules cost <= ${bars.ruleCost * 100} % of the same PUT without`,
          met: all.every((at) => at.rule_cost <= bars.ruleCost),
        },
        ...(isAtMany
          ? [{ bar: `p50 at ${from} <= ${bars.growth} of that at ${sizes[0]}`, met: growth <= bars.growth }]
          : []),
        { bar: `a list of 50 under an owner rule p95 <= ${bars.listMs} ms`, met: lists <= bars.listMs },
        {
          bar: 'no failed request, and the subscribed webhook received events',
          met: failed === 0 && environment.delivered() > 0,
        },
        ...Object.entries(figures).flatMap(([size, { against = {} }]) =>
          judgeComparisons(Object.fromEntries(Object.entries(against).map(([what, it]) => [`${what} at ${size}`, it]))),
        ),
      ],
      skipped: [
        ...(isAtMany ? [] : ['how p50 grows with the number of records']),
        ...(quick ? ['the ratios: a short run measures code that is still being compiled'] : []),
      ],
    };
  } finally {
    await environment.close();
  }
};

type Load = typeof full;

async function changes(
  environment: Environment,
  size: number,
  { seconds, blocks, warmUpRequests }: Load,
  progress: (line: string) => void,
) {
  const { bare, fair, plinth, before, before_again } = environment.servers;
  const rivals = before && before_again && { before: () => measure(before), before_again: () => measure(before_again) };
  const measure = (server: Server, entity = ruled) => environment.measure(server, entity, size, seconds);
  const run = <Sides extends Readonly<Record<string, () => Promise<Block>>>>(what: string, sides: Sides) =>
    runBlocks(sides, (measureSide) => measureSide(), {
      what,
      count: blocks,
      describe: ({ perSecond }) => `${rounded(perSecond, 0)}/s`,
      progress,
    });
  for (const server of Object.values(environment.servers))
    for (let sent = 0; sent < warmUpRequests; ) sent += (await measure(server)).requests;
  const alone = await run('without a worker', {
    bare: () => measure(bare),
    ruled: () => measure(plinth),
    ...rivals,
  });
  await environment.startWorker();
  const beside = await run('with a worker', {
    bare: () => measure(bare),
    fair: () => measure(fair),
    ruled: () => measure(plinth),
    free: () => measure(plinth, free),
    ...rivals,
  });
  await environment.stopWorker();
  const updates = await environment.pgbench(size, seconds);
  return {
    ratio: rounded(ratioOf(alone.ruled, alone.bare, 'perSecond'), 3),
    fair_ratio: rounded(ratioOf(beside.ruled, beside.fair, 'perSecond'), 3),
    ratio_with_worker_to_bare: rounded(ratioOf(beside.ruled, beside.bare, 'perSecond'), 3),
    rule_cost: rounded(1 - ratioOf(beside.ruled, beside.free, 'perSecond'), 3),
    p50_ms: medianOf(beside.ruled, 'p50Ms'),
    without_worker: summarizeBlocks(alone, reported),
    with_worker: summarizeBlocks(beside, reported),
    pgbench_updates_per_second: updates,
    ...(rivals && {
      against: { ...compareBlocks('without a worker', alone), ...compareBlocks('with a worker', beside) },
    }),
    failed: [...Object.values(alone), ...Object.values(beside)].flat().reduce((sum, block) => sum + block.failed, 0),
  };
}

type WithRivals = { readonly ruled: Block[]; readonly before?: Block[]; readonly before_again?: Block[] };

const compareBlocks = (what: string, { ruled, before = [], before_again = [] }: WithRivals) => ({
  [`PUT ${what}`]: compareField('perSecond', ruled, before, before_again),
  [`PostgreSQL's CPU time of a PUT ${what}`]: compareField('postgresUs', ruled, before, before_again, true),
});

const compareField = (
  field: 'perSecond' | 'postgresUs',
  now: readonly Block[],
  before: readonly Block[],
  beforeAgain: readonly Block[],
  isLess = false,
): Comparison => compare(listFigures(now, field), listFigures(before, field), listFigures(beforeAgain, field), isLess);

const reported = {
  per_second: ['perSecond', 0],
  node_us: ['nodeUs', 0],
  postgres_us: ['postgresUs', 0],
} as const;

async function listing(environment: Environment, size: number, { seconds, blocks }: Load): Promise<number> {
  const { plinth } = environment.servers;
  await environment.measure(plinth, ruled, size, seconds, 'list');
  const waits: number[] = [];
  for (let block = 0; block < blocks; block += 1)
    waits.push((await environment.measure(plinth, ruled, size, seconds, 'list')).p95Ms);
  return rounded(median(waits));
}
