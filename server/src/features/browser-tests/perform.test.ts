// Tests how a worker runs flows in a real browser, on a published app (docs/internals/browser-tests.md).
import { sql } from 'kysely';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { listSessionsOnHost, startFlowWorld } from '../../../test/support/flows.ts';
import { publishFiles } from '../../../test/support/published.ts';
import type { AppRow } from '../../core/auth/proofs.ts';

// Browsers start and stop slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });
const scene = await startFlowWorld({
  testTimes: { checkMs: 2_000, cancelWaitMs: 60_000, killAfterMs: 60_000, deleteWaitMs: 90_000 },
});
const { world, model, call, createFlow, publishedApp, start, getExecution, listCharges, scriptCalls, findSession } =
  scene;

const end = /passed|failed|inconclusive|error|cancelled/;
const waitForEnd = async (app: Pick<AppRow, 'id'>, id: string) => {
  await expect.poll(async () => (await getExecution(app, id)).status, { interval: 100 }).toMatch(end);
  return getExecution(app, id);
};
const readReport = (app: Pick<AppRow, 'id'>, id: string) => call('GET', app, `/analysis/${id}`);
const published = async () => {
  const app = await publishedApp();
  return { app, flow: await createFlow(app) };
};
const hasText = (text: string) => ['assert', { kind: 'text', text }] as const;
const finish = ['finish', { summary: 'Done.' }] as const;
const listVisitors = (app: AppRow) =>
  world.db.selectFrom('app_users').where('app_id', '=', app.id).select(['email', 'role']).execute();
const expectNoVisitors = (app: AppRow) => expect.poll(() => listVisitors(app)).toEqual([]);
const listProcesses = async (session: string) =>
  (await listSessionsOnHost()).find(({ id }) => id === session)?.processIds ?? [];
/** Starts a run in which the model does not reply until `release` is called. */
async function startWaiting(app: AppRow, flow: { id: string }) {
  const released = Promise.withResolvers<void>();
  model.script(async () => {
    await released.promise;
    return { tool_calls: [{ name: 'finish', arguments: { summary: 'Done.' } }] };
  });
  const before = model.requests.length;
  const { id } = (await start(app, flow)).body;
  await expect.poll(() => model.requests.length, { interval: 50 }).toBeGreaterThan(before);
  const { browser_session_id: session } = await getExecution(app, id);
  return { id: id as string, session: session as string, release: released.resolve };
}

describe('before a worker runs', () => {
  it('runs are started that will not go far', async () => {
    for (const name of [
      'revoked',
      'unpublished',
      'crashed',
      'cancelled',
      'cancelled late',
      'broken',
      'without model',
      'limited',
    ] as const) {
      const { app, flow } = await published();
      waiting[name] = { app, id: (await start(app, flow)).body.id };
    }
    const of = (name: string) => waiting[name] as { app: AppRow; id: string };
    await sql`update test_executions set credential_id = gen_random_uuid() where id = ${of('revoked').id}`.execute(
      world.db,
    );
    await sql`update apps set live_deployment_id = null, published_revision = null, published_at = null, published_by = null
      where id = ${of('unpublished').app.id}`.execute(world.db);
    await sql`update test_executions set crash_count = 2 where id = ${of('crashed').id}`.execute(world.db);
    for (const name of ['cancelled', 'cancelled late'])
      await sql`update test_executions set cancel_requested_at = now() where id = ${of(name).id}`.execute(world.db);
    await beginAnalysis(of('broken'), { claims: 1 });
    const steps = [{ number: 1, action: '', result: '', source: 'agent', at: new Date(), check, healed: null }];
    const result = { ended: 'finished', steps, modelCalls: 1, recording: null, uncheckedExpectations: [] };
    await beginAnalysis(of('cancelled late'), { claims: 1, result, evidence });
    await beginAnalysis(of('without model'), {
      claims: 1,
      result: { ...result, ended: 'model_unavailable' },
      evidence,
    });
    const refused = { url: '/api/apps/x/auth/sign-in', method: 'POST', status: 429, reason: '429', step: 1 };
    const failed = { ...result, steps: [{ ...steps[0], check: { ...check, holds: false } }] };
    await beginAnalysis(of('limited'), {
      claims: 1,
      result: failed,
      evidence: { ...evidence, network_failures: [refused] },
    });
  });
});
const waiting: Record<string, { app: AppRow; id: string }> = {};
const check = { holds: true, expectation: 'The page has the text "Shop"', seen: '' };
const evidence = {
  console_errors: [],
  page_errors: [],
  network_failures: [],
  repeated_requests: [],
  blocked: [],
  cut: false,
};
/** Simulates a worker that crashed after the last step. */
async function beginAnalysis({ app, id }: { app: AppRow; id: string }, result: object): Promise<void> {
  const move = (change: object) => world.db.updateTable('test_executions').set(change).where('id', '=', id).execute();
  await move({ status: 'running', started_at: new Date() });
  await move({ status: 'analyzing', analysis_status: 'pending' });
  await sql`insert into test_reports (execution_id, workspace_id, app_id, result, created_date)
    values (${id}, ${scene.workspace}, ${app.id}, ${JSON.stringify(result)}, now())`.execute(world.db);
}

describe('with a worker', () => {
  beforeAll(() => world.startWorker());

  it.each([
    ['revoked', 'error', 'can no longer test the app', 'none'],
    ['unpublished', 'error', 'is no longer published', 'none'],
    ['crashed', 'error', 'crashed twice', 'none'],
    ['cancelled', 'cancelled', null, 'none'],
    ['broken', 'error', 'could not be analysed', 'failed'],
    ['without model', 'error', 'language model', 'failed'],
    ['limited', 'error', 'rate limit', 'failed'],
  ])('the run that is %s ends as %s, for nothing', async (name, status, message, analysis_status) => {
    const { app, id } = waiting[name] as { app: AppRow; id: string };
    const error_message = message === null ? null : expect.stringContaining(message);
    expect(await waitForEnd(app, id)).toMatchObject({ status, error_message, analysis_status, credits_charged: 0 });
    expect(await listCharges(app)).toEqual(['released']);
    expect((await readReport(app, id)).status).toBe(404);
  });

  it('a run that was cancelled after its last step is cancelled, whatever it found', async () => {
    const { app, id } = waiting['cancelled late'] as { app: AppRow; id: string };
    expect(await waitForEnd(app, id)).toMatchObject({
      status: 'cancelled',
      analysis_status: 'none',
      credits_charged: 3,
    });
    expect((await readReport(app, id)).status).toBe(404);
  });

  it('a run passes with a report and evidence, leaves nothing behind, and the next one replays it without the model', async () => {
    const { app, flow } = await published();
    scriptCalls(hasText('Shop'), finish);
    const { id } = (await start(app, flow)).body;
    const run = await waitForEnd(app, id);
    expect(run).toMatchObject({
      status: 'passed',
      analysis_status: 'completed',
      credits_charged: 3,
      error_message: null,
    });
    expect(run.duration_ms).toBe(Date.parse(run.completed_at) - Date.parse(run.started_at));
    expect(await listCharges(app)).toEqual(['settled 3']);
    expect(await findSession(run.browser_session_id)).toMatchObject({
      close_reason: 'ended',
      process_id: expect.any(Number),
    });
    expect(await listProcesses(run.browser_session_id)).toEqual([]);

    const { body: report } = await readReport(app, id);
    expect(report).toMatchObject({ execution_id: id, verdict: 'passed', issues: [], healed: [], console_errors: [] });
    for (const { screenshot_url, source } of report.steps) {
      expect(source).toBe('agent');
      const image = await fetch(screenshot_url);
      expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
      expect(
        Buffer.from(await image.arrayBuffer())
          .subarray(0, 2)
          .toString('hex'),
      ).toBe('ffd8');
    }
    const trace = await fetch(report.trace_url);
    expect(trace.headers.get('content-type')).toBe('application/zip');
    expect(trace.headers.get('content-disposition')).toBe('attachment; filename="1-trace.zip"');
    expect(
      Buffer.from(await trace.arrayBuffer())
        .subarray(0, 2)
        .toString(),
    ).toBe('PK');
    await expectNoVisitors(app);

    const asked = model.requests.length;
    const again = (await start(app, flow)).body;
    expect((await waitForEnd(app, again.id)).status).toBe('passed');
    expect(model.requests.length).toBe(asked);
    const { body: replayed } = await readReport(app, again.id);
    expect(new Set(replayed.steps.map(({ source }: { source: string }) => source))).toEqual(new Set(['replayed']));
  });

  it('a run whose check does not hold fails, is charged and is not recorded', async () => {
    const { app, flow } = await published();
    scriptCalls(hasText('Sold out'), finish);
    const { id } = (await start(app, flow)).body;
    expect(await waitForEnd(app, id)).toMatchObject({
      status: 'failed',
      analysis_status: 'completed',
      credits_charged: 3,
    });
    const { body } = await readReport(app, id);
    expect(body).toMatchObject({
      verdict: 'failed',
      issues: [{ severity: 'high', screenshot_url: expect.any(String) }],
    });
    const { rows } = await sql`select recording_revision from test_flows where id = ${flow.id}`.execute(world.db);
    expect(rows).toEqual([{ recording_revision: null }]);
  });

  it('a run that is cancelled closes its browser before it ends, and is charged', async () => {
    const { app, flow } = await published();
    const run = await startWaiting(app, flow);
    expect(await getExecution(app, run.id)).toMatchObject({ status: 'running', started_at: expect.any(String) });
    expect(await listProcesses(run.session)).not.toEqual([]);
    expect(await listVisitors(app)).toMatchObject([{ role: 'user' }]);
    const got = await call('POST', app, `/executions/${run.id}/cancel`);
    expect(got.body).toEqual({ status: 'cancelled', already_terminal: false });
    expect(await listProcesses(run.session)).toEqual([]);
    expect(await findSession(run.session)).toMatchObject({
      close_reason: 'ended',
      close_requested_at: expect.any(Date),
    });
    expect(await getExecution(app, run.id)).toMatchObject({ status: 'cancelled', credits_charged: 3 });
    await expectNoVisitors(app);
    run.release();
  });

  it('a flow that is deleted during its run is gone when its browser is, and the run stays in the list', async () => {
    const { app, flow } = await published();
    const run = await startWaiting(app, flow);
    expect((await call('DELETE', app, `/flows/${flow.id}`)).body).toEqual({ success: true });
    expect(await listProcesses(run.session)).toEqual([]);
    expect((await call('GET', app, '/flows')).body).toEqual([]);
    expect((await call('GET', app, '/executions')).body.items).toMatchObject([{ id: run.id, status: 'cancelled' }]);
    run.release();
  });

  it('a run whose browser crashes is run again, with another browser and user; after the second crash it is an error', async () => {
    const { app, flow } = await published();
    const run = await startWaiting(app, flow);
    const crash = async (session: string) => {
      for (const pid of await listProcesses(session)) process.kill(pid, 'SIGKILL');
    };
    const [first] = await listVisitors(app);
    const asked = model.requests.length;
    await crash(run.session);
    await expect.poll(() => model.requests.length, { interval: 50 }).toBeGreaterThan(asked);
    const second = await getExecution(app, run.id);
    expect(second.status).toBe('running');
    expect(second.browser_session_id).not.toBe(run.session);
    expect(await findSession(run.session)).toMatchObject({ close_reason: 'crashed' });
    const visitors = await listVisitors(app);
    expect(visitors).toHaveLength(1);
    expect(visitors).not.toEqual([first]);
    await crash(second.browser_session_id);
    expect(await waitForEnd(app, run.id)).toMatchObject({
      status: 'error',
      error_message: expect.stringContaining('crashed twice'),
      credits_charged: 0,
    });
    expect(await listCharges(app)).toEqual(['released']);
    run.release();
  });

  it('a page that has the API refuse its requests ends three runs a day for nothing; further ones are charged', async () => {
    const { app, flow } = await published();
    const page = `<!doctype html><html lang="en"><head><title>Shop</title></head><body><h1>Shop</h1><script type="module">
      for (let sent = 0; sent < 15; sent += 1)
        await fetch('/api/apps/${app.id}/auth/link', { method: 'POST', headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ email: 'a@example.com' }) });
      document.querySelector('h1').textContent = 'Limited';
    </script></body></html>`;
    await publishFiles(world, app, { 'dist/index.html': page }, scene.token);
    // The origin of a page below `/p/`.
    await world.db
      .updateTable('apps')
      .set({ public_origins: ['null'] })
      .where('id', '=', app.id)
      .execute();
    const runOnce = async () => {
      scriptCalls(hasText('Limited'), hasText('Sold out'), finish);
      return waitForEnd(app, (await start(app, flow)).body.id);
    };
    const refused = { status: 'error', error_message: expect.stringContaining('rate limit') };
    expect(await runOnce()).toMatchObject({ ...refused, credits_charged: 0 });
    await sql`update unpaid_model_work set times = 3 where kind = 'test_run' and times = 1 and subject_id = ${app.id}`.execute(
      world.db,
    );
    const charged = await runOnce();
    expect(charged).toMatchObject({ ...refused, credits_charged: 3 });
    expect(charged.error_message).toContain(
      'The run was charged, because 3 runs of this app, or 15 of the workspace, have failed',
    );
    expect(charged.error_message).not.toContain('Nothing was charged');
    expect(await listCharges(app)).toEqual(['released', 'settled 3']);
  });

  it('a run that takes longer than 15 minutes is an error', async () => {
    const { app, flow } = await published();
    const run = await startWaiting(app, flow);
    world.clock.aheadMs = 16 * 60_000;
    expect(await waitForEnd(app, run.id)).toMatchObject({
      status: 'error',
      error_message: expect.stringContaining('15 minutes'),
      credits_charged: 0,
    });
    expect(await listProcesses(run.session)).toEqual([]);
    run.release();
  });
});
