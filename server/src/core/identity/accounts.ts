// Owns the writing of accounts: people found by e-mail, sessions begun and ended, one-time links, credentials revoked.
import { createHmac, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { Caller, SelfAccess, WorkspaceAccess } from '../auth/proofs.ts';
import type { Pepper } from '../auth/tokens.ts';
import { insertCredential, type TokenKeys } from './users.ts';

const sessionDays = 30;

export const findUserByEmail = (db: Db, email: string) =>
  db.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst();

export const getUser = (db: Db, id: string) =>
  db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

/** Begins a browser session; gives the cookie's value, which exists nowhere else. */
export async function createSession(db: Db, mint: TokenKeys, user_id: string, now: Date): Promise<string> {
  const expires_at = new Date(now.getTime() + sessionDays * 24 * 60 * 60 * 1000);
  const { id, token } = await insertCredential(
    db,
    mint,
    { kind: 'session', user_id, workspace_id: null, permission: 'full_access', expires_at },
    now,
  );
  await db.updateTable('credentials').set({ last_used_at: now }).where('id', '=', id).execute();
  return token;
}

/** The headers that give a browser its session. */
export function sessionCookie(token: string, secure: boolean): Record<string, string> {
  const age = sessionDays * 24 * 60 * 60;
  const cookie = `plinth_session=${token}; HttpOnly; SameSite=Lax; Path=/; Max-Age=${age}${secure ? '; Secure' : ''}`;
  return { 'set-cookie': cookie, 'cache-control': 'no-store' };
}

/** Ends a person's sessions: all of them, or all but one. */
export async function endSessions(db: Db, user_id: string, but: string | null): Promise<void> {
  let ended = db.deleteFrom('credentials').where('user_id', '=', user_id).where('kind', '=', 'session');
  if (but !== null) ended = ended.where('id', '<>', but);
  await ended.execute();
}

export async function endSession(db: Db, access: SelfAccess): Promise<void> {
  await db
    .deleteFrom('credentials')
    .where('id', '=', access.caller.credential_id)
    .where('kind', '=', 'session')
    .execute();
}

/** A person's workspaces: all they belong to, or only the one that their token is bound to. */
export function listWorkspacesOf(db: Db, { user_id, workspace_id }: Pick<Caller, 'user_id' | 'workspace_id'>) {
  let found = db
    .selectFrom('memberships')
    .innerJoin('workspaces', 'workspaces.id', 'memberships.workspace_id')
    .where('memberships.user_id', '=', user_id)
    .where('workspaces.deleted_date', 'is', null)
    .selectAll('workspaces')
    .select('memberships.role')
    .orderBy('memberships.created_date')
    .orderBy('workspaces.id');
  if (workspace_id !== null) found = found.where('workspaces.id', '=', workspace_id);
  return found.execute();
}

/** Revokes a credential of the workspace and everything made by it. Gives the ids revoked. */
export async function revokeWithDescendants(
  db: Db,
  access: WorkspaceAccess,
  credentialId: string,
  now: Date,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with recursive line as (
      select id from credentials where id = ${credentialId} and workspace_id = ${access.workspace_id}
      union
      select made.id from credentials made join line on made.parent_id = line.id
      where made.workspace_id = ${access.workspace_id}
    )
    update credentials set revoked_at = ${now}
    where workspace_id = ${access.workspace_id} and id in (select id from line) and revoked_at is null
    returning id`.execute(db);
  return rows.map((row) => row.id);
}

/** While there is nobody yet: a token that allows the first set-up. Each start makes one; all of them end with it. */
export async function createSetupToken(db: Db, pepper: Pepper, now: Date): Promise<string | undefined> {
  if (await isInitialised(db)) return undefined;
  const text = newOneTimeToken();
  await db
    .insertInto('setup_tokens')
    .values({ hash: hashOneTimeToken(text, pepper), created_date: now })
    .execute();
  return text;
}

export const isInitialised = async (db: Db): Promise<boolean> =>
  (await db.selectFrom('users').select('id').limit(1).executeTakeFirst()) !== undefined;

const linkMs = 60 * 60 * 1000;

/** A link that sets a new password, once, within the hour. */
export async function createResetLink(
  db: Db,
  user_id: string,
  pepper: Pepper,
  baseUrl: string,
  now: Date,
): Promise<string> {
  const text = newOneTimeToken();
  const expires_at = new Date(now.getTime() + linkMs);
  await db
    .insertInto('password_resets')
    .values({ id: newId(), user_id, hash: hashOneTimeToken(text, pepper), expires_at })
    .execute();
  return `${baseUrl}/reset-password#${text}`;
}

// ---- one-time texts: set-up tokens, password links and invitations; only their keyed hash is kept

export const newOneTimeToken = (): string => randomBytes(32).toString('base64url');

export const hashOneTimeToken = (text: string, pepper: Pepper): Buffer =>
  createHmac('sha256', pepper.key).update(`once:${text}`).digest();
