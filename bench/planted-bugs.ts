// Measures what browser tests report: each variant of the demo shop has one planted bug, and each has a clean counterpart. Every
// bug must be reported and no clean run may fail. The sandbox model plays recorded calls of tools, so the verdicts are those of
// the checks and of the evidence.
import { shopFlows } from '../sandbox/src/demo-shop/flows.ts';
import { readShop } from '../sandbox/src/demo-shop/shop.ts';
import { type Variant, variants } from '../sandbox/src/demo-shop/variants.ts';
import { startTestInstallation, type TestInstallation, type TestReport } from './browser-tests/installation.ts';
import type { Bench, BenchOptions } from './lib/bench.ts';
import { createDatabase } from './lib/services.ts';
import { median, rounded } from './lib/statistics.ts';

/** One that a check finds, one that only the evidence shows, and one in a rule. */
const quickBugs = new Set(['wrong total', 'uncaught rejection', 'wrong role sees data']);

interface RunLine {
  readonly bug: string;
  readonly isPlanted: boolean;
  readonly status: string;
  /** Whether an issue of the report names the bug. */
  readonly isNamed: boolean;
  readonly seconds: number;
}

export const plantedBugs: Bench = async (options) => {
  const database = await createDatabase('planted_bugs');
  const redis = { REDIS_PREFIX: `bench:${process.pid}:` };
  const installation = await startTestInstallation({ databaseUrl: database.url, redis });
  try {
    const lines = await runAll(installation, options);
    const left = variants.length - lines.length / 2;
    return { ...report(lines), skipped: left === 0 ? [] : [`${left} of ${variants.length} variants`] };
  } finally {
    await installation.close();
    await database.drop();
  }
};

/** A run in the variant, and the same flow in the shop as it is. */
async function runAll(installation: TestInstallation, { quick, progress }: BenchOptions): Promise<RunLine[]> {
  const lines: RunLine[] = [];
  for (const variant of variants.filter(({ bug }) => !quick || quickBugs.has(bug)))
    for (const isPlanted of [true, false]) {
      const line = await runVariant(installation, variant, isPlanted);
      lines.push(line);
      progress(
        `${isPlanted ? 'planted' : 'clean'}: ${line.bug}: ${line.status}${line.isNamed ? ', named' : ''}, ${line.seconds} s`,
      );
    }
  return lines;
}

async function runVariant(installation: TestInstallation, variant: Variant, isPlanted: boolean): Promise<RunLine> {
  const { bug, flow, patch, named } = variant;
  const app = await installation.publish(readShop(isPlanted ? [patch] : []));
  const known = shopFlows.get(flow);
  if (known === undefined) throw new Error(`there is no flow ${flow}`);
  const startedAt = performance.now();
  const execution = await installation.start(app.id, await installation.createFlow(app.id, known));
  const { status, error_message } = await installation.waitForEnd(app.id, execution);
  const seconds = rounded((performance.now() - startedAt) / 1000, 1);
  if (status === 'error') throw new Error(`a run ended with an error: ${error_message}`);
  const isNamed = isNamedBy(await installation.readReport(app.id, execution), named);
  return { bug, isPlanted, status, isNamed, seconds };
}

const isNamedBy = ({ issues }: TestReport, named: RegExp): boolean =>
  issues.some(({ title, description }) => named.test(`${title}\n${description}`));

function report(lines: readonly RunLine[]) {
  const planted = lines.filter(({ isPlanted }) => isPlanted);
  const clean = lines.filter(({ isPlanted }) => !isPlanted);
  const missed = planted.filter(({ status }) => status !== 'failed').map(({ bug }) => bug);
  const unnamed = planted.filter(({ isNamed }) => !isNamed).map(({ bug }) => bug);
  const falseAlarms = clean.filter(({ status }) => status !== 'passed').map(({ bug, status }) => `${bug}: ${status}`);
  return {
    figures: {
      planted: planted.length,
      reported: planted.length - missed.length,
      clean: clean.length,
      missed,
      unnamed,
      false_alarms: falseAlarms,
      median_seconds: median(lines.map(({ seconds }) => seconds)),
      depends_on_the_model:
        'which steps are taken and what is checked. A model that leaves a check out misses what only that check shows; exceptions, console errors and failed requests are found all the same. The verdict never depends on what the model says.',
    },
    judged: [
      { bar: 'every planted bug is reported', met: missed.length === 0 },
      { bar: 'an issue names each planted bug', met: unnamed.length === 0 },
      { bar: 'every clean run passes', met: falseAlarms.length === 0 },
    ],
  };
}
