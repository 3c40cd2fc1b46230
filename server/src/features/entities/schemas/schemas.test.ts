// Tests the schema operations (docs/api/entities.md#schema-operations).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { waitUntilBlocked } from '../../../../test/support/waiting.ts';
import { startSecondApp, startWorld } from '../../../../test/support/world.ts';
import { takeAdvisoryLock } from '../../../kit/db/database.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);

async function newApp() {
  const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
  const at = (path: string) => `/api/apps/${app.id}${path}`;
  return {
    app,
    schemas: (method: string, path = '', body?: unknown) =>
      world.call(method, at(`/entity-schemas${path}`), { as: token, ...(body !== undefined && { body }) }),
    records: (method: string, path: string, body?: unknown) =>
      world.call(method, at(`/entities/${path}`), { as: token, ...(body !== undefined && { body }) }),
    revision: async () => (await world.call('GET', at(''), { as: token })).body.revision as number,
  };
}

const all = (rule: unknown) => ({ create: rule, read: rule, update: rule, delete: rule });

describe('putEntitySchema', () => {
  it('creates and replaces, each in a new revision of the app, and returns the document as it was sent', async () => {
    const { schemas, revision } = await newApp();
    const document = { properties: { zeta: {}, alpha: { type: 'number' } }, name: 'Task', rls: all(true) };
    const before = await revision();
    const made = await schemas('PUT', '/Task', document);
    expect(made).toMatchObject({ status: 200, body: { name: 'Task', created: true, revision: before + 1 } });
    expect(made.headers['x-warning']).toBe('rule_open:create+read+update+delete');
    const again = await schemas('PUT', '/Task', { ...document, title: 'T' });
    expect(again.body).toMatchObject({ created: false, revision: before + 2 });
    expect(await revision()).toBe(before + 2);
    const got = await schemas('GET', '/Task');
    expect(got.body).toMatchObject({ name: 'Task', revision: before + 2, record_count: 0 });
    expect(JSON.stringify(got.body.schema)).toBe(JSON.stringify({ ...document, title: 'T' }));
    expect((await schemas('GET')).body).toEqual([got.body]);
  });

  it('answers X-Changed: false to an equal document, and keeps the revision', async () => {
    const { schemas, revision } = await newApp();
    await schemas('PUT', '/Task', { name: 'Task', properties: { a: {}, b: {} } });
    const before = await revision();
    const got = await schemas('PUT', '/Task', { properties: { b: {}, a: {} }, name: 'Task' });
    expect(got).toMatchObject({ status: 200, headers: { 'x-changed': 'false' }, body: { revision: before } });
    expect(await revision()).toBe(before);
  });

  it('replaces a stored document that is beyond the limit of templates, and records can be used until then', async () => {
    const { app, schemas, records } = await newApp();
    const document = { name: 'Task', properties: { a: {} }, rls: all(true) };
    const read = { 'data.a': { $in: ['x', ...Array.from({ length: 21 }, (_, at) => `${at}-{{user.id}}`)] } };
    const beyond = { ...document, properties: { a: { rls: { read } } }, rls: { ...document.rls, read } };
    await schemas('PUT', '/Task', document);
    await world.db
      .updateTable('entity_schemas')
      .set({ document: JSON.stringify(beyond) })
      .where('app_id', '=', app.id)
      .execute();
    const made = await records('POST', 'Task', { a: 'x' });
    expect(made).toMatchObject({ status: 200, body: { a: 'x' } });
    expect(await records('GET', `Task/${made.body.id}`)).toMatchObject({ status: 200, body: { a: 'x' } });
    expect((await records('GET', 'Task')).body.items).toEqual([made.body]);
    const refused = { status: 422, body: { detail: [{ type: 'rule_syntax' }, { type: 'rule_syntax' }] } };
    expect(await schemas('PUT', '/Task', beyond)).toMatchObject(refused);
    expect(await schemas('PUT', '/Task', document)).toMatchObject({ status: 200, body: { created: false } });
  });

  it('warns of the operations without a rule', async () => {
    const { schemas } = await newApp();
    const got = await schemas('PUT', '/Task', { name: 'Task', rls: { read: true, update: {} } });
    expect(got.headers['x-warning']).toBe('rule_missing:create+update+delete,rule_open:read');
    const closed = await schemas('PUT', '/Task', { name: 'Task', rls: { read: false, write: false } });
    expect(closed.headers).not.toHaveProperty('x-warning');
  });

  it('warns of the operations that are open to everybody', async () => {
    const { schemas } = await newApp();
    const warning = async (rls: object) => (await schemas('PUT', '/Task', { name: 'Task', rls })).headers['x-warning'];
    expect(await warning({ read: true, write: true })).toBe('rule_open:create+read+update+delete');
    expect(await warning({ read: false, write: true, delete: false })).toBe('rule_open:create+update');
  });

  it('says which operations are closed for want of a rule, when it is saved and when it is read', async () => {
    const { schemas } = await newApp();
    const closed = async (name: string, rls?: object) => {
      const saved = await schemas('PUT', `/${name}`, { name, ...(rls && { rls }) });
      const [read, listed] = [await schemas('GET', `/${name}`), await schemas('GET', '')];
      const inList = listed.body.find((schema: { name: string }) => schema.name === name);
      expect([read.body.closed_operations, inList.closed_operations]).toEqual(
        Array(2).fill(saved.body.closed_operations),
      );
      return saved.body.closed_operations;
    };
    expect(await closed('Task')).toEqual(['create', 'read', 'update', 'delete']);
    expect(await closed('Task', { read: true, update: {}, delete: false })).toEqual(['create', 'update']);
    expect(await closed('Task', { write: false, create: null })).toEqual(['read']);
    expect(await closed('Task', { read: true, write: true })).toEqual([]);
    expect(await closed('User')).toEqual([]);
    expect((await schemas('PUT', '/User', { name: 'User' })).headers['x-warning']).toContain(
      'rule_missing:create+read',
    );
  });

  it('saves nothing with dry_run', async () => {
    const { schemas, revision } = await newApp();
    const before = await revision();
    const got = await schemas('PUT', '/Task?dry_run=true', { name: 'Task' });
    expect(got).toMatchObject({ status: 200, body: { created: true }, headers: { 'x-changed': 'false' } });
    expect(await schemas('GET', '/Task')).toMatchObject({ status: 404, body: { code: 'entity_not_found' } });
    expect(await revision()).toBe(before);
  });

  it('refuses another expected_revision than the stored one', async () => {
    const { schemas } = await newApp();
    expect((await schemas('PUT', '/Task?expected_revision=0', { name: 'Task' })).status).toBe(200);
    const { revision } = (await schemas('GET', '/Task')).body;
    for (const expected of [0, revision + 1]) {
      expect(await schemas('PUT', `/Task?expected_revision=${expected}`, { name: 'Task', title: 'x' })).toMatchObject({
        status: 409,
        body: { code: 'revision_conflict', revision, retry_safe: false },
      });
    }
    expect((await schemas('PUT', `/Task?expected_revision=${revision}`, { name: 'Task', title: 'x' })).status).toBe(
      200,
    );
  });

  it('refuses an unknown keyword, and a name that differs from the path', async () => {
    const { schemas } = await newApp();
    expect(await schemas('PUT', '/Task', { name: 'Other', $ref: 1 })).toMatchObject({
      status: 422,
      body: {
        detail: [
          { loc: ['body', '$ref'], type: 'schema_syntax' },
          { loc: ['body', 'name'], type: 'schema_syntax' },
        ],
      },
    });
    expect(await schemas('PUT', '/1Task', { name: '1Task' })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['path', 'entity_name'], type: 'string_pattern_mismatch' }] },
    });
  });

  it('compares the first schema of User with the implicit one', async () => {
    const { schemas, records } = await newApp();
    const { id } = (await records('POST', 'User', { email: 'x@example.com', role: 'admin' })).body;
    const properties = { email: {}, role: {} };
    const { impact } = (await schemas('PUT', '/User', { name: 'User', properties, rls: { read: true } })).body;
    expect(impact).toMatchObject({
      fields_removed: ['full_name'],
      newly_open: [{ operation: 'read', example: { record_id: id, principal: 'anonymous' } }],
    });
  });

  it('reports the impact on existing records', async () => {
    const { schemas, records } = await newApp();
    const properties = { a: { type: 'string' }, b: { type: 'string' } };
    await schemas('PUT', '/Task', { name: 'Task', properties, rls: all({ created_by: '{{user.email}}' }) });
    await records('POST', 'Task/bulk', [{ a: 'long' }, { a: 'x', b: 'y' }, {}]);
    const change = {
      name: 'Task',
      properties: { a: { type: 'string', maxLength: 1 }, c: {} },
      required: ['a'],
      rls: { ...all({ created_by: '{{user.email}}' }), read: { 'data.a': 'x' }, update: true },
    };
    const { impact } = (await schemas('PUT', '/Task?dry_run=1', change)).body;
    const newest = (await records('GET', 'Task?sort=-created_date,-id')).body.items;
    expect(impact).toEqual({
      records: 3,
      violating_records: 2,
      fields_removed: ['b'],
      newly_open: [
        {
          operation: 'read',
          example: {
            record_id: newest.find(({ a }: { a: string }) => a === 'x').id,
            record: null,
            change: null,
            principal: 'any_user',
            attributes: null,
          },
        },
        {
          operation: 'update',
          example: { record_id: newest[0].id, record: null, change: {}, principal: 'anonymous', attributes: null },
        },
      ],
    });
  });

  it('measures the newest 1,000 records, and marks the result as partial if there are more', async () => {
    const { schemas, records } = await newApp();
    await schemas('PUT', '/Task', { name: 'Task', properties: { a: {} } });
    for (let n = 0; n < 3; n += 1)
      await records(
        'POST',
        'Task/bulk',
        Array.from({ length: 400 }, () => ({ a: 'xx' })),
      );
    const got = await schemas('PUT', '/Task', { name: 'Task', properties: { a: { maxLength: 1 } } });
    expect(got.body.impact).toMatchObject({ records: 1200, violating_records: 1000 });
    expect(got.headers['x-partial-result']).toBe('impact.violating_records,impact.newly_open');
  });

  it('stops measuring when the pattern budget is spent, and marks the result as partial', async () => {
    const { schemas, records } = await newApp();
    await schemas('PUT', '/Task', { name: 'Task', properties: { a: {} } });
    const long = { a: `${'a'.repeat(1_000)}b` };
    await records('POST', 'Task/bulk', [long, long, long, long, { a: 'b' }]);
    const costly = (pattern: string) => schemas('PUT', '/Task', { name: 'Task', properties: { a: { pattern } } });
    const got = await costly('(a?){150}a{150}[bc]');
    expect(got.headers['x-partial-result']).toBe('impact.violating_records,impact.newly_open');
    expect(got.body.impact.violating_records).toBe(1);
    expect((await costly('^a')).body.impact.violating_records).toBe(1);
  });

  it('hides the values of a removed field until it returns, and validates old records when next written', async () => {
    const { schemas, records } = await newApp();
    const put = (properties: object) => schemas('PUT', '/Task', { name: 'Task', properties });
    await put({ a: {}, b: {} });
    const { id } = (await records('POST', 'Task', { a: 'long', b: 'kept' })).body;
    await put({ a: { maxLength: 1 } });
    expect((await records('GET', `Task/${id}`)).body).toMatchObject({ a: 'long' });
    expect((await records('PUT', `Task/${id}`, { b: 'lost' })).headers['x-ignored-fields']).toBe('b');
    expect(await records('PUT', `Task/${id}`, { a: 'longer' })).toMatchObject({ status: 422 });
    await put({ a: {}, b: {} });
    expect((await records('GET', `Task/${id}`)).body).toMatchObject({ a: 'long', b: 'kept' });
  });

  it('hides removed fields inside objects and arrays too, and lists them', async () => {
    const { schemas, records } = await newApp();
    const put = (properties: object) => schemas('PUT', '/Task', { name: 'Task', properties });
    const lines = (properties: object) => ({
      type: 'array',
      items: { type: 'array', items: { type: 'object', properties } },
    });
    const free = { type: 'object' };
    await put({
      place: { ...free, properties: { city: {}, zip: {} } },
      lines: lines({ a: {}, b: {} }),
      free,
      gone: free,
    });
    const whole = { place: { city: 'x', zip: '1' }, lines: [[{ a: '1', b: '2' }]], free: { any: 1 }, gone: { b: 1 } };
    const { id } = (await records('POST', 'Task', whole)).body;
    const changed = await put({
      place: { ...free, properties: { city: {} } },
      lines: lines({ a: {} }),
      free,
      gone: {},
    });
    expect(changed.body.impact.fields_removed).toEqual(['place.zip', 'lines.b']);
    const { place, lines: left, free: open, gone } = (await records('GET', `Task/${id}`)).body;
    expect({ place, left, open, gone }).toEqual({ place: { city: 'x' }, left: [[{ a: '1' }]], open: { any: 1 } });
    await put({ place: free, lines: lines({ a: {}, b: {} }), free, gone: free });
    expect((await records('GET', `Task/${id}`)).body).toMatchObject(whole);
  });

  it('allows at most 100 entities', async () => {
    const { schemas } = await newApp();
    const body = { schemas: Array.from({ length: 100 }, (_, n) => ({ name: `T${n}` })) };
    expect((await schemas('PUT', '', body)).status).toBe(200);
    expect(await schemas('PUT', '/One', { name: 'One' })).toMatchObject({
      status: 409,
      body: { code: 'limit_reached', limit: 100, resource: 'entities' },
    });
    expect(await schemas('PUT', '', { schemas: [{ name: 'One' }] })).toMatchObject({ status: 409 });
    expect((await schemas('PUT', '/T1', { name: 'T1', title: 'x' })).status).toBe(200);
  });

  it('takes effect on the next request of every process', async () => {
    const beside = await startSecondApp(world);
    const { app, schemas, records } = await newApp();
    await schemas('PUT', '/Task', { name: 'Task', properties: { a: {} }, rls: all(true) });
    const { id } = (await records('POST', 'Task', { a: '1' })).body;
    const path = `/api/apps/${app.id}/entities/Task/${id}`;
    expect((await beside.call('GET', path, { as: token })).status).toBe(200);
    await schemas('PUT', '/Task', { name: 'Task', properties: { a: {} }, rls: all(false) });
    expect((await beside.call('GET', path, { as: token })).status).toBe(404);
    expect((await world.call('GET', path, { as: token })).status).toBe(404);
  });
});

describe('syncEntitySchemas', () => {
  it('creates, updates and deletes in one revision', async () => {
    const { schemas, revision } = await newApp();
    await schemas('PUT', '', { schemas: [{ name: 'A' }, { name: 'B' }, { name: 'C' }] });
    const before = await revision();
    const sent = [{ name: 'A' }, { name: 'B', title: 'new' }, { name: 'D' }];
    const tried = await schemas('PUT', '', { schemas: sent, delete_missing: true, dry_run: true });
    expect(tried.body).toEqual({ created: ['D'], updated: ['B'], deleted: ['C'] });
    expect([await revision(), (await schemas('GET')).body.length]).toEqual([before, 3]);
    const kept = await schemas('PUT', '', { schemas: sent });
    expect(kept.body).toEqual({ created: ['D'], updated: ['B'], deleted: [] });
    const got = await schemas('PUT', '', { schemas: sent, delete_missing: true });
    expect(got.body).toEqual({ created: [], updated: [], deleted: ['C'] });
    expect(await revision()).toBe(before + 2);
    const same = await schemas('PUT', '', { schemas: sent, delete_missing: true });
    expect(same.headers['x-changed']).toBe('false');
    expect((await schemas('GET')).body.map(({ name }: { name: string }) => name)).toEqual(['A', 'B', 'D']);
  });

  it('changes nothing if one schema is refused', async () => {
    const { schemas, records } = await newApp();
    await schemas('PUT', '/A', { name: 'A', properties: { a: {} } });
    await records('POST', 'A', { a: '1' });
    const bad = { schemas: [{ name: 'B' }, { name: 'C', odd: 1 }, { name: 'B' }] };
    expect(await schemas('PUT', '', bad)).toMatchObject({
      status: 422,
      body: {
        detail: [
          { loc: ['body', 'schemas', 1, 'odd'], type: 'schema_syntax' },
          { loc: ['body', 'schemas', 2, 'name'], type: 'duplicate_items' },
        ],
      },
    });
    expect(await schemas('PUT', '', { schemas: [], odd: 1 })).toMatchObject({
      status: 422,
      body: { detail: [{ type: 'extra_forbidden' }] },
    });
    expect(await schemas('PUT', '', { schemas: [{ name: 'B' }], delete_missing: true })).toMatchObject({
      status: 409,
      body: { code: 'schema_in_use', entity_names: ['A'] },
    });
    expect((await schemas('GET')).body.map(({ name }: { name: string }) => name)).toEqual(['A']);
  });
});

describe('the pattern budget', () => {
  it('is shared by all documents of a request', async () => {
    const { schemas } = await newApp();
    const costly = { pattern: '(a?){150}a{150}[bc]', default: `${'a'.repeat(1_000)}b` };
    const named = (n: number) => ({ name: `T${n}`, properties: { a: costly, b: costly } });
    expect((await schemas('PUT', '', { schemas: [named(1)] })).status).toBe(200);
    expect(await schemas('PUT', '', { schemas: [named(1), named(2)] })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'schemas', 1, 'properties', 'b', 'default'], type: 'schema_syntax' }] },
    });
  });
});

describe('deleteEntitySchema', () => {
  it('is refused while there are records, unless they are deleted too', async () => {
    const { schemas, records } = await newApp();
    const document = { name: 'Task', properties: { a: {} }, unique: [['a']] };
    await schemas('PUT', '/Task', document);
    const { id } = (await records('POST', 'Task', { a: '1' })).body;
    expect(await schemas('DELETE', '/Task')).toMatchObject({
      status: 409,
      body: { code: 'schema_in_use', entity_names: ['Task'] },
    });
    expect(await schemas('DELETE', '/Task?delete_records=perhaps')).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', 'delete_records'], type: 'bool_parsing' }] },
    });
    expect(await schemas('DELETE', '/Task?delete_records=true')).toMatchObject({ body: { success: true } });
    expect(await records('GET', `Task/${id}`)).toMatchObject({ status: 404, body: { code: 'entity_not_found' } });
    expect(await schemas('DELETE', '/Task')).toMatchObject({ status: 404, body: { code: 'entity_not_found' } });
    const events = await world.db.selectFrom('events').select(['name', 'payload']).execute();
    const published = events.filter(({ payload }) => (payload as { entity_id: string }).entity_id === id);
    expect(published.map(({ name }) => name).sort()).toEqual(['entity.created', 'entity.deleted']);
    // The trash outlives the schema. Once the schema exists again, the record can be restored.
    await schemas('PUT', '/Task', document);
    expect((await records('POST', `Task/${id}/restore`)).body).toMatchObject({ id, a: '1' });
  });

  it('moves at most 5,000 records to the trash, all of them or none', async () => {
    const { app, schemas, records } = await newApp();
    await schemas('PUT', '/Task', { name: 'Task', properties: { n: { type: 'integer' } } });
    await sql`insert into entity_records
      (app_id, id, entity_name, data, created_by, created_by_id, created_date, updated_date)
      select ${app.id}, gen_random_uuid(), 'Task', jsonb_build_object('n', n), 'x', 'x', now(), now()
      from generate_series(1, 5001) n`.execute(world.db);
    const inTrash = async () => {
      const all = world.db.selectFrom('entity_records').where('app_id', '=', app.id);
      return (await all.where('deleted_date', 'is not', null).select('id').execute()).length;
    };
    expect(await schemas('DELETE', '/Task?delete_records=true')).toMatchObject({
      status: 409,
      body: { code: 'schema_in_use', entity_names: ['Task'] },
    });
    expect(await inTrash()).toBe(0);
    await records('DELETE', 'Task', { query: { n: 1 } });
    expect((await schemas('DELETE', '/Task?delete_records=true')).status).toBe(200);
    expect(await inTrash()).toBe(5001);
  });

  it('answers 404 to the second of two concurrent deletions, and keeps the revision', async () => {
    const { app, schemas, revision } = await newApp();
    await schemas('PUT', '/Task', { name: 'Task' });
    const before = await revision();
    let second: ReturnType<typeof schemas> | undefined;
    await world.db.transaction().execute(async (db) => {
      await takeAdvisoryLock(db, `entity schemas of ${app.id}`);
      await db.deleteFrom('entity_schemas').where('app_id', '=', app.id).execute();
      second = schemas('DELETE', '/Task');
      await waitUntilBlocked(db);
    });
    expect(await second).toMatchObject({ status: 404, body: { code: 'entity_not_found' } });
    expect(await revision()).toBe(before);
  });

  it('refuses a record that is created meanwhile, and counts one that was created before', async () => {
    const { app, schemas, records } = await newApp();
    await schemas('PUT', '/Task', { name: 'Task', properties: { a: {} } });
    let late: ReturnType<typeof records> | undefined;
    await world.db.transaction().execute(async (db) => {
      await db.deleteFrom('entity_schemas').where('app_id', '=', app.id).execute();
      late = records('POST', 'Task', { a: '1' });
      await waitUntilBlocked(db);
    });
    expect(await late).toMatchObject({ status: 404, body: { code: 'entity_not_found' } });
    expect(await world.db.selectFrom('entity_records').select('id').where('app_id', '=', app.id).execute()).toEqual([]);
    await schemas('PUT', '/Task', { name: 'Task', properties: { a: {} } });
    const { id } = (await records('POST', 'Task', { a: '1' })).body;
    await records('DELETE', `Task/${id}`);
    let removal: ReturnType<typeof schemas> | undefined;
    await world.db.transaction().execute(async (db) => {
      const schema = db.selectFrom('entity_schemas').where('app_id', '=', app.id).select('name');
      await schema.forKeyShare().execute();
      await db
        .updateTable('entity_records')
        .set({ deleted_date: null })
        .where('app_id', '=', app.id)
        .where('id', '=', id)
        .execute();
      removal = schemas('DELETE', '/Task');
      await waitUntilBlocked(db);
    });
    expect(await removal).toMatchObject({ status: 409, body: { code: 'schema_in_use' } });
  });
});
