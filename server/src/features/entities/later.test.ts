// What happens to records by itself: keys built and swept, the trash emptied.
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/world.ts';
import { buildKeys, purgeRecords } from './later.ts';

const world = await startWorld();
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
  it('gives records from before a key theirs, once nobody writes without it any more', async () => {
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
    await buildKeys(world.db, world.clock.now()); // too early
    expect([await keys(), (await state()).ready]).toEqual([[], []]);
    await buildKeys(world.db, in1Minute());
    expect(await keys()).toHaveLength(1200 + 800);
    const { ready, building_since } = await state();
    expect(ready.map((key) => key.split('#')[0])).toEqual(['unique(code)', 'data.owner']);
    expect(building_since).toBeNull();
  });

  it('sweeps the keys that a schema gives up, and begins anew when it asks for them again', async () => {
    const { define, records, keys, state } = await newApp();
    await define({ properties, rls: byOwner });
    const { id } = (await records('POST', 'Task', { owner: owner.email })).body;
    await buildKeys(world.db, in1Minute());
    const [first] = await keys();
    await define({ properties });
    expect((await state()).ready).toEqual([]);
    await records('PUT', `Task/${id}`, { owner: 'other' }); // by a schema without the key: it stays behind
    expect(await keys()).toHaveLength(1);
    await define({ properties, rls: byOwner });
    await buildKeys(world.db, in1Minute());
    const [now, ...others] = await keys();
    expect(others).toEqual([]);
    expect(now?.record_id).toBe(id);
    expect(now?.key).not.toBe(first?.key);
    expect(now?.value.equals(first?.value as Buffer)).toBe(false);
  });

  it('until a unique key is built, records from before it are looked at one by one', async () => {
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

  it('of records that were the same before they had to differ, the first has the key and both stay', async () => {
    const { define, records, keys } = await newApp();
    await define({ properties });
    const [, second] = (await records('POST', 'Task/bulk', [{ code: 'A' }, { code: 'A' }])).body;
    await define({ properties, unique: [['code']] });
    await buildKeys(world.db, in1Minute());
    expect(await keys()).toHaveLength(1);
    expect((await records('GET', 'Task/count')).body.count).toBe(2);
    expect(await records('PUT', `Task/${second.id}`, { owner: 'x' })).toMatchObject({ status: 200 });
  });
});

describe('purge records', () => {
  it('empties the trash after 30 days, and leaves the rest', async () => {
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

  it('takes the records of an app that is about to be purged, before the app', async () => {
    const { app, define, records, keys } = await newApp();
    await define({ properties, unique: [['code']] });
    await records('POST', 'Task/bulk', [{ code: 'A' }, { code: 'B' }]);
    await world.call('DELETE', `/api/apps/${app.id}`, { as: token });
    await purgeRecords(world.db, in30Days());
    expect(await keys()).toEqual([]);
    expect(await world.db.selectFrom('entity_records').where('app_id', '=', app.id).selectAll().execute()).toEqual([]);
  });
});
