// Owns the queries for records that match a rule and a filter. Rule, filter, sort and position are one statement, which
// reads entity_keys instead of all records where a key narrows the result.
import { CompiledQuery, sql } from 'kysely';
import { prepared, withTimeLimit } from '../../../../kit/db/database.ts';
import type { Db } from '../../../../tables.ts';
import { decideCondition, listEqualitiesOfDecision, listEqualitiesOfRule } from '../../rules/decide.ts';
import { formatPath } from '../../rules/properties.ts';
import { compileQuery } from '../../rules/query.ts';
import type { Condition, DataRecord, Rule } from '../../rules/rule.ts';
import { compileSort } from '../../rules/sort.ts';
import { compileRule } from '../../rules/sql.ts';
import { digestValue, unindexedValue } from '../../schemas/keys.ts';
import { type RecordColumns, readLimitMs, toDataRecord } from '../../schemas/store.ts';
import type { ListQuery } from '../list-query.ts';
import type { RecordAccess } from '../record.ts';
import type { EntityScope } from './records.ts';

export interface RecordPageRow {
  readonly record: DataRecord;
  readonly position: string[];
  /** The size of the data, as JSON, of this record and all before it. */
  readonly bytesSoFar: number;
}

/** One page, which ends with the first record that exceeds `maxBytes`. */
export async function listMatchingRecords(
  db: Db,
  access: RecordAccess,
  rule: Rule,
  { query, sort }: ListQuery,
  after: readonly unknown[] | undefined,
  { limit, maxBytes }: { limit: number; maxBytes: number },
): Promise<RecordPageRow[]> {
  const params = newParameters();
  const order = compileSort(sort, toQueryContext(access), params);
  const matching = await writeFromAndWhere(db, access, rule, query, params);
  const rest = after === undefined ? '' : ` and ${order.after(after)}`;
  const size = 'octet_length(data::text)';
  const rows = await queryWithTimeLimit<RecordColumns & { readonly position: string[]; readonly bytes: number }>(
    db,
    `select * from (
       select r.id, r.data, r.created_by, r.created_by_id, r.created_date, r.updated_date, r.is_sample,
         ${order.position} as position, sum(${size}) over w as bytes, row_number() over w as nth
       ${matching}${rest} window w as (order by ${order.by} rows unbounded preceding)
       order by ${order.by} limit ${params.bind(limit)}) page
     where bytes - ${size} <= ${params.bind(maxBytes)} order by nth`,
    params.values,
  );
  return rows.map((row) => ({ record: toDataRecord(row), position: row.position, bytesSoFar: row.bytes }));
}

export async function countMatchingRecords(
  db: Db,
  access: RecordAccess,
  rule: Rule,
  query: Condition,
): Promise<number> {
  const params = newParameters();
  const text = `select count(*) as count ${await writeFromAndWhere(db, access, rule, query, params)}`;
  return (await queryWithTimeLimit<{ count: number }>(db, text, params.values))[0]?.count ?? 0;
}

/** Ids of matching records, the oldest first. */
export async function listMatchingIds(db: Db, access: RecordAccess, rule: Rule, query: Condition, limit: number) {
  const params = newParameters();
  const text = `select r.id ${await writeFromAndWhere(db, access, rule, query, params)} order by r.created_date, r.id limit ${params.bind(limit)}`;
  return (await queryWithTimeLimit<{ id: string }>(db, text, params.values)).map((row) => row.id);
}

function newParameters() {
  const values: unknown[] = [];
  return { values, bind: (value: unknown) => `$${values.push(value)}` };
}
type ListParameters = ReturnType<typeof newParameters>;

const toQueryContext = ({ principal, entity }: RecordAccess) => ({ principal, fieldRules: entity.schema.fieldRules });

/** The `from` and `where` clauses: rule and filter joined by AND. A filter sees only fields that the caller may read. */
async function writeFromAndWhere(
  db: Db,
  access: RecordAccess,
  rule: Rule,
  query: Condition,
  params: ListParameters,
): Promise<string> {
  const { app, entity, principal } = access;
  const [appId, name] = [params.bind(app.id), params.bind(entity.name)];
  const key = await chooseKey(db, access, rule, query);
  const source =
    key === undefined
      ? `from entity_records r where r.app_id = ${appId}::uuid and r.entity_name = ${name} and r.deleted_date is null`
      : // entity_keys has the record's created_date and id, so its index has the default order. `offset 0` makes the
        // planner look up each record by itself: it would assume that key and rule are independent, expect almost no
        // rows, and scan all records.
        `from (select k.record_id as id, k.created_date, x.data, x.created_by, x.created_by_id, x.updated_date, x.is_sample
          from entity_keys k cross join lateral (
            select data, created_by, created_by_id, updated_date, is_sample from entity_records
            where app_id = ${appId}::uuid and id = k.record_id and deleted_date is null offset 0) x
          where k.app_id = ${appId}::uuid and k.entity_name = ${name} and k.key = ${params.bind(key.name)}
            and k.value = ${params.bind(key.value)}) r where true`;
  const allowed = compileRule(rule, principal, params);
  return `${source} and ${allowed} and ${compileQuery(query, toQueryContext(access), params)}`;
}

const selectUnindexedRow = prepared<object, [string, string, string, Buffer]>(
  'find unindexed entity key',
  'select from entity_keys where app_id = $1 and entity_name = $2 and key = $3 and value = $4 limit 1',
);

/**
 * Chooses a built key whose value is the same in all matching records, and returns the key with that value. With an
 * equality on `id` or `created_by` no key is needed: entity_records has indexes on them.
 */
async function chooseKey(db: Db, access: RecordAccess, rule: Rule, query: Condition) {
  const { app, entity, principal } = access;
  const equalities = [
    ...listEqualitiesOfRule(rule, principal),
    ...listEqualitiesOfDecision(decideCondition(query, undefined, true)),
  ];
  const equal = new Map(equalities.map(({ field, value }) => [field, value]));
  if (equal.has('id') || equal.has('created_by')) return undefined;
  const usable = entity.keys.filter(
    (key) => entity.ready.has(key.name) && key.paths.every((path) => equal.has(formatPath(path))),
  );
  const key = usable.find((each) => each.isUnique) ?? usable[0];
  if (key === undefined) return undefined;
  if ((await selectUnindexedRow(db, app.id, entity.name, key.name, unindexedValue)).length > 0) return undefined;
  const values = key.paths.map((path) => equal.get(formatPath(path)));
  return { name: key.name, value: digestValue(key.isUnique ? values : values[0]) };
}

/** The ids of records that have one of these values of a unique key. Returns at most one more than there are values. */
export async function listIdsByKey(
  db: Db,
  { app, entity }: EntityScope,
  key: string,
  values: Buffer[],
): Promise<string[]> {
  const rows = await db
    .selectFrom('entity_keys')
    .where('app_id', '=', app.id)
    .where('entity_name', '=', entity.name)
    .where('key', '=', key)
    .where(sql<boolean>`value = any(${values}::bytea[])`)
    .limit(values.length + 1)
    .select('record_id')
    .execute();
  return rows.map((row) => row.record_id);
}

/** The ids of records that equal one of the inputs in these fields. Returns at most one more than there are inputs. */
export async function listIdsByFields(
  db: Db,
  { app, entity }: EntityScope,
  names: readonly string[],
  inputs: readonly Readonly<Record<string, unknown>>[],
  except: readonly string[] = [],
): Promise<string[]> {
  const params = newParameters();
  const lists = names.map((name) => `${params.bind(inputs.map((record) => JSON.stringify(record[name])))}::text[]`);
  const same = names.map((name, index) => `r.data->${params.bind(name)}::text = w.v${index}::jsonb`);
  const text = `select r.id from entity_records r
    where r.app_id = ${params.bind(app.id)}::uuid and r.entity_name = ${params.bind(entity.name)} and r.deleted_date is null
      and r.id <> all(${params.bind(except)}::uuid[]) and exists (select from unnest(${lists.join(', ')}) as w(${names.map((_, index) => `v${index}`).join(', ')})
        where ${same.join(' and ')}) limit ${params.bind(inputs.length + 1)}`;
  return (await queryWithTimeLimit<{ id: string }>(db, text, params.values)).map((row) => row.id);
}

/** Queries over many records are cancelled after five seconds and answered with 503. */
const queryWithTimeLimit = <Row>(db: Db, text: string, values: unknown[]): Promise<Row[]> =>
  withTimeLimit(db, readLimitMs, async (db) => (await db.executeQuery<Row>(CompiledQuery.raw(text, values))).rows);
