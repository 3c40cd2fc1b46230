// Writes server/src/tables.ts: the table types of a migrated database. A check constraint that lists values becomes a
// union type, so an unknown role or plan does not compile.
import type pg from 'pg';

interface Column {
  table: string;
  column: string;
  type: string;
  nullable: boolean;
  has_default: boolean;
  values: string[] | null;
}

const columnsSql = `
  select c.relname as "table", a.attname as "column", format_type(a.atttypid, null) as type,
    not a.attnotnull as nullable,
    a.atthasdef or a.attidentity <> '' as has_default,
    (select array_agg(v[1]) from pg_constraint k, regexp_matches(pg_get_constraintdef(k.oid), '''([^'']*)''::text', 'g') v
     where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]
       and pg_get_constraintdef(k.oid) ~ '^CHECK \\(\\(\\w+ = ANY \\(ARRAY\\[') as values
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relkind in ('r', 'p', 'v') and not c.relispartition and c.relname <> 'migrations'
  order by c.relname, a.attnum`;

const types: Record<string, string> = {
  uuid: 'string',
  text: 'string',
  boolean: 'boolean',
  integer: 'number',
  smallint: 'number',
  bigint: 'number',
  numeric: 'number',
  'double precision': 'number',
  bytea: 'Buffer',
  date: 'string',
  inet: 'string',
  xid8: 'string',
  'timestamp with time zone': 'Date',
};

export async function describeTables(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<Column>(columnsSql);
  const tables = Map.groupBy(rows, (row) => row.table);
  const lines = [
    '// Written by `npm run describe` from the migrated database. Do not edit.',
    "import type { ColumnType, Generated, Kysely } from 'kysely';",
    '',
    '// JSON columns are read as values and written as JSON text.',
    'type Json = ColumnType<unknown, string, string>;',
    '',
    'export interface Tables {',
  ];
  for (const [table, columns] of tables) {
    lines.push(`  ${table}: {`);
    for (const column of columns) lines.push(`    ${column.column}: ${typeOf(column)};`);
    lines.push('  };');
  }
  lines.push('}', '', 'export type Db = Kysely<Tables>;', '');
  return lines.join('\n');
}

function typeOf(column: Column): string {
  if (column.type === 'jsonb' && column.has_default) return 'ColumnType<unknown, string | undefined, string>';
  const bare = bareType(column);
  const type = column.nullable ? `${bare} | null` : bare;
  return column.has_default ? `Generated<${type}>` : type;
}

function bareType({ type, values, table, column }: Column): string {
  if (values !== null) return [...new Set(values)].map((value) => `'${value}'`).join(' | ');
  if (type === 'jsonb' || type === 'json') return 'Json';
  const isArray = type.endsWith('[]');
  const known = types[type.replace('[]', '')];
  if (known === undefined) throw new Error(`${table}.${column}: no TypeScript type known for ${type}`);
  return isArray ? `${known}[]` : known;
}
