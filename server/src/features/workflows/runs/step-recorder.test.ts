// Tests recording steps from several runs at the same time.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { countRowsRead } from '../../../../test/support/rows-read.ts';
import { createRunScene } from '../../../../test/support/runs.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { SentStep } from '../store/steps.ts';
import { createStepRecorder } from './step-recorder.ts';

const world = await startWorld();
const { db } = world.app.database;
const scene = createRunScene(world);
const owner = await world.person('owner@example.com');
const app = await world.appOf(owner, await world.workspace(owner));
const workflow = await scene.insertWorkflow(app, [{ wait: { wait: { hours: 1 } } }]);

/** Creates a run that a worker has claimed, together with its first step. */
async function claimRun(step: Partial<SentStep['step']> = {}): Promise<SentStep> {
  const id = await scene.start(workflow);
  await world.db
    .updateTable('workflow_runs')
    .set({ claims: 1, claimed_slot: 1, claimed_epoch: 1 })
    .where('id', '=', id)
    .execute();
  return {
    run: { workspace_id: workflow.app.workspace_id, id, claims: 1 },
    stored: { state: '{"steps":1}', state_sealed: null },
    step: {
      number: 1,
      task_path: '/do/0/wait',
      name: 'wait',
      task_type: 'wait',
      status: 'completed',
      attempt: 1,
      started_at: new Date(),
      completed_at: new Date(),
      input: '{"of":1}',
      output: null,
      error: null,
      ...step,
    },
  };
}

const countTransactions = async (ids: readonly string[]) =>
  (
    await sql<{ count: number }>`select count(distinct xmin::text)::int as count from workflow_steps
      where run_id = any(${ids}::uuid[])`.execute(world.db)
  ).rows[0]?.count;

describe('the recorder of steps', () => {
  it('records steps that are done at the same time, each with the state of its run', async () => {
    const record = createStepRecorder();
    const sent = await Promise.all(Array.from({ length: 5 }, () => claimRun()));
    expect(await Promise.all(sent.map((one) => record(db, one)))).toEqual(sent.map(() => 'running'));
    // The first step is recorded alone. The others finish while it is being recorded, so they are recorded together.
    expect(await countTransactions(sent.map(({ run }) => run.id))).toBe(2);
    for (const { run } of sent) {
      expect(await scene.listSteps(run.id)).toMatchObject([{ number: 1, input: { of: 1 }, output: null }]);
      expect(await scene.getRun(run.id)).toMatchObject({ steps_count: 1, state: { steps: 1 } });
    }
  });

  it('records nothing for a claim that is lost, and the steps beside it', async () => {
    const record = createStepRecorder();
    const [first, lost, last] = [await claimRun(), await claimRun(), await claimRun()];
    const sent = [first, { ...lost, run: { ...lost.run, claims: 0 } }, last];
    expect(await Promise.all(sent.map((one) => record(db, one)))).toEqual(['running', undefined, 'running']);
    expect(await scene.listSteps(lost.run.id)).toEqual([]);
  });

  it('fails only the run whose step cannot be recorded', async () => {
    const record = createStepRecorder();
    const sent = [await claimRun(), await claimRun({ error: '"\\u0000"' }), await claimRun()];
    const results = await Promise.allSettled(sent.map((one) => record(db, one)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await Promise.all(sent.map(async ({ run }) => (await scene.listSteps(run.id)).length))).toEqual([1, 0, 1]);
  });

  it('reads no other runs, even if it was planned when there were few', async () => {
    const record = createStepRecorder();
    const sent = await Promise.all(Array.from({ length: 9 }, () => claimRun()));
    await transaction(db, async (db) => {
      // PostgreSQL may reuse the plan from the sixth execution on.
      for (const one of sent.slice(1)) await record(db, one);
      await sql`insert into workflow_runs
        select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'claimed_slot', null))).*
        from workflow_runs r, generate_series(1, 5000) where r.id = ${sent[0]?.run.id}`.execute(world.db);
      const read = await countRowsRead(db, 'workflow_runs', () => record(db, sent[0] as SentStep));
      expect(read).toBeLessThan(20);
    });
  });
});
