// Writes checks on automatic columns as SQL. Compares the plain column wherever an index could be used.
import type { Check } from '../decision/decide.ts';
import type { Column } from '../rule.ts';
import { comparisonSymbols, type SqlParameters, writeTextCheck } from './text.ts';

export function writeColumnCheck(column: Column, check: Check, params: SqlParameters): string {
  switch (check.op) {
    case 'eq':
      return writeIsOneOf(column, [check.value], params);
    case 'in':
      return writeIsOneOf(column, check.values, params);
    case 'all':
      return new Set(check.values).size === 1 ? writeIsOneOf(column, check.values, params) : 'false';
    case 'exists':
    case 'every':
      return 'true';
    case 'size':
    case 'some':
      return 'false';
    case 'contains':
    case 'startsWith':
      return column === 'is_sample' ? 'false' : writeTextCheck(columnTexts[column], check, params);
    default: {
      if (column === 'is_sample' || typeof check.value === 'number') return 'false';
      const { op, value } = check;
      const prefix = columnTypes[column] === 'timestamptz' ? parseDatePrefix(value) : undefined;
      if (prefix === undefined) return writeTextCheck(columnTexts[column], { op, value }, params);
      const symbol = prefix.isComplete ? comparisonSymbols[op] : op === 'gt' || op === 'gte' ? '>=' : '<';
      return `r.${column} ${symbol} ${params.bind(prefix.start)}::timestamptz`;
    }
  }
}

export const columnTypes = {
  id: 'uuid',
  created_by: 'text',
  created_by_id: 'text',
  created_date: 'timestamptz',
  updated_date: 'timestamptz',
  is_sample: 'boolean',
} as const;

export const isoText = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const columnTexts = {
  id: 'r.id::text',
  created_by: 'r.created_by',
  created_by_id: 'r.created_by_id',
  created_date: isoText('r.created_date'),
  updated_date: isoText('r.updated_date'),
};

// A column is never null, and only values in its own format can equal it.
function writeIsOneOf(column: Column, values: readonly unknown[], params: SqlParameters): string {
  const type = columnTypes[column];
  const possible = values.filter((value) => canEqual[type](value));
  if (possible.length === 0) return 'false';
  if (possible.length === 1) return `r.${column} = ${params.bind(possible[0])}::${type}`;
  return `r.${column} = any(${params.bind(possible)}::${type}[])`;
}

const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

const canEqual: Readonly<Record<(typeof columnTypes)[Column], (value: unknown) => boolean>> = {
  uuid: (value) => typeof value === 'string' && uuid.test(value),
  text: (value) => typeof value === 'string',
  timestamptz: (value) => typeof value === 'string' && parseDatePrefix(value)?.isComplete === true,
  boolean: (value) => typeof value === 'boolean',
};

const earliest = '0001-01-01T00:00:00.000Z';
const prefixLengths = [4, 7, 10, 13, 16, 19, 23, 24]; // for year, month, day, hour, minute, second, millisecond, Z

/**
 * The earliest time whose ISO text begins with the prefix. Rules compare dates as text. With this time, the column
 * itself can be compared instead, as in `created_date >= '2026-03-01T00:00:00.000Z'` for `created_date >= '2026-03'`.
 * Returns undefined if the text is not the prefix of a date, in which case the column must be compared as text.
 */
function parseDatePrefix(text: string): { start: string; isComplete: boolean } | undefined {
  if (!prefixLengths.includes(text.length) || !/^\d{4}/.test(text) || text < '0001') return undefined;
  const start = text + earliest.slice(text.length);
  const time = Date.parse(start);
  if (Number.isNaN(time) || new Date(time).toISOString() !== start) return undefined;
  return { start, isComplete: text.length === earliest.length };
}
