// Sorts records: parses `sort`, and writes the order as SQL with keyset pagination. In ascending order, missing
// and null values come first, followed by false, true, numbers, strings by code point, and finally arrays and objects,
// which are all equal.
import type { Loc } from '../conditions.ts';
import type { Parsed } from '../grammar.ts';
import { findProperty, type SchemaProperties } from '../properties.ts';
import type { Path } from '../rule.ts';
import { columnTypes } from '../sql/columns.ts';
import { type CompileVisibility, writeJsonPath, writeTextPath } from '../sql/sql.ts';
import type { SqlParameters } from '../sql/text.ts';
import { compileVisibility, parsePath, type QueryContext } from './query.ts';

export interface SortTerm {
  readonly path: Path;
  readonly descending: boolean;
}

const maxTerms = 3;
// A cursor contains the compared text and has to fit into a URL, which may be a few thousand characters long.
const comparedCharacters = 200;

/** Parses a comma-separated list of `f`, `+f` or `-f`. */
export function parseSort(
  text: string,
  loc: Loc,
  properties: SchemaProperties,
): Parsed<{ readonly sort: readonly SortTerm[] }> {
  const parts = text.split(',');
  if (parts.length > maxTerms)
    return { faults: [{ loc, msg: `must contain at most ${maxTerms} fields`, type: 'too_long' }] };
  const sort = parts.flatMap((part) => {
    const path = parsePath(part.replace(/^[+-]/, ''));
    const known = path && (path.column !== undefined || findProperty(properties, path.names) !== undefined);
    return known ? [{ path, descending: part.startsWith('-') }] : [];
  });
  if (sort.length === parts.length) return { sort };
  return { faults: [{ loc, msg: 'is not a field in the schema', type: 'unknown_field' }] };
}

export interface SortSql {
  /** The expressions that follow `order by`. */
  readonly by: string;
  /** A text[] expression for a record's sort values, used in the cursor. */
  readonly position: string;
  /** A condition that is true for records after a position. */
  after(position: readonly unknown[]): string;
}

/** One expression to order by. A property needs three: its type's rank, its number and its text. */
interface SortKey {
  readonly expression: string;
  readonly type: string;
  readonly descending: boolean;
}

/** Records that are equal in every term are sorted by id, in the direction of the last term. */
export function compileSort(sort: readonly SortTerm[], context: QueryContext, params: SqlParameters): SortSql {
  const visibility = compileVisibility(context, params);
  const id: SortTerm = { path: { column: 'id' }, descending: sort.at(-1)?.descending ?? false };
  const keys = [...sort, id].flatMap((term) => writeSortKeys(term, visibility));
  return {
    by: keys.map(({ expression, descending }) => `${expression}${descending ? ' desc' : ''}`).join(', '),
    position: `array[${keys.map(({ expression }) => `(${expression})::text`).join(', ')}]`,
    after: (position) =>
      writeAfter(
        keys,
        keys.map(({ type }, at) => `${params.bind(position[at])}::${type}`),
      ),
  };
}

function writeSortKeys({ path, descending }: SortTerm, visibility: CompileVisibility): SortKey[] {
  if (path.column !== undefined) {
    const type = columnTypes[path.column];
    return [{ expression: `r.${path.column}${type === 'text' ? ' collate "C"' : ''}`, type, descending }];
  }
  const kind = `jsonb_typeof(${writeJsonPath(path.names)})`;
  const text = writeTextPath(path.names);
  const visible = visibility(path.names);
  const whenHidden = visible === undefined ? '' : `when (${visible}) is not true then`;
  const when = (otherwise: string, cases: string) =>
    `(case ${whenHidden && `${whenHidden} ${otherwise}`} ${cases} else ${otherwise} end)`;
  const rank = `when ${kind} = 'boolean' then 1 when ${kind} = 'number' then 2 when ${kind} = 'string' then 3
    when ${kind} in ('array', 'object') then 4`;
  const size = `when ${kind} = 'number' then ${text}::numeric when ${kind} = 'boolean' then ${text}::boolean::int`;
  return [
    { expression: when('0', rank), type: 'int', descending },
    { expression: when('0', size), type: 'numeric', descending },
    {
      expression: `${when("''", `when ${kind} = 'string' then left(${text}, ${comparedCharacters})`)} collate "C"`,
      type: 'text',
      descending,
    },
  ];
}

// Consecutive keys with the same direction are compared as a row, which lets PostgreSQL start reading an index at the
// position.
function writeAfter(keys: readonly SortKey[], values: readonly string[]): string {
  const [first, ...rest] = keys;
  if (first === undefined) return 'false';
  const symbol = first.descending ? '<' : '>';
  if (keys.every(({ descending }) => descending === first.descending)) {
    return `(${keys.map(({ expression }) => expression).join(', ')}) ${symbol} (${values.join(', ')})`;
  }
  const { expression } = first;
  return `(${expression} ${symbol} ${values[0]} or (${expression} = ${values[0]} and ${writeAfter(rest, values.slice(1))}))`;
}
