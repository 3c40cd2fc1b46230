// Owns storing events: their ids, the events themselves, and when their users were last seen.
import { copyRows, prepared } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';

export interface EventRow {
  readonly app_id: string;
  readonly event_id: string;
  readonly at: Date;
  readonly event_name: string;
  readonly user_id: string | null;
  readonly session_id: string | null;
  readonly page_url: string | null;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly country: string | null;
  readonly device_type: string | null;
  readonly os: string | null;
}

export interface EventKey {
  readonly app_id: string;
  readonly event_id: string;
}

const listKnownIds = prepared<EventKey, [app_ids: string, event_ids: string]>(
  'list known analytics event ids',
  `select app_id, event_id from unnest($1::uuid[], $2::uuid[]) as s (app_id, event_id)
   join analytics_event_ids using (app_id, event_id)`,
);

/**
 * Stores ids that callers sent, and returns those that were stored before. Nobody else stores ids of these apps meanwhile,
 * because they are locked, so the others can be copied: `on conflict do nothing` would take twice as long for each.
 */
export async function insertEventIds(db: Db, keys: readonly EventKey[], now: Date): Promise<EventKey[]> {
  const app_ids = toArray(keys.map((key) => key.app_id));
  const event_ids = toArray(keys.map((key) => key.event_id));
  const known = await listKnownIds(db, app_ids, event_ids);
  const isKnown = new Set(known.map(toText));
  const day = now.toISOString().slice(0, 10);
  const fresh = known.length === 0 ? keys : keys.filter((key) => !isKnown.has(toText(key)));
  if (fresh.length > 0) await copyRows(db, copyIds, fresh.map((key) => `${toText(key)}\t${day}\n`).join(''));
  return known;
}

const copyIds = 'copy analytics_event_ids (app_id, event_id, day) from stdin';
const toText = ({ app_id, event_id }: EventKey): string => `${app_id}\t${event_id}`;

const copyText = `copy analytics_events (app_id, event_id, at, event_name, user_id, session_id, page_url, properties, country,
  device_type, os) from stdin`;

/** Inserts the events of these lines. */
export const insertEvents = (db: Db, lines: readonly string[]): Promise<void> => copyRows(db, copyText, lines.join(''));

/** An event as a line of PostgreSQL's text format. */
export function toCopyLine(row: EventRow): string {
  return `${row.app_id}\t${row.event_id}\t${row.at.toISOString()}\t${toField(row.event_name)}\t${toField(row.user_id)}\t${toField(row.session_id)}\t${toField(row.page_url)}\t${toField(JSON.stringify(row.properties))}\t${toField(row.country)}\t${toField(row.device_type)}\t${toField(row.os)}\n`;
}

const special = /[\\\n\r\t]/;
const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const toField = (text: string | null): string =>
  text === null
    ? '\\N'
    : special.test(text)
      ? text.replace(/[\\\n\r\t]/g, (character) => escapes[character] ?? '')
      : text;

// ---- users

export interface Sighting {
  readonly app_id: string;
  readonly user_id: string;
  last_event_at: Date | null;
  last_heartbeat_at: Date | null;
}

const upsertUsers = prepared<unknown, [app_ids: string, user_ids: string[], events: string, heartbeats: string]>(
  'save analytics users',
  `insert into analytics_users as u (app_id, user_id, last_event_at, last_heartbeat_at)
   select * from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[]) order by 1, 2
   on conflict (app_id, user_id) do update set last_event_at = greatest(u.last_event_at, excluded.last_event_at),
     last_heartbeat_at = greatest(u.last_heartbeat_at, excluded.last_heartbeat_at)
   where excluded.last_event_at > coalesce(u.last_event_at, '-infinity')
     or excluded.last_heartbeat_at > coalesce(u.last_heartbeat_at, '-infinity')`,
);

/** Moves users of locked apps forward to when they were seen, and never back. The database counts them meanwhile. */
export async function saveSightings(db: Db, sightings: readonly Sighting[]): Promise<void> {
  const app_ids = sightings.map((each) => each.app_id);
  await upsertUsers(
    db,
    toArray(app_ids),
    sightings.map((each) => each.user_id),
    toArray(sightings.map((each) => each.last_event_at?.toISOString() ?? 'null')),
    toArray(sightings.map((each) => each.last_heartbeat_at?.toISOString() ?? 'null')),
  );
}

// ---- locks

const tryToLock = prepared<{ app_id: string }, [app_ids: string]>(
  'try to lock analytics apps',
  `select app_id, set_config('lock_timeout', '300ms', true) from try_to_lock_analytics_apps($1::uuid[]) app_id`,
);

/** Locks those of the apps that are free, and returns them. The transaction then waits for other locks only for a moment. */
export async function lockFreeApps(db: Db, app_ids: readonly string[]): Promise<Set<string>> {
  return new Set((await tryToLock(db, toArray(app_ids))).map(({ app_id }) => app_id));
}

const lock = prepared<unknown, [app_ids: string]>('lock analytics apps', 'select lock_analytics_apps($1::uuid[])');

/** Waits until the app is free, as long as any statement may. */
export const lockApp = (db: Db, app_id: string) => lock(db, toArray([app_id]));

/** An array of PostgreSQL, of texts that need no quotes. The driver would look for characters to quote in each. */
const toArray = (texts: readonly string[]): string => `{${texts.join(',')}}`;
