// Checks a single event from a caller. Returns the data to store, or why the event is rejected. Other events in
// the request are not affected (docs/api/analytics.md#send-events).
import { isUuid } from '../../kit/ids.ts';
import { isStorableText, parseTime } from '../../kit/text.ts';
import type { Device } from './user-agent.ts';

export const rejectReasons = [
  'bad_event',
  'bad_event_name',
  'bad_event_id',
  'bad_property',
  'bad_timestamp',
  'in_future',
  'too_old',
  'bad_page_url',
  'bad_session_id',
  'bad_user_id',
  'user_mismatch',
] as const;
export type RejectReason = (typeof rejectReasons)[number];

/** Reports that a user is present. Heartbeats are not stored as events. */
export const heartbeatName = '__user_heartbeat_event__';
export const maxAgeMs = 60 * 24 * 60 * 60 * 1000;
const maxAheadMs = 5 * 60 * 1000;

export interface SentEvent {
  /** Null if the caller sent no id. */
  readonly event_id: string | null;
  readonly event_name: string;
  readonly at: Date;
  /** Null if the event is not attributed to a user. */
  readonly user_id: string | null;
  readonly session_id: string | null;
  readonly page_url: string | null;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** The sender of the events, and what is known about their device. */
export interface Sender extends Device {
  readonly country: string | null;
  /**
   * Who the events are attributed to: this app user, nobody if the caller is anonymous, or the users that the caller
   * names. Only servers that use a person's credential can name users.
   */
  readonly attribution: { readonly app_user_id: string } | 'nobody' | 'as_sent';
}

const fieldNames = new Set([
  'event_name',
  'event_id',
  'properties',
  'timestamp',
  'page_url',
  'session_id',
  'user_id',
] as const satisfies (keyof SentEvent | 'timestamp')[] as string[]);

/** Returns the event, or why it is rejected. */
export function checkEvent(sent: unknown, { attribution }: Sender, now: Date): SentEvent | RejectReason {
  if (!isObject(sent)) return 'bad_event';
  const { event_name, event_id, timestamp, page_url, session_id } = sent;
  if (!isText(event_name, 1, 128)) return 'bad_event_name';
  if (event_id != null && !isEventId(event_id)) return 'bad_event_id';
  const properties = sent.properties ?? {};
  if (!areProperties(properties)) return 'bad_property';
  const at = timestamp == null ? now : typeof timestamp === 'string' ? parseTime(timestamp) : undefined;
  if (at === undefined) return 'bad_timestamp';
  const ageMs = now.getTime() - at.getTime();
  if (ageMs < -maxAheadMs) return 'in_future';
  if (ageMs > maxAgeMs) return 'too_old';
  if (page_url != null && !isText(page_url, 0, 2_048)) return 'bad_page_url';
  if (session_id != null && !isText(session_id, 0, 128)) return 'bad_session_id';
  const user = attribute(sent.user_id, attribution);
  if ('reason' in user) return user.reason;
  return {
    event_id: event_id?.toLowerCase() ?? null,
    event_name,
    at,
    user_id: user.user_id,
    session_id: session_id ?? null,
    page_url: page_url == null ? null : withoutQuery(page_url),
    properties,
  };
}

/** Lists an event's fields that have no effect. */
export function listIgnored(sent: unknown, { attribution }: Sender): string[] {
  if (!isObject(sent)) return [];
  return Object.keys(sent).filter(
    (name) => !fieldNames.has(name) || (name === 'user_id' && attribution === 'nobody' && sent.user_id != null),
  );
}

function attribute(
  sent: unknown,
  attribution: Sender['attribution'],
): { readonly user_id: string | null } | { readonly reason: RejectReason } {
  if (attribution === 'nobody') return { user_id: null };
  if (attribution === 'as_sent') {
    if (sent == null) return { user_id: null };
    return isText(sent, 1, 128) ? { user_id: sent } : { reason: 'bad_user_id' };
  }
  const { app_user_id } = attribution;
  return sent == null || sent === app_user_id ? { user_id: app_user_id } : { reason: 'user_mismatch' };
}

const maxProperties = 50;

function areProperties(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isObject(value)) return false;
  const names = Object.keys(value);
  return names.length <= maxProperties && names.every((name) => isText(name, 1, 64) && isPropertyValue(value[name]));
}

/** JSON numbers that are too large are parsed as Infinity. */
const isPropertyValue = (value: unknown): boolean =>
  value === null ||
  typeof value === 'boolean' ||
  (typeof value === 'number' && Number.isFinite(value)) ||
  isText(value, 0, 1_024);

/** Query strings often contain private data. A route after the `#` can also have a query string. */
const withoutQuery = (url: string): string =>
  url.includes('?') || url.includes('#')
    ? url
        .split('#', 2)
        .map((part) => part.split('?', 1)[0])
        .join('#')
    : url;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Lengths are counted in code points. Each takes at most two UTF-16 units. */
const isText = (value: unknown, min: number, max: number): value is string =>
  typeof value === 'string' &&
  value.length >= min &&
  (value.length <= max || (value.length <= 2 * max && [...value].length <= max)) &&
  isStorableText(value);

const isEventId = (value: unknown): value is string => typeof value === 'string' && isUuid(value.toLowerCase());
