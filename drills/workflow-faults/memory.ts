// Measures a worker's memory alongside many waiting runs, which are copies of a real waiting run.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startProcesses } from '../../harness/processes.ts';
import { retryingClient } from '../../harness/retrying-client.ts';
import { residentMb } from '../lib/memory.ts';
import type { DrillApp, Environment } from './environment.ts';
import { type PeopleJournal, start } from './people.ts';
import { readRun } from './reading.ts';
import type { Scenario } from './scenario.ts';

export interface MemoryFigures {
  readonly waiting: number;
  /** The memory before the worker has done any work. */
  readonly new_mb: number;
  /**
   * The warmed-up idle worker's memory before there are waiting runs. `idle_after_mb` is measured after the waiting
   * runs have been removed and the worker has worked again.
   */
  readonly idle_before_mb: number;
  readonly idle_after_mb: number;
  readonly beside_waiting_mb: number;
  readonly seconds_of_work: number;
  readonly seconds_of_work_beside_waiting: number;
}

/** Starts its own API and worker. No other Plinth process may be running. */
export async function measureMemory(
  environment: Environment,
  { waiting, work, idleSeconds }: { waiting: number; work: number; idleSeconds: number },
  progress: (line: string) => void,
): Promise<MemoryFigures> {
  const { settings, postgres } = environment;
  const processes = await startProcesses({ api: 1, worker: 1 }, { ...settings });
  try {
    await processes.allReady();
    const [first] = environment.apps as [DrillApp];
    const app = { ...first, call: retryingClient(processes.apis, first.token) };
    const workOff = () => runAndWait({ ...environment, apps: [app] }, work);
    const settle = () => measureIdle(() => processes.pids('worker'), idleSeconds);
    const fresh = await settle();
    const { seconds: alone, mb: idle } = await warmUp(workOff, settle);
    progress(`an idle worker uses ${Math.round(idle)} MB`);
    const removeWaiting = await insertWaiting(environment, app, postgres.url, waiting);
    const beside = await workOff();
    const besideMb = await settle();
    progress(`beside ${waiting} waiting runs it uses ${Math.round(besideMb)} MB`);
    await removeWaiting();
    await workOff();
    const idleAfter = await settle();
    progress(`without them it uses ${Math.round(idleAfter)} MB again`);
    return {
      waiting,
      new_mb: Math.round(fresh),
      idle_before_mb: Math.round(idle),
      idle_after_mb: Math.round(idleAfter),
      beside_waiting_mb: Math.round(besideMb),
      seconds_of_work: alone,
      seconds_of_work_beside_waiting: beside,
    };
  } finally {
    processes.stop();
  }
}

const maxRounds = 8;
const steadyMb = 5;

/**
 * Works until memory use is stable, because a process loads code once and its heap grows in the first rounds of work.
 */
async function warmUp(workOff: () => Promise<number>, settle: () => Promise<number>) {
  let seconds = await workOff();
  let mb = await settle();
  for (let round = 1; round < maxRounds; round += 1) {
    const before = mb;
    seconds = await workOff();
    mb = await settle();
    if (mb - before < steadyMb) break;
  }
  return { seconds, mb };
}

/** Returns the lowest memory use while idle, because the amount of garbage varies. */
async function measureIdle(pids: () => readonly number[], seconds: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < seconds * 4; n += 1) {
    await sleep(250);
    least = Math.min(least, Math.max(...pids().map(residentMb)));
  }
  return least;
}

const noJournal = (): PeopleJournal => ({ starts: [], ticks: [] });
const find = ({ scenarios }: Environment, name: string) => scenarios.find((each) => each.name === name) as Scenario;

/** Runs the workflow `chain` this many times. Returns the duration in seconds. */
async function runAndWait(environment: Environment, count: number): Promise<number> {
  const scenario = find(environment, 'chain');
  const app = environment.apps[0] as DrillApp;
  const startedAt = performance.now();
  const lines = await Promise.all(
    Array.from({ length: count }, (_, n) =>
      start(environment, { app, scenario, plan: scenario.draw(`work-${n}`, () => 0) }, noJournal()),
    ),
  );
  const workflowId = app.workflowIds.get(scenario.name) as string;
  for (const { run_id } of lines)
    while ((await readRun(app, workflowId, run_id as string)).status !== 'completed') await sleep(50);
  return Math.round((performance.now() - startedAt) / 100) / 10;
}

/** Inserts waiting runs. Returns a function that removes them. */
async function insertWaiting(
  environment: Environment,
  app: DrillApp,
  url: string,
  count: number,
): Promise<() => Promise<void>> {
  const scenario = find(environment, 'cancels');
  const { run_id } = await start(environment, { app, scenario, plan: scenario.draw('waiting', () => 0) }, noJournal());
  const client = new pg.Client(url);
  await client.connect();
  while ((await client.query(insertCopies, [run_id, count])).rowCount === 0) await sleep(50);
  await client.query('analyze workflow_runs');
  return async () => {
    for (const text of removeCopies) await client.query(text, [run_id]);
    await client.end();
  };
}

/** Copies a run and its steps once the run is waiting. The ids are of the same time, because steps are in partitions by it. */
const insertCopies = `
  with copies as (
    insert into workflow_runs
    select copy.* from workflow_runs original, generate_series(1, $2::int) n, lateral jsonb_populate_record(original,
      jsonb_build_object('id', left(original.id::text, 14) || substr(gen_random_uuid()::text, 15), 'due_at', original.due_at + n * interval '1 s')) copy
    where original.id = $1 and original.claimed_slot is null and original.due_at > now() + interval '1 minute'
    returning id)
  insert into workflow_steps
  select copy.* from copies, workflow_steps step,
    lateral jsonb_populate_record(step, jsonb_build_object('run_id', copies.id)) copy
  where step.run_id = $1`;

const copies =
  'select copy.id from workflow_runs copy, workflow_runs original where original.id = $1 and copy.due_at > original.due_at';
const removeCopies = [
  `delete from workflow_steps where run_id in (${copies})`,
  `delete from workflow_runs where id in (${copies})`,
];
