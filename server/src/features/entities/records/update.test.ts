// Tests updateRecord (docs/api/entities.md#update-a-record), including concurrent updates.
import { beforeEach, describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';
import type { RecordEvent } from '../../../events.ts';
import { newId } from '../../../kit/ids.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace);
const users = {
  ann: await world.appUser(app, 'ann@example.com', { data: JSON.stringify({ team: 'red' }) }),
  bob: await world.appUser(app, 'bob@example.com'),
};
const [ann, bob] = [await world.appUserToken(app, users.ann), await world.appUserToken(app, users.bob)];

const isAdmin = { user_condition: { role: 'admin' } };
const isOwner = { created_by: '{{user.email}}' };
const schema = {
  name: 'Task',
  properties: {
    title: { type: 'string', maxLength: 20 },
    note: { type: 'string' },
    price: { type: 'number', minimum: 0 },
    state: { type: 'string', enum: ['draft', 'open', 'done'], default: 'draft' },
    cost: { type: 'number', rls: { write: isAdmin } },
    secret: { type: 'string', rls: { read: isAdmin } },
    address: { type: 'object', properties: { zip: { type: 'string', rls: { write: isAdmin } }, city: {} } },
    place: { type: 'object', properties: { city: {} } },
    team: { type: 'string' },
    code: { type: 'string' },
  },
  required: ['title'],
  unique: [['code']],
  rls: {
    create: true,
    read: { $or: [isOwner, isAdmin, { 'data.state': 'open' }] },
    update: { $or: [isOwner, isAdmin] },
    delete: isOwner,
    update_check: { $nor: [{ 'data.title': 'forbidden' }] },
  },
};

const at = (path: string) => `/api/apps/${app.id}${path}`;
const define = (document: { name: string }) =>
  world.call('PUT', at(`/entity-schemas/${document.name}`), { as: token, body: document });
const create = async (as: string, body: object, entity = 'Task') =>
  (await world.call('POST', at(`/entities/${entity}`), { as, body })).body;
const put = (as: string, id: string, body: unknown, entity = 'Task') =>
  world.call('PUT', at(`/entities/${entity}/${id}`), { as, body });
const read = async (id: string) => (await world.call('GET', at(`/entities/Task/${id}`), { as: token })).body;
const listEventsOf = async (id: string) => {
  const rows = await world.db.selectFrom('events').selectAll().orderBy('id').execute();
  const events = rows.map((row) => ({ name: row.name, ...(row.payload as RecordEvent) }));
  return events.filter((event) => event.entity_id === id);
};

await define(schema);
// biome-ignore lint/suspicious/noExplicitAny: a record is what its schema says.
let task: any;
beforeEach(async () => {
  task = await create(ann, { title: 'One', note: 'kept', price: 3, team: 'red' });
});

describe('the six guarantees of updateRecord', () => {
  it('1: a field that is not sent keeps its value', async () => {
    const got = await put(ann, task.id, { title: 'Two' });
    expect(got).toMatchObject({ status: 200, body: { title: 'Two', note: 'kept', price: 3, state: 'draft' } });
    expect(got.body).toEqual({ ...task, title: 'Two', updated_date: got.body.updated_date });
    expect(await read(task.id)).toEqual(got.body);
  });

  it('2: only declared fields are stored; other names are ignored and listed in a header', async () => {
    const got = await put(ann, task.id, { titel: 'lost', title: 'Two', place: { city: 'Rome', zpi: '1' } });
    expect(got).toMatchObject({ status: 200, body: { title: 'Two' } });
    expect(got.body).not.toHaveProperty('titel');
    expect(got.body.place).toEqual({ city: 'Rome' });
    expect(got.headers['x-ignored-fields']?.split(',').sort()).toEqual(['place.zpi', 'titel']);
    const row = await world.db.selectFrom('entity_records').select('data').where('id', '=', task.id).executeTakeFirst();
    expect(Object.keys(row?.data as object)).not.toContain('titel');
  });

  it('3: id, dates and authors are assigned automatically and ignored if sent', async () => {
    const sent = {
      id: 'x',
      created_date: '1999-01-01T00:00:00Z',
      updated_date: '1999-01-01T00:00:00Z',
      created_by: 'mallory@example.com',
      created_by_id: 'mallory',
      is_sample: true,
      note: 'new',
    };
    const got = await put(ann, task.id, sent);
    expect(got.body).toEqual({ ...task, note: 'new', updated_date: got.body.updated_date });
    expect(got.body).toMatchObject({ created_by: 'ann@example.com', created_by_id: users.ann.id, is_sample: false });
    expect(got.headers['x-ignored-fields']).toBe('id,created_date,updated_date,created_by,created_by_id,is_sample');
    expect(Date.parse(got.body.updated_date)).toBeGreaterThan(Date.parse(task.updated_date));
  });

  it('4: an update that the rule does not allow answers 403 to callers who may read the record, else 404', async () => {
    expect(await put(bob, task.id, { title: 'Bob' })).toMatchObject({
      status: 404,
      body: { code: 'record_not_found' },
    });
    await put(ann, task.id, { state: 'open' });
    expect(await put(bob, task.id, { title: 'Bob' })).toMatchObject({
      status: 403,
      body: { code: 'rule_denied', detail: expect.stringContaining('The `update` rule of the entity Task') },
    });
    expect(await read(task.id)).toMatchObject({ title: 'One', state: 'open' });
  });

  it('4: a refused field rule updates nothing, not even the fields that are allowed', async () => {
    const published = await listEventsOf(task.id);
    const got = await put(ann, task.id, { title: 'Two', cost: 5, note: 'new' });
    const detail = expect.stringContaining("The field rules of the entity Task don't allow you to update");
    expect(got).toMatchObject({ status: 403, body: { code: 'field_rule_denied', fields: ['data.cost'], detail } });
    expect(await read(task.id)).toEqual(task);
    expect(await listEventsOf(task.id)).toEqual(published);
    expect(await put(token, task.id, { cost: 5 })).toMatchObject({ status: 200, body: { cost: 5 } });
    expect(await put(ann, task.id, { cost: 5 })).toMatchObject({ status: 403 }); // checked even if unchanged
  });

  it('4: a field that contains a field with a rule is refused with it', async () => {
    const got = await put(ann, task.id, { address: { city: 'Rome', zip: '1' } });
    expect(got).toMatchObject({ status: 403, body: { code: 'field_rule_denied', fields: ['data.address'] } });
    const byAdmin = await put(token, task.id, { address: { city: 'Rome', zip: '1' } });
    expect(byAdmin).toMatchObject({ status: 200, body: { address: { city: 'Rome', zip: '1' } } });
  });

  it('5: an event with old and new data, actor and changed fields is published in the same transaction', async () => {
    await put(ann, task.id, { title: 'Two', note: null });
    expect((await listEventsOf(task.id)).at(-1)).toMatchObject({
      name: 'entity.updated',
      workspace_id: workspace,
      app_id: app.id,
      entity_name: 'Task',
      data: { id: task.id, title: 'Two', created_by: 'ann@example.com' },
      old_data: { id: task.id, title: 'One', note: 'kept' },
      changed_fields: ['title', 'note'],
      actor: { id: users.ann.id, email: 'ann@example.com' },
      depth: 0,
      payload_too_large: false,
    });
  });

  it("6: User has ordinary records, never the app's users; answers warn, and writes are audited", async () => {
    const path = at('/entities/User');
    const made = await world.call('POST', path, { as: token, body: { email: 'x@example.com', role: 'admin', odd: 1 } });
    expect(made).toMatchObject({ status: 200, body: { email: 'x@example.com', role: 'admin' } });
    expect(made.headers).toMatchObject({ 'x-warning': 'user_entity_disconnected', 'x-ignored-fields': 'odd' });
    const got = await put(token, made.body.id, { full_name: 'X' }, 'User');
    expect(got).toMatchObject({ status: 200, body: { email: 'x@example.com', full_name: 'X' } });
    expect(got.headers['x-warning']).toBe('user_entity_disconnected');
    const own = await put(token, users.ann.id, { full_name: 'X' }, 'User');
    expect(own).toMatchObject({ status: 404, headers: { 'x-warning': 'user_entity_disconnected' } });
    const audited = await world.db.selectFrom('audit_pending').select('entry').execute();
    const types = audited.map(({ entry }) => (entry as { type: string }).type);
    expect(types.filter((type) => type === 'record.user_entity_written')).toHaveLength(2);
    expect((await world.call('GET', at('/users'), { as: token })).body.items).toHaveLength(2);
  });
});

describe('updateRecord', () => {
  it("answers 404 for an unknown, malformed, trashed or other entity's id, and an unknown entity", async () => {
    await define({ name: 'Other' });
    const trashed = await create(ann, { title: 'Gone' });
    await world.call('DELETE', at(`/entities/Task/${trashed.id}`), { as: ann });
    for (const id of ['x', newId(), trashed.id]) {
      expect(await put(token, id, {})).toMatchObject({ status: 404, body: { code: 'record_not_found' } });
    }
    expect(await put(token, task.id, {}, 'Other')).toMatchObject({ status: 404, body: { code: 'record_not_found' } });
    expect(await put(token, task.id, {}, 'Nope')).toMatchObject({ status: 404, body: { code: 'entity_not_found' } });
    expect(await put(token, task.id, {}, 'task')).toMatchObject({ status: 404, body: { code: 'entity_not_found' } });
  });

  it('returns every fault of the sent fields with its location, and stores nothing', async () => {
    const got = await put(ann, task.id, { title: 5, price: -1, state: 'lost', note: 'new' });
    expect(got.status).toBe(422);
    expect(got.body.detail.map(({ loc, type }: { loc: unknown; type: string }) => [loc, type])).toEqual([
      [['body', 'title'], 'string_type'],
      [['body', 'price'], 'greater_than_equal'],
      [['body', 'state'], 'enum'],
    ]);
    expect(await read(task.id)).toEqual(task);
    expect(await put(ann, task.id, [])).toMatchObject({ status: 422, body: { detail: [{ type: 'dict_type' }] } });
  });

  it('clears an optional field sent as null, and refuses to clear a required one', async () => {
    const got = await put(ann, task.id, { note: null });
    expect(got.body).not.toHaveProperty('note');
    expect(await put(ann, task.id, { title: null })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'title'], type: 'none_not_allowed' }] },
    });
  });

  it('stores and publishes an update without changes, with X-Changed: false', async () => {
    const got = await put(ann, task.id, { title: 'One' });
    expect(got).toMatchObject({ status: 200, headers: { 'x-changed': 'false' } });
    expect(Date.parse(got.body.updated_date)).toBeGreaterThan(Date.parse(task.updated_date));
    expect((await listEventsOf(task.id)).at(-1)).toMatchObject({ name: 'entity.updated', changed_fields: [] });
    expect((await put(ann, task.id, {})).headers['x-changed']).toBe('false');
  });

  it('evaluates update_check on the record as it would be', async () => {
    expect(await put(ann, task.id, { title: 'forbidden' })).toMatchObject({
      status: 403,
      body: { code: 'rule_denied' },
    });
    expect(await read(task.id)).toEqual(task);
  });

  it('leaves fields whose read rule fails out of the answer, and keeps their values', async () => {
    await put(token, task.id, { secret: 'hush' });
    const got = await put(ann, task.id, { note: 'new' });
    expect(got.body).not.toHaveProperty('secret');
    expect(await read(task.id)).toMatchObject({ secret: 'hush', note: 'new' });
  });

  it('returns only the sent and automatic fields to a caller who may not read the record', async () => {
    await define({
      name: 'Blind',
      properties: { a: {}, b: {} },
      rls: { read: false, create: true, update: true, delete: true },
    } as { name: string });
    const made = await create(ann, { a: '1', b: '2' }, 'Blind');
    expect(made).toMatchObject({ a: '1', b: '2' });
    const got = await put(bob, made.id, { b: '3' }, 'Blind');
    const automatic = ['created_by', 'created_by_id', 'created_date', 'id', 'is_sample', 'updated_date'];
    expect(Object.keys(got.body).sort()).toEqual(['b', ...automatic]);
  });

  it('refuses a value that is not unique, with the fields, and frees a value that is replaced', async () => {
    await put(ann, task.id, { code: 'A' });
    const other = await create(ann, { title: 'Other' });
    expect(await put(ann, other.id, { code: 'A', note: 'lost' })).toMatchObject({
      status: 409,
      body: { code: 'unique_conflict', fields: ['code'], retry_safe: false },
    });
    expect(await read(other.id)).toEqual(other);
    expect((await put(ann, task.id, { code: 'A' })).status).toBe(200); // it already has this value
    expect((await put(ann, task.id, { code: null })).status).toBe(200);
    expect((await put(ann, other.id, { code: 'A' })).status).toBe(200);
    await put(ann, other.id, { code: null });
  });

  it('leaves created_by out of answers and events if the app hides authorship', async () => {
    await world.db.updateTable('apps').set({ hide_authorship: true }).where('id', '=', app.id).execute();
    const got = await put(ann, task.id, { note: 'new' });
    await world.db.updateTable('apps').set({ hide_authorship: false }).where('id', '=', app.id).execute();
    expect(got.body).not.toHaveProperty('created_by');
    expect(got.body.created_by_id).toBe(users.ann.id);
    expect((await listEventsOf(task.id)).at(-1)?.data).not.toHaveProperty('created_by');
  });

  it('publishes a change that is too large without its data', async () => {
    const long = 'x'.repeat(120 * 1024);
    await put(ann, task.id, { note: long });
    expect((await listEventsOf(task.id)).at(-1)).toMatchObject({ payload_too_large: false, data: { note: long } });
    await put(ann, task.id, { note: `${long}y` });
    expect((await listEventsOf(task.id)).at(-1)).toMatchObject({
      payload_too_large: true,
      data: null,
      old_data: null,
      changed_fields: ['note'],
    });
    const larger = await put(ann, task.id, { note: 'x'.repeat(256 * 1024) });
    expect(larger).toMatchObject({ status: 422, body: { detail: [{ loc: ['body'], type: 'value_error' }] } });
  });

  it('treats names and values that look like SQL or code as plain data', async () => {
    const odd = `'); drop table entity_records; --`;
    const got = await put(ann, task.id, { note: odd, [odd]: 1, constructor: 2, __proto__: { price: 9 } });
    expect(got).toMatchObject({ status: 200, body: { note: odd, price: 3 } });
    const raw = await put(ann, task.id, '{"__proto__":{"price":9},"note":"{{user.email}}"}');
    expect(raw).toMatchObject({ status: 200, body: { note: '{{user.email}}', price: 3 } });
    expect(raw.headers['x-ignored-fields']).toBe('__proto__');
    expect(await put(ann, task.id, { note: 'a\0b' })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'note'], type: 'string_pattern_mismatch' }] },
    });
  });
});

describe('concurrent updates', () => {
  it('of different fields all take effect', async () => {
    const fields = ['title', 'note', 'team', 'state'] as const;
    for (let round = 0; round < 5; round += 1) {
      const values = { title: `t${round}`, note: `n${round}`, team: `m${round}`, state: round % 2 ? 'open' : 'done' };
      const got = await Promise.all(fields.map((field) => put(ann, task.id, { [field]: values[field] })));
      expect(got.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(await read(task.id)).toMatchObject(values);
    }
  });

  it('of one field leave the last committed value, and each event has the value that it replaced', async () => {
    const values = Array.from({ length: 12 }, (_, index) => `v${index}`);
    const got = await Promise.all(values.map((note) => put(ann, task.id, { note })));
    expect(got.every(({ status }) => status === 200)).toBe(true);
    const published = (await listEventsOf(task.id)).filter(({ name }) => name === 'entity.updated');
    expect(published).toHaveLength(values.length);
    // Each change starts from another's result, so together they form a chain that ends with the stored value.
    const next = new Map(published.map(({ old_data, data }) => [old_data?.note, data?.note]));
    let note: unknown = 'kept';
    for (let step = 0; step < values.length; step += 1) note = next.get(note);
    expect((await read(task.id)).note).toBe(note);
  });

  it('evaluate rules on the version of the record that they replace', async () => {
    // Even while the record alternates between its states, no update that the rule denies is stored.
    await define({
      name: 'Gate',
      properties: { open: { type: 'boolean' }, passed: { type: 'boolean' } },
      rls: { read: true, create: true, update: { $or: [{ 'data.open': true }, isAdmin] } },
    } as { name: string });
    const gate = await create(token, { open: false }, 'Gate');
    const flips = async () => {
      for (let turn = 0; turn < 10; turn += 1) await put(token, gate.id, { open: turn % 2 === 0 }, 'Gate');
    };
    const tries = async () => {
      for (let turn = 0; turn < 10; turn += 1) await put(bob, gate.id, { passed: true }, 'Gate');
    };
    await Promise.all([flips(), tries(), tries()]);
    const passed = (await listEventsOf(gate.id)).filter(({ actor }) => actor?.email === 'bob@example.com');
    expect(passed.every(({ old_data }) => old_data?.open === true)).toBe(true);
  });

  it('cannot give two records the same unique value', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => create(ann, { title: 'Race', code: 'R' })));
    expect(made.filter(({ id }) => id !== undefined)).toHaveLength(1);
  });
});
