// Owns the language in which records are asked for: filters read from JSON or from single parameters, and decided in the
// process or as SQL. A field whose read rule is not met for a record is missing in it.
import type { Principal } from '../../../core/auth/principal.ts';
import { isStorableText } from '../../../kit/text.ts';
import { type Language, type Loc, readCondition } from './conditions.ts';
import { decide, decidedFor } from './decide.ts';
import { evaluate, judge } from './evaluate.ts';
import { type FieldRules, rulesOver } from './field-rules.ts';
import { columnNamed, type Fields, namesOf } from './fields.ts';
import type { Parsed } from './grammar.ts';
import type { Condition, Place, Subject } from './rule.ts';
import { compileDecided, type Guard } from './sql.ts';
import type { SqlWriter } from './text-sql.ts';

const nodes = 100;

const language: Language = {
  depth: 5,
  nodes,
  entries: [0, nodes],
  tests: nodes,
  listed: 1000,
  operators: new Set(
    '$eq $ne $gt $gte $lt $lte $in $nin $all $exists $size $elemMatch $contains $startsWith $not'.split(' '),
  ),
  faults: {
    object: 'dict_type',
    list: 'list_type',
    too_short: 'too_short',
    too_long: 'too_long',
    operator: 'unsupported_operator',
    value: 'value_error',
  },
  place: (key, inElement) => (inElement ? withNames(key) : placeNamed(key)),
  operand: (json) => (isStorable(json) ? { kind: 'value', value: json } : 'a value that cannot be stored'),
  isValue: (json) => !Object.keys(json).some((key) => key.startsWith('$')),
};

/** Where a name of a query leads; `data.` in front may be left out. */
export function placeNamed(text: string): Place | undefined {
  const column = columnNamed(text);
  return column === undefined ? withNames(text.startsWith('data.') ? text.slice('data.'.length) : text) : { column };
}

function withNames(text: string): Place | undefined {
  const names = namesOf(text);
  return names && { names };
}

/** No record holds anything deeper. */
const deepest = 10;

function isStorable(json: unknown, depth = 0): boolean {
  if (typeof json === 'string') return isStorableText(json);
  if (typeof json === 'number') return Number.isFinite(json);
  if (typeof json !== 'object' || json === null) return true;
  if (depth === deepest) return false;
  return Object.entries(json).every(([name, value]) => isStorableText(name) && isStorable(value, depth + 1));
}

/** A query is a condition without templates; `{}` is met by every record. */
export function parseQuery(json: unknown, loc: Loc, fields: Fields): Parsed<{ readonly query: Condition }> {
  const read = readCondition(json, loc, fields, language);
  return 'faults' in read ? read : { query: read.condition };
}

/** Who asks, and which fields are not for everyone. */
export interface Asking {
  readonly who: Principal;
  readonly fieldRules: FieldRules;
}

export function matches(query: Condition, { who, fieldRules }: Asking, record: Subject): boolean {
  const sees = (names: readonly string[]) =>
    rulesOver(fieldRules, names, 'read').every((rule) => evaluate(rule, who, record) === true);
  return judge(query, { who: undefined, record, data: record.data, sees }) === true;
}

export const compileQuery = (query: Condition, asking: Asking, sql: SqlWriter): string =>
  compileDecided(decide(query, undefined, true), sql, guardOf(asking, sql));

/** Each field's guard is written once, however often the field is named. */
export function guardOf({ who, fieldRules }: Asking, sql: SqlWriter): Guard {
  const written = new Map<string, string | undefined>();
  return (names) => {
    const path = names.join('.');
    if (!written.has(path)) {
      const left = rulesOver(fieldRules, names, 'read').map((rule) => decidedFor(rule, who));
      const parts = left.filter((decided) => decided !== true).map((decided) => compileDecided(decided, sql));
      written.set(path, parts.length === 0 ? undefined : parts.join(' and '));
    }
    return written.get(path);
  };
}
