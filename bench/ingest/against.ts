// Compares the ingestion of two checkouts: the same requests to each, for one app, in alternating blocks. It runs before
// all other parts, so the databases hold equally many events in every block.
import { rounded } from '../../harness/statistics.ts';
import { type Comparison, compare, judgeComparisons, maxNoise, type Rival } from '../lib/against.ts';
import { listFigures, runBlocks, summarizeBlocks } from '../lib/blocks.ts';
import { batchSize, makeBatch } from './events.ts';
import { type Block, type Measured, measureBlock, sendAll, type Target } from './requests.ts';

const postgresBar = 0.75;

type Side = Target & Measured;
type Rivals = Readonly<Record<'before' | 'before_again', Rival>>;

interface Load {
  readonly app_id: string;
  readonly nextUser: () => string;
  readonly blocks: number;
  readonly batchesPerBlock: number;
  progress(line: string): void;
}

export async function measureAgainst(plinth: Side, rivals: Rivals | undefined, load: Load) {
  if (rivals === undefined) return { judged: [] };
  const { app_id, nextUser, blocks, batchesPerBlock, progress } = load;
  const toSide = ({ port, pid, database }: Rival): Side => ({
    origin: `http://127.0.0.1:${port}`,
    token: plinth.token,
    apiPid: pid,
    listBackends: database.backends,
  });
  const sides = { plinth, before: toSide(rivals.before), before_again: toSide(rivals.before_again) };
  const measure = (side: Side) => {
    const batches = Array.from({ length: batchesPerBlock }, () => makeBatch(nextUser));
    return measureBlock(side, batchesPerBlock * batchSize, () => sendAll(side, [app_id], batches));
  };
  const describe = ({ perSecond, postgresUs }: Block) =>
    `${rounded(perSecond, 0)} events/s, PostgreSQL ${rounded(postgresUs, 1)} µs`;
  const {
    plinth: ours,
    before,
    before_again,
  } = await runBlocks(sides, measure, {
    what: 'against the other checkout',
    count: blocks,
    warmUp: 1,
    describe,
    progress,
  });
  const compareBlocks = (field: keyof Block, isLess?: boolean): Comparison =>
    compare(listFigures(ours, field), listFigures(before, field), listFigures(before_again, field), isLess);
  const noWorse = { events_per_second: compareBlocks('perSecond'), api_cpu_per_event: compareBlocks('apiUs', true) };
  const postgres = compareBlocks('postgresUs', true);
  return {
    figures: {
      ...noWorse,
      postgres_cpu_per_event: postgres,
      ...summarizeBlocks({ plinth: ours, before, before_again }, reported),
    },
    judged: [
      {
        bar: `PostgreSQL's CPU time per event <= ${postgresBar} of the other checkout's`,
        met: postgres.ratio <= postgresBar && postgres.noise <= maxNoise,
      },
      ...judgeComparisons(noWorse),
    ],
  };
}

const reported = {
  per_second: ['perSecond', 0],
  api_us: ['apiUs', 1],
  postgres_us: ['postgresUs', 1],
} as const;
