// Tests the daily numbers of the model's work that nobody pays for.
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import { transaction } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import {
  countSuggestion,
  countUnpaid,
  maxUnpaidADay,
  maxUnpaidOfWorkspaceADay,
  removeOldUnpaid,
  uncountUnpaid,
} from './unpaid.ts';

const world = await startWorld();
const { db } = world;
const owner = await world.person('owner@example.com');
let workspace_id = await world.workspace(owner);
beforeEach(async () => {
  workspace_id = await world.workspace(owner);
});
const max = maxUnpaidADay.suggestion;
const noon = new Date('2026-11-16T12:00:00Z');
const inDays = (days: number) => new Date(noon.getTime() + days * 24 * 60 * 60_000);
const createWork = () => ({ workspace_id, kind: 'suggestion', subject_id: newId() }) as const;

describe('unpaid work of the model', () => {
  it('has its number a day, also for calls at the same time', async () => {
    const work = createWork();
    const counted = await Promise.all(Array.from({ length: max + 5 }, () => countUnpaid(db, work, noon)));
    expect(counted.filter(Boolean)).toHaveLength(max);
    expect(await countUnpaid(db, work, new Date('2026-11-16T23:59:59Z'))).toBe(false);
    expect(await countUnpaid(db, createWork(), noon)).toBe(true);
    expect(await countUnpaid(db, work, new Date('2026-11-17T00:00:00Z'))).toBe(true);
  });

  it('has a number a day for all apps of a workspace together, however many it creates', async () => {
    const times = maxUnpaidOfWorkspaceADay.suggestion;
    const works = Array.from({ length: times + 5 }, createWork);
    const counted = await Promise.all(works.map((work) => countUnpaid(db, work, noon)));
    expect(counted.filter(Boolean)).toHaveLength(times);
    const suggest = () => countSuggestion(db, { workspace_id, id: newId() }, noon);
    await expect(suggest()).rejects.toThrow(`for this workspace ${times} times today`);
    const refunded = works[counted.indexOf(true)];
    if (refunded) await uncountUnpaid(db, refunded, noon);
    await suggest();
    await expect(suggest()).rejects.toThrow(`for this workspace ${times} times today`);
  });

  it('that an app may not have does not count for its workspace', async () => {
    const work = createWork();
    for (let times = 0; times < max + 5; times += 1) await countUnpaid(db, work, noon);
    const { times } = await db
      .selectFrom('unpaid_model_work')
      .where('subject_id', '=', workspace_id)
      .select('times')
      .executeTakeFirstOrThrow();
    expect(times).toBe(max);
  });

  it('names the app in the refusal if the number of the app is used up', async () => {
    const app = { workspace_id, id: newId() };
    for (let times = 0; times < max; times += 1) await countSuggestion(db, app, noon);
    const refused = { headers: { 'retry-after': String(12 * 60 * 60) } };
    await expect(countSuggestion(db, app, noon)).rejects.toMatchObject(refused);
    await expect(countSuggestion(db, app, noon)).rejects.toThrow(`for this app ${max} times today`);
    await countSuggestion(db, { workspace_id, id: newId() }, noon);
  });

  it('can be counted and taken back at the same time', async () => {
    const work = createWork();
    await countUnpaid(db, work, noon);
    const change = (index: number) =>
      transaction(db, async (db) => {
        if (index % 2 === 0) await countUnpaid(db, work, noon);
        else await uncountUnpaid(db, work, noon);
      });
    await countUnpaid(db, work, noon);
    await Promise.all(Array.from({ length: 16 }, (_, index) => change(index)));
    const { rows } = await sql<{ times: number }>`select times from unpaid_model_work
      where workspace_id = ${workspace_id}`.execute(db);
    expect(rows).toHaveLength(2);
    expect(new Set(rows.map(({ times }) => times)).size).toBe(1);
  });

  it('can be taken back on the same day only', async () => {
    const work = createWork();
    for (let times = 0; times < max; times += 1) await countUnpaid(db, work, noon);
    await uncountUnpaid(db, work, inDays(1));
    expect(await countUnpaid(db, work, noon)).toBe(false);
    await uncountUnpaid(db, work, noon);
    expect([await countUnpaid(db, work, noon), await countUnpaid(db, work, noon)]).toEqual([true, false]);
  });

  it('is forgotten after two days', async () => {
    const work = createWork();
    await countUnpaid(db, work, noon);
    const isKept = async () =>
      (await db.selectFrom('unpaid_model_work').where('subject_id', '=', work.subject_id).selectAll().execute()).length;
    await removeOldUnpaid(db, inDays(1));
    expect(await isKept()).toBe(1);
    expect(await removeOldUnpaid(db, inDays(2))).toBeGreaterThan(0);
    expect(await isKept()).toBe(0);
  });
});
