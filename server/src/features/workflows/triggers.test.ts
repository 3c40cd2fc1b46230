// Tests the triggers that start runs: events, schedules and hooks, with a real worker (docs/api/workflows.md#triggers).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { messageEvent, publish, recordEvent } from '../../../test/support/webhook-receiver.ts';
import { createScene, define, onEntity, passOn, startWorkflowWorld } from '../../../test/support/workflows.ts';
import type { Events } from '../../events.ts';
import { newId } from '../../kit/ids.ts';
import { type Jq, openJq } from '../../kit/jq/index.ts';
import { removeHandledEvents } from './store/events.ts';
import { createEventQueue, workflowsAtOnce } from './triggers/events.ts';

const { world, owner, workspace, token, send, create, get, newApp, listRuns, getRun } = await startWorkflowWorld();
await world.startWorker();

type Run = { run_id: string; workflow_id: string; trigger_type: string; status: string; error_message: string | null };
const runsOf = async (app: { id: string }): Promise<Run[]> => listRuns(app);
const outputOf = async (app: { id: string }, { workflow_id, run_id }: Run) =>
  (await getRun(app, workflow_id, run_id)).steps.at(-1).output;
const ended = (app: { id: string }, count = 1) =>
  expect.poll(async () => (await runsOf(app)).filter(({ status }) => status === 'completed').length).toBe(count);
/** Returns who made the workflow inactive, and why: the platform, or the user who deleted the app. */
const turnedOff = async (id: string) => {
  const { rows } = await sql<{ actor: string; reason: string | null }>`
    select entry->'actor'->>'kind' as actor, entry->'after'->>'status_reason' as reason
    from (select entry from audit_pending union all select entry from audit_entries) entries
    where entry->'target'->>'id' = ${id} and entry->>'type' = 'workflow.turned_off'`.execute(world.db);
  return rows;
};
/** Waits until all events published so far have been handled. */
const settle = async () => {
  await expect
    .poll(async () => {
      const { rows } = await sql<{ open: number }>`select
        (select count(*)::int from events where dispatched_at is null) +
        (select count(*)::int from workflow_events where due_at is not null) as open`.execute(world.db);
      return rows[0]?.open;
    })
    .toBe(0);
};
const change = (app: { id: string }, more: Partial<Events['entity.updated']> = {}) => ({
  ...recordEvent(app as never),
  ...more,
});

describe('an event', () => {
  it('of a record starts the workflows that wait for it, with what webhooks would deliver', async () => {
    const app = await newApp();
    await create(app, { trigger: onEntity('Task', ['update']) });
    await create(app, { trigger: onEntity('Task', ['create', 'delete']) });
    await create(app, { trigger: onEntity('Other', ['update']) });
    const event = change(app, { entity_name: 'Task' });
    await publish(world, 'entity.updated', event);
    await ended(app);
    const [run] = await runsOf(app);
    expect(run).toMatchObject({ trigger_type: 'entity', is_test_run: false });
    expect(await outputOf(app, run as Run)).toMatchObject({
      type: 'entity.updated',
      entity_name: 'Task',
      entity_id: event.entity_id,
      data: event.data,
      depth: 0,
    });
    await settle();
    expect(await runsOf(app)).toHaveLength(1);
  });

  it('starts a run of a workflow once, even if it is handled twice', async () => {
    const app = await newApp();
    await create(app, { trigger: onEntity('Task', ['update']) });
    await publish(world, 'entity.updated', change(app, { entity_name: 'Task' }));
    await ended(app);
    await sql`update events set dispatched_at = null where payload->>'app_id' = ${app.id}`.execute(world.db);
    await sql`delete from workflow_events where app_id = ${app.id}`.execute(world.db);
    await settle();
    expect(await runsOf(app)).toHaveLength(1);
  });

  it('starts nothing if the condition is not met, or the workflow is not active', async () => {
    const app = await newApp();
    await create(app, { trigger: onEntity('Task', ['update'], '.data.state == "open"') });
    const off = await create(app, { trigger: onEntity('Task', ['update']) });
    await send('POST', app, `/${off.id}/toggle-status`);
    const data = (state: string) => change(app, { entity_name: 'Task', data: { state } });
    await publish(world, 'entity.updated', data('closed'));
    await publish(world, 'entity.updated', data('open'));
    await ended(app);
    await settle();
    expect(await runsOf(app)).toHaveLength(1);
  });

  it('leaves a failed run if the condition cannot be evaluated', async () => {
    const app = await newApp();
    const { id } = await create(app, { trigger: onEntity('Task', ['update'], '.data.state | tonumber > 1') });
    await publish(world, 'entity.updated', change(app, { entity_name: 'Task', data: { state: 'open' } }));
    await expect.poll(async () => (await runsOf(app)).length).toBe(1);
    expect((await runsOf(app))[0]).toMatchObject({
      status: 'failed',
      error_message: expect.stringContaining('condition'),
    });
    expect(await get(app, id)).toMatchObject({ consecutive_failures: 1, last_run_status: 'failed', total_runs: 1 });
  });

  it('of a depth above five starts nothing, and that is audited', async () => {
    const app = await newApp();
    const { id } = await create(app, { trigger: onEntity('Task', ['update']) });
    await publish(world, 'entity.updated', change(app, { entity_name: 'Task', depth: 6 }));
    await publish(world, 'entity.updated', change(app, { entity_name: 'Task', depth: 6 }));
    await settle();
    expect(await runsOf(app)).toEqual([]);
    const { rows } = await sql<{ entry: object }>`
      select entry from (select entry from audit_pending union all select entry from audit_entries) entries
      where entry->'target'->>'id' = ${id} and entry->>'type' = 'automation.loop_stopped'`.execute(world.db);
    expect(rows).toHaveLength(1);
    await publish(world, 'entity.updated', change(app, { entity_name: 'Task', depth: 5 }));
    await ended(app);
  });

  it('of before the workflow was created starts nothing', async () => {
    const app = await newApp();
    await create(app, { trigger: onEntity('Task', ['update']) });
    const before = new Date(world.clock.now().getTime() - 60_000);
    await world.app.publish(world.app.database.db, 'entity.updated', change(app, { entity_name: 'Task' }), before);
    await settle();
    expect(await runsOf(app)).toEqual([]);
  });

  it('of another workspace starts nothing', async () => {
    const app = await newApp();
    const stranger = await world.person('stranger@example.com');
    const elsewhere = await world.appOf(stranger, await world.workspace(stranger));
    await create(app, { trigger: onEntity('Task', ['update']) });
    await publish(world, 'entity.updated', change(elsewhere, { entity_name: 'Task' }));
    await settle();
    expect(await runsOf(app)).toEqual([]);
  });

  it('of an agent starts workflows of other apps that wait for its messages', async () => {
    const app = await newApp();
    const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
    const config = { trigger_type: 'agent_message', agent_id: agent.id, event: 'message.completed' };
    await create(app, { trigger: { config } });
    await publish(world, 'message.created', messageEvent(agent, 'not this'));
    await publish(world, 'message.completed', messageEvent(agent, 'but this'));
    await ended(app);
    await settle();
    const [run, ...more] = await runsOf(app);
    expect(more).toEqual([]);
    expect(await outputOf(app, run as Run)).toMatchObject({
      type: 'message.completed',
      agent_id: agent.id,
      data: { message: { content: 'but this' } },
    });
  });

  it('of a publish, and one that a workflow emitted, start workflows', async () => {
    const app = await newApp();
    const published = await create(app, { trigger: { config: { trigger_type: 'app_publish' } } });
    const emitted = await create(app, { trigger: { config: { trigger_type: 'event', type: 'order.paid' } } });
    const about = { workspace_id: workspace, app_id: app.id };
    await publish(world, 'app.published', { ...about, deployment_id: newId(), revision: 3 });
    await publish(world, 'app.event_emitted', {
      ...about,
      type: 'order.paid',
      data: { total: 5 },
      depth: 1,
      run_id: newId(),
    });
    await publish(world, 'app.event_emitted', { ...about, type: 'order.lost', data: {}, depth: 1, run_id: newId() });
    await ended(app, 2);
    await settle();
    const runs = await runsOf(app);
    const of = (id: string) => runs.find(({ workflow_id }) => workflow_id === id) as Run;
    expect(await outputOf(app, of(published.id))).toMatchObject({ type: 'app.published', revision: 3 });
    expect(await outputOf(app, of(emitted.id))).toMatchObject({ type: 'order.paid', data: { total: 5 } });
  });

  it('of a workspace with slow conditions takes no more than four places of the workers', async () => {
    const slow = onEntity('Task', ['update'], 'last(range(1e5)) > 0');
    const apps = [await newApp(), await newApp(), await newApp(), await newApp()];
    for (const app of apps) await create(app, { trigger: slow });
    const ids = apps.map(({ id }) => id);
    const events = [...apps, ...apps, ...apps].map((app) => change(app, { entity_name: 'Task' }));
    await Promise.all(events.map((event) => publish(world, 'entity.updated', event)));
    let most = 0;
    await expect
      .poll(
        async () => {
          const { rows } = await sql<{ running: number; runs: number }>`select
            (select count(*)::int from workflow_events
             where app_id = any(${ids}::uuid[]) and claimed_slot is not null) as running,
            (select count(*)::int from workflow_runs where app_id = any(${ids}::uuid[])) as runs`.execute(world.db);
          most = Math.max(most, rows[0]?.running ?? 0);
          return rows[0]?.runs;
        },
        { interval: 20 },
      )
      .toBe(12);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(8); // four run, and four more may not have stored their results yet
  });

  it('that many workflows wait for is compared with some of them at a time, and none is compared twice', async () => {
    const app = await newApp();
    const trigger = onEntity('Task', ['update'], '.data.state == "open"');
    const ids: string[] = [];
    for (let count = 0; count < workflowsAtOnce + 7; count += 1) ids.push((await create(app, { trigger })).id);
    ids.sort();
    const jq = openJq();
    let compared = 0;
    const evaluate: Jq['evaluate'] = async (...call) => {
      compared += 1;
      const isBusy = compared === 6;
      return isBusy ? { error: 'too many calls wait', kind: 'busy' } : jq.evaluate(...call);
    };
    const queue = createEventQueue({ jq: { evaluate }, wake: world.app.wake });
    const id = newId();
    const payload = change(app, { entity_name: 'Task', data: { state: 'open' } });
    const event = { id, name: 'entity.updated' as const, payload, occurred_at: world.clock.now() };
    const handle = async (handled_up_to: string | null) => {
      const row = { id, event, handled_up_to, workspace_id: workspace, app_id: app.id } as never;
      const signal = new AbortController().signal;
      const outcome = await queue.run(row, { db: world.db, now: world.clock.now(), signal });
      await outcome.record?.(world.db);
      return outcome;
    };
    const positions: unknown[] = [];
    let outcome = await handle(null);
    for (; outcome.runAgainInMs !== undefined; outcome = await handle(positions.at(-1) as string))
      positions.push(outcome.columns?.handled_up_to);
    expect([...positions, outcome.columns?.handled_up_to]).toEqual([ids[4], ids[24], ids[26]]);
    await jq.close();
    expect(compared).toBe(ids.length + 1);
    expect(await runsOf(app)).toHaveLength(ids.length);
  });

  it('that could not be handled is removed a week later', async () => {
    const { id: app_id } = await newApp();
    const day = 24 * 60 * 60 * 1000;
    const now = world.clock.now();
    const insert = async (days: number) => {
      const row = { id: newId(), workspace_id: workspace, app_id, failed_at: new Date(now.getTime() - days * day) };
      await world.db.insertInto('workflow_events').values(row).execute();
      return row.id;
    };
    await insert(8);
    const kept = await insert(6);
    await removeHandledEvents(world.db, now);
    const rows = await world.db.selectFrom('workflow_events').where('app_id', '=', app_id).select('id').execute();
    expect(rows).toEqual([{ id: kept }]);
  });

  it('makes a workflow inactive whose trigger cannot be read, and starts the others', async () => {
    const app = await newApp();
    const bad = await create(app, { trigger: onEntity('Task', ['update']) });
    await create(app, { trigger: onEntity('Task', ['update']) });
    await sql`update workflows set trigger = '{"config": {"trigger_type": "entity"}}' where id = ${bad.id}`.execute(
      world.db,
    );
    await publish(world, 'entity.updated', change(app, { entity_name: 'Task', depth: 6 }));
    await settle(); // the loop check also reads the triggers
    await publish(world, 'entity.updated', change(app, { entity_name: 'Task' }));
    await ended(app);
    expect(await get(app, bad.id)).toMatchObject({ status: 'inactive', status_reason: 'definition_invalid' });
    expect(await turnedOff(bad.id)).toEqual([{ actor: 'service', reason: 'definition_invalid' }]);
  });

  it('makes a workflow inactive that the plan no longer includes', async () => {
    const person = await world.person(`${newId()}@example.com`);
    const poor = await world.workspace(person, 'builder');
    const app = await world.appOf(person, poor);
    const as = await world.token(person, poor);
    const { id } = await createScene(world, as).create(app, { trigger: onEntity('Task', ['update']) });
    await world.db.updateTable('workspaces').set({ plan: 'free' }).where('id', '=', poor).execute();
    await publish(world, 'entity.updated', change(app, { entity_name: 'Task' }));
    const read = async () => (await world.call('GET', `/api/apps/${app.id}/workflows/${id}`, { as })).body;
    await expect.poll(async () => (await read()).status_reason).toBe('workflows_not_available');
    expect(await read()).toMatchObject({ status: 'inactive', total_runs: 0 });
    expect(await turnedOff(id)).toEqual([{ actor: 'service', reason: 'workflows_not_available' }]);
  });
});

describe('a schedule', () => {
  const makeDue = (id: string, at = new Date(world.clock.now().getTime() - 3 * 60 * 60 * 1000)) =>
    world.db.updateTable('workflows').set({ next_tick_at: at }).where('id', '=', id).execute();
  const everyHour = { trigger_type: 'scheduled', cron: '0 * * * *', timezone: 'UTC' };
  const rowOf = (id: string) =>
    world.db.selectFrom('workflows').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

  it('starts one run for the ticks that were missed, and continues with the next', async () => {
    const app = await newApp();
    const { id } = await create(app, { trigger: { config: everyHour } });
    const missed = new Date(world.clock.now().getTime() - 3 * 60 * 60 * 1000);
    await makeDue(id, missed);
    await ended(app);
    const runs = await runsOf(app);
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({ trigger_type: 'scheduled' });
    expect(await outputOf(app, runs[0] as Run)).toEqual({ scheduled_at: missed.toISOString() });
    const { next_tick_at, ticks } = await rowOf(id);
    expect(next_tick_at?.getTime()).toBeGreaterThan(world.clock.now().getTime());
    expect(ticks).toBe(1);
  });

  it('counts an interval from the tick before, however late it is handled', async () => {
    const app = await newApp();
    const { id } = await create(app, { trigger: { config: { trigger_type: 'scheduled', every_minutes: 60 } } });
    const missed = new Date(world.clock.now().getTime() - 150 * 60_000);
    await makeDue(id, missed);
    await ended(app);
    expect((await rowOf(id)).next_tick_at?.getTime()).toBe(missed.getTime() + 180 * 60_000);
  });

  it('ends after the number of ticks that it says', async () => {
    const app = await newApp();
    const { id } = await create(app, { trigger: { config: { ...everyHour, ends_after: 2 } } });
    await makeDue(id);
    await ended(app);
    expect(await get(app, id)).toMatchObject({ status: 'active' });
    await makeDue(id, new Date(world.clock.now().getTime() - 60_000));
    await ended(app, 2);
    expect(await get(app, id)).toMatchObject({ status: 'inactive', status_reason: 'end_condition_reached' });
    expect(await turnedOff(id)).toEqual([{ actor: 'service', reason: 'end_condition_reached' }]);
    expect((await send('POST', app, `/${id}/toggle-status`)).body).toMatchObject({
      status: 'inactive',
      status_reason: 'end_condition_reached',
    });
  });

  it('that has an end starts no run after it', async () => {
    const app = await newApp();
    const ends_at = new Date(world.clock.now().getTime() + 60_000).toISOString();
    const config = { trigger_type: 'scheduled', every_minutes: 5, ends_at };
    expect(await create(app, { trigger: { config } })).toMatchObject({
      status: 'inactive',
      status_reason: 'end_condition_reached',
    });
  });

  it('of an app in the trash starts nothing', async () => {
    const [app, other] = [await newApp(), await newApp()];
    const { id } = await create(app, { trigger: { config: everyHour } });
    const { id: later } = await create(other, { trigger: { config: everyHour } });
    await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', app.id).execute();
    await makeDue(id, new Date(world.clock.now().getTime() - 9 * 60 * 60 * 1000));
    await makeDue(later);
    await ended(other);
    expect(await rowOf(id)).toMatchObject({ total_runs: 0, ticks: 0 });
    await world.db.updateTable('apps').set({ deleted_date: null }).where('id', '=', app.id).execute();
  });

  it('that cannot be read makes its workflow inactive, and delays no other', async () => {
    const app = await newApp();
    const bad = await create(app, { trigger: { config: everyHour } });
    const good = await create(app, { trigger: { config: everyHour } });
    await sql`update workflows set trigger = '{"config": {"trigger_type": "scheduled", "cron": "nonsense", "timezone": "UTC"}}'
      where id = ${bad.id}`.execute(world.db);
    await makeDue(bad.id, new Date(world.clock.now().getTime() - 9 * 60 * 60 * 1000));
    await makeDue(good.id);
    await ended(app);
    expect(await get(app, bad.id)).toMatchObject({ status: 'inactive', status_reason: 'definition_invalid' });
    expect(await turnedOff(bad.id)).toEqual([{ actor: 'service', reason: 'definition_invalid' }]);
  });

  it('of a deleted workspace waits', async () => {
    const gone = await world.workspace(owner);
    const app = await world.appOf(owner, gone);
    const as = await world.token(owner, gone);
    const createIn = async (name: string, config: object) => {
      const body = { name, definition: passOn, trigger: { config } };
      return (await world.call('POST', `/api/apps/${app.id}/workflows`, { as, body })).body.id;
    };
    const id = await createIn('A', everyHour);
    const once = await createIn('B', everyHour);
    await world.db.updateTable('workspaces').set({ deleted_date: new Date() }).where('id', '=', gone).execute();
    await sql`update workflows set trigger = '{"config": {"trigger_type": "scheduled", "at": "2026-01-01T00:00:00Z"}}'
      where id = ${once}`.execute(world.db);
    await makeDue(once);
    await makeDue(id);
    await expect
      .poll(async () => (await rowOf(id)).next_tick_at?.getTime() ?? 0)
      .toBeGreaterThan(world.clock.now().getTime());
    expect(await rowOf(id)).toMatchObject({ total_runs: 0, status: 'active' });
    await expect.poll(async () => (await rowOf(once)).next_tick_at).toBeNull();
    expect(await rowOf(once)).toMatchObject({
      total_runs: 0,
      status: 'inactive',
      status_reason: 'end_condition_reached',
    });
    expect(await turnedOff(once)).toEqual([{ actor: 'service', reason: 'end_condition_reached' }]);
  });
});

describe('receiveHook', () => {
  const hook = { config: { trigger_type: 'webhook' } };
  const post = (url: string, body?: unknown, headers: Record<string, string> = {}, query = '') =>
    world.call('POST', new URL(url).pathname + query, { body: body as object, headers });

  it('starts a run with the body, the query and the headers that say what is sent', async () => {
    const app = await newApp();
    const { id, hook_url } = await create(app, { trigger: hook });
    const headers = { 'x-github-event': 'push', authorization: 'Bearer nothing', 'x-forwarded-for': '192.0.2.1' };
    const got = await post(hook_url, { a: [1] }, headers, '?b=2');
    expect(got).toMatchObject({ status: 200, body: { run_id: expect.any(String) } });
    await ended(app);
    const run = await getRun(app, id, got.body.run_id);
    expect(run).toMatchObject({ trigger_type: 'webhook', status: 'completed', is_test_run: false });
    const { output } = run.steps.at(-1);
    expect(output).toMatchObject({ query: { b: '2' }, body: { a: [1] }, headers: { 'x-github-event': 'push' } });
    expect(Object.keys(output.headers)).not.toContain('authorization');
    expect(Object.keys(output.headers)).not.toContain('x-forwarded-for');
  });

  it('takes any JSON, and no body as an empty object', async () => {
    const app = await newApp();
    const { hook_url } = await create(app, { trigger: hook });
    expect((await post(hook_url, [1, 2])).status).toBe(200);
    expect((await post(hook_url)).status).toBe(200);
    await ended(app, 2);
    const outputs = await Promise.all((await runsOf(app)).map((run) => outputOf(app, run)));
    expect(outputs.map(({ body }) => body)).toEqual(expect.arrayContaining([[1, 2], {}]));
  });

  it('starts one run for an Idempotency-Key, per hook', async () => {
    const app = await newApp();
    const [first, second] = [await create(app, { trigger: hook }), await create(app, { trigger: hook })];
    const key = { 'idempotency-key': newId() };
    const got = await post(first.hook_url, { a: 1 }, key);
    const again = await post(first.hook_url, { a: 1 }, key);
    expect(again.body).toEqual(got.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await post(first.hook_url, { a: 2 }, key)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    });
    expect((await post(second.hook_url, { a: 1 }, key)).body.run_id).not.toBe(got.body.run_id);
    await ended(app, 2);
  });

  it('starts nothing if the condition is not met', async () => {
    const app = await newApp();
    const { hook_url } = await create(app, { trigger: { ...hook, condition: '.body.kind == "wanted"' } });
    expect(await post(hook_url, { kind: 'other' })).toMatchObject({ status: 200, body: { run_id: null } });
    expect((await post(hook_url, { kind: 'wanted' })).body.run_id).toEqual(expect.any(String));
    await ended(app);
  });

  it('refuses an inactive workflow, and does not know an archived one of another app apart', async () => {
    const app = await newApp();
    const { id, hook_url } = await create(app, { trigger: hook });
    await send('POST', app, `/${id}/toggle-status`);
    expect(await post(hook_url, {})).toMatchObject({ status: 409, body: { code: 'workflow_inactive' } });
    await world.call('DELETE', `/api/apps/${app.id}`, { as: token });
    expect(await post(hook_url, {})).toMatchObject({ status: 404, body: { code: 'workflow_not_found' } });
  });

  it('makes the workflow inactive if its trigger cannot be read', async () => {
    const app = await newApp();
    const { id, hook_url } = await create(app, { trigger: hook });
    await sql`update workflows set trigger = '{"config": {}}' where id = ${id}`.execute(world.db);
    expect(await post(hook_url, {})).toMatchObject({ status: 409, body: { code: 'workflow_inactive' } });
    expect(await turnedOff(id)).toEqual([{ actor: 'service', reason: 'definition_invalid' }]);
  });

  it('does not know a token that was made up, and counts such requests as failed lookups', async () => {
    const made = { status: 404, body: { code: 'workflow_not_found' } };
    expect(await post(`${world.url}/api/hooks/plh_made-up`)).toMatchObject(made);
    const { hook_url } = await create(await newApp(), { trigger: hook });
    expect(await post(`${hook_url.slice(0, -1)}${hook_url.endsWith('a') ? 'b' : 'a'}`)).toMatchObject(made);
  });

  it("has a limit that is scaled by the workspace's plan, or by its own factor", async () => {
    const person = await world.person(`${newId()}@example.com`);
    const other = await world.workspace(person, 'pro');
    const scene = createScene(world, await world.token(person, other));
    const { hook_url } = await scene.create(await world.appOf(person, other), { trigger: hook });
    const readPolicy = async () =>
      (await world.call('POST', new URL(hook_url).pathname, { body: {} })).headers['ratelimit-policy'];
    expect(await readPolicy()).toBe('"receiveHook";q=900;w=60');
    await world.db.updateTable('workspaces').set({ plan: 'builder' }).where('id', '=', other).execute();
    expect(await readPolicy()).toBe('"receiveHook";q=300;w=60');
    await world.db.updateTable('workspaces').set({ rate_multiplier: 2 }).where('id', '=', other).execute();
    expect(await readPolicy()).toBe('"receiveHook";q=600;w=60');
  });

  it('refuses a body above 256 KiB', async () => {
    const { hook_url } = await create(await newApp(), { trigger: hook });
    const got = await post(hook_url, { a: 'x'.repeat(256 * 1024) });
    expect(got).toMatchObject({ status: 413, body: { code: 'payload_too_large', limit_bytes: 262_144 } });
  });
});

describe('deleting an app', () => {
  it('cancels its runs', async () => {
    const app = await newApp();
    const { id } = await create(app, { definition: define([{ pause: { wait: { hours: 1 } } }]) });
    await send('POST', app, `/${id}/run-now`);
    const [run] = await runsOf(app);
    await world.call('DELETE', `/api/apps/${app.id}`, { as: token });
    const read = async () =>
      world.db
        .selectFrom('workflow_runs')
        .selectAll()
        .where('id', '=', run?.run_id ?? '')
        .executeTakeFirstOrThrow();
    await expect.poll(async () => (await read()).status).toBe('cancelled');
    expect(await turnedOff(id)).toEqual([{ actor: 'user', reason: null }]);
  });
});
