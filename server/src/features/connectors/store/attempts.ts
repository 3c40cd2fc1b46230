// The queries on connection attempts, from the start to the callback.
import { type Selectable, sql } from 'kysely';
import type { Db, Tables } from '../../../tables.ts';
import type { AppRef, ConnectionConfig, ConnectionKey } from './connections.ts';

export type AttemptRow = Omit<Selectable<Tables['connection_attempts']>, 'connection_config'> & {
  readonly connection_config: ConnectionConfig;
};
export type AttemptError = NonNullable<AttemptRow['error']>;
export type AttemptKey = Pick<AttemptRow, 'workspace_id' | 'id'>;

/** An attempt with its connection's app and type. */
export type AttemptOfApp = AttemptRow & { readonly app_id: string; readonly integration_type: string };

export const findAttempt = (db: Db, connection: ConnectionKey): Promise<AttemptRow | undefined> =>
  db
    .selectFrom('connection_attempts')
    .where('workspace_id', '=', connection.workspace_id)
    .where('connection_id', '=', connection.id)
    .selectAll()
    .$castTo<AttemptRow>()
    .executeTakeFirst();

/**
 * A browser sends only the state, which identifies the attempt and its tenant. Undefined if the state has been used.
 */
export async function findAttemptByState(db: Db, stateHash: Buffer): Promise<AttemptOfApp | undefined> {
  const { rows } = await sql<AttemptOfApp>`/* lookup */ select a.*, c.app_id, c.integration_type
    from connection_attempts a join connections c on c.workspace_id = a.workspace_id and c.id = a.connection_id
    where a.state_hash = ${stateHash}`.execute(db);
  return rows[0];
}

/** Replaces the connection's earlier attempt and invalidates its state. */
export async function saveAttempt(db: Db, row: AttemptRow): Promise<void> {
  const columns = { ...row, connection_config: JSON.stringify(row.connection_config) };
  await db
    .insertInto('connection_attempts')
    .values(columns)
    .onConflict((conflict) => conflict.column('connection_id').doUpdateSet(columns))
    .execute();
}

/**
 * Stores the cookie of the browser that is about to be redirected to the service. Opening the link again replaces the
 * cookie.
 */
export async function saveCookie(db: Db, { workspace_id, id }: AttemptKey, cookieHash: Buffer): Promise<void> {
  await db
    .updateTable('connection_attempts')
    .set({ cookie_hash: cookieHash })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('state_hash', 'is not', null)
    .execute();
}

/** Uses up the state and the cookie. Only one of two concurrent callbacks gets true. */
export async function useState(
  db: Db,
  { workspace_id, id, state_hash }: AttemptRow,
  cookieHash: Buffer,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('connection_attempts')
    .set({ state_hash: null, cookie_hash: null, code_verifier_sealed: null })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('state_hash', '=', state_hash)
    .where('cookie_hash', '=', cookieHash)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function failAttempt(db: Db, { workspace_id, id }: AttemptKey, error: AttemptError): Promise<void> {
  await db
    .updateTable('connection_attempts')
    .set({ error, state_hash: null, cookie_hash: null, code_verifier_sealed: null })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

/** Returns whether there was an attempt. */
export async function removeAttempt(db: Db, connection: ConnectionKey): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('connection_attempts')
    .where('workspace_id', '=', connection.workspace_id)
    .where('connection_id', '=', connection.id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Used when an app is moved to the trash. */
export async function removeAttemptsOf(db: Db, app: AppRef): Promise<void> {
  await sql`delete from connection_attempts where workspace_id = ${app.workspace_id} and connection_id in (
    select id from connections where workspace_id = ${app.workspace_id} and app_id = ${app.id})`.execute(db);
}

/** Removes attempts that expired long ago, and returns their number. Their connections are kept. */
export async function removeOldAttempts(db: Db, expiredBefore: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from connection_attempts where id in (
      select id from connection_attempts where expires_at < ${expiredBefore} limit 1000)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
