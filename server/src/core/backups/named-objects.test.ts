// Tests that a back-up knows every object that a row can name.
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { cloneTemplate } from '../../../test/support/template.ts';
import { openDatabase } from '../../kit/db/database.ts';
import type { Tables } from '../../tables.ts';
import { listNamedObjects } from './named-objects.ts';

const database = await cloneTemplate();
const sent: string[] = [];
const { db, close } = openDatabase<Tables>({
  url: database.url,
  poolSize: 1,
  onStatement: (text) => sent.push(text),
});
const owner = new pg.Client(database.ownerUrl);
await owner.connect();
afterAll(async () => {
  await close();
  await owner.end();
  await database.drop();
});

it('the objects of every table are named whose removed rows queue objects for removal', async () => {
  const { rows } = await owner.query<{ name: string }>(`select distinct c.relname as name from pg_trigger t
    join pg_class c on c.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
    where p.prosrc ~ 'into object_removals' order by 1`);
  expect(rows.map(({ name }) => name)).toContain('app_blobs');
  expect(await listNamedObjects(db)).toEqual([]);
  const text = sent.join();
  expect(rows.filter(({ name }) => !text.includes(`from ${name}`))).toEqual([]);
  expect(text).toContain('from workspace_exports'); // its objects are removed together with their rows
});
