// The request and response schemas for reads (docs/api/analytics.md).
import { z } from 'zod';
import {
  answer,
  body,
  count,
  described,
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

/** Parses a field name. */
const EventFieldName = z
  .string()
  .transform((name, context) => {
    const field = parseField(name);
    if (field !== undefined) return { name, field };
    context.addIssue({ code: 'custom', params: { type: 'unknown_field' }, message: 'is not an event field' });
    return z.NEVER;
  })
  .meta({ json: { type: 'string' } });

/** Parses the filter `q`. Each fault has its path within the filter. */
const FilterObject = openObject
  .transform((json, context) => {
    const parsed = parseFilter(json, []);
    if ('filter' in parsed) return parsed.filter;
    for (const { loc, msg, type } of parsed.faults)
      context.addIssue({ code: 'custom', params: { type }, message: msg, path: [...loc] });
    return z.NEVER;
  })
  .meta({ json: { type: 'object' } });

/** The parameters shared by all POST reads. */
const selection = {
  start_time: described(optional(queryTime), 'The start of the time range, inclusive.', '2026-11-08T00:00:00Z'),
  end_time: described(
    optional(queryTime),
    'The end of the time range, exclusive; now by default.',
    '2026-11-15T00:00:00Z',
  ),
  q: described(optional(FilterObject), 'A filter for events: docs/api/analytics.md#filters.', {
    'properties.total': { gte: 20 },
    'metadata.country': { in: ['DE', 'AT'] },
  }),
};

export const EventNamesQuery = query({ ...pageQuery });

export const EventName = answer('EventName', {
  event_name: described(z.string(), 'The name of the events.', 'order_placed'),
  count: described(count, 'How many events have this name.', 1204),
  last_seen: described(timestamp, 'The time of the latest event with this name.', '2026-11-15T09:30:00.000Z'),
});

const eventNameText = ['Only include events with this name.', 'order_placed'] as const;

export const EventsQuery = body({
  event_name: described(eventName, ...eventNameText),
  ...selection,
  limit: described(optional(integer(1, 1_000)), 'The maximum number of events per page; 100 by default.', 100),
  cursor: described(optional(unstoredText(0, 4_096)), 'The `next_cursor` of the previous page.', 'b0R4Zk1hUTJ5'),
});
export type EventsQuery = z.output<typeof EventsQuery>;

const scalar = z
  .union([z.string(), z.number(), z.boolean(), z.null()])
  .meta({ json: { type: ['string', 'number', 'boolean', 'null'] } });

export const AnalyticsEvent = answer('AnalyticsEvent', {
  event_id: described(id, 'The id of the event.', '0198c20b-77c2-7a31-8f4e-02d9b5c6a1f0'),
  event_name: described(z.string(), 'The name of the event.', 'order_placed'),
  timestamp: described(timestamp, 'When the event happened.', '2026-11-15T09:30:00.000Z'),
  user_id: described(z.string().nullable(), 'The user who caused the event; null if unknown.', 'u-17'),
  session_id: described(z.string().nullable(), 'The session of the event; null if unknown.', 's-4'),
  page_url: described(
    z.string().nullable(),
    'The page of the event; null if unknown.',
    'https://shop.example.com/cart',
  ),
  properties: described(z.record(z.string(), scalar), 'The properties that were sent with the event.', { total: 18.5 }),
  metadata: described(
    answer('AnalyticsEventMetadata', {
      country: described(z.string().nullable(), "The sender's country; null if unknown.", 'DE'),
      device_type: described(z.string().nullable(), "The sender's type of device; null if unknown.", 'mobile'),
      os: described(z.string().nullable(), "The sender's operating system; null if unknown.", 'iOS'),
    }),
    'Data about the sender, added by Plinth.',
  ),
});

const metricName = text(1, 64);

const TimeMetric = body({
  name: described(metricName, 'The name of the metric in the response.', 'revenue'),
  function: described(oneOf(...functions), 'The function to apply to the values.'),
  field: described(
    optional(EventFieldName),
    'The field whose values are used; optional for `count`.',
    'properties.total',
  ),
})
  .superRefine((metric, context) => {
    if (metric.field === undefined && metric.function !== 'count')
      context.addIssue({
        code: 'custom',
        params: { type: 'missing' },
        message: 'is required for every function except count',
        path: ['field'],
      });
  })
  .meta({ id: 'TimeMetric' });
export type TimeMetric = z.output<typeof TimeMetric>;

export const TimeAggregation = body({
  event_name: described(optional(eventName), ...eventNameText),
  metrics: described(
    distinct(list(TimeMetric, 1, 10), ({ name }) => name),
    'The metrics to compute.',
  ),
  ...selection,
  bucket_size_ms: described(
    optional(integer(1, Number.MAX_SAFE_INTEGER)),
    'The length of a bucket in milliseconds, rounded down to a supported interval.',
    86400000,
  ),
  max_buckets: described(optional(integer(1, 1_000)), 'The maximum number of buckets; 100 by default.', 100),
});
export type TimeAggregation = z.output<typeof TimeAggregation>;

const metricValues = z.record(z.string(), z.number().nullable());
const counts = z.record(z.string(), count);

export const TimeAggregate = answer('EventsOverTime', {
  bucket_interval: described(z.string(), 'The length of a bucket.', '1d'),
  buckets: described(
    z.array(
      answer('EventBucket', {
        start: described(timestamp, 'When the bucket begins.', '2026-11-15T00:00:00.000Z'),
        metrics: described(metricValues, 'The metrics of the bucket, by name. A metric without values is null.', {
          revenue: 412.5,
        }),
      }),
    ),
    'The buckets that have events, oldest first.',
  ),
  total: described(metricValues, 'The metrics of all events together.', { revenue: 412.5 }),
  skipped: described(counts, 'How many values of each metric were not numbers.', { revenue: 0 }),
});
export type TimeAggregate = z.input<typeof TimeAggregate>;

const FieldMetric = body({
  name: described(metricName, 'The name of the metric in the response.', 'countries'),
  field: described(EventFieldName, 'The field to group by.', 'metadata.country'),
  function: described(
    optional(oneOf('count', 'count_unique')),
    'Whether to count events (the default) or different users in each group.',
  ),
  max_groups: described(optional(integer(1, 1_000)), 'The maximum number of groups; 50 by default.', 50),
}).meta({ id: 'FieldMetric' });
export type FieldMetric = z.output<typeof FieldMetric>;

export const FieldAggregation = body({
  event_name: described(optional(eventName), ...eventNameText),
  metrics: described(
    distinct(list(FieldMetric, 1, 5), ({ name }) => name),
    'The metrics, each with a field to group by.',
  ),
  ...selection,
});
export type FieldAggregation = z.output<typeof FieldAggregation>;

export const FieldAggregate = answer('EventGroups', {
  groups: described(
    z.array(
      answer('EventGroup', {
        metric: described(z.string(), 'The name of the metric.', 'countries'),
        value: described(scalar, 'The value of the field; null for events without one.', 'DE'),
        count: described(count, 'How many events or users the group has.', 42),
      }),
    ),
    'The groups of each metric, the largest first.',
  ),
  group_count: described(counts, 'The total number of groups of each metric.', { countries: 2 }),
});
