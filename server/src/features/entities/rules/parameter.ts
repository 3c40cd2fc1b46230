// Owns filters that are single parameters of a request, `?state=open`: the text becomes a value of the field's type.
import { isStorableText, parseTime } from '../../../kit/text.ts';
import type { Loc } from './conditions.ts';
import { type Field, type Fields, findField } from './fields.ts';
import type { Parsed } from './grammar.ts';
import { placeNamed } from './query.ts';
import type { Column, Condition } from './rule.ts';

export function parseParameter(
  name: string,
  text: string,
  loc: Loc,
  fields: Fields,
): Parsed<{ readonly query: Condition }> {
  const fault = (type: string, msg: string) => ({ faults: [{ loc, msg, type }] });
  const place = placeNamed(name);
  const field = place && (place.column === undefined ? findField(fields, place.names) : columnFields[place.column]);
  if (place === undefined || field === undefined) return fault('unknown_field', 'the schema has no such field');
  if (!isStorableText(text)) return fault('value_error', 'a value that cannot be stored');
  const read = field === 'open' ? { value: text } : convert(text, field);
  if ('type' in read) return fault(read.type, read.msg);
  return { query: { kind: 'field', place, test: { op: 'eq', operand: { kind: 'value', value: read.value } } } };
}

const text = { type: 'string' };
const moment = { type: 'moment' };
const columnFields: Readonly<Record<Column, Field>> = {
  id: text,
  created_by: text,
  created_by_id: text,
  created_date: moment,
  updated_date: moment,
  is_sample: { type: 'boolean' },
};

type Converted = { readonly value: unknown } | { readonly type: string; readonly msg: string };

function convert(text: string, field: Field): Converted {
  const type = typeof field.type === 'object' ? field.type.find((each) => each !== 'null') : field.type;
  switch (type) {
    case 'number':
      return number(text, /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/, { type: 'float_parsing', msg: 'must be a number' });
    case 'integer':
      return number(text, /^-?\d{1,16}$/, { type: 'int_parsing', msg: 'must be an integer' });
    case 'boolean':
      if (text === 'true' || text === '1') return { value: true };
      if (text === 'false' || text === '0') return { value: false };
      return { type: 'bool_parsing', msg: 'must be true or false' };
    case 'moment':
      return convertMoment(text);
    case 'array':
      return field.items === undefined ? { value: text } : convert(text, field.items);
    case 'object':
      return { type: 'value_error', msg: 'an object cannot be asked for by a parameter' };
    default:
      return { value: text };
  }
}

function number(text: string, form: RegExp, otherwise: Converted): Converted {
  const value = Number(text);
  return form.test(text) && Number.isFinite(value) ? { value } : otherwise;
}

function convertMoment(text: string): Converted {
  const time = parseTime(text);
  return time === undefined
    ? { type: 'datetime_parsing', msg: 'must be a date and time' }
    : { value: time.toISOString() };
}
