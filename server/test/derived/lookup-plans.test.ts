// Tests that every lookup reads by key, alone and batched with others, regardless of the table statistics. The
// connections that lookups share keep the plan from a statement's first use, possibly from an installation's first day.
// The plans in this test are therefore made on empty tables, which are then filled with 100,000 rows each. Each lookup
// may read at most one and a half times as many pages as with a plan made on the full tables.
import { createHash } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allLookups, plannerOptions } from '../../src/kit/db/database.ts';
import { cloneTemplate } from '../support/template.ts';
import { startWorld } from '../support/world.ts';

await startWorld(); // defines all guards and therefore all lookups
const lookups = [...allLookups]
  .map(([name, texts]) => ({ name, texts }))
  .filter(({ name }) => !name.startsWith('test:')); // excludes lookups that other tests in this process defined

const rows = 100_000;
const together = 16;
const maxRatio = 1.5;

const hex = (algorithm: 'md5' | 'sha256', text: string) => createHash(algorithm).update(text).digest('hex');
const idOf = (table: string, n: number) => hex('md5', `${table}${n}`);
const hashOf = (n: number) => Buffer.from(hex('sha256', `credentials${n}`), 'hex');

/** Row n in each table belongs to row n in the tables it refers to. */
const owners: Readonly<Record<string, string>> = {
  user_id: 'users',
  owner_id: 'users',
  workspace_id: 'workspaces',
  app_id: 'apps',
};
const keyColumns = ['hash', 'email', 'hook_token_hash'];

const tables = [
  ...new Set(
    lookups.flatMap(({ texts }) => [...texts.one.matchAll(/(?:from|join) (\w+) \w+/g)].map(([, name]) => name ?? '')),
  ),
];

function valuesFor(name: string, n: number): readonly unknown[] {
  const [, rowTable] = /with (\w+)$/.exec(name) ?? [];
  if (name.startsWith('look up hook')) return [`text ${n}`];
  if (/^look up (open|any) app$/.test(name)) return [idOf('apps', n)];
  if (name === 'look up person') return [hashOf(n), idOf('workspaces', n), `text ${n}`];
  if (name.startsWith('look up app')) return [hashOf(n), idOf('apps', n), ...(rowTable ? [idOf(rowTable, n)] : [])];
  const [, table] = /^look up (\w+)$/.exec(name) ?? [];
  return [hashOf(n), idOf(table === 'workspace' ? 'workspaces' : (table ?? ''), n)];
}

const cloned = await cloneTemplate();
const connect = async () => {
  const client = new pg.Client({
    connectionString: cloned.ownerUrl,
    options: `${plannerOptions} -c plan_cache_mode=force_generic_plan -c session_replication_role=replica`,
  });
  await client.connect();
  for (const [n, { texts }] of lookups.entries())
    for (const kind of ['one', 'many'] as const) await client.query(`prepare ${kind}_${n} as ${texts[kind]}`);
  return client;
};

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

async function explain(client: pg.Client, lookup: number, kind: 'one' | 'many', from: number) {
  const { name, texts } = lookups[lookup] as (typeof lookups)[number];
  const sets = Array.from({ length: kind === 'one' ? 1 : together }, (_, n) => valuesFor(name, from + n));
  const literal = (value: unknown) => (Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value));
  const parameters = texts.types.map((type, index) => {
    const values = sets.map((values) => literal(values[index]));
    return kind === 'one'
      ? `${pg.escapeLiteral(values[0] ?? '')}::${type}`
      : `array[${values.map((value) => pg.escapeLiteral(value)).join()}]::${type}[]`;
  });
  const { rows } = await client.query(
    `explain (analyze, buffers, format json) execute ${kind}_${lookup}(${parameters.join(', ')})`,
  );
  const plan = rows[0]['QUERY PLAN'][0].Plan as PlanNode;
  return { buffers: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], scanned: listScanned(plan) };
}

/** Lists the tables that the plan reads with a sequential scan. */
const listScanned = (node: PlanNode): string[] => [
  ...(node['Node Type'] === 'Seq Scan' ? [node['Relation Name'] ?? ''] : []),
  ...(node.Plans ?? []).flatMap(listScanned),
];

async function fill(client: pg.Client, table: string): Promise<void> {
  const { rows: columns } = await client.query<{ column_name: string; udt_name: string; is_nullable: string }>(
    `select column_name, udt_name, is_nullable from information_schema.columns
     where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER' and is_identity = 'NO'`,
    [table],
  );
  const set = columns.filter(
    ({ column_name, is_nullable }) => is_nullable === 'NO' || column_name in owners || keyColumns.includes(column_name),
  );
  const writeValue = ({ column_name, udt_name }: (typeof columns)[number]): string => {
    if (udt_name === 'uuid')
      return `md5('${column_name === 'id' ? table : (owners[column_name] ?? column_name)}' || n)::uuid`;
    if (udt_name === 'bytea') return `sha256(('${table}' || n)::bytea)`;
    if (udt_name === 'text') return "'text ' || n";
    if (udt_name === 'timestamptz') return 'now()';
    if (udt_name === 'bool') return 'false';
    if (udt_name === 'jsonb' || udt_name === 'json' || udt_name.startsWith('_')) return "'{}'";
    return '0';
  };
  await client.query(
    `insert into ${table} (${set.map(({ column_name }) => column_name).join()})
     select ${set.map(writeValue).join()} from generate_series(1, ${rows}) n`,
  );
}

let early: pg.Client;
let late: pg.Client;
beforeAll(async () => {
  const loading = new pg.Client({ connectionString: cloned.ownerUrl, options: '-c session_replication_role=replica' });
  await loading.connect();
  const { rows: checks } = await loading.query(
    `select conrelid::regclass::text as table, conname from pg_constraint where contype = 'c' and conrelid::regclass::text = any($1)`,
    [tables],
  );
  for (const { table, conname } of checks) await loading.query(`alter table ${table} drop constraint "${conname}"`);
  for (const table of tables) await loading.query(`alter table ${table} set (autovacuum_enabled = false)`);
  early = await connect();
  for (const lookup of lookups.keys())
    for (const kind of ['one', 'many'] as const) await explain(early, lookup, kind, 1);
  for (const table of tables) await fill(loading, table);
  // The first read of a new page also writes the page. The lookups must not be charged for that.
  for (const table of tables) await loading.query(`select count(*) from ${table}`);
  late = await connect();
}, 600_000);
afterAll(async () => {
  await early.end();
  await late.end();
});

describe('a lookup', () => {
  it.each(lookups.map(({ name }, lookup) => [name, lookup] as const))('reads by key: %s', async (_name, lookup) => {
    for (const kind of ['one', 'many'] as const) {
      const kept = await explain(early, lookup, kind, 500);
      expect(kept.scanned, kind).toEqual([]);
      expect(kept.buffers, kind).toBeGreaterThan(0);
    }
  });

  it('touches hardly more pages than with fresh statistics', async () => {
    const keptPlans = await measureAll(early);
    await late.query('analyze');
    const freshPlans = await measureAll(late);
    const worse = keptPlans.filter(({ buffers }, n) => buffers > (freshPlans[n]?.buffers ?? 0) * maxRatio);
    expect(worse.map(({ what, buffers }) => `${what}: ${buffers} pages`)).toEqual([]);
  });
});

async function measureAll(client: pg.Client) {
  const measured = [];
  for (const [lookup, { name }] of lookups.entries())
    for (const kind of ['one', 'many'] as const)
      measured.push({ what: `${name}, ${kind}`, buffers: (await explain(client, lookup, kind, 700)).buffers });
  return measured;
}
