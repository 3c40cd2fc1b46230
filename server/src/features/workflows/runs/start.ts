// Starts runs by inserting rows for workers to claim. Rows for many events are inserted in a few statements.
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../../kit/db/database.ts';
import { newId } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import { countRuns, type InsertedRun, insertRuns, type RunRow } from '../store/runs.ts';
import { writeStorable } from './recorded.ts';

/** The name of the queue and of the topic that wakes its workers. */
export const runQueue = 'workflow_runs';

export interface NewRun {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly workflow: { readonly id: string; readonly name: string; readonly current_version_id: string };
  readonly trigger_type: RunRow['trigger_type'];
  readonly input: unknown;
  /** How many workflows and automations lie between a user's change and this run. */
  readonly depth: number;
  /** What caused the run. A workflow has only one run per cause, however often it is started. */
  readonly cause?: string;
  readonly is_test_run: boolean;
  /** The user who started the run manually, and whose credits it spends. */
  readonly started_by?: string | null;
}

export interface StartDeps {
  readonly wake: Pick<WakeUps, 'notify'>;
}

const maxBatch = { runs: 500, bytes: 4 * 1024 * 1024 };

/** Starts either all the runs or none. Skips a cause that already has a run. Returns the ids of the new runs. */
export function startRuns(db: Db, { wake }: StartDeps, starts: readonly NewRun[], now: Date): Promise<string[]> {
  if (starts.length === 0) return Promise.resolve([]);
  return transaction(db, async (db) => {
    const ids: string[] = [];
    for (const batch of toBatches(starts.map(toRow))) {
      const inserted = new Set((await insertRuns(db, batch, now)).map(({ id }) => id));
      const started = batch.filter(({ id }) => inserted.has(id));
      for (const [workspaceId, runs] of Map.groupBy(started, ({ workspace_id }) => workspace_id))
        await countRuns(db, workspaceId, countByWorkflow(runs), now);
      ids.push(...started.map(({ id }) => id));
    }
    if (ids.length > 0) afterCommit(db, () => wake.notify(runQueue));
    return ids;
  });
}

const toRow = ({ workflow, input, cause, started_by, ...start }: NewRun): InsertedRun => ({
  ...start,
  id: newId(),
  workflow_id: workflow.id,
  workflow_name: workflow.name,
  version_id: workflow.current_version_id,
  input: writeStorable(input),
  cause: cause ?? null,
  started_by: started_by ?? null,
});

/** Divides the rows into batches, in order. A row that exceeds the size limit gets its own batch. */
function* toBatches(rows: readonly InsertedRun[]): Generator<readonly InsertedRun[]> {
  let batch: InsertedRun[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = Buffer.byteLength(row.input);
    if (batch.length > 0 && (batch.length >= maxBatch.runs || bytes + size > maxBatch.bytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(row);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

function countByWorkflow(runs: readonly InsertedRun[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { workflow_id } of runs) counts.set(workflow_id, (counts.get(workflow_id) ?? 0) + 1);
  return counts;
}
