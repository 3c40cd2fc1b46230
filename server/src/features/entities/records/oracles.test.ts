// Tests that writes reveal no records or fields that the caller may not read
// (docs/api/entities.md#what-a-caller-may-not-read).
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';
import { newId } from '../../../kit/ids.ts';
import { buildKeys } from '../background.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace);
const user = await world.appUser(app, 'ann@example.com');
const ann = await world.appUserToken(app, user);

const isAdmin = { user_condition: { role: 'admin' } };
const isOwn = { 'data.owner': '{{user.email}}' };
async function define(name: string, document: object): Promise<void> {
  const path = `/api/apps/${app.id}/entity-schemas/${name}`;
  expect(await world.call('PUT', path, { as: token, body: { name, ...document } })).toMatchObject({ status: 200 });
}
const call = (method: string, path: string, body?: unknown, as = token) =>
  world.call(method, `/api/apps/${app.id}/entities/${path}`, { as, ...(body !== undefined && { body }) });
const count = async (path: string) => (await call('GET', path)).body.count;

/** What a caller learns from a response, without the parts that differ between any two records. */
const summarise = ({ status, body, headers }: Awaited<ReturnType<typeof call>>) => {
  const { records, request_id: _, ...rest } = body;
  return {
    status,
    ...rest,
    records: records?.length,
    changed: headers['x-changed'],
    truncated: headers['x-truncated'],
  };
};

/**
 * Everyone may write. Only a record's owner and admins may read it, and only admins may read its PIN and some notes.
 */
const document = {
  properties: {
    code: { type: 'string' },
    owner: { type: 'string' },
    pin: { type: 'string', rls: { read: isAdmin } },
    note: { type: 'string', rls: { read: { $or: [isAdmin, { 'data.shown': true }] } } },
    shown: { type: 'boolean' },
  },
  rls: { read: { $or: [isAdmin, isOwn] }, write: true },
};
const mine = { owner: user.email };

describe('upsertRecords', () => {
  const upsert = (key: string, record: object, name: string, as = ann) =>
    call('POST', `${name}/upsert`, { records: [record], key: [key] }, as);

  it('creates a record beside a hidden one that has the same key, as if there were none', async () => {
    await define('Hidden', document);
    const { id } = (await call('POST', 'Hidden', { code: 'taken', owner: 'bob' })).body;
    const taken = await upsert('code', { code: 'taken', ...mine }, 'Hidden');
    expect(summarise(taken)).toEqual(summarise(await upsert('code', { code: 'free', ...mine }, 'Hidden')));
    expect(taken).toMatchObject({ status: 200, body: { created: 1, updated: 0 } });
    expect((await call('GET', `Hidden/${id}`)).body).toMatchObject({ code: 'taken', owner: 'bob' });
  });

  it('finds no record by a field that the caller may not read, in any record or in this one', async () => {
    await define('Fields', document);
    await call('POST', 'Fields/bulk', [
      { pin: '1234', ...mine },
      { note: 'shown', shown: true, ...mine },
      { note: 'hidden', shown: false, ...mine },
    ]);
    const created = { status: 200, body: { created: 1, updated: 0 } };
    expect(await upsert('pin', { pin: '1234', ...mine }, 'Fields')).toMatchObject(created);
    expect(await upsert('pin', { pin: '9999', ...mine }, 'Fields')).toMatchObject(created);
    expect(await upsert('note', { note: 'hidden', ...mine }, 'Fields')).toMatchObject(created);
    expect(await upsert('note', { note: 'shown' }, 'Fields')).toMatchObject({ body: { created: 0, updated: 1 } });
  });

  it('finds the one readable record of a key, however many hidden ones have it', async () => {
    await define('Crowd', document);
    const hidden = Array.from({ length: 5 }, () => ({ code: 'same', owner: 'bob' }));
    await call('POST', 'Crowd/bulk', hidden);
    const { id } = (await call('POST', 'Crowd', { code: 'same', ...mine })).body;
    expect(await upsert('code', { code: 'same', shown: true }, 'Crowd')).toMatchObject({
      status: 200,
      body: { created: 0, updated: 1, records: [{ id, shown: true }] },
    });
    expect(await upsert('code', { code: 'same' }, 'Crowd', token)).toMatchObject({
      status: 409,
      body: { code: 'upsert_key_ambiguous' },
    });
  });

  it('answers 409 if the key is unique and a hidden record has it, because uniqueness is enforced', async () => {
    await define('Unique', { ...document, unique: [['code']] });
    await buildKeys(world.db, new Date(Date.now() + 120_000));
    await call('POST', 'Unique', { code: 'taken', owner: 'bob' });
    expect(await upsert('code', { code: 'taken', ...mine }, 'Unique')).toMatchObject({
      status: 409,
      body: { code: 'unique_conflict', fields: ['code'] },
    });
    await upsert('code', { code: 'own', ...mine }, 'Unique');
    expect(await upsert('code', { code: 'own', shown: true }, 'Unique')).toMatchObject({ body: { updated: 1 } });
  });
});

describe('deleteRecords', () => {
  it('deletes only records that the caller may read, and answers as if there were no others', async () => {
    await define('Bin', document);
    await call('POST', 'Bin/bulk', [
      { code: 'a', owner: 'bob' },
      { code: 'b', ...mine },
    ]);
    const guessed = await call('DELETE', 'Bin', { query: { code: 'a' } }, ann);
    expect(summarise(guessed)).toEqual(summarise(await call('DELETE', 'Bin', { query: { code: 'none' } }, ann)));
    expect(guessed).toMatchObject({ status: 200, body: { deleted: 0 } });
    expect(await call('DELETE', 'Bin', { all: true }, ann)).toMatchObject({ body: { deleted: 1 } });
    expect(await count('Bin/count')).toBe(1);
  });

  it('finds no record by a field that the caller may not read', async () => {
    await define('Pins', document);
    await call('POST', 'Pins/bulk', [
      { pin: '1234', ...mine },
      { note: 'hidden', ...mine },
    ]);
    for (const query of [{ pin: '1234' }, { pin: { $startsWith: '1' } }, { note: 'hidden' }])
      expect(await call('DELETE', 'Pins', { query }, ann)).toMatchObject({ body: { deleted: 0 } });
    expect(await count('Pins/count')).toBe(2);
  });

  it('does not say that there are more if the others are hidden', async () => {
    await define('Many', document);
    const hidden = Array.from({ length: 500 }, () => ({ code: 'x', owner: 'bob' }));
    for (let n = 0; n < 11; n += 1) await call('POST', 'Many/bulk', hidden);
    await call('POST', 'Many', { code: 'x', ...mine });
    const got = await call('DELETE', 'Many', { query: { code: 'x' } }, ann);
    expect(got).toMatchObject({ status: 200, body: { deleted: 1 } });
    expect(got.headers).not.toHaveProperty('x-truncated');
  });
});

describe('updateRecord', () => {
  it('says that nothing changed only of fields that the caller may read', async () => {
    await define('Vault', document);
    const { id } = (await call('POST', 'Vault', { pin: '1234', code: 'a', ...mine })).body;
    const update = (body: object, as = ann) => call('PUT', `Vault/${id}`, body, as);
    expect((await update({ code: 'a' })).headers['x-changed']).toBe('false');
    expect((await update({ pin: '1234' }, token)).headers['x-changed']).toBe('false');
    expect((await update({ pin: '1234' })).headers).not.toHaveProperty('x-changed');
    await update({ owner: 'bob' });
    expect((await update({ code: 'a' })).headers).not.toHaveProperty('x-changed');
  });
});

describe('a rule that takes too many steps', () => {
  const listOf = <T>(length: number, item: T): T[] => Array.from({ length }, () => item);
  // Every test in a group passes except the last, so no group ends early.
  const group = { a: { $ne: 0, $nin: [0], $exists: false, $eq: 0 } };
  const half = { $or: listOf(19, group) };
  const costly = { $nor: [{ 'data.lines': { $elemMatch: { $or: [half, half] } } }] };
  const rule = { ...costly, ...isOwn };

  it('answers 409 about a record that the caller may know of, and 404 about any other', async () => {
    const properties = { owner: { type: 'string' }, lines: { type: 'array' } };
    await define('Costly', { properties });
    const lines = listOf(6_000, {});
    const stored = await call('POST', 'Costly/bulk', [
      { lines, owner: 'bob' },
      { lines, ...mine },
    ]);
    const [hidden, own] = stored.body;
    await define('Costly', { properties, rls: { read: rule, write: rule } });
    const requests: [string, (id: string) => ReturnType<typeof call>][] = [
      ['read', (id) => call('GET', `Costly/${id}`, undefined, ann)],
      ['update', (id) => call('PUT', `Costly/${id}`, {}, ann)],
      ['update', (id) => call('PUT', 'Costly/bulk', [{ id }], ann)],
      ['delete', (id) => call('DELETE', `Costly/${id}`, undefined, ann)],
    ];
    for (const [operation, send] of requests) {
      const got = await send(hidden.id);
      expect(got).toMatchObject({ status: 404, body: { code: 'record_not_found' } });
      expect(summarise(got)).toEqual(summarise(await send(newId())));
      expect(await send(own.id)).toMatchObject({ status: 409, body: { code: 'rule_too_expensive', operation } });
    }
  });
});
