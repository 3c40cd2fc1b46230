// Record keys: the keys that a schema has, and a record's rows in entity_keys. A key serves as an index. All apps
// share this table, because tables and indexes are never created for a single tenant.
import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { formatPath } from '../rules/properties.ts';
import type { Condition, DataRecord, Path, Rule } from '../rules/rule.ts';
import { findValue, isEqual } from '../rules/values.ts';
import type { EntitySchema } from './field.ts';

export interface RecordKey {
  /**
   * Includes the app revision in which the key was added, as in `data.owner#7`. A key that is removed and added again
   * gets a new name, so stale rows are never mistaken for new ones.
   */
  readonly name: string;
  readonly isUnique: boolean;
  /** A single path for lookups, or the fields that must be unique together. */
  readonly paths: readonly Path[];
}

export interface KeyRow {
  readonly key: string;
  readonly value: Buffer;
  readonly is_unique: boolean;
}

const maxLookups = 10;
const maxElements = 1_000;

/**
 * Marks a record that is not indexed, because its value is an array of more than 1,000 elements, or an array in a field
 * that has become unique. Lists do not use a key that has one of these rows, because they would miss the record.
 */
export const unindexedValue = Buffer.alloc(0);

/**
 * A schema's keys: its `unique` lists, and the fields that its rules compare with the principal. A key that
 * already existed keeps its name, and a new key gets the revision. With `existingNames` = ['data.owner#3'] and
 * `revision` = 7:
 *
 *   unique: [["shop", "number"]]                         → unique(shop,number)#7, one row per record
 *   rls.read: {"data.owner": "{{user.email}}"}           → data.owner#3
 *   rls.delete: {"data.tags": {"$in": ["{{user.id}}"]}}  → data.tags#7, one row per element
 */
export function deriveKeys(schema: EntitySchema, revision: number, existingNames: readonly string[]): RecordKey[] {
  const wanted = new Map<string, Omit<RecordKey, 'name'>>();
  for (const list of schema.unique)
    wanted.set(`unique(${list.join()})`, { isUnique: true, paths: list.map((name) => ({ names: [name] })) });
  const compared = [schema.rules.read, schema.rules.delete].flatMap(findComparedPaths);
  for (const path of compared.slice(0, maxLookups)) wanted.set(formatPath(path), { isUnique: false, paths: [path] });
  const existing = new Map(existingNames.map((name) => [stripRevision(name), name]));
  return [...wanted].map(([base, key]) => ({ ...key, name: existing.get(base) ?? `${base}#${revision}` }));
}

const stripRevision = (name: string): string => name.slice(0, name.lastIndexOf('#'));

/** The fields that a rule compares with an attribute. `created_by` and `id` have their own indexes. */
function findComparedPaths(rule: Rule): Path[] {
  if (typeof rule === 'string') return [];
  return findPathsInCondition(rule).filter(({ column }) => column === undefined || column === 'created_by_id');
}

function findPathsInCondition(condition: Condition): Path[] {
  if (condition.kind === 'user') return [];
  if (condition.kind !== 'field') return condition.parts.flatMap(findPathsInCondition);
  const { test, path } = condition;
  if (test.op === 'eq') return test.operand.kind === 'value' ? [] : [path];
  return test.op === 'in' && test.operands.others.some((operand) => operand.kind !== 'value') ? [path] : [];
}

/** A record's key rows. A key whose field is missing has no row. */
export const buildKeyRows = (keys: readonly RecordKey[], record: DataRecord): KeyRow[] =>
  keys.flatMap((key) => buildRowsOfKey(key, record));

const buildRowsOfKey = (key: RecordKey, record: DataRecord): KeyRow[] =>
  (key.isUnique ? digestUniqueValues(key, record) : digestLookupValues(key, record)).map((value) => ({
    key: key.name,
    value,
    is_unique: key.isUnique && value !== unindexedValue,
  }));

/**
 * As in SQL, a record that lacks one of the fields has no duplicates. Arrays were stored before the field became
 * unique.
 */
function digestUniqueValues({ paths }: RecordKey, record: DataRecord): Buffer[] {
  const values = paths.map((path) => readValue(path, record));
  if (values.some((value) => value === undefined || value === null)) return [];
  return [values.some(Array.isArray) ? unindexedValue : digestValue(values)];
}

/** An array element can also meet a rule, so each element has its own row. */
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

/** Equal JSON values have equal digests. */
export const digestValue = (value: unknown): Buffer =>
  hash('sha256', canonicalize(value) ?? 'null', 'buffer').subarray(0, 16);

/** The key rows to remove and add when a record is created, updated or deleted. */
export function diffKeys(keys: readonly RecordKey[], before: DataRecord | null, after: DataRecord | null) {
  const changes: { removed: KeyRow[]; added: KeyRow[] } = { removed: [], added: [] };
  for (const key of keys) {
    if (before && after && key.paths.every((path) => isEqual(readValue(path, before), readValue(path, after))))
      continue;
    const old = before ? buildRowsOfKey(key, before) : [];
    const now = after ? buildRowsOfKey(key, after) : [];
    const [had, has] = [new Set(old.map(digestText)), new Set(now.map(digestText))];
    changes.removed.push(...old.filter((row) => !has.has(digestText(row))));
    changes.added.push(...now.filter((row) => !had.has(digestText(row))));
  }
  return changes;
}

const digestText = ({ value }: KeyRow): string => value.toString('latin1');
