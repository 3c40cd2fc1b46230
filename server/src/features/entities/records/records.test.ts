// Tests the record operations except updateRecord and lists (docs/api/entities.md#records).
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';
import type { RecordEvent } from '../../../events.ts';
import { newId } from '../../../kit/ids.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
const user = await world.appUser(app, 'ann@example.com');
const ann = await world.appUserToken(app, user);

const isAdmin = { user_condition: { role: 'admin' } };
const define = (name: string, document: object) =>
  world.call('PUT', `/api/apps/${app.id}/entity-schemas/${name}`, { as: token, body: { name, ...document } });
const at = (path: string) => `/api/apps/${app.id}/entities/${path}`;
const call = (method: string, path: string, body?: unknown, as: string | null = token) =>
  world.call(method, at(path), { ...(as !== null && { as }), ...(body !== undefined && { body }) });
const listEventsOf = async (id: string) => {
  const rows = await world.db.selectFrom('events').selectAll().orderBy('id').execute();
  return rows.map((row) => ({ name: row.name, ...(row.payload as RecordEvent) })).filter((e) => e.entity_id === id);
};

await define('Task', {
  properties: {
    title: { type: 'string', pattern: '^[^x]*$' },
    code: { type: 'string' },
    state: { type: 'string', default: 'draft' },
    owner: { type: 'string' },
    cost: { type: 'number', rls: { write: isAdmin } },
  },
  required: ['title'],
  unique: [['code']],
  rls: {
    create: { $or: [isAdmin, { 'data.owner': '{{user.email}}' }] },
    read: { $or: [isAdmin, { 'data.owner': '{{user.email}}' }] },
    update: { $or: [isAdmin, { 'data.owner': '{{user.email}}' }] },
    delete: { 'data.owner': '{{user.email}}' },
  },
});

describe('a value that the schema refuses', () => {
  it('is refused with what is missing first, the choices there are, and the names that had no effect', async () => {
    const levels = Array.from({ length: 200 }, (_, n) => `level ${n}`);
    await define('Choice', {
      properties: {
        size: { type: 'string', enum: ['small', 'large'] },
        level: { type: 'string', enum: levels },
        name: { type: 'string' },
      },
      required: ['name'],
    });
    const got = await call('POST', 'Choice', { nmae: 'x', size: 'huge', level: 'none' });
    expect(got.body.detail).toMatchObject([
      { loc: ['body', 'name'], msg: 'is required', type: 'missing' },
      { loc: ['body', 'size'], msg: 'must be one of "small", "large"', type: 'enum' },
      {
        loc: ['body', 'level'],
        msg: expect.stringMatching(/^must be one of "level 0", .* and \d+ more$/),
        type: 'enum',
      },
    ]);
    expect(got.body.detail[2].msg.length).toBeLessThan(600);
    expect(got.headers['x-ignored-fields']).toBe('nmae');
  });
});

describe('access without a rule', () => {
  it('is refused to app users and anonymous callers, exactly as by rules that are false', async () => {
    const rules = { create: false, read: false, update: false, delete: false };
    await define('Plain', { properties: { a: {} } });
    await define('Shut', { properties: { a: {} }, rls: rules });
    const denied = { status: 403, code: 'rule_denied' };
    const answers = async (entity: string, id: string, as: string | null) => {
      const sent = [
        await call('POST', entity, { a: '2' }, as),
        await call('POST', `${entity}/bulk`, [{ a: '2' }], as),
        await call('POST', `${entity}/upsert`, { records: [{ a: '1' }], key: ['a'] }, as),
        await call('DELETE', entity, { all: true }, as),
        await call('GET', `${entity}/${id}`, undefined, as),
        await call('PUT', `${entity}/${id}`, { a: '2' }, as),
        await call('PUT', `${entity}/bulk`, [{ id, a: '2' }], as),
        await call('DELETE', `${entity}/${id}`, undefined, as),
        await call('GET', entity, undefined, as),
        await call('GET', `${entity}/count`, undefined, as),
      ];
      return sent.map(({ status, body: { code, items, count } }) => ({ status, code, items, count }));
    };
    const { id } = (await call('POST', 'Plain', { a: '1' })).body;
    for (const as of [ann, null]) {
      const missing = await answers('Plain', id, as);
      expect(missing).toEqual(await answers('Shut', newId(), as));
      expect(missing.slice(0, 4)).toMatchObject([denied, denied, denied, denied]);
      expect(missing.slice(8)).toMatchObject([{ items: [] }, { count: 0 }]);
    }
    expect((await call('GET', 'Plain')).body.items).toMatchObject([{ id, a: '1' }]);
  });

  it('stays open to members of the workspace and to people whom the app is shared with', async () => {
    await define('Managed', { properties: { a: {} } });
    const guest = await world.member(workspace, 'guest', 'guest@example.com');
    const share = { app_id: app.id, workspace_id: workspace, user_id: guest.id, role: 'viewer' } as const;
    await world.db
      .insertInto('app_shares')
      .values({ ...share, created_date: new Date() })
      .execute();
    const viewer = await world.member(workspace, 'viewer', 'viewer@example.com');
    for (const person of [viewer, guest]) {
      const as = await world.token(person, workspace);
      const { id } = (await call('POST', 'Managed', { a: '1' }, as)).body;
      expect(await call('PUT', `Managed/${id}`, { a: '2' }, as)).toMatchObject({ status: 200 });
      expect((await call('GET', 'Managed', undefined, as)).body.items).toMatchObject([{ id, a: '2' }]);
      expect(await call('DELETE', `Managed/${id}`, undefined, as)).toMatchObject({ status: 200 });
    }
  });

  it('is refused only for the operations that have no rule', async () => {
    await define('Half', { properties: { a: {} }, rls: { read: null, write: { created_by_id: '{{user.id}}' } } });
    const { id } = (await call('POST', 'Half', { a: '1' }, ann)).body;
    expect(await call('PUT', `Half/${id}`, { a: '2' }, ann)).toMatchObject({ status: 200 });
    expect(await call('GET', `Half/${id}`, undefined, ann)).toMatchObject({ status: 404 });
  });

  it('is open to everyone who is signed in at User, declared or not', async () => {
    for (const schema of [undefined, { properties: { email: {} } }]) {
      if (schema !== undefined) await define('User', schema);
      const { id } = (await call('POST', 'User', { email: 'a@example.com' }, ann)).body;
      expect((await call('GET', `User/${id}`, undefined, ann)).body).toMatchObject({ email: 'a@example.com' });
      expect(await call('PUT', `User/${id}`, { email: 'b@example.com' }, ann)).toMatchObject({ status: 200 });
      expect(await call('DELETE', `User/${id}`, undefined, ann)).toMatchObject({ status: 200 });
      expect(await call('POST', 'User', { email: 'x' }, null)).toMatchObject({ status: 403 });
    }
  });

  it('is open to everyone for exactly the operations whose rule is true', async () => {
    await define('Open', { properties: { a: {} }, rls: { create: true, read: true } });
    const made = await call('POST', 'Open', { a: '1' }, null);
    expect(made).toMatchObject({ status: 200, body: { created_by: 'anonymous', created_by_id: 'anonymous' } });
    expect((await call('GET', 'Open', undefined, null)).body.items).toHaveLength(1);
    expect(await call('PUT', `Open/${made.body.id}`, { a: '2' }, null)).toMatchObject({ status: 403 });
    expect((await listEventsOf(made.body.id))[0]).toMatchObject({ actor: null });
  });

  it('is refused to callers without credentials if the app requires login, whatever its rules', async () => {
    const closed = await world.appOf(owner, workspace);
    const path = `/api/apps/${closed.id}`;
    const body = { name: 'Open', properties: { a: {} }, rls: { create: true, read: true } };
    await world.call('PUT', `${path}/entity-schemas/Open`, { as: token, body });
    expect(await world.call('GET', `${path}/entities/Open`)).toMatchObject({ status: 401 });
    expect(await world.call('GET', `${path}/entities/Open`, { as: ann })).toMatchObject({ status: 404 });
  });
});

describe("a field's read rule", () => {
  it('applies inside objects, arrays, and arrays of arrays', async () => {
    const line = { type: 'object', properties: { name: {}, cost: { type: 'number', rls: { read: isAdmin } } } };
    const rows = { type: 'array', items: { type: 'array', items: line } };
    await define('Sheet', { properties: { line, lines: { type: 'array', items: line }, rows }, rls: { read: true } });
    const [seen, whole] = [{ name: 'a' }, { name: 'a', cost: 5 }];
    const { id } = (await call('POST', 'Sheet', { line: whole, lines: [whole], rows: [[whole], []] })).body;
    expect((await call('GET', `Sheet/${id}`)).body).toMatchObject({ line: whole, lines: [whole], rows: [[whole], []] });
    const { line: one, lines, rows: nested } = (await call('GET', `Sheet/${id}`, undefined, ann)).body;
    expect({ one, lines, nested }).toEqual({ one: seen, lines: [seen], nested: [[seen], []] });
  });
});

describe('createRecord', () => {
  it('fills in defaults, assigns automatic fields, and publishes an event', async () => {
    const got = await call('POST', 'Task', { title: 'a', is_sample: true, id: 'x', odd: 1, code: null });
    expect(got).toMatchObject({
      status: 200,
      body: { title: 'a', state: 'draft', is_sample: false, created_by: owner.email, created_by_id: owner.id },
    });
    expect(got.body).not.toHaveProperty('code');
    expect(got.body.created_date).toBe(got.body.updated_date);
    expect(got.headers['x-ignored-fields']).toBe('is_sample,id,odd');
    expect(await listEventsOf(got.body.id)).toMatchObject([
      { name: 'entity.created', data: got.body, old_data: null, changed_fields: [], actor: { email: owner.email } },
    ]);
    expect((await call('GET', `Task/${got.body.id}`)).body).toEqual(got.body);
  });

  it('requires required fields, and counts null as missing', async () => {
    for (const body of [{}, { title: null }]) {
      expect(await call('POST', 'Task', body)).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['body', 'title'], type: 'missing' }] },
      });
    }
  });

  it('evaluates the create rule on the new record, and the field rules of the sent fields', async () => {
    expect(await call('POST', 'Task', { title: 'a', owner: 'bob' }, ann)).toMatchObject({
      status: 403,
      body: { code: 'rule_denied' },
    });
    expect(await call('POST', 'Task', { title: 'a', owner: user.email, cost: 1 }, ann)).toMatchObject({
      status: 403,
      body: { code: 'field_rule_denied', fields: ['data.cost'] },
    });
    expect(await call('POST', 'Task', { title: 'a', owner: user.email }, ann)).toMatchObject({ status: 200 });
  });

  it('creates one record for one Idempotency-Key', async () => {
    const send = () =>
      world.call('POST', at('Task'), {
        as: ann,
        body: { title: 'once', owner: user.email },
        headers: { 'idempotency-key': 'k1' },
      });
    const [first, again] = [await send(), await send()];
    expect(again).toMatchObject({ status: 200, body: first.body, headers: { 'idempotent-replayed': 'true' } });
    expect(await listEventsOf(first.body.id)).toHaveLength(1);
  });
});

describe('createRecords', () => {
  it('returns records in order, accepts an empty list, and creates none if one is refused', async () => {
    const got = await call('POST', 'Task/bulk', [{ title: 'b1' }, { title: 'b2', odd: 1 }]);
    expect(got.body.map(({ title }: { title: string }) => title)).toEqual(['b1', 'b2']);
    expect(got.headers['x-ignored-fields']).toBe('1.odd');
    expect(await call('POST', 'Task/bulk', [])).toMatchObject({ status: 200, body: [] });
    const before = (await call('GET', 'Task/count')).body.count;
    expect(await call('POST', 'Task/bulk', [{ title: 'b3' }, { title: 5 }])).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 1, 'title'], type: 'string_type' }] },
    });
    const mine = { title: 'm', owner: user.email };
    expect(await call('POST', 'Task/bulk', [mine, { ...mine, owner: 'bob' }], ann)).toMatchObject({ status: 403 });
    expect(await call('POST', 'Task/bulk', [mine, { ...mine, cost: 1 }], ann)).toMatchObject({ status: 403 });
    const twins = [
      { title: 'b4', code: 'twin' },
      { title: 'b5', code: 'twin' },
    ];
    expect(await call('POST', 'Task/bulk', twins)).toMatchObject({ status: 409, body: { fields: ['code'] } });
    expect((await call('GET', 'Task/count')).body.count).toBe(before);
  });

  it('accepts at most 500 records', async () => {
    const many = Array.from({ length: 501 }, () => ({ title: 'm' }));
    expect(await call('POST', 'Task/bulk', many)).toMatchObject({
      status: 422,
      body: { detail: [{ type: 'too_long' }] },
    });
    expect((await call('POST', 'Task/bulk', many.slice(1))).body).toHaveLength(500);
  });

  it('refuses a request that exceeds the pattern budget', async () => {
    await define('Costly', { properties: { a: { type: 'string', pattern: '(a?){150}a{150}b' } } });
    const long = 'a'.repeat(1_000);
    expect(await call('POST', 'Costly/bulk', [{ a: `${long}b` }, { a: long }])).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 1, 'a'], type: 'string_pattern_mismatch' }] },
    });
    const many = Array.from({ length: 5 }, () => ({ a: `${long}b` }));
    const got = await call('POST', 'Costly/bulk', many);
    expect(got.body.detail.map(({ type }: { type: string }) => type)).toContain('value_error');
    expect((await call('POST', 'Costly/bulk', many.slice(2))).status).toBe(200);
  });

  it('counts compiling values of the format regex against the same budget', async () => {
    await define('Searches', { properties: { a: { type: 'string', format: 'regex' } } });
    const many = Array.from({ length: 20 }, () => ({ a: 'a{900}' }));
    const got = await call('POST', 'Searches/bulk', many);
    expect(got.body.detail.map(({ type }: { type: string }) => type)).toContain('value_error');
    expect((await call('POST', 'Searches/bulk', many.slice(16))).status).toBe(200);
  });
});

describe('updateRecords', () => {
  it('updates all or nothing, and publishes an event for each record', async () => {
    const [one, two] = (await call('POST', 'Task/bulk', [{ title: 'u1' }, { title: 'u2' }])).body;
    const got = await call('PUT', 'Task/bulk', [
      { id: two.id, title: 'U2' },
      { id: one.id, state: 'done', odd: 1 },
    ]);
    expect(got.body).toMatchObject([
      { id: two.id, title: 'U2' },
      { id: one.id, title: 'u1', state: 'done' },
    ]);
    expect(got.headers['x-ignored-fields']).toBe('1.odd');
    expect((await listEventsOf(one.id)).at(-1)).toMatchObject({ name: 'entity.updated', changed_fields: ['state'] });
    expect((await listEventsOf(two.id)).at(-1)).toMatchObject({ name: 'entity.updated', changed_fields: ['title'] });

    const refused = async (items: unknown[], status: number, as = token) => {
      expect(await call('PUT', 'Task/bulk', items, as)).toMatchObject({ status });
      expect((await call('GET', `Task/${one.id}`)).body).toMatchObject({ title: 'u1', state: 'done' });
    };
    await refused([{ id: one.id, title: 'lost' }, { id: newId() }], 404);
    await refused([{ id: one.id, title: 'lost' }, { id: 'x' }], 404);
    await refused(
      [
        { id: one.id, title: 'lost' },
        { id: two.id, title: 5 },
      ],
      422,
    );
    await refused([{ id: one.id, title: 'lost' }, { title: 'x' }], 422);
    await refused([{ id: one.id, title: 'lost' }, { id: one.id }], 422);
    await refused([], 422);
    await refused([{ id: one.id, title: 'lost' }], 404, ann); // she may not read it
    await call('PUT', 'Task/bulk', [{ id: two.id, owner: user.email }]);
    await refused(
      [
        { id: two.id, cost: 1 },
        { id: one.id, title: 'lost' },
      ],
      404,
      ann,
    );
    expect(await call('PUT', 'Task/bulk', [{ id: two.id, cost: 1 }], ann)).toMatchObject({
      status: 403,
      body: { code: 'field_rule_denied' },
    });
    await call('PUT', 'Task/bulk', [{ id: one.id, code: 'taken' }]);
    expect(await call('PUT', 'Task/bulk', [{ id: two.id, code: 'taken' }])).toMatchObject({ status: 409 });
  });
});

describe('updateRecords on hidden and unique values', () => {
  it('answers the same for a hidden record as for a missing one', async () => {
    const [hidden] = (await call('POST', 'Task/bulk', [{ title: 'h' }])).body;
    const mine = (await call('POST', 'Task', { title: 'm', owner: user.email }, ann)).body;
    const missing = async (id: string) => {
      const { status, body } = await call('PUT', 'Task/bulk', [{ id: mine.id, title: 'lost' }, { id }], ann);
      return { status, ...body, request_id: undefined };
    };
    const first = await missing(hidden.id);
    expect(first).toEqual(await missing(newId()));
    expect(first).toMatchObject({ status: 404, code: 'record_not_found' });
    expect(JSON.stringify(first)).toContain('index 1');
  });

  it('allows records to swap unique values; only the result must be unique', async () => {
    const [one, two] = (
      await call('POST', 'Task/bulk', [
        { title: 's1', code: 'S1' },
        { title: 's2', code: 'S2' },
      ])
    ).body;
    const change = (a: string, b: string) =>
      call('PUT', 'Task/bulk', [
        { id: one.id, code: a },
        { id: two.id, code: b },
      ]);
    expect(await change('S2', 'S1')).toMatchObject({ status: 200, body: [{ code: 'S2' }, { code: 'S1' }] });
    expect(await change('S3', 'S2')).toMatchObject({ status: 200 });
    expect(await change('S4', 'S4')).toMatchObject({ status: 409, body: { fields: ['code'] } });
    expect((await call('GET', `Task/${two.id}`)).body.code).toBe('S2');
    expect(await call('POST', 'Task', { title: 's', code: 'S1' })).toMatchObject({ status: 200 });
    expect(await call('POST', 'Task', { title: 's', code: 'S2' })).toMatchObject({ status: 409 });
  });
});

describe('upsertRecords', () => {
  it('updates records whose key exists and creates the others, in the order sent', async () => {
    const known = (await call('POST', 'Task', { title: 'known', code: 'K1' })).body;
    const records = [
      { title: 'new', code: 'K2', odd: 1 },
      { code: 'K1', state: 'done' },
    ];
    const got = await call('POST', 'Task/upsert', { records, key: ['code'] });
    expect(got).toMatchObject({ status: 200, body: { created: 1, updated: 1 } });
    expect(got.body.records).toMatchObject([
      { code: 'K2', state: 'draft' },
      { id: known.id, title: 'known', state: 'done' },
    ]);
    expect(got.headers['x-ignored-fields']).toBe('records.0.odd');
    const again = await call('POST', 'Task/upsert', { records, key: ['code'] });
    expect(again.body).toMatchObject({ created: 0, updated: 2 });
  });

  it('refuses a key that two stored records have, and invalid keys', async () => {
    await call('POST', 'Task/bulk', [{ title: 'twin' }, { title: 'twin' }]);
    expect(await call('POST', 'Task/upsert', { records: [{ title: 'twin' }], key: ['title'] })).toMatchObject({
      status: 409,
      body: { code: 'upsert_key_ambiguous' },
    });
    const types = async (body: object) => {
      const got = await call('POST', 'Task/upsert', body);
      return got.status === 422 ? got.body.detail.map(({ type }: { type: string }) => type) : got.status;
    };
    expect(await types({ records: [{ title: 'a' }], key: ['nope'] })).toEqual(['unknown_field']);
    expect(await types({ records: [{ title: 'a' }], key: ['code'] })).toEqual(['missing']);
    expect(await types({ records: [{ title: 'a\0' }], key: ['title'] })).toEqual(['string_pattern_mismatch']);
    expect(await types({ records: [{ code: 'a' }, { code: 'a' }], key: ['code'] })).toEqual(['duplicate_items']);
    expect(await types({ records: [{ code: 'fresh' }], key: ['code'] })).toEqual(['missing']); // `title` is missing
    expect(await types({ records: [], key: ['code'] })).toEqual(['too_short']);
    expect(await types({ records: [{ code: 'a' }], key: [] })).toEqual(['too_short']);
  });

  it('refuses if the update rule does not allow a readable record', async () => {
    const rls = { read: true, create: true, update: { 'data.owner': '{{user.email}}' } };
    await define('Note', { properties: { code: {}, owner: {} }, rls });
    await call('POST', 'Note', { code: 'H1', owner: 'bob' });
    const records = [{ code: 'H1', owner: user.email }];
    expect(await call('POST', 'Note/upsert', { records, key: ['code'] }, ann)).toMatchObject({
      status: 403,
      body: { code: 'rule_denied' },
    });
  });

  it('creates one record if two requests with the same key run at once', async () => {
    const send = () => call('POST', 'Task/upsert', { records: [{ title: 'race', code: 'race' }], key: ['code'] });
    const got = await Promise.all([send(), send(), send()]);
    expect(got.map(({ body }) => body.created).sort()).toEqual([0, 0, 1]);
  });
});

describe('deleteRecord, restoreRecord, purgeRecord', () => {
  it('move to the trash, restore as it was, and delete permanently, each with its event', async () => {
    const made = (await call('POST', 'Task', { title: 'd', owner: user.email, code: 'D' }, ann)).body;
    expect(await call('DELETE', `Task/${made.id}`)).toMatchObject({ status: 403, body: { code: 'rule_denied' } });
    expect(await call('DELETE', `Task/${made.id}`, undefined, ann)).toMatchObject({ body: { success: true } });
    expect(await call('GET', `Task/${made.id}`)).toMatchObject({ status: 404, body: { code: 'record_not_found' } });
    expect(await call('DELETE', `Task/${made.id}`, undefined, ann)).toMatchObject({ status: 404 });
    const restored = await call('POST', `Task/${made.id}/restore`);
    expect(restored.body).toEqual({ ...made, updated_date: restored.body.updated_date });
    expect(await call('POST', `Task/${made.id}/restore`)).toMatchObject({ status: 404 });
    expect(await call('DELETE', `Task/${made.id}/permanent`)).toMatchObject({ body: { success: true } });
    expect(await call('DELETE', `Task/${made.id}/permanent`)).toMatchObject({ status: 404 });
    expect(await call('POST', `Task/${made.id}/restore`)).toMatchObject({ status: 404 });
    const published = (await listEventsOf(made.id)).map(({ name, data, old_data }) => [
      name,
      data !== null,
      old_data !== null,
    ]);
    expect(published).toEqual([
      ['entity.created', true, false],
      ['entity.deleted', false, true],
      ['entity.created', true, false],
      ['entity.deleted', false, true],
    ]);
  });

  it('free the unique value of a trashed record, and refuse to restore it if the value is taken', async () => {
    const made = (await call('POST', 'Task', { title: 'd', owner: user.email, code: 'E' }, ann)).body;
    await call('DELETE', `Task/${made.id}`, undefined, ann);
    expect(await call('POST', 'Task', { title: 'e', code: 'E' })).toMatchObject({ status: 200 });
    expect(await call('POST', `Task/${made.id}/restore`)).toMatchObject({ status: 409, body: { fields: ['code'] } });
    expect(await call('DELETE', `Task/${made.id}/permanent`)).toMatchObject({ status: 200 });
  });
});

describe('deleteRecords', () => {
  it('deletes the records that match the query and that the delete rule allows', async () => {
    const mine = { title: 'sweep', owner: user.email };
    await call('POST', 'Task/bulk', [mine, mine, { ...mine, state: 'done' }], ann);
    await call('POST', 'Task', { title: 'sweep', owner: 'bob' });
    const got = await call('DELETE', 'Task', { query: { title: 'sweep', state: 'draft' } }, ann);
    expect(got).toMatchObject({ status: 200, body: { success: true, deleted: 2 } });
    expect(got.headers).not.toHaveProperty('x-truncated');
    expect((await call('GET', 'Task/count?title=sweep')).body.count).toBe(2);
    const none = await call('DELETE', 'Task', { query: { title: 'nothing' } }, ann);
    expect(none).toMatchObject({ status: 200, body: { deleted: 0 }, headers: { 'x-changed': 'false' } });
  });

  it('refuses an empty query without all', async () => {
    for (const body of [undefined, {}, { query: {} }, { query: {}, all: false }]) {
      expect(await call('DELETE', 'Task', body)).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['body', 'query'], type: 'value_error' }] },
      });
    }
    expect(await call('DELETE', 'Task', { query: { nope: 1 } })).toMatchObject({
      status: 422,
      body: { detail: [{ type: 'unknown_field' }] },
    });
  });

  it('deletes at most 5,000 records per call, and says that there are more', async () => {
    await define('Heap', { properties: { n: { type: 'integer' } } });
    for (let start = 0; start < 5500; start += 500) {
      await call(
        'POST',
        'Heap/bulk',
        Array.from({ length: 500 }, (_, n) => ({ n: start + n })),
      );
    }
    const first = await call('DELETE', 'Heap', { all: true });
    expect(first).toMatchObject({ body: { deleted: 5000 }, headers: { 'x-truncated': 'true' } });
    const rest = await call('DELETE', 'Heap', { all: true });
    expect(rest.body.deleted).toBe(500);
    expect(rest.headers).not.toHaveProperty('x-truncated');
  });

  it('is refused if the rule allows the caller to delete no record', async () => {
    await define('Kept', { properties: { a: {} }, rls: { delete: false } });
    expect(await call('DELETE', 'Kept', { all: true })).toMatchObject({ status: 403, body: { code: 'rule_denied' } });
  });
});
