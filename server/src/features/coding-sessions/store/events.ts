// The queries on session events, which streamSession sends in version order.
import { sql } from 'kysely';
import { prepared } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { SessionKey } from './sessions.ts';

export type EventName = 'state' | 'input_request' | 'log';

export interface SessionEvent {
  readonly version: number;
  readonly event: EventName;
  readonly data: object;
}

/** Call this in a transaction that has locked the session and reserved these versions. */
export async function insertEvents(
  db: Db,
  { workspace_id, id }: SessionKey,
  events: readonly SessionEvent[],
  now: Date,
): Promise<void> {
  if (events.length === 0) return;
  await db
    .insertInto('coding_events')
    .values(
      events.map(({ version, event, data }) => ({
        workspace_id,
        session_id: id,
        version,
        event,
        data: JSON.stringify(data),
        created_date: now,
      })),
    )
    .execute();
}

const selectAfter = prepared<
  SessionEvent,
  [workspaceId: string, sessionId: string, version: number, limit: number, maxBytes: number]
>(
  'list events of coding session',
  `select version, event, data from (
     select version, event, data, sum(pg_column_size(data)) over (order by version) - pg_column_size(data) as before
     from (select version, event, data from coding_events
       where workspace_id = $1 and session_id = $2 and version > $3 order by version limit $4) next
   ) counted where before < $5 order by version`,
);

/** Lists the events after a version, limited in number and total size. Returns at least one event if there are any. */
export const listEventsAfter = (
  db: Db,
  { workspace_id, id }: SessionKey,
  version: number,
  { limit, maxBytes }: { readonly limit: number; readonly maxBytes: number },
): Promise<SessionEvent[]> => selectAfter(db, workspace_id, id, version, limit, maxBytes);

/** Removes the events of sessions that ended before the given time. Returns the number of sessions. */
export async function removeOldEvents(db: Db, before: Date, limit: number): Promise<number> {
  const { rows } = await sql`/* service */ with old as (
      select id, workspace_id from coding_sessions where ended_at < ${before} and has_events
      limit ${limit} for update skip locked
    ), removed as (
      delete from coding_events e using old where e.workspace_id = old.workspace_id and e.session_id = old.id
    )
    update coding_sessions s set has_events = false from old
    where s.workspace_id = old.workspace_id and s.id = old.id returning 1`.execute(db);
  return rows.length;
}
