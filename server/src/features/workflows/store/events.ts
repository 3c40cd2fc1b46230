// Owns the queries on events that wait to be compared with the triggers of workflows.
import { sql } from 'kysely';
import { prepared } from '../../../kit/db/database.ts';
import { sendWithCommit } from '../../../kit/db/send.ts';
import type { Db } from '../../../tables.ts';
import type { TriggeringEvent } from '../triggers/input.ts';

export interface WaitingEvent {
  readonly id: string;
  readonly workspace_id: string;
  /** The app or the agent that the event is about: apps take turns. */
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

/** From the log of events, which keeps them for a week after they were dispatched. */
export const readEvents = (db: Db, ids: readonly string[]): Promise<TriggeringEvent[]> => selectEvents(db, ids);

const selectEvents = prepared<TriggeringEvent, [readonly string[]]>(
  'read events for workflows',
  '/* service */ select id, name, payload, occurred_at from events where id = any($1::uuid[])',
);

const keptMs = 7 * 24 * 60 * 60 * 1000;

/** SQL for polling. */
export const handledEventsDueInMs = `case
   when exists (select 1 from workflow_events where due_at is null and failed_at is null and claimed_slot is null) then 0
   else (select extract(epoch from failed_at - $1) * 1000 + ${keptMs} from workflow_events
     where failed_at is not null order by failed_at limit 1) end`;

/** Removes events that were handled, and dead-lettered ones after a week: the log no longer has them. Returns how many. */
export async function removeHandledEvents(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from workflow_events where id in (
    (select id from workflow_events where due_at is null and failed_at is null and claimed_slot is null limit 5000)
    union all
    (select id from workflow_events where failed_at < ${new Date(now.getTime() - keptMs)} and claimed_slot is null
     order by failed_at limit 1000))`.execute(db);
  return Number(numAffectedRows ?? 0);
}
