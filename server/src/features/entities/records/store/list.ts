// The queries for records that the rules allow and that match a filter or key. Rules, filter, sort order and
// position are combined into a single statement. If a key narrows the result, the statement reads entity_keys instead
// of all records.
import { CompiledQuery } from 'kysely';
import pg from 'pg';
import { prepared, readWithTimeLimit } from '../../../../kit/db/database.ts';
import { isStatementTimeout } from '../../../../kit/db/failures.ts';
import type { Db } from '../../../../tables.ts';
import type { RuleOperation } from '../../rules/decision/checks.ts';
import { type Decision, decideCondition, listEqualities } from '../../rules/decision/decide.ts';
import { formatPath } from '../../rules/properties.ts';
import { compileQuery, compileVisibility } from '../../rules/query/query.ts';
import { compileSort } from '../../rules/query/sort.ts';
import type { Condition, DataRecord } from '../../rules/rule.ts';
import { isoText } from '../../rules/sql/columns.ts';
import { compileDecision } from '../../rules/sql/sql.ts';
import { digestValue, unindexedValue } from '../../schemas/keys.ts';
import { readLimitMs } from '../../schemas/store.ts';
import type { ListQuery } from '../list-query.ts';
import type { RecordAccess } from '../record.ts';
import type { EntityScope } from './records.ts';

export interface RecordPageRow extends DataRecord {
  /** The position as text. Only the position of a page's last row is ever parsed. */
  readonly position: string;
  /** The combined JSON size of the data in this record and all previous ones. */
  readonly bytes_so_far: number;
}

const textArrayType: number = 1009; // from pg_type
export const parsePosition: (position: string) => string[] = pg.types.getTypeParser(textArrayType);

/**
 * Returns one page, which ends with the record that brings the total size above `maxBytes`. The database formats the
 * times, because that is cheapest.
 */
export async function listMatchingRecords(
  db: Db,
  access: RecordAccess,
  { query, sort }: ListQuery,
  after: readonly unknown[] | undefined,
  { limit, maxBytes }: { limit: number; maxBytes: number },
): Promise<RecordPageRow[]> {
  const params = newParameters();
  const order = compileSort(sort, toQueryContext(access), params);
  const matching = await writeFromAndWhere(db, access, ['read'], query, params);
  const rest = after === undefined ? '' : ` and ${order.after(after)}`;
  return queryWithTimeLimit<RecordPageRow>(
    db,
    `select id, data, created_by, created_by_id, created_date, updated_date, is_sample, position, bytes_so_far from (
       select r.id, r.data, r.created_by, r.created_by_id, r.is_sample, r.size_bytes,
         ${isoText('r.created_date')} as created_date, ${isoText('r.updated_date')} as updated_date,
         ${order.position}::text as position, sum(r.size_bytes) over w as bytes_so_far, row_number() over w as nth
       ${matching}${rest} window w as (order by ${order.by} rows unbounded preceding)
       order by ${order.by} limit ${params.bind(limit)}) page
     where bytes_so_far - size_bytes <= ${params.bind(maxBytes)} order by nth`,
    params.values,
  );
}

export async function countMatchingRecords(db: Db, access: RecordAccess, query: Condition): Promise<number> {
  const params = newParameters();
  const text = `select count(*) as count ${await writeFromAndWhere(db, access, ['read'], query, params)}`;
  return (await queryWithTimeLimit<{ count: number }>(db, text, params.values))[0]?.count ?? 0;
}

const countLimitMs = 1_000;

/** Counts matching records up to `max`. Returns undefined if that takes longer than a second. */
export async function countMatchingRecordsUpTo(
  db: Db,
  access: RecordAccess,
  query: Condition,
  max: number,
): Promise<number | undefined> {
  const params = newParameters();
  const matching = await writeFromAndWhere(db, access, ['read'], query, params);
  const text = `select count(*) as count from (select ${matching} limit ${params.bind(max)}) matching`;
  try {
    return (await queryWithTimeLimit<{ count: number }>(db, text, params.values, countLimitMs))[0]?.count ?? 0;
  } catch (error) {
    if (isStatementTimeout(error)) return undefined;
    throw error;
  }
}

/** The ids and sizes of matching records that the caller may read and delete, oldest first. */
export async function listDeletable(db: Db, access: RecordAccess, query: Condition, limit: number) {
  const params = newParameters();
  const matching = await writeFromAndWhere(db, access, ['read', 'delete'], query, params);
  const text = `select r.id, r.size_bytes ${matching} order by r.created_date, r.id limit ${params.bind(limit)}`;
  return queryWithTimeLimit<{ id: string; size_bytes: number }>(db, text, params.values);
}

/** Whether one of these operations' rules allows the record. The database decides, so the process spends no steps. */
export async function isAllowedInDatabase(
  db: Db,
  { app, entity, checks }: RecordAccess,
  operations: readonly RuleOperation[],
  id: string,
): Promise<boolean> {
  const params = newParameters();
  const allowed = operations.map((operation) =>
    compileDecision(checks.decide(entity.schema.rules[operation], operation), params),
  );
  const text = `select from entity_records r where r.app_id = ${params.bind(app.id)}::uuid and r.id = ${params.bind(id)}::uuid
    and r.entity_name = ${params.bind(entity.name)} and r.deleted_date is null and (${allowed.join(' or ')})`;
  return (await queryWithTimeLimit(db, text, params.values)).length > 0;
}

function newParameters() {
  const values: unknown[] = [];
  return { values, bind: (value: unknown) => `$${values.push(value)}` };
}
type ListParameters = ReturnType<typeof newParameters>;

const toQueryContext = ({ checks, entity }: RecordAccess) => ({ checks, fieldRules: entity.schema.fieldRules });

/**
 * Builds the `from` and `where` clauses, which combine these operations' rules and the filter with AND. Filters see
 * only fields that the caller may read.
 */
async function writeFromAndWhere(
  db: Db,
  access: RecordAccess,
  operations: readonly RuleOperation[],
  query: Condition,
  params: ListParameters,
): Promise<string> {
  const { checks, entity } = access;
  const rules = operations.map((operation) => checks.decide(entity.schema.rules[operation], operation));
  const key = await chooseKey(db, access, rules, query);
  const source = writeSource(access, params, key && { name: key.name, value: `= ${params.bind(key.value)}` });
  const allowed = rules.map((rule) => compileDecision(rule, params));
  return [source, ...allowed, compileQuery(query, toQueryContext(access), params)].join(' and ');
}

/** Selects all of the entity's records, or only the records whose key has the given value. */
function writeSource(
  { app, entity }: EntityScope,
  params: ListParameters,
  key: { name: string; value: string } | undefined,
): string {
  const [appId, name] = [params.bind(app.id), params.bind(entity.name)];
  if (key === undefined)
    return `from entity_records r where r.app_id = ${appId}::uuid and r.entity_name = ${name} and r.deleted_date is null`;
  // entity_keys contains the record's created_date and id, so its index provides the default order. `offset 0` makes
  // the planner look up each record separately. Otherwise it would assume that key and rule are independent, expect
  // almost no rows, and scan all records.
  return `from (select k.record_id as id, k.created_date, x.data, x.created_by, x.created_by_id, x.updated_date, x.is_sample,
      x.size_bytes
    from entity_keys k cross join lateral (
      select data, created_by, created_by_id, updated_date, is_sample, size_bytes from entity_records
      where app_id = ${appId}::uuid and id = k.record_id and deleted_date is null offset 0) x
    where k.app_id = ${appId}::uuid and k.entity_name = ${name} and k.key = ${params.bind(key.name)}
      and k.value ${key.value}) r where true`;
}

const selectUnindexedRow = prepared<object, [string, string, string, Buffer]>(
  'find unindexed entity key',
  'select from entity_keys where app_id = $1 and entity_name = $2 and key = $3 and value = $4 limit 1',
);

/**
 * Chooses a built key that has the same value in all matching records, and returns the key with that value. No key is
 * needed for `id` and `created_by`, because entity_records has indexes on these columns.
 */
async function chooseKey(db: Db, { app, entity }: RecordAccess, rules: readonly Decision[], query: Condition) {
  const equalities = [...rules, decideCondition(query, undefined, true)].flatMap(listEqualities);
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

type Inputs = readonly Readonly<Record<string, unknown>>[];

/**
 * Lists the ids of records that match one of the inputs in these fields, if the caller may read the record and the
 * fields. Returns at most one more id than there are inputs. `builtKey` is a built unique key on the fields, with its
 * value for each input.
 */
export async function listReadableIdsByFields(
  db: Db,
  access: RecordAccess,
  names: readonly string[],
  inputs: Inputs,
  builtKey: { name: string; values: Buffer[] } | undefined,
): Promise<string[]> {
  const { checks, entity } = access;
  const params = newParameters();
  const key = builtKey && { name: builtKey.name, value: `= any(${params.bind(builtKey.values)}::bytea[])` };
  const isVisible = compileVisibility(toQueryContext(access), params);
  const conditions = [
    writeSource(access, params, key),
    compileDecision(checks.decide(entity.schema.rules.read, 'read'), params),
    ...names.flatMap((name) => isVisible([name]) ?? []),
    ...(builtKey === undefined ? [writeEqualFields(names, inputs, params)] : []),
  ];
  const text = `select r.id ${conditions.join(' and ')} limit ${params.bind(inputs.length + 1)}`;
  return (await queryWithTimeLimit<{ id: string }>(db, text, params.values)).map((row) => row.id);
}

/**
 * Whether any record outside `exceptIds` matches one of the inputs in these fields, even if the caller may not read it.
 */
export async function hasRecordsWithFields(
  db: Db,
  access: EntityScope,
  names: readonly string[],
  inputs: Inputs,
  exceptIds: readonly string[],
): Promise<boolean> {
  const params = newParameters();
  const others = `r.id <> all(${params.bind(exceptIds)}::uuid[])`;
  const text = `select ${writeSource(access, params, undefined)} and ${others} and ${writeEqualFields(names, inputs, params)} limit 1`;
  return (await queryWithTimeLimit(db, text, params.values)).length > 0;
}

function writeEqualFields(names: readonly string[], inputs: Inputs, params: ListParameters): string {
  const lists = names.map((name) => `${params.bind(inputs.map((record) => JSON.stringify(record[name])))}::text[]`);
  const equal = names.map((name, index) => `r.data->${params.bind(name)}::text = w.v${index}::jsonb`);
  const columns = names.map((_, index) => `v${index}`);
  return `exists (select from unnest(${lists.join(', ')}) as w(${columns.join(', ')}) where ${equal.join(' and ')})`;
}

/** Queries over many records are cancelled after five seconds and fail with 503. */
const queryWithTimeLimit = <Row>(db: Db, text: string, values: unknown[], limitMs = readLimitMs): Promise<Row[]> =>
  readWithTimeLimit(db, limitMs, CompiledQuery.raw(text, values) as CompiledQuery<Row>);
