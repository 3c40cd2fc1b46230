// Tests export and import: an archive contains everything but what it lists as left out, and a round trip changes only
// ids and dates.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import { countWorkspaceBytes } from '../../core/auth/byte-budget.ts';
import { exportBytes } from '../../core/auth/limits.ts';
import { grant, releaseExpired, reserve, settle } from '../../core/credits/reservations.ts';
import { type Row, readArchive, writeArchive } from '../../kit/archive.ts';
import { newId } from '../../kit/ids.ts';
import { writeExport } from './export.ts';
import { importWorkspace } from './import.ts';
import { omittedTables, parts } from './parts.ts';

const folder = mkdtempSync(join(tmpdir(), 'plinth-export-'));
const world = await startWorld({ environment: { STORAGE_FOLDER: folder } });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner, 'pro', 'Round trip');
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const as = await world.token(owner, workspace);
const send = async (method: string, path: string, body?: object) => (await world.call(method, path, { as, body })).body;
const asExported = { defaultPlan: 'enterprise', keepPlan: true } as const;
const runJobs = async (name?: string) => {
  const jobs = world.app.background.jobs.filter((job) => name === undefined || job.name === name);
  for (const job of jobs) await job.run(world.app.database.db, world.clock.now());
};
const writeExports = () => runJobs('write exports');

// A workspace with rows in every part of the archive.
const guest = await world.member(workspace, 'guest', 'guest@example.com');
const app = await send('POST', '/api/apps', { name: 'Shop', user_description: 'with "quotes" and ünicode' });
await send('PUT', `/api/apps/${app.id}/shares/${guest.email}`, { role: 'viewer' });
await send('PUT', `/api/apps/${app.id}/files`, {
  files: [
    { path: 'a.ts', content: 'ü' },
    { path: 'b.bin', content: Buffer.alloc(300, 7).toString('base64'), encoding: 'base64' },
  ],
});
await send('PUT', `/api/apps/${app.id}/secrets/API_KEY`, { value: 'the secret that must stay behind' });
const user = await send('POST', `/api/apps/${app.id}/users`, { email: 'ann@customers.example', data: { team: ['ü'] } });
await send('POST', `/api/apps/${app.id}/users/${user.id}/tokens`, {});
const runtime = await send('POST', `/api/apps/${app.id}/users/${user.id}/tokens`, {});
await send('PUT', `/api/apps/${app.id}/entity-schemas/Task`, {
  name: 'Task',
  properties: { zeta: {}, code: {}, cost: { type: 'number' } },
  unique: [['code']],
  rls: { read: { created_by_id: '{{user.id}}' }, write: true },
});
const task = await send('POST', `/api/apps/${app.id}/entities/Task`, { zeta: 'ü', code: 'A', cost: 0.1 });
const asUser = { as: runtime.token, body: { code: 'B' } };
await world.call('POST', `/api/apps/${app.id}/entities/Task`, asUser);
const trashed = await send('POST', `/api/apps/${app.id}/entities/Task`, { code: 'C' });
await send('DELETE', `/api/apps/${app.id}/entities/Task/${trashed.id}`);
const top = await send('POST', '/api/app-folders', { name: 'Top', scope: 'workspace' });
const below = await send('POST', '/api/app-folders', { name: 'Below', scope: 'workspace', parent_folder_id: top.id });
await send('POST', `/api/app-folders/${below.id}/items`, { app_ids: [app.id] });
const agent = await send('POST', '/api/agents', { name: 'Guide', instructions: 'Be kind.' });
const conversation = await send('POST', `/api/agents/${agent.id}/conversations`, { metadata: { from: ['test'] } });
const dated = { workspace_id: workspace, id: newId(), created_date: new Date() };
const message = { conversation_id: conversation.id, position: 1, role: 'user', content: 'Hello' } as const;
await world.db
  .insertInto('agent_messages')
  .values({ ...dated, ...message, file_urls: ['https://example.com/"a,b"'], updated_date: new Date() })
  .execute();
const known = { app_id: agent.id, user_id: guest.id, content: 'likes tea' };
await world.db
  .insertInto('agent_memories')
  .values({ ...dated, ...known })
  .execute();
await grant(world.db, workspace, { amount: 5, note: 'welcome', user_id: owner.id }, new Date());
const day = 24 * 60 * 60 * 1000;
const act = { workspace_id: workspace, app_id: app.id, operation: 'test', reference_id: app.id, leaseMs: 30 * day };
const spent = await reserve(world.db, { ...act, user_id: guest.id, amount: 3 }, new Date());
await settle(world.db, spent, 2.5, new Date());
await reserve(world.db, { ...act, user_id: null, amount: 1 }, new Date());

describe('an export', () => {
  it('is written by a worker and downloaded by the owner for seven days', async () => {
    const started = await send('POST', '/api/workspace/export');
    expect(started).toMatchObject({ state: 'queued' });
    const at = `/api/workspace/export/${started.export_id}`;
    expect(await send('GET', at)).toMatchObject({ state: 'queued', url: null, counts: {} });
    expect(await send('GET', `${at}?download=true`)).toMatchObject({ state: 'queued' });
    await runJobs();
    const ready = await send('GET', at);
    expect(ready).toMatchObject({
      state: 'ready',
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
        folders: 2,
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
    expect(manifest.left_out).toHaveLength(Object.keys(omittedTables).length);
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
      [asVictim, 2], // with the entry of the export itself
    ] as const) {
      const { export_id } = (await world.call('POST', '/api/workspace/export', { as: token })).body;
      await writeExports();
      const got = await world.call('GET', `/api/workspace/export/${export_id}`, { as: token });
      expect(got.body).toMatchObject({ state: 'ready' });
      const { manifest } = await readArchive(join(folder, 'exports', `${export_id}.tar.gz`));
      const said = manifest.left_out.filter((text) => text.startsWith('audit entries that were not sealed'));
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
    await writeExport(world.db, workspace, file, new Date());
    const { tables } = await readArchive(file);
    const text = JSON.stringify([...tables]);
    expect(text).not.toContain('must stay behind');
    expect(text).not.toMatch(/v1\.\w+\.|pl[pswku]_[0-9A-Za-z]{40}|argon2id/);
  });

  it('is refused by the import if it was truncated or changed', async () => {
    const file = join(folder, 'damaged.tar.gz');
    await writeExport(world.db, workspace, file, new Date());
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

const victim = await world.workspace(owner, 'pro', 'Victim');

describe('records', () => {
  it('are imported with their rules, authors and rebuilt keys', async () => {
    const file = join(folder, 'records.tar.gz');
    await writeExport(world.db, workspace, file, new Date());
    const { workspace_id } = await importWorkspace(world.db, file, asExported, new Date());
    const token = await world.token(owner, workspace_id);
    const apps = (await world.call('GET', '/api/apps', { as: token })).body.items;
    const at = `/api/apps/${apps[0].id}`;
    const { schema } = (await world.call('GET', `${at}/entity-schemas/Task`, { as: token })).body;
    expect(Object.keys(schema)).toEqual(['name', 'properties', 'unique', 'rls']);
    const mine = (await world.call('GET', `${at}/entities/Task`, { as: token })).body.items;
    expect(mine).toEqual([task]); // with the same id, because other records may refer to it
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

describe('a hostile archive', () => {
  const hostile = async (table: string, row: Row) => {
    const file = join(folder, `hostile-${table}.tar.gz`);
    await writeExport(world.db, workspace, file, new Date());
    const { manifest, tables } = await readArchive(file);
    tables.get(table)?.push(row);
    async function* chunks() {
      for (const [name, rows] of tables) yield { table: name, rows };
    }
    await writeArchive(file, chunks(), manifest);
    return file;
  };

  it('touches nothing outside the new workspace', async () => {
    const now = new Date().toISOString();
    const membership = {
      workspace_id: victim,
      user_id: guest.id,
      role: 'admin',
      access_state: 'active',
      created_date: now,
      updated_date: now,
    };
    const into = async (table: string, row: Row) =>
      importWorkspace(world.db, await hostile(table, row), asExported, new Date());
    await expect(into('memberships', membership)).rejects.toThrow(); // the row goes to the new workspace, where the guest already is a member
    const members = await world.db.selectFrom('memberships').where('workspace_id', '=', victim).selectAll().execute();
    expect(members.map((each) => each.user_id)).toEqual([owner.id]);
    await expect(into('memberships', { ...membership, user_id: newId() })).rejects.toThrow(
      'refers to something that is not in it',
    );
    const foreign = await world.appOf(owner, victim);
    await expect(
      into('app_files', {
        app_id: foreign.id,
        path: 'x',
        content: '',
        sha256: '',
        size: 0,
        encoding: 'utf-8',
        updated_date: now,
      }),
    ).rejects.toThrow('not in it');
    await expect(into('workspaces', { id: victim })).rejects.toThrow('does not contain exactly one workspace');
    const month = new Date(Date.UTC(2100, 0, 1)).toISOString();
    const unpaid = { granted: 1e9, used: 0, reserved: 0, monthly_limit: 0, checked_date: now };
    await expect(into('credit_pools', { workspace_id: victim, period_start: month, ...unpaid })).rejects.toThrow(
      'credit pools do not match its ledger',
    );
  });

  it("can't choose its own plan", async () => {
    const file = join(folder, 'plan.tar.gz');
    await writeExport(world.db, workspace, file, new Date());
    const { workspace_id } = await importWorkspace(
      world.db,
      file,
      { defaultPlan: 'free', keepPlan: false },
      new Date(),
    );
    const row = await world.db
      .selectFrom('workspaces')
      .where('id', '=', workspace_id)
      .selectAll()
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({ plan: 'free', monthly_limit: 25, rate_multiplier: null });
    const token = await world.token(owner, workspace_id);
    const credits = (await world.call('GET', '/api/workspace/credits', { as: token })).body;
    expect(credits).toMatchObject({ monthly_limit: 25, granted: 0, used: 2.5, reserved: 1, remaining: 21.5 });
  });
});

describe('a round trip', () => {
  it('yields equal archives except for ids, dates and what the manifest lists as left out', async () => {
    const [first, second] = [join(folder, 'first.tar.gz'), join(folder, 'second.tar.gz')];
    await writeExport(world.db, workspace, first, new Date());
    const { workspace_id } = await importWorkspace(world.db, first, asExported, new Date());
    expect(workspace_id).not.toBe(workspace);
    await writeExport(world.db, workspace_id, second, new Date());
    const [before, after] = [await readArchive(first), await readArchive(second)];
    expect(Object.keys(after.manifest.tables)).toEqual(Object.keys(before.manifest.tables));
    for (const [table, rows] of before.tables)
      expect(after.tables.get(table)?.map(plain), table).toEqual(rows.map(plain));
  });

  it('keeps the audit chain valid in the new workspace', async () => {
    const file = join(folder, 'chain.tar.gz');
    await runJobs();
    await writeExport(world.db, workspace, file, new Date());
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
    const parent = tree.find((each: { name: string }) => each.name === 'Top');
    expect(tree.find((each: { name: string }) => each.name === 'Below')).toMatchObject({
      parent_folder_id: parent.id,
      item_count: 1,
    });
  });
});

it('an imported workspace has the same credits, and releases reservations of operations in progress', async () => {
  const file = join(folder, 'credits.tar.gz');
  await writeExport(world.db, workspace, file, new Date());
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
  await writeExport(world.db, from, file, new Date());
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

/** A row without what a move may change: its own and others' ids, and a slug that was taken. */
const plain = (row: Row): Row => {
  const kept = Object.entries(row).filter(([column]) => !/(^|_)id$/.test(column) && column !== 'slug');
  return Object.fromEntries(kept);
};

it('every tenant table is part of an export or omitted with a reason', async () => {
  const { rows } = await sql<{ table: string }>`
    select distinct c.table_name as table from information_schema.columns c
    join information_schema.tables t on t.table_name = c.table_name and t.table_type = 'BASE TABLE'
    where c.table_schema = 'public' and c.column_name in ('workspace_id', 'app_id')`.execute(world.db);
  const known = new Set([...parts.map((part) => part.table), ...Object.keys(omittedTables)]);
  expect(rows.map((row) => row.table).filter((table) => !known.has(table))).toEqual([]);
});
