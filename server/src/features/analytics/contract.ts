// Owns the shapes of what callers send to analytics and receive from it.
import { z } from 'zod';
import { answer, body, count, list, oneOf } from '../../kit/http/shapes.ts';
import { rejectReasons } from './event.ts';

const maxEvents = 500;

/** Any value: an event with faults is rejected alone, and does not make the request invalid. */
const Event = z.unknown().meta({
  json: {
    type: 'object',
    required: ['event_name'],
    properties: {
      event_name: {
        type: 'string',
        minLength: 1,
        maxLength: 128,
        description: 'What happened.',
        example: 'order_placed',
      },
      event_id: { type: 'string', format: 'uuid', description: 'Makes a repeated event a duplicate.' },
      timestamp: { type: 'string', format: 'date-time', description: 'When it happened; now by default.' },
      user_id: { type: 'string', maxLength: 128, description: 'Who did it; for servers only.', example: 'customer-17' },
      session_id: { type: 'string', maxLength: 128, description: "The visitor's session." },
      page_url: { type: 'string', maxLength: 2048, description: 'Where; without its query string.' },
      properties: { type: 'object', description: 'Up to 50 texts, numbers and booleans.', example: { total: 12.5 } },
    },
  },
});

export const TrackBody = body({ events: list(Event, 1, maxEvents) });

export const Tracked = answer('TrackedEvents', {
  accepted: count,
  duplicates: count,
  rejected: z.array(answer('RejectedEvent', { index: count, reason: oneOf(...rejectReasons) })),
});

export const UserStats = answer('UserStats', {
  active_users: count,
  live_users: count,
  inactive_7d: count,
  inactive_30d: count,
});
