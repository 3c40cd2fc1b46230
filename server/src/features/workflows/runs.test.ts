// Tests starting, listing, reading, following and cancelling runs through the API, with a real worker
// (docs/api/workflows.md#runs).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { publish, recordEvent } from '../../../test/support/webhook-receiver.ts';
import { define, manual, onEntity, passOn, startWorkflowWorld } from '../../../test/support/workflows.ts';
import { newId } from '../../kit/ids.ts';

const scene = await startWorkflowWorld();
const { world, workspace, token, send, create, newApp, listRuns, getRun, runToEnd, pathOf } = scene;
await world.startWorker();

const wait = (duration: object) => ({ pause: { wait: duration } });
const failing = define([
  { first: { set: { a: 1 } } },
  { boom: { raise: { error: { type: 'runtime', status: 500, title: 'Boom', detail: 'no luck' } } } },
  { never: { set: {} } },
]);

/** Reads a stream's events until the stream ends or the event `until` arrives. */
async function follow(
  app: { id: string },
  workflow: string,
  run: string,
  lastEventId?: string,
  until?: string,
  as = token,
) {
  const headers: Record<string, string> = { authorization: `Bearer ${as}`, accept: 'text/event-stream' };
  if (lastEventId !== undefined) headers['last-event-id'] = lastEventId;
  const aborted = new AbortController();
  const response = await fetch(`${world.url}${pathOf(app, `/${workflow}/runs/${run}`)}`, {
    headers,
    signal: aborted.signal,
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (until !== undefined && text.includes(until)) break;
  }
  aborted.abort();
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('id:'))
    .map((block) => {
      const [id = '', event = '', data = ''] = block.split('\n').map((line) => line.slice(line.indexOf(': ') + 2));
      return { id, event, data: JSON.parse(data) };
    });
}

describe('runWorkflow', () => {
  it('starts a test run with the input, and charges for it', async () => {
    const app = await newApp();
    const { id } = await create(app);
    const started = await send('POST', app, `/${id}/run-now`, { input: { a: 1 } });
    expect(started).toMatchObject({
      status: 200,
      body: { status: 'started', run_id: expect.any(String), message: expect.any(String) },
    });
    await expect.poll(async () => (await getRun(app, id, started.body.run_id)).status).toBe('completed');
    const run = await getRun(app, id, started.body.run_id);
    expect(run).toMatchObject({
      workflow_id: id,
      trigger_type: 'manual',
      is_test_run: true,
      steps_count: 1,
      error_message: null,
      steps: [{ number: 1, name: 'pass', task_path: '/do/0/pass', status: 'completed', output: { a: 1 }, error: null }],
    });
    const used = await world.db
      .selectFrom('credit_ledger')
      .select(['amount', 'kind'])
      .where('workspace_id', '=', workspace)
      .where('reference_id', '=', run.run_id)
      .where('kind', '=', 'use')
      .execute();
    expect(used).toEqual([{ amount: 0.05, kind: 'use' }]);
  });

  it('starts one run for an Idempotency-Key', async () => {
    const app = await newApp();
    const { id } = await create(app);
    const key = { 'idempotency-key': newId() };
    const [first, second] = [
      await send('POST', app, `/${id}/run-now`, {}, key),
      await send('POST', app, `/${id}/run-now`, {}, key),
    ];
    expect(second.body).toEqual(first.body);
    expect(await listRuns(app)).toHaveLength(1);
  });

  it('runs an inactive workflow, and refuses an archived one', async () => {
    const app = await newApp();
    const { id } = await create(app);
    await send('POST', app, `/${id}/toggle-status`);
    expect((await send('POST', app, `/${id}/run-now`)).status).toBe(200);
    await send('DELETE', app, `/${id}`);
    expect(await send('POST', app, `/${id}/run-now`)).toMatchObject({
      status: 400,
      body: { code: 'workflow_archived' },
    });
  });

  it('replays a run that an automation has started, whatever the trigger is', async () => {
    const app = await newApp();
    const { id } = await create(app);
    const { run_id } = await runToEnd(app, id, { input: { type: 'entity.updated' } });
    const changeRun = (cause: string | null) =>
      world.db.updateTable('workflow_runs').set({ trigger_type: 'entity', cause }).where('id', '=', run_id).execute();
    await changeRun(null);
    const replay = () => send('POST', app, `/${id}/run-now`, { replay_from_run_id: run_id });
    expect(await replay()).toMatchObject({ status: 409, body: { code: 'replay_payload_mismatch' } });
    await changeRun(`automation:${newId()}`);
    expect(await runToEnd(app, id, { replay_from_run_id: run_id })).toMatchObject({
      trigger_type: 'entity',
      steps: [{ output: { type: 'entity.updated' } }],
    });
  });

  it('refuses an input above 256 KiB, and one beside a replay', async () => {
    const app = await newApp();
    const { id } = await create(app);
    const large = await send('POST', app, `/${id}/run-now`, { input: 'x'.repeat(256 * 1024) });
    const both = await send('POST', app, `/${id}/run-now`, { input: 1, replay_from_run_id: newId() });
    for (const got of [large, both])
      expect(got).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'input'], type: 'value_error' }] } });
  });

  it('replays what an earlier run was started with, while the trigger still waits for it', async () => {
    const app = await newApp();
    const { id } = await create(app, { trigger: onEntity('Task', ['update'], '.data.state == "open"') });
    const event = { ...recordEvent(app), entity_name: 'Task', data: { state: 'open' } };
    await publish(world, 'entity.updated', event);
    await expect.poll(async () => (await listRuns(app)).length).toBe(1);
    const [{ run_id }] = await listRuns(app);
    const replay = () => send('POST', app, `/${id}/run-now`, { replay_from_run_id: run_id });
    const again = await runToEnd(app, id, { replay_from_run_id: run_id });
    expect(again).toMatchObject({ trigger_type: 'entity', is_test_run: true });
    expect(again.steps[0].output).toMatchObject({ entity_id: event.entity_id });
    const mismatch = { status: 409, body: { code: 'replay_payload_mismatch' } };
    await scene.defineEntity(app, 'Other');
    for (const trigger of [
      onEntity('Task', ['update'], '.data.state == "closed"'),
      onEntity('Task', ['create']),
      onEntity('Other', ['update']),
      manual,
    ]) {
      expect(await send('PUT', app, `/${id}`, { trigger })).toMatchObject({ status: 200 });
      expect(await replay()).toMatchObject(mismatch);
    }
  });

  it('does not know a run of another workflow', async () => {
    const app = await newApp();
    const [one, other] = [await create(app), await create(app)];
    const { run_id } = await runToEnd(app, one.id);
    const got = await send('POST', app, `/${other.id}/run-now`, { replay_from_run_id: run_id });
    expect(got).toMatchObject({ status: 404, body: { code: 'run_not_found' } });
  });

  it('spends the credits of the person who starts it, within their limit', async () => {
    const app = await newApp();
    const { id } = await create(app);
    const member = await world.member(workspace, 'editor', 'spender@example.com');
    const as = await world.token(member, workspace);
    await sql`update memberships set credit_limit = 0.07 where workspace_id = ${workspace} and user_id = ${member.id}`.execute(
      world.db,
    );
    const start = () => world.call('POST', pathOf(app, `/${id}/run-now`), { as, body: {} });
    const first = await start();
    expect(first).toMatchObject({ status: 200 });
    await expect.poll(async () => (await getRun(app, id, first.body.run_id)).status).toBe('completed');
    const spent = world.db.selectFrom('credit_ledger').where('reference_id', '=', first.body.run_id);
    expect(await spent.select(['user_id', 'amount']).execute()).toEqual([{ user_id: member.id, amount: 0.05 }]);
    expect(await start()).toMatchObject({ status: 402, body: { code: 'credit_limit_reached' } });
  });

  it('refuses if the workspace has no credits left', async () => {
    const person = await world.person(`${newId()}@example.com`);
    const poor = await world.workspace(person, 'builder');
    await world.db.updateTable('workspaces').set({ monthly_limit: 0 }).where('id', '=', poor).execute();
    const app = await world.appOf(person, poor);
    const as = await world.token(person, poor);
    const body = { name: 'A', definition: passOn, trigger: manual };
    const { id } = (await world.call('POST', pathOf(app), { as, body })).body;
    const got = await world.call('POST', pathOf(app, `/${id}/run-now`), { as });
    expect(got).toMatchObject({ status: 402, body: { code: 'credits_exhausted' } });
  });
});

describe('listAppRuns and listWorkflowRuns', () => {
  it('list the newest first, by status and time', async () => {
    const app = await newApp();
    const [one, two] = [await create(app), await create(app, { definition: failing })];
    const first = await runToEnd(app, one.id);
    const failed = await runToEnd(app, two.id);
    const last = await runToEnd(app, one.id);
    const ids = async (rest: string) =>
      (await send('GET', app, rest)).body.items.map(({ run_id }: { run_id: string }) => run_id);
    expect(await ids('/runs')).toEqual([last.run_id, failed.run_id, first.run_id]);
    expect(await ids('/runs?status=failed')).toEqual([failed.run_id]);
    expect(await ids(`/runs?since=${encodeURIComponent(failed.started_at)}`)).toEqual([last.run_id, failed.run_id]);
    expect(await ids(`/${one.id}/runs`)).toEqual([last.run_id, first.run_id]);
    const page = (await send('GET', app, '/runs?limit=2')).body;
    const rest = await ids(`/runs?limit=2&cursor=${encodeURIComponent(page.next_cursor)}`);
    expect(rest).toEqual([first.run_id]);
    for (const list of ['/runs', `/${one.id}/runs`])
      expect(await send('GET', app, `${list}?cursor=x.y`)).toMatchObject({
        status: 400,
        body: { code: 'cursor_invalid' },
      });
  });
});

describe('getRun', () => {
  it('shows which task failed, and why', async () => {
    const app = await newApp();
    const { id } = await create(app, { definition: failing });
    const run = await runToEnd(app, id);
    expect(run).toMatchObject({ status: 'failed', error_message: expect.stringContaining("Task 'boom' failed") });
    expect(run.steps).toMatchObject([
      { number: 1, name: 'first', status: 'completed' },
      {
        number: 2,
        name: 'boom',
        status: 'failed',
        error: { type: 'runtime', status: 500, title: 'Boom', detail: 'no luck' },
      },
    ]);
  });

  it('includes the values of a hundred steps, and says if others are left out', async () => {
    const app = await newApp();
    const { id } = await create(app);
    const { run_id } = await runToEnd(app, id);
    await sql`insert into workflow_steps (workspace_id, run_id, number, task_path, name, task_type, status, started_at, completed_at, input, output)
      select ${workspace}, ${run_id}, n, '/do/0/pass', 'pass', 'set', 'completed', now(), now(), to_json(n), to_json(n)
      from generate_series(2, 150) n`.execute(world.db);
    await sql`update workflow_runs set steps_count = 150 where workspace_id = ${workspace} and id = ${run_id}`.execute(
      world.db,
    );
    const read = (query = '') => send('GET', app, `/${id}/runs/${run_id}${query}`);
    const withValues = (steps: { number: number; output: unknown }[]) =>
      steps.filter(({ output }) => output !== null).map(({ number }) => number);
    const last = await read();
    expect(last.headers['x-partial-result']).toBe('step_values');
    expect(last.body.steps).toHaveLength(150);
    expect(withValues(last.body.steps)).toEqual(Array.from({ length: 100 }, (_, index) => index + 51));
    expect(withValues((await read('?values_from=2')).body.steps)).toEqual(
      Array.from({ length: 100 }, (_, index) => index + 2),
    );
  });

  it('shows the values of steps to editors only, also in the stream', async () => {
    const app = await newApp();
    const { id } = await create(app);
    const { run_id, steps } = await runToEnd(app, id, { input: { a: 'hidden' } });
    expect(steps).toMatchObject([{ output: { a: 'hidden' } }]);
    const viewer = await world.token(await world.member(workspace, 'viewer', 'reader@example.com'), workspace);
    const path = pathOf(app, `/${id}/runs/${run_id}`);
    for (const query of ['', '?values_from=1']) {
      const got = await world.call('GET', `${path}${query}`, { as: viewer });
      expect(got).toMatchObject({
        status: 200,
        body: { run_id, steps: [{ name: 'pass', input: null, output: null }] },
      });
      expect(got.headers['x-partial-result']).toBe('step_values');
    }
    const stream = await world.call('GET', path, { as: viewer, headers: { accept: 'text/event-stream' } });
    expect(stream.headers['x-partial-result']).toBe('step_values');
    const [step, end] = await follow(app, id, run_id, undefined, undefined, viewer);
    expect(step).toMatchObject({ event: 'run.step', data: { name: 'pass', input: null, output: null } });
    expect(end).toMatchObject({ event: 'run.completed' });
    const [shown] = await follow(app, id, run_id);
    expect(shown?.data).toMatchObject({ output: { a: 'hidden' } });
  });

  it('shows the texts of errors to editors only, also in lists and the stream', async () => {
    const app = await newApp();
    const secret = 'HIDDENROW-salary 91234';
    const error = { type: 'runtime', status: 500, title: `${secret} title`, detail: secret };
    const definition = define([{ boom: { raise: { error } } }]);
    const { id } = await create(app, { definition });
    const { run_id } = await runToEnd(app, id);
    const viewer = await world.token(await world.member(workspace, 'viewer', 'errors@example.com'), workspace);
    const run = `/${id}/runs/${run_id}`;
    for (const path of [pathOf(app, run), pathOf(app, `/${id}/runs`), pathOf(app, '/runs')]) {
      const got = await world.call('GET', path, { as: viewer });
      expect([got.status, got.text.includes(run_id)], path).toEqual([200, true]);
      expect(got.text).not.toContain('HIDDENROW');
      expect(got.text).toContain('Only editors of the app can read why.');
      expect((await world.call('GET', path, { as: token })).text).toContain(secret);
    }
    const got = await world.call('GET', pathOf(app, run), { as: viewer });
    expect(got.body.steps[0].error).toMatchObject({ type: 'runtime', title: 'Runtime error', status: 500 });
    const seen = JSON.stringify(await follow(app, id, run_id, undefined, undefined, viewer));
    expect(seen).toContain('run.failed');
    expect(seen).not.toContain('HIDDENROW');
  });

  it('draws the run, with the tasks that ran and the one that failed', async () => {
    const app = await newApp();
    const { id } = await create(app, { definition: failing });
    const { run_id } = await runToEnd(app, id);
    const got = await send('GET', app, `/${id}/runs/${run_id}`, undefined, { accept: 'text/vnd.mermaid' });
    expect(got.text).toContain('  class t0 completed\n');
    expect(got.text).toContain('  class t1 failed\n');
    expect(got.text).not.toMatch(/class t2/);
    await sql`delete from workflow_versions where workspace_id = ${workspace} and workflow_id = ${id}`.execute(
      world.db,
    );
    const gone = await send('GET', app, `/${id}/runs/${run_id}`, undefined, { accept: 'text/vnd.mermaid' });
    expect(gone).toMatchObject({ status: 200, text: expect.stringContaining('was removed') });
  });

  it('is not found under another workflow', async () => {
    const app = await newApp();
    const [one, other] = [await create(app), await create(app)];
    const { run_id } = await runToEnd(app, one.id);
    expect(await send('GET', app, `/${other.id}/runs/${run_id}`)).toMatchObject({
      status: 404,
      body: { code: 'run_not_found' },
    });
  });
});

describe('a stream of a run', () => {
  it('has every step, and ends with the run', async () => {
    const app = await newApp();
    const definition = define([{ first: { set: { a: 1 } } }, wait({ seconds: 1 }), { last: { set: { b: 2 } } }]);
    const { id } = await create(app, { definition });
    const { run_id } = (await send('POST', app, `/${id}/run-now`)).body;
    const events = await follow(app, id, run_id);
    const seen = events.map(({ event, data }) => (event === 'run.step' ? `${data.number} ${data.status}` : event));
    expect(seen).toEqual(['1 completed', '2 running', '2 completed', '3 completed', 'run.completed']);
    expect(events.at(-1)?.data).toMatchObject({ run_id, status: 'completed', steps_count: 3 });
    const [, second] = events;
    const rest = await follow(app, id, run_id, second?.id);
    expect(rest.map(({ id }) => id)).toEqual(events.slice(2).map(({ id }) => id));
  });

  it('of a run that failed says so', async () => {
    const app = await newApp();
    const { id } = await create(app, { definition: failing });
    const { run_id } = await runToEnd(app, id);
    expect((await follow(app, id, run_id)).map(({ event }) => event)).toEqual(['run.step', 'run.step', 'run.failed']);
  });

  it('refuses the id of an event of another run', async () => {
    const app = await newApp();
    const { id } = await create(app);
    const { run_id } = await runToEnd(app, id);
    const headers = { accept: 'text/event-stream', 'last-event-id': `${newId()}:1:1` };
    const got = await send('GET', app, `/${id}/runs/${run_id}`, undefined, headers);
    expect(got).toMatchObject({ status: 422, body: { detail: [{ loc: ['header', 'Last-Event-ID'] }] } });
  });
});

describe('cancelRun', () => {
  it('ends a wait at once, and changes nothing after that', async () => {
    const app = await newApp();
    const { id } = await create(app, { definition: define([wait({ days: 1 })]) });
    const { run_id } = (await send('POST', app, `/${id}/run-now`)).body;
    await expect.poll(async () => (await getRun(app, id, run_id)).steps.length).toBe(1);
    const cancel = () => send('POST', app, `/${id}/runs/${run_id}/cancel`);
    expect(await cancel()).toMatchObject({ status: 200, body: { status: 'cancelling' } });
    await expect.poll(async () => (await getRun(app, id, run_id)).status).toBe('cancelled');
    expect(await getRun(app, id, run_id)).toMatchObject({
      status_reason: 'cancelled_by_user',
      steps: [{ status: 'cancelled' }],
    });
    const again = await cancel();
    expect(again).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    expect(again.headers['x-changed']).toBe('false');
  });
});
