// Helpers for tests that run workflows: workflows as rows, and runs that start as they would from a trigger.
import { expect } from 'vitest';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import { parseStored } from '../../src/features/workflows/definition/parse.ts';
import { type NewRun, startRuns } from '../../src/features/workflows/runs/start.ts';
import { newId } from '../../src/kit/ids.ts';
import type { World } from './world.ts';

export type Tasks = readonly Readonly<Record<string, object>>[];

/** Builds a definition with these tasks. */
export const define = (tasks: Tasks) => ({
  document: { dsl: '1.0.0', namespace: 'app', name: 'test', version: '1.0.0' },
  do: tasks,
});

/** A workflow's row, with its app. */
export type TestWorkflow = NewRun['workflow'] & { readonly app: AppRow };

export function createRunScene(world: World) {
  const { db } = world;

  async function insertWorkflow(app: AppRow, tasks: Tasks): Promise<TestWorkflow> {
    const now = world.clock.now();
    const definition = define(tasks);
    const { versionId: current_version_id } = parseStored(definition);
    const workflow = { id: newId(), name: `Workflow ${newId()}`, current_version_id };
    const owner = { workspace_id: app.workspace_id, app_id: app.id };
    const trigger = JSON.stringify({ config: { trigger_type: 'manual' } });
    const row = { ...owner, ...workflow, status: 'active', trigger, trigger_type: 'manual' } as const;
    await db
      .insertInto('workflows')
      .values({ ...row, created_date: now, updated_date: now })
      .execute();
    const version = { workspace_id: app.workspace_id, workflow_id: workflow.id, version_id: current_version_id };
    await db
      .insertInto('workflow_versions')
      .values({ ...version, definition: JSON.stringify(definition), created_date: now })
      .execute();
    return { ...workflow, app };
  }

  /** Starts a run as a trigger would, through the app's own connections. */
  async function start(
    { app, ...workflow }: TestWorkflow,
    input: unknown = {},
    more: Partial<NewRun> = {},
  ): Promise<string> {
    const run: NewRun = {
      workspace_id: app.workspace_id,
      app_id: app.id,
      workflow,
      trigger_type: 'manual',
      input,
      depth: 0,
      is_test_run: false,
      ...more,
    };
    const [id] = await startRuns(world.app.database.db, { wake: world.app.wake }, [run], world.clock.now());
    if (id === undefined) throw new Error('the run was not started');
    return id;
  }

  const getRun = (id: string) =>
    db.selectFrom('workflow_runs').where('id', '=', id).selectAll().executeTakeFirstOrThrow();
  const listSteps = (id: string) =>
    db.selectFrom('workflow_steps').where('run_id', '=', id).orderBy('number').selectAll().execute();
  const waitForEnd = async (id: string) => {
    await expect.poll(async () => (await getRun(id)).completed_at).not.toBeNull();
    return getRun(id);
  };
  /** Runs these tasks as a new workflow and waits until the run has ended. */
  async function run(app: AppRow, tasks: Tasks, input: unknown = {}, more: Partial<NewRun> = {}) {
    const id = await start(await insertWorkflow(app, tasks), input, more);
    const ended = await waitForEnd(id);
    return { ...ended, steps: await listSteps(id) };
  }
  return { insertWorkflow, start, getRun, listSteps, waitForEnd, run };
}
