// The HTTP contract for reading events.
import { readCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { type Cursors, cursorRefusal } from '../../../kit/http/cursor.ts';
import { media } from '../../../kit/http/operation.ts';
import { items } from '../../../kit/http/shapes.ts';
import { aggregateFields, aggregateTime } from './aggregate.ts';
import {
  AnalyticsEvent,
  EventName,
  EventNamesQuery,
  EventsQuery,
  FieldAggregate,
  FieldAggregation,
  TimeAggregate,
  TimeAggregation,
} from './contract.ts';
import { listNames, queryEvents } from './events.ts';

export interface ReadDeps {
  readonly cursors: Cursors;
}

/** Most reads use POST, because filters don't belong in a URL. */
const reads = {
  credentials: readCredentials,
  access: appAs('viewer'),
  limit: perMinute(60, 'caller+app'),
  work: 'slow',
  effect: 'read',
} as const;

export const readRoutes = ({ cursors }: ReadDeps): Route[] => [
  route({
    ...reads,
    name: 'listEventNames',
    method: 'GET',
    path: '/api/apps/{app_id}/analytics/event-names',
    summary: 'List the names of the events of the last 60 days, the most frequent first',
    query: EventNamesQuery,
    answers: { 200: items(EventName) },
    refusals: [cursorRefusal],
    handle: ({ db, access, query, now }) => listNames(db, access, cursors, query, now),
  }),
  route({
    ...reads,
    name: 'queryEvents',
    method: 'POST',
    path: '/api/apps/{app_id}/analytics/events/query',
    summary: 'List events of one name that match a filter, newest first',
    description:
      'Send the same body with `cursor` for the next page. A page ends early if its events would exceed 1 MiB.',
    body: EventsQuery,
    audits: 'nothing',
    answers: { 200: items(AnalyticsEvent) },
    refusals: [cursorRefusal],
    handle: ({ db, access, body, now }) => queryEvents(db, access, cursors, body, now),
  }),
  route({
    ...reads,
    name: 'aggregateOverTime',
    headers: ['X-Truncated'],
    method: 'POST',
    path: '/api/apps/{app_id}/analytics/aggregate/time',
    summary: 'Count, add up or average events over time, as JSON or as a chart',
    description: 'With `Accept: image/svg+xml`, the response is a chart as an SVG image.',
    body: TimeAggregation,
    audits: 'nothing',
    answers: { 200: TimeAggregate },
    alsoAnswers: [media('image/svg+xml', 'A chart')],
    handle: ({ db, access, body, headers, now }) => aggregateTime(db, access, body, headers.accept, now),
  }),
  route({
    ...reads,
    name: 'aggregateByField',
    headers: ['X-Truncated'],
    method: 'POST',
    path: '/api/apps/{app_id}/analytics/aggregate/field',
    summary: 'Group events by the values of fields, the largest groups first',
    body: FieldAggregation,
    audits: 'nothing',
    answers: { 200: FieldAggregate },
    handle: ({ db, access, body, now }) => aggregateFields(db, access, body, now),
  }),
];
