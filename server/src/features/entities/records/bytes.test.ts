// Tests the limits of bulk operations. The stored records that an operation touches count toward the byte budget, and
// their total size is limited for each request (docs/api/entities.md#limits-of-bulk-operations).
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';

const world = await startWorld();
const mebibyte = 1024 * 1024;

/** Creates an app with `count` stored records of `bytes` each. The rate multiplier sets a caller's budget to 6 MiB. */
async function newPlace(count: number, bytes: number, rate_multiplier = 0.1) {
  const owner = await world.person(`${crypto.randomUUID()}@example.com`); // a new person has their own byte budget
  const workspace = await world.workspace(owner, 'free');
  const as = await world.token(owner, workspace);
  const app = await world.appOf(owner, workspace);
  const call = (method: string, path: string, body?: unknown) =>
    world.call(method, `/api/apps/${app.id}/${path}`, { as, body });
  const schema = { name: 'Note', properties: { text: {}, code: { type: 'integer' } } };
  expect((await call('PUT', 'entity-schemas/Note', schema)).status).toBe(200);
  await world.db.updateTable('workspaces').set({ rate_multiplier }).where('id', '=', workspace).execute();
  const { rows } = await sql<{ id: string }>`
    insert into entity_records (app_id, id, entity_name, data, created_by, created_by_id, created_date, updated_date)
    select ${app.id}, gen_random_uuid(), 'Note', jsonb_build_object('code', 1000 + n, 'text', repeat('x', ${bytes - 23}::integer)), '', '', now(), now()
    from generate_series(1, ${count}::integer) as n returning id`.execute(world.db);
  return { call, ids: rows.map(({ id }) => id) };
}

const upsertOf = (count: number) => ({
  key: ['code'],
  records: Array.from({ length: count }, (_, n) => ({ code: 1001 + n })),
});

const overBudget = { status: 429, body: { code: 'rate_limited', limit: Math.floor(6 * mebibyte) } };

it.each([
  ['updateRecords', 'PUT', 'entities/Note/bulk', (ids: string[]) => ids.map((id) => ({ id, code: 1 })), 200],
  ['a refused updateRecords', 'PUT', 'entities/Note/bulk', (ids: string[]) => ids.map((id) => ({ id, text: 5 })), 422],
  ['upsertRecords', 'POST', 'entities/Note/upsert', (ids: string[]) => upsertOf(ids.length), 200],
  ['deleteRecords', 'DELETE', 'entities/Note', () => ({ query: {}, all: true }), 200],
  ['deleteEntitySchema', 'DELETE', 'entity-schemas/Note?delete_records=true', () => undefined, 200],
] as const)(
  '%s counts the stored records, and the next bulk operation is refused',
  async (_name, method, path, body, status) => {
    const { call, ids } = await newPlace(40, 200_000); // 8 MB
    expect((await call(method, path, body(ids))).status).toBe(status);
    expect(await call('PUT', 'entity-schemas', { schemas: [] })).toMatchObject(overBudget);
  },
);

it('updateRecords and upsertRecords refuse with 413 if the stored records have more than 32 MiB', async () => {
  const { call, ids } = await newPlace(140, 250_000, 1000);
  const changes = ids.map((id) => ({ id, code: 1 }));
  const tooLarge = { status: 413, body: { code: 'payload_too_large', limit_bytes: 32 * mebibyte } };
  expect(await call('PUT', 'entities/Note/bulk', changes)).toMatchObject(tooLarge);
  expect(await call('POST', 'entities/Note/upsert', upsertOf(140))).toMatchObject(tooLarge);
  expect((await call('PUT', 'entities/Note/bulk', changes.slice(0, 5))).status).toBe(200);
});

it('deleteRecords deletes at most 64 MiB per call, and says that there are more', async () => {
  const { call } = await newPlace(280, 256_000, 1000);
  const remove = () => call('DELETE', 'entities/Note', { query: {}, all: true });
  const first = await remove();
  expect(first).toMatchObject({ status: 200, body: { deleted: 262 }, headers: { 'x-truncated': 'true' } });
  const second = await remove();
  expect(second).toMatchObject({ status: 200, body: { deleted: 18 } });
  expect(second.headers).not.toHaveProperty('x-truncated');
});
