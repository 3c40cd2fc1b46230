// Picks the parts of stored data that a schema declares. Values of removed fields stay stored but hidden
// (docs/api/entities.md#put-a-schema).
import { isObject } from '../rules/values.ts';
import type { Field, Fields } from './field.ts';

type FieldMap = Fields['fields'];

/** An object's declared fields, each with the declared parts of its value, in schema order. */
export function pickDeclaredFields(fields: FieldMap, data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  // A list may contain 75,000 objects that each have only a few of 200 declared fields.
  const isSparse = Object.keys(data).length * 4 < fields.size;
  for (const [name, field] of isSparse ? listPresentFields(fields, data) : fields) {
    const value = Object.hasOwn(data, name) ? pickDeclaredValue(field, data[name]) : undefined;
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

function listPresentFields(fields: FieldMap, data: Readonly<Record<string, unknown>>): (readonly [string, Field])[] {
  const placed = getPlacedFields(fields);
  return Object.keys(data)
    .flatMap((name) => placed.get(name) ?? [])
    .sort((a, b) => a.place - b.place)
    .map(({ entry }) => entry);
}

type PlacedField = { readonly place: number; readonly entry: readonly [name: string, field: Field] };
const placedFields = new WeakMap<FieldMap, ReadonlyMap<string, PlacedField>>();

function getPlacedFields(fields: FieldMap): ReadonlyMap<string, PlacedField> {
  const known = placedFields.get(fields);
  if (known !== undefined) return known;
  const placed = new Map([...fields].map((entry, place) => [entry[0], { place, entry }]));
  placedFields.set(fields, placed);
  return placed;
}

/**
 * A value whose type differs from the current schema stays readable, unless it is an object whose names are no longer
 * declared.
 */
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

/** The paths that the new schema no longer declares, such as `address.zip`. */
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
