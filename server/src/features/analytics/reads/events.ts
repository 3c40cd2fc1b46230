// Lists an app's events and their names.
import type { z } from 'zod';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Cursors } from '../../../kit/http/cursor.ts';
import { hold } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import type { AnalyticsEvent, EventName, EventsQuery } from './contract.ts';
import { clampRange, findOldest, resolveRange } from './range.ts';
import { type EventNameRow, type EventRow, listEventNames, listEvents } from './store.ts';

/** Lists the names of events from the last 60 days. */
export async function listNames(
  db: Db,
  access: AppAccess,
  cursors: Cursors,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
  now: Date,
) {
  const binding = ['listEventNames', access.app.id, access.caller.credential_id];
  const [count, name] = cursors.open(cursor, binding, now) ?? [];
  const after = count === undefined ? undefined : { count: Number(count), name: String(name) };
  const rows = await listEventNames(db, access, findOldest(now), limit + 1, after);
  return cursors.page(rows, limit, binding, now, presentName, (row) => [row.count, row.event_name]);
}

const presentName = ({ event_name, count, last_seen }: EventNameRow): z.input<typeof EventName> => ({
  event_name,
  count,
  last_seen: last_seen.toISOString(),
});

const defaultDays = 7;
const defaultLimit = 100;
/** All other requests wait while a page is being parsed and written. */
const maxPageBytes = 1024 * 1024;

/** A cursor contains the first page's time range, because its defaults depend on the time of that request. */
export async function queryEvents(db: Db, access: AppAccess, cursors: Cursors, query: EventsQuery, now: Date) {
  const { limit = defaultLimit, cursor, start_time, end_time, event_name, q } = query;
  const filters = [event_name, start_time ?? null, end_time ?? null, q ?? null];
  const binding = ['queryEvents', access.app.id, access.caller.credential_id, filters];
  const [at, id, start, end] = (cursors.open(cursor, binding, now) ?? []).map(String);
  const range =
    start === undefined
      ? resolveRange(query, defaultDays, now)
      : clampRange({ start: new Date(start), end: new Date(end ?? '') }, now);
  const after = at === undefined || id === undefined ? undefined : { at: new Date(at), id };
  const bounds = { limit: limit + 1, maxBytes: maxPageBytes };
  const rows = await listEvents(db, access, { event_name, q, range }, after, bounds);
  const fitting = rows.filter(({ bytes_so_far }, index) => index === 0 || bytes_so_far <= maxPageBytes).length;
  const positionOf = (row: EventRow) => [
    row.at.toISOString(),
    row.event_id,
    range.start.toISOString(),
    range.end.toISOString(),
  ];
  return hold(() => cursors.page(rows, Math.min(limit, fitting), binding, now, presentEvent, positionOf));
}

const presentEvent = (row: EventRow): z.input<typeof AnalyticsEvent> => ({
  event_id: row.event_id,
  event_name: row.event_name,
  timestamp: row.at.toISOString(),
  user_id: row.user_id,
  session_id: row.session_id,
  page_url: row.page_url,
  properties: row.properties,
  metadata: { country: row.country, device_type: row.device_type, os: row.os },
});
