// Observers that continuously read runs through the API and keep a journal of completed steps. Once an observer
// has seen a step as completed, the step must stay completed and must not run again.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../harness/random.ts';
import type { PeopleJournal, StartLine } from './people.ts';
import { type Run, readRun } from './reading.ts';
import { pick } from './scenario.ts';

/** A step that was seen as completed. */
export interface Sighting {
  readonly run_id: string;
  readonly number: number;
  readonly name: string;
  readonly completed_at: string;
  /** The time at which the response arrived. */
  readonly seen_at: number;
}

const recently = 200;
const pauseMs = 20;

/**
 * Reads recently started runs until the signal is aborted. Returns each completed step with the time at which it was
 * first seen.
 */
export async function observe({ starts }: PeopleJournal, random: Random, signal: AbortSignal): Promise<Sighting[]> {
  const sightings = new Map<string, Sighting>();
  while (!signal.aborted) {
    await sleep(pauseMs);
    const known = starts.filter(({ run_id }) => run_id !== undefined).slice(-recently);
    if (known.length === 0) continue;
    const line: StartLine = pick(random, known);
    const run = await readRun(line.app, line.app.workflowIds.get(line.scenario.name) as string, line.run_id as string);
    const seen_at = Date.now();
    for (const sighting of listCompleted(run, seen_at)) {
      const key = `${sighting.run_id}.${sighting.number}`;
      if (!sightings.has(key)) sightings.set(key, sighting);
    }
  }
  return [...sightings.values()];
}

const listCompleted = ({ run_id, steps }: Run, seen_at: number): Sighting[] =>
  steps.flatMap(({ number, name, status, completed_at }) =>
    status === 'completed' && completed_at !== null ? [{ run_id, number, name, completed_at, seen_at }] : [],
  );
