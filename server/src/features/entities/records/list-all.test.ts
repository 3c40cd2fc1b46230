// Tests that editors of an app, and nobody else, read all of its records, with who created each of them.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com', { full_name: 'Olive Owner' });
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
const ann = await world.appUser(app, 'ann@example.com', { full_name: 'Ann Archer' });
const annToken = await world.appUserToken(app, ann);
const path = `/api/apps/${app.id}/entities`;

const own = { created_by_id: '{{user.id}}' };
await defineEntity('Task', {
  properties: {
    title: { type: 'string' },
    cost: { type: 'string', rls: { read: false } },
    place: { type: 'object', properties: { city: { type: 'string' } } },
    rank: { type: 'number' },
  },
  rls: { read: own, create: true, update: own, delete: own },
});
await defineEntity('Count', { properties: { rank: { type: 'number' } } });

function defineEntity(name: string, schema: object) {
  return world.call('PUT', `/api/apps/${app.id}/entity-schemas/${name}`, { as: token, body: { name, ...schema } });
}
const create = async (body: object, as?: string, entity = 'Task'): Promise<string> =>
  (await world.call('POST', `${path}/${entity}`, { body, ...(as !== undefined && { as }) })).body.id;
const list = (query = '', as = token, entity = 'Task') => world.call('GET', `${path}/${entity}/all${query}`, { as });

interface Item {
  readonly record: { readonly title: string; readonly created_by?: string };
  readonly creator: object;
}
const titles = async (query: string) => (await list(query)).body.items.map(({ record }: Item) => record.title).join('');

await create({ title: 'a', rank: 1 }, annToken);
await create({ title: 'b', place: { city: 'Zürich' } });
await create({ title: 'c', cost: 'Twenty' }, token);
const bob = await world.appUser(app, 'bob@example.com');
await create({ title: 'd' }, await world.appUserToken(app, bob));
await world.call('DELETE', `/api/apps/${app.id}/users/${bob.id}`, { as: token });

describe('listAllRecords', () => {
  it('returns what the rules hide, newest first, with who created it', async () => {
    expect((await world.call('GET', `${path}/Task`, { as: token })).body.items).toHaveLength(1);
    const got = await list();
    expect(got.body).toMatchObject({ has_more: false, next_cursor: null, total: { count: 4, or_more: false } });
    expect(got.body.items.map(({ creator }: Item) => creator)).toEqual([
      { kind: 'removed', id: bob.id, email: null, full_name: null },
      { kind: 'member', id: owner.id, email: owner.email, full_name: 'Olive Owner' },
      { kind: 'anonymous', id: null, email: null, full_name: null },
      { kind: 'app_user', id: ann.id, email: ann.email, full_name: 'Ann Archer' },
    ]);
    expect(got.body.items[1].record).toMatchObject({ title: 'c', cost: 'Twenty' });
  });

  it('finds text in each text field, regardless of case', async () => {
    expect(await titles('?search=TWENT')).toBe('c');
    expect(await titles('?search=z%C3%BCri')).toBe('b');
    expect(await titles('?search=1')).toBe('');
    expect((await list('?search=twenty')).body.total).toEqual({ count: 1, or_more: false });
    await create({ rank: 1 }, token, 'Count');
    expect((await list('?search=1', token, 'Count')).body).toMatchObject({ items: [], total: { count: 0 } });
  });

  it('continues with a cursor, which belongs to the search and the caller', async () => {
    const first = (await list('?limit=3')).body;
    expect(first.items).toHaveLength(3);
    const after = `cursor=${encodeURIComponent(first.next_cursor)}`;
    const last = (await list(`?limit=3&${after}`)).body;
    expect(last).toMatchObject({ items: [{ record: { title: 'a' } }], has_more: false, total: null });
    for (const refused of [
      await list(`?${after}&search=a`),
      await list(`?${after}`, await world.token(owner, workspace)),
    ])
      expect(refused.body).toMatchObject({ status: 400, code: 'cursor_invalid' });
  });

  it('names no creator of an app that hides authorship', async () => {
    await world.db.updateTable('apps').set({ hide_authorship: true }).where('id', '=', app.id).execute();
    const { items } = (await list()).body;
    await world.db.updateTable('apps').set({ hide_authorship: false }).where('id', '=', app.id).execute();
    expect(items.at(-1).creator).toEqual({ kind: 'app_user', id: ann.id, email: null, full_name: null });
    expect(JSON.stringify(items)).not.toMatch(/@example\.com|Archer|created_by"/);
  });

  it('shows nothing of the app’s users as records of `User`, and nobody of another workspace as a creator', async () => {
    await world.db
      .updateTable('app_users')
      .set({ data: JSON.stringify({ tier: 'gold' }) })
      .where('id', '=', ann.id)
      .execute();
    expect((await list('', token, 'User')).body).toMatchObject({ items: [], total: { count: 0 } });
    const stranger = await world.person('stranger@example.com');
    const id = await create({ title: 'strange' }, token);
    const change = world.db.updateTable('entity_records').set({ created_by_id: stranger.id, created_by: 'x' });
    await change.where('app_id', '=', app.id).where('id', '=', id).execute();
    const got = await list('?search=strange');
    expect(got.body.items[0].creator).toEqual({ kind: 'removed', id: stranger.id, email: null, full_name: null });
    expect(got.text).not.toContain(stranger.email);
  });

  it('refuses everybody but editors, and credentials that may only read', async () => {
    const viewer = await world.member(workspace, 'viewer', 'viewer@example.com');
    const readOnly = await world.token(owner, workspace, { permission: 'read_only' });
    const answers = [
      await list('', annToken),
      await list('', await world.token(viewer, workspace)),
      await list('', readOnly),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [403, expect.stringMatching(/credential/)],
      [403, 'role_required'],
      [403, expect.stringMatching(/read_only/)],
    ]);
    expect((await world.call('GET', `${path}/Task/all`)).status).toBe(401);
    const guest = await world.member(workspace, 'guest', 'guest@example.com');
    expect((await list('', await world.token(guest, workspace))).status).toBe(404);
    await world.share(app, guest, 'editor');
    expect((await list('', await world.token(guest, workspace))).status).toBe(200);
  });

  it('refuses parameters that it does not know, because they might be filters', async () => {
    expect((await list('?title=a')).status).toBe(422);
  });
});

describe('the total', () => {
  const insert = sql`insert into entity_records
    (app_id, id, entity_name, data, size_bytes, created_by, created_by_id, created_date, updated_date)`;
  const fill = (entity: string, count: number) =>
    sql`${insert} select ${app.id}, gen_random_uuid(), ${entity}, '{"title": "word"}', 20, 'anonymous', 'anonymous', now(), now()
      from generate_series(1, ${count}::int)`.execute(world.db);

  it('is counted up to 10,000, and says that there may be more', async () => {
    await defineEntity('Many', { properties: { title: { type: 'string' } } });
    await fill('Many', 10_000);
    expect((await list('?limit=1', token, 'Many')).body.total).toEqual({ count: 10_000, or_more: false });
    await fill('Many', 1);
    expect((await list('?limit=1', token, 'Many')).body.total).toEqual({ count: 10_000, or_more: true });
  });

  it('is left out, and named as missing, if counting takes too long', async () => {
    await defineEntity('Long', { properties: { title: { type: 'string' } } });
    await sql`${insert} select ${app.id}, gen_random_uuid(), 'Long', jsonb_build_object('title', repeat('x', 1000000)), 20,
      'anonymous', 'anonymous', now(), now()`.execute(world.db);
    // Copies of a long text are cheap to store, and each must be read to be searched.
    await sql`${insert} select app_id, gen_random_uuid(), entity_name, data, size_bytes, created_by, created_by_id, now(), now()
      from entity_records, generate_series(1, 700) where app_id = ${app.id} and entity_name = 'Long'`.execute(world.db);
    const got = await list('?limit=1&search=x', token, 'Long');
    expect(got.body).toMatchObject({ has_more: true, total: null });
    expect(got.headers['x-partial-result']).toBe('total');
  });
});
