// Tests how runs end: the effect on their workflow, credits, plans, platform errors and removal.
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { startMailSandbox } from '../../../../../sandbox/src/smtp.ts';
import { createRunScene } from '../../../../test/support/runs.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { removeOldPartitions } from '../../../kit/background/partitions.ts';
import { releaseClaims } from '../../../kit/background/queues/complete.ts';
import type { Queue } from '../../../kit/background/queues/queue.ts';
import { newId } from '../../../kit/ids.ts';
import { removeOldRuns } from '../store/runs.ts';
import { startRuns } from './start.ts';

const mail = await startMailSandbox();
afterAll(() => mail.close());
const world = await startWorld({ environment: { SMTP_URL: mail.smtpUrl } });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const app = await world.appOf(owner, workspace);
const scene = createRunScene(world);
await world.startWorker();

const succeeding = [{ pass: { set: '${ . }' } }];
const failing = [{ fail: { raise: { error: { type: 'runtime', status: 500, detail: 'always' } } } }];
const getWorkflow = (id: string) =>
  world.db.selectFrom('workflows').where('id', '=', id).selectAll().executeTakeFirstOrThrow();
const runTimes = async (workflow: Parameters<typeof scene.start>[0], times: number) => {
  for (const id of await Promise.all(Array.from({ length: times }, () => scene.start(workflow))))
    await scene.waitForEnd(id);
};
const usedCredits = async (id: string) =>
  (
    await sql<{ used: number }>`select coalesce(sum(amount), 0)::float as used from credit_ledger
    where kind = 'use' and reference_id = ${id}`.execute(world.db)
  ).rows[0]?.used;

describe('the end of a run', () => {
  it('is counted on its workflow', async () => {
    const workflow = await scene.insertWorkflow(app, [
      { maybe: { if: '${ .fails }', raise: failing[0]?.fail.raise as object } },
    ]);
    const end = async (fails: boolean) => scene.waitForEnd(await scene.start(workflow, { fails }));
    await end(true);
    await end(true);
    expect(await getWorkflow(workflow.id)).toMatchObject({
      total_runs: 2,
      consecutive_failures: 2,
      last_run_status: 'failed',
    });
    const { started_at } = await end(false);
    expect(await getWorkflow(workflow.id)).toMatchObject({
      total_runs: 3,
      consecutive_failures: 0,
      last_run_status: 'completed',
      last_run_at: started_at,
      status: 'active',
    });
  });

  it('makes the workflow inactive after 20 failures in a row, with one audit entry and one mail to each person', async () => {
    const workflow = await scene.insertWorkflow(app, failing);
    await world.db
      .updateTable('workflows')
      .set({ next_tick_at: new Date('2100-01-01') })
      .where('id', '=', workflow.id)
      .execute();
    await runTimes(workflow, 19);
    expect(await getWorkflow(workflow.id)).toMatchObject({ status: 'active', consecutive_failures: 19 });
    await runTimes(workflow, 3);
    expect(await getWorkflow(workflow.id)).toMatchObject({
      status: 'inactive',
      status_reason: 'consecutive_failures',
      consecutive_failures: 22,
      next_tick_at: null,
    });
    const entries = await sql`select from (select entry from audit_pending union all select entry from audit_entries) e
      where entry->>'type' = 'workflow.turned_off' and entry->'target'->>'id' = ${workflow.id}`.execute(world.db);
    expect(entries.rows).toHaveLength(1);
    const mails = () => mail.inbox.filter(({ text }) => text.includes(workflow.id));
    await expect.poll(() => mails().length).toBe(1);
    expect(mails()[0]).toMatchObject({
      to: ['owner@example.com'],
      subject: `The workflow "${workflow.name}" was deactivated`,
    });
  });
});

describe('credits', () => {
  it('are charged once for each run', async () => {
    const ended = await scene.run(app, succeeding);
    expect(await usedCredits(ended.id)).toBe(0.05);
  });

  it('that are missing end the run', async () => {
    const poor = await world.workspace(owner);
    await world.db.updateTable('workspaces').set({ monthly_limit: 0 }).where('id', '=', poor).execute();
    const ended = await scene.run(await world.appOf(owner, poor), succeeding);
    expect(ended).toMatchObject({
      status: 'failed',
      status_reason: 'insufficient_credits',
      steps_count: 0,
      begun_at: null,
    });
    expect(await usedCredits(ended.id)).toBe(0);
  });
});

describe('a workspace whose plan does not include workflows', () => {
  it('runs nothing, and its workflow is made inactive', async () => {
    const free = await world.workspace(owner, 'free');
    const workflow = await scene.insertWorkflow(await world.appOf(owner, free), succeeding);
    const ended = await scene.waitForEnd(await scene.start(workflow));
    expect(ended).toMatchObject({ status: 'failed', steps_count: 0, failure: { code: 'plan_required' } });
    expect(await getWorkflow(workflow.id)).toMatchObject({
      status: 'inactive',
      status_reason: 'workflows_not_available',
    });
  });
});

describe('a definition that this release cannot read', () => {
  it('ends the run, and makes the workflow inactive', async () => {
    const workflow = await scene.insertWorkflow(app, succeeding);
    await sql`update workflow_versions set definition = '{"do": 7}' where workflow_id = ${workflow.id}`.execute(
      world.db,
    );
    expect(await scene.waitForEnd(await scene.start(workflow))).toMatchObject({
      status: 'failed',
      failure: { type: 'configuration' },
    });
    expect(await getWorkflow(workflow.id)).toMatchObject({ status: 'inactive', status_reason: 'definition_invalid' });
  });
});

describe('a run of a deleted app', () => {
  it('is cancelled', async () => {
    const other = await world.appOf(owner, workspace);
    const workflow = await scene.insertWorkflow(other, succeeding);
    await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', other.id).execute();
    expect(await scene.waitForEnd(await scene.start(workflow))).toMatchObject({
      status: 'cancelled',
      status_reason: null,
      steps_count: 0,
    });
  });
});

describe('an error of the platform', () => {
  it('ends the run once workers have crashed 20 times without progress', async () => {
    const workflow = await scene.insertWorkflow(app, succeeding);
    const id = newId();
    const { workspace_id, id: app_id } = app;
    await sql`insert into workflow_runs (id, workspace_id, app_id, workflow_id, workflow_name, version_id, trigger_type, input, started_at, due_at, crash_count, claims, claimed_slot, claimed_epoch)
      values (${id}, ${workspace_id}, ${app_id}, ${workflow.id}, 'x', ${workflow.current_version_id}, 'manual', '{}', now(), now(), 19, 20, 99, 1)`.execute(
      world.db,
    );
    const queue = world.app.background.queues.find(({ name }) => name === 'workflow_runs') as Queue;
    await releaseClaims(world.app.database.db, queue);
    expect(await scene.getRun(id)).toMatchObject({
      status: 'failed',
      claimed_slot: null,
      due_at: null,
      failure: { code: 'platform_error' },
    });
    expect((await scene.getRun(id)).error_message).toContain('internal error');
  });

  it('ends a run as cancelled that was being cancelled', async () => {
    const workflow = await scene.insertWorkflow(app, succeeding);
    const id = newId();
    const { workspace_id, id: app_id } = app;
    await sql`insert into workflow_runs (id, workspace_id, app_id, workflow_id, workflow_name, version_id, trigger_type, input, started_at, due_at, crash_count, claims, claimed_slot, claimed_epoch, status)
      values (${id}, ${workspace_id}, ${app_id}, ${workflow.id}, 'x', ${workflow.current_version_id}, 'manual', '{}', now(), now(), 19, 20, 99, 1, 'cancelling')`.execute(
      world.db,
    );
    // Simulates a worker crash during a call whose step was already visible.
    await sql`insert into workflow_steps (workspace_id, run_id, number, task_path, name, task_type, status, attempt, started_at)
      values (${workspace_id}, ${id}, 1, '/do/0', 'pass', 'set', 'running', 1, now())`.execute(world.db);
    const queue = world.app.background.queues.find(({ name }) => name === 'workflow_runs') as Queue;
    await releaseClaims(world.app.database.db, queue);
    expect(await scene.getRun(id)).toMatchObject({ status: 'cancelled', failure: null, steps_count: 1 });
    expect(await scene.listSteps(id)).toMatchObject([{ number: 1, status: 'cancelled' }]);
  });

  it('is forgotten after a step', async () => {
    const workflow = await scene.insertWorkflow(app, [{ pause: { wait: { days: 1 } } }, { b: { wait: { days: 1 } } }]);
    const id = await scene.start(workflow);
    await expect
      .poll(async () => (await scene.getRun(id)).claimed_slot === null && (await scene.getRun(id)).steps_count)
      .toBe(1);
    world.clock.aheadMs = 25 * 60 * 60 * 1000;
    await sql`update workflow_runs set failures = 4, crash_count = 3, due_at = clock_timestamp() where id = ${id}`.execute(
      world.db,
    );
    await expect.poll(async () => (await scene.getRun(id)).steps_count).toBe(2);
    world.clock.aheadMs = 0;
    expect(await scene.getRun(id)).toMatchObject({ failures: 0, crash_count: 0 });
  });
});

describe('startRuns', () => {
  it('starts one run for each cause, however often, and any number in one call', async () => {
    const { app: _, ...workflow } = await scene.insertWorkflow(app, succeeding);
    // One statement inserts at most 500 runs.
    const starts = Array.from({ length: 600 }, (_, index) => ({
      workspace_id: workspace,
      app_id: app.id,
      workflow,
      trigger_type: 'event' as const,
      input: { index, text: '\0' },
      depth: 1,
      cause: `event ${index % 550}`,
      is_test_run: false,
    }));
    const start = () => startRuns(world.app.database.db, { wake: world.app.wake }, starts, world.clock.now());
    expect(await start()).toHaveLength(550);
    expect(await start()).toHaveLength(0);
    expect(await getWorkflow(workflow.id)).toMatchObject({ total_runs: 550 });
    const own = sql`workflow_id = ${workflow.id} and completed_at is null`;
    // These runs don't need to execute.
    await sql`delete from workflow_runs where ${own} and claimed_slot is null`.execute(world.db);
    const running = sql`select from workflow_runs where ${own}`;
    await expect.poll(async () => (await running.execute(world.db)).rows.length).toBe(0);
  });
});

describe('a run that is deleted before it expires', () => {
  it('leaves no step, whatever else is deleted with it', async () => {
    const workflow = await scene.insertWorkflow(app, succeeding);
    const other = await scene.run(app, succeeding);
    const ids = await Promise.all([1, 2, 3].map(() => scene.start(workflow)));
    for (const id of ids) await scene.waitForEnd(id);
    await expect.poll(async () => (await Promise.all(ids.map(scene.listSteps))).flat()).toHaveLength(3);
    await world.db.deleteFrom('workflows').where('id', '=', workflow.id).execute();
    expect((await Promise.all(ids.map(scene.listSteps))).flat()).toEqual([]);
    expect(await scene.listSteps(other.id)).toHaveLength(1);
  });
});

describe('runs that are 90 days old', () => {
  const listPartitions = async () =>
    (
      await sql<{ name: string }>`select partition::text as name from list_partitions('workflow_steps')`.execute(
        world.db,
      )
    ).rows;
  const setKeptDays = (days: number) =>
    sql`update partitioned_tables set kept_days = ${days} where name = 'workflow_steps'`.execute(world.db);
  const expire = (id: string) =>
    sql`update workflow_runs set completed_at = completed_at - interval '91 days' where id = ${id}`.execute(world.db);

  it('are removed, and the steps of their week once no run of it is left', async () => {
    const [old, young] = [await scene.run(app, succeeding), await scene.run(app, succeeding)];
    await expire(old.id);
    await expect.poll(async () => (await scene.getRun(old.id)).claimed_slot).toBeNull();
    expect(await removeOldRuns(world.app.database.db, world.clock.now())).toBe(1);
    await setKeptDays(-30); // this week has expired
    await removeOldPartitions(world.app.database.db);
    expect(await scene.listSteps(young.id)).toHaveLength(1);
    expect(await scene.listSteps(old.id)).toHaveLength(1); // of the same week

    await sql`update workflow_runs set completed_at = now() - interval '91 days', due_at = null, status = 'completed'
      where claimed_slot is null`.execute(world.db);
    const remaining = async () => {
      await removeOldRuns(world.app.database.db, world.clock.now());
      return (await sql`select from workflow_runs`.execute(world.db)).rows.length;
    };
    await expect.poll(remaining).toBe(0);
    const before = await listPartitions();
    await removeOldPartitions(world.app.database.db);
    expect(await listPartitions()).toEqual(before.slice(1));
    expect(await scene.listSteps(young.id)).toEqual([]);
    await setKeptDays(90);
  });
});
