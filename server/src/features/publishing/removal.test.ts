// Tests removing unused blobs: which blobs are kept, and that no others are left in the storage.
import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type Files, publishFiles, putFiles } from '../../../test/support/published.ts';
import { startWorld } from '../../../test/support/world.ts';
import type { AppRow } from '../../core/auth/proofs.ts';
import { tryBackupLock } from '../../core/backups/lock.ts';
import { recountWorkspace } from '../../core/storage/recount.ts';

const folder = await mkdtemp(join(tmpdir(), 'removal-'));
afterAll(() => rm(folder, { recursive: true, force: true }));
const world = await startWorld({ environment: { STORAGE_FOLDER: folder, APPS_DOMAIN: 'apps.example' } });
const owner = await world.person('ann@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
const day = 24 * 60 * 60 * 1000;

beforeEach(async () => {
  world.clock.aheadMs = 0;
  await world.resetRateLimits();
});

async function runJob(name: string): Promise<void> {
  const job = world.app.background.jobs.find((each) => each.name === name);
  if (job === undefined) throw new Error(`no job ${name}`);
  while ((await job.run(world.app.database.db, world.clock.now())) > 0);
}
const sweep = () => runJob('sweep published contents');
const removeObjects = () => runJob('remove objects');

const listObjects = (app: AppRow): string[] => {
  try {
    return readdirSync(join(folder, 'apps', app.id));
  } catch {
    return [];
  }
};
const publish = (app: AppRow, files: Files) => publishFiles(world, app, files, token);
const newApp = () => world.appOf(owner, workspace);

/** Deletes all but the app's newest deployments, as if newer ones had replaced them. */
const forgetDeployments = (app: AppRow, kept: number) =>
  sql`delete from deployments where app_id = ${app.id} and id in (
    select id from deployments where app_id = ${app.id} order by id desc offset ${kept})`.execute(world.db);

describe('a content', () => {
  it('is kept while a deployment uses it, however old it is', async () => {
    const app = await newApp();
    await publish(app, { 'dist/a.txt': 'first' });
    await publish(app, { 'dist/a.txt': 'second' });
    world.clock.aheadMs = 90 * day;
    await sweep();
    await removeObjects();
    expect(listObjects(app)).toHaveLength(2);
  });

  it('is removed a day after it was last used, if no deployment uses it', async () => {
    const app = await newApp();
    await publish(app, { 'dist/a.txt': 'first', 'dist/b.txt': 'both' });
    await publish(app, { 'dist/a.txt': 'second', 'dist/b.txt': 'both' });
    await forgetDeployments(app, 1);
    world.clock.aheadMs = 0.9 * day;
    await sweep();
    expect(await world.db.selectFrom('app_blobs').where('app_id', '=', app.id).selectAll().execute()).toHaveLength(3);
    world.clock.aheadMs = 2.1 * day;
    await sweep();
    await removeObjects();
    expect(listObjects(app)).toHaveLength(2);
  });

  it('gets another object if it is published again after it was removed', async () => {
    const app = await newApp();
    await publish(app, { 'dist/a.txt': 'first' });
    const [object] = listObjects(app);
    await publish(app, { 'dist/a.txt': 'second' });
    await forgetDeployments(app, 1);
    world.clock.aheadMs = 2 * day;
    await sweep(); // the object is queued for removal but still exists
    await publish(app, { 'dist/a.txt': 'first' });
    await removeObjects();
    expect(listObjects(app)).toHaveLength(2);
    expect(listObjects(app)).not.toContain(object);
  });

  it('that was uploaded and never published is removed after a day', async () => {
    const app = await newApp();
    await publish(app, { 'dist/a.txt': 'first' });
    await putFiles(world, app, { 'dist/a.txt': 'never' }, token);
    // The upload completes, but the insert then fails.
    await sql`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`.execute(
      world.db,
    );
    await sql`create trigger refuse before insert on deployments for each row execute function refuse()`.execute(
      world.db,
    );
    expect((await world.call('POST', `/api/apps/${app.id}/deploy`, { as: token })).status).toBe(500);
    await sql`drop function refuse() cascade`.execute(world.db);
    expect(listObjects(app)).toHaveLength(2);
    world.clock.aheadMs = 2 * day;
    await sweep();
    await removeObjects();
    expect(listObjects(app)).toHaveLength(1);
  });
});

describe('a sweep', () => {
  it('and a publish of the same app never wait for each other in a circle', async () => {
    const app = await newApp();
    await publish(app, { 'dist/a.txt': 'first' });
    await putFiles(world, app, { 'dist/a.txt': 'first', 'dist/b.txt': 'second' }, token);
    const { answer } = await world.db.transaction().execute(async (tx) => {
      // Locks in the same order as a sweep: first the app's entry, then its blobs.
      await sql`select from blob_sweeps where app_id = ${app.id} for update`.execute(tx);
      const answer = world.call('POST', `/api/apps/${app.id}/deploy`, { as: token });
      await expect
        .poll(
          async () =>
            (
              await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
                world.db,
              )
            ).rows.length,
        )
        .toBeGreaterThan(0);
      await sql`select from app_blobs where app_id = ${app.id} for update`.execute(tx);
      return { answer };
    });
    expect((await answer).status).toBe(200);
  });
});

describe("an object that can't be removed", () => {
  it('keeps no other from being removed, and is tried again an hour later', async () => {
    const keys = Array.from({ length: 40 }, (_, n) => `apps/broken/${n}`);
    await mkdir(join(folder, 'apps/broken/7/is-a-folder'), { recursive: true });
    await sql`insert into object_removals (key, added_at) select key, now() - interval '2 hours'
      from unnest(${keys}::text[]) key`.execute(world.db);
    const listed = async () =>
      (await sql<{ key: string }>`select key from object_removals where key like 'apps/broken/%'`.execute(world.db))
        .rows;
    await expect(removeObjects()).rejects.toThrow('object storage unavailable');
    expect(await listed()).toEqual([{ key: 'apps/broken/7' }]);
    await removeObjects(); // too early, so nothing is removed
    await rm(join(folder, 'apps/broken/7'), { recursive: true });
    world.clock.aheadMs = day;
    await removeObjects();
    expect(await listed()).toEqual([]);
  });
});

describe('a back-up', () => {
  it('keeps replaced objects until it has ended', async () => {
    const app = await newApp();
    await publish(app, { 'dist/a.txt': 'first' });
    await publish(app, { 'dist/a.txt': 'second' });
    await forgetDeployments(app, 1);
    world.clock.aheadMs = 2 * day;
    await sweep();
    await world.db.connection().execute(async (connection) => {
      expect(await tryBackupLock(connection)).toBe(true);
      world.clock.aheadMs = 3 * day;
      await removeObjects();
      expect(listObjects(app)).toHaveLength(2);
      await sql`select pg_advisory_unlock_all()`.execute(connection);
    });
    await removeObjects();
    expect(listObjects(app)).toHaveLength(1);
  });
});

describe('the storage', () => {
  it('has nothing left of an app that was purged', async () => {
    const app = await newApp();
    await publish(app, { 'dist/a.txt': 'x', 'dist/b.txt': 'y' });
    expect(listObjects(app)).toHaveLength(2);
    await world.call('DELETE', `/api/apps/${app.id}`, { as: token });
    world.clock.aheadMs = 31 * day;
    await runJob('purge apps');
    await removeObjects();
    expect(listObjects(app)).toEqual([]);
    const { rows } = await sql`select from object_removals`.execute(world.db);
    expect(rows).toEqual([]);
    expect(readdirSync(join(folder, 'apps'))).not.toContain(app.id);
  });

  it('has nothing left of a workspace that was purged', async () => {
    const other = await world.workspace(owner, 'enterprise', 'Other');
    const app = await world.appOf(owner, other);
    await publishFiles(world, app, { 'dist/a.txt': 'x' }, await world.token(owner, other));
    await world.db.updateTable('workspaces').set({ deleted_date: new Date() }).where('id', '=', other).execute();
    world.clock.aheadMs = 31 * day;
    await runJob('purge workspaces');
    await removeObjects();
    expect(listObjects(app)).toEqual([]);
  });

  it('is counted right: what was published, replaced, forgotten and purged', async () => {
    const app = await newApp();
    const kept = await newApp();
    await publish(kept, { 'dist/a.txt': 'x'.repeat(1_000) });
    await publish(app, { 'dist/a.txt': 'x'.repeat(1_000), 'dist/b.txt': 'y' });
    await publish(app, { 'dist/a.txt': 'z'.repeat(500) });
    expect(await recountWorkspace(world.db, workspace)).toBeUndefined();
    await forgetDeployments(app, 1);
    world.clock.aheadMs = 3 * day;
    await sweep();
    expect(await recountWorkspace(world.db, workspace)).toBeUndefined();
    await world.call('DELETE', `/api/apps/${app.id}`, { as: token });
    world.clock.aheadMs = 40 * day;
    await runJob('purge apps');
    expect(await recountWorkspace(world.db, workspace)).toBeUndefined();
  });
});
