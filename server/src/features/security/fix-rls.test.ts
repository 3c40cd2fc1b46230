// Tests that fixRls closes the row rules that a scan finds open. Requests are sent before and after the fix.
import { sql } from 'kysely';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import type { AppRow } from '../../core/auth/proofs.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner, 'business');
const token = await world.token(owner, workspace);
beforeAll(() => world.startWorker());
beforeEach(() => world.resetRateLimits());

const scanPath = (app: AppRow, path = '') => `/api/apps/${app.id}/security/scan${path}`;
const read = (app: AppRow) => world.call('GET', scanPath(app), { as: token });
const fix = (app: AppRow, ...entity_names: string[]) =>
  world.call('POST', scanPath(app, '/fix-rls'), { as: token, body: { entity_names } });
const properties = { total: { type: 'number' }, note: { type: 'string' } };
const putSchema = async (app: AppRow, name: string, rls: object) => {
  const path = `/api/apps/${app.id}/entity-schemas/${name}`;
  const got = await world.call('PUT', path, { as: token, body: { name, properties, rls } });
  expect(got.status, got.text).toBe(200);
};
const getRules = async (app: AppRow, name: string) =>
  (await world.call('GET', `/api/apps/${app.id}/entity-schemas/${name}`, { as: token })).body.schema.rls;

async function scan(app: AppRow) {
  expect((await world.call('POST', scanPath(app), { as: token })).status).toBe(200);
  await expect.poll(async () => (await read(app)).body.status, { interval: 100 }).not.toMatch(/pending|scanning/);
  return (await read(app)).body;
}

const publicApp = () => world.appOf(owner, workspace, { public_settings: 'public_without_login' });

describe('fixRls', () => {
  it('closes what the proof of a finding reaches, and keeps the other rules', async () => {
    const app = await publicApp();
    const create = { user_condition: { id: '{{user.id}}' } };
    await putSchema(app, 'Order', { create, read: true });
    const path = `/api/apps/${app.id}/entities/Order`;
    await world.call('POST', path, { as: token, body: { total: 5, note: 'private' } });
    const [found] = (await scan(app)).result.rls_recommendations;
    expect(found).toMatchObject({
      entity_name: 'Order',
      open_operations: ['read'],
      current_rules: { read: true },
      proof: { principal: 'anonymous', operation: 'read', reachable_records: 1 },
    });
    expect(JSON.stringify(found)).not.toContain('private');
    const list = async () => (await world.call('GET', path)).body;
    expect((await list()).items ?? (await list())).toHaveLength(1);

    expect(await fix(app, 'Order')).toMatchObject({
      status: 200,
      body: { applied: [{ entity_name: 'Order', operations: ['read'] }], failed: [] },
    });
    expect(await getRules(app, 'Order')).toEqual({ create, read: found.recommended_rules.read });
    const closed = await world.call('GET', path);
    expect(closed.status === 403 || (closed.body.items ?? closed.body).length === 0, closed.text).toBe(true);
    expect((await read(app)).body.status).toBe('out_of_date');
    expect((await scan(app)).result.rls_recommendations).toEqual([]);
  });

  it('can be repeated: rules that were applied stay applied, and nothing is changed again', async () => {
    const app = await publicApp();
    await putSchema(app, 'Order', { read: true });
    await putSchema(app, 'Vote', { read: false, write: true });
    await scan(app);
    const revisionOf = async () =>
      (await world.call('GET', `/api/apps/${app.id}/entity-schemas/Order`, { as: token })).body.revision;
    const countEntries = async () => {
      const path = `/api/workspace/audit-log?type=scan.rls_fixed,entity_schema.updated&app_id=${app.id}`;
      return (await world.call('GET', path, { as: token })).body.items.length;
    };
    const first = await fix(app, 'Order', 'Vote');
    expect(first.body).toMatchObject({ applied: [{ entity_name: 'Order' }, { entity_name: 'Vote' }], failed: [] });
    expect(first.headers['x-changed']).toBeUndefined();
    const [revision, entries] = [await revisionOf(), await countEntries()];
    const again = await fix(app, 'Order', 'Vote');
    expect(again).toMatchObject({ status: 200, body: first.body, headers: { 'x-changed': 'false' } });
    expect([await revisionOf(), await countEntries()]).toEqual([revision, entries]);
  });

  it('also closes what is open if the storage quota is full', async () => {
    const app = await publicApp();
    await putSchema(app, 'Order', { read: true });
    await scan(app);
    const setQuota = (storage_quota_bytes: number | null) =>
      world.db.updateTable('workspaces').set({ storage_quota_bytes }).where('id', '=', workspace).execute();
    try {
      await setQuota(0);
      world.clock.aheadMs += 61_000; // expires the usage that this process has cached
      expect((await fix(app, 'Order')).body).toMatchObject({ applied: [{ entity_name: 'Order' }], failed: [] });
      expect(await getRules(app, 'Order')).not.toMatchObject({ read: true });
    } finally {
      await setQuota(null);
      world.clock.aheadMs -= 61_000;
    }
  });

  it('does not say that rules are applied if somebody has set others since', async () => {
    const app = await publicApp();
    await putSchema(app, 'Order', { read: true });
    await scan(app);
    expect((await fix(app, 'Order')).body.applied).toHaveLength(1);
    await putSchema(app, 'Order', { read: { 'data.total': { $gt: 1 } } });
    const again = await fix(app, 'Order');
    expect(again.body).toEqual({ applied: [], failed: [{ entity_name: 'Order', reason: 'schema_changed' }] });
    expect(again.headers['x-changed']).toBe('false');
    await putSchema(app, 'Order', { read: true });
    const reopened = await fix(app, 'Order');
    expect(reopened.body.applied).toHaveLength(1);
    expect(reopened.headers['x-changed']).toBeUndefined();
  });

  it('leaves entities alone that were not scanned, or have changed since', async () => {
    const app = await publicApp();
    await putSchema(app, 'Note', { read: true });
    await putSchema(app, 'Draft', { read: false });
    await scan(app);
    await putSchema(app, 'Note', { read: { 'data.total': { $gt: 1 } } });
    expect((await fix(app, 'Note', 'Draft', 'Missing')).body).toEqual({
      applied: [],
      failed: [
        { entity_name: 'Note', reason: 'schema_changed' },
        { entity_name: 'Draft', reason: 'no_recommendation' },
        { entity_name: 'Missing', reason: 'no_recommendation' },
      ],
    });
    expect(await getRules(app, 'Note')).toEqual({ read: { 'data.total': { $gt: 1 } } });
  });

  it('fails with no recommendation before the first scan', async () => {
    const app = await publicApp();
    await putSchema(app, 'Note', { read: true });
    expect((await fix(app, 'Note')).body.failed).toEqual([{ entity_name: 'Note', reason: 'no_recommendation' }]);
  });

  it('closes operations that the rule `write` opens', async () => {
    const app = await publicApp();
    await putSchema(app, 'Vote', { read: false, write: true });
    const [found] = (await scan(app)).result.rls_recommendations;
    const { applied } = (await fix(app, 'Vote')).body;
    expect(applied).toEqual([{ entity_name: 'Vote', operations: found.open_operations }]);
    expect((await scan(app)).result.rls_recommendations).toEqual([]);
  });
});

describe('records that take too long to count', () => {
  /** Makes every statement on records fail as if it had exceeded its time limit. */
  const slowDown = () =>
    sql`create function take_too_long() returns boolean language plpgsql as $$
        begin raise exception 'canceling statement due to statement timeout' using errcode = '57014'; end $$;
      create policy take_too_long on entity_records using (take_too_long());
      alter table entity_records enable row level security`.execute(world.db);
  const speedUp = () =>
    sql`alter table entity_records disable row level security;
      drop policy take_too_long on entity_records; drop function take_too_long`.execute(world.db);

  it('make the group partial; what is open is still reported, and fixRls changes nothing that it cannot check', async () => {
    const app = await publicApp();
    await putSchema(app, 'Order', { read: true });
    await putSchema(app, 'Note', { read: true });
    await world.call('POST', `/api/apps/${app.id}/entities/Order`, { as: token, body: { total: 5 } });
    await slowDown();
    const { result } = await scan(app).finally(speedUp);
    expect((await read(app)).headers['x-scan-coverage']).toContain('rls=partial;reason=too_large');
    const descriptions = new Map<string, string>(
      result.rls_recommendations.map((found: Record<string, string>) => [found.entity_name, found.description]),
    );
    expect([...descriptions.keys()].sort()).toEqual(['Note', 'Order']);
    expect(descriptions.get('Order')).toContain('could not be counted in time');

    const opened = { read: true, update: true };
    await putSchema(app, 'Order', opened); // opened after the scan, so the fix leaves it open
    await slowDown();
    const fixed = (await fix(app, 'Order').finally(speedUp)).body;
    expect(fixed).toEqual({ applied: [], failed: [{ entity_name: 'Order', reason: 'write_failed' }] });
    expect(await getRules(app, 'Order')).toEqual(opened);
  });
});

describe('an ignore of row rules', () => {
  it('also covers fewer open operations, and not more', async () => {
    const app = await publicApp();
    await putSchema(app, 'Price', { read: true, update: true });
    const [wide] = (await scan(app)).result.rls_recommendations;
    const ignoring = await world.call('POST', scanPath(app, '/ignore'), {
      as: token,
      body: { fingerprint: wide.fingerprint },
    });
    expect(ignoring.status).toBe(200);
    await putSchema(app, 'Price', { read: true, update: false });
    const narrow = await scan(app);
    expect(narrow.ignored_fingerprints).toContain(narrow.result.rls_recommendations[0].fingerprint);
    await putSchema(app, 'Price', { read: true, update: true, delete: true });
    const wider = await scan(app);
    expect(wider.ignored_fingerprints).not.toContain(wider.result.rls_recommendations[0].fingerprint);
  });
});
