// Owns what DBOS does not record about a workflow run: how often a worker crashed while executing it, whether it only
// waits, and that it was cancelled.
import { sql } from 'kysely';
import type { AnyDb } from '../../db/database.ts';

export interface RunState {
  readonly workflow_id: string;
  readonly crash_count: number;
  readonly cancelled_at: Date | null;
}

const maxCrashes = 20;

/** Workers crashed 20 times while executing it, and it completed no step in between. */
export const isDeadLettered = ({ crash_count }: RunState): boolean => crash_count >= maxCrashes;

/**
 * Counts a crash for the runs that were executing. Each `crashId` counts once per run. Runs that only waited are not
 * counted, and the count starts again at 1 if the run completed a step since its last crash.
 */
export async function countCrash(db: AnyDb, ids: readonly string[], crashId: string): Promise<void> {
  await sql`insert into workflow_run_state (workflow_id) select unnest(${ids}::text[])
    on conflict (workflow_id) do nothing`.execute(db);
  await sql`update workflow_run_state s
    set crash_count = case when run.steps > s.steps then 1 else s.crash_count + 1 end, steps = run.steps,
      last_crash_id = ${crashId}, updated_date = clock_timestamp()
    from (select id, (select count(*)::int from dbos.operation_outputs o where o.workflow_uuid = id) as steps
      from unnest(${ids}::text[]) id) run
    where s.workflow_id = run.id and not s.waiting and s.last_crash_id is distinct from ${crashId}`.execute(db);
  await sql`update workflow_run_state set waiting = false where workflow_id = any(${ids}::text[]) and waiting`.execute(
    db,
  );
}

export async function markWaiting(db: AnyDb, id: string, waiting: boolean): Promise<void> {
  await sql`insert into workflow_run_state (workflow_id, waiting) values (${id}, ${waiting})
    on conflict (workflow_id) do update set waiting = excluded.waiting, updated_date = clock_timestamp()`.execute(db);
}

/** Returns false if there is no such run. */
export async function requestCancel(db: AnyDb, id: string): Promise<boolean> {
  const { rows } = await sql`insert into workflow_run_state (workflow_id, cancelled_at, cancel_pending)
    select workflow_uuid, clock_timestamp(), true from dbos.workflow_status where workflow_uuid = ${id}
    on conflict (workflow_id) do update set cancelled_at = coalesce(workflow_run_state.cancelled_at, excluded.cancelled_at),
      cancel_pending = true, updated_date = clock_timestamp()
    returning 1`.execute(db);
  return rows.length > 0;
}

/** SQL for polling. */
export const cancelsDueInMs = 'select 0 from workflow_run_state where cancel_pending limit 1';

export async function listPendingCancels(db: AnyDb): Promise<string[]> {
  const { rows } = await sql<{ workflow_id: string }>`
    select workflow_id from workflow_run_state where cancel_pending limit 500`.execute(db);
  return rows.map((row) => row.workflow_id);
}

export async function clearPendingCancels(db: AnyDb, ids: readonly string[]): Promise<void> {
  await sql`update workflow_run_state set cancel_pending = false where workflow_id = any(${ids}::text[])`.execute(db);
}

export async function listRunStates(db: AnyDb, ids: readonly string[]): Promise<RunState[]> {
  const { rows } = await sql<RunState>`select workflow_id, crash_count, cancelled_at from workflow_run_state
    where workflow_id = any(${ids}::text[])`.execute(db);
  return rows;
}

export async function removeRunStates(db: AnyDb, ids: readonly string[]): Promise<void> {
  await sql`delete from workflow_run_state where workflow_id = any(${ids}::text[])`.execute(db);
}
