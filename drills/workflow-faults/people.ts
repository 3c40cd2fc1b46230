// The drill's people. They start runs and cancel some of them, and keep a journal of acknowledged requests.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../harness/random.ts';
import type { DrillApp, Environment } from './environment.ts';
import { type Plan, pick, type Scenario } from './scenario.ts';
import { defineTick } from './scenarios.ts';

/** A run's acknowledged start. */
export interface StartLine {
  readonly app: DrillApp;
  readonly scenario: Scenario;
  readonly plan: Plan;
  /** Undefined if a record started the run. */
  readonly run_id: string | undefined;
  /** The status in the response to the cancellation. */
  cancelled?: string;
}

/** An acknowledged workflow that runs once, at a given time. */
export interface TickLine {
  readonly app: DrillApp;
  readonly token: string;
  readonly counts: boolean;
}

export interface PeopleJournal {
  readonly starts: StartLine[];
  readonly ticks: TickLine[];
}

const people = 16;

export interface StartPlan {
  readonly starts: number;
  readonly ticks: number;
  readonly seconds: number;
  /** The share of the starts that people may have sent so far. */
  readonly share: () => number;
}

/** Starts this many runs, and creates this many workflows that run once, spread over these seconds. */
export async function startAll(
  environment: Environment,
  { starts, ticks, seconds, share }: StartPlan,
  random: Random,
  journal: PeopleJournal,
): Promise<void> {
  const { apps, scenarios } = environment;
  const orders: Order[] = Array.from({ length: starts }, (_, n) => {
    const scenario = pick(random, scenarios);
    return { app: pick(random, apps), scenario, plan: scenario.draw(`${scenario.name}-${n}`, random) };
  });
  const startedAt = performance.now();
  let next = 0;
  const cancels: Promise<void>[] = [];
  const person = async () => {
    for (let n = next++; n < orders.length; n = next++) {
      await sleep(Math.max(0, startedAt + (n * seconds * 1000) / starts - performance.now()));
      while (n / starts > share()) await sleep(50);
      const line = await start(environment, orders[n] as Order, journal);
      if (line.plan.cancelAfterMs !== undefined) cancels.push(cancel(line, line.plan.cancelAfterMs));
    }
  };
  await Promise.all([...Array.from({ length: people }, person), scheduleTicks(apps, ticks, seconds, random, journal)]);
  await Promise.all(cancels);
}

type Order = Pick<StartLine, 'app' | 'scenario' | 'plan'>;

/** Starts a run, and records it once it has been acknowledged. */
export async function start(
  environment: Pick<Environment, 'callHook'>,
  order: Order,
  { starts }: PeopleJournal,
): Promise<StartLine> {
  const line: StartLine = { ...order, run_id: await send(environment, order) };
  starts.push(line);
  return line;
}

async function send(
  { callHook }: Pick<Environment, 'callHook'>,
  { app, scenario, plan }: Order,
): Promise<string | undefined> {
  switch (scenario.startedBy) {
    case 'run': {
      const path = `/api/apps/${app.id}/workflows/${app.workflowIds.get(scenario.name)}/run-now`;
      return (await app.call('POST', path, { input: plan.input })).body.run_id;
    }
    case 'hook':
      return (await callHook('POST', app.hooks.get(scenario.name) as string, plan.input)).body.run_id;
    case 'record':
      await app.call('POST', `/api/apps/${app.id}/entities/${scenario.entity}`, plan.input);
      return undefined;
  }
}

async function cancel(line: StartLine, afterMs: number): Promise<void> {
  await sleep(afterMs);
  const { app, scenario, run_id } = line;
  const path = `/api/apps/${app.id}/workflows/${app.workflowIds.get(scenario.name)}/runs/${run_id}/cancel`;
  line.cancelled = (await app.call('POST', path)).body.status;
}

/**
 * Schedules ticks that become due during the faults. A tick that was due before it was acknowledged may or may not have
 * run, so it does not count.
 */
async function scheduleTicks(
  apps: readonly DrillApp[],
  count: number,
  seconds: number,
  random: Random,
  { ticks }: PeopleJournal,
): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const app = pick(random, apps);
    const token = `tick-${n}`;
    const at = new Date(Date.now() + 5_000 + random() * seconds * 1000);
    await app.call('POST', `/api/apps/${app.id}/workflows`, defineTick(token, at));
    ticks.push({ app, token, counts: Date.now() < at.getTime() });
  }
}
