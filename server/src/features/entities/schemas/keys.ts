// Owns the keys of records: which ones a schema asks for, and the digests a record has under them. A key is what an index
// would be, kept in one table for all apps: no table is ever changed for a tenant.
import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Condition, Place, Rule, Subject } from '../rules/rule.ts';
import { isSame, valueAt } from '../rules/values.ts';
import type { EntitySchema } from './field.ts';

export interface Key {
  /** With the revision it began in, `data.owner#7`: rows of a key that was given up are never taken for its successor's. */
  readonly name: string;
  readonly isUnique: boolean;
  /** One place, or the fields that are unique together. */
  readonly places: readonly Place[];
}

export interface KeyRow {
  readonly key: string;
  readonly value: Buffer;
  readonly is_unique: boolean;
}

const maxLookups = 10;
const maxElements = 1_000;

/** The value of a record that has too many, or one that others find too: while there is any, its key drives no list. */
export const anyValue = Buffer.alloc(0);

/** The keys a schema asks for: its unique lists, and what its rules compare with the caller. */
export function keysFor(schema: EntitySchema, revision: number, before: readonly string[]): Key[] {
  const asked = new Map<string, Omit<Key, 'name'>>();
  for (const list of schema.unique)
    asked.set(`unique(${list.join()})`, { isUnique: true, places: list.map((name) => ({ names: [name] })) });
  const compared = [schema.rules.read, schema.rules.delete].flatMap(comparedPlaces);
  for (const place of compared.slice(0, maxLookups)) asked.set(placeName(place), { isUnique: false, places: [place] });
  const known = new Map(before.map((name) => [baseOf(name), name]));
  return [...asked].map(([base, key]) => ({ ...key, name: known.get(base) ?? `${base}#${revision}` }));
}

const baseOf = (name: string): string => name.slice(0, name.lastIndexOf('#'));

export const placeName = (place: Place): string => place.column ?? `data.${place.names.join('.')}`;

/** Where a rule asks for equality with something of the caller. Creators have an index of their own, ids are the key. */
function comparedPlaces(rule: Rule): Place[] {
  if (typeof rule === 'string') return [];
  return inCondition(rule).filter(({ column }) => column === undefined || column === 'created_by_id');
}

function inCondition(condition: Condition): Place[] {
  if (condition.kind === 'user') return [];
  if (condition.kind !== 'field') return condition.parts.flatMap(inCondition);
  const { test, place } = condition;
  if (test.op === 'eq') return test.operand.kind === 'value' ? [] : [place];
  return test.op === 'in' && test.operands.some((operand) => operand.kind !== 'value') ? [place] : [];
}

/** What a record has under these keys. A record without a value has no key. */
export const keyRowsOf = (keys: readonly Key[], record: Subject): KeyRow[] =>
  keys.flatMap((key) => rowsUnder(key, record));

const rowsUnder = (key: Key, record: Subject): KeyRow[] =>
  (key.isUnique ? uniqueValue(key, record) : lookupValues(key, record)).map((value) => ({
    key: key.name,
    value,
    is_unique: key.isUnique && value !== anyValue,
  }));

/** As in SQL: where one of the fields is missing, nothing is the same. A list is one from before the field was unique. */
function uniqueValue({ places }: Key, record: Subject): Buffer[] {
  const values = places.map((place) => valueIn(place, record));
  if (values.some((value) => value === undefined || value === null)) return [];
  return [values.some(Array.isArray) ? anyValue : digestOf(values)];
}

/** Equality also holds for an element of a list, so each has its row. */
function lookupValues({ places: [place] }: Key, record: Subject): Buffer[] {
  const value = place && valueIn(place, record);
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return [digestOf(value)];
  if (value.length > maxElements) return [anyValue];
  const digests = [value, ...value].map((each) => digestOf(each).toString('latin1'));
  return [...new Set(digests)].map((digest) => Buffer.from(digest, 'latin1'));
}

const valueIn = (place: Place, record: Subject): unknown =>
  place.column === undefined ? valueAt(record.data, place.names) : record[place.column];

/** Equal for values that are equal as JSON. */
export const digestOf = (value: unknown): Buffer =>
  hash('sha256', canonicalize(value) ?? 'null', 'buffer').subarray(0, 16);

/** What goes and what comes when a record is made, changed or thrown away; a key whose values stay costs nothing. */
export function keyChanges(keys: readonly Key[], before: Subject | null, after: Subject | null) {
  const changes: { gone: KeyRow[]; added: KeyRow[] } = { gone: [], added: [] };
  for (const key of keys) {
    if (before && after && key.places.every((place) => isSame(valueIn(place, before), valueIn(place, after)))) continue;
    const [old, now] = [before ? rowsUnder(key, before) : [], after ? rowsUnder(key, after) : []];
    const [had, has] = [new Set(old.map(spelled)), new Set(now.map(spelled))];
    changes.gone.push(...old.filter((row) => !has.has(spelled(row))));
    changes.added.push(...now.filter((row) => !had.has(spelled(row))));
  }
  return changes;
}

const spelled = ({ value }: KeyRow): string => value.toString('latin1');
