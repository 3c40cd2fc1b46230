// Tests automations that start workflows (docs/api/automations.md#run_workflow).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startAutomationScene } from '../../../test/support/automation-scene.ts';

const { world, call, createApp, createAutomation } = await startAutomationScene();
await world.startWorker();

const document = { dsl: '1.0.0', namespace: 'app', name: 'test', version: '1.0.0' };
const keepInput = { keep: { set: { given: '${ . }' } } };

async function createWorkflow(app: { id: string }, ...tasks: object[]) {
  const trigger = { config: { trigger_type: 'manual' } };
  const body = { name: `W ${tasks.length} ${Math.random()}`, definition: { document, do: tasks }, trigger };
  const created = await call('POST', `/api/apps/${app.id}/workflows`, body);
  expect(created.status, created.text).toBe(200);
  const path = `/api/apps/${app.id}/workflows/${created.body.id}`;
  return { id: created.body.id as string, path, runs: async () => (await call('GET', `${path}/runs`)).body.items };
}
const starting = (workflow_id: string) => ({ action: { type: 'run_workflow', workflow_id } });

describe('run_workflow', () => {
  it('starts one run with the event as its input', async () => {
    const app = await createApp();
    const workflow = await createWorkflow(app, keepInput);
    const automation = await createAutomation(starting(workflow.id), {}, app);
    const order = await automation.order({ total: 3 });
    await automation.waitForEnd();
    await expect
      .poll(workflow.runs)
      .toMatchObject([{ status: 'completed', trigger_type: 'entity', is_test_run: false }]);
    const [run] = await workflow.runs();
    const { steps } = (await call('GET', `${workflow.path}/runs/${run.run_id}`)).body;
    expect(steps[0].output.given).toMatchObject({ type: 'entity.created', entity_id: order.id, data: { total: 3 } });
    expect(await automation.get()).toMatchObject({ action: starting(workflow.id).action, last_error: null });
  });

  it('starts one run even if the automation is run twice, because its worker was killed', async () => {
    const app = await createApp();
    const workflow = await createWorkflow(app, keepInput);
    const automation = await createAutomation(starting(workflow.id), {}, app);
    await automation.order();
    await automation.waitForEnd();
    await sql`update automation_runs set due_at = clock_timestamp(), completed_at = null
      where automation_id = ${automation.id}`.execute(world.db);
    world.app.wake.notify('automation_runs');
    await automation.waitForEnd();
    expect((await automation.listRuns())[0].claims).toBe(2);
    expect(await workflow.runs()).toHaveLength(1);
  });

  it('fails at once if the workflow is inactive or archived, and says so', async () => {
    const app = await createApp();
    const workflow = await createWorkflow(app, keepInput);
    const automation = await createAutomation(starting(workflow.id), {}, app);
    await call('POST', `${workflow.path}/toggle-status`, { status: 'inactive' });
    await automation.order();
    await automation.waitForEnd(1);
    expect((await automation.get()).last_error).toBe('The workflow is inactive. Activate it first.');
    await call('DELETE', workflow.path);
    await automation.order();
    await automation.waitForEnd(2);
    expect(await automation.get()).toMatchObject({
      last_error: 'The workflow does not exist or is archived. Choose a different one.',
      consecutive_failures: 2,
    });
    expect(await automation.patch({ name: 'Still to be changed' })).toMatchObject({ status: 200 });
  });

  it("refuses another app's workflow, and an archived one", async () => {
    const [app, other] = [await createApp(), await createApp()];
    const workflow = await createWorkflow(other, keepInput);
    const body = { name: 'A', type: 'entity', entity_name: 'Order', event_types: ['create'], ...starting(workflow.id) };
    const refused = { status: 404, body: { code: 'workflow_not_found' } };
    expect(await call('POST', `/api/apps/${app.id}/automations`, body)).toMatchObject(refused);
    await call('DELETE', workflow.path);
    expect(await call('POST', `/api/apps/${other.id}/automations`, body)).toMatchObject(refused);
  });
});

describe('an automation whose workflow changes the records that it waits for', () => {
  it('comes to an end, and is audited', async () => {
    const app = await createApp();
    const again = { call: 'entity.create', with: { entity: 'Order', data: { total: '${ .data.total + 1 }' } } };
    const workflow = await createWorkflow(app, { again });
    const automation = await createAutomation(starting(workflow.id), {}, app);
    await automation.order({ total: 0 });
    const listStopped = async () => {
      const { rows } =
        await sql`select 1 from (select entry from audit_pending union all select entry from audit_entries) e
        where entry->'target'->>'id' = ${automation.id} and entry->>'type' = 'automation.loop_stopped'`.execute(
          world.db,
        );
      return rows;
    };
    await expect.poll(listStopped).toHaveLength(1);
    // Each round adds an automation and a workflow, so the changes have depths 0, 2, 4 and 6.
    expect((await automation.listRuns()).map(({ depth }) => depth)).toEqual([0, 2, 4]);
    expect(await workflow.runs()).toHaveLength(3);
  });
});
