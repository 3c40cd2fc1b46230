// Tests counting the bytes that a workspace stores. The count always matches the stored data, and changes that would
// exceed the quota are refused.
import { mkdtempSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { importWorkspace } from '../../../test/support/archives.ts';
import { seed } from '../../../test/support/cases.ts';
import { runDueRows } from '../../../test/support/run-queue.ts';
import { createEmptyDatabase } from '../../../test/support/template.ts';
import { startWorld } from '../../../test/support/world.ts';
import type { AppRow } from '../../core/auth/proofs.ts';
import { recountStorage, recountWithin, recountWorkspace, type StorageDrift } from '../../core/storage/recount.ts';
import { foldDueInMs, foldStorageChanges, readStorageUsage, storageKinds } from '../../core/storage/usage.ts';
import { migrate, readMigrations } from '../../kit/db/migrate.ts';
import { newId } from '../../kit/ids.ts';

const folder = mkdtempSync(join(tmpdir(), 'plinth-storage-'));
const statements: string[] = [];
const world = await startWorld({
  environment: { STORAGE_FOLDER: folder },
  onStatement: (text) => statements.push(text),
});
const { db } = world.app.database;
const owner = await world.person('owner@example.com');
const dayMs = 24 * 60 * 60 * 1000;

async function runJob(name: string): Promise<void> {
  const job = world.app.background.jobs.find((each) => each.name === name);
  if (job === undefined) throw new Error(`there is no job ${name}`);
  await job.run(db, world.clock.now());
}

interface Place {
  readonly workspace: string;
  readonly app: AppRow;
  call(method: string, path: string, body?: unknown): ReturnType<typeof world.call>;
}

/** Creates a workspace on the free plan with an app that has the entity Note. `spare` is how many bytes it may still store. */
async function newPlace({ spare }: { readonly spare?: number } = {}): Promise<Place & { readonly quota: number }> {
  const workspace = await world.workspace(owner, 'free');
  const set = (columns: object) =>
    world.db.updateTable('workspaces').set(columns).where('id', '=', workspace).execute();
  await set({ rate_multiplier: 1000 });
  const as = await world.token(owner, workspace);
  const app = await world.appOf(owner, workspace);
  const place: Place = {
    workspace,
    app,
    call: (method, path, body) =>
      world.call(method, path.startsWith('/api') ? path : `/api/apps/${app.id}/${path}`, { as, body }),
  };
  const rls = { create: true, read: true, update: true, delete: true };
  const properties = { text: {}, code: {}, tags: { type: 'array' } };
  const schema = { name: 'Note', properties, unique: [['code']], rls };
  expect((await place.call('PUT', 'entity-schemas/Note', schema)).status).toBe(200);
  if (spare === undefined) return { ...place, quota: Number.POSITIVE_INFINITY };
  const quota = (await readStorageUsage(db, workspace)).used_bytes + spare;
  await set({ storage_quota_bytes: quota });
  world.clock.aheadMs += 61_000; // expires the usage that this process has cached
  return { ...place, quota };
}

const textOf = (bytes: number) => 'x'.repeat(bytes);

/** Measures the stored bytes: records as JavaScript's JSON, files and past versions, and archives on disk. */
async function measure({ workspace }: Pick<Place, 'workspace'>) {
  const apps = world.db.selectFrom('apps').where('workspace_id', '=', workspace).select('id');
  const records = await world.db.selectFrom('entity_records').where('app_id', 'in', apps).select('data').execute();
  const files = await world.db.selectFrom('app_files').where('app_id', 'in', apps).select('content').execute();
  const past = await world.db.selectFrom('app_past_contents').where('app_id', 'in', apps).select('content').execute();
  const versions = await world.db.selectFrom('app_past_versions').where('app_id', 'in', apps).select('name').execute();
  const exports = await world.db
    .selectFrom('workspace_exports')
    .where('workspace_id', '=', workspace)
    .where('state', '=', 'ready')
    .select('id')
    .execute();
  const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0);
  const archives = await Promise.all(exports.map(({ id }) => stat(join(folder, 'exports', `${id}.tar.gz`))));
  return {
    records_bytes: sum(records.map(({ data }) => 400 + Buffer.byteLength(JSON.stringify(data)))),
    files_bytes: sum([
      ...files.map(({ content }) => 250 + content.length),
      ...past.map(({ content }) => 150 + content.length),
      ...versions.map(({ name }) => 200 + Buffer.byteLength(name)),
    ]),
    archives_bytes: sum(archives.map(({ size }) => size)),
  };
}

async function expectExact(place: Pick<Place, 'workspace'>): Promise<void> {
  expect(await readStorageUsage(db, place.workspace)).toMatchObject(await measure(place));
}

describe('the count of stored bytes', () => {
  it('agrees with what is stored after any sequence of changes, and after purges and expiries', async () => {
    const place = await newPlace();
    await changeAtRandom(place, seed);
    await expectExact(place);
    const before = await measure(place);
    expect(Math.min(before.records_bytes, before.files_bytes, before.archives_bytes)).toBeGreaterThan(0);
    await foldStorageChanges(db, world.clock.now());
    await expectExact(place);
    expect((await place.call('GET', '/api/workspace')).body.storage).toMatchObject(before);
    try {
      world.clock.aheadMs += 31 * dayMs;
      const purges = ['purge records', 'purge history of expired apps', 'purge apps'];
      for (const job of [...purges, 'remove expired exports', ...purges]) await runJob(job);
      await expectExact(place);
      expect(await recountWorkspace(db, place.workspace)).toBeUndefined();
    } finally {
      world.clock.aheadMs -= 31 * dayMs;
    }
    const after = await measure(place);
    expect(after.archives_bytes).toBe(0);
    expect(after.records_bytes).toBeLessThan(before.records_bytes);
    expect(after.files_bytes).toBeLessThan(before.files_bytes);
  });

  it('of an imported workspace is that of the exported one; an import is never refused', async () => {
    const place = await newPlace();
    const awkward = [
      { text: 'ü ", : {} [] \\ \n \u0001 \u{1f600}' },
      { tags: [1, 1.5, -0.001, 123456.789, true, null, [], {}, [[]], { a: { b: [1, { c: ': ,' }] } }] },
      {},
    ];
    for (const data of awkward) expect((await place.call('POST', 'entities/Note', data)).status).toBe(200);
    await place.call('PUT', 'files/content?path=a.txt', { content: textOf(1_000) });
    const set = { storage_quota_bytes: 10 };
    await world.db.updateTable('workspaces').set(set).where('id', '=', place.workspace).execute();
    const { export_id } = (await place.call('POST', '/api/workspace/export')).body;
    await runDueRows(world, 'workspace_exports');
    const file = join(folder, 'exports', `${export_id}.tar.gz`);
    const { records_bytes } = await readStorageUsage(db, place.workspace);
    for (const [keepPlan, quota_bytes] of [
      [true, 10],
      [false, 500_000_000],
    ] as const) {
      const options = { defaultPlan: 'free', keepPlan } as const;
      const { workspace_id } = await importWorkspace(world.db, file, options, world.clock.now());
      await expectExact({ workspace: workspace_id });
      const stored = { records_bytes, files_bytes: 1_250, archives_bytes: 0, quota_bytes };
      expect(await readStorageUsage(db, workspace_id)).toMatchObject(stored);
    }
  });

  it('leaves the changes of kinds that a newer release counts to its workers', async () => {
    const place = await newPlace();
    await foldStorageChanges(db, world.clock.now());
    const undo = new Error('undo');
    const work = world.db.transaction().execute(async (db) => {
      const store = (kind: string) =>
        sql`insert into storage_changes values (${place.workspace}, ${kind}, 7)`.execute(db);
      const isDue = async () => (await sql.raw(foldDueInMs).execute(db)).rows.length > 0;
      const fold = async () => {
        const wasDue = await isDue();
        await foldStorageChanges(db, world.clock.now());
        return wasDue;
      };
      await sql`alter table storage_changes drop constraint storage_changes_kind_check`.execute(db);
      await store('later');
      expect(await fold()).toBe(false);
      await store('files');
      expect(await fold()).toBe(true);
      expect((await sql`select kind, bytes from storage_changes`.execute(db)).rows).toEqual([
        { kind: 'later', bytes: 7 },
      ]);
      throw undo;
    });
    await expect(work).rejects.toBe(undo);
  });

  it('makes no request wait for another transaction of the same workspace', async () => {
    const place = await newPlace();
    await world.db.transaction().execute(async (open) => {
      await sql`insert into storage_changes values (${place.workspace}, 'records', 0)`.execute(open);
      await sql`update storage_usage set records_bytes = 0 where workspace_id = ${place.workspace}`.execute(open);
      expect((await place.call('POST', 'entities/Note', { text: 'meanwhile' })).status).toBe(200);
    });
  });

  it('ends with the workspace', async () => {
    const place = await newPlace();
    await place.call('POST', 'entities/Note', { text: 'short-lived' });
    for (const content of ['a', 'b']) await place.call('PUT', 'files/content?path=a.txt', { content });
    await foldStorageChanges(db, world.clock.now());
    await world.db
      .updateTable('workspaces')
      .set({ deleted_date: world.clock.now() })
      .where('id', '=', place.workspace)
      .execute();
    try {
      world.clock.aheadMs += 31 * dayMs;
      for (const job of ['purge records', 'purge history of expired apps', 'purge workspaces']) await runJob(job);
    } finally {
      world.clock.aheadMs -= 31 * dayMs;
    }
    await foldStorageChanges(db, world.clock.now());
    for (const table of ['storage_usage', 'storage_changes'] as const) {
      const rows = await world.db.selectFrom(table).where('workspace_id', '=', place.workspace).selectAll().execute();
      expect(rows).toEqual([]);
    }
  });

  it('that is wrong is found by the weekly recount, reported and corrected, once', async () => {
    const place = await newPlace();
    await place.call('POST', 'entities/Note', { text: textOf(100) });
    await place.call('PUT', 'files/content?path=a.txt', { content: textOf(50) });
    await foldStorageChanges(db, world.clock.now());
    await sql`update storage_usage set records_bytes = records_bytes + 7, files_bytes = 0
      where workspace_id = ${place.workspace}`.execute(world.db);
    const reported: unknown[] = [];
    const recount = () => recountStorage(db, (drift) => reported.push(drift), world.clock.now());
    await recount();
    expect(reported).toEqual([]); // it was recounted less than a week ago
    try {
      world.clock.aheadMs += 8 * dayMs;
      await Promise.all([recount(), recount()]);
    } finally {
      world.clock.aheadMs -= 8 * dayMs;
    }
    expect(reported).toEqual([
      {
        ...Object.fromEntries(storageKinds.map((kind) => [kind, 0])),
        workspace_id: place.workspace,
        records: 7,
        files: -300,
      },
    ]);
    await expectExact(place);
  });

  it('that takes too long to recount by day is recounted at night', async () => {
    const place = await newPlace();
    await place.call('POST', 'entities/Note', { text: textOf(100) });
    await foldStorageChanges(db, world.clock.now());
    await sql`update storage_usage set records_bytes = records_bytes + 7, settings_bytes = settings_bytes + 5
      where workspace_id = ${place.workspace}`.execute(world.db);
    // Other kinds than that of the locked table are recounted.
    await world.db.transaction().execute(async (locked) => {
      await sql`lock table entity_records in access exclusive mode`.execute(locked);
      const recount = await recountWithin(db, place.workspace, 200);
      expect(recount).toMatchObject({ drift: { records: 0, settings: 5 }, unfinished: ['records'] });
    });
    const readDue = async () => {
      const row = await world.db
        .selectFrom('storage_usage')
        .where('workspace_id', '=', place.workspace)
        .select('recounted_at')
        .executeTakeFirstOrThrow();
      return new Date(row.recounted_at.getTime() + 7 * dayMs);
    };
    await sql`update storage_usage set recounted_at = 'epoch' where workspace_id = ${place.workspace}`.execute(
      world.db,
    );
    await world.db.transaction().execute(async (locked) => {
      await sql`lock table entity_records in access exclusive mode`.execute(locked);
      await recountStorage(db, () => {}, new Date('2026-11-19T12:00:00Z'));
    });
    expect(await readDue()).toEqual(new Date('2026-11-20T01:00:00Z'));
    const reported: StorageDrift[] = [];
    await recountStorage(db, (drift) => reported.push(drift), new Date('2026-11-20T01:05:00Z'));
    expect(reported.find(({ workspace_id }) => workspace_id === place.workspace)).toMatchObject({ records: 7 });
    await expectExact(place);
  });
});

it('the migration counts what is stored', async () => {
  const database = await createEmptyDatabase();
  const client = new pg.Client(database.ownerUrl);
  try {
    const migrations = await readMigrations(fileURLToPath(new URL('../../../migrations', import.meta.url)));
    await migrate(
      database.ownerUrl,
      migrations.filter(({ name }) => name < '0020'),
    );
    await client.connect();
    const [user, place, app] = [newId(), newId(), newId()];
    await client.query(`
      insert into users (id, email, full_name, created_date, updated_date) values ('${user}', 'a@b.example', '', now(), now());
      insert into workspaces (id, name, plan, created_date, updated_date) values ('${place}', 'W', 'free', now(), now());
      insert into apps (id, workspace_id, app_type, owner_id, name, slug, visibility, public_settings, created_date, updated_date)
        values ('${app}', '${place}', 'user_app', '${user}', 'A', 'a', 'workspace', 'private_with_login', now(), now());
      insert into entity_records (app_id, id, entity_name, data, created_by, created_by_id, created_date, updated_date)
        select '${app}', gen_random_uuid(), 'Note', d::jsonb, '', '', now(), now()
        from unnest(array['{"a":1}', '{"a":"ü","b":[1,2]}']) d;
      insert into app_files (app_id, path, content, sha256, size, encoding, updated_date)
        values ('${app}', 'a', 'abc', '', 3, 'utf-8', now())`);
    await migrate(database.ownerUrl, migrations);
    const { rows } = await client.query('select records_bytes, files_bytes from storage_usage');
    expect(rows).toEqual([
      { records_bytes: '{"a":1}'.length + Buffer.byteLength('{"a":"ü","b":[1,2]}'), files_bytes: 3 },
    ]);
  } finally {
    await client.end();
    await database.drop();
  }
});

describe('the storage quota', () => {
  const refused = { status: 402, body: { code: 'storage_quota_exceeded' } };

  /** Creates a workspace that may store `spare` more bytes, of which one record uses 9,000. */
  async function newFullPlace(spare = 10_000) {
    const place = await newPlace({ spare });
    const text = textOf(9_000 - 400 - '{"text":""}'.length);
    const kept = (await place.call('POST', 'entities/Note', { text })).body;
    return { ...place, kept };
  }

  it('refuses whatever would add more, and says how much is used', async () => {
    const { call, kept, quota, workspace } = await newFullPlace();
    const more = { text: textOf(1_000) };
    const small = (await call('POST', 'entities/Note', { code: 'small' })).body;
    const usage = await readStorageUsage(db, workspace);
    expect(usage).toMatchObject({ used_bytes: quota - 1_000 + 400 + '{"code":"small"}'.length, quota_bytes: quota });
    const growing = [
      call('POST', 'entities/Note', more),
      call('POST', 'entities/Note/bulk', [{ text: 'a' }, more]),
      call('PUT', `entities/Note/${small.id}`, more),
      call('PUT', `entities/Note/${kept.id}`, { code: textOf(1_000) }), // also sets another field
      call('PUT', 'entities/Note/bulk', [{ id: small.id, ...more }]),
      call('POST', 'entities/Note/upsert', { key: ['code'], records: [{ code: 'small', ...more }] }),
      call('POST', 'entities/Note/upsert', { key: ['code'], records: [{ code: 'new', ...more }] }),
      call('PUT', 'files/content?path=a.txt', { content: textOf(1_000) }),
      call('PUT', 'files', { files: [{ path: 'a.txt', content: textOf(1_000) }] }),
    ];
    for (const answer of growing)
      expect(await answer).toMatchObject({
        ...refused,
        body: { ...refused.body, quota_bytes: quota, used_bytes: expect.any(Number) },
      });
    expect((await call('POST', 'entities/Note', more)).body.used_bytes).toBe(usage.used_bytes);
    const { storage } = (await call('GET', '/api/workspace')).body;
    expect(storage).toEqual(usage);
    const parts = storageKinds.map((kind) => storage[`${kind}_bytes`]);
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(storage.used_bytes);
    expect(storage).toMatchObject({ records_bytes: 9_416, files_bytes: 0, settings_bytes: expect.any(Number) });
    expect(storage.settings_bytes).toBeGreaterThan(5_000);
  });

  it('does not tell users of an app how much its workspace stores', async () => {
    const { app } = await newFullPlace();
    const as = await world.appUserToken(app, await world.appUser(app, 'ann@customers.example'));
    const got = await world.call('POST', `/api/apps/${app.id}/entities/Note`, { as, body: { text: textOf(1_000) } });
    expect(got).toMatchObject({ status: 402, body: { code: 'storage_quota_exceeded' } });
    expect(Object.keys(got.body)).not.toContain('used_bytes');
    expect(Object.keys(got.body)).not.toContain('quota_bytes');
  });

  it('lets through what shrinks records, deletes or restores, also far above the quota', async () => {
    const { call, kept, workspace } = await newFullPlace(20_000);
    const other = (await call('POST', 'entities/Note', { text: textOf(500) })).body;
    for (const path of ['a.txt', 'b.txt']) await call('PUT', `files/content?path=${path}`, { content: textOf(100) });
    const set = { storage_quota_bytes: 1 };
    await world.db.updateTable('workspaces').set(set).where('id', '=', workspace).execute();
    world.clock.aheadMs += 61_000; // expires the usage that this process has cached
    const passing = [
      ['PUT', `entities/Note/${kept.id}`, { text: textOf(8_000) }],
      ['PUT', `entities/Note/${kept.id}`, { text: `${textOf(7_999)}y` }],
      ['PUT', 'entities/Note/bulk', [{ id: kept.id, text: textOf(7_000) }]],
      ['DELETE', `entities/Note/${other.id}`],
      ['POST', `entities/Note/${other.id}/restore`],
      ['PUT', 'files', { files: [{ path: 'a.txt', content: textOf(100) }], delete_missing: true }],
      ['DELETE', 'files/content?path=a.txt'],
      ['DELETE', `entities/Note/${other.id}/permanent`],
      ['DELETE', 'entities/Note', { query: {}, all: true }],
    ] as const;
    for (const [method, path, body] of passing) expect(await call(method, path, body)).toMatchObject({ status: 200 });
    expect((await call('POST', 'entities/Note', {})).status).toBe(402);
    expect((await call('PUT', 'files/content?path=c.txt', { content: '' })).status).toBe(402);
  });

  it('refuses new and changed schemas that the history has no room for, and still deletes them', async () => {
    const spare = 20_000;
    const place = await newPlace({ spare });
    const { call } = place;
    const large = (name: string, digit: string) => ({ name, description: digit.repeat(2_000), properties: { a: {} } });
    const put = (name: string, digit: string, query = '') =>
      call('PUT', `entity-schemas/${name}${query}`, large(name, digit));
    const sync = (...schemas: object[]) => call('PUT', 'entity-schemas', { schemas });
    for (const name of ['A', 'B']) expect((await put(name, '1')).status).toBe(200);
    expect((await put('A', '2')).status).toBe(200); // keeps the first document of A
    const left = place.quota - (await readStorageUsage(db, place.workspace)).used_bytes;
    await call('POST', 'entities/Note', { text: textOf(left - 1_500) });
    const full = [put('A', '3'), put('C', '1'), sync(large('A', '3')), sync(large('C', '1'))];
    for (const answer of full) expect(await answer).toMatchObject(refused);
    expect((await put('A', '2')).headers['x-changed']).toBe('false');
    expect((await put('A', '3', '?dry_run=true')).status).toBe(200);
    const rest = (await call('GET', 'entity-schemas')).body.filter(({ name }: { name: string }) => name !== 'A');
    const schemas = rest.map(({ schema }: { schema: object }) => schema);
    expect((await call('PUT', 'entity-schemas', { schemas, delete_missing: true })).status).toBe(200);
    expect((await call('DELETE', 'entity-schemas/B')).status).toBe(200);
    expect(await put('B', '1')).toMatchObject(refused);
    await expectExact(place);
  });

  it('is free again at once after a purge, whatever the process had read', async () => {
    const { call, kept } = await newFullPlace();
    const more = { text: textOf(2_000) };
    expect((await call('POST', 'entities/Note', more)).status).toBe(402);
    await call('DELETE', `entities/Note/${kept.id}`);
    expect((await call('POST', 'entities/Note', more)).status).toBe(402); // records in the trash count
    await call('DELETE', `entities/Note/${kept.id}/permanent`);
    expect((await call('POST', 'entities/Note', more)).status).toBe(200);
  });

  it('sees what other processes wrote, five seconds later', async () => {
    const { call, workspace } = await newFullPlace();
    expect((await call('POST', 'entities/Note', { text: 'a' })).status).toBe(200);
    await sql`insert into storage_changes values (${workspace}, 'records', 5000)`.execute(world.db); // another process
    expect((await call('POST', 'entities/Note', { text: 'b' })).status).toBe(200);
    world.clock.aheadMs += 5_001;
    expect(await call('POST', 'entities/Note', { text: 'c' })).toMatchObject(refused);
  });

  it('does not keep anybody from leaving: the first export passes, another one beside it does not', async () => {
    const { call, workspace, quota } = await newFullPlace();
    const set = { storage_quota_bytes: quota };
    await world.db.updateTable('workspaces').set({ storage_quota_bytes: 1 }).where('id', '=', workspace).execute();
    world.clock.aheadMs += 61_000;
    expect((await call('POST', '/api/workspace/export')).status).toBe(200);
    expect(await call('POST', '/api/workspace/export')).toMatchObject({ status: 402, body: { quota_bytes: 1 } });
    await world.db.updateTable('workspaces').set(set).where('id', '=', workspace).execute();
    expect((await call('POST', '/api/workspace/export')).status).toBe(200);
  });

  it('costs no query while the usage is known, and a record that does not grow never asks', async () => {
    const place = await newPlace();
    const { id } = (await place.call('POST', 'entities/Note', { text: 'first' })).body;
    const countReads = async (body: object) => {
      statements.length = 0;
      expect((await place.call('PUT', `entities/Note/${id}`, body)).status).toBe(200);
      return statements.filter((text) => /storage_(usage|changes)/.test(text)).map((text) => text.split(' ', 1)[0]);
    };
    expect(await countReads({ text: 'other' })).toEqual([]);
    expect(await countReads({ text: 'longer' })).toEqual(['with']); // saves and counts the record
    world.clock.aheadMs += 61_000;
    expect(await countReads({ text: 'small' })).toEqual(['with']);
    expect(await countReads({ text: 'short' })).toEqual([]);
    expect(await countReads({ text: 'longer' })).toEqual(['select', 'with']);
  });
});

/** Runs a few hundred random operations of every kind that changes the stored data. */
async function changeAtRandom(place: Place, seed: number): Promise<void> {
  let state = seed;
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  const note = () => ({
    text: textOf(random(300)),
    tags: Array.from({ length: random(5) }, () => pick(['ü', 1, null, {}])),
  });
  const live: string[] = [];
  const trashed: string[] = [];
  const apps: AppRow[] = [];
  const operations: (() => Promise<unknown>)[] = [
    async () => live.push((await place.call('POST', 'entities/Note', { ...note(), code: `${random(1e9)}` })).body.id),
    async () => {
      const made = (await place.call('POST', 'entities/Note/bulk', Array.from({ length: random(5) }, note))).body;
      live.push(...made.map(({ id }: { id: string }) => id));
    },
    () => place.call('PUT', `entities/Note/${pick(live)}`, note()),
    () => place.call('PUT', `entities/Note/${pick(live)}`, { code: `${random(1e9)}` }),
    () => place.call('PUT', `entities/Note/${pick(live)}`, { text: null }),
    () => {
      const id = pick(live); // concurrent updates of one record
      return Promise.all(Array.from({ length: 4 }, () => place.call('PUT', `entities/Note/${id}`, note())));
    },
    () => {
      const ids = [...new Set([pick(live), pick(live), pick(live)])];
      return place.call(
        'PUT',
        'entities/Note/bulk',
        ids.map((id) => ({ id, ...note() })),
      );
    },
    () => place.call('POST', 'entities/Note/upsert', { key: ['code'], records: [{ code: `${random(3)}`, ...note() }] }),
    async () => {
      const [id] = live.splice(random(live.length), 1);
      if (id !== undefined) trashed.push(id);
      await place.call('DELETE', `entities/Note/${id}`);
    },
    async () => {
      const [id] = trashed.splice(random(trashed.length), 1);
      if (id !== undefined) live.push(id);
      await place.call('POST', `entities/Note/${id}/restore`);
    },
    async () => place.call('DELETE', `entities/Note/${trashed.splice(random(trashed.length), 1)[0]}/permanent`),
    () => place.call('DELETE', 'entities/Note', { query: { code: `${random(3)}` } }),
    () => place.call('PUT', `files/content?path=${random(4)}.txt`, { content: textOf(random(500)) }),
    () => place.call('DELETE', `files/content?path=${random(4)}.txt`),
    () => {
      const files = Array.from({ length: 3 }, (_, n) => ({
        path: `${random(2)}${n}.txt`,
        content: textOf(random(500)),
      }));
      return place.call('PUT', 'files', { files, delete_missing: random(2) === 0 });
    },
    async () => {
      const app = await world.appOf(owner, place.workspace);
      apps.push(app);
      await place.call('PUT', `/api/apps/${app.id}/files/content?path=a.txt`, { content: textOf(200) });
      await place.call('PUT', `/api/apps/${app.id}/entity-schemas/Task`, { name: 'Task', properties: { a: {} } });
      await place.call('POST', `/api/apps/${app.id}/entities/Task`, { a: textOf(random(50)) });
    },
    async () => place.call('DELETE', `/api/apps/${apps.pop()?.id}`),
    () => foldStorageChanges(db, world.clock.now()),
  ];
  for (let n = 0; n < 200; n += 1) await pick(operations)();
  await place.call('DELETE', `/api/apps/${(await world.appOf(owner, place.workspace)).id}`);
  await place.call('PUT', 'files/content?path=kept.txt', { content: textOf(100) });
  await place.call('POST', '/api/workspace/export');
  await runDueRows(world, 'workspace_exports');
}
