// Tests that removing old ids of events reads few pages, however many days have been stored and removed.
import { sql } from 'kysely';
import { afterAll, expect, it } from 'vitest';
import { cloneTemplate } from '../../../../test/support/template.ts';
import { openDatabase, transaction } from '../../../kit/db/database.ts';
import type { Db, Tables } from '../../../tables.ts';
import { removeOldIds, summarizeIds } from './removal.ts';

const cloned = await cloneTemplate();
const { db, close } = openDatabase<Tables>({ url: cloned.url, poolSize: 2 });
afterAll(async () => {
  await close();
  await cloned.drop();
});
// Vacuums run below, when the test says so.
await cloned.runAsOwner('alter table analytics_event_ids set (autovacuum_enabled = off)');

const idsPerDay = 1_500;
const keptDays = 60;
const startOf = (day: number) => new Date(Date.UTC(2026, 0, 1 + day));

const storeDays = (first: number, last: number) =>
  sql`insert into analytics_event_ids (app_id, event_id, day)
    select '01980a11-7c00-7b11-8f00-000000000001', gen_random_uuid(), ${startOf(0)}::date + day
    from generate_series(${first}::integer, ${last}::integer) day, generate_series(1, ${idsPerDay}::integer)
    order by day`.execute(db);

const vacuum = () => cloned.runAsOwner('vacuum analytics_event_ids');

/** The pages of the table that are read by removing what is older, which is nothing. */
const countPagesRead = (before: Date): Promise<number> =>
  transaction(db, async (db) => {
    const readBefore = await readFetched(db);
    expect(await removeOldIds(db, before)).toBe(0);
    return (await readFetched(db)) - readBefore;
  });

/** The pages of the table that this connection has read. Its earlier transactions may be included. */
async function readFetched(db: Db): Promise<number> {
  const { rows } = await sql<{ pages: number }>`select
      pg_stat_get_xact_blocks_fetched('analytics_event_ids'::regclass)::integer as pages`.execute(db);
  return rows[0]?.pages as number;
}

const countPages = async (): Promise<number> => {
  const { rows } = await sql<{ pages: number }>`select
      (pg_relation_size('analytics_event_ids') / current_setting('block_size')::integer)::integer as pages`.execute(db);
  return rows[0]?.pages as number;
};

async function summarizeAll(): Promise<void> {
  const parts = 4;
  for (let hour = 0; hour < parts; hour += 1)
    expect(await summarizeIds(db, new Date(hour * 3_600_000), parts)).toBe(true);
}

/** Stores a day and removes the one that is 60 days older. Returns the pages read once nothing old is left. */
async function passDay(day: number): Promise<number> {
  await storeDays(day, day);
  const before = startOf(day - keptDays + 1);
  expect(await removeOldIds(db, before)).toBe(idsPerDay);
  await vacuum();
  return countPagesRead(before);
}

it('reads the pages of few days after 60 days were stored and removed in turn, and most without new summaries', async () => {
  await storeDays(0, keptDays - 1);
  await vacuum();
  let day = keptDays;
  let most = 0;
  for (; day < 2 * keptDays; day += 1) {
    most = Math.max(most, await passDay(day));
    if (day % 7 === 0) await summarizeAll();
  }
  const pages = await countPages();
  expect(most).toBeLessThan(pages / 4);

  // The pages of removed days have been filled with new ids.
  let last = 0;
  for (; day < 3 * keptDays; day += 1) last = await passDay(day);
  expect(last).toBeGreaterThan(pages / 2);

  await summarizeAll();
  expect(await countPagesRead(startOf(day - keptDays))).toBeLessThan(pages / 8);
});

it('refuses a part that does not exist', async () => {
  await expect(sql`select summarize_analytics_ids(7, 7)`.execute(db)).rejects.toThrow('there is no part 7 of 7');
});
