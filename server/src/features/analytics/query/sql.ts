// Writes filters and fields as SQL, in which `e` stands for analytics_events. Property names and all values are
// bound as parameters, so no part of the text comes from a caller.
import type { ColumnName, EventField } from './field.ts';
import type { Check, Comparator, Filter, Scalar } from './filter.ts';

export interface SqlParameters {
  readonly values: unknown[];
  /** Adds the value and returns its placeholder, such as `$1`. */
  bind(value: unknown): string;
}

export function newParameters(): SqlParameters {
  const values: unknown[] = [];
  return { values, bind: (value) => `$${values.push(value)}` };
}

/** The condition is true for matching events, and false or null for others. */
export function writeFilter(filter: Filter, params: SqlParameters): string {
  switch (filter.kind) {
    case 'check':
      return writeCheck(filter.field, filter.check, params);
    case 'not':
      return `(${writeFilter(filter.part, params)}) is not true`;
    default:
      if (filter.parts.length === 0) return 'true';
      return filter.parts.map((part) => `(${writeFilter(part, params)})`).join(` ${filter.kind} `);
  }
}

const writeCheck = (field: EventField, check: Check, params: SqlParameters): string =>
  'column' in field ? writeColumnCheck(field.column, check, params) : writePropertyCheck(field.property, check, params);

const columns: Readonly<Record<ColumnName, { readonly name: string; readonly type: 'uuid' | 'text' | 'timestamptz' }>> =
  {
    event_id: { name: 'e.event_id', type: 'uuid' },
    user_id: { name: 'e.user_id', type: 'text' },
    session_id: { name: 'e.session_id', type: 'text' },
    page_url: { name: 'e.page_url', type: 'text' },
    timestamp: { name: 'e.at', type: 'timestamptz' },
    'metadata.country': { name: 'e.country', type: 'text' },
    'metadata.device_type': { name: 'e.device_type', type: 'text' },
    'metadata.os': { name: 'e.os', type: 'text' },
  };

const symbols: Readonly<Record<Comparator, string>> = { gt: '>', gte: '>=', lt: '<', lte: '<=' };

function writeColumnCheck(column: ColumnName, check: Check, params: SqlParameters): string {
  const { name, type } = columns[column];
  switch (check.op) {
    case 'in': {
      const values = check.values.filter((value) => value !== null && (type !== 'uuid' || isUuid(value)));
      const isNull = check.values.includes(null) ? `${name} is null or ` : '';
      return `${isNull}${name} = any(${params.bind(values)}::${type}[])`;
    }
    case 'contains':
      return writeContains(`${name}::text`, check.text, params);
    default:
      return type === 'timestamptz'
        ? `${name} ${symbols[check.op]} ${params.bind(check.value)}::timestamptz`
        : `${name}::text collate "C" ${symbols[check.op]} ${params.bind(check.value)}::text`;
  }
}

const uuidForm = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
const isUuid = (value: Scalar): boolean => typeof value === 'string' && uuidForm.test(value);

/** A null property counts as missing. Only values with the same type can be compared. */
function writePropertyCheck(key: string, check: Check, params: SqlParameters): string {
  const value = writeProperty(key, params);
  const isOfType = (type: 'string' | 'number') => `jsonb_typeof(${value}) = '${type}'`;
  const text = `(${value}#>>'{}')`;
  switch (check.op) {
    case 'in': {
      const values = check.values.filter((each) => each !== null).map((each) => JSON.stringify(each));
      const isNull = check.values.includes(null) ? `coalesce(${value}, 'null') = 'null' or ` : '';
      return `${isNull}${value} = any(${params.bind(values)}::jsonb[])`;
    }
    case 'contains':
      return `${isOfType('string')} and ${writeContains(text, check.text, params)}`;
    default:
      return typeof check.value === 'number'
        ? `${isOfType('number')} and ${value} ${symbols[check.op]} ${params.bind(JSON.stringify(check.value))}::jsonb`
        : `${isOfType('string')} and ${text} collate "C" ${symbols[check.op]} ${params.bind(check.value)}::text`;
  }
}

const writeProperty = (key: string, params: SqlParameters): string => `(e.properties->${params.bind(key)}::text)`;

// This collation folds case by Unicode rules, as JavaScript does, whatever the database's locale.
const writeLower = (text: string): string => `lower(${text} collate "und-x-icu")`;

const writeContains = (text: string, part: string, params: SqlParameters): string =>
  `strpos(${writeLower(text)}, ${writeLower(`${params.bind(part)}::text`)}) > 0`;

/** A field's value as stored, for counting or comparing. Null if the event has no value. */
export const writeValue = (field: EventField, params: SqlParameters): string =>
  'column' in field ? columns[field.column].name : `nullif(${writeProperty(field.property, params)}, 'null')`;

/** A field's value as JSON. */
export function writeJsonValue(field: EventField, params: SqlParameters): string {
  if ('property' in field) return writeValue(field, params);
  const { name, type } = columns[field.column];
  return type === 'timestamptz' ? `to_jsonb(${writeIsoTime(name)})` : `to_jsonb(${name})`;
}

const writeIsoTime = (time: string): string => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** A field's value as a number, or null if it is not a number. */
export function writeNumber(field: EventField, params: SqlParameters): string {
  if ('column' in field) return 'null::numeric';
  const value = writeProperty(field.property, params);
  return `case when jsonb_typeof(${value}) = 'number' then ${value}::numeric end`;
}
