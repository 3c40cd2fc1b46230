// Judges the drill by /proc and by the API's final responses.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Judged } from '../../harness/bench.ts';
import { isTerminal, type TestInstallation } from '../../harness/browser-tests.ts';
import { ordersOfTheOwner } from '../../sandbox/src/demo-shop/shop.ts';
import type { BrowserWatch } from './browsers.ts';
import { type Fault, isDeletion } from './plan.ts';

export interface RunLine {
  /** Starts at 0. */
  readonly number: number;
  readonly fault: Fault | undefined;
  /** Whether the fault occurred while the run was in progress. */
  readonly hasHappened: boolean;
  readonly flowId: string;
  readonly name: string;
  readonly executionId: string;
  /** The last status that the API reported. */
  readonly status: string;
  readonly error_message: string | null;
}

/** Long enough for a lease to expire and the reaper to run again. */
const settledWithinMs = 60_000;

export async function judge(
  { call }: TestInstallation,
  appId: string,
  lines: readonly RunLine[],
  watch: BrowserWatch,
): Promise<{ judged: Judged[]; figures: Record<string, unknown> }> {
  const get = async (path: string) => (await call('GET', `/api/apps/${appId}${path}`)).body;
  const orphans = await settle(() => watch.living().length);
  const users = await settle(async () => (await get('/users?limit=100')).items.length);
  const orders = await settle(
    async () => (await get('/entities/Order?limit=100')).items.length - ordersOfTheOwner.length,
  );
  const flows: { id: string }[] = await get('/testing-agent/flows');
  const executions = await listExecutions(get);
  const deleted = lines.filter(({ fault }) => isDeletion(fault));
  const kept = lines.filter(({ fault }) => !isDeletion(fault));
  const missed = lines.filter(({ fault, hasHappened }) => fault !== undefined && !hasHappened);
  const seen = watch.count();
  // Each run that was not deleted has a browser, plus a second one if the first was killed.
  const leastBrowsers = kept.length + kept.filter(({ hasHappened }) => hasHappened).length;
  const remaining = deleted.filter(({ flowId }) => flows.some(({ id }) => id === flowId));
  const unlisted = lines.filter(
    ({ executionId, flowId, name }) =>
      !executions.some((each) => each.id === executionId && each.flow_id === flowId && each.flow_name === name),
  );
  const unended = executions.filter((each) => !isTerminal(each));
  const paidErrors = executions.filter(({ status, credits_charged }) => status === 'error' && credits_charged !== 0);
  return {
    figures: {
      runs: lines.length,
      statuses: countBy(lines.map(({ status }) => status)),
      faults: countBy(lines.map(({ fault = 'none' }) => fault)),
      faults_missed: missed.length,
      orphan_processes: orphans,
      temporary_users_left: users,
      records_left: orders,
    },
    judged: [
      { bar: 'every planned fault hit its run', met: missed.length === 0 },
      { bar: `at least ${leastBrowsers} browsers were seen`, met: seen.browsers >= leastBrowsers },
      {
        bar: 'every run whose test was deleted is cancelled',
        met: deleted.length > 0 && deleted.every(({ status }) => status === 'cancelled'),
      },
      {
        bar: 'of the others at least two thirds passed',
        met: kept.filter(({ status }) => status === 'passed').length >= (2 / 3) * kept.length,
      },
      {
        bar: 'a run that neither passed nor was cancelled crashed twice',
        met: kept.every(
          ({ status, error_message }) => status === 'passed' || /crashed twice/.test(error_message ?? ''),
        ),
      },
      { bar: 'no browser process is left', met: orphans === 0 },
      { bar: 'every run is in a terminal state', met: unended.length === 0 && lines.every(isTerminal) },
      { bar: 'every deleted test is gone', met: remaining.length === 0 },
      { bar: 'every run is listed with the name of its test', met: unlisted.length === 0 },
      { bar: 'no run that ended with an error is charged', met: paidErrors.length === 0 },
      { bar: 'no temporary user and no record of one is left', met: users === 0 && orders === 0 },
    ],
  };
}

const countBy = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries(
    Map.groupBy(names, (name) => name)
      .entries()
      .map(([name, { length }]) => [name, length]),
  );

/** Waits until the count is 0. Returns the last count. */
async function settle(count: () => number | Promise<number>): Promise<number> {
  const end = Date.now() + settledWithinMs;
  for (;;) {
    const left = await count();
    if (left === 0 || Date.now() > end) return left;
    await sleep(250);
  }
}

interface ListedExecution {
  readonly id: string;
  readonly flow_id: string;
  readonly flow_name: string;
  readonly status: string;
  readonly credits_charged: number;
}

// biome-ignore lint/suspicious/noExplicitAny: Responses are not typed here.
async function listExecutions(get: (path: string) => Promise<any>): Promise<ListedExecution[]> {
  const page = await get('/testing-agent/executions?limit=100');
  if (page.has_more) throw new Error('there are more runs than one page');
  return page.items;
}
