// Tests a run's temporary app user, who can sign in and is removed along with their records, even after a crash.
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { startFlowWorld, temporaryUsers } from '../../../test/support/flows.ts';
import type { AppRow } from '../../core/auth/proofs.ts';
import { findAccessAsApp } from '../../core/auth/proofs-without-guard.ts';
import { cleanUpRuns, createTestUser } from './clean-up.ts';
import { findExecutionByKey, listRunsToCleanUp, saveExecution } from './store/executions.ts';

const scene = await startFlowWorld();
const { world, workspace, token, createFlow, publishedApp, startElsewhere } = scene;
const { db } = world.app.database;
const cleanUp = scene.job('clean up after test runs');
beforeEach(() => world.resetRateLimits());

async function newRun(role = 'user') {
  const app = await publishedApp();
  await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Order`, {
    as: token,
    body: { name: 'Order', properties: { number: { type: 'integer' } }, rls: { read: true, write: true } },
  });
  const { id } = await startElsewhere(app, await createFlow(app, { role }));
  const key = { workspace_id: workspace, app_id: app.id, id };
  const run = await findExecutionByKey(db, key);
  const access = await findAccessAsApp(db, key);
  if (run === undefined || access === undefined) throw new Error('the run is missing');
  const deps = { temporaryUsers, removeRecords: async () => {}, clock: world.clock };
  const createUser = () => createTestUser(db, deps, access, run);
  return { app, run, visitor: await createUser(), createUser };
}
const signIn = (app: AppRow, visitor: { email: string; password: string }) =>
  world.call('POST', `/api/apps/${app.id}/auth/sign-in`, { body: visitor });
const addOrder = async (app: AppRow, number: number, as: string) =>
  (await world.call('POST', `/api/apps/${app.id}/entities/Order`, { as, body: { number } })).body.id as string;
const end = ({ id }: { id: string }) =>
  sql`update test_executions set status = 'cancelled', completed_at = ${world.clock.now()}, due_at = null, claimed_slot = null
    where id = ${id}`.execute(world.db);
const listOrders = async (app: AppRow) => {
  const { rows } = await sql<{ number: number }>`select (data->>'number')::int as number from entity_records
    where app_id = ${app.id} order by 1`.execute(world.db);
  return rows.map(({ number }) => number);
};

describe('the temporary user', () => {
  it('can sign in, with the role of the flow', async () => {
    const { app, visitor } = await newRun('admin');
    expect(await signIn(app, visitor)).toMatchObject({
      status: 200,
      body: { user: { email: visitor.email, role: 'admin' } },
    });
  });

  it('is removed after the run, with their records, also those in the trash; what others made stays', async () => {
    const { app, run, visitor } = await newRun();
    const as = (await signIn(app, visitor)).body.token;
    await addOrder(app, 1, token);
    await addOrder(app, 2, as);
    const trashed = await addOrder(app, 3, as);
    await world.call('DELETE', `/api/apps/${app.id}/entities/Order/${trashed}`, { as });
    await end(run);
    world.clock.aheadMs = 10_000;
    await cleanUp();
    expect(await listOrders(app)).toEqual([1, 2, 3]); // a request may still be in progress
    world.clock.aheadMs = 20_000;
    await cleanUp();
    expect(await listOrders(app)).toEqual([1]);
    await world.resetRateLimits();
    expect((await signIn(app, visitor)).status).toBe(401);
    expect((await world.call('GET', `/api/apps/${app.id}/entities/Order`, { as })).status).toBe(401);
    expect((await findExecutionByKey(db, run))?.app_user_ids).toEqual([]);
    const { rows } = await sql<{ name: string; count: number }>`select name, count(*)::int as count from events
      where payload->>'app_id' = ${app.id} group by 1 order by 1`.execute(world.db);
    expect(rows).toEqual(expect.arrayContaining([{ name: 'entity.deleted', count: 2 }]));
    const { rows: entries } = await sql`select entry->>'type' as type from audit_pending
      where entry->>'app_id' = ${app.id} and entry->'actor'->>'kind' = 'service' order by entry->>'id'`.execute(
      world.db,
    );
    expect(entries).toEqual([{ type: 'app_user.created' }, { type: 'app_user.deleted' }]);
  });

  it('stays while the app is in the trash, and is removed when it is restored', async () => {
    const { app, run, visitor } = await newRun();
    const as = (await signIn(app, visitor)).body.token;
    await addOrder(app, 1, as);
    await end(run);
    await world.call('DELETE', `/api/apps/${app.id}`, { as: token });
    world.clock.aheadMs = 20_000;
    await cleanUp();
    expect(await listOrders(app)).toEqual([1]);
    await world.call('POST', `/api/apps/${app.id}/restore`, { as: token });
    await cleanUp();
    expect(await listOrders(app)).toEqual([]);
  });

  it('of an earlier claim is removed too, with the records that they have made', async () => {
    const { app, run, visitor, createUser } = await newRun();
    const as = (await signIn(app, visitor)).body.token;
    await createUser();
    await addOrder(app, 1, as);
    await end(run);
    world.clock.aheadMs = 20_000;
    await cleanUp();
    expect(await listOrders(app)).toEqual([]);
    expect((await findExecutionByKey(db, run))?.app_user_ids).toEqual([]);
  });

  it('that cannot be removed waits behind those of other runs', async () => {
    const runs = [await newRun(), await newRun()].map(({ run }) => run);
    for (const run of runs) await end(run);
    const later = new Date(world.clock.now().getTime() + 20_000);
    const listNext = async () => (await listRunsToCleanUp(db, later, 1))[0]?.id;
    expect(await listNext()).toBe(runs[0]?.id);
    const refuse = () => Promise.reject(new Error('refused'));
    const deps = { temporaryUsers: { ...temporaryUsers, remove: refuse }, removeRecords: refuse, clock: world.clock };
    await saveExecution(db, runs[0] as (typeof runs)[0], { clean_up_tried_at: later });
    expect(await listNext()).toBe(runs[1]?.id);
    await expect(cleanUpRuns(db, deps, later)).rejects.toThrow('refused');
    for (const run of runs) expect((await findExecutionByKey(db, run))?.clean_up_tried_at).toEqual(later);
  });

  it('is removed although a worker crashed halfway, and when two do it at once', async () => {
    const { app, run, visitor } = await newRun();
    const as = (await signIn(app, visitor)).body.token;
    for (let number = 1; number <= 5; number += 1) await addOrder(app, number, as);
    await end(run);
    await sql`delete from app_users where id = any(${(await findExecutionByKey(db, run))?.app_user_ids}::uuid[])`.execute(
      world.db,
    );
    world.clock.aheadMs = 20_000;
    await Promise.all([cleanUp(), cleanUp()]);
    expect(await listOrders(app)).toEqual([]);
  });
});
