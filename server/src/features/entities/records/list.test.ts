// Tests lists and counts: access to records, sorting, pages, and the use of keys.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';
import { buildKeys } from '../background.ts';

const statements: string[] = [];
const world = await startWorld({ onStatement: (text) => statements.push(text) });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace);
const users = { ann: await world.appUser(app, 'ann@example.com'), bob: await world.appUser(app, 'bob@example.com') };
const [ann, bob] = [await world.appUserToken(app, users.ann), await world.appUserToken(app, users.bob)];

const isAdmin = { user_condition: { role: 'admin' } };
await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Task`, {
  as: token,
  body: {
    name: 'Task',
    properties: {
      title: { type: 'string' },
      owner: { type: 'string' },
      shared: { type: 'array', items: { type: 'string' } },
      rank: { type: 'number' },
      done: { type: 'boolean' },
      secret: { type: 'string', rls: { read: isAdmin } },
    },
    unique: [['title']],
    rls: {
      read: { $or: [isAdmin, { 'data.owner': '{{user.email}}' }] },
      create: true,
      update: isAdmin,
      delete: { 'data.shared': '{{user.email}}' },
    },
  },
});
const rows = [
  { title: 'a', owner: users.ann.email, rank: 2, done: true, secret: 'x' },
  { title: 'b', owner: users.bob.email, rank: 1, shared: ['ann@example.com', 'z'] },
  { title: 'c', owner: users.ann.email, rank: 2, done: false, shared: ['ann@example.com'] },
  { title: 'd', owner: users.ann.email },
  { title: 'e', owner: users.bob.email, rank: 10, secret: 'y' },
];
for (const body of rows) await world.call('POST', `/api/apps/${app.id}/entities/Task`, { as: token, body });

const list = (query: string, as = token) => world.call('GET', `/api/apps/${app.id}/entities/Task${query}`, { as });
const titles = async (query: string, as = token) => {
  const got = await list(query, as);
  return got.status === 200 ? got.body.items.map(({ title }: { title: string }) => title).join('') : got.body;
};
const entity = async (name: string, properties: object) => {
  await world.call('PUT', `/api/apps/${app.id}/entity-schemas/${name}`, { as: token, body: { name, properties } });
  return `/api/apps/${app.id}/entities/${name}`;
};
const q = (filter: object) => `q=${encodeURIComponent(JSON.stringify(filter))}`;

describe('listRecords', () => {
  it('returns the records that the caller may read, newest first', async () => {
    expect(await titles('')).toBe('edcba');
    expect(await titles('', ann)).toBe('dca');
    expect(await titles('', bob)).toBe('eb');
  });

  it('combines a JSON filter with query parameters', async () => {
    expect(await titles(`?${q({ rank: { $gte: 2 } })}`)).toBe('eca');
    expect(await titles('?rank=2&done=true')).toBe('a');
    expect(await titles(`?${q({ $or: [{ title: 'a' }, { title: 'b' }] })}&rank=2`)).toBe('a');
    expect(await titles(`?created_by=${owner.email}&title=d`)).toBe('d');
    expect(await titles(`?${q({ shared: 'z' })}`)).toBe('b');
  });

  it('sorts by up to three fields, missing values first ascending and last descending', async () => {
    expect(await titles('?sort=rank,title')).toBe('dbace');
    expect(await titles('?sort=-rank,title')).toBe('eacbd');
    expect(await titles('?sort=%2Bowner,-rank,-title')).toBe('cadeb');
    expect(await titles('?sort=created_date')).toBe('abcde');
  });

  it('refuses unknown parameters and fields, with all faults at once', async () => {
    const got = await list(`?nope=1&sort=nothing&fields=title,lost&${q({ x: 1 })}&rank=much&limit=0`);
    expect(got.body).toMatchObject({ detail: [{ loc: ['query', 'limit'] }] });
    const rest = await list(`?nope=1&sort=nothing&fields=title,lost&${q({ x: 1 })}&rank=much`);
    expect(rest.body.detail.map(({ loc, type }: { loc: unknown[]; type: string }) => [loc[1], type])).toEqual([
      ['q', 'unknown_field'],
      ['nope', 'unknown_field'],
      ['rank', 'float_parsing'],
      ['sort', 'unknown_field'],
      ['fields', 'unknown_field'],
    ]);
    expect((await list('?q=nonsense')).body).toMatchObject({ detail: [{ loc: ['query', 'q'], type: 'json_invalid' }] });
    expect((await list(`?${q({ title: { $regex: '.*' } })}`)).body).toMatchObject({
      detail: [{ type: 'unsupported_operator' }],
    });
    expect((await list('?title=a&title=b')).status).toBe(422);
  });

  it('returns only the requested fields, and the id', async () => {
    const { items } = (await list('?fields=title,created_date&title=a')).body;
    expect(Object.keys(items[0]).sort()).toEqual(['created_date', 'id', 'title']);
  });

  it('hides a field record by record, also from filters and sorting', async () => {
    expect((await list('?title=a')).body.items[0].secret).toBe('x');
    const shown = (await list('', ann)).body.items;
    expect(shown.some((item: object) => 'secret' in item)).toBe(false);
    expect(await titles('?secret=x')).toBe('a');
    expect(await titles('?secret=x', ann)).toBe('');
    expect(await titles(`?${q({ secret: null })}`, ann)).toBe('dca');
    expect(await titles('?sort=secret,-title', ann)).toBe('dca');
  });

  it('hides authors from filters and sorting if the app hides authorship', async () => {
    await world.db.updateTable('apps').set({ hide_authorship: true }).where('id', '=', app.id).execute();
    const got = await list('');
    const [byAuthor, without] = [
      await titles(`?created_by=${owner.email}`),
      await titles(`?${q({ created_by: null })}`),
    ];
    await world.db.updateTable('apps').set({ hide_authorship: false }).where('id', '=', app.id).execute();
    expect(got.body.items.some((item: object) => 'created_by' in item)).toBe(false);
    expect([byAuthor, without]).toEqual(['', 'edcba']);
  });

  it('refuses SQL injection in a name, and treats it in a value as text', async () => {
    const odd = "x' or '1'='1";
    expect((await list(`?${q({ [odd]: 1 })}`)).status).toBe(422);
    expect((await list(`?sort=${encodeURIComponent(odd)}`)).status).toBe(422);
    expect((await list(`?${encodeURIComponent(odd)}=1`)).status).toBe(422);
    expect(await titles(`?title=${encodeURIComponent(odd)}`)).toBe('');
    expect(await titles(`?${q({ title: { $in: [odd, 'a'] } })}`)).toBe('a');
  });
});

describe('pages of listRecords', () => {
  it('keep filter, sort and fields in the cursor', async () => {
    const first = await list(`?sort=-rank,title&fields=title&limit=2&${q({ title: { $ne: 'd' } })}`);
    expect(first.body).toMatchObject({ items: [{ title: 'e' }, { title: 'a' }], has_more: true });
    const second = await list(`?cursor=${first.body.next_cursor}`);
    expect(second.body).toMatchObject({ items: [{ title: 'c' }, { title: 'b' }], has_more: false, next_cursor: null });
    expect(Object.keys(second.body.items[0])).toEqual(['id', 'title']);
  });

  it('contain every record once, for each sort', async () => {
    for (const sort of ['', 'sort=title', 'sort=-rank', 'sort=done,-rank,title', 'sort=shared']) {
      let seen = '';
      let got = await list(`?limit=2&${sort}`);
      for (;;) {
        seen += got.body.items.map(({ title }: { title: string }) => title).join('');
        if (!got.body.has_more) break;
        got = await list(`?limit=2&cursor=${got.body.next_cursor}`);
      }
      expect([...seen].sort().join('')).toBe('abcde');
      expect(seen).toBe(await titles(`?${sort}`));
    }
  });

  it('end after 1 MiB of data, and the next page continues there', async () => {
    const path = await entity('Large', { body: {} });
    const body = 'x'.repeat(250 * 1024);
    for (let n = 0; n < 6; n += 1) await world.call('POST', path, { as: token, body: { body } });
    const first = (await world.call('GET', `${path}?limit=1000`, { as: token })).body;
    expect([first.items.length, first.has_more]).toEqual([4, true]);
    const rest = (await world.call('GET', `${path}?limit=1000&cursor=${first.next_cursor}`, { as: token })).body;
    expect([rest.items.length, rest.has_more]).toEqual([2, false]);
    expect(new Set([...first.items, ...rest.items].map(({ id }) => id)).size).toBe(6);
  });

  it('have short cursors, however long the sorted text is', async () => {
    const path = await entity('Long', { a: {}, b: {}, c: {} });
    const long = (last: string) => ({ a: `${'ü'.repeat(9_000)}${last}`, b: '\u{1f600}'.repeat(9_000), c: last });
    for (const last of ['1', '2', '3']) await world.call('POST', path, { as: token, body: long(last) });
    let got = (await world.call('GET', `${path}?sort=a,b,-c&limit=1`, { as: token })).body;
    let seen = got.items[0].c;
    while (got.has_more) {
      expect(got.next_cursor.length).toBeLessThan(4_000);
      got = (await world.call('GET', `${path}?limit=1&cursor=${got.next_cursor}`, { as: token })).body;
      seen += got.items[0].c;
    }
    expect(seen).toBe('321');
  });

  it('refuse a cursor with other parameters, another caller or entity, or after a day', async () => {
    const { next_cursor } = (await list('?sort=title&limit=1')).body;
    expect((await list(`?cursor=${next_cursor}&sort=title&limit=3`)).body.items).toHaveLength(3);
    const refused = [
      await list(`?cursor=${next_cursor}&sort=-title`),
      await list(`?cursor=${next_cursor}&rank=1`),
      await list(`?cursor=${next_cursor}`, ann),
      await list(`?cursor=${next_cursor}x`),
      await world.call('GET', `/api/apps/${app.id}/entities/User?cursor=${next_cursor}`, { as: token }),
    ];
    for (const got of refused) expect(got).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
    world.clock.aheadMs = 25 * 60 * 60 * 1000;
    const late = await list(`?cursor=${next_cursor}`);
    world.clock.aheadMs = 0;
    expect(late.status).toBe(400);
  });
});

describe('countRecords', () => {
  it('counts the records that the caller may read', async () => {
    const count = (query: string, as: string) => list(`/count${query}`, as).then((got) => got.body);
    expect(await count('', token)).toEqual({ count: 5 });
    expect(await count('', ann)).toEqual({ count: 3 });
    expect(await count('?rank=2', ann)).toEqual({ count: 2 });
    expect(await count(`?${q({ secret: 'x' })}`, ann)).toEqual({ count: 0 });
    const sorted = await list('/count?sort=title&limit=1');
    expect(sorted).toMatchObject({ body: { count: 5 }, headers: { 'x-ignored-fields': 'sort,limit' } });
    expect((await list('/count?nope=1')).body).toMatchObject({ detail: [{ type: 'unknown_field' }] });
  });
});

describe('keys', () => {
  const driven = async (query: string, as = token) => {
    statements.length = 0;
    const seen = await titles(query, as);
    return [seen, statements.some((text) => text.includes('from entity_keys k'))];
  };

  it('are used by lists once every record has them, with the same result', async () => {
    expect(await driven('', ann)).toEqual(['dca', false]);
    const now = new Date(world.clock.now().getTime() + 61_000);
    await buildKeys(world.db, now);
    world.clock.aheadMs = 11_000; // changes made by another process can take ten seconds to arrive
    expect(await driven('', ann)).toEqual(['dca', true]);
    expect(await driven('?limit=2', ann)).toEqual(['dc', true]);
    expect(await driven('?sort=title', ann)).toEqual(['acd', true]);
    expect(await driven('?title=b')).toEqual(['b', true]);
    expect(await driven(`?owner=${users.ann.email}&rank=2`)).toEqual(['ca', true]);
    expect(await driven('?rank=2')).toEqual(['ca', false]);
    world.clock.aheadMs = 0;
  });

  it('are updated by changes, trash and restore, and index the elements of arrays', async () => {
    world.clock.aheadMs = 11_000;
    const [b] = (await list('?title=b')).body.items;
    const path = `/api/apps/${app.id}/entities/Task/${b.id}`;
    await world.call('PUT', path, { as: token, body: { owner: users.ann.email } });
    expect(await driven('', ann)).toEqual(['dcba', true]);
    expect(await driven('', bob)).toEqual(['e', true]);
    await world.call('DELETE', path, { as: ann });
    expect(await driven('', ann)).toEqual(['dca', true]);
    await world.call('POST', `${path}/restore`, { as: token });
    expect(await driven('', ann)).toEqual(['dcba', true]);
    statements.length = 0;
    const deleted = await world.call('DELETE', `/api/apps/${app.id}/entities/Task`, { as: ann, body: { all: true } });
    expect(deleted.body).toEqual({ success: true, deleted: 2 }); // b and c are shared with her
    expect(statements.some((text) => text.includes('from entity_keys k'))).toBe(true);
    world.clock.aheadMs = 0;
  });
});

describe('the time limit of lists', () => {
  it('answers 503 after five seconds', async () => {
    await sql`alter table entity_records rename to entity_records_kept`.execute(world.db);
    await sql`create view entity_records as
      select r.* from entity_records_kept r, lateral (select pg_sleep(4), r.id) slow`.execute(world.db);
    const got = await list('');
    await sql`drop view entity_records`.execute(world.db);
    await sql`alter table entity_records_kept rename to entity_records`.execute(world.db);
    expect(got).toMatchObject({ status: 503, body: { code: 'service_unavailable', retry_safe: true } });
    expect(await titles('')).toHaveLength(3);
  });
});
