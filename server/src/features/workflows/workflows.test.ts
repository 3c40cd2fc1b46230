// Tests the operations on workflows through the API (docs/api/workflows.md).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { waitUntilBlocked } from '../../../test/support/waiting.ts';
import { define, goTo, manual, onEntity, passOn, startWorkflowWorld } from '../../../test/support/workflows.ts';
import { newId } from '../../kit/ids.ts';

const { world, owner, workspace, token, send, create, get, newApp, pathOf } = await startWorkflowWorld();
const hook = { config: { trigger_type: 'webhook' } };
const everyHour = { config: { trigger_type: 'scheduled', cron: '0 * * * *', timezone: 'UTC' } };
const other = define([{ other: { set: { a: 1 } } }]);

const listAudits = async (id: string) => {
  const { rows } = await sql<{ type: string }>`
    select entry->>'type' as type from (select entry from audit_pending union all select entry from audit_entries) entries
    where entry->'target'->>'id' = ${id} order by entry->>'id'`.execute(world.db);
  return rows.map(({ type }) => type);
};

const viewerOf = async (app: { id: string }) => {
  const viewer = await world.member(workspace, 'viewer', `viewer-${app.id}@example.com`);
  return world.token(viewer, workspace);
};

/** Creates a workspace with a new owner, so its rate limits are not shared with other tests. */
const freeWorkspace = async () => {
  const person = await world.person(`${newId()}@example.com`);
  const free = await world.workspace(person, 'free');
  return { app: await world.appOf(person, free), as: await world.token(person, free), workspace: free };
};

describe('createWorkflow', () => {
  it('stores the definition as it was sent, and makes the workflow active', async () => {
    const app = await newApp();
    const body = { name: '  Greet  ', description: 'says hello', definition: passOn, trigger: manual };
    const got = await send('POST', app, '', body);
    expect(got).toMatchObject({
      status: 200,
      body: {
        app_id: app.id,
        name: 'Greet',
        description: 'says hello',
        status: 'active',
        status_reason: null,
        trigger: manual,
        total_runs: 0,
        consecutive_failures: 0,
        last_run_at: null,
        last_run_status: null,
        hook_url: null,
      },
    });
    expect(got.body.current_version_id).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(got.body.definition)).toBe(JSON.stringify(passOn));
    expect(await get(app, got.body.id)).toEqual(got.body);
    expect(await listAudits(got.body.id)).toEqual(['workflow.created']);
  });

  it('names each fault of a definition and a trigger by its place in the body', async () => {
    const app = await newApp();
    const definition = define([{ bad: { fork: {} } }, { worse: { set: '${ .a | }' } }]);
    const trigger = { config: { trigger_type: 'entity', entity_name: 'Task', event_types: [] } };
    const got = await send('POST', app, '', { name: 'Bad', definition, trigger });
    expect(got.status).toBe(422);
    const places = got.body.detail.map(({ loc, type }: { loc: unknown[]; type: string }) => [
      loc.slice(0, 4).join('/'),
      type,
    ]);
    expect(places).toContainEqual(['body/definition/do/0', 'definition_syntax']);
    expect(places).toContainEqual(['body/definition/do/1', 'expression_syntax']);
    expect(places.map(([place]: string[]) => place)).toContainEqual('body/trigger/config/event_types');
  });

  it('refuses a field that it does not know', async () => {
    const body = { name: 'A', definition: passOn, trigger: manual, triger: manual };
    const got = await send('POST', await newApp(), '', body);
    expect(got).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'triger'], type: 'extra_forbidden' }] },
    });
  });

  it('refuses a name that another workflow has, but not one that an archived workflow has', async () => {
    const app = await newApp();
    const first = await create(app, { name: 'Same' });
    const again = () => send('POST', app, '', { name: 'Same', definition: passOn, trigger: manual });
    expect(await again()).toMatchObject({ status: 409, body: { code: 'name_taken' } });
    await send('DELETE', app, `/${first.id}`);
    expect((await again()).status).toBe(200);
  });

  it('refuses the 201st workflow that is not archived', async () => {
    const app = await newApp();
    const first = await create(app);
    await sql`insert into workflows (id, workspace_id, app_id, name, status, trigger, trigger_type, current_version_id, created_date, updated_date)
      select gen_random_uuid(), workspace_id, app_id, 'copy ' || n, 'inactive', trigger, trigger_type, current_version_id, now(), now()
      from workflows, generate_series(1, 199) n where id = ${first.id}`.execute(world.db);
    const got = await send('POST', app, '', { name: 'One more', definition: passOn, trigger: manual });
    expect(got).toMatchObject({ status: 409, body: { code: 'limit_reached', limit: 200, resource: 'workflows' } });
    await send('DELETE', app, `/${first.id}`);
    expect((await send('POST', app, '', { name: 'One more', definition: passOn, trigger: manual })).status).toBe(200);
    expect(await send('POST', app, `/${first.id}/restore`)).toMatchObject({
      status: 409,
      body: { code: 'limit_reached' },
    });
  });

  it('refuses a thousand archived workflows', async () => {
    const app = await newApp();
    const first = await create(app);
    await sql`insert into workflows (id, workspace_id, app_id, name, status, trigger, trigger_type, current_version_id, created_date, updated_date)
      select gen_random_uuid(), workspace_id, app_id, 'copy', 'archived', trigger, trigger_type, current_version_id, now(), now()
      from workflows, generate_series(1, 1000) where id = ${first.id}`.execute(world.db);
    const got = await send('POST', app, '', { name: 'One more', definition: passOn, trigger: manual });
    expect(got).toMatchObject({ status: 409, body: { code: 'limit_reached', resource: 'archived_workflows' } });
  });

  it('gives a workflow with the trigger webhook an address, which a replay of the request withholds', async () => {
    const app = await newApp();
    const body = { name: 'Hook', definition: passOn, trigger: hook };
    const key = { 'idempotency-key': newId() };
    const got = await send('POST', app, '', body, key);
    expect(got.body.hook_url).toMatch(new RegExp(`^${world.config.BASE_URL}/api/hooks/plh_[0-9A-Za-z]{40}$`));
    const again = await send('POST', app, '', body, key);
    expect(again).toMatchObject({ status: 200, body: { id: got.body.id, hook_url: null } });
    expect(again.headers['x-warning']).toBe('secret_withheld');
  });

  it('makes a workflow inactive at once whose schedule has no tick left', async () => {
    const app = await newApp();
    const trigger = { config: { trigger_type: 'scheduled', at: '2020-01-01T00:00:00Z' } };
    const got = await send('POST', app, '', { name: 'Too late', definition: passOn, trigger });
    expect(got).toMatchObject({ status: 200, body: { status: 'inactive', status_reason: 'end_condition_reached' } });
  });

  it('lets a workflow receive the messages of an agent only if the caller is an editor of the agent', async () => {
    const app = await newApp();
    const agent = await world.appOf(owner, workspace, { app_type: 'user_agent', visibility: 'private' });
    const trigger = { config: { trigger_type: 'agent_message', agent_id: agent.id, event: 'message.created' } };
    const editor = await world.member(workspace, 'editor', 'editor-without-agent@example.com');
    const as = await world.token(editor, workspace);
    const body = { name: 'Listen', definition: passOn, trigger };
    const refused = await world.call('POST', pathOf(app), { as, body });
    expect(refused).toMatchObject({ status: 404, body: { code: 'agent_not_found' } });
    expect((await send('POST', app, '', body)).status).toBe(200);
  });

  it('does not know an entity that the app does not have, even when it is changed or turned on', async () => {
    const app = await newApp();
    const trigger = onEntity('Missing', ['create']);
    const unknown = { status: 404, body: { code: 'entity_not_found' } };
    expect(await send('POST', app, '', { name: 'A', definition: passOn, trigger })).toMatchObject(unknown);
    const { id } = await create(app);
    expect(await send('PUT', app, `/${id}`, { trigger })).toMatchObject(unknown);
    expect(await get(app, id)).toMatchObject({ trigger: manual });
    const stored = { trigger: JSON.stringify(trigger), trigger_type: 'entity', trigger_key: 'Missing' } as const;
    await world.db
      .updateTable('workflows')
      .set({ ...stored, status: 'inactive' })
      .where('id', '=', id)
      .execute();
    expect(await send('POST', app, `/${id}/toggle-status`)).toMatchObject(unknown);
    expect(await get(app, id)).toMatchObject({ status: 'inactive' });
    expect(await create(app, { trigger: onEntity('User', ['create']) })).toMatchObject({ status: 'active' });
  });

  it('needs the plan builder', async () => {
    const { app, as } = await freeWorkspace();
    const got = await world.call('POST', pathOf(app), { as, body: { name: 'A', definition: passOn, trigger: manual } });
    expect(got).toMatchObject({ status: 402, body: { code: 'plan_required', required_plan: 'builder' } });
  });
});

describe('listWorkflows', () => {
  it('lists the newest first, without definitions, and archived ones only if they are asked for', async () => {
    const app = await newApp();
    const [first, second, third] = [await create(app), await create(app), await create(app)];
    await send('DELETE', app, `/${second.id}`);
    const page = await send('GET', app, '?limit=1');
    expect(page.body).toMatchObject({ items: [{ id: third.id }], has_more: true });
    expect(page.body.items[0]).not.toHaveProperty('definition');
    const next = await send('GET', app, `?limit=1&cursor=${encodeURIComponent(page.body.next_cursor)}`);
    expect(next.body).toMatchObject({ items: [{ id: first.id }], has_more: false });
    const all = (await send('GET', app, '?include_archived=true')).body.items;
    expect(all.map(({ id }: { id: string }) => id)).toEqual([third.id, second.id, first.id]);
  });

  it('refuses a cursor of another list', async () => {
    expect(await send('GET', await newApp(), '?cursor=made.up')).toMatchObject({
      status: 400,
      body: { code: 'cursor_invalid' },
    });
  });
});

describe('getWorkflow', () => {
  it('shows the address of a hook to editors only', async () => {
    const app = await newApp();
    const { id, hook_url } = await create(app, { trigger: hook });
    expect((await get(app, id)).hook_url).toBe(hook_url);
    const seen = await world.call('GET', pathOf(app, `/${id}`), { as: await viewerOf(app) });
    expect(seen).toMatchObject({ status: 200, body: { id, hook_url: null } });
    const readOnly = await world.token(owner, workspace, { permission: 'read_only' });
    const read = await world.call('GET', pathOf(app, `/${id}`), { as: readOnly });
    expect(read).toMatchObject({ status: 200, body: { id, hook_url: null } });
  });

  it('does not find a workflow of another app', async () => {
    const { id } = await create(await newApp());
    expect(await send('GET', await newApp(), `/${id}`)).toMatchObject({
      status: 404,
      body: { code: 'workflow_not_found' },
    });
  });

  it('draws the definition as a flowchart', async () => {
    const app = await newApp();
    const { id } = await create(app, {
      definition: define([
        { check: { switch: [{ open: goTo('notify', '${ .open }') }, { otherwise: goTo('end') }] } },
        { notify: { set: { a: 1 } } },
      ]),
    });
    const got = await send('GET', app, `/${id}`, undefined, { accept: 'text/vnd.mermaid' });
    expect(got.headers['content-type']).toBe('text/vnd.mermaid; charset=utf-8');
    expect(got.text).toBe(
      [
        'flowchart TD',
        '  start(["manual"])',
        '  t0{"check<br>switch"}',
        '  t1["notify<br>set"]',
        '  finish(["end"])',
        '  start --> t0',
        '  t0 -->|"open"| t1',
        '  t0 -->|"otherwise"| finish',
        '  t1 --> finish',
        '',
      ].join('\n'),
    );
  });
});

describe('updateWorkflow', () => {
  it('makes a new version if the definition changes, and keeps the fields that are not sent', async () => {
    const app = await newApp();
    const before = await create(app, { description: 'kept' });
    const got = await send('PUT', app, `/${before.id}`, { definition: other, change_summary: 'another' });
    expect(got).toMatchObject({ status: 200, body: { name: before.name, description: 'kept', definition: other } });
    expect(got.body.current_version_id).not.toBe(before.current_version_id);
    const { items } = (await send('GET', app, `/${before.id}/versions`)).body;
    expect(items).toMatchObject([
      { version_id: got.body.current_version_id, change_summary: 'another', definition: other, created_by: owner.id },
      { version_id: before.current_version_id, change_summary: null, definition: passOn },
    ]);
    expect(await listAudits(before.id)).toEqual(['workflow.created', 'workflow.updated']);
  });

  it('changes nothing if all is the same, whatever the order of keys', async () => {
    const app = await newApp();
    const before = await create(app);
    const { document, do: tasks } = passOn;
    const got = await send('PUT', app, `/${before.id}`, {
      name: before.name,
      definition: { do: tasks, document },
      trigger: manual,
    });
    expect(got).toMatchObject({ status: 200, body: before });
    expect(got.headers['x-changed']).toBe('false');
  });

  it('keeps the address of a hook until the trigger is another one', async () => {
    const app = await newApp();
    const { id, hook_url } = await create(app, { trigger: hook });
    const change = async (trigger: object) => (await send('PUT', app, `/${id}`, { trigger })).body.hook_url;
    expect(await change({ ...hook, condition: '.body.a' })).toBe(hook_url);
    expect(await change(manual)).toBeNull();
    expect(await world.call('POST', new URL(hook_url).pathname)).toMatchObject({ status: 404 });
    expect(await change(hook)).not.toBe(hook_url);
  });

  it('begins a schedule again if the schedule changes, and not if only the condition does', async () => {
    const app = await newApp();
    const trigger = { config: { trigger_type: 'scheduled', every_minutes: 60, ends_after: 5 } };
    const { id } = await create(app, { trigger });
    const before = { ticks: 3, next_tick_at: new Date(Date.now() + 17 * 60_000) };
    await world.db.updateTable('workflows').set(before).where('id', '=', id).execute();
    const change = async (trigger: object) => {
      expect(await send('PUT', app, `/${id}`, { trigger })).toMatchObject({ status: 200, body: { trigger } });
      const columns = ['ticks', 'next_tick_at'] as const;
      return world.db.selectFrom('workflows').select(columns).where('id', '=', id).executeTakeFirstOrThrow();
    };
    expect(await change({ ...trigger, condition: '.scheduled_at != null' })).toEqual(before);
    const after = await change({ config: { ...trigger.config, every_minutes: 90 } });
    expect(after.ticks).toBe(0);
    expect(after.next_tick_at?.getTime()).toBeGreaterThan(Date.now() + 80 * 60_000);
  });

  it('clears a description, and refuses a taken name and an archived workflow', async () => {
    const app = await newApp();
    const [first, second] = [await create(app, { description: 'x' }), await create(app)];
    expect((await send('PUT', app, `/${first.id}`, { description: null })).body.description).toBeNull();
    expect(await send('PUT', app, `/${first.id}`, { name: second.name })).toMatchObject({
      status: 409,
      body: { code: 'name_taken' },
    });
    await send('DELETE', app, `/${first.id}`);
    expect(await send('PUT', app, `/${first.id}`, { name: 'x' })).toMatchObject({
      status: 400,
      body: { code: 'workflow_archived' },
    });
  });

  it('refuses an agent that the caller cannot edit', async () => {
    const app = await newApp();
    const { id } = await create(app);
    const trigger = { config: { trigger_type: 'agent_message', agent_id: newId(), event: 'message.created' } };
    expect(await send('PUT', app, `/${id}`, { trigger })).toMatchObject({
      status: 404,
      body: { code: 'agent_not_found' },
    });
  });

  it('keeps the newest hundred versions', async () => {
    const app = await newApp();
    const { id } = await create(app);
    await sql`insert into workflow_versions (workspace_id, workflow_id, version_id, definition, created_date)
      select ${workspace}, ${id}, lpad(n::text, 64, '0'), '{}', now() - n * interval '1 day' from generate_series(1, 120) n`.execute(
      world.db,
    );
    await send('PUT', app, `/${id}`, { definition: other });
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from workflow_versions where workspace_id = ${workspace} and workflow_id = ${id}`.execute(
      world.db,
    );
    expect(rows[0]?.count).toBe(100);
    expect((await send('GET', app, `/${id}/versions?limit=1`)).body.items[0].definition).toEqual(other);
  });
});

describe('listWorkflowVersions', () => {
  it('pages through the versions', async () => {
    const app = await newApp();
    const { id } = await create(app);
    await send('PUT', app, `/${id}`, { definition: other });
    expect((await send('GET', app, `/${id}/versions?limit=0`)).status).toBe(422);
    const first = await send('GET', app, `/${id}/versions?limit=1`);
    const second = await send(
      'GET',
      app,
      `/${id}/versions?limit=1&cursor=${encodeURIComponent(first.body.next_cursor)}`,
    );
    expect([first.body.items[0].definition, second.body.items[0].definition]).toEqual([other, passOn]);
    expect(second.body.has_more).toBe(false);
    expect(await send('GET', app, `/${id}/versions?cursor=x.y`)).toMatchObject({
      status: 400,
      body: { code: 'cursor_invalid' },
    });
  });

  it('ends a page at 2 MiB of definitions, or at 50 of them by default', async () => {
    const app = await newApp();
    const { id, current_version_id } = await create(app);
    const addVersions = (from: number, count: number, definition: object) =>
      world.db
        .insertInto('workflow_versions')
        .values(
          Array.from({ length: count }, (_, index) => ({
            workspace_id: workspace,
            workflow_id: id,
            version_id: String(from + index).padStart(64, '0'),
            definition: JSON.stringify(definition),
            created_date: new Date(Date.now() + (from + index) * 1_000),
          })),
        )
        .execute();
    await addVersions(1, 60, {});
    await addVersions(61, 39, { large: 'x'.repeat(127 * 1024) });
    const pages: string[][] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const got = await send('GET', app, `/${id}/versions?${cursor && `cursor=${encodeURIComponent(cursor)}`}`);
      expect(got.status).toBe(200);
      pages.push(got.body.items.map((item: { version_id: string }) => item.version_id));
      cursor = got.body.next_cursor;
    }
    // Of the 39 large versions, 16 fit into 2 MiB. The last 7 share a page with 43 small ones.
    expect(pages.map((page) => page.length)).toEqual([16, 16, 50, 18]);
    const expected = Array.from({ length: 99 }, (_, index) => String(99 - index).padStart(64, '0'));
    expect(pages.flat()).toEqual([...expected, current_version_id]);
    expect((await send('GET', app, `/${id}/versions?limit=100`)).body.items).toHaveLength(16);
  });
});

describe('validateWorkflow', () => {
  const check = async (body: object) => (await send('POST', await newApp(), '/validate-definition', body)).body;

  it('says what a valid definition consists of', async () => {
    const definition = define([
      { load: { call: 'entity.get', with: { entity: 'Task', id: '${ .entity_id }' } } },
      { note: { set: { a: 1 } } },
    ]);
    const body = await check({ definition, trigger: onEntity('Task', ['create']) });
    expect(body).toEqual({ valid: true, errors: [], task_types: ['call', 'set'], calls: ['entity.get'] });
  });

  it('answers 200 with the faults of an invalid one', async () => {
    const body = await check({
      definition: define([{ a: { fork: {} } }]),
      trigger: { config: { trigger_type: 'nothing' } },
    });
    expect(body).toMatchObject({ valid: false, task_types: [], calls: [] });
    const paths = body.errors.map(({ path }: { path: string }) => path);
    expect(paths.some((path: string) => path.startsWith('/definition/do/0/a'))).toBe(true);
    expect(paths.some((path: string) => path.startsWith('/trigger/config'))).toBe(true);
  });
});

describe('a definition that names an agent', () => {
  it('can be saved and turned on only by who sees the agent', async () => {
    const app = await newApp();
    const agent = await world.appOf(owner, workspace, { app_type: 'user_agent', visibility: 'private' });
    const ask = (agent_id: string) => define([{ ask: { call: 'agent.send', with: { agent_id, content: 'Hello?' } } }]);
    const { id } = await create(app, { definition: ask(agent.id) });
    const editor = await world.token(await world.member(workspace, 'editor', 'curious@example.com'), workspace);
    const as = (method: string, rest: string, body: object) =>
      world.call(method, pathOf(app, rest), { as: editor, body });
    const refused = { status: 404, body: { code: 'agent_not_found' } };
    const body = { name: 'Ask', definition: ask(agent.id), trigger: manual };
    expect(await as('POST', '', body)).toMatchObject(refused);
    const plain = (await as('POST', '', { ...body, definition: passOn })).body;
    expect(await as('PUT', `/${plain.id}`, { definition: ask(agent.id) })).toMatchObject(refused);
    expect(await as('POST', `/${id}/toggle-status`, { status: 'inactive' })).toMatchObject({ status: 200 });
    expect(await as('POST', `/${id}/toggle-status`, { status: 'active' })).toMatchObject(refused);
    expect(await send('POST', app, `/${id}/toggle-status`, { status: 'active' })).toMatchObject({ status: 200 });
    const shown = await world.appOf(owner, workspace, { app_type: 'user_agent', visibility: 'workspace' });
    expect(await as('PUT', `/${plain.id}`, { definition: ask(shown.id) })).toMatchObject({ status: 200 });
  });
});

describe('an app in the trash', () => {
  it('gets no active workflow by a request that began before', async () => {
    const app = await newApp();
    const { id } = await create(app);
    await send('POST', app, `/${id}/toggle-status`, { status: 'inactive' });
    const requests = [
      () => send('POST', app, '', { name: 'Late', definition: passOn, trigger: manual }),
      () => send('PUT', app, `/${id}`, { trigger: everyHour }),
      () => send('POST', app, `/${id}/toggle-status`, { status: 'active' }),
    ];
    for (const request of requests) {
      // Other transactions see the unchanged app until this transaction ends.
      const sent = await world.db.transaction().execute(async (db) => {
        await db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', app.id).execute();
        const answer = request();
        await Promise.race([waitUntilBlocked(db), answer]);
        return { answer };
      });
      expect(await sent.answer).toMatchObject({ status: 404, body: { code: 'app_not_found' } });
      await world.db.updateTable('apps').set({ deleted_date: null }).where('id', '=', app.id).execute();
    }
    expect((await send('GET', app)).body.items).toMatchObject([{ id, status: 'inactive', trigger: manual }]);
  });
});

describe('a stored workflow that could not be created like this', () => {
  it('whose trigger cannot be read takes another definition', async () => {
    const app = await newApp();
    const { id } = await create(app);
    await sql`update workflows set status = 'inactive', trigger = '{"config": {}}' where id = ${id}`.execute(world.db);
    expect(await send('PUT', app, `/${id}`, { definition: other })).toMatchObject({
      status: 200,
      body: { definition: other },
    });
  });

  it('whose type of trigger is another one gets that of its trigger when it is turned on', async () => {
    const app = await newApp();
    const { id } = await create(app, { trigger: hook });
    await sql`update workflows set status = 'inactive', trigger_type = 'manual', hook_token_hash = null,
      hook_token_sealed = null where id = ${id}`.execute(world.db);
    expect((await send('POST', app, `/${id}/toggle-status`)).body).toMatchObject({ status: 'active' });
    const { rows } = await sql`select trigger_type from workflows where id = ${id}`.execute(world.db);
    expect(rows).toEqual([{ trigger_type: 'webhook' }]);
    expect((await get(app, id)).hook_url).toContain('/api/hooks/');
  });

  it('keeps its current version, even if a hundred others are dated after it', async () => {
    const app = await newApp();
    const { id } = await create(app);
    await sql`insert into workflow_versions (workspace_id, workflow_id, version_id, definition, created_date)
      select ${workspace}, ${id}, 'later ' || n, '{}', now() + interval '1 year' from generate_series(1, 100) n`.execute(
      world.db,
    );
    expect((await send('PUT', app, `/${id}`, { definition: other })).status).toBe(200);
    expect(await get(app, id)).toMatchObject({ definition: other });
  });

  it('has at most a thousand versions, with those that runs use', async () => {
    const app = await newApp();
    const { id } = await create(app);
    await sql`with versions as (
      insert into workflow_versions (workspace_id, workflow_id, version_id, definition, created_date)
      select ${workspace}, ${id}, 'earlier ' || n, '{}', '2020-01-01' from generate_series(1, 999) n returning version_id)
      insert into workflow_runs (id, workspace_id, app_id, workflow_id, workflow_name, version_id, trigger_type, input, started_at)
      select gen_random_uuid(), ${workspace}, ${app.id}, ${id}, 'A', version_id, 'manual', '{}', now() from versions`.execute(
      world.db,
    );
    expect(await send('PUT', app, `/${id}`, { definition: other })).toMatchObject({
      status: 409,
      body: { code: 'limit_reached', resource: 'workflow_versions', limit: 1_000 },
    });
    expect(await get(app, id)).toMatchObject({ definition: passOn });
  });
});

describe('archiveWorkflow', () => {
  it('archives a workflow once', async () => {
    const app = await newApp();
    const { id } = await create(app, { trigger: everyHour });
    expect(await send('DELETE', app, `/${id}`)).toMatchObject({ status: 200, body: { id, status: 'archived' } });
    const again = await send('DELETE', app, `/${id}`);
    expect(again).toMatchObject({ status: 200, body: { status: 'archived' } });
    expect(again.headers['x-changed']).toBe('false');
    expect(await listAudits(id)).toEqual(['workflow.created', 'workflow.archived']);
  });

  it('is open to every plan', async () => {
    const { app, as, workspace } = await freeWorkspace();
    const setPlan = (plan: 'free' | 'builder') =>
      world.db.updateTable('workspaces').set({ plan }).where('id', '=', workspace).execute();
    await setPlan('builder');
    const body = { name: 'A', definition: passOn, trigger: manual };
    const { id } = (await world.call('POST', pathOf(app), { as, body })).body;
    await setPlan('free');
    expect((await world.call('GET', pathOf(app, `/${id}`), { as })).status).toBe(200);
    expect((await world.call('DELETE', pathOf(app, `/${id}`), { as })).status).toBe(200);
    expect((await world.call('POST', pathOf(app, `/${id}/restore`), { as })).status).toBe(402);
  });
});

describe('restoreWorkflow', () => {
  it('takes a workflow out of the archive, inactive', async () => {
    const app = await newApp();
    const { id } = await create(app);
    await send('DELETE', app, `/${id}`);
    expect(await send('POST', app, `/${id}/restore`)).toMatchObject({
      status: 200,
      body: { id, status: 'inactive', status_reason: null },
    });
    expect((await send('POST', app, `/${id}/restore`)).headers['x-changed']).toBe('false');
    expect(await listAudits(id)).toEqual(['workflow.created', 'workflow.archived', 'workflow.restored']);
  });

  it('refuses if another workflow has its name now', async () => {
    const app = await newApp();
    const { id, name } = await create(app);
    await send('DELETE', app, `/${id}`);
    await create(app, { name });
    expect(await send('POST', app, `/${id}/restore`)).toMatchObject({ status: 409, body: { code: 'name_taken' } });
  });
});

describe('toggleWorkflow', () => {
  const toggle = (app: { id: string }, id: string, body?: object) => send('POST', app, `/${id}/toggle-status`, body);
  const nextTick = async (id: string) =>
    (await world.db.selectFrom('workflows').select('next_tick_at').where('id', '=', id).executeTakeFirstOrThrow())
      .next_tick_at;

  it('turns a workflow off and on, and its schedule with it', async () => {
    const app = await newApp();
    const { id } = await create(app, { trigger: everyHour });
    expect(await nextTick(id)).not.toBeNull();
    expect(await toggle(app, id)).toMatchObject({ status: 200, body: { id, status: 'inactive', status_reason: null } });
    expect(await nextTick(id)).toBeNull();
    expect((await toggle(app, id, { status: 'inactive' })).headers['x-changed']).toBe('false');
    expect(await toggle(app, id, { status: 'active' })).toMatchObject({ status: 200, body: { status: 'active' } });
    expect((await nextTick(id))?.getTime()).toBeGreaterThan(world.clock.now().getTime());
    expect(await listAudits(id)).toEqual(['workflow.created', 'workflow.toggled', 'workflow.toggled']);
  });

  it('refuses an archived workflow', async () => {
    const app = await newApp();
    const { id } = await create(app);
    await send('DELETE', app, `/${id}`);
    expect(await toggle(app, id)).toMatchObject({ status: 400, body: { code: 'workflow_archived' } });
  });

  it('leaves a workflow inactive whose stored definition is not valid', async () => {
    const app = await newApp();
    const { id } = await create(app);
    await toggle(app, id);
    await sql`update workflow_versions set definition = '{"do": []}' where workspace_id = ${workspace} and workflow_id = ${id}`.execute(
      world.db,
    );
    const got = await toggle(app, id);
    expect(got).toMatchObject({ status: 200, body: { status: 'inactive', status_reason: 'definition_invalid' } });
    expect(await send('POST', app, `/${id}/run-now`)).toMatchObject({
      status: 409,
      body: { code: 'workflow_inactive' },
    });
    const drawn = await send('GET', app, `/${id}`, undefined, { accept: 'text/vnd.mermaid' });
    expect(drawn).toMatchObject({ status: 200 });
  });

  it('needs the plan builder to turn a workflow on, and none to turn it off', async () => {
    const { app, as, workspace } = await freeWorkspace();
    const setPlan = (plan: 'free' | 'builder') =>
      world.db.updateTable('workspaces').set({ plan }).where('id', '=', workspace).execute();
    await setPlan('builder');
    const body = { name: 'A', definition: passOn, trigger: manual };
    const { id } = (await world.call('POST', pathOf(app), { as, body })).body;
    await setPlan('free');
    const turn = (status: string) => world.call('POST', pathOf(app, `/${id}/toggle-status`), { as, body: { status } });
    expect((await turn('inactive')).status).toBe(200);
    expect(await turn('active')).toMatchObject({ status: 402, body: { code: 'plan_required' } });
  });

  it('refuses to turn on what listens to an agent that the caller cannot edit', async () => {
    const app = await newApp();
    const agent = await world.appOf(owner, workspace, { app_type: 'user_agent', visibility: 'private' });
    const trigger = { config: { trigger_type: 'agent_message', agent_id: agent.id, event: 'message.completed' } };
    const { id } = await create(app, { trigger });
    await toggle(app, id);
    const editor = await world.member(workspace, 'editor', 'toggles@example.com');
    const as = await world.token(editor, workspace);
    const got = await world.call('POST', pathOf(app, `/${id}/toggle-status`), { as });
    expect(got).toMatchObject({ status: 404, body: { code: 'agent_not_found' } });
  });
});

describe('deleting an app', () => {
  it('makes its workflows inactive, and restoring the app leaves them so', async () => {
    const app = await newApp();
    const { id } = await create(app, { trigger: everyHour });
    await world.call('DELETE', `/api/apps/${app.id}`, { as: token });
    const row = await world.db.selectFrom('workflows').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(row).toMatchObject({ status: 'inactive', next_tick_at: null });
    await world.call('POST', `/api/apps/${app.id}/restore`, { as: token });
    expect(await get(app, id)).toMatchObject({ status: 'inactive', status_reason: null });
  });
});

describe('deleteEntitySchema', () => {
  it('refuses an entity that a workflow names, until the workflow is archived', async () => {
    const app = await newApp();
    for (const name of ['Task', 'Note', 'Loose'])
      await world.call('PUT', `/api/apps/${app.id}/entity-schemas/${name}`, {
        as: token,
        body: { name, properties: {} },
      });
    const definition = define([{ load: { call: 'entity.list', with: { entity: 'Note' } } }]);
    const { id } = await create(app, { definition, trigger: onEntity('Task', ['update']) });
    const remove = (name: string) => world.call('DELETE', `/api/apps/${app.id}/entity-schemas/${name}`, { as: token });
    expect(await remove('Task')).toMatchObject({
      status: 409,
      body: { code: 'schema_in_use', entity_names: ['Task'] },
    });
    expect(await remove('Note')).toMatchObject({
      status: 409,
      body: { code: 'schema_in_use', entity_names: ['Note'] },
    });
    expect((await remove('Loose')).status).toBe(200);
    await send('PUT', app, `/${id}`, { trigger: manual });
    expect((await remove('Task')).status).toBe(200);
    await send('DELETE', app, `/${id}`);
    expect((await remove('Note')).status).toBe(200);
  });
});
