// Collects the evidence for judging the drill: the journals, and the API's final state.
import { readJournal } from '../lib/journal-file.ts';
import type { DrillApp, Environment } from './environment.ts';
import type { Sighting } from './observers.ts';
import type { PeopleJournal, StartLine } from './people.ts';
import { listRecords, listRuns, type Run, readRun } from './reading.ts';
import type { CallLine } from './receiver.ts';
import { recordKey } from './scenario.ts';
import { entityNames } from './scenarios.ts';

export interface Evidence {
  readonly apps: readonly DrillApp[];
  readonly journal: PeopleJournal;
  readonly sightings: readonly Sighting[];
  readonly calls: readonly CallLine[];
  /** Each app's runs, with their steps. */
  readonly runs: ReadonlyMap<DrillApp, readonly Run[]>;
  /** The record texts (`recordKey`), by app and entity. */
  readonly records: ReadonlyMap<DrillApp, ReadonlyMap<string, readonly string[]>>;
  /** Each workspace's charges. */
  readonly credits: readonly { readonly used: number; readonly reserved: number }[];
}

const readersPerApp = 4;

export async function collectEvidence(
  { apps, journal: received }: Pick<Environment, 'apps' | 'journal'>,
  journal: PeopleJournal,
  sightings: readonly Sighting[],
): Promise<Evidence> {
  const runs = new Map<DrillApp, Run[]>();
  const records = new Map<DrillApp, Map<string, string[]>>();
  for (const app of apps) {
    runs.set(app, await readRuns(app));
    const lists = new Map<string, string[]>();
    for (const name of entityNames) lists.set(name, (await listRecords(app, name)).map(recordKey));
    records.set(app, lists);
  }
  const workspaces = new Map(apps.map((app) => [app.workspace, app]));
  const credits = [];
  for (const { call } of workspaces.values()) credits.push((await call('GET', '/api/workspace/credits')).body);
  return { apps, journal, sightings, calls: readJournal<CallLine>(received), runs, records, credits };
}

async function readRuns(app: DrillApp): Promise<Run[]> {
  const listed = await listRuns(app);
  const runs: Run[] = [];
  const reader = async () => {
    for (let run = listed.pop(); run !== undefined; run = listed.pop())
      runs.push(await readRun(app, run.workflow_id, run.run_id));
  };
  await Promise.all(Array.from({ length: readersPerApp }, reader));
  return runs;
}

/** Returns the number of runs that an app must have, by workflow. */
export function countExpectedRuns(app: DrillApp, { starts, ticks }: PeopleJournal): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (name: string, count = 1) => counts.set(name, (counts.get(name) ?? 0) + count);
  for (const { app: of, scenario, plan } of starts) {
    if (of !== app || plan.expected === undefined) continue;
    add(scenario.name);
    for (const [name, count] of Object.entries(plan.expected.causes)) add(name, count);
  }
  for (const tick of ticks) if (tick.app === app && tick.counts) add(tick.token);
  return counts;
}

export const isCancelled = ({ plan }: StartLine): boolean => plan.expected?.status === 'cancelled';
