// Tests that the list of stored tables is complete, and that what it says is counted is counted.
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { cloneTemplate } from '../../../test/support/template.ts';
import { installationTables, tenantTables } from './stored-tables.ts';

const cloned = await cloneTemplate();
const client = new pg.Client(cloned.ownerUrl);
await client.connect();
afterAll(async () => {
  await client.end();
  await cloned.drop();
});

const listNames = async (text: string) => (await client.query<{ name: string }>(text)).rows.map(({ name }) => name);

/** The tables with a trigger whose function appends to storage_changes, or to the sizes of analytics, which do. */
const listCountingTables = (operation: 'insert' | 'delete') =>
  listNames(`select distinct c.relname as name from pg_trigger t
    join pg_class c on c.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
    where c.relnamespace = 'public'::regnamespace and p.prosrc ~ 'into (storage_changes|analytics_sizes)'
      and t.tgtype & ${operation === 'insert' ? 4 : 8} > 0`);

/** Statements count what they insert or change here, because triggers would be slower (decision 24). */
const countedByStatements = new Set(['entity_records']);

describe('the list of stored tables', () => {
  it('has every table, once', async () => {
    const tables = await listNames(`select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`);
    expect([...Object.keys(tenantTables), ...installationTables].toSorted()).toEqual(tables.toSorted());
  });

  it('does not call a table with a tenant column one of the installation', async () => {
    const ofTenants = await listNames(`select distinct table_name as name from information_schema.columns
      where table_schema = 'public' and column_name in ('workspace_id', 'app_id')`);
    expect(installationTables.filter((table) => ofTenants.includes(table))).toEqual([]);
  });

  it('calls a table counted only if its rows are counted when they are removed', async () => {
    const counting = new Set(await listCountingTables('delete'));
    const counted = Object.entries(tenantTables).filter(([, table]) => 'counted' in table);
    const missing = counted.filter(([name, table]) => {
      const counter = 'countedBy' in table ? table.countedBy : name;
      return !counting.has(counter ?? name);
    });
    expect(missing.map(([name]) => name)).toEqual([]);
  });

  it('says for every counted expression what the triggers count', async () => {
    const { rows } = await client.query<{ name: string; source: string }>(
      "select substr(proname, 8) as name, prosrc as source from pg_proc where proname ~ '^stored_'",
    );
    const plain = (text: string) => text.replace(/\s+/g, ' ');
    const sources = new Map(rows.map(({ name, source }) => [name, plain(source)]));
    const said = Object.entries(tenantTables).flatMap(([name, table]) =>
      'bytes' in table ? [[name, `'${table.counted}'`, `(${table.bytes})::bigint`] as const] : [],
    );
    expect(said.length).toBeGreaterThan(30);
    const differing = said.filter(([name, ...parts]) => !parts.every((part) => sources.get(name)?.includes(part)));
    expect(differing).toEqual([]);
    const purged = (name: string) => sources.has(name) && name.endsWith('_purged');
    const unsaid = [...sources.keys()].filter((name) => !purged(name) && !said.some(([each]) => each === name));
    expect(unsaid).toEqual([]);
  });

  it('adds up no expression that may be null', async () => {
    const { rows: nullable } = await client.query<{ name: string; column: string }>(
      `select table_name as name, column_name as column from information_schema.columns
       where table_schema = 'public' and is_nullable = 'YES'`,
    );
    const unguarded = nullable.filter(({ name, column }) => {
      const table = tenantTables[name];
      return (
        table !== undefined &&
        'bytes' in table &&
        new RegExp(`(?<!coalesce\\()octet_length\\(${column}\\b`).test(table.bytes)
      );
    });
    expect(unguarded).toEqual([]);
  });

  it('calls every table counted whose rows are counted when they are inserted', async () => {
    const counting = await listCountingTables('insert');
    const known = new Set(
      Object.entries(tenantTables).flatMap(([name, table]) =>
        'counted' in table ? [name, 'countedBy' in table ? table.countedBy : name] : [],
      ),
    );
    expect(counting.length).toBeGreaterThan(3);
    expect(counting.filter((name) => !known.has(name) && !countedByStatements.has(name))).toEqual([]);
  });
});
