// Owns the judgement of the drill: by /proc, and by what the API answers at the end.
import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal, type TestInstallation } from '../../bench/browser-tests/installation.ts';
import type { Judged } from '../../bench/lib/bench.ts';
import { ordersOfTheOwner } from '../../sandbox/src/demo-shop/shop.ts';
import type { BrowserWatch } from './browsers.ts';

export interface RunLine {
  readonly flowId: string;
  readonly name: string;
  readonly executionId: string;
  readonly isDeleted: boolean;
  /** As the API said last. */
  readonly status: string;
}

/** A lease and the reaper's next look. */
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
  const deleted = lines.filter(({ isDeleted }) => isDeleted);
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
      statuses: countStatuses(lines),
      deleted: deleted.length,
      orphan_processes: orphans,
      temporary_users_left: users,
      records_left: orders,
    },
    judged: [
      { bar: 'no browser process is left', met: orphans === 0 },
      { bar: 'every run is in a terminal state', met: unended.length === 0 && lines.every(isTerminal) },
      { bar: 'every deleted test is gone', met: remaining.length === 0 },
      { bar: 'every run is listed with the name of its test', met: unlisted.length === 0 },
      { bar: 'no run failed because of a fault', met: lines.every(({ status }) => status !== 'failed') },
      { bar: 'no run that ended with an error is charged', met: paidErrors.length === 0 },
      { bar: 'no temporary user and no record of one is left', met: users === 0 && orders === 0 },
    ],
  };
}

const countStatuses = (lines: readonly RunLine[]): Record<string, number> =>
  Object.fromEntries(
    Map.groupBy(lines, ({ status }) => status)
      .entries()
      .map(([status, { length }]) => [status, length]),
  );

/** Waits until it is 0. Returns what it is at the end. */
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

// biome-ignore lint/suspicious/noExplicitAny: answers are read freely.
async function listExecutions(get: (path: string) => Promise<any>): Promise<ListedExecution[]> {
  const page = await get('/testing-agent/executions?limit=100');
  if (page.has_more) throw new Error('there are more runs than one page');
  return page.items;
}
