// Measures the reports of browser tests. Each variant of the demo shop has one planted bug and a clean counterpart.
// Every bug must be reported and named, both when an agent sees the shop for the first time and when the clean shop's
// recording is replayed. No clean run or replay may fail. The sandbox model plays recorded tool calls, so the verdicts
// come from the checks and the evidence.

import type { Bench, BenchOptions } from '../harness/bench.ts';
import { startTestInstallation, type TestInstallation, type TestReport } from '../harness/browser-tests.ts';
import { createDatabase } from '../harness/services.ts';
import { median, rounded } from '../harness/statistics.ts';
import { shopFlows } from '../sandbox/src/demo-shop/flows.ts';
import { readShop } from '../sandbox/src/demo-shop/shop.ts';
import { type Variant, variants } from '../sandbox/src/demo-shop/variants.ts';

/** One bug that a check finds, two that appear only in the evidence, and one in a rule. */
const quickBugs = new Set(['wrong total', 'double submit', 'uncaught rejection', 'wrong role sees data']);

interface RunLine {
  readonly bug: string;
  readonly isPlanted: boolean;
  /** Whether the run replayed the clean shop's recording. */
  readonly isReplay: boolean;
  readonly status: string;
  /** Whether an issue in the report names the bug. */
  readonly isNamed: boolean;
  readonly healed: number;
  readonly modelCalls: number;
  readonly seconds: number;
}

export const plantedBugs: Bench = async (options) => {
  const database = await createDatabase('planted_bugs');
  const redis = { REDIS_PREFIX: `bench:${process.pid}:` };
  const installation = await startTestInstallation({ databaseUrl: database.url, redis });
  try {
    const chosen = variants.filter(({ bug }) => !options.quick || quickBugs.has(bug));
    const lines: RunLine[] = [];
    for (const variant of chosen) lines.push(...(await runVariant(installation, variant, options)));
    const left = variants.length - chosen.length;
    return { ...report(lines), skipped: left === 0 ? [] : [`${left} of ${variants.length} variants`] };
  } finally {
    await installation.close();
    await database.drop();
  }
};

/**
 * Runs the agent in the variant and in the clean shop. Then replays the clean shop's recording, first in the clean
 * shop, and then in the variant published in its place.
 */
async function runVariant(
  installation: TestInstallation,
  variant: Variant,
  { progress }: BenchOptions,
): Promise<RunLine[]> {
  const shops = { clean: readShop(), planted: readShop([variant.patch]) };
  const flow = shopFlows.get(variant.flow);
  if (flow === undefined) throw new Error(`there is no flow ${variant.flow}`);
  const lines: RunLine[] = [];
  const run = async (appId: string, flowId: string, isPlanted: boolean, isReplay: boolean) => {
    const line = await runOnce(installation, variant, appId, flowId, { isPlanted, isReplay });
    lines.push(line);
    progress(describeLine(line));
  };
  const planted = await installation.publish(shops.planted);
  await run(planted.id, await installation.createFlow(planted.id, flow), true, false);
  const { id } = await installation.publish(shops.clean);
  const flowId = await installation.createFlow(id, flow);
  await run(id, flowId, false, false);
  await run(id, flowId, false, true);
  await installation.republish(id, shops.planted);
  await run(id, flowId, true, true);
  return lines;
}

async function runOnce(
  { start, waitForEnd, readReport, model }: TestInstallation,
  { bug, named }: Variant,
  appId: string,
  flowId: string,
  kind: Pick<RunLine, 'isPlanted' | 'isReplay'>,
): Promise<RunLine> {
  const [startedAt, requestsBefore] = [performance.now(), model.requests.length];
  const execution = await start(appId, flowId);
  const { status, error_message } = await waitForEnd(appId, execution);
  const seconds = rounded((performance.now() - startedAt) / 1000, 1);
  if (status === 'error') throw new Error(`a run ended with an error: ${error_message}`);
  const found = await readReport(appId, execution);
  const modelCalls = model.requests.length - requestsBefore;
  return { bug, ...kind, status, isNamed: isNamedBy(found, named), healed: found.healed.length, modelCalls, seconds };
}

const isNamedBy = ({ issues }: TestReport, named: RegExp): boolean =>
  issues.some(({ title, description }) => named.test(`${title}\n${description}`));

const describeLine = ({ bug, isPlanted, isReplay, status, isNamed, healed, modelCalls, seconds }: RunLine): string =>
  [
    `${isPlanted ? 'planted' : 'clean'}${isReplay ? ', replayed' : ''}: ${bug}: ${status}`,
    ...(isNamed ? ['named'] : []),
    ...(healed > 0 ? [`${healed} healed`] : []),
    `${modelCalls} model calls`,
    `${seconds} s`,
  ].join(', ');

function report(lines: readonly RunLine[]) {
  const list = (isPlanted: boolean, isReplay: boolean) =>
    lines.filter((line) => line.isPlanted === isPlanted && line.isReplay === isReplay);
  const [first, replayed] = [listMissed(list(true, false)), listMissed(list(true, true))];
  const falseAlarms = lines.filter(({ isPlanted, status }) => !isPlanted && status !== 'passed');
  const cleanReplays = list(false, true);
  const changed = cleanReplays.filter(({ healed, modelCalls }) => healed > 0 || modelCalls > 0);
  return {
    figures: {
      planted: list(true, false).length,
      clean: list(false, false).length,
      ...first,
      replayed_missed: replayed.missed,
      replayed_unnamed: replayed.unnamed,
      false_alarms: falseAlarms.map(({ bug, status, isReplay }) => `${bug}${isReplay ? ', replayed' : ''}: ${status}`),
      median_seconds: median(list(true, false).map(({ seconds }) => seconds)),
      median_seconds_replayed: median(cleanReplays.map(({ seconds }) => seconds)),
      depends_on_the_model:
        'which steps are taken and what is checked. A model that leaves a check out misses what only that check shows; exceptions, console errors, failed requests and records that were created twice are found all the same. The verdict never depends on what the model says.',
    },
    judged: [
      { bar: 'every planted bug is reported', met: first.missed.length === 0 },
      { bar: 'an issue names each planted bug', met: first.unnamed.length === 0 },
      { bar: 'every clean run passes', met: list(false, false).every(({ status }) => status === 'passed') },
      { bar: 'every clean replay passes', met: cleanReplays.every(({ status }) => status === 'passed') },
      { bar: 'clean replays need no model and heal nothing', met: changed.length === 0 },
      { bar: 'the replay of a clean recording reports every planted bug', met: replayed.missed.length === 0 },
      { bar: 'an issue of the replay names each planted bug', met: replayed.unnamed.length === 0 },
    ],
  };
}

const listMissed = (lines: readonly RunLine[]) => ({
  missed: lines.filter(({ status }) => status !== 'failed').map(({ bug, status }) => `${bug}: ${status}`),
  unnamed: lines.filter(({ isNamed }) => !isNamed).map(({ bug }) => bug),
});
