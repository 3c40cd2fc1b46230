// Tests that partitions are created ahead, removed when nothing needs them any more, and that readers use only one.
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { cloneTemplate } from '../../../test/support/template.ts';
import { type AnyDb, openDatabase } from '../db/database.ts';
import { newId } from '../ids.ts';
import { createMetrics } from '../metrics.ts';
import {
  addPartitionGauges,
  createPartitions,
  partitionNumberOf,
  preparedForPartition,
  removeOldPartitions,
} from './partitions.ts';

const cloned = await cloneTemplate();
const database = openDatabase<never>({ url: cloned.url, poolSize: 3 });
const db = database.db as AnyDb;
const owner = new pg.Client(cloned.ownerUrl);
await owner.connect();
afterAll(async () => {
  await owner.end();
  await database.close();
  await cloned.drop();
});

/** A partition of old notes, and one that ends yesterday. Notes are kept for ten days. */
beforeEach(async () => {
  await owner.query(`
    drop table if exists notes, needs, removed_notes;
    delete from partitioned_tables;
    create table notes (id uuid primary key, text text not null check (text <> '')) partition by range (id);
    create table needs (id uuid primary key);
    create table removed_notes (count integer);
    grant all on notes, needs, removed_notes to public;
    insert into partitioned_tables values ('notes', 'id', 1, 10,
      'exists (select from needs where id >= $1 and id < $2)',
      'insert into removed_notes select count(*) from %s');
    create table partitions.notes_until_20260101 (like notes including indexes including constraints);
    create table partitions.notes_20260102 (like notes including indexes including constraints);
    alter table notes attach partition partitions.notes_until_20260101
      for values from (minvalue) to (first_id_at(partition_start(now() - interval '12 days', 1)));
    alter table notes attach partition partitions.notes_20260102
      for values from (first_id_at(partition_start(now() - interval '12 days', 1)))
      to (first_id_at(partition_start(now() - interval '1 day', 1)))`);
});

const idAt = async (ageDays: number): Promise<string> =>
  (await owner.query("select first_id_at(now() - $1 * interval '1 day') as id", [ageDays])).rows[0].id;
const addNote = async (ageDays: number) =>
  owner.query("insert into notes values ($1, 'a note')", [await idAt(ageDays)]);
const listPartitions = async (): Promise<string[]> =>
  (await owner.query('select partition::text as name from list_partitions($1)', ['notes'])).rows.map(
    ({ name }) => name,
  );

it('the partitions of three days ahead are created, with those of days that were missed, and only once', async () => {
  await expect(addNote(0)).rejects.toThrow('no partition of relation "notes" found for row');
  expect(await createPartitions(db)).toBe(5); // from yesterday on
  expect(await createPartitions(db)).toBe(0);
  for (const ageDays of [1, 0, -1, -2, -3]) await addNote(ageDays);
  await expect(addNote(-4)).rejects.toThrow('no partition of relation "notes" found for row');
  await expect(owner.query("insert into notes values ($1, '')", [await idAt(0)])).rejects.toThrow('check constraint');
});

it('a partition is removed when its last row is old enough, and what it contains is handed over before', async () => {
  await createPartitions(db);
  await addNote(40);
  await addNote(11);
  expect(await removeOldPartitions(db)).toBe(1);
  expect(await removeOldPartitions(db)).toBe(0);
  expect((await listPartitions())[0]).toBe('partitions.notes_20260102');
  expect((await owner.query('select count(*)::int as count from notes')).rows).toEqual([{ count: 1 }]);
  expect((await owner.query('select count from removed_notes')).rows).toEqual([{ count: 1 }]);
  expect((await owner.query("select to_regclass('partitions.notes_until_20260101') as name")).rows[0].name).toBeNull();
});

it('a partition stays while something needs a row of it', async () => {
  await owner.query('insert into needs values ($1)', [await idAt(500)]);
  expect(await removeOldPartitions(db)).toBe(0);
  await owner.query('delete from needs');
  expect(await removeOldPartitions(db)).toBe(1);
});

it('beside a back-up, the removal gives up within 100 ms, so writes do not wait, and is tried again', async () => {
  await createPartitions(db);
  await owner.query('begin');
  await owner.query('select count(*) from notes');
  const startedAt = performance.now();
  const removal = removeOldPartitions(db);
  const insert = sql`insert into notes values (${newId()}, 'a note')`.execute(db);
  expect(await removal).toBe(0);
  await insert;
  expect(performance.now() - startedAt).toBeLessThan(5_000); // both would wait until the commit below otherwise
  expect((await owner.query('select count(*)::int as count from removed_notes')).rows).toEqual([{ count: 0 }]);
  await owner.query('commit');
  expect(await removeOldPartitions(db)).toBe(1);
});

it('a partition that was detached when a worker crashed is dropped by the next', async () => {
  await sql`select detach_partition('notes')`.execute(db);
  expect(await listPartitions()).toEqual(['partitions.notes_20260102']);
  expect(await removeOldPartitions(db)).toBe(1);
});

it('the role of the service can neither change what is kept nor drop what is attached', async () => {
  await expect(sql`update partitioned_tables set kept_days = 0`.execute(db)).rejects.toThrow('permission denied');
  await expect(sql`drop table partitions.notes_20260102`.execute(db)).rejects.toThrow('permission denied');
  const { rows } = await sql<{ name: string | null }>`select drop_detached_partition('notes') as name`.execute(db);
  expect(rows).toEqual([{ name: null }]);
});

it('a statement for a partition locks that one only', async () => {
  await createPartitions(db);
  const today = (await listPartitions()).at(-4);
  const find = preparedForPartition<{ id: string; locked: string[] }, [string]>(
    'find note',
    { column: 'id', days: 1 },
    (isInPartition) => `select id, array(select relation::regclass::text from pg_locks
        where pid = pg_backend_pid() and relation::regclass::text ~ 'notes_[0-9]+$' order by 1) as locked
      from notes where id = $1 and ${isInPartition}`,
  );
  const id = newId();
  await owner.query("insert into notes values ($1, 'a note')", [id]);
  for (let repeated = 0; repeated < 8; repeated += 1) expect(await find(id)(db, id)).toEqual([{ id, locked: [today] }]); // from the sixth time on, by a generic plan
});

it('this process and the database agree on the partition of an id', async () => {
  for (const days of [1, 7]) {
    const ids = await Promise.all([0, 1, 2, 3, 4, 5, 6, 7, 400].map(idAt));
    for (const id of ids) {
      const { rows } = await owner.query(
        `select extract(epoch from partition_start(time_of_id($1), $2) - partition_start(to_timestamp(0), $2))
          / 86400 / $2 as number`,
        [id, days],
      );
      expect(partitionNumberOf(id, days)).toBe(Number(rows[0].number) + partitionNumberOf(await idAtEpoch(), days));
    }
  }
});

const idAtEpoch = async (): Promise<string> =>
  (await owner.query('select first_id_at(to_timestamp(0)) as id')).rows[0].id;

it('metrics say how far ahead there are partitions, and how old the oldest is', async () => {
  await createPartitions(db);
  const metrics = createMetrics(async () => ({ queues: [], unreadable: [], slots: [] }));
  addPartitionGauges(metrics, () => db);
  const text = await metrics.render();
  const read = (name: string) => Number(new RegExp(`^${name}\\{table="notes"\\} (\\S+)$`, 'm').exec(text)?.[1]);
  expect(Math.floor(read('plinth_partitions_ahead'))).toBe(3);
  expect(Math.floor(read('plinth_partition_oldest_days'))).toBe(12);
  expect(Math.floor(read('plinth_partition_overdue_days'))).toBe(2);
});
