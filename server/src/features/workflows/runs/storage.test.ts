// Tests that runs of workflows count towards the storage of their workspace, and what becomes of them at its quota.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createRunScene } from '../../../../test/support/runs.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { recountWorkspace } from '../../../core/storage/recount.ts';
import { readStorageUsage } from '../../../core/storage/usage.ts';

const world = await startWorld();
const { db } = world.app.database;
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const app = await world.appOf(owner, workspace);
const scene = createRunScene(world);
await world.startWorker();

const readRunBytes = async () => (await readStorageUsage(db, workspace)).runs_bytes;
const setQuota = (storage_quota_bytes: number | null) =>
  world.db.updateTable('workspaces').set({ storage_quota_bytes }).where('id', '=', workspace).execute();

describe('what a run stores', () => {
  it('is counted once it has ended: its input, and what is recorded of its steps', async () => {
    const before = await readRunBytes();
    const big = 'x'.repeat(10_000);
    const ended = await scene.run(app, [{ first: { set: { n: 1 } } }, { second: { set: { big } } }], { n: 0 });
    const lengths = ended.steps.map(
      ({ input, output }: { input: unknown; output: unknown }) =>
        JSON.stringify(input).length + JSON.stringify(output).length,
    );
    const steps = lengths.reduce((sum: number, length: number) => sum + 300 + length, 0);
    expect(steps).toBeGreaterThan(10_600);
    expect((await readRunBytes()) - before).toBe(1_800 + '{"n":0}'.length + steps);
    expect(await recountWorkspace(db, workspace)).toBeUndefined();
  });

  it('is counted while it waits with a large state, and no longer once its rows are gone', async () => {
    const before = await readRunBytes();
    const id = await scene.start(
      await scene.insertWorkflow(app, [
        { keep: { set: { all: '${ "x" * 200000 }' }, export: { as: '${ . }' } } },
        { pause: { wait: { days: 1 } } },
      ]),
    );
    await expect.poll(async () => (await scene.getRun(id)).steps_count).toBe(2);
    expect((await readRunBytes()) - before).toBeGreaterThan(200_000);
    expect(await recountWorkspace(db, workspace)).toBeUndefined();
    await sql`delete from workflow_runs where id = ${id}`.execute(world.db);
    expect(await readRunBytes()).toBe(before);
  });
});

describe('at the storage quota', () => {
  it('a run that is under way fails before its next step, and says why', async () => {
    const id = await scene.start(
      await scene.insertWorkflow(app, [{ pause: { wait: { seconds: 3 } } }, { after: { set: { n: 1 } } }]),
    );
    await expect.poll(async () => (await scene.getRun(id)).steps_count).toBe(1);
    await setQuota(0);
    world.clock.aheadMs += 61_000; // expires the usage that this process has cached
    const ended = await scene.waitForEnd(id);
    await setQuota(null);
    world.clock.aheadMs += 61_000;
    expect(ended).toMatchObject({ status: 'failed', failure: { code: 'storage_quota_exceeded', status: 402 } });
    expect(ended.error_message).toContain("The workspace's storage quota is full");
    expect(await scene.run(app, [{ again: { set: { n: 1 } } }])).toMatchObject({ status: 'completed' });
  });
});
