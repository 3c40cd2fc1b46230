// Tests runs through the API, without a worker: starting, listing and cancelling them (docs/api/browser-tests.md#runs).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFlowWorld } from '../../../test/support/flows.ts';
import { publishFiles } from '../../../test/support/published.ts';
import { startSecondApp } from '../../../test/support/world.ts';
import { newId } from '../../kit/ids.ts';

const scene = await startFlowWorld({ testTimes: { cancelWaitMs: 200 } });
const { world, call, createFlow, newApp, publishedApp, start, startElsewhere, listAudits, listCharges } = scene;
const { workspace, token } = scene;

const published = async () => {
  const app = await publishedApp();
  return { app, flow: await createFlow(app) };
};
const setLimit = (monthly_limit: number | null) =>
  world.db.updateTable('workspaces').set({ monthly_limit }).where('id', '=', workspace).execute();

describe('startExecution', () => {
  it('answers a pending run of the published address, and reserves three credits', async () => {
    const { app, flow } = await published();
    const got = await start(app, flow);
    expect(got.body).toEqual({
      id: expect.any(String),
      flow_id: flow.id,
      flow_name: 'Order',
      flow_revision: 1,
      status: 'pending',
      analysis_status: 'none',
      url: `${world.config.BASE_URL}/p/${app.slug}/`,
      started_at: null,
      completed_at: null,
      duration_ms: null,
      credits_charged: 0,
      error_message: null,
      browser_session_id: null,
    });
    expect(got.headers['x-warning']).toBe('no_worker_seen');
    expect(await listCharges(app)).toEqual(['open']);
    expect(await listAudits(app)).toEqual(['test_flow.created by user', 'test_run.started by user']);
  });

  it('begins where the caller says, on the published app', async () => {
    const { app, flow } = await published();
    const url = `${world.config.BASE_URL}/p/${app.slug}/cart?x=1`;
    expect((await start(app, flow, { url })).body.url).toBe(url);
  });

  it('refuses in this order: flow, not published, address, a run, credits, browser, model', async () => {
    const model = 'http://127.0.0.1:9/v1'; // nothing listens there
    const withNothing = await startSecondApp(world, { environment: { BROWSER_EXECUTABLE: '', MODEL_URL: model } });
    const withBrowser = await startSecondApp(world, { environment: { MODEL_URL: model } });
    const app = await newApp();
    const flow = await createFlow(app);
    let [beside, body]: [typeof world, object] = [withNothing, { flow_id: newId(), url: 7 }];
    const send = () => beside.call('POST', `/api/apps/${app.id}/testing-agent/executions`, { as: token, body });
    await setLimit(0);

    expect(await send()).toMatchObject({ status: 404, body: { code: 'flow_not_found' } });
    body = { flow_id: flow.id, url: 7 };
    expect(await send()).toMatchObject({ status: 409, body: { code: 'nothing_to_publish' } });
    await publishFiles(world, app, { 'dist/index.html': '<h1>Shop</h1>' }, token);
    expect(await send()).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'url'], type: 'value_error' }] },
    });
    body = { flow_id: flow.id };
    const [{ id: other }] = (
      await sql<{ id: string }>`insert into test_executions (id, workspace_id, app_id, flow_id, flow_name,
        flow_revision, goal, role, url, credential_id, request_id, ip, reservation_id, created_date)
      values (gen_random_uuid(), ${workspace}, ${app.id}, ${flow.id}, '', 1, '', 'user', '', gen_random_uuid(), '', '',
        gen_random_uuid(), now()) returning id`.execute(world.db)
    ).rows as [{ id: string }];
    expect(await send()).toMatchObject({ status: 409, body: { code: 'run_in_progress' } });
    await sql`delete from test_executions where id = ${other}`.execute(world.db);
    expect(await send()).toMatchObject({ status: 402, body: { code: 'credits_exhausted' } });
    await setLimit(null);
    const setMemberLimit = (credit_limit: number | null) =>
      world.db.updateTable('memberships').set({ credit_limit }).where('workspace_id', '=', workspace).execute();
    await setMemberLimit(1);
    expect(await send()).toMatchObject({ status: 402, body: { code: 'credit_limit_reached' } });
    await setMemberLimit(null);
    const noBrowser = await send();
    expect(noBrowser).toMatchObject({ status: 503, body: { code: 'browser_unavailable', retry_safe: true } });
    expect(noBrowser.headers['retry-after']).toBe('60');
    beside = withBrowser;
    const noModel = await send();
    expect(noModel).toMatchObject({ status: 503, body: { code: 'model_unavailable', retry_safe: true } });
    expect(noModel.headers['retry-after']).toBe('5');
    beside = world;
    expect((await send()).status).toBe(200);
  });

  it('needs no model if the flow has a recording of its revision', async () => {
    const withoutModel = await startSecondApp(world, { environment: { MODEL_URL: '' } });
    const { app, flow } = await published();
    const send = () =>
      withoutModel.call('POST', `/api/apps/${app.id}/testing-agent/executions`, {
        as: token,
        body: { flow_id: flow.id },
      });
    const refused = await send();
    expect(refused).toMatchObject({ status: 503, body: { code: 'model_unavailable' } });
    expect(refused.headers['retry-after']).toBe('60');
    const record = (revision: number) =>
      sql`update test_flows set recording = '{}', recording_revision = ${revision} where id = ${flow.id}`.execute(
        world.db,
      );
    await record(2);
    expect((await send()).status).toBe(503);
    await record(1);
    expect((await send()).status).toBe(200);
  });

  it.each([
    'https://elsewhere.example/',
    'javascript:alert(1)',
    'file:///etc/passwd',
    '/cart',
    '',
    7,
    ['x'],
    `http://user@127.0.0.1/`,
  ])('refuses the address %j', async (url) => {
    const { app, flow } = await published();
    expect(await start(app, flow, { url })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'url'], msg: 'must be a URL on the published app', type: 'value_error' }] },
    });
  });

  it('refuses addresses of other apps on the same host, also by dots', async () => {
    const [{ app, flow }, other] = [await published(), await publishedApp()];
    for (const url of [`/p/${other.slug}/`, `/p/${app.slug}/../${other.slug}/`, '/api/apps', `/p/${app.slug}`])
      expect((await start(app, flow, { url: `${world.config.BASE_URL}${url}` })).status).toBe(422);
  });

  it('refuses a second run, and starts one for one Idempotency-Key', async () => {
    const { app, flow } = await published();
    const send = () =>
      call('POST', app, '/executions', { body: { flow_id: flow.id }, headers: { 'idempotency-key': 'run' } });
    expect((await send()).body.id).toBe((await send()).body.id);
    expect(await start(app, flow)).toMatchObject({ status: 409, body: { code: 'run_in_progress' } });
    expect(await listCharges(app)).toEqual(['open']);
  });

  it('starts one of two that are sent at once', async () => {
    const { app, flow } = await published();
    const got = await Promise.all([start(app, flow), start(app, flow)]);
    expect(got.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it('does not know a flow that is being deleted', async () => {
    const { app, flow } = await published();
    await world.db.updateTable('test_flows').set({ deleting_since: new Date() }).where('id', '=', flow.id).execute();
    expect((await start(app, flow)).status).toBe(404);
  });
});

describe('the lists of runs', () => {
  it('have the newest first, page by page, of all flows or of one', async () => {
    const app = await publishedApp();
    const flows = [await createFlow(app), await createFlow(app), await createFlow(app)];
    const runs: string[] = [];
    for (const flow of flows) runs.unshift((await start(app, flow)).body.id);
    const idsOf = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => id);
    const first = (await call('GET', app, '/executions?limit=2')).body;
    expect(idsOf(first)).toEqual(runs.slice(0, 2));
    const second = (await call('GET', app, `/executions?limit=2&cursor=${first.next_cursor}`)).body;
    expect([idsOf(second), second.has_more]).toEqual([runs.slice(2), false]);
    expect(idsOf((await call('GET', app, `/executions?flow_id=${flows[0].id}`)).body)).toEqual([runs[2]]);
    for (const unknown of [newId(), 'x'])
      expect(idsOf((await call('GET', app, `/executions?flow_id=${unknown}`)).body)).toEqual([]);
    const elsewhere = await call('GET', app, `/executions?flow_id=${flows[0].id}&cursor=${first.next_cursor}`);
    expect(elsewhere).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
    expect((await call('GET', app, '/executions?limit=0')).status).toBe(422);
  });

  it('name the newest run of each flow that exists', async () => {
    const app = await publishedApp();
    const [first, second] = [await createFlow(app), await createFlow(app)];
    const old = (await start(app, first)).body;
    await call('POST', app, `/executions/${old.id}/cancel`);
    const newest = (await start(app, first)).body;
    await start(app, second);
    await call('DELETE', app, `/flows/${second.id}`);
    expect((await call('GET', app, '/executions/latest-by-flow')).body).toEqual({ [first.id]: newest });
  });

  it('know only runs of the app', async () => {
    const [{ app, flow }, other] = [await published(), await newApp()];
    const { body } = await start(app, flow);
    expect((await call('GET', app, `/executions/${body.id}`)).body).toEqual(body);
    for (const [where, id] of [
      [other, body.id],
      [app, newId()],
      [app, 'x'],
    ] as const) {
      expect(await call('GET', where, `/executions/${id}`)).toMatchObject({
        status: 404,
        body: { code: 'execution_not_found' },
      });
      expect(await call('GET', where, `/analysis/${id}`)).toMatchObject({
        status: 404,
        body: { code: 'report_not_found' },
      });
    }
  });
});

describe('cancelExecution', () => {
  const cancel = (app: { id: string }, id: string) => call('POST', app, `/executions/${id}/cancel`);

  it('ends a run that waits at once, for nothing', async () => {
    const { app, flow } = await published();
    const { id } = (await start(app, flow)).body;
    expect((await cancel(app, id)).body).toEqual({ status: 'cancelled', already_terminal: false });
    expect(await scene.getExecution(app, id)).toMatchObject({
      status: 'cancelled',
      credits_charged: 0,
      completed_at: expect.any(String),
      duration_ms: null,
    });
    expect(await listCharges(app)).toEqual(['released']);
    const again = await cancel(app, id);
    expect(again.body).toEqual({ status: 'cancelled', already_terminal: true });
    expect(again.headers['x-changed']).toBe('false');
    expect(await listAudits(app)).toEqual([
      'test_flow.created by user',
      'test_run.started by user',
      'test_run.cancelled by user',
    ]);
  });

  it('asks the worker of a run to close its browser, and says that the run continues if it does not in time', async () => {
    const { app, flow } = await published();
    const run = await startElsewhere(app, flow);
    expect((await cancel(app, run.id)).body).toEqual({ status: 'running', already_terminal: false });
    expect((await scene.findSession(run.session)).close_requested_at).not.toBeNull();
    const again = await cancel(app, run.id);
    expect([again.body.status, again.headers['x-changed']]).toEqual(['running', 'false']);
    expect((await listAudits(app)).filter((entry) => entry.startsWith('test_run.cancelled'))).toHaveLength(1);
  });

  it('asks the worker even if the run has no browser yet', async () => {
    const { app, flow } = await published();
    const { id } = (await start(app, flow)).body;
    await sql`update test_executions set claimed_slot = 99, claimed_epoch = 1, claims = 1 where id = ${id}`.execute(
      world.db,
    );
    expect((await cancel(app, id)).body).toEqual({ status: 'pending', already_terminal: false });
    const row = await world.db.selectFrom('test_executions').where('id', '=', id).selectAll().executeTakeFirstOrThrow();
    expect(row.cancel_requested_at).not.toBeNull();
  });

  it('answers 404 for a run that does not exist', async () => {
    expect(await cancel(await newApp(), newId())).toMatchObject({ status: 404, body: { code: 'execution_not_found' } });
  });
});

describe('a run that the queue gives up', () => {
  it.each([
    ['the browser crashed', 'crashed twice'],
    ['the worker crashed while running it, 20 times', 'crashed twice'],
    ['took longer than 1080000 ms', '15 minutes'],
    ['connection terminated', 'an internal error'],
  ])('after "%s" says: %s', async (error, message) => {
    const { app, flow } = await published();
    const run = await startElsewhere(app, flow);
    const row = await world.db
      .selectFrom('test_executions')
      .where('id', '=', run.id)
      .selectAll()
      .executeTakeFirstOrThrow();
    const queue = world.app.background.queues.find(({ name }) => name === 'test_executions');
    await queue?.onDeadLetter?.(world.app.database.db, row, error);
    const error_message = expect.stringContaining(message);
    expect(await scene.getExecution(app, run.id)).toMatchObject({ status: 'error', error_message, credits_charged: 0 });
  });
});

describe('a run that no worker has time for', () => {
  it('is an error after an hour, and costs nothing', async () => {
    const { app, flow } = await published();
    const { id } = (await start(app, flow)).body;
    const endOverdue = scene.job('end overdue test runs');
    await endOverdue();
    expect((await scene.getExecution(app, id)).status).toBe('pending');
    world.clock.aheadMs = 61 * 60_000;
    await endOverdue();
    expect(await scene.getExecution(app, id)).toMatchObject({
      status: 'error',
      error_message: expect.stringContaining('within an hour'),
      credits_charged: 0,
      analysis_status: 'none',
    });
    expect(await listCharges(app)).toEqual(['released']);
  });
});
