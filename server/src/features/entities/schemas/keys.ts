// Owns the keys of records: which ones a schema asks for, and the digests a record has under them. A key is what an index
// would be, kept in one table for all apps: no table is ever changed for a tenant.
import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Condition, DataRecord, Path, Rule } from '../rules/rule.ts';
import { findValue, isEqual } from '../rules/values.ts';
import type { EntitySchema } from './field.ts';

export interface RecordKey {
  /** With the revision it began in, `data.owner#7`: rows of a key that was given up are never taken for its successor's. */
  readonly name: string;
  readonly isUnique: boolean;
  /** One path, or the fields that are unique together. */
  readonly paths: readonly Path[];
}

export interface KeyRow {
  readonly key: string;
  readonly value: Buffer;
  readonly is_unique: boolean;
}

const maxLookups = 10;
const maxElements = 1_000;

/** The value of a record that has too many, or one that others find too: while there is any, its key drives no list. */
export const unindexedValue = Buffer.alloc(0);

/** The keys a schema asks for: its unique lists, and what its rules compare with the caller. */
export function deriveKeys(schema: EntitySchema, revision: number, before: readonly string[]): RecordKey[] {
  const wanted = new Map<string, Omit<RecordKey, 'name'>>();
  for (const list of schema.unique)
    wanted.set(`unique(${list.join()})`, { isUnique: true, paths: list.map((name) => ({ names: [name] })) });
  const compared = [schema.rules.read, schema.rules.delete].flatMap(findComparedPaths);
  for (const path of compared.slice(0, maxLookups)) wanted.set(formatPath(path), { isUnique: false, paths: [path] });
  const known = new Map(before.map((name) => [baseName(name), name]));
  return [...wanted].map(([base, key]) => ({ ...key, name: known.get(base) ?? `${base}#${revision}` }));
}

const baseName = (name: string): string => name.slice(0, name.lastIndexOf('#'));

export const formatPath = (path: Path): string => path.column ?? `data.${path.names.join('.')}`;

/** Where a rule asks for equality with something of the caller. Creators have an index of their own, ids are the key. */
function findComparedPaths(rule: Rule): Path[] {
  if (typeof rule === 'string') return [];
  return findPathsInCondition(rule).filter(({ column }) => column === undefined || column === 'created_by_id');
}

function findPathsInCondition(condition: Condition): Path[] {
  if (condition.kind === 'user') return [];
  if (condition.kind !== 'field') return condition.parts.flatMap(findPathsInCondition);
  const { test, path } = condition;
  if (test.op === 'eq') return test.operand.kind === 'value' ? [] : [path];
  return test.op === 'in' && test.operands.some((operand) => operand.kind !== 'value') ? [path] : [];
}

/** What a record has under these keys. A record without a value has no key. */
export const buildKeyRows = (keys: readonly RecordKey[], record: DataRecord): KeyRow[] =>
  keys.flatMap((key) => buildRowsOfKey(key, record));

const buildRowsOfKey = (key: RecordKey, record: DataRecord): KeyRow[] =>
  (key.isUnique ? digestUniqueValues(key, record) : digestLookupValues(key, record)).map((value) => ({
    key: key.name,
    value,
    is_unique: key.isUnique && value !== unindexedValue,
  }));

/** As in SQL: where one of the fields is missing, nothing is the same. A list is one from before the field was unique. */
function digestUniqueValues({ paths }: RecordKey, record: DataRecord): Buffer[] {
  const values = paths.map((path) => readValue(path, record));
  if (values.some((value) => value === undefined || value === null)) return [];
  return [values.some(Array.isArray) ? unindexedValue : digestValue(values)];
}

/** Equality also holds for an element of a list, so each has its row. */
function digestLookupValues({ paths: [path] }: RecordKey, record: DataRecord): Buffer[] {
  const value = path && readValue(path, record);
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return [digestValue(value)];
  if (value.length > maxElements) return [unindexedValue];
  const digests = [value, ...value].map((each) => digestValue(each).toString('latin1'));
  return [...new Set(digests)].map((digest) => Buffer.from(digest, 'latin1'));
}

const readValue = (path: Path, record: DataRecord): unknown =>
  path.column === undefined ? findValue(record.data, path.names) : record[path.column];

/** Equal for values that are equal as JSON. */
export const digestValue = (value: unknown): Buffer =>
  hash('sha256', canonicalize(value) ?? 'null', 'buffer').subarray(0, 16);

/** What goes and what comes when a record is made, changed or thrown away; a key whose values stay costs nothing. */
export function diffKeys(keys: readonly RecordKey[], before: DataRecord | null, after: DataRecord | null) {
  const changes: { removed: KeyRow[]; added: KeyRow[] } = { removed: [], added: [] };
  for (const key of keys) {
    if (before && after && key.paths.every((path) => isEqual(readValue(path, before), readValue(path, after))))
      continue;
    const [old, now] = [before ? buildRowsOfKey(key, before) : [], after ? buildRowsOfKey(key, after) : []];
    const [had, has] = [new Set(old.map(digestText)), new Set(now.map(digestText))];
    changes.removed.push(...old.filter((row) => !has.has(digestText(row))));
    changes.added.push(...now.filter((row) => !had.has(digestText(row))));
  }
  return changes;
}

const digestText = ({ value }: KeyRow): string => value.toString('latin1');
