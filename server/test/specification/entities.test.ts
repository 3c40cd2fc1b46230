// Tests what the specification says about records of entities and their update.
import { describe, expect, it } from 'vitest';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import { startWebhookScene } from '../support/webhook-receiver.ts';
import { createScene, onEntity } from '../support/workflows.ts';
import { expectInvalid, expectOk, personalKey, time } from './support.ts';

const { world, owner, workspace, token, url, endpoint, createWebhook } = await startWebhookScene();
await world.startWorker();
const workflows = createScene(world, token);

const properties = {
  title: { type: 'string', maxLength: 20 },
  total: { type: 'number' },
  cost: { type: 'number', rls: { write: false } },
  tags: { type: 'array', items: { type: 'string' } },
  address: { type: 'object' },
};
/** Creates an app whose entity `Order` has these rules. */
async function newApp(rls: object = {}, more: object = {}): Promise<AppRow> {
  const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login', ...more });
  const body = { name: 'Order', properties, rls: { read: true, create: true, update: true, ...rls } };
  expectOk(await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Order`, { as: token, body }));
  return app;
}
const at = (app: AppRow, id = '', entity = 'Order') => `/api/apps/${app.id}/entities/${entity}${id && `/${id}`}`;
const create = async (app: AppRow, body: object, sent: object = { as: token }) =>
  expectOk(await world.call('POST', at(app), { ...sent, body }));
const update = (app: AppRow, id: string, body: unknown, sent: object = { as: token }) =>
  world.call('PUT', at(app, id), { ...sent, body });
const read = async (app: AppRow, id: string) => expectOk(await world.call('GET', at(app, id), { as: token }));

const app = await newApp();

describe('What the service does', () => {
  it('Through it a caller can update a record of an app entity (row-level and field-level rules apply)', async () => {
    const guarded = await newApp({ update: { created_by_id: '{{user.id}}' } });
    const ann = await world.appUser(guarded, 'ann@example.com');
    const bob = await world.appUser(guarded, 'bob@example.com');
    const as = async (user: typeof ann) => ({ as: await world.appUserToken(guarded, user) });
    const record = await create(guarded, { title: 'Rose' }, await as(ann));
    expect(expectOk(await update(guarded, record.id, { title: 'Lily' }, await as(ann))).title).toBe('Lily');
    expect((await update(guarded, record.id, { title: 'Tulip' }, await as(bob))).status).toBe(403);
    expect((await update(guarded, record.id, { cost: 1 }, await as(ann))).status).toBe(403);
  });
});

describe('Resources and their fields: Entity record', () => {
  it("Fields the entity's schema declares, plus automatic fields", async () => {
    const record = await create(app, { title: 'Rose', total: 2, colour: 'red' });
    expect(Object.keys(record).sort()).toEqual(
      ['created_by', 'created_by_id', 'created_date', 'id', 'is_sample', 'title', 'total', 'updated_date'].sort(),
    );
  });

  it('id: string', async () => {
    const { id } = await create(app, { title: 'Rose' });
    expect((await read(app, id)).id).toBe(id);
  });

  it('created_date, updated_date: timestamp', async () => {
    const record = await create(app, { title: 'Rose' });
    expect(record).toMatchObject({ created_date: time, updated_date: time });
    const changed = expectOk(await update(app, record.id, { title: 'Lily' }));
    expect(changed.created_date).toBe(record.created_date);
    expect(Date.parse(changed.updated_date)).toBeGreaterThan(Date.parse(record.updated_date));
  });

  it('created_by: string; email of creating user, or anonymous; omitted in apps that hide authorship', async () => {
    expect((await create(app, {})).created_by).toBe(owner.email);
    expect((await create(app, {}, {})).created_by).toBe('anonymous');
    const discreet = await newApp();
    const hide = { as: token, body: { hide_authorship: true } };
    expectOk(await world.call('PUT', `/api/apps/${discreet.id}`, hide));
    expect(await create(discreet, {})).not.toHaveProperty('created_by');
    const { id } = await create(discreet, {});
    expect(expectOk(await update(discreet, id, { title: 'Rose' }))).not.toHaveProperty('created_by');
  });

  it('created_by_id: string; user ID or anonymous', async () => {
    expect((await create(app, {})).created_by_id).toBe(owner.id);
    expect((await create(app, {}, {})).created_by_id).toBe('anonymous');
  });

  it('is_sample: boolean; true when stored as sample data during building; false for a record the caller creates', async () => {
    const record = await create(app, { title: 'Rose', is_sample: true });
    expect(record.is_sample).toBe(false);
    await world.db.updateTable('entity_records').set({ is_sample: true }).where('id', '=', record.id).execute();
    expect((await read(app, record.id)).is_sample).toBe(true);
    expect(expectOk(await update(app, record.id, { title: 'Lily' })).is_sample).toBe(true);
  });
});

describe('Endpoints: PUT /api/apps/{app_id}/entities/{entity_name}/{entity_id}', () => {
  it('Merges the sent fields into one record', async () => {
    const { id } = await create(app, { title: 'Rose', total: 2 });
    const other = await create(app, { title: 'Other' });
    expectOk(await update(app, id, { total: 3 }));
    expect(await read(app, id)).toMatchObject({ title: 'Rose', total: 3 });
    expect(await read(app, other.id)).toEqual(other);
  });

  it("Body: flat JSON object using the entity schema's field names", async () => {
    const { id } = await create(app, {});
    const change = { title: 'Rose', total: 1.5, tags: ['a', 'b'], address: { city: 'Paris' } };
    expect(expectOk(await update(app, id, change))).toMatchObject(change);
    expectOk(await update(app, id, {}));
    for (const body of [[], 'text', 7, null]) expect((await update(app, id, body)).status).toBe(422);
    expectInvalid(await update(app, id, { total: 'many' }), 'body', 'total');
  });

  it('A field left out keeps its value', async () => {
    const { id } = await create(app, { title: 'Rose', total: 2, tags: ['a'] });
    expect(expectOk(await update(app, id, { title: 'Lily' }))).toMatchObject({ title: 'Lily', total: 2, tags: ['a'] });
  });

  it('Only fields the schema declares are stored; a misspelled name is dropped without error', async () => {
    const { id } = await create(app, { title: 'Rose' });
    const record = expectOk(await update(app, id, { tittle: 'Lily', colour: 'red' }));
    expect(record.title).toBe('Rose');
    expect(record).not.toHaveProperty('tittle');
    expect(await read(app, id)).not.toHaveProperty('colour');
  });

  it('id, created_date, updated_date, created_by, created_by_id are assigned automatically and ignored if sent', async () => {
    const { id, created_date, created_by, created_by_id } = await create(app, {});
    const automatic = {
      id: '019a6c60-0c4e-7b52-8f52-7c0a5e3f9d20',
      created_date: '2000-01-01T00:00:00Z',
      updated_date: '2000-01-01T00:00:00Z',
      created_by: 'eve@example.com',
      created_by_id: 'eve',
    };
    const record = expectOk(await update(app, id, { ...automatic, title: 'Rose' }));
    expect(record).toMatchObject({ id, created_date, created_by, created_by_id, title: 'Rose' });
    expect(record.updated_date).not.toContain('2000-01-01');
    expectOk(await update(app, id, record));
  });

  it("Rejected when the entity's row-level update rule does not cover the record; rejected in full (no field updated) when a field-level rule refuses any sent field", async () => {
    const guarded = await newApp({ update: { 'data.total': { $lt: 10 } } });
    const user = await world.appUser(guarded, 'ann@example.com');
    const as = { as: await world.appUserToken(guarded, user) };
    const { id } = await create(guarded, { title: 'Rose', total: 20 });
    const refused = await update(guarded, id, { title: 'Lily' }, as);
    expect(refused.status).toBe(403);
    const covered = await create(guarded, { title: 'Rose', total: 5 });
    expect((await update(guarded, covered.id, { title: 'Lily', cost: 1 }, as)).status).toBe(403);
    expect(await read(guarded, covered.id)).toEqual(covered);
    expectOk(await update(guarded, covered.id, { title: 'Lily' }, as));
  });

  it("Triggers the app's webhooks and any automation or workflow listening on the entity", async () => {
    const webhook = await createWebhook({ events: ['entity.updated'] }, { on: app, scope: 'app' });
    const workflow = await workflows.create(app, { trigger: onEntity('Order', ['update']) });
    const automation = {
      name: 'Tell',
      type: 'entity',
      entity_name: 'Order',
      event_types: ['update'],
      action: { type: 'http_request', url: url('/automation'), body: '{order: .entity_id}' },
    };
    expectOk(await world.call('POST', `/api/apps/${app.id}/automations`, { as: token, body: automation }));
    const { id } = await create(app, { title: 'Rose' });
    expectOk(await update(app, id, { title: 'Lily' }));
    await expect.poll(() => webhook.received().map(({ body }) => JSON.parse(body).entity_id)).toContain(id);
    await expect
      .poll(async () => (await workflows.listRuns(app)).map((run: { workflow_id: string }) => run.workflow_id))
      .toContain(workflow.id);
    await expect
      .poll(() => endpoint.received.filter(({ path }) => path === '/automation').map(({ body }) => body))
      .toContainEqual(expect.stringContaining(id));
  });

  it("entity_name must not be User: it does not fail but reads and writes a separate disconnected record set, not the app's real user accounts", async () => {
    const user = await world.appUser(app, 'real@example.com', { full_name: 'Real' });
    const as = { as: token };
    const created = expectOk(
      await world.call('POST', at(app, '', 'User'), { ...as, body: { email: 'real@example.com', full_name: 'Other' } }),
    );
    const path = at(app, created.id, 'User');
    expect(expectOk(await world.call('PUT', path, { ...as, body: { full_name: 'Changed' } })).full_name).toBe(
      'Changed',
    );
    const users = expectOk(await world.call('GET', `/api/apps/${app.id}/users?limit=100`, as)).items;
    const real = users.find(({ id }: { id: string }) => id === user.id);
    expect(real).toMatchObject({ email: 'real@example.com', full_name: 'Real' });
    expect((await world.call('GET', at(app, user.id, 'User'), as)).status).toBe(404);
  });

  it('Response 200: the whole updated record', async () => {
    const record = await create(app, { title: 'Rose', total: 2 });
    const headers = await personalKey(world, owner);
    const updated = expectOk(await update(app, record.id, { total: 3 }, { headers }));
    expect(updated).toEqual({ ...record, total: 3, updated_date: time });
    expect(await read(app, record.id)).toEqual(updated);
  });
});

describe('Events', () => {
  it("Entity updates also trigger the app's own webhooks and listening automations", async () => {
    const own = await newApp();
    const webhook = await createWebhook({ events: ['entity.updated'] }, { on: own, scope: 'app' });
    const { id } = await create(own, { title: 'Rose' });
    const automation = {
      name: 'Tell',
      type: 'entity',
      entity_name: 'Order',
      event_types: ['update'],
      action: { type: 'http_request', url: url('/listening'), body: '.data.title' },
    };
    expectOk(await world.call('POST', `/api/apps/${own.id}/automations`, { as: token, body: automation }));
    expectOk(await update(own, id, { title: 'Lily' }));
    await expect.poll(() => webhook.received()).toHaveLength(1);
    await expect
      .poll(() => endpoint.received.filter(({ path }) => path === '/listening').map(({ body }) => body))
      .toEqual(['"Lily"']);
  });
});
