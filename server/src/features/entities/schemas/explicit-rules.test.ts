// Tests migration 0023, which adds an explicit rule to existing schemas wherever a missing rule used to allow everyone
// who was signed in. Its statements leave a migrated database unchanged, so it can run again here, on schemas stored in
// the old form.
import { readFile } from 'node:fs/promises';
import { CompiledQuery } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';
import { newId } from '../../../kit/ids.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
const ann = await world.appUserToken(app, await world.appUser(app, 'ann@example.com'));

const signedIn = { user_condition: { id: '{{user.id}}' } };
const isAdmin = { user_condition: { role: 'admin' } };

/**
 * The stored document, and the rules it must have after the migration. The rules are undefined if the schema must not
 * change.
 */
const stored: Record<string, { document: object; rls: object | undefined }> = {
  None: {
    document: { properties: { b: {}, a: {} } },
    rls: { create: signedIn, read: signedIn, update: signedIn, delete: signedIn },
  },
  Null: {
    document: { rls: null, properties: { a: {} } },
    rls: { create: signedIn, read: signedIn, update: signedIn, delete: signedIn },
  },
  Empty: {
    document: { properties: { a: {} }, rls: { update: '', read: {}, delete: null, create: isAdmin } },
    rls: { update: signedIn, read: signedIn, delete: signedIn, create: isAdmin },
  },
  Write: {
    document: { properties: { a: {} }, rls: { write: isAdmin, delete: null, update_check: false } },
    rls: { write: isAdmin, delete: null, update_check: false, read: signedIn },
  },
  NoWrite: {
    document: { properties: { a: {} }, rls: { write: null, read: true, create: false } },
    rls: { write: null, read: true, create: false, update: signedIn, delete: signedIn },
  },
  Complete: { document: { properties: { a: {} }, rls: { read: false, write: true } }, rls: undefined },
  User: { document: { properties: { a: {} } }, rls: undefined },
};

async function runMigration(): Promise<void> {
  const file = new URL('../../../../migrations/0023_explicit_rules.sql', import.meta.url);
  const text = await readFile(file, 'utf8');
  await world.db.executeQuery(CompiledQuery.raw(text)); // statements in one message form one transaction
}

const listSchemas = () =>
  world.db.selectFrom('entity_schemas').where('app_id', '=', app.id).selectAll().orderBy('name').execute();

const revisionBefore = 41;
beforeAll(async () => {
  const date = new Date('2026-01-01');
  for (const [name, { document }] of Object.entries(stored)) {
    const dates = { created_date: date, updated_date: date };
    const text = JSON.stringify({ name, ...document });
    await world.db
      .insertInto('entity_schemas')
      .values({ app_id: app.id, name, document: text, keys: ['data.a#7'], revision: 7, ...dates })
      .execute();
  }
  await world.db.updateTable('apps').set({ revision: revisionBefore }).where('id', '=', app.id).execute();
  await runMigration();
});

it('adds a rule to each operation without one, and keeps everything else in its order', async () => {
  for (const { name, document, revision, keys } of await listSchemas()) {
    const { document: before, rls } = stored[name] as (typeof stored)[string];
    const expected = { name, ...before, ...(rls !== undefined && { rls }) };
    expect(JSON.stringify(document), name).toBe(JSON.stringify(expected));
    expect([revision, keys], name).toEqual([rls === undefined ? 7 : revisionBefore + 1, ['data.a#7']]);
  }
});

it('increments the revision of each app once, so no process uses the documents from before', async () => {
  const { revision } = await world.db
    .selectFrom('apps')
    .where('id', '=', app.id)
    .select('revision')
    .executeTakeFirstOrThrow();
  expect(revision).toBe(revisionBefore + 1);
});

it('keeps the data open to those who had access before, and to nobody else', async () => {
  const call = (method: string, path: string, as: string | undefined, body?: object) =>
    world.call(method, `/api/apps/${app.id}/entities/${path}`, { ...(as && { as }), ...(body && { body }) });
  const { id } = (await call('POST', 'None', ann, { a: '1' })).body;
  expect((await call('GET', 'None', ann)).body.items).toMatchObject([{ id, a: '1' }]);
  expect(await call('PUT', `None/${id}`, token, { a: '2' })).toMatchObject({ status: 200 });
  expect((await call('GET', 'None', undefined)).body.items).toEqual([]);
  expect(await call('POST', 'None', undefined, { a: '1' })).toMatchObject({ status: 403 });
  expect(await call('DELETE', `None/${id}`, ann)).toMatchObject({ status: 200 });
});

it('writes an audit entry with the rules before and after, which is sealed like any other', async () => {
  const seal = world.app.background.jobs.find((job) => job.name === 'seal audit entries');
  await seal?.run(world.app.database.db, new Date());
  const log = await world.call('GET', '/api/workspace/audit-log?type=entity_schema.updated', { as: token });
  const entries = log.body.items;
  expect(entries).toHaveLength(Object.values(stored).filter(({ rls }) => rls !== undefined).length);
  expect(entries.find(({ target }: { target: { id: string } }) => target.id === 'NoWrite')).toMatchObject({
    actor: { kind: 'service', id: null, email: null },
    app_id: app.id,
    before: { revision: 7, rls: { write: null, read: true, create: false } },
    after: { revision: revisionBefore + 1, rls: stored.NoWrite?.rls },
  });
  expect((await world.call('GET', '/api/workspace/audit-log/verify', { as: token })).body).toMatchObject({
    valid: true,
  });
});

it('changes nothing when it runs again', async () => {
  const before = await listSchemas();
  await runMigration();
  expect(await listSchemas()).toEqual(before);
});

it('leaves a document readable that its rules made larger than a new one may be', async () => {
  const id = newId().slice(-6);
  const document = { name: `Big${id}`, description: 'x'.repeat(128 * 1024 - 200), properties: { a: {} } };
  const now = new Date();
  const row = { app_id: app.id, name: document.name, keys: [], revision: 1, created_date: now, updated_date: now };
  await world.db
    .insertInto('entity_schemas')
    .values({ ...row, document: JSON.stringify(document) })
    .execute();
  await runMigration();
  const got = await world.call('POST', `/api/apps/${app.id}/entities/${document.name}`, { as: ann, body: { a: '1' } });
  expect(got).toMatchObject({ status: 200 });
});
