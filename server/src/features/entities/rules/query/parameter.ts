// Filters in query parameters, such as `?state=open`. Converts the text to the field's type.
import { isStorableText, parseTime } from '../../../../kit/text.ts';
import type { Loc } from '../conditions.ts';
import type { Parsed } from '../grammar.ts';
import { findProperty, type SchemaProperties, type SchemaProperty } from '../properties.ts';
import type { Column, Condition } from '../rule.ts';
import { parsePath } from './query.ts';

export function parseParameter(
  name: string,
  text: string,
  loc: Loc,
  properties: SchemaProperties,
): Parsed<{ readonly query: Condition }> {
  const fault = (type: string, msg: string) => ({ faults: [{ loc, msg, type }] });
  const path = parsePath(name);
  const property =
    path && (path.column === undefined ? findProperty(properties, path.names) : columnProperties[path.column]);
  if (path === undefined || property === undefined) return fault('unknown_field', 'is not a field in the schema');
  if (!isStorableText(text)) return fault('value_error', 'must be valid Unicode text without NUL characters');
  const converted = property === 'open' ? { value: text } : convert(text, property);
  if ('type' in converted) return fault(converted.type, converted.msg);
  return { query: { kind: 'field', path, test: { op: 'eq', operand: { kind: 'value', value: converted.value } } } };
}

const textProperty = { type: 'string' };
const timestampProperty = { type: 'timestamp' };
const columnProperties: Readonly<Record<Column, SchemaProperty>> = {
  id: textProperty,
  created_by: textProperty,
  created_by_id: textProperty,
  created_date: timestampProperty,
  updated_date: timestampProperty,
  is_sample: { type: 'boolean' },
};

type ConvertedValue = { readonly value: unknown } | { readonly type: string; readonly msg: string };

function convert(text: string, property: SchemaProperty): ConvertedValue {
  const type = typeof property.type === 'object' ? property.type.find((each) => each !== 'null') : property.type;
  switch (type) {
    case 'number':
      return convertNumber(text, /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/, { type: 'float_parsing', msg: 'must be a number' });
    case 'integer':
      return convertNumber(text, /^-?\d{1,16}$/, { type: 'int_parsing', msg: 'must be an integer' });
    case 'boolean':
      if (text === 'true' || text === '1') return { value: true };
      if (text === 'false' || text === '0') return { value: false };
      return { type: 'bool_parsing', msg: 'must be true or false' };
    case 'timestamp':
      return convertTimestamp(text);
    case 'array':
      return property.items === undefined ? { value: text } : convert(text, property.items);
    case 'object':
      return { type: 'value_error', msg: "is an object and can't be filtered with a query parameter; use `q`" };
    default:
      return { value: text };
  }
}

function convertNumber(text: string, form: RegExp, otherwise: ConvertedValue): ConvertedValue {
  const value = Number(text);
  return form.test(text) && Number.isFinite(value) ? { value } : otherwise;
}

function convertTimestamp(text: string): ConvertedValue {
  const time = parseTime(text);
  return time === undefined
    ? { type: 'datetime_parsing', msg: 'must be a time such as 2026-11-15T09:30:00Z' }
    : { value: time.toISOString() };
}
