// Writes decisions (decision/decide.ts) as SQL for a table with the alias `r`. The SQL is true exactly where
// decision/evaluate.ts returns true, and false or null elsewhere. Values are always bound as parameters. Only property
// names are part of the text.
import type { Check, Decision, RecordFilter } from '../decision/decide.ts';
import type { Path } from '../rule.ts';
import { writeColumnCheck } from './columns.ts';
import { bindJson, comparisonSymbols, type SqlParameters, writeTextCheck } from './text.ts';

/** Returns the SQL that must be true for the principal to read the value at a path, or undefined if they always may. */
export type CompileVisibility = (names: readonly string[]) => string | undefined;

/**
 * `r` must have the columns id uuid, created_by text, created_by_id text, created_date and updated_date timestamptz(3),
 * is_sample boolean and data jsonb.
 */
export const compileDecision = (decision: Decision, params: SqlParameters, visibility?: CompileVisibility): string =>
  writeDecision(decision, { params, visibility, root: 'r.data', depth: 0 });

/** The scope in which property names are looked up: the record's data, or an array element. */
interface Scope {
  readonly params: SqlParameters;
  readonly visibility: CompileVisibility | undefined;
  readonly root: string;
  readonly depth: number;
}

function writeDecision(decision: Decision, scope: Scope): string {
  if (typeof decision === 'boolean') return String(decision);
  if ('parts' in decision) {
    return `(${decision.parts.map((part) => writeDecision(part, scope)).join(` ${decision.kind} `)})`;
  }
  const met = `(${writeCheck(decision, scope)})`;
  return decision.kind === 'passes' ? met : `(${met} is not true)`;
}

function writeCheck({ path, check }: Extract<RecordFilter, { path: Path }>, scope: Scope): string {
  if (path.column !== undefined) return writeColumnCheck(path.column, check, scope.params);
  const visible = scope.visibility?.(path.names);
  const met = writeDataCheck(path.names, check, scope);
  if (visible === undefined) return met;
  return passesWhenMissing(check) ? `(${visible}) is not true or (${met})` : `(${visible}) and (${met})`;
}

// A value that the principal may not read counts as missing.
const passesWhenMissing = (check: Check): boolean =>
  check.op === 'every' ||
  (check.op === 'eq' && check.value === null) ||
  (check.op === 'in' && check.values.includes(null)) ||
  (check.op === 'all' && check.values.every((value) => value === null));

function writeDataCheck(names: readonly string[], check: Check, scope: Scope): string {
  const { params } = scope;
  const value = writeJsonPath(names, scope.root);
  switch (check.op) {
    case 'eq':
      return writeEquality(value, 'any', [check.value], params);
    case 'in':
      return writeEquality(value, 'any', check.values, params);
    case 'all':
      return writeEquality(value, 'all', check.values, params);
    case 'exists':
      return `${value} <> 'null'`;
    case 'size':
      return `jsonb_array_length(${writeArrayOrElse(value, 'null')}) = ${params.bind(check.length)}::bigint`;
    case 'some':
    case 'every':
      return writeElements(value, check.op, check.element, scope);
    case 'contains':
    case 'startsWith':
      return `jsonb_typeof(${value}) = 'string' and ${writeTextCheck(writeTextPath(names, scope.root), check, params)}`;
    default: {
      const { op, value: wanted } = check;
      return typeof wanted === 'number'
        ? `jsonb_typeof(${value}) = 'number' and ${value} ${comparisonSymbols[op]} ${bindJson(wanted, params)}`
        : `jsonb_typeof(${value}) = 'string' and ${writeTextCheck(writeTextPath(names, scope.root), { op, value: wanted }, params)}`;
    }
  }
}

/** The value as jsonb, or null if it is missing, as in `r.data->'address'->'zip'`. */
export const writeJsonPath = (names: readonly string[], root = 'r.data'): string =>
  names.reduce((value, name) => `${value}->${quoteName(name)}`, root);

/** The value as text, as in `(r.data->'address'->>'zip')`. */
export const writeTextPath = (names: readonly string[], root = 'r.data'): string =>
  `(${writeJsonPath(names.slice(0, -1), root)}->>${quoteName(names.at(-1) ?? '')})`;

// The grammar already rejects other names. This check is a second line of defence against SQL injection.
function quoteName(name: string): string {
  if (!/^\w+$/.test(name)) throw new Error('not a property name that the grammar allows');
  return `'${name}'`;
}

// With PostgreSQL's `@>`, a scalar is contained in itself and in an array that has it as an element, which is exactly
// how rules define equality. A list of values is bound as one array, so a caller's long list doesn't become a long
// statement.
function writeEquality(value: string, many: 'any' | 'all', wanted: readonly unknown[], params: SqlParameters): string {
  const scalars = wanted.filter((each) => each !== null && typeof each !== 'object');
  const composites = wanted.filter((each) => each !== null && typeof each === 'object');
  const parts: string[] = [];
  if (scalars.length === 1) parts.push(`${value} @> ${bindJson(scalars[0], params)}`);
  if (scalars.length > 1) parts.push(`${value} @> ${many}(${bindJsonList(scalars, params)})`);
  if (wanted.includes(null)) parts.push(`(${value} is null or ${value} @> 'null')`);
  if (composites.length > 0) parts.push(writeCompositeEquality(value, many, bindJsonList(composites, params)));
  return parts.join(many === 'any' ? ' or ' : ' and ');
}

function writeCompositeEquality(value: string, many: 'any' | 'all', wanted: string): string {
  const element = `select from jsonb_array_elements(${writeArrayOrElse(value, "'[]'")}) e(value) where e.value`;
  if (many === 'any') return `(${value} = any(${wanted}) or exists (${element} = any(${wanted})))`;
  return `not exists (select from unnest(${wanted}) w(value)
    where (${value} = w.value or exists (${element} = w.value)) is not true)`;
}

const bindJsonList = (values: readonly unknown[], params: SqlParameters): string =>
  `${params.bind(values.map((each) => JSON.stringify(each)))}::jsonb[]`;

const writeArrayOrElse = (value: string, otherwise: string): string =>
  `case when jsonb_typeof(${value}) = 'array' then ${value} else ${otherwise} end`;

function writeElements(value: string, op: 'some' | 'every', element: Decision, scope: Scope): string {
  const alias = `e${scope.depth + 1}`;
  const met = writeDecision(element, {
    params: scope.params,
    visibility: undefined,
    root: `${alias}.value`,
    depth: scope.depth + 1,
  });
  const exists = op === 'some' ? 'exists' : 'not exists';
  return `${exists} (select from jsonb_array_elements(${writeArrayOrElse(value, "'[]'")}) ${alias}(value)
    where jsonb_typeof(${alias}.value) = 'object' and ${op === 'some' ? met : `${met} is not true`})`;
}
