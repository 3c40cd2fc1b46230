// The request and response schemas for analytics.
import { z } from 'zod';
import { answer, body, count, described, list, oneOf } from '../../kit/http/shapes.ts';
import { rejectReasons } from './event.ts';

const maxEvents = 500;

/** Accepts any value, because a faulty event is rejected on its own and does not make the request invalid. */
const Event = z.unknown().meta({
  json: {
    type: 'object',
    required: ['event_name'],
    properties: {
      event_name: {
        type: 'string',
        minLength: 1,
        maxLength: 128,
        description: 'The name of the event.',
        example: 'order_placed',
      },
      event_id: {
        type: 'string',
        format: 'uuid',
        description: 'A UUID that you choose, which identifies repeated events.',
      },
      timestamp: { type: 'string', format: 'date-time', description: 'When the event happened; now by default.' },
      user_id: {
        type: 'string',
        maxLength: 128,
        description: 'The user who caused the event; for servers only.',
        example: 'customer-17',
      },
      session_id: { type: 'string', maxLength: 128, description: "The id of the visitor's session." },
      page_url: {
        type: 'string',
        maxLength: 2048,
        description: 'The page of the event. Its query string is not stored.',
      },
      properties: {
        type: 'object',
        description: 'Up to 50 properties, each a string, number or boolean.',
        example: { total: 12.5 },
      },
    },
  },
});

export const TrackBody = body({
  events: described(list(Event, 1, maxEvents), 'The events to store.', [
    { event_name: 'order_placed', user_id: 'customer-17' },
  ]),
});

export const Tracked = answer('TrackedEvents', {
  accepted: described(count, 'How many events and heartbeats were accepted.', 2),
  duplicates: described(count, 'How many events had an `event_id` that was already received in the last 60 days.', 0),
  rejected: described(
    z.array(
      answer('RejectedEvent', {
        index: described(count, 'The position of the event in the request, starting at 0.', 3),
        reason: described(oneOf(...rejectReasons), 'Why the event was rejected.'),
      }),
    ),
    'The events that were rejected.',
    [],
  ),
});

export const UserStats = answer('UserStats', {
  active_users: described(count, 'Users whose most recent event was in the last 7 days.', 1204),
  live_users: described(count, 'Users with a heartbeat in the last 2 minutes.', 17),
  inactive_7d: described(count, 'Users whose most recent event was 7 to 30 days ago.', 310),
  inactive_30d: described(count, 'Users whose most recent event was 30 to 60 days ago.', 95),
});
