// The queries for refreshing: the claim that stops other processes from refreshing
// the same connection, and the stored result.
//
// `refresh_started_at` is both the claim and the record that a refresh token was sent. Here is an example with tokens
// that expire at 13:00:
//
//   step                                        refresh_started_at  next_refresh_at  refresh_attempts
//   connected                                   -                   12:55:00         0
//   claimed, and committed before the request   12:55:02            12:56:02         0
//   the service returns 503                     -                   12:56:03         1
//   claimed                                     12:56:04            12:57:04         1
//   the process is killed
//   another process claims it                   12:57:05            12:58:05         1    (was interrupted)
//   the service returns `invalid_grant`, because the killed process used up the token, and the connection expires
import { sql } from 'kysely';
import { prepared } from '../../../../kit/db/database.ts';
import type { Db } from '../../../../tables.ts';
import { type ConnectionKey, type ConnectionRow, noTokens } from '../../store/connections.ts';

/** SQL for polling. */
export const endDueInMs = `select extract(epoch from expires_at - $1) * 1000 from connections
   where expires_at is not null and refresh_token_sealed is null order by expires_at limit 1`;

/** Lists connections whose access token has expired and can't be refreshed. */
export async function listEnded(db: Db, limit: number, now: Date): Promise<ConnectionKey[]> {
  const { rows } = await sql<ConnectionKey>`/* service */ select c.workspace_id, c.id
    from connections c join apps a on a.workspace_id = c.workspace_id and a.id = c.app_id
    where c.expires_at <= ${now} and c.refresh_token_sealed is null and a.deleted_date is null
    order by c.expires_at limit ${limit}`.execute(db);
  return rows;
}

const columns = `id, workspace_id, app_id, integration_type, status, user_id, connection_config, access_token_sealed,
  refresh_token_sealed, credentials_sealed, expires_at, last_error, connected_at, next_refresh_at, refresh_started_at, refresh_attempts,
  refresh_ended_at`;

/** The connection columns needed for requests and refreshes. */
export type UsableConnection = Pick<
  ConnectionRow,
  | 'id'
  | 'workspace_id'
  | 'app_id'
  | 'integration_type'
  | 'status'
  | 'user_id'
  | 'connection_config'
  | 'access_token_sealed'
  | 'refresh_token_sealed'
  | 'credentials_sealed'
  | 'expires_at'
  | 'last_error'
  | 'connected_at'
  | 'next_refresh_at'
  | 'refresh_started_at'
  | 'refresh_attempts'
  | 'refresh_ended_at'
>;

const selectForUse = prepared<UsableConnection, [workspaceId: string, appId: string, integrationType: string]>(
  'find connection for use',
  `select ${columns} from connections where workspace_id = $1 and app_id = $2 and integration_type = $3`,
);

export const findForUse = async (
  db: Db,
  app: { readonly workspace_id: string; readonly id: string },
  integrationType: string,
): Promise<UsableConnection | undefined> => (await selectForUse(db, app.workspace_id, app.id, integrationType))[0];

const selectById = prepared<UsableConnection, [workspaceId: string, id: string]>(
  'find connection to refresh',
  `select ${columns} from connections where workspace_id = $1 and id = $2`,
);

export const findById = async (db: Db, { workspace_id, id }: ConnectionKey): Promise<UsableConnection | undefined> =>
  (await selectById(db, workspace_id, id))[0];

/** Whether the connection's app is in the trash. Its tokens are not refreshed there. */
export async function isInTrash(db: Db, { workspace_id, app_id }: UsableConnection): Promise<boolean> {
  const app = await db
    .selectFrom('apps')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', app_id)
    .where('deleted_date', 'is not', null)
    .select('id')
    .executeTakeFirst();
  return app !== undefined;
}

/** From then on, only a use of the connection refreshes its tokens. */
export async function stopRefreshing(db: Db, { workspace_id, id }: ConnectionKey): Promise<void> {
  await db
    .updateTable('connections')
    .set({ next_refresh_at: null })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

/**
 * Claims the right to refresh the given tokens. Undefined if another process has claimed it or replaced the tokens.
 * `wasInterrupted` means that an earlier refresh has an unknown outcome, so the service may have used up the refresh
 * token.
 */
export async function claimRefresh(
  db: Db,
  seen: UsableConnection,
  leaseMs: number,
  now: Date,
): Promise<{ wasInterrupted: boolean } | undefined> {
  const [claimed] = await updateClaim(
    db,
    seen.workspace_id,
    seen.id,
    seen.refresh_token_sealed,
    seen.refresh_started_at,
    now,
    new Date(now.getTime() + leaseMs),
    new Date(now.getTime() - leaseMs),
  );
  return claimed === undefined ? undefined : { wasInterrupted: seen.refresh_started_at !== null };
}

const updateClaim = prepared<
  { id: string },
  [
    workspaceId: string,
    id: string,
    seenRefreshToken: string | null,
    seenStartedAt: Date | null,
    now: Date,
    leaseEndsAt: Date,
    staleBefore: Date,
  ]
>(
  'claim refresh of connection',
  `update connections set refresh_started_at = $5, next_refresh_at = $6
   where workspace_id = $1 and id = $2 and status = 'active' and refresh_token_sealed = $3
     and refresh_started_at is not distinct from $4 and (refresh_started_at is null or refresh_started_at <= $7)
   returning id`,
);

/**
 * Saves a refresh's result. Writes nothing if the connection has been changed or claimed by another process in the
 * meantime.
 */
async function saveClaimed(
  db: Db,
  { workspace_id, id }: ConnectionKey,
  startedAt: Date,
  change: Partial<Omit<ConnectionRow, 'connection_config' | 'scopes'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('connections')
    .set(change)
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('status', '=', 'active')
    .where('refresh_started_at', '=', startedAt)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export type RefreshedTokens = Pick<
  ConnectionRow,
  'access_token_sealed' | 'expires_at' | 'next_refresh_at' | 'refresh_ended_at'
> & {
  /** Absent if the service did not replace it. */
  readonly refresh_token_sealed?: string;
};

export const saveRefreshed = (db: Db, key: ConnectionKey, startedAt: Date, tokens: RefreshedTokens): Promise<boolean> =>
  saveClaimed(db, key, startedAt, { ...tokens, refresh_started_at: null, refresh_attempts: 0, last_error: null });

/** `refresh_started_at` keeps or regains its earlier value while a refresh has an unknown outcome. */
export const saveFailure = (
  db: Db,
  key: ConnectionKey,
  startedAt: Date,
  failure: Pick<
    ConnectionRow,
    'refresh_started_at' | 'refresh_attempts' | 'refresh_ended_at' | 'next_refresh_at' | 'last_error'
  >,
): Promise<boolean> => saveClaimed(db, key, startedAt, failure);

export const saveExpired = (
  db: Db,
  key: ConnectionKey,
  startedAt: Date,
  lastError: string,
  now: Date,
): Promise<boolean> =>
  saveClaimed(db, key, startedAt, { ...noTokens, status: 'expired', last_error: lastError, updated_date: now });

/** Returns false if a user has reconnected in the meantime, so the token is valid or can be refreshed. */
export async function saveEnded(
  db: Db,
  { workspace_id, id }: ConnectionKey,
  lastError: string,
  now: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('connections')
    .set({ ...noTokens, status: 'expired', last_error: lastError, updated_date: now })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('refresh_token_sealed', 'is', null)
    .where('expires_at', '<=', now)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** For the metric. Counts connections whose last refresh failed and whose access token has not expired. */
export async function countFailing(db: Db, now: Date): Promise<number> {
  const { rows } = await sql<{ count: number }>`/* service */ select count(*)::int as count from connections
    where refresh_attempts > 0 and next_refresh_at is not null and (expires_at is null or expires_at > ${now})`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}
