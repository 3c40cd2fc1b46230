// Tests that the audit log reports members' record writes as totals for periods of a few minutes
// (docs/api/audit-log.md#record-writes).
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';
import { transaction } from '../../../kit/db/database.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
const ann = await world.appUserToken(app, await world.appUser(app, 'ann@example.com'));
const { db } = world.app.database;

async function define(name: string): Promise<void> {
  const body = { name, properties: { a: {} }, rls: { read: true, write: true } };
  await world.call('PUT', `/api/apps/${app.id}/entity-schemas/${name}`, { as: token, body });
}
const call = (method: string, path: string, body?: unknown, as: string | null = token) =>
  world.call(method, `/api/apps/${app.id}/entities/${path}`, {
    ...(as !== null && { as }),
    ...(body !== undefined && { body }),
  });

const minuteMs = 60_000;
const dispatch = () => world.app.background.dispatch(db, world.clock.now());
async function runJob(aheadMs: number): Promise<void> {
  const job = world.app.background.jobs.find(({ name }) => name === 'audit record writes');
  await job?.run(db, new Date(world.clock.now().getTime() + aheadMs));
}
const listEntries = async (entity: string) => {
  const log = await world.call('GET', `/api/workspace/audit-log?type=record.written&app_id=${app.id}`, { as: token });
  return log.body.items.filter(({ target }: { target: { id: string } }) => target.id === entity);
};

describe('record writes', () => {
  it('of a member are one entry per credential and entity, with their number and times', async () => {
    await define('Task');
    const [one, two] = (await call('POST', 'Task/bulk', [{ a: '1' }, { a: '2' }])).body;
    const updated = await call('PUT', `Task/${one.id}`, { a: '3' });
    await dispatch();
    await call('PUT', 'Task/bulk', [{ id: one.id, a: '4' }]);
    await call('POST', 'Task/upsert', { records: [{ a: '2' }, { a: 'new' }], key: ['a'] });
    await call('DELETE', `Task/${two.id}`);
    await call('POST', `Task/${two.id}/restore`);
    const removed = await call('DELETE', 'Task', { all: true });
    expect(removed.body.deleted).toBe(3);
    await dispatch();
    await runJob(6 * minuteMs);
    const entries = await listEntries('Task');
    expect(entries).toMatchObject([
      {
        actor: { kind: 'user', id: owner.id, email: owner.email },
        app_id: app.id,
        target: { kind: 'entity', id: 'Task' },
        before: null,
        after: { created: 4, updated: 3, deleted: 4, first_at: one.created_date },
        outcome: 'done',
      },
    ]);
    expect(entries[0].occurred_at > updated.body.updated_date).toBe(true);
    const { credential } = (await world.call('GET', '/api/auth/me', { as: token })).body;
    expect(entries[0].credential_id).toBe(credential.id);
  });

  it('of two credentials are told apart', async () => {
    await define('Split');
    const editor = await world.member(workspace, 'editor', 'editor@example.com');
    await call('POST', 'Split', { a: '1' }, await world.token(editor, workspace));
    await call('POST', 'Split', { a: '1' });
    await dispatch();
    await runJob(6 * minuteMs);
    const people = (await listEntries('Split')).map(({ actor, after }: { actor: object; after: object }) => [
      actor,
      after,
    ]);
    expect(people).toHaveLength(2);
    expect(people).toContainEqual([
      { kind: 'user', id: editor.id, email: editor.email },
      expect.objectContaining({ created: 1, updated: 0, deleted: 0 }),
    ]);
  });

  it('of a workspace key, which deletes an entity with its records, name the key', async () => {
    await define('Old');
    await call('POST', 'Old/bulk', [{ a: '1' }, { a: '2' }], ann);
    const about = {
      user_id: null,
      workspace_id: workspace,
      permission: 'full_access',
      scopes: ['schemas:write'],
    } as const;
    const key = await world.credential({ kind: 'workspace_key', ...about });
    const path = `/api/apps/${app.id}/entity-schemas/Old?delete_records=true`;
    expect(await world.call('DELETE', path, { as: key.token })).toMatchObject({ status: 200 });
    await dispatch();
    await runJob(6 * minuteMs);
    expect(await listEntries('Old')).toMatchObject([
      { actor: { kind: 'workspace_key', id: key.id, email: null }, credential_id: key.id, after: { deleted: 2 } },
    ]);
  });

  it('of app users and anonymous callers are not in the audit log', async () => {
    await define('Public');
    expect((await call('POST', 'Public', { a: '1' }, ann)).status).toBe(200);
    expect((await call('POST', 'Public', { a: '1' }, null)).status).toBe(200);
    await dispatch();
    await runJob(6 * minuteMs);
    expect(await listEntries('Public')).toEqual([]);
  });

  it('are audited five minutes after the first of them, and later ones again', async () => {
    await define('Slow');
    const { id } = (await call('POST', 'Slow', { a: '1' })).body;
    await dispatch();
    await runJob(4 * minuteMs);
    expect(await listEntries('Slow')).toEqual([]);
    await runJob(6 * minuteMs);
    await runJob(6 * minuteMs);
    expect(await listEntries('Slow')).toHaveLength(1);
    await call('PUT', `Slow/${id}`, { a: '2' });
    await dispatch();
    await runJob(6 * minuteMs);
    const [latest, ...earlier] = await listEntries('Slow');
    expect(latest.after).toMatchObject({ created: 0, updated: 1, deleted: 0 });
    expect(earlier).toHaveLength(1);
  });

  it('are counted once, even if the worker crashes while it handles their events', async () => {
    await define('Crash');
    await call('POST', 'Crash/bulk', [{ a: '1' }, { a: '2' }, { a: '3' }]);
    const crashed = transaction(db, async (db) => {
      expect(await world.app.background.dispatch(db, world.clock.now())).toBeGreaterThan(0);
      throw new Error('crashed');
    });
    await expect(crashed).rejects.toThrow('crashed');
    await dispatch();
    await dispatch();
    await runJob(6 * minuteMs);
    expect(await listEntries('Crash')).toMatchObject([{ after: { created: 3 } }]);
  });

  it('that are refused or rolled back are not counted', async () => {
    await define('Refused');
    expect((await call('POST', 'Refused/bulk', [{ a: '1' }, { a: 5 }])).status).toBe(422);
    await dispatch();
    await runJob(6 * minuteMs);
    expect(await listEntries('Refused')).toEqual([]);
  });
});
