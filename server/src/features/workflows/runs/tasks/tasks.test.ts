// Tests the effects of tasks, including when their worker crashes or their run is cancelled.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startModelSandbox } from '../../../../../../sandbox/src/model.ts';
import { createRunScene, type Tasks } from '../../../../../test/support/runs.ts';
import { startWebhookWorld } from '../../../../../test/support/webhook-receiver.ts';
import { transaction } from '../../../../kit/db/database.ts';
import { newId } from '../../../../kit/ids.ts';
import { createSecrets } from '../../../../kit/secrets.ts';
import { cancelRun, cancelRunsOfApp } from '../cancel.ts';
import { openState } from '../execution.ts';
import { createRunJobs } from '../queue.ts';
import { startState } from '../state.ts';

const model = await startModelSandbox();
afterAll(() => model.close());
const { world, endpoint, url } = await startWebhookWorld({ environment: { MODEL_URL: model.url } });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace);
const scene = createRunScene(world);
const { run } = scene;
await world.startWorker();

const json = (body: unknown, status = 200) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const received = () => endpoint.received.filter(({ path }) => path.startsWith('/call'));
const http = (more: object = {}) => ({ call: 'http', with: { method: 'post', endpoint: url('/call'), ...more } });
let before = 0;
beforeEach(() => {
  before = received().length;
  endpoint.respond = () => json({ ok: true });
  model.behave('well');
});
const requests = () => received().slice(before);
const cancelDeps = { wake: world.app.wake };
const cancel = (id: string) =>
  cancelRun(world.app.database.db, cancelDeps, { workspace_id: workspace, id }, 'cancelled_by_user', world.clock.now());
/** Simulates a worker crash, after which another claim continues the run. */
const loseClaim = async (id: string) => {
  await sql`update workflow_runs set claimed_slot = null, claimed_epoch = null where id = ${id}`.execute(world.db);
  world.app.wake.notify('workflow_runs');
};
const putSecret = (name: string, value: string) =>
  world.call('PUT', `/api/apps/${app.id}/secrets/${name}`, { as: token, body: { value } });

/**
 * A run that is cancelled while its agent does not reply. It takes half a minute to end, so it runs alongside the other
 * tests.
 */
let abandoned = { id: '', cancelledAt: 0 };
beforeAll(async () => {
  const content = 'Is anybody there?';
  model.scriptFor(content, () => new Promise(() => {}));
  const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
  const ask = { call: 'agent.send', with: { agent_id: agent.id, content } };
  const id = await scene.start(await scene.insertWorkflow(await world.appOf(owner, workspace), [{ ask }]));
  while ((await scene.listSteps(id))[0]?.status !== 'running') await sleep(20);
  await cancel(id);
  abandoned = { id, cancelledAt: Date.now() };
});

describe('call http', () => {
  it('sends JSON with a key for repetitions, and returns the content', async () => {
    endpoint.respond = () => json({ id: 9 });
    const ended = await run(
      app,
      [{ post: http({ headers: { 'X-Id': '${ .n }' }, query: { a: 'b c', d: [1, 2] }, body: { n: '${ .n }' } }) }],
      { n: 7 },
    );
    expect(ended.steps).toMatchObject([
      { status: 'completed', task_type: 'call', input: { method: 'post', body: { n: 7 } }, output: { id: 9 } },
    ]);
    const [request] = requests();
    expect(request).toMatchObject({ method: 'POST', path: '/call?a=b+c&d=1&d=2', body: '{"n":7}' });
    expect(request?.headers).toMatchObject({
      'x-id': '7',
      'content-type': 'application/json',
      'idempotency-key': `${ended.id}.1`,
    });
  });

  it('returns the whole response, a text, or null', async () => {
    endpoint.respond = () => ({
      status: 201,
      headers: { 'content-type': 'text/plain', 'x-more': 'yes' },
      body: 'hello',
    });
    const [whole, text] = [
      await run(app, [{ get: http({ method: 'get', output: 'response' }) }]),
      await run(app, [{ get: http() }]),
    ];
    expect(whole.steps[0]?.output).toMatchObject({ statusCode: 201, content: 'hello', headers: { 'x-more': 'yes' } });
    expect(text.steps[0]?.output).toBe('hello');
    endpoint.respond = () => ({ status: 204 });
    expect((await run(app, [{ get: http() }])).steps[0]?.output).toBeNull();
  });

  it.each([
    [400, 'communication'],
    [401, 'authentication'],
    [403, 'authorization'],
    [302, 'communication'],
    [500, 'communication'],
  ])('fails with the status %i and the type %s', async (status, type) => {
    endpoint.respond = () => ({ status, body: 'not today', headers: { location: url('/call') } });
    const ended = await run(app, [{ post: http() }]);
    expect(ended).toMatchObject({ status: 'failed', failure: { type, status, cause: 'status' } });
    expect(ended.error_message).toBe(
      `Task 'post' failed: The endpoint responded with status ${status}. Response body: not today`,
    );
    expect(requests()).toHaveLength(1);
  });

  it('fails once for an answer that PostgreSQL could not store', async () => {
    endpoint.respond = () => ({ status: 500, body: 'a\0b' });
    const ended = await run(app, [{ post: http() }]);
    expect(ended).toMatchObject({ status: 'failed', failure: { type: 'communication', status: 500 } });
    expect(ended.error_message).toBe("Task 'post' failed: The endpoint responded with status 500. Response body: ab");
    expect(requests()).toHaveLength(1);
  });

  it.each([
    ['https://10.0.0.1/', 'configuration', 'address'],
    ['http://hook.outside.test/', 'configuration', 'address'],
    [url('/', 'inner'), 'configuration', 'address'],
    [url('/', 'gone'), 'communication', 'dns'],
    ['https://hook.outside.test:1025/', 'communication', 'refused'],
  ])('fails for %s with the type %s and the cause %s', async (endpoint, type, cause) => {
    const ended = await run(app, [{ post: http({ endpoint }) }]);
    expect(ended).toMatchObject({ status: 'failed', failure: { type, cause } });
  });

  it('fails if the answer is too large, or not the JSON that it says', async () => {
    endpoint.respond = () => ({ body: 'x'.repeat(1024 * 1024 + 1) });
    expect(await run(app, [{ post: http() }])).toMatchObject({
      failure: { type: 'communication', cause: 'too_large' },
    });
    endpoint.respond = () => json('x'.repeat(300 * 1024));
    expect(await run(app, [{ post: http() }])).toMatchObject({ failure: { type: 'runtime', cause: 'too_large' } });
    endpoint.respond = () => ({ headers: { 'content-type': 'application/json' }, body: '{' });
    expect(await run(app, [{ post: http() }])).toMatchObject({ failure: { type: 'communication', cause: 'protocol' } });
    endpoint.respond = () => 'cut';
    expect(await run(app, [{ post: http() }])).toMatchObject({ failure: { type: 'communication', cause: 'reset' } });
  });

  it('fails when its timeout is over', async () => {
    endpoint.respond = () => 'silence';
    const ended = await run(app, [{ post: { ...http(), timeout: { after: { milliseconds: 250 } } } }]);
    expect(ended).toMatchObject({ status: 'failed', failure: { type: 'timeout', cause: 'timeout' } });
  });

  it('shows its step as running while it waits for the answer', async () => {
    const answer = Promise.withResolvers<void>();
    endpoint.respond = () => ({ ...json({ late: true }), until: answer.promise });
    const id = await scene.start(await scene.insertWorkflow(app, [{ post: http() }]));
    await expect.poll(async () => (await scene.listSteps(id))[0]?.status).toBe('running');
    answer.resolve();
    await scene.waitForEnd(id);
    expect(await scene.listSteps(id)).toMatchObject([{ status: 'completed', output: { late: true } }]);
  });

  it('is repeated with the same key if its worker crashes, and recorded once', async () => {
    const answer = Promise.withResolvers<void>();
    endpoint.respond = () => (requests().length === 1 ? { until: answer.promise } : json({ second: true }));
    const id = await scene.start(await scene.insertWorkflow(app, [{ first: { set: {} } }, { post: http() }]));
    await expect.poll(() => requests().length).toBe(1);
    await loseClaim(id);
    expect(await scene.waitForEnd(id)).toMatchObject({ status: 'completed', steps_count: 2 });
    answer.resolve();
    expect(requests().map(({ headers }) => headers['idempotency-key'])).toEqual([`${id}.2`, `${id}.2`]);
    await expect.poll(async () => (await scene.getRun(id)).claimed_slot).toBeNull();
    expect(await scene.listSteps(id)).toMatchObject([
      { name: 'first' },
      { status: 'completed', output: { second: true } },
    ]);
  });
});

describe('secrets', () => {
  const tasks: Tasks = [
    {
      post: http({
        headers: { authorization: '${ "Bearer \\($secrets.API_KEY)" }' },
        query: { key: '${ $secrets.API_KEY }' },
      }),
    },
    { leak: { set: { plain: '${ $secrets.API_KEY }', encoded: '${ $secrets.API_KEY | @uri }' } } },
    { pause: { wait: { hours: 1 } } },
  ];

  it('are sent, and masked in everything that is recorded', async () => {
    await putSecret('API_KEY', 'top secret/42');
    const id = await scene.start(await scene.insertWorkflow(app, tasks));
    await expect.poll(async () => (await scene.listSteps(id)).length).toBe(3);
    expect(requests()[0]?.headers.authorization).toBe('Bearer top secret/42');
    const rows = JSON.stringify([await scene.listSteps(id), await scene.getRun(id)]);
    expect(rows).not.toMatch(/top secret|top%20secret/);
    expect((await scene.listSteps(id)).map(({ output }) => output)).toMatchObject([
      { ok: true },
      { plain: '***', encoded: '***' },
      null,
    ]);
    expect(await scene.getRun(id)).toMatchObject({ state: null, state_sealed: expect.stringMatching(/^v1\./) });
    expect(await cancel(id)).toEqual({ status: 'cancelling', changed: true });
  });

  it('that do not exist fail the tasks that read them, and no request is sent', async () => {
    const id = await scene.start(
      await scene.insertWorkflow(app, [
        { before: { set: { plain: 'not about $secrets.MISSING_KEY' } } },
        { post: http({ headers: { authorization: '${ "Bearer \\($secrets.MISSING_KEY)" }' } }) },
      ]),
    );
    await expect.poll(async () => (await scene.getRun(id)).status).toBe('failed');
    const detail = 'The app has no secret named MISSING_KEY. Add it, then run the workflow again.';
    expect(await scene.listSteps(id)).toMatchObject([
      { name: 'before', status: 'completed' },
      { name: 'post', status: 'failed', error: { type: 'configuration', detail } },
    ]);
    expect(requests()).toEqual([]);
  });

  it('stay readable when the master key changes', async () => {
    await putSecret('API_KEY', 'top secret/42');
    const id = await scene.start(await scene.insertWorkflow(app, tasks));
    await expect.poll(async () => (await scene.getRun(id)).steps_count).toBe(3);
    const masterKeys = [{ id: 'newest', key: randomBytes(32) }, ...world.config.MASTER_KEYS];
    const jobs = createRunJobs({ secrets: createSecrets(masterKeys), masterKeyId: 'newest' });
    for (const job of jobs) await job.run(world.app.database.db, world.clock.now());
    const row = await scene.getRun(id);
    expect(row.state_sealed).toMatch(/^v1\.newest\./);
    expect(openState(row, row, createSecrets(masterKeys))).toMatchObject({
      steps: 3,
      data: { plain: 'top secret/42' },
    });
    // The installation under test does not have the new key.
    await world.db.deleteFrom('workflow_runs').where('id', '=', id).execute();
  });

  it('stay masked after they have changed, also in errors of expressions', async () => {
    await putSecret('API_KEY', 'first value 1');
    const id = await scene.start(
      await scene.insertWorkflow(app, [
        { keep: { set: { plain: '${ $secrets.API_KEY }' } } },
        { pause: { wait: { seconds: 2 } } },
        {
          compare: {
            set: { plain: '${ .plain }', isOld: '${ .plain == "first " + "value 1" }', now: '${ $secrets.API_KEY }' },
          },
        },
        { fail: { set: '${ error(.plain[:9]) }' } },
      ]),
    );
    await expect.poll(async () => (await scene.listSteps(id)).length).toBe(2);
    await putSecret('API_KEY', 'second value 2');
    expect(await scene.waitForEnd(id)).toMatchObject({
      error_message: "Task 'fail' failed: The expression in `set` failed: ***",
    });
    const steps = await scene.listSteps(id);
    expect(steps[2]?.output).toEqual({ plain: '***', isOld: true, now: '***' });
    expect(JSON.stringify(steps)).not.toMatch(/first v|second v/);
  });

  it('are masked in errors', async () => {
    await putSecret('API_KEY', 'top secret/42');
    endpoint.respond = ({ headers }) => ({ status: 500, body: `you sent ${headers.authorization}` });
    const ended = await run(app, tasks);
    expect(ended.error_message).toBe(
      "Task 'post' failed: The endpoint responded with status 500. Response body: you sent Bearer ***",
    );
    expect(JSON.stringify(ended)).not.toContain('top secret');
  });

  it('are masked in errors before these are cut', async () => {
    await putSecret('API_KEY', 'top secret/42');
    const key = '$secrets.API_KEY';
    const [status, title, detail] = [500, `\${ "x" * 995 + ${key} }`, `\${ "x" * 1995 + ${key} + "x" * 99 }`];
    const raised = { raise: { error: { type: `\${ "x" * 250 + ${key} }`, status, title, detail } } };
    const caught = { do: [{ handle: { set: '${ $error }' } }] };
    endpoint.respond = ({ headers }) => ({ status, body: `${'x'.repeat(185)}${headers.authorization}` });
    const ended = await run(app, [
      { guarded: { try: [{ fail: raised }], catch: caught } },
      { again: { try: [{ post: tasks[0]?.post as object }], catch: caught } },
      { fail: raised },
    ]);
    expect(ended).toMatchObject({ status: 'failed', steps_count: 5 });
    expect(ended.steps[2]?.error).toMatchObject({ detail: expect.stringMatching(/x{185}Bearer \*\*\*$/) });
    expect(JSON.stringify(ended)).not.toContain('top');
  });
});

describe('call entity', () => {
  const schema = {
    name: 'Note',
    properties: { title: { type: 'string' }, done: { type: 'boolean' } },
    required: ['title'],
    unique: [['title']],
    rls: { read: { created_by: '{{user.email}}' }, write: { created_by: '{{user.email}}' } },
  };
  const entity = (name: string, more: object) => ({ call: `entity.${name}`, with: { entity: 'Note', ...more } });
  beforeEach(async () => {
    const got = await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Note`, { as: token, body: schema });
    expect(got.status).toBe(200);
  });

  it('creates, reads, lists, updates and deletes as the app, whatever the rules say', async () => {
    const ended = await run(
      app,
      [
        { create: entity('create', { data: { title: '${ .title }' } }) },
        { get: entity('get', { id: '${ .id }' }) },
        { list: { ...entity('list', { query: { title: '${ .title }' }, limit: 5 }), output: { as: '${ .[0] }' } } },
        { update: entity('update', { id: '${ .id }', data: { done: true } }) },
        { delete: entity('delete', { id: '${ .id }' }) },
      ],
      { title: 'as the app' },
      { depth: 2 },
    );
    expect(ended).toMatchObject({ status: 'completed', error_message: null });
    expect(ended.steps.map(({ output }) => output)).toMatchObject([
      { title: 'as the app', created_by: 'anonymous', created_by_id: 'anonymous' },
      { title: 'as the app' },
      { title: 'as the app' },
      { title: 'as the app', done: true },
      { success: true },
    ]);
    const { rows } = await sql<{ name: string; depth: number; actor: unknown }>`
      select name, (payload->>'depth')::int as depth, payload->'actor' as actor from events
      where payload->>'app_id' = ${app.id} order by id`.execute(world.db);
    expect(rows).toEqual(
      ['created', 'updated', 'deleted'].map((what) => ({ name: `entity.${what}`, depth: 3, actor: null })),
    );
  });

  it('acts as a user of the app within the rules', async () => {
    const [ann, bob] = [await world.appUser(app, 'ann@example.com'), await world.appUser(app, 'bob@example.com')];
    const ended = await run(app, [
      { create: entity('create', { data: { title: 'by ann' }, as_user: ann.id }) },
      { update: entity('update', { id: '${ .id }', data: { done: true }, as_user: bob.id }) },
    ]);
    expect(ended.steps[0]).toMatchObject({ output: { created_by: 'ann@example.com', created_by_id: ann.id } });
    expect(ended).toMatchObject({ status: 'failed', failure: { status: 404 } });
    const nobody = await run(app, [{ list: entity('list', { as_user: '${ "0197" }' }) }]);
    expect(nobody).toMatchObject({ status: 'failed', failure: { type: 'configuration' } });
  });

  it('fails with what the records refuse', async () => {
    const create = (data: object) => [{ create: entity('create', { data }) }];
    expect(await run(app, create({}))).toMatchObject({
      failure: { type: 'validation', status: 422 },
      error_message: "Task 'create' failed: `title` is required.",
    });
    await run(app, create({ title: 'once' }));
    expect(await run(app, create({ title: 'once' }))).toMatchObject({
      failure: { type: 'runtime', status: 409, code: 'unique_conflict' },
    });
    expect(
      await run(app, [{ get: { call: 'entity.get', with: { entity: 'Nothing', id: '${ "x" }' } } }]),
    ).toMatchObject({ failure: { type: 'configuration', code: 'entity_not_found' } });
    expect(await run(app, [{ get: entity('get', { id: '${ "x" }' }) }])).toMatchObject({
      failure: { type: 'runtime', status: 404, code: 'record_not_found' },
    });
  });

  it('changes a record once, although the worker loses its claim meanwhile', async () => {
    const created = await run(app, [{ create: entity('create', { data: { title: 'contended' } }) }]);
    const recordId = (created.steps[0]?.output as { id: string } | undefined)?.id;
    const workflow = await scene.insertWorkflow(app, [
      { update: entity('update', { id: recordId, data: { done: true } }) },
    ]);
    let id = '';
    await transaction(world.db, async (db) => {
      await sql`select from entity_records where id = ${recordId} for update`.execute(db);
      id = await scene.start(workflow);
      const waits = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(async () => (await waits.execute(world.db)).rows.length).toBeGreaterThan(0);
      await loseClaim(id);
    });
    expect(await scene.waitForEnd(id)).toMatchObject({ status: 'completed', steps_count: 1 });
    await expect.poll(async () => (await scene.getRun(id)).claimed_slot).toBeNull();
    const { rows } =
      await sql`select from events where name = 'entity.updated' and payload->>'entity_id' = ${recordId}`.execute(
        world.db,
      );
    expect(rows).toHaveLength(1);
  });
});

describe('call entity with expressions that read what it returns', () => {
  const schema = { name: 'Item', properties: { title: { type: 'string' } } };
  const create = (title: string, as: string) => ({
    create: { call: 'entity.create', with: { entity: 'Item', data: { title } }, output: { as } },
  });
  const countItems = async (title: string) =>
    (await sql`select from entity_records where app_id = ${app.id} and data->>'title' = ${title}`.execute(world.db))
      .rows.length;
  beforeEach(async () => {
    const got = await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Item`, { as: token, body: schema });
    expect(got.status).toBe(200);
  });

  it('holds no connection while they are evaluated', async () => {
    const slow = '${ reduce range(150000) as $i (0; . + $i) }';
    const tasks: Tasks = [
      create('slow', slow),
      { list: { call: 'entity.list', with: { entity: 'Item' }, output: { as: slow } } },
      { announce: { emit: { event: { with: { type: 'slow', data: {} } } }, export: { as: slow } } },
    ];
    const workflow = await scene.insertWorkflow(app, tasks);
    const ids = await Promise.all(Array.from({ length: 4 }, () => scene.start(workflow)));
    const ended = Promise.all(ids.map((id) => scene.waitForEnd(id)));
    const samples: boolean[] = [];
    for (let isOver = false; !isOver; ) {
      const { rows } = await sql`select from pg_stat_activity where datname = current_database()
        and state = 'idle in transaction' and clock_timestamp() - state_change > interval '50 ms'`.execute(world.db);
      samples.push(rows.length > 0);
      isOver = await Promise.race([ended.then(() => true), new Promise<false>((r) => setTimeout(r, 20, false))]);
    }
    expect((await ended).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    expect(samples.filter(Boolean).length / samples.length).toBeLessThan(0.3);
  });

  it('keeps the change if one of them fails', async () => {
    const ended = await run(app, [create('kept', '${ error("no") }')]);
    expect(ended).toMatchObject({ status: 'failed', steps_count: 1, failed_step: 1, failure: { type: 'expression' } });
    expect(ended.steps).toMatchObject([{ status: 'failed', input: { data: { title: 'kept' } } }]);
    expect(await countItems('kept')).toBe(1);
  });

  it('continues with what the change returned if the worker crashes before they are evaluated', async () => {
    const workflow = await scene.insertWorkflow(app, [create('crashed', '${ .id }')]);
    const id = newId();
    const state = {
      ...startState({}, world.clock.now()),
      steps: 1,
      pending: { kind: 'changed', returned: { id: 'made before' } },
    };
    await sql`insert into workflow_runs (id, workspace_id, app_id, workflow_id, workflow_name, version_id, trigger_type,
        input, started_at, begun_at, due_at, steps_count, state)
      values (${id}, ${workspace}, ${app.id}, ${workflow.id}, 'x', ${workflow.current_version_id}, 'manual', '{}', now(),
        now(), now(), 1, ${JSON.stringify(state)})`.execute(world.db);
    world.app.wake.notify('workflow_runs');
    expect(await scene.waitForEnd(id)).toMatchObject({ status: 'completed', steps_count: 1 });
    expect(await scene.listSteps(id)).toMatchObject([{ number: 1, status: 'completed', output: 'made before' }]);
    expect(await countItems('crashed')).toBe(0);
  });
});

describe('call entity, if the records take long or fail', () => {
  const create = (title: string) => ({ create: { call: 'entity.create', with: { entity: 'Slow', data: { title } } } });
  beforeEach(async () => {
    const schema = { name: 'Slow', properties: { title: { type: 'string' } } };
    const got = await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Slow`, { as: token, body: schema });
    expect(got.status).toBe(200);
    await sql`create or replace function fail_slowly() returns trigger language plpgsql as $$ begin
      if new.data->>'title' = 'too slow' then raise exception 'cancelled' using errcode = '57014'; end if;
      if new.data->>'title' = 'broken' then perform pg_sleep(1.5); raise exception 'broken'; end if;
      return new; end $$`.execute(world.db);
    await sql`create or replace trigger fail_slowly before insert on entity_records
      for each row execute function fail_slowly()`.execute(world.db);
  });

  it('fails with a timeout if a query takes longer than any may', async () => {
    expect(await run(app, [create('too slow')])).toMatchObject({
      status: 'failed',
      failure: { type: 'timeout', cause: 'timeout' },
    });
  });

  it('fails when the timeout of the task is over, although a query may take longer', async () => {
    const list = { call: 'entity.list', with: { entity: 'Slow' }, timeout: { after: { milliseconds: 500 } } };
    const id = await scene.start(await scene.insertWorkflow(app, [{ list }]));
    await transaction(world.db, async (db) => {
      await sql`lock table entity_records in access exclusive mode`.execute(db);
      expect(await scene.waitForEnd(id)).toMatchObject({ status: 'failed', failure: { type: 'timeout' } });
    });
  });

  it('ends a run that was cancelled at once, although it would be tried again later', async () => {
    const workflow = await scene.insertWorkflow(app, [create('broken')]);
    const id = newId();
    await sql`insert into workflow_runs (id, workspace_id, app_id, workflow_id, workflow_name, version_id, trigger_type,
        input, started_at, begun_at, due_at, failures)
      values (${id}, ${workspace}, ${app.id}, ${workflow.id}, 'x', ${workflow.current_version_id}, 'manual', '{}', now(),
        now(), now(), 4)`.execute(world.db);
    world.app.wake.notify('workflow_runs');
    const sleeps = sql`select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`;
    await expect.poll(async () => (await sleeps.execute(world.db)).rows.length).toBe(1);
    expect(await cancel(id)).toEqual({ status: 'cancelling', changed: true });
    expect(await scene.waitForEnd(id)).toMatchObject({ status: 'cancelled' });
  });
});

describe('call agent.send', () => {
  const ask = (agent_id: string) => [{ ask: { call: 'agent.send', with: { agent_id, content: 'How are you?' } } }];
  const spent = async (id: string) =>
    (
      await sql<{
        used: number;
      }>`select coalesce(sum(amount) filter (where kind = 'use'), 0)::float as used from credit_ledger where reference_id = ${id}`.execute(
        world.db,
      )
    ).rows[0]?.used;

  it('returns the reply, and charges for it once', async () => {
    const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
    const answer = Promise.withResolvers<void>();
    let calls = 0;
    model.script(async () => {
      calls += 1;
      if (calls === 1) await answer.promise;
      return { text: 'Fine.' };
    });
    const id = await scene.start(await scene.insertWorkflow(app, ask(agent.id)));
    await expect.poll(() => calls).toBe(1);
    await loseClaim(id); // the second worker uses the first worker's reservation
    expect(await scene.waitForEnd(id)).toMatchObject({ status: 'completed' });
    answer.resolve();
    expect(await scene.listSteps(id)).toMatchObject([{ output: { content: 'Fine.' } }]);
    expect(await spent(id)).toBeCloseTo(0.25, 4);
    const open = await sql`select from credit_reservations where reference_id = ${id} and state = 'open'`.execute(
      world.db,
    );
    expect(open.rows).toHaveLength(0);
  });

  it('is charged although an expression that reads the reply fails', async () => {
    const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
    model.script(() => ({ text: 'Fine.' }));
    const [{ ask: task }] = ask(agent.id) as [{ ask: object }];
    const tasks = [{ ask: { ...task, output: { as: '${ error(.content) }' } } }];
    const caught = await run(app, [{ guarded: { try: tasks, catch: { as: 'error' } } }]);
    expect(caught).toMatchObject({ status: 'completed', steps: [{ status: 'failed' }] });
    expect(await spent(caught.id)).toBeCloseTo(0.25, 4);
    const uncaught = await run(app, tasks);
    expect(uncaught).toMatchObject({ status: 'failed', failure: { type: 'expression' } });
    expect(await spent(uncaught.id)).toBeCloseTo(0.25, 4);
  });

  it('ends the run at its step if the credits do not cover it', async () => {
    const poor = await world.workspace(owner);
    await world.db.updateTable('workspaces').set({ monthly_limit: 0.06 }).where('id', '=', poor).execute();
    const agent = await world.appOf(owner, poor, { app_type: 'user_agent' });
    const ended = await run(await world.appOf(owner, poor), [{ first: { set: {} } }, ...ask(agent.id)]);
    expect(ended).toMatchObject({ status: 'failed', status_reason: 'insufficient_credits', failed_step: 2 });
    expect(ended.steps).toMatchObject([
      { name: 'first', status: 'completed' },
      { name: 'ask', status: 'failed', error: { status: 402 } },
    ]);
  });

  it('keeps its reservation when a worker that has lost its claim fails', async () => {
    const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let calls = 0;
    model.script(async () => {
      calls += 1;
      await (calls === 2 ? second : first).promise;
      return { text: 'This is what it says.' };
    });
    const id = await scene.start(await scene.insertWorkflow(app, ask(agent.id)));
    await expect.poll(() => calls).toBe(1);
    await loseClaim(id);
    await expect.poll(() => calls).toBe(2);
    model.behave('cut');
    first.resolve();
    await sleep(3_000);
    model.behave('well');
    const { rows } = await sql`select state from credit_reservations where reference_id = ${id}`.execute(world.db);
    expect(rows).toEqual([{ state: 'open' }]);
    second.resolve();
    expect(await scene.waitForEnd(id)).toMatchObject({ status: 'completed' });
  });

  it('fails if the model is unavailable, without a charge, or if the agent is not one that the app may use', async () => {
    const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
    model.behave(500);
    const ended = await run(app, ask(agent.id));
    expect(ended).toMatchObject({ status: 'failed', failure: { type: 'communication', status: 503, cause: 'model' } });
    expect(await spent(ended.id)).toBeCloseTo(0.05, 4);
    const other = await world.member(workspace, 'editor', 'other@example.com');
    const secretAgent = await world.appOf(other, workspace, { app_type: 'user_agent', visibility: 'private' });
    const ownAgent = await world.appOf(owner, workspace, { app_type: 'user_agent', visibility: 'private' });
    expect(await run(app, ask(ownAgent.id))).toMatchObject({ failure: { type: 'communication', cause: 'model' } });
    for (const id of [secretAgent.id, app.id, '${ "x" }', `\${ "${ownAgent.id}" }`])
      expect(await run(app, ask(id))).toMatchObject({ status: 'failed', failure: { type: 'configuration' } });
  });
});

describe('emit', () => {
  it('publishes an event of the app with its depth, once', async () => {
    const ended = await run(
      app,
      [{ announce: { emit: { event: { with: { type: 'order.paid', data: { n: '${ .n }' } } } } } }],
      { n: 3 },
      { depth: 1 },
    );
    expect(ended.steps).toMatchObject([
      { status: 'completed', input: { type: 'order.paid', data: { n: 3 } }, output: { n: 3 } },
    ]);
    const { rows } = await sql<{
      payload: object;
    }>`select payload from events where name = 'app.event_emitted' and payload->>'run_id' = ${ended.id}`.execute(
      world.db,
    );
    expect(rows).toEqual([
      {
        payload: {
          workspace_id: workspace,
          app_id: app.id,
          type: 'order.paid',
          data: { n: 3 },
          depth: 2,
          run_id: ended.id,
        },
      },
    ]);
  });
});

describe('cancelling', () => {
  it('ends a run that waits at once', async () => {
    const id = await scene.start(await scene.insertWorkflow(app, [{ pause: { wait: { days: 1 } } }]));
    await expect
      .poll(async () => (await scene.getRun(id)).claimed_slot === null && (await scene.listSteps(id)).length)
      .toBe(1);
    expect(await cancel(id)).toEqual({ status: 'cancelling', changed: true });
    expect(await scene.getRun(id)).toMatchObject({
      status: 'cancelled',
      status_reason: 'cancelled_by_user',
      due_at: null,
      state: null,
    });
    expect(await scene.listSteps(id)).toMatchObject([{ status: 'cancelled' }]);
    expect(await cancel(id)).toEqual({ status: 'cancelled', changed: false });
  });

  it('ends a run after the call that is under way, and records the call', async () => {
    const answer = Promise.withResolvers<void>();
    endpoint.respond = () => ({ ...json({ done: true }), until: answer.promise });
    const id = await scene.start(await scene.insertWorkflow(app, [{ post: http() }, { never: { set: {} } }]));
    await expect.poll(async () => (await scene.listSteps(id))[0]?.status).toBe('running');
    expect(await cancel(id)).toEqual({ status: 'cancelling', changed: true });
    expect(await cancel(id)).toEqual({ status: 'cancelling', changed: false });
    answer.resolve();
    expect(await scene.waitForEnd(id)).toMatchObject({ status: 'cancelled', status_reason: 'cancelled_by_user' });
    expect(await scene.listSteps(id)).toMatchObject([{ status: 'completed', output: { done: true } }]);
  });

  it('ends a run whose worker crashed meanwhile', async () => {
    endpoint.respond = () => 'silence';
    const id = await scene.start(await scene.insertWorkflow(app, [{ post: http() }]));
    await expect.poll(async () => (await scene.listSteps(id))[0]?.status).toBe('running');
    await cancel(id);
    await loseClaim(id);
    expect(await scene.waitForEnd(id)).toMatchObject({ status: 'cancelled' });
    expect(await scene.listSteps(id)).toMatchObject([{ status: 'cancelled' }]);
  });

  it('ends all runs of an app', async () => {
    const other = await world.appOf(owner, workspace);
    const workflow = await scene.insertWorkflow(other, [{ pause: { wait: { days: 1 } } }]);
    const ids = [await scene.start(workflow), await scene.start(workflow), await scene.start(workflow)];
    await expect
      .poll(async () =>
        (await Promise.all(ids.map(scene.getRun))).every(
          ({ claimed_slot, steps_count }) => claimed_slot === null && steps_count === 1,
        ),
      )
      .toBe(true);
    const ref = { workspace_id: workspace, app_id: other.id };
    // States may be large, so they must not be read. If this unreadable state were read, the test would fail.
    await sql`update workflow_runs set state = null, state_sealed = 'v1.unreadable' where id = ${ids[0]}`.execute(
      world.db,
    );
    expect(await cancelRunsOfApp(world.app.database.db, cancelDeps, ref, world.clock.now())).toBe(3);
    for (const id of ids) expect(await scene.getRun(id)).toMatchObject({ status: 'cancelled', status_reason: null });
    expect(await cancelRunsOfApp(world.app.database.db, cancelDeps, ref, world.clock.now())).toBe(0);
  });

  it('abandons a call that takes more than 30 seconds longer', async () => {
    const { id, cancelledAt } = abandoned;
    const ended = await scene.waitForEnd(id);
    expect(ended).toMatchObject({ status: 'cancelled' });
    const tookMs = (ended.completed_at?.getTime() ?? 0) - cancelledAt;
    expect(tookMs).toBeGreaterThan(27_000);
    expect(tookMs).toBeLessThan(45_000);
    expect(await scene.listSteps(id)).toMatchObject([{ status: 'cancelled', completed_at: expect.any(Date) }]);
    const { rows } = await sql<{ state: string }>`select state from credit_reservations
      where reference_id = ${id} and operation = 'runWorkflow' order by amount desc limit 1`.execute(world.db);
    expect(rows).toEqual([{ state: 'released' }]);
  });
});
