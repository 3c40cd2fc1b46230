// Owns the shapes of the reads that callers send and receive (docs/api/analytics.md).
import { z } from 'zod';
import {
  answer,
  body,
  count,
  distinct,
  id,
  integer,
  list,
  oneOf,
  openObject,
  optional,
  pageQuery,
  query,
  queryTime,
  text,
  timestamp,
  unstoredText,
} from '../../../kit/http/shapes.ts';
import { parseField } from '../query/field.ts';
import { parseFilter } from '../query/filter.ts';

export const functions = ['count', 'count_unique', 'sum', 'avg', 'min', 'max', 'p50', 'p90', 'p95', 'p99'] as const;
export type MetricFunction = (typeof functions)[number];

const eventName = text(1, 128);

/** A field's name, parsed. */
const EventFieldName = z
  .string()
  .transform((name, context) => {
    const field = parseField(name);
    if (field !== undefined) return { name, field };
    context.addIssue({ code: 'custom', params: { type: 'unknown_field' }, message: 'is not a field of events' });
    return z.NEVER;
  })
  .meta({ json: { type: 'string' } });

/** The filter `q`, parsed. Its faults have their path in it. */
const FilterObject = openObject
  .transform((json, context) => {
    const parsed = parseFilter(json, []);
    if ('filter' in parsed) return parsed.filter;
    for (const { loc, msg, type } of parsed.faults)
      context.addIssue({ code: 'custom', params: { type }, message: msg, path: [...loc] });
    return z.NEVER;
  })
  .meta({ json: { type: 'object' } });

/** What every read by POST has in common. */
const selection = { start_time: optional(queryTime), end_time: optional(queryTime), q: optional(FilterObject) };

export const EventNamesQuery = query({ ...pageQuery });

export const EventName = answer('EventName', { event_name: z.string(), count, last_seen: timestamp });

export const EventsQuery = body({
  event_name: eventName,
  ...selection,
  limit: optional(integer(1, 1_000)),
  cursor: optional(unstoredText(0, 4_096)),
});
export type EventsQuery = z.output<typeof EventsQuery>;

const scalar = z
  .union([z.string(), z.number(), z.boolean(), z.null()])
  .meta({ json: { type: ['string', 'number', 'boolean', 'null'] } });

export const AnalyticsEvent = answer('AnalyticsEvent', {
  event_id: id,
  event_name: z.string(),
  timestamp,
  user_id: z.string().nullable(),
  session_id: z.string().nullable(),
  page_url: z.string().nullable(),
  properties: z.record(z.string(), scalar),
  metadata: answer('AnalyticsEventMetadata', {
    country: z.string().nullable(),
    device_type: z.string().nullable(),
    os: z.string().nullable(),
  }),
});

const metricName = text(1, 64);

const TimeMetric = body({
  name: metricName,
  function: oneOf(...functions),
  field: optional(EventFieldName),
})
  .superRefine((metric, context) => {
    if (metric.field === undefined && metric.function !== 'count')
      context.addIssue({
        code: 'custom',
        params: { type: 'missing' },
        message: 'is required, except for the function count',
        path: ['field'],
      });
  })
  .meta({ id: 'TimeMetric' });
export type TimeMetric = z.output<typeof TimeMetric>;

export const TimeAggregation = body({
  event_name: optional(eventName),
  metrics: distinct(list(TimeMetric, 1, 10), ({ name }) => name),
  ...selection,
  bucket_size_ms: optional(integer(1, Number.MAX_SAFE_INTEGER)),
  max_buckets: optional(integer(1, 1_000)),
});
export type TimeAggregation = z.output<typeof TimeAggregation>;

const metricValues = z.record(z.string(), z.number().nullable());
const counts = z.record(z.string(), count);

export const TimeAggregate = answer('EventsOverTime', {
  bucket_interval: z.string(),
  buckets: z.array(answer('EventBucket', { start: timestamp, metrics: metricValues })),
  total: metricValues,
  skipped: counts,
});
export type TimeAggregate = z.input<typeof TimeAggregate>;

const FieldMetric = body({
  name: metricName,
  field: EventFieldName,
  function: optional(oneOf('count', 'count_unique')),
  max_groups: optional(integer(1, 1_000)),
}).meta({ id: 'FieldMetric' });
export type FieldMetric = z.output<typeof FieldMetric>;

export const FieldAggregation = body({
  event_name: optional(eventName),
  metrics: distinct(list(FieldMetric, 1, 5), ({ name }) => name),
  ...selection,
});
export type FieldAggregation = z.output<typeof FieldAggregation>;

export const FieldAggregate = answer('EventGroups', {
  groups: z.array(answer('EventGroup', { metric: z.string(), value: scalar, count })),
  group_count: counts,
});
