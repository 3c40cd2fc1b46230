// The read queries. Each is a single statement over one app's events, with a time limit.
import { CompiledQuery } from 'kysely';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { withTimeLimit } from '../../../kit/db/database.ts';
import { isStatementTimeout } from '../../../kit/db/failures.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { EventField } from '../query/field.ts';
import { everyEvent, type Filter } from '../query/filter.ts';
import {
  newParameters,
  type SqlParameters,
  writeFilter,
  writeJsonValue,
  writeNumber,
  writeValue,
} from '../query/sql.ts';
import type { FieldMetric, MetricFunction, TimeMetric } from './contract.ts';
import type { Interval, TimeRange } from './intervals.ts';

const readLimitMs = 5_000;

/** The events that a read covers. */
export interface Selection {
  readonly event_name?: string | undefined;
  readonly q?: Filter | undefined;
  readonly range: TimeRange;
}

function writeFromAndWhere({ app }: AppAccess, { event_name, q, range }: Selection, params: SqlParameters): string {
  const conditions = [
    `e.app_id = ${params.bind(app.id)}::uuid`,
    `e.at >= ${params.bind(range.start)}::timestamptz`,
    `e.at < ${params.bind(range.end)}::timestamptz`,
    ...(event_name === undefined ? [] : [`e.event_name = ${params.bind(event_name)}::text`]),
    `(${writeFilter(q ?? everyEvent, params)})`,
  ];
  return `from analytics_events e where ${conditions.join(' and ')}`;
}

async function readWithTimeLimit<Row>(
  db: Db,
  text: string,
  values: readonly unknown[],
  tookTooLong = eventsTookTooLong,
): Promise<Row[]> {
  try {
    return await withTimeLimit(
      db,
      readLimitMs,
      async (db) => (await db.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows,
    );
  } catch (error) {
    if (isStatementTimeout(error)) throw tookTooLong();
    throw error;
  }
}

const eventsTookTooLong = () =>
  new Problem(
    'unavailable',
    'service_unavailable',
    'The query took longer than 5 seconds. Use a shorter time range, a single event name or fewer metrics.',
    { headers: { 'retry-after': '5' } },
  );

const namesTookTooLong = () =>
  new Problem(
    'unavailable',
    'service_unavailable',
    'Counting events by name took longer than 5 seconds. Try again later, or query a single event name.',
    { headers: { 'retry-after': '60' } },
  );

export interface EventNameRow {
  readonly event_name: string;
  readonly count: number;
  readonly last_seen: Date;
}

/** Lists the most frequent names first. Equally frequent names are sorted alphabetically. */
export function listEventNames(
  db: Db,
  { app }: AppAccess,
  oldest: Date,
  limit: number,
  after: { readonly count: number; readonly name: string } | undefined,
): Promise<EventNameRow[]> {
  return readWithTimeLimit(
    db,
    `select * from (
       select e.event_name, count(*) as count, max(e.at) as last_seen
       from analytics_events e where e.app_id = $1::uuid and e.at >= $2::timestamptz group by e.event_name) names
     where $3::bigint is null or count < $3 or (count = $3 and event_name collate "C" > $4::text)
     order by count desc, event_name collate "C" limit $5`,
    [app.id, oldest, after?.count ?? null, after?.name ?? '', limit],
    namesTookTooLong,
  );
}

export interface EventRow {
  readonly event_id: string;
  readonly event_name: string;
  readonly at: Date;
  readonly user_id: string | null;
  readonly session_id: string | null;
  readonly page_url: string | null;
  readonly properties: Record<string, string | number | boolean | null>;
  readonly country: string | null;
  readonly device_type: string | null;
  readonly os: string | null;
  /** The approximate combined size of this event and all events before it in the list. */
  readonly bytes_so_far: number;
}

/** Lists events, newest first. The list ends with the first event that exceeds `maxBytes`. */
export function listEvents(
  db: Db,
  access: AppAccess,
  selection: Selection,
  after: { readonly at: Date; readonly id: string } | undefined,
  { limit, maxBytes }: { limit: number; maxBytes: number },
): Promise<EventRow[]> {
  const params = newParameters();
  const matching = writeFromAndWhere(access, selection, params);
  const rest =
    after === undefined
      ? ''
      : `and (e.at, e.event_id) < (${params.bind(after.at)}::timestamptz, ${params.bind(after.id)}::uuid)`;
  return readWithTimeLimit(
    db,
    `select * from (
       select *, sum(bytes) over (order by at desc, event_id desc rows unbounded preceding)::bigint as bytes_so_far
       from (
         select e.event_id, e.event_name, e.at, e.user_id, e.session_id, e.page_url, e.properties, e.country,
           e.device_type, e.os, octet_length(e.properties::text) + coalesce(octet_length(e.page_url), 0) + 500 as bytes
         ${matching} ${rest} order by e.at desc, e.event_id desc limit ${params.bind(limit)}) page) sized
     where bytes_so_far - bytes <= ${params.bind(maxBytes)} order by at desc, event_id desc`,
    params.values,
  );
}

export interface TimeRow {
  /** Null in the total row. */
  readonly bucket: Date | null;
  /** The values, in the same order as the metrics. */
  readonly metrics: readonly (number | null)[];
  readonly skipped: readonly number[];
}

/** Returns the metrics for each bucket that has events, in order, followed by the metrics for all events together. */
export async function aggregateOverTime(
  db: Db,
  access: AppAccess,
  selection: Selection,
  metrics: readonly TimeMetric[],
  interval: Interval,
): Promise<TimeRow[]> {
  const params = newParameters();
  const size = `${params.bind(`${interval.sizeMs / 1000} seconds`)}::interval`;
  const origin = `${params.bind(new Date(interval.originMs))}::timestamptz`;
  const inner = metrics.flatMap(({ field }, at) => (field === undefined ? [] : writeInputs(field.field, at, params)));
  // `offset 0` keeps the planner from extracting a property once per function.
  const text = `select bucket, ${metrics.map((metric, at) => `${writeFunction(metric, at)} as m${at}, ${writeSkipped(metric, at)} as s${at}`).join(', ')}
    from (select ${[`date_bin(${size}, e.at, ${origin}) as bucket`, ...inner].join(', ')}
      ${writeFromAndWhere(access, selection, params)} offset 0) x
    group by grouping sets ((bucket), ()) order by grouping(bucket), bucket`;
  const rows = await readWithTimeLimit<Record<string, Date | number | null>>(db, text, params.values);
  return rows.map((row) => ({
    bucket: row.bucket as Date | null,
    metrics: metrics.map((_, at) => toFinite(row[`m${at}`])),
    skipped: metrics.map((_, at) => Number(row[`s${at}`])),
  }));
}

const writeInputs = (field: EventField, at: number, params: SqlParameters): string[] => [
  `${writeValue(field, params)} as v${at}`,
  `${writeNumber(field, params)} as n${at}`,
];

function writeFunction({ function: name, field }: TimeMetric, at: number): string {
  switch (name) {
    case 'count':
      return field === undefined ? 'count(*)' : `count(v${at})`;
    case 'count_unique':
      return `count(distinct v${at})`;
    case 'sum':
      return `coalesce(sum(n${at}), 0)`;
    case 'avg':
    case 'min':
    case 'max':
      return `${name}(n${at})`;
    default:
      return `percentile_cont(${Number(name.slice(1)) / 100}) within group (order by n${at}::float8)`;
  }
}

const usesNumbers = (name: MetricFunction): boolean => name !== 'count' && name !== 'count_unique';

const writeSkipped = ({ function: name }: TimeMetric, at: number): string =>
  usesNumbers(name) ? `count(v${at}) - count(n${at})` : '0';

/** The sum of finite numbers can be too large for a JSON number. */
const toFinite = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

export interface GroupRow {
  /** The metric's index. */
  readonly metric: number;
  readonly value: string | number | boolean | null;
  readonly count: number;
  /** The metric's total number of groups. */
  readonly group_count: number;
}

/** Returns each metric's groups, largest first. The combined size of their values is limited to about `maxBytes`. */
export function aggregateByField(
  db: Db,
  access: AppAccess,
  selection: Selection,
  metrics: readonly (FieldMetric & { readonly max_groups: number })[],
  maxBytes: number,
): Promise<GroupRow[]> {
  const params = newParameters();
  const matching = writeFromAndWhere(access, selection, params);
  const perMetric = params.bind(Math.floor(maxBytes / metrics.length));
  const parts = metrics.map(({ field, function: name, max_groups }, at) => {
    const counted = name === 'count_unique' ? 'count(distinct e.user_id)' : 'count(*)';
    return `(select ${at} as metric, value, count, group_count from (
        select value, count, count(*) over () as group_count,
          sum(coalesce(octet_length(value::text), 4)) over (order by count desc, value::text collate "C" rows unbounded preceding) as bytes
        from (select ${writeJsonValue(field.field, params)} as value, ${counted} as count ${matching} group by 1) g
        order by count desc, value::text collate "C" limit ${params.bind(max_groups)}) top
      where bytes <= ${perMetric})`;
  });
  return readWithTimeLimit(
    db,
    `select * from (${parts.join(' union all ')}) groups order by metric, count desc, value::text collate "C"`,
    params.values,
  );
}
