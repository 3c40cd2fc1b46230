// Stores events, their ids, and the times at which their users were last seen.
import { copyRows, prepared } from '../../../kit/db/database.ts';
import { sendWithCommit } from '../../../kit/db/send.ts';
import { printTime } from '../../../kit/text.ts';
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

interface EventKey {
  readonly app_id: string;
  readonly event_id: string;
}

/** The distinct ids that callers sent with an app's events. */
export interface IdsOfApp {
  readonly app_id: string;
  readonly event_ids: readonly string[];
  /** Whether to look up which ids are already stored. */
  readonly isLookedUp: boolean;
}

const listKnownIds = prepared<EventKey, [app_ids: string, event_ids: string]>(
  'list known analytics event ids',
  `select app_id, event_id from unnest($1::uuid[], $2::uuid[]) as s (app_id, event_id)
   join analytics_event_ids using (app_id, event_id)`,
);

/**
 * Stores ids for locked apps, and returns those that were already stored. A lookup takes as long as storing the ids,
 * and most apps never repeat an event. Without a lookup, the primary key rejects repeated ids, the transaction fails
 * with a unique violation, and the caller retries with a lookup. `on conflict do nothing` would take longer than both.
 * The ids are sorted, because adjacent index entries are stored faster.
 */
export async function insertEventIds(db: Db, apps: readonly IdsOfApp[], now: Date): Promise<EventKey[]> {
  const known = await lookUp(
    db,
    apps.filter(({ isLookedUp }) => isLookedUp),
  );
  const isKnown = new Set(known.map(toText));
  const day = now.toISOString().slice(0, 10);
  const lines = apps.toSorted(compareApps).flatMap(({ app_id, event_ids }) => {
    const fresh =
      known.length === 0 ? event_ids : event_ids.filter((event_id) => !isKnown.has(toText({ app_id, event_id })));
    return fresh.toSorted().map((event_id) => `${app_id}\t${event_id}\t${day}\n`);
  });
  if (lines.length > 0) await copyRows(db, copyIds, lines.join(''));
  return known;
}

async function lookUp(db: Db, apps: readonly IdsOfApp[]): Promise<EventKey[]> {
  const event_ids = apps.flatMap((app) => app.event_ids);
  if (event_ids.length === 0) return [];
  const app_ids = apps.flatMap(({ app_id, event_ids }) => event_ids.map(() => app_id));
  return listKnownIds(db, toArray(app_ids), toArray(event_ids));
}

const copyIds = 'copy analytics_event_ids (app_id, event_id, day) from stdin';
const toText = ({ app_id, event_id }: EventKey): string => app_id + event_id;
const compareApps = (a: IdsOfApp, b: IdsOfApp): number => (a.app_id < b.app_id ? -1 : 1);

const copyText = `copy analytics_events (app_id, event_id, at, event_name, user_id, session_id, page_url, properties, country,
  device_type, os) from stdin`;

export const insertEvents = (db: Db, lines: readonly string[]): Promise<void> => copyRows(db, copyText, lines.join(''));

/** Formats an event as a line in PostgreSQL's text format. */
export function toCopyLine(row: EventRow): string {
  return `${row.app_id}\t${row.event_id}\t${printTime(row.at)}\t${toField(row.event_name)}\t${toField(row.user_id)}\t${toField(row.session_id)}\t${toField(row.page_url)}\t${toField(JSON.stringify(row.properties))}\t${toField(row.country)}\t${toField(row.device_type)}\t${toField(row.os)}\n`;
}

const special = /[\\\n\r\t]/;
const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const toField = (text: string | null): string =>
  text === null
    ? '\\N'
    : special.test(text)
      ? text.replace(/[\\\n\r\t]/g, (character) => escapes[character] ?? '')
      : text;

// ---- sizes

/** The bytes that events of an app take, on one day. */
export interface DaySize {
  readonly app_id: string;
  readonly day: string;
  readonly bytes: number;
}

const addSizes = prepared<unknown, [app_ids: string, days: string, bytes: string]>(
  'add analytics sizes',
  `/* service */ insert into analytics_sizes as s (workspace_id, app_id, day, bytes)
   select a.workspace_id, a.id, n.day, n.bytes
   from unnest($1::uuid[], $2::date[], $3::bigint[]) n (app_id, day, bytes) join apps a on a.id = n.app_id
   order by a.id, n.day
   on conflict (app_id, day) do update set bytes = s.bytes + excluded.bytes`,
);

/** Counts the bytes of locked apps' events. Triggers count the users, and pass all changes on to the workspace. */
export const saveSizes = (db: Db, sizes: readonly DaySize[]) =>
  sendWithCommit(
    db,
    addSizes.query(
      toArray(sizes.map(({ app_id }) => app_id)),
      toArray(sizes.map(({ day }) => day)),
      toArray(sizes.map(({ bytes }) => `${bytes}`)),
    ),
  );

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

/**
 * Moves the last-seen times of users in locked apps forward, never back. The database updates the user counts at the
 * same time.
 */
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

/** Locks the apps that are free, and returns them. From then on, the transaction waits only briefly for other locks. */
export async function lockFreeApps(db: Db, app_ids: readonly string[]): Promise<Set<string>> {
  return new Set((await tryToLock(db, toArray(app_ids))).map(({ app_id }) => app_id));
}

const lock = prepared<unknown, [app_ids: string]>('lock analytics apps', 'select lock_analytics_apps($1::uuid[])');

/** Waits until the app is free, but no longer than any statement may wait. */
export const lockApp = (db: Db, app_id: string) => lock(db, toArray([app_id]));

/** A PostgreSQL array of strings that need no quoting. The driver would check every string for characters to quote. */
const toArray = (texts: readonly string[]): string => `{${texts.join(',')}}`;
