// Tests the background jobs that build and remove keys and purge the trash.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { waitUntilBlocked } from '../../../test/support/waiting.ts';
import { startWorld } from '../../../test/support/world.ts';
import { purgeApps } from '../../core/identity/workspaces.ts';
import { buildKeys, purgeRecords } from './background.ts';
import { digestValue } from './schemas/keys.ts';
import { insertKeys, lockRecordBatch } from './store.ts';

const statements: string[] = [];
const world = await startWorld({ onStatement: (text) => statements.push(text) });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const in1Minute = () => new Date(world.clock.now().getTime() + 61_000);
const in30Days = () => new Date(world.clock.now().getTime() + 31 * 24 * 60 * 60 * 1000);

async function newApp() {
  const app = await world.appOf(owner, workspace);
  const ask = (method: string, path: string, body?: unknown) =>
    world.call(method, `/api/apps/${app.id}${path}`, { as: token, ...(body !== undefined && { body }) });
  return {
    app,
    /** Builds the keys, and lets enough time pass for every process to notice. */
    settle: async () => {
      await buildKeys(world.db, in1Minute());
      world.clock.aheadMs += 11_000;
    },
    records: (method: string, path: string, body?: unknown) => ask(method, `/entities/${path}`, body),
    define: (document: object) => ask('PUT', '/entity-schemas/Task', { name: 'Task', ...document }),
    keys: () =>
      world.db
        .selectFrom('entity_keys')
        .selectAll()
        .where('app_id', '=', app.id)
        .orderBy('key')
        .orderBy('value')
        .execute(),
    state: () =>
      world.db.selectFrom('entity_key_states').selectAll().where('app_id', '=', app.id).executeTakeFirstOrThrow(),
  };
}
const properties = { owner: {}, code: {} };
const byOwner = { read: { 'data.owner': '{{user.email}}' } };

describe('build entity keys', () => {
  it('adds the key rows of old records, after all writers use the new schema', async () => {
    const { define, records, keys, state } = await newApp();
    await define({ properties });
    await records(
      'POST',
      'Task/bulk',
      Array.from({ length: 1200 / 3 }, (_, n) => ({ owner: 'a', code: `${n}` })),
    );
    await records(
      'POST',
      'Task/bulk',
      Array.from({ length: 1200 / 3 }, (_, n) => ({ owner: 'b', code: `x${n}` })),
    );
    await records(
      'POST',
      'Task/bulk',
      Array.from({ length: 1200 / 3 }, () => ({ owner: 'c' })),
    );
    await define({ properties, unique: [['code']], rls: byOwner });
    await buildKeys(world.db, world.clock.now()); // too early for the build to start
    expect([await keys(), (await state()).ready]).toEqual([[], []]);
    await buildKeys(world.db, in1Minute());
    expect(await keys()).toHaveLength(1200 + 800);
    const { ready, building_since } = await state();
    expect(ready.map((key) => key.split('#')[0])).toEqual(['unique(code)', 'data.owner']);
    expect(building_since).toBeNull();
  });

  it('removes the rows of removed keys, and builds a key that returns from scratch', async () => {
    const { define, records, keys, state } = await newApp();
    await define({ properties, rls: byOwner });
    const { id } = (await records('POST', 'Task', { owner: owner.email })).body;
    await buildKeys(world.db, in1Minute());
    const [first] = await keys();
    await define({ properties });
    expect((await state()).ready).toEqual([]);
    await records('PUT', `Task/${id}`, { owner: 'other' }); // the schema no longer has the key, so its row stays
    expect(await keys()).toHaveLength(1);
    await define({ properties, rls: byOwner });
    await buildKeys(world.db, in1Minute());
    const [now, ...others] = await keys();
    expect(others).toEqual([]);
    expect(now?.record_id).toBe(id);
    expect(now?.key).not.toBe(first?.key);
    expect(now?.value.equals(first?.value as Buffer)).toBe(false);
  });

  it('does not let a large entity hold up the others', async () => {
    const [large, small] = [await newApp(), await newApp()];
    await large.define({ properties });
    await sql`insert into entity_records
      (app_id, id, entity_name, data, created_by, created_by_id, created_date, updated_date)
      select ${large.app.id}, gen_random_uuid(), 'Task', '{"owner":"a"}', 'x', 'x', now(), now()
      from generate_series(1, 51000) n`.execute(world.db);
    await large.define({ properties, rls: byOwner });
    await small.define({ properties, rls: byOwner });
    await buildKeys(world.db, in1Minute());
    expect((await small.state()).building_since).toBeNull();
    expect((await large.state()).building_since).not.toBeNull();
    await buildKeys(world.db, in1Minute());
    expect((await large.state()).building_since).toBeNull();
    expect(await large.keys()).toHaveLength(51_000);
  });

  it('waits from the time of saving the schema, not from the start of that transaction', async () => {
    const { app, define, state } = await newApp();
    await define({ properties, rls: byOwner });
    await sql`update entity_schemas set updated_date = now() - interval '1 day' where app_id = ${app.id}`.execute(
      world.db,
    );
    await buildKeys(world.db, world.clock.now());
    expect((await state()).ready).toEqual([]);
  });

  it('until a unique key is built, compares new values with the data of old records', async () => {
    const { define, records, keys } = await newApp();
    await define({ properties });
    const [one, two] = (await records('POST', 'Task/bulk', [{ code: 'A' }, { code: 'B' }])).body;
    await define({ properties, unique: [['code']] });
    expect(await records('POST', 'Task', { code: 'A' })).toMatchObject({ status: 409, body: { fields: ['code'] } });
    expect(await records('PUT', `Task/${two.id}`, { code: 'A' })).toMatchObject({ status: 409 });
    expect(await records('PUT', `Task/${one.id}`, { code: 'A' })).toMatchObject({ status: 200 });
    await buildKeys(world.db, in1Minute());
    expect(await keys()).toHaveLength(2);
    expect(await records('POST', 'Task', { code: 'A' })).toMatchObject({ status: 409 });
  });

  it('until a unique key is built, requires uniqueness only of the result of a bulk write', async () => {
    const { define, records } = await newApp();
    await define({ properties });
    const [one, two] = (await records('POST', 'Task/bulk', [{ code: 'A' }, { code: 'B' }])).body;
    await define({ properties, unique: [['code']] });
    const change = (a: object, b: object) =>
      records('PUT', 'Task/bulk', [
        { id: one.id, ...a },
        { id: two.id, ...b },
      ]);
    statements.length = 0;
    expect((await change({ code: 'B' }, { code: 'A' })).status).toBe(200);
    expect(statements.filter((text) => text.includes('unnest') && text.includes('r.data->'))).toHaveLength(1);
    expect((await change({ code: 'A' }, { owner: 'x' })).status).toBe(409);
    expect((await records('POST', 'Task/bulk', [{ code: 'C' }, { code: 'A' }])).status).toBe(409);
    expect((await records('POST', 'Task/bulk', [{ code: 'C' }, { code: 'C' }])).status).toBe(409);
  });

  it('leaves only the row of the new value if a record changes while its key is built', async () => {
    const { app, define, records, keys, settle } = await newApp();
    await define({ properties });
    const { id } = (await records('POST', 'Task', { code: 'A' })).body;
    await define({ properties, unique: [['code']] });
    const entity = { app_id: app.id, entity_name: 'Task' };
    const { keys: names } = await world.db
      .selectFrom('entity_schemas')
      .select('keys')
      .where('app_id', '=', app.id)
      .executeTakeFirstOrThrow();
    let change: Promise<{ status: number }> | undefined;
    await world.db.transaction().execute(async (db) => {
      const [record] = await lockRecordBatch(db, entity, '00000000-0000-0000-0000-000000000000', id);
      if (record === undefined) throw new Error('no record');
      change = records('PUT', `Task/${id}`, { code: 'B' });
      await waitUntilBlocked(db);
      const key = { key: names[0] as string, value: digestValue(['A']), is_unique: true };
      await insertKeys(db, entity, [{ record, key }]);
    });
    expect((await change)?.status).toBe(200);
    await settle();
    expect((await keys()).map(({ value }) => value.equals(digestValue(['B'])))).toEqual([true]);
    expect((await records('POST', 'Task', { code: 'A' })).status).toBe(200);
  });

  it('keeps records that were equal before the field was unique, and finds them all', async () => {
    const { define, records, keys, settle } = await newApp();
    await define({ properties });
    const twins = Array.from({ length: 3 }, () => ({ code: 'A' }));
    const [first, second, third] = (await records('POST', 'Task/bulk', twins)).body;
    await define({ properties, unique: [['code']] });
    await settle();
    expect((await keys()).map(({ is_unique }) => is_unique).sort()).toEqual([false, false, true]);
    expect((await records('GET', 'Task/count?code=A')).body.count).toBe(3);
    expect((await records('GET', 'Task?code=A')).body.items).toHaveLength(3);
    expect(await records('POST', 'Task/upsert', { records: [{ code: 'A' }], key: ['code'] })).toMatchObject({
      status: 409,
      body: { code: 'upsert_key_ambiguous' },
    });
    expect(await records('PUT', `Task/${second.id}`, { owner: 'x' })).toMatchObject({ status: 200 });
    // Whichever record gives up the value, no other record can take it while a duplicate still has it.
    for (const [method, id, body] of [
      ['PUT', second.id, { code: 'B' }],
      ['DELETE', first.id, undefined],
    ]) {
      expect((await records(method, `Task/${id}`, body)).status).toBe(200);
      expect(await records('POST', 'Task', { code: 'A' })).toMatchObject({ status: 409, body: { fields: ['code'] } });
    }
    expect(await records('DELETE', 'Task', { query: { code: 'A' } })).toMatchObject({ body: { deleted: 1 } });
    expect((await records('POST', 'Task', { code: 'A' })).status).toBe(200);
    expect(await records('POST', `Task/${third.id}/restore`)).toMatchObject({ status: 409 });
  });

  it('still finds an array from before its field was unique by its elements', async () => {
    const { define, records, settle } = await newApp();
    await define({ properties: { code: { type: 'array', items: {} } } });
    const { id } = (await records('POST', 'Task', { code: ['A', 'B'] })).body;
    await define({ properties, unique: [['code']] });
    await settle();
    expect((await records('POST', 'Task', { code: 'A' })).status).toBe(200);
    expect((await records('GET', 'Task/count?code=A')).body.count).toBe(2);
    expect((await records('GET', 'Task?code=B')).body.items).toMatchObject([{ id }]);
  });

  it('finds a record with more elements than are indexed by each of them', async () => {
    const { define, records, keys, settle } = await newApp();
    await define({ properties: { owner: { type: 'array', items: {} } }, rls: byOwner });
    const many = Array.from({ length: 1_001 }, (_, n) => (n === 1_000 ? owner.email : `x${n}`));
    await settle();
    await records('POST', 'Task/bulk', [{ owner: many }, { owner: [owner.email] }, { owner: many.slice(0, 1_000) }]);
    expect(await keys()).toHaveLength(1 + 2 + 1_001);
    expect((await records('GET', 'Task')).body.items).toHaveLength(2);
  });
});

describe('purge records', () => {
  it('removes records after 30 days in the trash, and keeps the others', async () => {
    const { app, define, records } = await newApp();
    await define({ properties, unique: [['code']] });
    const [gone] = (await records('POST', 'Task/bulk', [{ code: 'A' }, { code: 'B' }])).body;
    await records('DELETE', `Task/${gone.id}`);
    const left = () => world.db.selectFrom('entity_records').select('id').where('app_id', '=', app.id).execute();
    await purgeRecords(world.db, world.clock.now());
    expect(await left()).toHaveLength(2);
    await purgeRecords(world.db, in30Days());
    expect(await left()).toHaveLength(1);
    expect(await records('POST', `Task/${gone.id}/restore`)).toMatchObject({ status: 404 });
  });

  it('keeps a record that is restored at the same time', async () => {
    const { app, define, records } = await newApp();
    await define({ properties });
    const { id } = (await records('POST', 'Task', { code: 'A' })).body;
    await records('DELETE', `Task/${id}`);
    let purge: Promise<number> | undefined;
    await world.db.transaction().execute(async (db) => {
      await sql`update entity_records set deleted_date = null where app_id = ${app.id} and id = ${id}`.execute(db);
      purge = purgeRecords(world.db, in30Days());
      await waitUntilBlocked(db);
    });
    await purge;
    expect((await records('GET', `Task/${id}`)).status).toBe(200);
  });

  it('removes the records of an expired app before the app', async () => {
    const { app, define, records, keys } = await newApp();
    await define({ properties, unique: [['code']] });
    await records('POST', 'Task/bulk', [{ code: 'A' }, { code: 'B' }]);
    await world.call('DELETE', `/api/apps/${app.id}`, { as: token });
    const isThere = async () =>
      (await world.db.selectFrom('apps').where('id', '=', app.id).select('id').execute()).length;
    await purgeApps(world.db, in30Days());
    expect(await isThere()).toBe(1);
    await purgeRecords(world.db, in30Days());
    expect(await keys()).toEqual([]);
    expect(await world.db.selectFrom('entity_records').where('app_id', '=', app.id).selectAll().execute()).toEqual([]);
    await purgeApps(world.db, in30Days());
    expect(await isThere()).toBe(0);
  });
});
