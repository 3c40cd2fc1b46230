// Owns rules and queries as SQL over a record `r`: the same verdicts as `evaluate.ts`. An expression is true exactly where
// the rule is met, and false or null elsewhere. Values are bound, never written; names are written, proven harmless.
import type { Principal } from '../../../core/auth/principal.ts';
import { columnCheck } from './column-sql.ts';
import { type Check, type Decided, decidedFor, type Residual } from './decide.ts';
import type { Place, Rule } from './rule.ts';
import { json, type SqlWriter, symbols, textCheck } from './text-sql.ts';

/**
 * Over r.id uuid, r.created_by text, r.created_by_id text, r.created_date and r.updated_date timestamptz(3), r.is_sample
 * boolean, r.data jsonb.
 */
export const compile = (rule: Rule, who: Principal, sql: SqlWriter): string =>
  compileDecided(decidedFor(rule, who), sql);

/** SQL of what must be true for the value at the names to be seen; undefined: it always is. */
export type Guard = (names: readonly string[]) => string | undefined;

export const compileDecided = (decided: Decided, sql: SqlWriter, guard?: Guard): string =>
  write(decided, { sql, guard, root: 'r.data', depth: 0 });

/** What names lead into: the record's data, or an element. */
interface Scope {
  readonly sql: SqlWriter;
  readonly guard: Guard | undefined;
  readonly root: string;
  readonly depth: number;
}

function write(decided: Decided, scope: Scope): string {
  if (typeof decided === 'boolean') return String(decided);
  if ('parts' in decided) {
    return `(${decided.parts.map((part) => write(part, scope)).join(` ${decided.kind} `)})`;
  }
  const met = `(${writeCheck(decided, scope)})`;
  return decided.kind === 'is' ? met : `(${met} is not true)`;
}

function writeCheck({ place, check }: Extract<Residual, { place: Place }>, scope: Scope): string {
  if (place.column !== undefined) return columnCheck(place.column, check, scope.sql);
  const guard = scope.guard?.(place.names);
  const met = dataCheck(place.names, check, scope);
  if (guard === undefined) return met;
  return isMetByMissing(check) ? `(${guard}) is not true or (${met})` : `(${guard}) and (${met})`;
}

const isMetByMissing = (check: Check): boolean =>
  check.op === 'every' ||
  (check.op === 'eq' && check.value === null) ||
  (check.op === 'in' && check.values.includes(null)) ||
  (check.op === 'all' && check.values.every((value) => value === null));

function dataCheck(names: readonly string[], check: Check, scope: Scope): string {
  const { sql } = scope;
  const value = jsonAt(names, scope.root);
  switch (check.op) {
    case 'eq':
      return equals(value, 'any', [check.value], sql);
    case 'in':
      return equals(value, 'any', check.values, sql);
    case 'all':
      return equals(value, 'all', check.values, sql);
    case 'exists':
      return `${value} <> 'null'`;
    case 'size':
      return `jsonb_array_length(${arrayOr(value, 'null')}) = ${sql.bind(check.length)}::bigint`;
    case 'some':
    case 'every':
      return elements(value, check.op, check.element, scope);
    case 'contains':
    case 'startsWith':
      return `jsonb_typeof(${value}) = 'string' and ${textCheck(textAt(names, scope.root), check, sql)}`;
    default: {
      const { op, value: wanted } = check;
      return typeof wanted === 'number'
        ? `jsonb_typeof(${value}) = 'number' and ${value} ${symbols[op]} ${json(wanted, sql)}`
        : `jsonb_typeof(${value}) = 'string' and ${textCheck(textAt(names, scope.root), { op, value: wanted }, sql)}`;
    }
  }
}

/** The value as jsonb, null when missing. */
export const jsonAt = (names: readonly string[], root = 'r.data'): string =>
  names.reduce((value, name) => `${value}->${literal(name)}`, root);

/** The value as text, of use where it is one. */
export const textAt = (names: readonly string[], root = 'r.data'): string =>
  `(${jsonAt(names.slice(0, -1), root)}->>${literal(names.at(-1) ?? '')})`;

// The grammar lets no other name through; this is where it would hurt.
function literal(name: string): string {
  if (!/^\w+$/.test(name)) throw new Error('a name that no rule can have');
  return `'${name}'`;
}

// A scalar is contained in itself and in an array that holds it, so containment is the whole of equality. However many
// values there are, the text stays short: a caller's long list must not become a long statement.
function equals(value: string, many: 'any' | 'all', wanted: readonly unknown[], sql: SqlWriter): string {
  const scalars = wanted.filter((each) => each !== null && typeof each !== 'object');
  const composites = wanted.filter((each) => each !== null && typeof each === 'object');
  const parts: string[] = [];
  if (scalars.length === 1) parts.push(`${value} @> ${json(scalars[0], sql)}`);
  if (scalars.length > 1) parts.push(`${value} @> ${many}(${jsons(scalars, sql)})`);
  if (wanted.includes(null)) parts.push(`(${value} is null or ${value} @> 'null')`);
  if (composites.length > 0) parts.push(equalsComposites(value, many, jsons(composites, sql)));
  return parts.join(many === 'any' ? ' or ' : ' and ');
}

function equalsComposites(value: string, many: 'any' | 'all', wanted: string): string {
  const held = `select from jsonb_array_elements(${arrayOr(value, "'[]'")}) e(value) where e.value`;
  if (many === 'any') return `(${value} = any(${wanted}) or exists (${held} = any(${wanted})))`;
  return `not exists (select from unnest(${wanted}) w(value)
    where (${value} = w.value or exists (${held} = w.value)) is not true)`;
}

const jsons = (values: readonly unknown[], sql: SqlWriter): string =>
  `${sql.bind(values.map((each) => JSON.stringify(each)))}::jsonb[]`;

const arrayOr = (value: string, otherwise: string): string =>
  `case when jsonb_typeof(${value}) = 'array' then ${value} else ${otherwise} end`;

function elements(value: string, op: 'some' | 'every', element: Decided, scope: Scope): string {
  const alias = `e${scope.depth + 1}`;
  const met = write(element, { sql: scope.sql, guard: undefined, root: `${alias}.value`, depth: scope.depth + 1 });
  const which = op === 'some' ? `exists (select from` : `not exists (select from`;
  return `${which} jsonb_array_elements(${arrayOr(value, "'[]'")}) ${alias}(value)
    where jsonb_typeof(${alias}.value) = 'object' and ${op === 'some' ? met : `${met} is not true`})`;
}
