// Owns the statements over the records that a filter and a rule leave: rule, filter, order and path in one, driven by a
// key where one is known that every such record has.
import { CompiledQuery, sql } from 'kysely';
import type { Principal } from '../../../../core/auth/principal.ts';
import { prepared, withTimeLimit } from '../../../../kit/db/database.ts';
import type { Db } from '../../../../tables.ts';
import { listEqualities } from '../../rules/decide.ts';
import { compileQuery } from '../../rules/query.ts';
import type { Condition, DataRecord, Rule } from '../../rules/rule.ts';
import { compileSort } from '../../rules/sort.ts';
import { compileRule } from '../../rules/sql.ts';
import { digestValue, formatPath, unindexedValue } from '../../schemas/keys.ts';
import { readLimitMs, toDataRecord } from '../../schemas/store.ts';
import type { ListQuery } from '../list-query.ts';
import type { RecordAccess } from '../record.ts';
import type { EntityScope } from './records.ts';

export interface RecordPageRow {
  readonly record: DataRecord;
  readonly position: string[];
  /** Of the data of this and all before, as JSON. */
  readonly bytesSoFar: number;
}

/** A page of them, which ends with the first beyond so many bytes. */
export async function listMatchingRecords(
  db: Db,
  access: RecordAccess,
  rule: Rule,
  { query, sort }: ListQuery,
  after: readonly string[] | undefined,
  { limit, bytes: most }: { limit: number; bytes: number },
): Promise<RecordPageRow[]> {
  const writer = newParameters();
  const order = compileSort(sort, toQueryContext(access), writer);
  const matching = await writeFromAndWhere(db, access, rule, query, writer);
  const rest = after === undefined ? '' : ` and ${order.after(after)}`;
  const size = 'octet_length(data::text)';
  const rows = await queryWithTimeLimit<
    Parameters<typeof toDataRecord>[0] & Pick<RecordPageRow, 'position'> & { readonly bytes: number }
  >(
    db,
    `select * from (
       select r.id, r.data, r.created_by, r.created_by_id, r.created_date, r.updated_date, r.is_sample,
         ${order.position} as position, sum(${size}) over w as bytes, row_number() over w as nth
       ${matching}${rest} window w as (order by ${order.by} rows unbounded preceding)
       order by ${order.by} limit ${writer.bind(limit)}) page
     where bytes - ${size} <= ${writer.bind(most)} order by nth`,
    writer.values,
  );
  return rows.map((row) => ({ record: toDataRecord(row), position: row.position, bytesSoFar: row.bytes }));
}

export async function countMatchingRecords(
  db: Db,
  access: RecordAccess,
  rule: Rule,
  query: Condition,
): Promise<number> {
  const writer = newParameters();
  const text = `select count(*) as count ${await writeFromAndWhere(db, access, rule, query, writer)}`;
  return (await queryWithTimeLimit<{ count: number }>(db, text, writer.values))[0]?.count ?? 0;
}

/** Ids of matching records, the oldest first. */
export async function listMatchingIds(db: Db, access: RecordAccess, rule: Rule, query: Condition, limit: number) {
  const writer = newParameters();
  const text = `select r.id ${await writeFromAndWhere(db, access, rule, query, writer)} order by r.created_date, r.id limit ${writer.bind(limit)}`;
  return (await queryWithTimeLimit<{ id: string }>(db, text, writer.values)).map((row) => row.id);
}

function newParameters() {
  const values: unknown[] = [];
  return { values, bind: (value: unknown) => `$${values.push(value)}` };
}
type SqlValues = ReturnType<typeof newParameters>;

const toQueryContext = ({ principal, entity }: RecordAccess) => ({ principal, fieldRules: entity.schema.fieldRules });

/** A filter sees only what the caller may read; rule and filter are one condition. */
async function writeFromAndWhere(
  db: Db,
  access: RecordAccess,
  rule: Rule,
  query: Condition,
  writer: SqlValues,
): Promise<string> {
  const { app, entity, principal } = access;
  const [appId, name] = [writer.bind(app.id), writer.bind(entity.name)];
  const key = await chooseKey(db, access, rule, query);
  const source =
    key === undefined
      ? `from entity_records r where r.app_id = ${appId}::uuid and r.entity_name = ${name} and r.deleted_date is null`
      : // The key's times and ids are the record's, so its order is the order of making. Each record is looked up by itself
        // (`offset 0`): the planner would take key and rule for two things, expect next to nothing and read everything.
        `from (select k.record_id as id, k.created_date, x.data, x.created_by, x.created_by_id, x.updated_date, x.is_sample
          from entity_keys k cross join lateral (
            select data, created_by, created_by_id, updated_date, is_sample from entity_records
            where app_id = ${appId}::uuid and id = k.record_id and deleted_date is null offset 0) x
          where k.app_id = ${appId}::uuid and k.entity_name = ${name} and k.key = ${writer.bind(key.name)}
            and k.value = ${writer.bind(key.value)}) r where true`;
  const allowed = compileRule(rule, principal, writer);
  return `${source} and ${allowed} and ${compileQuery(query, toQueryContext(access), writer)}`;
}

const selectUnindexedRow = prepared<object, [string, string, string, Buffer]>(
  'entity_key_any_value',
  'select from entity_keys where app_id = $1 and entity_name = $2 and key = $3 and value = $4 limit 1',
);

// A query names no attributes of whoever asks it.
const anyPrincipal: Principal = { kind: 'signed_in', id: '', email: '', full_name: '', role: '', data: {} };

/** A key, and the value under it that every matching record has. Ids and creators have indexes of their own. */
async function chooseKey(db: Db, access: RecordAccess, rule: Rule, query: Condition) {
  const { app, entity, principal } = access;
  const all = [...listEqualities(rule, principal), ...listEqualities(query, anyPrincipal)];
  const equal = new Map(all.map(({ field: path, value }) => [path, value]));
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

/** Records that have one of these values under a unique key; one more than those, if there are so many. */
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

/** Records that have, in these fields, the values of one of those sent; one more than those, if there are so many. */
export async function listIdsByFields(
  db: Db,
  { app, entity }: EntityScope,
  names: readonly string[],
  sent: readonly Readonly<Record<string, unknown>>[],
  except: readonly string[] = [],
): Promise<string[]> {
  const writer = newParameters();
  const lists = names.map((name) => `${writer.bind(sent.map((record) => JSON.stringify(record[name])))}::text[]`);
  const same = names.map((name, index) => `r.data->${writer.bind(name)}::text = w.v${index}::jsonb`);
  const text = `select r.id from entity_records r
    where r.app_id = ${writer.bind(app.id)}::uuid and r.entity_name = ${writer.bind(entity.name)} and r.deleted_date is null
      and r.id <> all(${writer.bind(except)}::uuid[]) and exists (select from unnest(${lists.join(', ')}) as w(${names.map((_, index) => `v${index}`).join(', ')})
        where ${same.join(' and ')}) limit ${writer.bind(sent.length + 1)}`;
  return (await queryWithTimeLimit<{ id: string }>(db, text, writer.values)).map((row) => row.id);
}

/** What looks at many records is given up after five seconds: 503, nothing changed (docs/contract.md §5.4). */
const queryWithTimeLimit = <Row>(db: Db, text: string, values: unknown[]): Promise<Row[]> =>
  withTimeLimit(db, readLimitMs, async (db) => (await db.executeQuery<Row>(CompiledQuery.raw(text, values))).rows);
