// Tests what is stored for requests with an Idempotency-Key: small answers are stored and counted, large ones are read
// again (docs/api/conventions.md#large-answers).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { define, manual } from '../../../../test/support/workflows.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { recountWorkspace } from '../../../core/storage/recount.ts';
import { readStorageUsage } from '../../../core/storage/usage.ts';

const world = await startWorld();
const { db } = world.app.database;
const owner = await world.person('owner@example.com');

async function newPlace() {
  const workspace = await world.workspace(owner, 'free');
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
  const as = await world.token(owner, workspace);
  const app = await world.appOf(owner, workspace);
  const call = (method: string, path: string, body?: unknown, key?: string) =>
    world.call(method, path.startsWith('/api') ? path : `/api/apps/${app.id}/${path}`, {
      as,
      body,
      ...(key !== undefined && { headers: { 'idempotency-key': key } }),
    });
  const rls = { create: true, read: true, update: true, delete: true };
  const schema = { name: 'Note', properties: { text: {}, code: {} }, unique: [['code']], rls };
  expect((await call('PUT', 'entity-schemas/Note', schema)).status).toBe(200);
  return { workspace, app, as, call, usage: () => readStorageUsage(db, workspace) };
}

const makeNotes = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, n) => ({ code: `${n}`, text: 'x'.repeat(bytes) }));

async function measureKeys(workspace: string) {
  const { rows } = await sql<{
    bytes: number;
    stored: number;
  }>`select coalesce(sum(octet_length(body::text)), 0)::int as bytes,
    coalesce(sum(size_bytes), 0)::int as stored from idempotency_keys where workspace_id = ${workspace}`.execute(
    world.db,
  );
  return rows[0] as { bytes: number; stored: number };
}

describe('an answer above 64 KiB', () => {
  it('of createRecords is not stored: a repeat reads the records as they are now', async () => {
    const { workspace, call } = await newPlace();
    const notes = makeNotes(20, 10_000);
    const create = () => call('POST', 'entities/Note/bulk', notes, 'k1');
    const first = await create();
    expect((await measureKeys(workspace)).bytes).toBeLessThan(2_000);
    const sentAt = world.clock.now();
    const again = await create();
    expect(again).toMatchObject({ status: 200, headers: { 'idempotent-replayed': 'true' } });
    expect(Date.parse(`${again.headers['x-data-as-of']}`)).toBeGreaterThanOrEqual(sentAt.getTime());
    expect(again.headers).not.toHaveProperty('x-partial-result');
    expect(again.body).toEqual(first.body);

    const ids = first.body.map(({ id }: { id: string }) => id);
    await call('DELETE', `entities/Note/${ids[3]}`);
    await call('PUT', `entities/Note/${ids[0]}`, { text: 'changed' });
    const later = await create();
    expect(later.headers['x-partial-result']).toBe('3');
    expect(later.body[3]).toBeNull();
    expect(later.body[0]).toMatchObject({ id: ids[0], text: 'changed' });
    expect(later.body.slice(4)).toEqual(first.body.slice(4));
    expect((await call('GET', 'entities/Note/count')).body.count).toBe(19);
  });

  it('of upsertRecords has its counts, and names the records that are gone', async () => {
    const { workspace, call } = await newPlace();
    const upsert = () => call('POST', 'entities/Note/upsert', { key: ['code'], records: makeNotes(20, 10_000) }, 'k1');
    const first = await upsert();
    expect((await measureKeys(workspace)).bytes).toBeLessThan(2_000);
    await call('DELETE', `entities/Note/${first.body.records[1].id}`);
    const again = await upsert();
    expect(again).toMatchObject({ status: 200, body: { created: 20, updated: 0 } });
    expect(again.headers).toMatchObject({ 'idempotent-replayed': 'true', 'x-partial-result': 'records.1' });
    expect(again.body.records.map((record: unknown) => record === null).indexOf(true)).toBe(1);
  });

  it('of createRecord is the record as it is now, and 404 once it was deleted', async () => {
    const { workspace, call } = await newPlace();
    const create = () => call('POST', 'entities/Note', { text: 'x'.repeat(100_000) }, 'k1');
    const first = await create();
    expect((await measureKeys(workspace)).bytes).toBeLessThan(200);
    expect(await create()).toMatchObject({ status: 200, body: first.body });
    await call('DELETE', `entities/Note/${first.body.id}`);
    expect(await create()).toMatchObject({ status: 404, body: { code: 'record_not_found' } });
    expect((await call('GET', 'entities/Note/count')).body.count).toBe(0);
  });

  it('does not show records that the caller may no longer read', async () => {
    const { call } = await newPlace();
    const create = () => call('POST', 'entities/Note/bulk', makeNotes(20, 10_000), 'k1');
    await create();
    const rls = { create: true, read: { user_condition: { role: 'nobody' } }, update: true, delete: true };
    const schema = { name: 'Note', properties: { text: {}, code: {} }, unique: [['code']], rls };
    const changed = await call('PUT', 'entity-schemas/Note', schema);
    expect(changed.status).toBe(200);
    const again = await create();
    expect(again.body).toEqual(Array.from({ length: 20 }, () => null));
    expect(again.headers['x-partial-result']?.split(',')).toHaveLength(20);
  });
});

describe('an answer that is not stored', () => {
  const notStored = {
    status: 409,
    body: { code: 'answer_not_stored', retry_safe: false },
  };

  it('because it is large and cannot be read again is announced, and a repeat changes nothing', async () => {
    const { workspace, call, app } = await newPlace();
    await world.db.updateTable('workspaces').set({ plan: 'pro' }).where('id', '=', workspace).execute();
    const tasks = Array.from({ length: 40 }, (_, n) => ({ [`step${n}`]: { set: { text: 'x'.repeat(2_000) } } }));
    const create = () => call('POST', 'workflows', { name: 'Large', trigger: manual, definition: define(tasks) }, 'k1');
    const first = await create();
    expect(first).toMatchObject({ status: 200, headers: { 'x-warning': 'answer_not_stored' } });
    expect(Buffer.byteLength(first.text)).toBeGreaterThan(64 * 1024);
    expect((await measureKeys(workspace)).stored).toBeLessThan(400);
    const again = await create();
    expect(again).toMatchObject(notStored);
    expect(again.headers).not.toHaveProperty('idempotent-replayed');
    const workflows = world.db.selectFrom('workflows').where('app_id', '=', app.id).select('id');
    expect(await workflows.execute()).toHaveLength(1);
  });

  it('because the storage quota is full is announced, and what a full workspace may do is done', async () => {
    const { workspace, call, usage } = await newPlace();
    for (const code of ['a', 'b']) await call('POST', 'entities/Note', { code });
    await world.db.updateTable('workspaces').set({ storage_quota_bytes: 1 }).where('id', '=', workspace).execute();
    world.clock.aheadMs += 61_000; // what this process has read expires
    const remove = () => call('DELETE', 'entities/Note', { query: { code: 'a' } }, 'k1');
    expect(await remove()).toMatchObject({ status: 200, headers: { 'x-warning': 'answer_not_stored' } });
    const { answers_bytes } = await usage();
    expect(answers_bytes).toBeLessThan(400);
    await call('POST', 'entities/Note', { code: 'a' });
    expect(await remove()).toMatchObject(notStored);
    expect((await usage()).answers_bytes).toBe(answers_bytes);
    expect((await call('GET', 'entities/Note/count')).body.count).toBe(1);
    expect(await recountWorkspace(db, workspace)).toBeUndefined();
    world.clock.aheadMs = 0;
  });
});

describe('stored answers', () => {
  it('count towards the storage of their workspace for a day', async () => {
    const { workspace, call, as, usage } = await newPlace();
    const create = (key: string) => call('POST', 'entities/Note', { text: 'x'.repeat(1_000) }, key);
    const first = await create('k1');
    expect(await create('k1')).toMatchObject({ status: 200, body: first.body });
    await create('k2');
    const { bytes, stored } = await measureKeys(workspace);
    expect(stored).toBeGreaterThan(2_000);
    expect(Math.abs(stored - bytes - 500)).toBeLessThan(100); // jsonb is printed with spaces
    expect((await usage()).answers_bytes).toBe(stored);
    expect((await world.call('GET', '/api/workspace', { as })).body.storage.answers_bytes).toBe(stored);
    expect(await recountWorkspace(db, workspace)).toBeUndefined();
    try {
      world.clock.aheadMs += 25 * 60 * 60_000;
      const job = world.app.background.jobs.find(({ name }) => name === 'remove expired idempotency keys');
      await job?.run(db, world.clock.now());
    } finally {
      world.clock.aheadMs = 0;
    }
    expect((await usage()).answers_bytes).toBe(0);
  });
});
