// Tests the analytics background jobs: creating partitions, removing old data, and removing deleted apps' data.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import type { AppRow } from '../../core/auth/proofs.ts';
import { removeDeleted, removeOld } from './background.ts';
import { findOldestPartitionAge } from './store/removal.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);

const minute = 60_000;
const day = 24 * 60 * minute;
afterEach(() => {
  world.clock.aheadMs = 0;
});

const runJob = (name: string) =>
  world.app.background.jobs.find((job) => job.name === name)?.run(world.app.database.db, world.clock.now());
/** Does the job's work with the test's clock. The job itself never goes past the database's clock. */
const removeByTestClock = (size?: { rowsPerPiece: number; pieces: number }) =>
  removeOld(world.app.database.db, world.clock.now(), size);
const track = (app: AppRow, events: readonly object[]) =>
  world.call('POST', `/api/apps/${app.id}/analytics/track/batch`, { as: token, body: { events } });
const event = (ageMs: number, more: object = {}) => ({
  event_name: 'x',
  timestamp: new Date(world.clock.now().getTime() - ageMs).toISOString(),
  ...more,
});
const toDay = (aheadMs: number) => new Date(Date.now() + aheadMs).toISOString().slice(0, 10).replaceAll('-', '');
const listPartitions = async () => {
  const { rows } = await sql<{ name: string }>`select relname as name from pg_class
    where relnamespace = 'analytics'::regnamespace and relkind = 'r' order by 1`.execute(world.db);
  return rows.map((row) => row.name);
};
const findPartition = async (app: AppRow) => {
  const { rows } = await sql<{ name: string }>`select tableoid::regclass::text as name from analytics_events
    where app_id = ${app.id}`.execute(world.db);
  return rows.map((row) => row.name);
};
const readGauge = () => findOldestPartitionAge(world.app.database.db);
const tables = ['analytics_events', 'analytics_event_ids', 'analytics_users', 'analytics_user_counts'] as const;
const countRows = async (app: AppRow) => {
  const counts = tables.map((table) =>
    world.db
      .selectFrom(table)
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('app_id', '=', app.id)
      .executeTakeFirstOrThrow(),
  );
  return (await Promise.all(counts)).map(({ n }) => n);
};

describe('partitions', () => {
  it('exist for the first days, and are made for the next week by a job', async () => {
    expect(await listPartitions()).toEqual(expect.arrayContaining([`events_${toDay(0)}`, `events_${toDay(2 * day)}`]));
    await runJob('create analytics partitions');
    const days = Array.from({ length: 8 }, (_, n) => `events_${toDay(n * day)}`);
    expect(await listPartitions()).toEqual(expect.arrayContaining([...days, 'events_other']));
    const app = await world.appOf(owner, workspace);
    await track(app, [event(0)]);
    expect(await findPartition(app)).toEqual([`analytics.events_${toDay(0)}`]);
  });

  it('that are missing lose no event, even if they are made later', async () => {
    const app = await world.appOf(owner, workspace);
    world.clock.aheadMs = 20 * day;
    expect((await track(app, [event(0, { user_id: 'a' })])).body.accepted).toBe(1);
    await runJob('create analytics partitions');
    expect((await track(app, [event(0), event(-minute)])).body.accepted).toBe(2);
    const dayOf = `analytics.events_${toDay(20 * day)}`;
    const found = await findPartition(app);
    expect(found).toHaveLength(3);
    expect(found).not.toContain(dayOf); // the day stays in the partition that contains its first event
    expect(await listPartitions()).toContain(`events_${toDay(21 * day)}`);
  });

  it('are dropped when all of their events are older than 60 days', async () => {
    const old = new Date(Date.now() - 61 * day).toISOString().slice(0, 10);
    const kept = new Date(Date.now() - 60 * day).toISOString().slice(0, 10);
    await sql`select create_analytics_partitions(${old}, ${kept})`.execute(world.db);
    await runJob('remove old analytics');
    expect(await listPartitions()).toContain(`events_${kept.replaceAll('-', '')}`);
    expect(await listPartitions()).not.toContain(`events_${old.replaceAll('-', '')}`);
    const tooSoon = sql`select drop_analytics_partition(current_date - 59)`.execute(world.app.database.db);
    await expect(tooSoon).rejects.toThrow('events are kept for 60 days');
  });

  it('keep events of the day that is 60 days ago until they are dropped, and reads leave them out', async () => {
    const app = await world.appOf(owner, workspace);
    const at = Date.now() - 60 * day;
    const boundary = new Date(at).toISOString().slice(0, 10);
    await sql`select create_analytics_partitions(${boundary}, ${boundary})`.execute(world.db);
    const insert = (at: number) =>
      sql`insert into analytics_events (app_id, event_id, at, event_name, properties)
        values (${app.id}, ${randomUUID()}, ${new Date(at)}, 'x', '{}')`.execute(world.db);
    await insert(Math.max(Date.parse(boundary), at - minute)); // a day with a partition
    await insert(at - 3 * day); // a day without a partition
    await runJob('remove old analytics');
    expect(await findPartition(app)).toEqual([`analytics.events_${boundary.replaceAll('-', '')}`]);
    const names = await world.call('GET', `/api/apps/${app.id}/analytics/event-names`, { as: token });
    expect(names.body.items).toEqual([]);
  });

  it('that are in use are left, and everything else is removed', async () => {
    const old = new Date(Date.now() - 61 * day).toISOString().slice(0, 10);
    await sql`select create_analytics_partitions(${old}, ${old})`.execute(world.db);
    const { promise: isDone, resolve: finish } = Promise.withResolvers<void>();
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
    const reader = world.db.transaction().execute(async (db) => {
      await sql`select count(*) from analytics_events`.execute(db);
      read();
      await isDone;
    });
    await isRead;
    await runJob('remove old analytics');
    const name = `events_${old.replaceAll('-', '')}`;
    expect(await listPartitions()).toContain(name);
    expect(await readGauge()).toBeGreaterThan(61 * 86_400 - 1);
    finish();
    await reader;
    await runJob('remove old analytics');
    expect(await listPartitions()).not.toContain(name);
    expect(await readGauge()).toBeLessThan(61 * 86_400);
  });
});

describe('after 60 days', () => {
  it('events, ids, users and counts are removed, and users who were seen since are kept', async () => {
    const app = await world.appOf(owner, workspace);
    const event_id = randomUUID();
    const heartbeat = { event_name: '__user_heartbeat_event__' };
    await track(app, [
      event(50 * day, { user_id: 'old', event_id }),
      event(50 * day, { user_id: 'there' }),
      event(0, { ...heartbeat, user_id: 'only heartbeats' }),
      event(0, { user_id: 'recent' }),
    ]);
    world.clock.aheadMs = 11 * day;
    await track(app, [event(0, { ...heartbeat, user_id: 'there' })]);
    await runJob('remove old analytics'); // too early by the database's clock
    expect((await countRows(app))[2]).toBe(4);
    await removeByTestClock();
    const listUsers = async () =>
      (
        await world.db
          .selectFrom('analytics_users')
          .selectAll()
          .where('app_id', '=', app.id)
          .orderBy('user_id')
          .execute()
      ).map((row) => [row.user_id, row.last_event_at !== null, row.last_heartbeat_at !== null]);
    expect(await listUsers()).toEqual([
      ['only heartbeats', false, true],
      ['recent', true, false],
      ['there', false, true],
    ]);
    expect((await track(app, [event(0, { event_id })])).body.duplicates).toBe(1); // accepted 11 days ago
    world.clock.aheadMs = 75 * day;
    await removeByTestClock();
    await removeByTestClock();
    const partitions = (await findPartition(app)).filter((name) => name !== 'analytics.events_other');
    expect(await countRows(app)).toEqual([partitions.length, 0, 0, 0]); // events are removed with their partition
    expect((await track(app, [event(0, { event_id })])).body.accepted).toBe(1);
  });

  it('users whom one run does not remove are found by the next', async () => {
    const app = await world.appOf(owner, workspace);
    await track(
      app,
      Array.from({ length: 30 }, (_, n) => event(50 * day, { user_id: `u${n}` })),
    );
    world.clock.aheadMs = 20 * day;
    const countUsers = async () => (await countRows(app))[2];
    await removeByTestClock({ rowsPerPiece: 5, pieces: 2 });
    expect(await countUsers()).toBe(20);
    world.clock.aheadMs = 30 * day; // as if the worker had not run for a long time
    for (let runs = 0; runs < 4 && (await countUsers()) !== 0; runs += 1)
      await removeByTestClock({ rowsPerPiece: 5, pieces: 2 });
    expect(await countUsers()).toBe(0);
    await removeByTestClock();
    expect((await countRows(app))[3]).toBe(0);
  });
});

describe('the analytics of a deleted app', () => {
  it('are removed with it, also what a request stores at the last moment', async () => {
    const app = await world.appOf(owner, workspace);
    const other = await world.appOf(owner, workspace);
    const events = Array.from({ length: 500 }, (_, n) =>
      event(n * minute, { user_id: `u${n}`, event_id: randomUUID() }),
    );
    await track(app, events);
    await track(other, events);
    await world.db.deleteFrom('apps').where('id', '=', app.id).execute();
    await runJob('remove analytics of deleted apps');
    expect(await countRows(app)).toEqual([0, 0, 0, 0]);
    await sql`insert into analytics_users (app_id, user_id, last_event_at) values (${app.id}, 'late', now())`.execute(
      world.db,
    );
    await runJob('remove analytics of deleted apps');
    expect(await countRows(app)).toEqual([0, 0, 0, 0]);
    const isNoted = async () =>
      (await world.db.selectFrom('deleted_app_analytics').selectAll().where('app_id', '=', app.id).execute()).length >
      0;
    expect(await isNoted()).toBe(true);
    world.clock.aheadMs = 11 * minute;
    await runJob('remove analytics of deleted apps');
    expect(await isNoted()).toBe(true); // by the database's clock, the app was deleted only a moment ago
    await removeDeleted(world.app.database.db, world.clock.now());
    expect(await isNoted()).toBe(false);
    expect((await countRows(other)).slice(0, 3)).toEqual([500, 500, 500]);
  });
});

describe('the statement that copies a day to a column store', () => {
  it('copies the events of that day, with all columns', async () => {
    const app = await world.appOf(owner, workspace);
    const event_id = randomUUID();
    await track(app, [event(day, { event_id, event_name: 'copied, "quoted"', properties: { a: 1 } })]);
    const page = readFileSync(new URL('../../../../docs/operate/analytics.md', import.meta.url), 'utf8');
    const dayOf = (ageMs: number) => new Date(Date.now() - ageMs).toISOString().slice(0, 10);
    const days: Record<string, string> = { '2026-11-15': dayOf(day), '2026-11-16': dayOf(0) };
    const statement = (/```sql\n([^`]*)```/.exec(page)?.[1] ?? '').replaceAll(
      /2026-11-1[56]/g,
      (date) => days[date] ?? date,
    );
    const csv = execFileSync('psql', [world.config.DATABASE_URL, '-qc', "set timezone = 'UTC'", '-c', statement], {
      encoding: 'utf8',
    });
    const [header, ...lines] = csv.trim().split('\n');
    expect(header).toBe('app_id,event_id,at,event_name,user_id,session_id,page_url,properties,country,device_type,os');
    const copied = lines.filter((line) => line.startsWith(app.id));
    expect(copied).toHaveLength(1);
    expect(copied[0]).toContain(`${event_id},${dayOf(day)} `);
    expect(copied[0]).toContain(',"copied, ""quoted""",');
  });
});
