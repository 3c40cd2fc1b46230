// Tests scheduled automations (docs/api/automations.md#schedules).
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { startAutomationScene } from '../../../test/support/automation-scene.ts';

const { world, call, createAutomation } = await startAutomationScene();
await world.startWorker();
afterEach(() => {
  world.clock.aheadMs = 0;
});

const minuteMs = 60_000;
const schedule = (fields: object) => createAutomation({ type: 'scheduled', schedule: fields });
const rowOf = (id: string) =>
  world.db.selectFrom('automations').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const inMinutes = async (id: string) =>
  ((await rowOf(id)).next_tick_at?.getTime() ?? Number.NaN) / minuteMs - world.clock.now().getTime() / minuteMs;

describe('a schedule', () => {
  it('starts a run at each tick, which is told the time', async () => {
    const automation = await schedule({ every_minutes: 10 });
    const tick = (await rowOf(automation.id)).next_tick_at;
    expect(await inMinutes(automation.id)).toBeCloseTo(10, 0);
    expect(automation.received()).toEqual([]);
    world.clock.aheadMs = 10 * minuteMs;
    await automation.waitForEnd(1);
    expect(JSON.parse(automation.received()[0]?.body ?? '')).toEqual({ scheduled_at: tick?.toISOString() });
    world.clock.aheadMs = 21 * minuteMs;
    await automation.waitForEnd(2);
    expect(await automation.get()).toMatchObject({ is_active: true, last_error: null });
  });

  it('counts an interval from the tick before, however late it is handled', async () => {
    const automation = await schedule({ every_minutes: 10 });
    const first = (await rowOf(automation.id)).next_tick_at?.getTime() ?? 0;
    world.clock.aheadMs = 13 * minuteMs;
    await automation.waitForEnd(1);
    expect((await rowOf(automation.id)).next_tick_at?.getTime()).toBe(first + 10 * minuteMs);
  });

  it('makes one run of the ticks that were missed', async () => {
    const automation = await schedule({ every_minutes: 5 });
    world.clock.aheadMs = 24 * 60 * minuteMs;
    await automation.waitForEnd(1);
    const minutes = await inMinutes(automation.id);
    expect(minutes > 0 && minutes <= 5).toBe(true);
    expect(automation.received()).toHaveLength(1);
  });

  it('turns the automation off with its last tick, whose run takes place', async () => {
    const at = new Date(Date.now() + 30 * minuteMs).toISOString();
    const [once, twice] = [await schedule({ at }), await schedule({ every_minutes: 30, ends_after: 1 })];
    world.clock.aheadMs = 31 * minuteMs;
    for (const automation of [once, twice]) {
      await automation.waitForEnd(1);
      expect(automation.received()).toHaveLength(1);
      expect(await automation.get()).toMatchObject({
        is_active: false,
        last_error: null,
        last_run_at: expect.any(String),
      });
    }
    const { rows } = await sql<{ type: string }>`select entry->>'type' as type
      from (select entry from audit_pending union all select entry from audit_entries) entries
      where entry->'target'->>'id' = ${once.id} order by entry->>'id'`.execute(world.db);
    expect(rows.map((row) => row.type)).toEqual(['automation.created', 'automation.disabled']);
    expect(await once.patch({ is_active: true })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'is_active'], type: 'value_error' }] },
    });
    expect(await twice.patch({ is_active: true })).toMatchObject({ status: 200 });
  });

  it('continues if the automation is changed, and begins again if the schedule is, or it is turned on', async () => {
    const automation = await schedule({ every_minutes: 60 });
    world.clock.aheadMs = 20 * minuteMs;
    await automation.patch({ name: 'Renamed' });
    expect(await inMinutes(automation.id)).toBeCloseTo(40, 0);
    await automation.patch({ schedule: { every_minutes: 45 } });
    expect(await inMinutes(automation.id)).toBeCloseTo(45, 0);
    await automation.patch({ is_active: false });
    expect((await rowOf(automation.id)).next_tick_at).toBeNull();
    world.clock.aheadMs = 30 * minuteMs;
    await automation.patch({ is_active: true });
    expect(await inMinutes(automation.id)).toBeCloseTo(45, 0);
  });

  it('that cannot be read stops nobody else, and says so', async () => {
    const [broken, other] = [await schedule({ every_minutes: 5 }), await schedule({ every_minutes: 5 })];
    await sql`update automations set schedule = '{"cron": "not a cron", "timezone": "Nowhere"}'
      where id = ${broken.id}`.execute(world.db);
    world.clock.aheadMs = 6 * minuteMs;
    await other.waitForEnd(1);
    await expect.poll(async () => (await rowOf(broken.id)).is_active).toBe(false);
    expect(await rowOf(broken.id)).toMatchObject({
      next_tick_at: null,
      last_error: 'The stored schedule can no longer be read. Save it again, then turn the automation on.',
    });
    expect(await broken.listRuns()).toEqual([]);
  });

  it('is silent while the workspace is deleted', async () => {
    const automation = await schedule({ every_minutes: 5 });
    const { workspace_id } = automation.app;
    await sql`update workspaces set deleted_date = now() where id = ${workspace_id}`.execute(world.db);
    world.clock.aheadMs = 6 * minuteMs;
    await expect.poll(() => inMinutes(automation.id)).toBeGreaterThan(50);
    await sql`update workspaces set deleted_date = null where id = ${workspace_id}`.execute(world.db);
    expect(await automation.listRuns()).toEqual([]);
    expect(await call('GET', `/api/apps/${automation.app.id}/automations`)).toMatchObject({ status: 200 });
  });
});
