// Owns what of a stored value a schema declares: values of fields that it no longer has stay stored, and hidden
// (docs/contract.md §5.2).
import { isObject } from '../rules/values.ts';
import type { Field, Fields } from './field.ts';

type FieldMap = Fields['fields'];

/** The fields of an object that are declared, each with what is declared of it. */
export function pickDeclaredFields(fields: FieldMap, data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [name, field] of fields) {
    const value = Object.hasOwn(data, name) ? pickDeclaredValue(field, data[name]) : undefined;
    if (value !== undefined) shown[name] = value;
  }
  return shown;
}

/** A value that is of another type by now stays readable, but no object whose names are declared nowhere any more. */
function pickDeclaredValue(field: Field, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = field.types.includes('array') ? field.items : field;
    return items === undefined
      ? value
      : value.map((item) => pickDeclaredValue(items, item)).filter((item) => item !== undefined);
  }
  if (!isObject(value)) return value;
  if (field.properties !== undefined) return pickDeclaredFields(field.properties.fields, value);
  return field.types.includes('object') ? value : undefined;
}

/** The fields that a schema no longer declares, as paths: `address.zip`. */
export const listRemovedFields = (before: FieldMap, after: FieldMap, path: readonly string[] = []): string[] =>
  [...before].flatMap(([name, field]) => {
    const [now, at] = [after.get(name), [...path, name]];
    return now === undefined ? [at.join('.')] : [...new Set(listRemovedInside(field, now, at))];
  });

function listRemovedInside(before: Field, after: Field, path: readonly string[]): string[] {
  const isOpen = after.types.includes('object') && after.properties === undefined;
  const names = before.properties !== undefined && !isOpen;
  const items = after.types.includes('array') ? after.items : after;
  return [
    ...(names ? listRemovedFields(before.properties.fields, after.properties?.fields ?? new Map(), path) : []),
    ...(before.items !== undefined && items !== undefined ? listRemovedInside(before.items, items, path) : []),
  ];
}
