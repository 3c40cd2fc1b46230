// The queries on an app's connections.
import { type Selectable, sql, type Updateable } from 'kysely';
import { transaction } from '../../../kit/db/database.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import type { Db, Tables } from '../../../tables.ts';

/** An app, identified by a proof or a row. */
export interface AppRef {
  readonly workspace_id: string;
  readonly id: string;
}

export type ConnectionConfig = Readonly<Record<string, string>>;

export type ConnectionRow = Omit<Selectable<Tables['connections']>, 'connection_config'> & {
  readonly connection_config: ConnectionConfig;
};
export type ConnectionKey = Pick<ConnectionRow, 'workspace_id' | 'id'>;

/** The secrets and token times of an inactive connection. */
export const noTokens = {
  access_token_sealed: null,
  refresh_token_sealed: null,
  credentials_sealed: null,
  expires_at: null,
  next_refresh_at: null,
  refresh_started_at: null,
  refresh_attempts: 0,
  refresh_ended_at: null,
} as const;

const selectConnections = (db: Db, app: AppRef) =>
  db
    .selectFrom('connections')
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .selectAll()
    .$castTo<ConnectionRow>();

export const findConnection = (db: Db, app: AppRef, integration_type: string): Promise<ConnectionRow | undefined> =>
  selectConnections(db, app).where('integration_type', '=', integration_type).executeTakeFirst();

/** Blocks other changes to the connection until the transaction ends. */
export const lockConnection = (db: Db, app: AppRef, integration_type: string): Promise<ConnectionRow | undefined> =>
  selectConnections(db, app).where('integration_type', '=', integration_type).forNoKeyUpdate().executeTakeFirst();

export const lockConnectionById = (db: Db, { workspace_id, id }: ConnectionKey): Promise<ConnectionRow | undefined> =>
  db
    .selectFrom('connections')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .selectAll()
    .$castTo<ConnectionRow>()
    .forNoKeyUpdate()
    .executeTakeFirst();

/** A connection that has been connected at least once. */
export type ListedConnection = ConnectionRow & {
  readonly status: Exclude<ConnectionRow['status'], 'pending'>;
  readonly connected_at: Date;
  readonly user_email: string | null;
};

/** Lists connections by type, except those that were never connected. */
export const listConnections = (
  db: Db,
  app: AppRef,
  limit: number,
  after: Position | undefined,
): Promise<ListedConnection[]> =>
  db
    .selectFrom('connections')
    .leftJoin('users', 'users.id', 'connections.user_id')
    .where('connections.workspace_id', '=', app.workspace_id)
    .where('connections.app_id', '=', app.id)
    .where('connections.status', '<>', 'pending')
    .where('connections.integration_type', '>', String(after?.[0] ?? ''))
    .selectAll('connections')
    .select('users.email as user_email')
    .orderBy('connections.integration_type')
    .limit(limit + 1)
    .$castTo<ListedConnection>()
    .execute();

export async function findEmail(db: Db, user_id: string): Promise<string | null> {
  const person = await db.selectFrom('users').where('id', '=', user_id).select('email').executeTakeFirst();
  return person?.email ?? null;
}

/** Returns the stored row, because another request may have inserted it at the same time. */
export async function insertConnection(
  db: Db,
  app: AppRef,
  row: Pick<ConnectionRow, 'id' | 'integration_type' | 'user_id'>,
  now: Date,
): Promise<ConnectionRow> {
  await db
    .insertInto('connections')
    .values({
      ...row,
      workspace_id: app.workspace_id,
      app_id: app.id,
      status: 'pending',
      created_date: now,
      updated_date: now,
    })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'app_id', 'integration_type']).doNothing())
    .execute();
  const stored = await lockConnection(db, app, row.integration_type);
  if (stored === undefined) throw new Error('the connection was removed while it was being inserted');
  return stored;
}

export type ConnectionChange = Omit<Updateable<Tables['connections']>, 'connection_config'> & {
  readonly connection_config?: ConnectionConfig;
};

export async function saveConnection(
  db: Db,
  { workspace_id, id }: ConnectionKey,
  { connection_config, ...change }: ConnectionChange,
): Promise<void> {
  await db
    .updateTable('connections')
    .set({ ...change, ...(connection_config && { connection_config: JSON.stringify(connection_config) }) })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

/** Also removes the connection's attempt. */
export async function removeConnection(db: Db, { workspace_id, id }: ConnectionKey): Promise<void> {
  await db.deleteFrom('connections').where('workspace_id', '=', workspace_id).where('id', '=', id).execute();
}

/** Removes connections that were started but never connected, a day after the attempt expired. Returns their number. */
export const removeAbandonedConnections = (db: Db, expiredBefore: Date): Promise<number> =>
  transaction(db, async (db) => {
    const { rows } = await sql<{ id: string }>`/* service */ select c.id
      from connections c left join connection_attempts a on a.connection_id = c.id
      where c.status = 'pending' and coalesce(a.expires_at, c.created_date) < ${expiredBefore}
      limit 1000 for update of c skip locked`.execute(db);
    // Starting a connection locks it before storing an attempt, so this statement sees every attempt.
    const { numAffectedRows } = await sql`/* service */ delete from connections c
      where id = any(${rows.map(({ id }) => id)}) and status = 'pending' and not exists (
        select from connection_attempts a where a.connection_id = c.id and a.expires_at >= ${expiredBefore})`.execute(
      db,
    );
    return Number(numAffectedRows ?? 0);
  });
