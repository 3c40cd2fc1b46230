// Tests export and import. An archive contains everything except the tables and columns that it lists as omitted, and
// exporting and importing a workspace changes only ids and dates.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createArchiveTables, exportTo, importWorkspace, readArchive } from '../../../test/support/archives.ts';
import { createFullWorkspace } from '../../../test/support/full-workspace.ts';
import { runDueRows } from '../../../test/support/run-queue.ts';
import { startWorld } from '../../../test/support/world.ts';
import { exportBytes } from '../../core/auth/limits.ts';
import { countWorkspaceBytes } from '../../core/auth/rate-limits/byte-budget.ts';
import { releaseExpired } from '../../core/credits/reservations.ts';
import type { Row } from '../../kit/archive/read-archive.ts';
import { newId } from '../../kit/ids.ts';
import { omittedColumns, omittedTables, parts } from './parts.ts';

const folder = mkdtempSync(join(tmpdir(), 'plinth-export-'));
const world = await startWorld({ environment: { STORAGE_FOLDER: folder } });
const asExported = { defaultPlan: 'enterprise', keepPlan: true } as const;
const writeExports = () => runDueRows(world, 'workspace_exports');
const runJobs = async () => {
  await writeExports();
  for (const job of world.app.background.jobs) await job.run(world.app.database.db, world.clock.now());
};
const { owner, workspace, as, send, app, task, trashed } = await createFullWorkspace(world);
const day = 24 * 60 * 60 * 1000;

describe('an export', () => {
  it('is written by a worker and downloaded by the owner for seven days', async () => {
    const started = await send('POST', '/api/workspace/export');
    expect(started).toMatchObject({ state: 'queued' });
    const at = `/api/workspace/export/${started.export_id}`;
    expect(await send('GET', at)).toMatchObject({ state: 'queued', attempt: 0, url: null, counts: {} });
    expect(await send('GET', `${at}?download=true`)).toMatchObject({ state: 'queued' });
    await runJobs();
    const ready = await send('GET', at);
    expect(ready).toMatchObject({
      state: 'ready',
      attempt: 1,
      counts: {
        apps: 2,
        agents: 1,
        agent_conversations: 1,
        agent_messages: 1,
        agent_memories: 1,
        app_users: 1,
        app_files: 2,
        entity_schemas: 1,
        entity_records: 3,
        folders: 4,
        webhooks: 2,
        folder_items: 1,
        app_shares: 1,
        credit_ledger: 6,
        credit_pools: 1,
      },
    });
    expect(ready.url).toBe(`${world.config.BASE_URL}${at}?workspaceId=${workspace}&download=true`);
    const fetched = await fetch(world.url + ready.url.slice(world.config.BASE_URL.length), {
      headers: { authorization: `Bearer ${as}` },
    });
    expect(fetched.headers.get('content-type')).toBe('application/gzip');
    const file = join(folder, 'fetched.tar.gz');
    writeFileSync(file, Buffer.from(await fetched.arrayBuffer()));
    const { manifest } = await readArchive(file);
    expect(manifest).toMatchObject({ workspace_id: workspace, secret_names: [{ app_id: app.id, name: 'API_KEY' }] });
    expect(manifest.left_out).toEqual([...Object.values(omittedTables), ...Object.values(omittedColumns)]);
    world.clock.aheadMs = 8 * 24 * 60 * 60 * 1000;
    expect(await send('GET', at)).toMatchObject({ code: 'export_not_found' });
    await runJobs();
    world.clock.aheadMs = 0;
    expect(await send('GET', at)).toMatchObject({ code: 'export_not_found' });
    expect(() => readFileSync(join(folder, 'exports', `${started.export_id}.tar.gz`))).toThrow();
  });

  it('is not stopped by a broken audit chain: of another workspace, or its own, which the manifest then says', async () => {
    const victim = await world.workspace(owner, 'pro', 'Broken chain');
    await sql`insert into audit_pending (id, workspace_id, entry) values (${newId()}, ${victim}, '{}')`.execute(
      world.db,
    );
    const asVictim = await world.token(owner, victim);
    for (const [token, unsealed] of [
      [as, 0],
      [asVictim, 2], // includes the export's own entry
    ] as const) {
      const { export_id } = (await world.call('POST', '/api/workspace/export', { as: token })).body;
      await writeExports();
      const got = await world.call('GET', `/api/workspace/export/${export_id}`, { as: token });
      expect(got.body).toMatchObject({ state: 'ready' });
      const { manifest } = await readArchive(join(folder, 'exports', `${export_id}.tar.gz`));
      const said = (manifest.left_out as string[]).filter((text) =>
        text.startsWith('audit entries that were not sealed'),
      );
      expect(said).toEqual(unsealed ? [`audit entries that were not sealed when the export began: ${unsealed}`] : []);
    }
    await sql`delete from audit_pending where workspace_id = ${victim} and entry = '{}'`.execute(world.db);
  });

  it('is for the owner only, and started once per idempotency key', async () => {
    const limited = await world.token(owner, workspace, { app_ids: [app.id] });
    for (const path of [`/api/workspace/export/${newId()}`, '/api/workspace/audit-log']) {
      expect(await world.call('GET', path, { as: limited })).toMatchObject({
        status: 403,
        body: { code: 'token_app_limited' },
      });
    }
    expect(await world.call('GET', `/api/workspace/export/${newId()}?download=maybe`, { as })).toMatchObject({
      status: 422,
    });
    const admin = await world.token(await world.member(workspace, 'admin', 'admin@example.com'), workspace);
    expect(await world.call('POST', '/api/workspace/export', { as: admin })).toMatchObject({
      status: 403,
      body: { code: 'role_required' },
    });
    const headers = { 'idempotency-key': 'export' };
    const [one, two] = [
      await world.call('POST', '/api/workspace/export', { as, headers }),
      await world.call('POST', '/api/workspace/export', { as, headers }),
    ];
    expect(one.body).toEqual(two.body);
    expect(await world.call('POST', '/api/workspace/export?other=1', { as, headers })).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    });
    expect(
      await world.call('POST', '/api/workspace/export', { as, headers: { 'idempotency-key': 'a b' } }),
    ).toMatchObject({ status: 422 });
    await runJobs();
  });

  it('contains no secret and no credential', async () => {
    const file = join(folder, 'secret.tar.gz');
    await exportTo(world.db, workspace, file);
    const { tables } = await readArchive(file);
    const text = JSON.stringify([...tables]);
    expect(text).not.toContain('must stay behind');
    expect(text).not.toMatch(/v1\.\w+\.|pl[pswku]_[0-9A-Za-z]{40}|argon2id/);
  });

  it('has one line per row, also for large rows and for white space in a schema', async () => {
    const place = await world.workspace(owner, 'pro', 'Large rows');
    const asOwner = await world.token(owner, place);
    const { id } = await world.appOf(owner, place);
    const content = Buffer.alloc(400_000, 'line\nbreak\n').toString('base64');
    const files = ['a', 'b', 'c'].map((path) => ({ path, content, encoding: 'base64' }));
    await world.call('PUT', `/api/apps/${id}/files`, { as: asOwner, body: { files } });
    const spaced = JSON.stringify({ name: 'T', properties: { text: {} }, rls: { read: true, write: true } }, null, 2);
    await sql`insert into entity_schemas values (${id}, 'T', ${spaced}, '{}', 1, now(), now())`.execute(world.db);
    for (const text of ['small', 'x\n'.repeat(60_000), 'small'])
      await world.call('POST', `/api/apps/${id}/entities/T`, { as: asOwner, body: { text } });
    const file = join(folder, 'large.tar.gz');
    expect(await exportTo(world.db, place, file)).toMatchObject({ app_files: 3, entity_schemas: 1, entity_records: 3 });
    const { workspace_id } = await importWorkspace(world.db, file, asExported, new Date());
    const moved = await world.db.selectFrom('apps').where('workspace_id', '=', workspace_id).select('id').execute();
    const stored = async (app: string | undefined) =>
      (
        await sql`select path as key, md5(content) as value from app_files where app_id = ${app}
          union all select id::text, md5(data::text) from entity_records where app_id = ${app} order by 1`.execute(
          world.db,
        )
      ).rows;
    expect(await stored(id)).toHaveLength(6);
    expect(await stored(moved[0]?.id)).toEqual(await stored(id));
  });

  it('is refused by the import if it was truncated or changed', async () => {
    const file = join(folder, 'damaged.tar.gz');
    await exportTo(world.db, workspace, file);
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(0, bytes.length - 200));
    await expect(importWorkspace(world.db, file, asExported, new Date())).rejects.toThrow();
  });

  it("counts archives that are written or downloaded, and waits for the next day above the workspace's budget", async () => {
    const place = await world.workspace(owner, 'free');
    const asOwner = await world.token(owner, place);
    const get = (path: string) => world.call('GET', path, { as: asOwner });
    const start = () => world.call('POST', '/api/workspace/export', { as: asOwner });
    const tenGibibytes = 10 * 1024 ** 3;
    await countWorkspaceBytes(world.app.counters, exportBytes, place, tenGibibytes - 1);
    const started = (await start()).body;
    await runJobs();
    const at = `/api/workspace/export/${started.export_id}`;
    expect(await get(at)).toMatchObject({ status: 200, body: { state: 'ready' } });
    for (const refused of [await start(), await get(`${at}?download=true`)])
      expect(refused).toMatchObject({ status: 429, body: { limit: tenGibibytes, window_seconds: 86_400 } });
  });

  it('that is larger than the rest of the budget can still be downloaded, once', async () => {
    const place = await world.workspace(owner, 'free');
    const asOwner = await world.token(owner, place);
    const started = (await world.call('POST', '/api/workspace/export', { as: asOwner })).body;
    await runJobs();
    await countWorkspaceBytes(world.app.counters, exportBytes, place, 10 * 1024 ** 3 - 20_000);
    const download = async () => {
      const url = `${world.url}/api/workspace/export/${started.export_id}?download=true`;
      const got = await fetch(url, { headers: { authorization: `Bearer ${asOwner}` } });
      return { status: got.status, bytes: (await got.arrayBuffer()).byteLength };
    };
    const statuses = [];
    for (let counted = 0; counted < 20_000; ) {
      const { status, bytes } = await download();
      statuses.push(status);
      if (status === 429) break;
      counted += bytes;
    }
    await expect.poll(async () => (await download()).status).toBe(429);
    expect(statuses[0]).toBe(200);
  });
});

describe('records', () => {
  it('are imported with their rules, authors and rebuilt keys', async () => {
    const file = join(folder, 'records.tar.gz');
    await exportTo(world.db, workspace, file);
    const { workspace_id } = await importWorkspace(world.db, file, asExported, new Date());
    const token = await world.token(owner, workspace_id);
    const apps = (await world.call('GET', '/api/apps', { as: token })).body.items;
    const at = `/api/apps/${apps[0].id}`;
    const { schema } = (await world.call('GET', `${at}/entity-schemas/Task`, { as: token })).body;
    expect(Object.keys(schema)).toEqual(['name', 'properties', 'unique', 'rls']);
    const mine = (await world.call('GET', `${at}/entities/Task`, { as: token })).body.items;
    expect(mine).toEqual([task]); // keeps its id, to which other records may refer
    const people = (await world.call('GET', `${at}/users`, { as: token })).body.items;
    const created = await world.call('POST', `${at}/users/${people[0].id}/tokens`, { as: token, body: {} });
    const theirs = await world.call('GET', `${at}/entities/Task`, { as: created.body.token });
    expect(theirs.body.items).toMatchObject([{ code: 'B', created_by_id: people[0].id }]);
    world.clock.aheadMs = 61_000;
    await runJobs();
    const state = world.db.selectFrom('entity_key_states').where('app_id', '=', apps[0].id).selectAll();
    expect((await state.executeTakeFirstOrThrow()).ready).toHaveLength(2);
    expect((await world.call('GET', `${at}/entities/Task`, { as: token })).body.items).toEqual([task]);
    world.clock.aheadMs = 0;
    expect(await world.call('POST', `${at}/entities/Task/${trashed.id}/restore`, { as: token })).toMatchObject({
      status: 200,
      body: { code: 'C' },
    });
  });
});

describe('the history of an app', () => {
  it('has the files and headers that were there before revisions were kept, also after an import', async () => {
    const exported = await world.workspace(owner, 'pro');
    const before = await world.token(owner, exported);
    const app = await world.appOf(owner, exported);
    const put = (path: string) =>
      world.call('PUT', `/api/apps/${app.id}/files/content?path=${path}`, { as: before, body: { content: path } });
    const headers = { csp: "default-src 'self'" };
    await put('old.js'); // 2
    await world.call('PATCH', `/api/apps/${app.id}/security/settings`, { as: before, body: { headers } }); // 3
    for (const table of ['app_files', 'app_security_settings'] as const) // as migration 0100 leaves them
      await world.db.updateTable(table).set({ since_revision: 0 }).where('app_id', '=', app.id).execute();
    for (const path of ['a.js', 'b.js']) await put(path); // 4 and 5
    const file = join(folder, 'history.tar.gz');
    await exportTo(world.db, exported, file);
    const { workspace_id } = await importWorkspace(world.db, file, asExported, new Date());
    const as = await world.token(owner, workspace_id);
    const [imported] = (await world.call('GET', '/api/apps', { as })).body.items;
    const list = async (revision: number) =>
      (await world.call('GET', `/api/apps/${imported.id}/files?revision=${revision}`, { as })).body.items;
    expect((await list(4)).map(({ path }: { path: string }) => path)).toEqual(['a.js', 'old.js']);
    const { body } = await world.call('GET', `/api/apps/${imported.id}/revisions/5?against=4`, { as });
    expect(body).toMatchObject({ changes: [{ path: 'b.js', kind: 'added' }], header_changes: null });
  });
});

describe('an imported workflow', () => {
  it('is inactive, and gets another address for its hook when it is turned on', async () => {
    const exported = await world.workspace(owner, 'pro');
    const app = await world.appOf(owner, exported);
    const call = (as: string, method: string, path: string, body?: object) => world.call(method, path, { as, body });
    const before = await world.token(owner, exported);
    const definition = {
      document: { dsl: '1.0.0', namespace: 'app', name: 'a', version: '1.0.0' },
      do: [{ note: { set: { seen: true } } }],
    };
    const trigger = { config: { trigger_type: 'webhook' } };
    const sent = { name: 'Hook', definition, trigger };
    const { hook_url } = (await call(before, 'POST', `/api/apps/${app.id}/workflows`, sent)).body;
    const file = join(folder, 'workflow.tar.gz');
    await exportTo(world.db, exported, file);
    const { workspace_id } = await importWorkspace(world.db, file, asExported, new Date());
    const after = await world.token(owner, workspace_id);
    const [imported] = (await call(after, 'GET', '/api/apps')).body.items;
    const at = `/api/apps/${imported.id}/workflows`;
    const [{ id, status }] = (await call(after, 'GET', at)).body.items;
    expect(status).toBe('inactive');
    expect((await call(after, 'GET', `${at}/${id}`)).body).toMatchObject({ hook_url: null, definition });
    expect(await call(after, 'POST', `${at}/${id}/toggle-status`)).toMatchObject({ body: { status: 'active' } });
    const renewed = (await call(after, 'GET', `${at}/${id}`)).body.hook_url;
    expect(renewed).toEqual(expect.stringContaining('/api/hooks/plh_'));
    expect(renewed).not.toBe(hook_url);
  });
});

describe('a round trip', () => {
  it('yields equal archives except for ids, dates and what the manifest lists as left out', async () => {
    const [first, second] = [join(folder, 'first.tar.gz'), join(folder, 'second.tar.gz')];
    await exportTo(world.db, workspace, first);
    const { workspace_id } = await importWorkspace(world.db, first, asExported, new Date());
    expect(workspace_id).not.toBe(workspace);
    await exportTo(world.db, workspace_id, second);
    const [before, after] = [await readArchive(first), await readArchive(second)];
    expect([...after.tables.keys()]).toEqual([...before.tables.keys()]);
    for (const [table, rows] of before.tables)
      expect(after.tables.get(table)?.map(plain), table).toEqual(rows.map(plain));
  });

  it('keeps the audit chain valid in the new workspace', async () => {
    const file = join(folder, 'chain.tar.gz');
    await runJobs();
    await exportTo(world.db, workspace, file);
    const { workspace_id } = await importWorkspace(world.db, file, asExported, new Date());
    const token = await world.token(owner, workspace_id);
    expect((await world.call('GET', '/api/workspace/audit-log/verify', { as: token })).body).toMatchObject({
      valid: true,
      broken_at: null,
    });
    const apps = (await world.call('GET', '/api/apps', { as: token })).body.items;
    expect(apps).toHaveLength(1);
    expect(apps[0].id).not.toBe(app.id);
    const content = await world.call('GET', `/api/apps/${apps[0].id}/files/content?path=b.bin`, { as: token });
    expect(content.body.content).toBe(Buffer.alloc(300, 7).toString('base64'));
    const tree = (await world.call('GET', '/api/app-folders/tree', { as: token })).body.items;
    const named = (name: string) => tree.find((each: { name: string }) => each.name === name);
    expect(named('Below')).toMatchObject({ parent_folder_id: named('Top').id, item_count: 1 });
    expect(named('First')).toMatchObject({ parent_folder_id: named('Second').id });
  });
});

it('an imported workspace has the same credits, and releases reservations of operations in progress', async () => {
  const file = join(folder, 'credits.tar.gz');
  await exportTo(world.db, workspace, file);
  const { workspace_id } = await importWorkspace(world.db, file, asExported, new Date());
  const token = await world.token(owner, workspace_id);
  const [before, after] = [
    await send('GET', '/api/workspace/credits'),
    (await world.call('GET', '/api/workspace/credits', { as: token })).body,
  ];
  expect(after).toEqual(before);
  expect(after).toMatchObject({ granted: 5, used: 2.5, reserved: 1 });
  while ((await releaseExpired(world.db, new Date(Date.now() + 31 * day))) > 0);
  const later = (await world.call('GET', '/api/workspace/credits', { as: token })).body;
  expect(later).toMatchObject({ reserved: 0, remaining: before.remaining + 1 });
  const check = world.app.background.jobs.find((job) => job.name === 'reconcile credit pools');
  while (((await check?.run(world.app.database.db, new Date(Date.now() + 2 * day))) ?? 0) > 0);
  expect(world.logLines.filter((line) => line.includes('does not match'))).toEqual([]);
});

it('connections are exported without tokens, and imported disconnected', async () => {
  const from = await world.workspace(owner, 'pro', 'With connections');
  const { id: app_id } = await world.appOf(owner, from);
  const now = new Date();
  const dates = { connected_at: now, created_date: now, updated_date: now };
  const connection = { id: newId(), workspace_id: from, app_id, user_id: owner.id, scopes: ['api'], ...dates };
  const tokens = { access_token_sealed: 'v1.sealed', refresh_token_sealed: 'v1.sealed', expires_at: now };
  const values = { ...connection, ...tokens, integration_type: 'gitlab', status: 'active' as const };
  await world.db.insertInto('connections').values(values).execute();
  const file = join(folder, 'connections.tar.gz');
  await exportTo(world.db, from, file);
  const [row] = (await readArchive(file)).tables.get('connections') ?? [];
  expect(row).toMatchObject({ integration_type: 'gitlab', status: 'active' });
  expect(JSON.stringify(row)).not.toContain('sealed');
  const { workspace_id } = await importWorkspace(world.db, file, asExported, new Date());
  const imported = world.db.selectFrom('connections').where('workspace_id', '=', workspace_id).selectAll();
  expect(await imported.execute()).toMatchObject([
    { status: 'disconnected', access_token_sealed: null, expires_at: null, scopes: ['api'], user_id: owner.id },
  ]);
});

it('imported webhooks are disabled, have no secret, keep their creator and continue their sequence numbers', async () => {
  const from = await world.workspace(owner, 'pro', 'With webhooks');
  const as = await world.token(owner, from);
  const { id } = (await world.call('POST', '/api/agents', { as, body: { name: 'Guide' } })).body;
  const sent = { target_url: 'https://hook.example.com/', events: ['message.created'], description: 'mine' };
  const creator = await world.member(from, 'editor', `${newId()}@example.com`);
  const asCreator = await world.token(creator, from);
  const created = (await world.call('POST', `/api/agents/${id}/webhooks`, { as: asCreator, body: sent })).body;
  await world.call('DELETE', `/api/workspace/members/${creator.email}`, { as });
  await world.call('PATCH', `/api/agents/${id}/webhooks/${created.id}`, { as, body: { signing: 'rotate' } });
  await sql`update webhook_sequences set last_sequence = 41 where webhook_id = ${created.id}`.execute(world.db);
  const file = join(folder, 'webhooks.tar.gz');
  await exportTo(world.db, from, file);
  const [row] = (await readArchive(file)).tables.get('webhooks') ?? [];
  expect(Object.keys(row ?? {}).filter((column) => /secret|previous/.test(column))).toEqual([]);

  const { workspace_id } = await importWorkspace(world.db, file, asExported, new Date());
  const token = await world.token(owner, workspace_id);
  const [agent] = (await world.call('GET', '/api/agents', { as: token })).body.items;
  const path = `/api/agents/${agent.id}/webhooks`;
  const [webhook] = (await world.call('GET', path, { as: token })).body;
  expect(webhook).toMatchObject({ ...sent, has_secret: false, disabled_at: expect.any(String) });
  expect(webhook.id).not.toBe(created.id);
  const ofCreator = await world.call('GET', `/api/workspace/members/${creator.email}/webhooks`, { as: token });
  expect(ofCreator.body.items).toMatchObject([{ app_id: agent.id, webhook: { id: webhook.id } }]);
  const message = {
    id: newId(),
    role: 'user',
    content: 'Hello',
    file_urls: [],
    created_date: '',
    updated_date: '',
  } as const;
  const source = { workspace_id, agent_id: agent.id, conversation_id: newId() };
  const data = { message, user: { id: owner.id, email: owner.email } };
  await world.app.publish(world.app.database.db, 'message.created', { ...source, data }, new Date());
  while ((await world.app.background.dispatch(world.app.database.db, new Date())) > 0);
  const log = (await world.call('GET', `${path}/${webhook.id}/deliveries`, { as: token })).body.items;
  expect(log).toMatchObject([{ sequence: 42, status: 'missed' }]);
});

it('leaves automations off after an import, with the secrets and the workflows that they name', async () => {
  const workflows = `/api/apps/${app.id}/workflows`;
  const definition = {
    document: { dsl: '1.0.0', namespace: 'app', name: 'w', version: '1.0.0' },
    do: [{ a: { set: { b: 1 } } }],
  };
  const trigger = { config: { trigger_type: 'manual' } };
  const workflow = await send('POST', workflows, { name: 'Moved', definition, trigger });
  const entity = { type: 'entity', entity_name: 'Task', event_types: ['update'] };
  const action = { type: 'run_workflow', workflow_id: workflow.id };
  await send('POST', `/api/apps/${app.id}/automations`, { name: 'Starts', ...entity, action });
  const before = (await send('GET', `/api/apps/${app.id}/automations`)).items;
  const file = join(folder, 'automations.tar.gz');
  await exportTo(world.db, workspace, file);
  const { workspace_id } = await importWorkspace(world.db, file, asExported, new Date());
  const token = await world.token(owner, workspace_id);
  const read = async (path: string) => (await world.call('GET', path, { as: token })).body.items;
  const imported = (await read('/api/apps')).find(({ name }: { name: string }) => name === app.name);
  const moved = (await read(`/api/apps/${imported.id}/workflows`)).find(
    ({ name }: { name: string }) => name === 'Moved',
  );
  const after = await read(`/api/apps/${imported.id}/automations`);
  const byName = (items: { name: string }[]) => items.toSorted((a, b) => a.name.localeCompare(b.name));
  expect(moved.id).not.toBe(workflow.id);
  expect(byName(after)).toEqual(
    byName(before).map((automation) => ({
      ...automation,
      id: expect.any(String),
      is_active: false,
      ...(automation.name === 'Starts' && { action: { ...action, workflow_id: moved.id } }),
    })),
  );
  const path = `/api/apps/${imported.id}/automations/${after[0].id}`;
  const on = await world.call('PATCH', path, { as: token, body: { is_active: true } });
  expect(on).toMatchObject({ status: 200, body: { is_active: true } });
});

/** Removes the columns that an import may change: ids, slugs, and whether a webhook or automation is on. */
const plain = (row: Row): Row => {
  const kept = Object.entries(row).filter(([column]) => !/(^|_)id$|^slug$|^disabled_at$|^is_active$/.test(column));
  return Object.fromEntries(kept);
};

it('every column of an exported table is in the archive or omitted with a reason', async () => {
  const { rows } = await sql<{ column: string }>`
    select table_name || '.' || column_name as column from information_schema.columns
    where table_schema = 'public' and table_name in (${sql.join(parts.map((part) => part.table))})`.execute(world.db);
  const tables = createArchiveTables();
  const exported = parts.flatMap(({ table }) =>
    Object.keys(tables[table]?.columns ?? {}).map((name) => `${table}.${name}`),
  );
  const known = [...exported, ...Object.keys(omittedColumns)];
  expect(known.toSorted()).toEqual(rows.map((row) => row.column).toSorted());
});

it('every tenant table is part of an export or omitted with a reason', async () => {
  const { rows } = await sql<{ table: string }>`
    select distinct c.table_name as table from information_schema.columns c
    join information_schema.tables t on t.table_name = c.table_name and t.table_type = 'BASE TABLE'
    where c.table_schema = 'public' and c.column_name in ('workspace_id', 'app_id')`.execute(world.db);
  const known = new Set([...parts.map((part) => part.table), ...Object.keys(omittedTables)]);
  expect(rows.map((row) => row.table).filter((table) => !known.has(table))).toEqual([]);
});
