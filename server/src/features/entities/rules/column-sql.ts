// Owns tests of a record's automatic columns as SQL: plain comparisons of the column wherever an index could serve them.
import type { Check } from './decide.ts';
import type { Column } from './rule.ts';
import { type SqlWriter, symbols, textCheck } from './text-sql.ts';

export function columnCheck(column: Column, check: Check, sql: SqlWriter): string {
  switch (check.op) {
    case 'eq':
      return isOneOf(column, [check.value], sql);
    case 'in':
      return isOneOf(column, check.values, sql);
    case 'all':
      return new Set(check.values).size === 1 ? isOneOf(column, check.values, sql) : 'false';
    case 'exists':
    case 'every':
      return 'true';
    case 'size':
    case 'some':
      return 'false';
    case 'contains':
    case 'startsWith':
      return column === 'is_sample' ? 'false' : textCheck(texts[column], check, sql);
    default: {
      if (column === 'is_sample' || typeof check.value === 'number') return 'false';
      const { op, value } = check;
      const moment = columnKinds[column] === 'timestamptz' ? momentOf(value) : undefined;
      if (moment === undefined) return textCheck(texts[column], { op, value }, sql);
      const symbol = moment.isWhole ? symbols[op] : op === 'gt' || op === 'gte' ? '>=' : '<';
      return `r.${column} ${symbol} ${sql.bind(moment.at)}::timestamptz`;
    }
  }
}

export const columnKinds = {
  id: 'uuid',
  created_by: 'text',
  created_by_id: 'text',
  created_date: 'timestamptz',
  updated_date: 'timestamptz',
  is_sample: 'boolean',
} as const;

const iso = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const texts = {
  id: 'r.id::text',
  created_by: 'r.created_by',
  created_by_id: 'r.created_by_id',
  created_date: iso('r.created_date'),
  updated_date: iso('r.updated_date'),
};

// A column is never null, and only texts of its own form can be equal to it.
function isOneOf(column: Column, values: readonly unknown[], sql: SqlWriter): string {
  const kind = columnKinds[column];
  const possible = values.filter((value) => couldBe[kind](value));
  if (possible.length === 0) return 'false';
  if (possible.length === 1) return `r.${column} = ${sql.bind(possible[0])}::${kind}`;
  return `r.${column} = any(${sql.bind(possible)}::${kind}[])`;
}

const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

const couldBe: Readonly<Record<(typeof columnKinds)[Column], (value: unknown) => boolean>> = {
  uuid: (value) => typeof value === 'string' && uuid.test(value),
  text: (value) => typeof value === 'string',
  timestamptz: (value) => typeof value === 'string' && momentOf(value)?.isWhole === true,
  boolean: (value) => typeof value === 'boolean',
};

const first = '0001-01-01T00:00:00.000Z';
const wholeParts = [4, 7, 10, 13, 16, 19, 23, 24];

/**
 * The first moment whose ISO text is not before the given beginning of one ('2026-03'), so that comparing moments is
 * comparing texts. Undefined: it is not the beginning of one; only the texts can be compared.
 */
function momentOf(text: string): { at: string; isWhole: boolean } | undefined {
  if (!wholeParts.includes(text.length) || !/^\d{4}/.test(text) || text < '0001') return undefined;
  const at = text + first.slice(text.length);
  const time = Date.parse(at);
  if (Number.isNaN(time) || new Date(time).toISOString() !== at) return undefined;
  return { at, isWhole: text.length === first.length };
}
