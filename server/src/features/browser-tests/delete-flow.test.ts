// Tests deleting flows: the steps, recovery from a crash at each step, and completion by a request or a job
// (docs/internals/browser-tests.md).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFlowWorld } from '../../../test/support/flows.ts';
import type { AppRow } from '../../core/auth/proofs.ts';
import { newId } from '../../kit/ids.ts';

const scene = await startFlowWorld({
  testTimes: { deleteWaitMs: 1_500, killAfterMs: 700, cancelWaitMs: 100 },
});
const { world, call, createFlow, newApp, publishedApp, start, startElsewhere, findSession, closeSession } = scene;

const remove = (app: Pick<AppRow, 'id'>, flow: { id: string }) => call('DELETE', app, `/flows/${flow.id}`);
const findRow = (flow: { id: string }) =>
  world.db.selectFrom('test_flows').where('id', '=', flow.id).selectAll().executeTakeFirst();
const published = async () => {
  const app = await publishedApp();
  return { app, flow: await createFlow(app) };
};
/** Simulates a process that crashed after marking the flow. */
const mark = (flow: { id: string }, secondsAgo: number) =>
  sql`update test_flows set deleting_since = ${world.clock.now()}::timestamptz - make_interval(secs => ${secondsAgo})
    where id = ${flow.id}`.execute(world.db);
const finish = scene.job('finish deleting test flows');

describe('deleteFlow', () => {
  it('deletes a flow without a run, once', async () => {
    const app = await newApp();
    const flow = await createFlow(app);
    expect(await remove(app, flow)).toMatchObject({ status: 200, body: { success: true } });
    expect(await findRow(flow)).toBeUndefined();
    expect(await remove(app, flow)).toMatchObject({ status: 404, body: { code: 'flow_not_found' } });
    expect(await scene.listAudits(app)).toEqual([
      'test_flow.created by user',
      'test_flow.delete_requested by user',
      'test_flow.deleted by user',
    ]);
  });

  it('cancels a run that waits, and keeps it in the list with the name of the flow', async () => {
    const { app, flow } = await published();
    const { id } = (await start(app, flow)).body;
    expect((await remove(app, flow)).status).toBe(200);
    const [run] = (await call('GET', app, '/executions')).body.items;
    expect(run).toMatchObject({ id, flow_id: flow.id, flow_name: 'Order', status: 'cancelled', credits_charged: 0 });
    expect(await scene.listCharges(app)).toEqual(['released']);
  });

  it('waits until the browser of a run is closed, then ends the run', async () => {
    const { app, flow } = await published();
    const run = await startElsewhere(app, flow);
    const removing = remove(app, flow);
    await expect.poll(async () => (await findSession(run.session)).close_requested_at).not.toBeNull();
    expect(await findRow(flow)).toMatchObject({ deleting_since: expect.any(Date) });
    expect((await call('GET', app, `/flows/${flow.id}`)).status).toBe(404);
    expect((await start(app, flow)).status).toBe(404);
    await closeSession(run.session);
    expect((await removing).body).toEqual({ success: true });
    expect(await scene.getExecution(app, run.id)).toMatchObject({ status: 'cancelled', credits_charged: 3 });
    expect(await findRow(flow)).toBeUndefined();
    expect(await scene.listAudits(app)).toEqual([
      'test_flow.created by user',
      'test_run.started by user',
      'test_flow.delete_requested by user',
      'test_run.cancelled by user',
      'test_flow.deleted by user',
    ]);
  });

  it('counts a browser whose lease has ended as closed', async () => {
    const { app, flow } = await published();
    const run = await startElsewhere(app, flow, { leaseSeconds: -1 });
    expect((await remove(app, flow)).status).toBe(200);
    expect((await scene.getExecution(app, run.id)).status).toBe('cancelled');
  });

  it('has the browser killed if it is not closed in time, and answers 503 if that does not help; a retry continues', async () => {
    const { app, flow } = await published();
    const run = await startElsewhere(app, flow);
    const got = await remove(app, flow);
    expect(got).toMatchObject({ status: 503, body: { code: 'browser_unavailable', retry_safe: true } });
    expect(got.headers['retry-after']).toBe('5');
    expect((await findSession(run.session)).kill_requested_at).not.toBeNull();
    expect((await scene.getExecution(app, run.id)).status).toBe('running');
    expect((await call('GET', app, `/flows/${flow.id}`)).status).toBe(404);
    await closeSession(run.session);
    expect((await remove(app, flow)).body).toEqual({ success: true });
    expect((await scene.getExecution(app, run.id)).status).toBe('cancelled');
  });

  it('waits also for a browser that its run could not close', async () => {
    const { app, flow } = await published();
    const run = await startElsewhere(app, flow);
    await sql`update test_executions set status = 'error', error_message = 'x', completed_at = now(), claimed_slot = null,
      due_at = null where id = ${run.id}`.execute(world.db);
    expect((await remove(app, flow)).status).toBe(503);
    expect((await findSession(run.session)).kill_requested_at).not.toBeNull();
    await closeSession(run.session);
    expect((await remove(app, flow)).status).toBe(200);
    expect((await scene.getExecution(app, run.id)).status).toBe('error');
  });

  it('does not know flows of other apps', async () => {
    const [app, other] = [await newApp(), await newApp()];
    const flow = await createFlow(app);
    for (const [where, id] of [
      [other, flow.id],
      [app, newId()],
      [app, 'x'],
    ] as const)
      expect((await remove(where, { id })).status).toBe(404);
    expect(await findRow(flow)).toBeDefined();
  });
});

describe('what a crash leaves', () => {
  const expectGone = async (app: AppRow, flow: { id: string }, run: { id: string }) => {
    expect(await findRow(flow)).toBeUndefined();
    expect(await scene.getExecution(app, run.id)).toMatchObject({ status: 'cancelled', flow_name: 'Order' });
    expect((await scene.listAudits(app)).at(-1)).toBe('test_flow.deleted by service');
  };

  it('after the mark is finished by the job, once the request would have ended', async () => {
    const { app, flow } = await published();
    const run = (await start(app, flow)).body;
    await mark(flow, 0);
    await finish();
    expect(await findRow(flow)).toBeDefined();
    world.clock.aheadMs = 5_000;
    await finish();
    await expectGone(app, flow, run);
  });

  it('before the browser was closed waits for it, and has it killed', async () => {
    const { app, flow } = await published();
    const run = await startElsewhere(app, flow);
    await mark(flow, 60);
    await finish();
    expect(await findSession(run.session)).toMatchObject({
      close_requested_at: expect.any(Date),
      kill_requested_at: expect.any(Date),
      closed_at: null,
    });
    expect(await findRow(flow)).toBeDefined();
    await closeSession(run.session);
    await finish();
    await expectGone(app, flow, run);
  });

  it('after the browser was closed is finished at once', async () => {
    const { app, flow } = await published();
    const run = await startElsewhere(app, flow);
    await mark(flow, 60);
    await sql`update test_executions set cancel_requested_at = now() where id = ${run.id}`.execute(world.db);
    await closeSession(run.session);
    await finish();
    await expectGone(app, flow, run);
  });

  it('after the run was cancelled is finished at once', async () => {
    const { app, flow } = await published();
    const run = (await start(app, flow)).body;
    await call('POST', app, `/executions/${run.id}/cancel`);
    await mark(flow, 60);
    await finish();
    await expectGone(app, flow, run);
  });

  it('is finished by a repeated request too', async () => {
    const { app, flow } = await published();
    const run = await startElsewhere(app, flow, { leaseSeconds: -1 });
    await mark(flow, 60);
    expect((await remove(app, flow)).body).toEqual({ success: true });
    expect(await findRow(flow)).toBeUndefined();
    expect((await scene.getExecution(app, run.id)).status).toBe('cancelled');
  });

  it('of one flow does not keep others from being deleted', async () => {
    const app = await publishedApp();
    const [stuck, other] = [await createFlow(app), await createFlow(app)];
    await startElsewhere(app, stuck);
    await mark(stuck, 120);
    await mark(other, 60);
    await finish();
    expect(await findRow(stuck)).toBeDefined();
    expect(await findRow(other)).toBeUndefined();
  });

  it('is finished once, if two processes do it at the same time', async () => {
    const { app, flow } = await published();
    const run = await startElsewhere(app, flow, { leaseSeconds: -1 });
    await mark(flow, 60);
    await Promise.all([finish(), finish(), remove(app, flow)]);
    expect(await findRow(flow)).toBeUndefined();
    const ends = (await scene.listAudits(app)).filter((entry) => entry.startsWith('test_flow.deleted'));
    expect(ends).toHaveLength(1);
    expect(await scene.listCharges(app)).toEqual(['settled 3']);
    expect((await scene.getExecution(app, run.id)).status).toBe('cancelled');
  });
});
