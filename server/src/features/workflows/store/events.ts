// The queries on events that are waiting to be compared with workflow triggers.
import { sql } from 'kysely';
import { purge } from '../../../kit/background/purge.ts';
import { prepared } from '../../../kit/db/database.ts';
import { sendWithCommit } from '../../../kit/db/send.ts';
import type { Db } from '../../../tables.ts';
import type { TriggeringEvent } from '../definition/occurrence.ts';

export interface WaitingEvent {
  readonly id: string;
  readonly workspace_id: string;
  /** The app or agent that the event is about. Events from different apps take turns. */
  readonly app_id: string;
}

export const insertEvents = (db: Db, events: readonly WaitingEvent[]) =>
  sendWithCommit(
    db,
    insertEventRows.query(
      events.map((event) => event.id),
      events.map((event) => event.workspace_id),
      events.map((event) => event.app_id),
    ),
  );

const insertEventRows = prepared<object, [readonly string[], readonly string[], readonly string[]]>(
  'insert events for workflows',
  `insert into workflow_events (id, workspace_id, app_id, due_at)
   select id, workspace_id, app_id, clock_timestamp() from unnest($1::uuid[], $2::uuid[], $3::uuid[]) e(id, workspace_id, app_id)
   on conflict (id) do nothing`,
);

/** Until an event was compared with the triggers, its payload is needed. */
export const eventNeededIf = 'exists (select from workflow_events w where w.id = events.id)';

/** Reads events from the event log, which keeps them while they are in `workflow_events`. */
export const readEvents = (db: Db, ids: readonly string[]): Promise<TriggeringEvent[]> => selectEvents(db, ids);

const selectEvents = prepared<TriggeringEvent, [readonly string[]]>(
  'read events for workflows',
  '/* service */ select id, name, payload, occurred_at from events where id = any($1::uuid[])',
);

const keptMs = 7 * 24 * 60 * 60 * 1000;

/** Polling query: returns how long until an event can be removed, in milliseconds. */
export const handledEventsDueInMs = `case
   when exists (select 1 from workflow_events where due_at is null and failed_at is null and claimed_slot is null) then 0
   else (select extract(epoch from failed_at - $1) * 1000 + ${keptMs} from workflow_events
     where failed_at is not null order by failed_at limit 1) end`;

/**
 * Removes events that have been handled, and dead-lettered events after a week. Returns how many were removed.
 */
export async function removeHandledEvents(db: Db, now: Date): Promise<number> {
  const table = 'workflow_events';
  const failedBefore = new Date(now.getTime() - keptMs);
  const handled = await purge(db, { table, where: sql`due_at is null and failed_at is null and claimed_slot is null` });
  const failed = await purge(db, {
    table,
    where: sql`failed_at < ${failedBefore} and claimed_slot is null`,
    order: 'failed_at',
  });
  return handled + failed;
}
