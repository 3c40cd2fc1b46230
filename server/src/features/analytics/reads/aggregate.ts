// Aggregates events: metrics over time, as JSON or as a chart, and the most frequent field values.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { Answer, type Notes, noNotes, withNotes } from '../../../kit/http/answer.ts';
import { hold } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import { type Chart, drawChart } from './chart.ts';
import type { FieldAggregation, TimeAggregate, TimeAggregation, TimeMetric } from './contract.ts';
import { chooseInterval, type Interval, type TimeRange } from './intervals.ts';
import { resolveRange } from './range.ts';
import { aggregateByField, aggregateOverTime, type TimeRow } from './store.ts';

const defaultDays = 30;
const defaultMaxBuckets = 100;

/** Responds with an image if the request accepts one. */
export async function aggregateTime(db: Db, access: AppAccess, sent: TimeAggregation, accept: unknown, now: Date) {
  const { event_name, q, metrics, bucket_size_ms, max_buckets = defaultMaxBuckets } = sent;
  const range = resolveRange(sent, defaultDays, now);
  const interval = chooseInterval(range, bucket_size_ms, max_buckets);
  const rows = await aggregateOverTime(db, access, { event_name, q, range }, metrics, interval);
  const aggregate = presentTime(rows, metrics, interval);
  const notes: Notes = aggregate.buckets.length > max_buckets ? { truncated: true } : noNotes;
  const shown = { ...aggregate, buckets: aggregate.buckets.slice(-max_buckets) };
  if (!String(accept ?? '').includes('image/svg+xml')) return withNotes(shown, notes);
  const image = hold(() => drawChart(describeChart(sent, range, interval, shown)));
  return new Answer(image as never, notes, 200, 'image/svg+xml'); // sent as it is, although the declared type is JSON
}

function presentTime(rows: readonly TimeRow[], metrics: readonly TimeMetric[], interval: Interval): TimeAggregate {
  const byName = <T>(values: readonly T[]): Record<string, T> =>
    Object.fromEntries(metrics.flatMap(({ name }, at) => (at in values ? [[name, values[at] as T]] : [])));
  const total = rows.at(-1);
  return {
    bucket_interval: interval.name,
    buckets: rows.flatMap(({ bucket, metrics: values }) =>
      bucket === null ? [] : [{ start: bucket.toISOString(), metrics: byName(values) }],
    ),
    total: byName(total?.metrics ?? []),
    skipped: byName(total?.skipped ?? []),
  };
}

const amounts: readonly string[] = ['count', 'count_unique', 'sum'];

function describeChart(
  { event_name, metrics }: TimeAggregation,
  range: TimeRange,
  interval: Interval,
  { buckets, total, skipped }: TimeAggregate,
): Chart {
  return {
    title: event_name ?? 'All events',
    range,
    interval,
    buckets,
    metrics: metrics.map(({ name, function: fn, field }) => {
      const meaning = field === undefined ? fn : `${fn} of ${field.name}`;
      const skippedCount = skipped[name] ?? 0;
      return {
        name,
        meaning: skippedCount === 0 ? meaning : `${meaning}, ${skippedCount} not numeric`,
        isAmount: amounts.includes(fn),
        total: total[name] ?? null,
      };
    }),
  };
}

const defaultMaxGroups = 50;
const maxGroupBytes = 1024 * 1024;

export async function aggregateFields(db: Db, access: AppAccess, sent: FieldAggregation, now: Date) {
  const { event_name, q } = sent;
  const range = resolveRange(sent, defaultDays, now);
  const metrics = sent.metrics.map((metric) => ({ ...metric, max_groups: metric.max_groups ?? defaultMaxGroups }));
  const rows = await aggregateByField(db, access, { event_name, q, range }, metrics, maxGroupBytes);
  const groups = rows.map(({ metric, value, count }) => ({ metric: metrics[metric]?.name ?? '', value, count }));
  const counts = metrics.map(({ name }, at) => [name, rows.find(({ metric }) => metric === at)?.group_count ?? 0]);
  const groupCount: Record<string, number> = Object.fromEntries(counts);
  const isCut = Object.values(groupCount).reduce((sum, count) => sum + count, 0) > groups.length;
  return withNotes({ groups, group_count: groupCount }, isCut ? { truncated: true } : noNotes);
}
