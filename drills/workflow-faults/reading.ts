// Reads runs with their steps, lists of runs, and records through the API.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Call } from '../../harness/retrying-client.ts';
import type { DrillApp } from './environment.ts';

export interface Step {
  readonly number: number;
  readonly name: string;
  readonly status: string;
  readonly attempt: number;
  readonly started_at: string;
  readonly completed_at: string | null;
}

export interface ListedRun {
  readonly run_id: string;
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly error_message: string | null;
  readonly steps_count: number;
}

export interface Run extends ListedRun {
  readonly steps: readonly Step[];
}

export const readRun = async ({ id, call }: DrillApp, workflowId: string, runId: string): Promise<Run> =>
  (await call('GET', `/api/apps/${id}/workflows/${workflowId}/runs/${runId}`)).body;

export const listRuns = ({ id, call }: DrillApp): Promise<ListedRun[]> =>
  listAll(call, `/api/apps/${id}/workflows/runs?limit=100`);

export const listRecords = ({ id, call }: DrillApp, entity: string): Promise<{ token: string; n?: number | null }[]> =>
  listAll(call, `/api/apps/${id}/entities/${entity}?limit=1000`);

async function listAll<Item>(call: Call, path: string): Promise<Item[]> {
  const items: Item[] = [];
  for (let query = ''; ; ) {
    const page = (await call('GET', `${path}${query}`)).body;
    items.push(...page.items);
    if (!page.has_more) return items;
    query = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}

/** Waits until each app has the expected number of runs and all have ended. Returns whether that happened in time. */
export async function waitUntilFinished(
  apps: readonly DrillApp[],
  expectedRuns: (app: DrillApp) => number,
  withinMs: number,
  progress: (line: string) => void,
): Promise<boolean> {
  const waiting = new Set(apps);
  for (const end = Date.now() + withinMs; ; ) {
    let unfinished = 0;
    for (const app of waiting) {
      const left = (await countUnfinished(app)) || expectedRuns(app) - (await listRuns(app)).length;
      if (left <= 0) waiting.delete(app);
      else unfinished += left;
    }
    if (waiting.size === 0) return true;
    progress(`${unfinished} runs are not finished`);
    if (Date.now() > end) return false;
    await sleep(500);
  }
}

async function countUnfinished({ id, call }: DrillApp): Promise<number> {
  const count = async (status: string) =>
    (await listAll(call, `/api/apps/${id}/workflows/runs?limit=100&status=${status}`)).length;
  return (await count('running')) + (await count('cancelling'));
}
