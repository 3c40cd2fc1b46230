// The queries on sessions, whose table also serves as the session queue. A session must be locked before it is
// changed. Its worker uses `lockClaimedSession`, which returns undefined once the claim is lost. All others use
// `lockSession`.
import { type Insertable, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { QueueRow } from '../../../kit/background/queues/queue.ts';
import { prepared } from '../../../kit/db/database.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { State } from '../transitions.ts';

export type SessionRow = Selectable<Tables['coding_sessions']> & QueueRow;
export type SessionKey = Pick<SessionRow, 'workspace_id' | 'id'>;

export interface AppKey {
  readonly workspace_id: string;
  readonly app_id: string;
}

export const toAppKey = ({ app }: AppAccess): AppKey => ({ workspace_id: app.workspace_id, app_id: app.id });

const selectSessions = (db: Db, { workspace_id, app_id }: AppKey) =>
  db.selectFrom('coding_sessions').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);

const selectSession = (db: Db, { workspace_id, id }: SessionKey) =>
  db.selectFrom('coding_sessions').where('workspace_id', '=', workspace_id).where('id', '=', id).selectAll();

export const findSession = (db: Db, access: AppAccess, id: string): Promise<SessionRow | undefined> =>
  selectSessions(db, toAppKey(access)).where('id', '=', idOrNull(id)).selectAll().executeTakeFirst();

export const findSessionByKey = (
  db: Db,
  app: AppKey,
  user_id: string,
  launch_key: string,
): Promise<SessionRow | undefined> =>
  selectSessions(db, app)
    .where('user_id', '=', user_id)
    .where('launch_key', '=', launch_key)
    .selectAll()
    .executeTakeFirst();

/** The e-mail address of the person who launched the session. Null if the account was removed. */
export async function findLauncher(db: Db, { user_id }: Pick<SessionRow, 'user_id'>): Promise<string | null> {
  if (user_id === null) return null;
  const person = await db.selectFrom('users').where('id', '=', user_id).select('email').executeTakeFirst();
  return person?.email ?? null;
}

/** An active session on this branch, other than the given one. */
export const findActiveOnBranch = (
  db: Db,
  app: AppKey,
  branch: string,
  exceptId?: string,
): Promise<{ id: string } | undefined> => {
  let active = selectSessions(db, app)
    .where('ended_at', 'is', null)
    .where(sql<string>`lower(work_branch)`, '=', sql<string>`lower(${branch})`);
  if (exceptId !== undefined) active = active.where('id', '<>', exceptId);
  return active.select('id').limit(1).executeTakeFirst();
};

/** A session in the app that has not ended. */
export const findActiveSession = (db: Db, app: AppKey): Promise<{ id: string } | undefined> =>
  selectSessions(db, app).where('ended_at', 'is', null).select('id').limit(1).executeTakeFirst();

export interface SessionFilter {
  readonly state?: State | undefined;
  readonly client_reference?: string | undefined;
  readonly limit: number;
}

// Excludes the prompt, which may take up to 400 kB.
const listedColumns = [
  'id',
  'app_id',
  'title',
  'state',
  'message_id',
  'repository_full_name',
  'branch_id',
  'branch_name',
  'pull_request',
  'error_code',
  'launch_key',
  'client_reference',
  'input_request_id',
  'outcome',
  'summary',
] as const;
export type ListedSession = Pick<SessionRow, (typeof listedColumns)[number]>;

/** Lists sessions newest first, with one row more than the limit. */
export function listSessions(
  db: Db,
  app: AppKey,
  { state, client_reference, limit }: SessionFilter,
  after: Position | undefined,
): Promise<ListedSession[]> {
  let page = selectSessions(db, app)
    .select(listedColumns)
    .orderBy('id', 'desc')
    .limit(limit + 1);
  if (state !== undefined) page = page.where('state', '=', state);
  if (client_reference !== undefined) page = page.where('client_reference', '=', client_reference);
  if (after !== undefined) page = page.where('id', '<', String(after[0]));
  return page.execute();
}

/** Locks a session, whichever worker runs it. Returns undefined if it has been removed. */
export const lockSession = (db: Db, session: SessionKey): Promise<SessionRow | undefined> =>
  selectSession(db, session).forNoKeyUpdate().executeTakeFirst();

/** Like `lockSession`, but for the session's worker. Also returns undefined if the worker has lost its claim. */
export const lockClaimedSession = (
  db: Db,
  { claims, ...session }: SessionKey & Pick<SessionRow, 'claims'>,
): Promise<SessionRow | undefined> =>
  selectSession(db, session)
    .where('claims', '=', claims)
    .where('claimed_slot', 'is not', null)
    .forNoKeyUpdate()
    .executeTakeFirst();

export type NewSession = Pick<
  Insertable<Tables['coding_sessions']>,
  | 'id'
  | 'user_id'
  | 'launch_key'
  | 'launch_hash'
  | 'client_reference'
  | 'prompt'
  | 'title'
  | 'existing_branch'
  | 'source_ref'
  | 'pull_request_body'
  | 'commit_message'
  | 'repository_full_name'
  | 'base_branch'
  | 'work_branch'
  | 'credential_id'
  | 'request_id'
  | 'ip'
  | 'created_date'
  | 'updated_date'
>;

export const insertSession = (db: Db, app: AppKey, session: NewSession): Promise<SessionRow> =>
  db
    .insertInto('coding_sessions')
    .values({ ...app, ...session, due_at: dueNow })
    .returningAll()
    .executeTakeFirstOrThrow();

/** Queues use the database's clock. */
export const dueNow = sql<Date>`clock_timestamp()`;

export type SessionChange = Omit<Updateable<Tables['coding_sessions']>, 'version' | 'due_at'> & {
  readonly due_at?: Date | RawBuilder<Date> | null;
};

/** Increases the version by `addToVersion`. Call this in a transaction that has locked the session. */
export const saveSession = (
  db: Db,
  { workspace_id, id }: SessionKey,
  change: SessionChange,
  addToVersion = 1,
): Promise<SessionRow> =>
  db
    .updateTable('coding_sessions')
    .set((is) => ({ ...change, version: is('version', '+', addToVersion) }))
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();

/**
 * Saves columns that callers do not see, such as the time worked, without changing the version. Returns false if the
 * worker has lost its claim.
 */
export async function saveWork(
  db: Db,
  { workspace_id, id, claims }: Pick<SessionRow, 'workspace_id' | 'id' | 'claims'>,
  work: Pick<SessionChange, 'tried_commits' | 'run_files' | 'checkpoint_tree' | 'work_ms' | 'crash_count' | 'failures'>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('coding_sessions')
    .set(work)
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('claims', '=', claims)
    .where('claimed_slot', 'is not', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

// ---- pull requests

/** Claims the right to query the git host. Returns false if someone else has claimed it since the given time. */
export async function takePullRequestRead(
  db: Db,
  { workspace_id, id }: SessionKey,
  since: Date,
  now: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('coding_sessions')
    .set({ pull_request_tried_at: now })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where((is) => is.or([is('pull_request_tried_at', 'is', null), is('pull_request_tried_at', '<', since)]))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function savePullRequestRead(db: Db, { workspace_id, id }: SessionKey, now: Date): Promise<void> {
  await db
    .updateTable('coding_sessions')
    .set({ pull_request_read_at: now })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

// ---- following

interface Watched {
  readonly state: State;
  readonly version: number;
  readonly claims: number;
  readonly is_claimed: boolean;
}

// This query runs about once a second for each session that is being run or followed.
const selectWatched = prepared<Watched, [workspaceId: string, id: string]>(
  'watch coding session',
  `select state, version, claims, claimed_slot is not null as is_claimed
   from coding_sessions where workspace_id = $1 and id = $2`,
);

/** Returns undefined if the session has been removed. */
export const findWatched = async (db: Db, { workspace_id, id }: SessionKey): Promise<Watched | undefined> =>
  (await selectWatched(db, workspace_id, id))[0];

// ---- cancelling

/** Lists the sessions that can be cancelled, for an app, a person or the whole workspace. */
export const listCancellable = (
  db: Db,
  { workspace_id, app_id, user_id }: { workspace_id: string; app_id?: string; user_id?: string },
): Promise<SessionKey[]> => {
  let active = db
    .selectFrom('coding_sessions')
    .where('workspace_id', '=', workspace_id)
    .where('ended_at', 'is', null)
    .where('state', '<>', 'cancelling');
  if (app_id !== undefined) active = active.where('app_id', '=', app_id);
  if (user_id !== undefined) active = active.where('user_id', '=', user_id);
  return active.select(['workspace_id', 'id']).orderBy('id').execute();
};

// ---- background

/** The number of active sessions in each state. Ended sessions are kept forever, so they are not counted. */
export async function countSessions(db: Db): Promise<Record<string, number>> {
  const { rows } = await sql<{ state: State; count: number }>`/* service */ select state, count(*)::int as count
    from coding_sessions where ended_at is null group by state`.execute(db);
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

/** SQL for polling. A cancellation is overdue after `cancelMs`. */
export const overdueCancelDueInMs = (cancelMs: number): string =>
  `select extract(epoch from min(cancel_requested_at) - $1) * 1000 + ${cancelMs} from coding_sessions
   where state = 'cancelling'`;

/** Lists sessions whose cancellation was requested before the given time and has not finished. */
export async function listOverdueCancels(db: Db, before: Date, limit: number): Promise<SessionRow[]> {
  const { rows } = await sql<SessionRow>`/* service */ select * from coding_sessions
    where state = 'cancelling' and cancel_requested_at < ${before} order by cancel_requested_at limit ${limit}`.execute(
    db,
  );
  return rows;
}

/** Whether a worker is running the session under this claim. */
export async function isSessionClaimed(
  db: Db,
  { id, claims }: { readonly id: string; readonly claims: number },
): Promise<boolean> {
  const { rows } = await sql`/* service */ select 1 from coding_sessions
    where id = ${id} and claims = ${claims} and claimed_slot is not null`.execute(db);
  return rows.length > 0;
}
