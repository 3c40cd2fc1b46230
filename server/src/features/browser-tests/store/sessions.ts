// The queries on browser sessions. Leases use the database's clock, which all workers share.
import { type Selectable, sql } from 'kysely';
import { prepared } from '../../../kit/db/database.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { ExecutionKey } from './executions.ts';

export type SessionRow = Selectable<Tables['browser_sessions']>;
export type SessionKey = Pick<SessionRow, 'workspace_id' | 'id'>;
export type CloseReason = NonNullable<SessionRow['close_reason']>;

/** How long a worker's browser counts as open after the last renewal. */
const leaseSeconds = 30;

const leaseEnd = sql<Date>`clock_timestamp() + make_interval(secs => ${sql.lit(leaseSeconds)})`;

/** Called before the browser starts, so every browser has a row. */
export async function insertSession(
  db: Db,
  { workspace_id, id: execution_id }: Pick<ExecutionKey, 'workspace_id' | 'id'>,
  session: Pick<SessionRow, 'id' | 'host'>,
  now: Date,
): Promise<void> {
  await db
    .insertInto('browser_sessions')
    .values({ ...session, workspace_id, execution_id, created_date: now, lease_until: leaseEnd })
    .execute();
}

const updateSession = (db: Db, { workspace_id, id }: SessionKey) =>
  db
    .updateTable('browser_sessions')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('closed_at', 'is', null);

export async function saveProcess(db: Db, session: SessionKey, process_id: number): Promise<void> {
  await updateSession(db, session).set({ process_id }).execute();
}

const renew = prepared<{ is_killed: boolean }, [workspaceId: string, id: string]>(
  'renew lease of browser session',
  `update browser_sessions set lease_until = clock_timestamp() + interval '${leaseSeconds} seconds'
   where workspace_id = $1 and id = $2 and closed_at is null returning kill_requested_at is not null as is_killed`,
);

/** Returns undefined if the session is closed. */
export const renewLease = async (
  db: Db,
  { workspace_id, id }: SessionKey,
): Promise<{ is_killed: boolean } | undefined> => (await renew(db, workspace_id, id))[0];

/** Returns false if the session was already closed. */
export async function saveClosed(db: Db, session: SessionKey, close_reason: CloseReason, now: Date): Promise<boolean> {
  const { numUpdatedRows } = await updateSession(db, session).set({ closed_at: now, close_reason }).executeTakeFirst();
  return numUpdatedRows > 0n;
}

const selectOpen = (db: Db, { workspace_id, id }: Pick<ExecutionKey, 'workspace_id' | 'id'>) =>
  db
    .selectFrom('browser_sessions')
    .where('workspace_id', '=', workspace_id)
    .where('execution_id', '=', id)
    .where('closed_at', 'is', null);

/** The run's open sessions, including those with an expired lease. */
export const listOpenSessions = (db: Db, execution: Pick<ExecutionKey, 'workspace_id' | 'id'>): Promise<SessionRow[]> =>
  selectOpen(db, execution).selectAll().execute();

/** Whether the run has an open browser with a valid lease. */
export const hasLiveSession = async (db: Db, execution: Pick<ExecutionKey, 'workspace_id' | 'id'>): Promise<boolean> =>
  (await selectOpen(db, execution)
    .where('lease_until', '>', sql<Date>`clock_timestamp()`)
    .select('id')
    .executeTakeFirst()) !== undefined;

/** With `close`, tells the worker to close its browser. With `kill`, tells any worker on the same host to kill it. */
export async function requestClose(
  db: Db,
  { workspace_id, id }: Pick<ExecutionKey, 'workspace_id' | 'id'>,
  how: 'close' | 'kill',
  now: Date,
): Promise<void> {
  const column = how === 'close' ? 'close_requested_at' : 'kill_requested_at';
  await db
    .updateTable('browser_sessions')
    .set({ [column]: now })
    .where('workspace_id', '=', workspace_id)
    .where('execution_id', '=', id)
    .where('closed_at', 'is', null)
    .where(column, 'is', null)
    .execute();
}

// ---- background

export interface SessionState extends SessionKey {
  readonly is_closed: boolean;
  readonly has_ended_lease: boolean;
  readonly is_killed: boolean;
}

const stateColumns = sql`workspace_id, id, closed_at is not null as is_closed,
  lease_until <= clock_timestamp() as has_ended_lease, kill_requested_at is not null as is_killed`;

/** Returns the sessions with these ids. Ids without a row belong to another installation. */
export async function listSessionStates(db: Db, ids: readonly string[]): Promise<SessionState[]> {
  const { rows } = await sql<SessionState>`/* service */ select ${stateColumns} from browser_sessions
    where id = any(${[...ids]}::uuid[])`.execute(db);
  return rows;
}

/** SQL for polling. */
export const sessionsDueInMs = `select 0 from browser_sessions
   where closed_at is null and (lease_until <= clock_timestamp() or kill_requested_at is not null) limit 1`;

/** Lists open sessions on this host whose lease has expired or that are to be killed. */
export async function listSessionsToKill(db: Db, host: string, limit: number): Promise<SessionState[]> {
  const { rows } = await sql<SessionState>`/* service */ select ${stateColumns} from browser_sessions
    where closed_at is null and host = ${host} and (lease_until <= clock_timestamp() or kill_requested_at is not null)
    limit ${limit}`.execute(db);
  return rows;
}

/**
 * Closes sessions whose lease expired this long ago, because their host has no worker left to do so. Returns the number
 * of sessions closed.
 */
export async function closeAbandonedSessions(db: Db, graceSeconds: number, limit: number, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ update browser_sessions
    set closed_at = ${now}, close_reason = 'lease_ended'
    where id in (select id from browser_sessions where closed_at is null
      and lease_until <= clock_timestamp() - make_interval(secs => ${graceSeconds}) limit ${limit} for update skip locked)`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}

export async function removeOldSessions(db: Db, before: Date, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from browser_sessions where id in (
    select id from browser_sessions where closed_at < ${before} limit ${limit} for update skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** The number of browsers with a valid lease. */
export async function countOpenSessions(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`/* service */ select count(*)::int as count from browser_sessions
    where closed_at is null and lease_until > clock_timestamp()`.execute(db);
  return rows[0]?.count ?? 0;
}
