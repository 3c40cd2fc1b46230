// The drill's outage. Many runs wait, then everything is down until they are due.
import { setTimeout as sleep } from 'node:timers/promises';
import { readJournal } from '../lib/journal-file.ts';
import type { Environment } from './environment.ts';
import { type PeopleJournal, type StartLine, start } from './people.ts';
import type { CallLine } from './receiver.ts';
import type { Scenario } from './scenario.ts';

export interface Outage {
  /** The number of waits that became due while everything was down. */
  readonly due: number;
  /**
   * How late each run continued, in ms, measured from when a worker was ready, or from the due time if that was later.
   */
  readonly lateMs: readonly number[];
}

const withinMs = 60_000;

export async function takeEverythingDown(
  environment: Environment,
  runs: number,
  journal: PeopleJournal,
): Promise<Outage> {
  const { processes, postgres, apps, scenarios } = environment;
  const scenario = scenarios.find(({ name }) => name === 'waits') as Scenario;
  const orders = Array.from({ length: runs }, (_, n) => {
    const plan = scenario.draw(`outage-${n}`, () => 0.5); // selects the middle duration
    return { app: apps[n % apps.length] as Environment['apps'][number], scenario, plan };
  });
  const lines = await Promise.all(orders.map((order) => start(environment, order, journal)));
  const began = await waitForCalls(environment.journal, lines, 'before');
  const downAt = Date.now();
  processes.takeDown();
  postgres.restartImmediately();
  const ms = orders[0]?.plan.expected?.wait?.ms ?? 0;
  await sleep(Math.max(...began.values()) + ms + 500 - Date.now());
  const readyAt = await processes.bringUp();
  const wentOn = await waitForCalls(environment.journal, lines, 'after');
  // A call that was not recorded before the outage is repeated, and its run then waits from the repeated call.
  const calledLast = await waitForCalls(environment.journal, lines, 'before');
  const dueTimes = [...calledLast].map(([token, at]) => [token, at + ms] as const);
  return {
    due: dueTimes.filter(([, due]) => due > downAt && due < readyAt).length,
    lateMs: dueTimes.map(([token, due]) => (wentOn.get(token) ?? Number.POSITIVE_INFINITY) - Math.max(due, readyAt)),
  };
}

/** Waits until each run has made this call. Returns the time of each call, by token. */
async function waitForCalls(journal: string, lines: readonly StartLine[], call: string): Promise<Map<string, number>> {
  const tokens = new Set(lines.map(({ plan }) => plan.token));
  for (const end = Date.now() + withinMs; ; await sleep(100)) {
    const found = readJournal<CallLine>(journal).filter((line) => line.call === call && tokens.has(line.token));
    const times = new Map(found.map(({ token, answered_at }) => [token, answered_at]));
    if (times.size === tokens.size || Date.now() > end) return times;
  }
}
