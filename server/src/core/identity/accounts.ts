// Owns accounts: users by e-mail address, sessions, one-time tokens and links, and the revoking of credentials.
import { createHmac, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { takeAdvisoryLock } from '../../kit/db/database.ts';
import { nameClient } from '../../kit/http/client-address.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { Caller, SelfAccess, Visitor, WorkspaceAccess } from '../auth/proofs.ts';
import type { CredentialKind, Pepper } from '../auth/tokens.ts';
import { describeBrowser } from './browsers.ts';
import { rememberPlace } from './sign-in-addresses.ts';
import { insertCredential, type TokenKeys } from './users.ts';

const sessionDays = 30;

/** A proof, or anything else that names a workspace. */
type WorkspaceRef = Pick<WorkspaceAccess, 'workspace_id'>;

export const findUserByEmail = (db: Db, email: string) =>
  db.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst();

export const getUser = (db: Db, id: string) =>
  db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

export const saveName = (db: Db, id: string, full_name: string, now: Date) =>
  db
    .updateTable('users')
    .set({ full_name, updated_date: now })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();

/** The calling user. Every caller is one, except workspace keys, which routes that call this do not accept. */
export function getCallingUser({ caller: { user_id, email } }: SelfAccess): { id: string; email: string } {
  if (user_id === null || email === null) throw new Error('the caller is not a user');
  return { id: user_id, email };
}

/** Creates a browser session at this address. Returns the value of its cookie, which is not stored. */
export async function createSession(
  db: Db,
  keys: TokenKeys,
  user_id: string,
  { ip, user_agent }: Pick<Visitor, 'ip' | 'user_agent'>,
  now: Date,
): Promise<string> {
  const browser = describeBrowser(user_agent);
  const expires_at = new Date(now.getTime() + sessionDays * 24 * 60 * 60 * 1000);
  const { id, token } = await insertCredential(
    db,
    keys,
    {
      kind: 'session',
      user_id,
      workspace_id: null,
      permission: 'full_access',
      expires_at,
      address: nameClient(ip),
      browser,
    },
    now,
  );
  await db.updateTable('credentials').set({ last_used_at: now }).where('id', '=', id).execute();
  await rememberPlace(db, user_id, { ip, browser }, keys.peppers, now);
  return token;
}

/** Who calls, for people to read: an e-mail address, or the name of a workspace key. */
export async function nameCaller(db: Db, { caller, workspace_id }: WorkspaceAccess): Promise<string> {
  if (caller.email !== null) return caller.email;
  const key = await db
    .selectFrom('credentials')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', caller.credential_id)
    .select('name')
    .executeTakeFirst();
  return `workspace key ${key?.name ?? ''}`.trim();
}

/** The headers that set the session cookie. */
export function sessionCookie(token: string, secure: boolean): Record<string, string> {
  const age = sessionDays * 24 * 60 * 60;
  const cookie = `plinth_session=${token}; HttpOnly; SameSite=Lax; Path=/; Max-Age=${age}${secure ? '; Secure' : ''}`;
  return { 'set-cookie': cookie };
}

const sessionsOf = (db: Db, user_id: string) =>
  db.deleteFrom('credentials').where('user_id', '=', user_id).where('kind', '=', 'session');

/** Removes a user's sessions: all of them, or all except one. Returns the ids of those that were removed. */
export async function endSessions(db: Db, user_id: string, exceptId: string | null): Promise<string[]> {
  let sessions = sessionsOf(db, user_id);
  if (exceptId !== null) sessions = sessions.where('id', '<>', exceptId);
  return (await sessions.returning('id').execute()).map(({ id }) => id);
}

export async function endSession(db: Db, user_id: string, id: string): Promise<void> {
  await sessionsOf(db, user_id).where('id', '=', id).execute();
}

/** The workspaces of a user; for a token, only the one that it is bound to. */
export function listWorkspacesOf(db: Db, { user_id, workspace_id }: Pick<Caller, 'user_id' | 'workspace_id'>) {
  let workspaces = db
    .selectFrom('memberships')
    .innerJoin('workspaces', 'workspaces.id', 'memberships.workspace_id')
    .where('memberships.user_id', '=', user_id)
    .where('workspaces.deleted_date', 'is', null)
    .selectAll('workspaces')
    .select('memberships.role')
    .orderBy('memberships.created_date')
    .orderBy('workspaces.id');
  if (workspace_id !== null) workspaces = workspaces.where('workspaces.id', '=', workspace_id);
  return workspaces.execute();
}

/**
 * Creating a token or workspace key and revoking one take the same lock, so that a token that is being revoked can't
 * create a credential that survives it.
 */
export const lockCredentials = (db: Db, { workspace_id }: WorkspaceRef): Promise<void> =>
  takeAdvisoryLock(db, `credentials of ${workspace_id}`);

/**
 * Revokes one credential of the workspace, or all tokens of one person in it, and every token and workspace key that was
 * created with them. Returns what was revoked.
 */
export async function revokeWithDescendants(
  db: Db,
  workspace: WorkspaceRef,
  root: { readonly id: string } | { readonly user_id: string },
  now: Date,
): Promise<{ id: string; kind: CredentialKind }[]> {
  await lockCredentials(db, workspace);
  const { workspace_id } = workspace;
  const isRoot = 'id' in root ? sql`id = ${root.id}` : sql`user_id = ${root.user_id} and kind = 'personal_token'`;
  const { rows } = await sql<{ id: string; kind: CredentialKind }>`
    with recursive descendants as (
      select id from credentials where workspace_id = ${workspace_id} and ${isRoot}
      union
      select made.id from credentials made join descendants on made.parent_id = descendants.id
      where made.workspace_id = ${workspace_id}
    )
    update credentials set revoked_at = ${now}
    where workspace_id = ${workspace_id} and id in (select id from descendants) and revoked_at is null
    returning id, kind`.execute(db);
  return rows;
}

/** The tokens and keys that were revoked in one workspace. */
export interface RevokedInWorkspace {
  readonly workspace_id: string;
  readonly ids: readonly string[];
}

/** Ends the person's sessions, tokens and personal keys, and the workspace keys that were created with their tokens. */
export async function endCredentials(db: Db, user_id: string, now: Date): Promise<RevokedInWorkspace[]> {
  await endSessions(db, user_id, null);
  await db
    .updateTable('credentials')
    .set({ revoked_at: now })
    .where('user_id', '=', user_id)
    .where('kind', '=', 'personal_key')
    .where('revoked_at', 'is', null)
    .execute();
  const memberships = await db
    .selectFrom('memberships')
    .select('workspace_id')
    .where('user_id', '=', user_id)
    .orderBy('workspace_id') // each one is locked: always in the same order
    .execute();
  const revoked: RevokedInWorkspace[] = [];
  for (const { workspace_id } of memberships) {
    const credentials = await revokeWithDescendants(db, { workspace_id }, { user_id }, now);
    if (credentials.length > 0) revoked.push({ workspace_id, ids: credentials.map(({ id }) => id) });
  }
  return revoked;
}

/** A token for the first set-up; undefined once a user exists. Each start creates one, and set-up ends all of them. */
export async function createSetupToken(db: Db, pepper: Pepper, now: Date): Promise<string | undefined> {
  if (await isInitialised(db)) return undefined;
  const token = newOneTimeToken();
  await db
    .insertInto('setup_tokens')
    .values({ hash: hashOneTimeToken(token, pepper), created_date: now })
    .execute();
  return token;
}

export const isInitialised = async (db: Db): Promise<boolean> =>
  (await db.selectFrom('users').select('id').limit(1).executeTakeFirst()) !== undefined;

const linkMs = 60 * 60 * 1000;

/** A link that sets a new password, once, within an hour. */
export async function createResetLink(
  db: Db,
  user_id: string,
  pepper: Pepper,
  baseUrl: string,
  now: Date,
): Promise<string> {
  const token = newOneTimeToken();
  const expires_at = new Date(now.getTime() + linkMs);
  await db
    .insertInto('password_resets')
    .values({ id: newId(), user_id, hash: hashOneTimeToken(token, pepper), expires_at })
    .execute();
  return `${baseUrl}/reset-password#${token}`;
}

// ---- one-time tokens: set-up, password links and invitations. Only their keyed hash is stored.

export const newOneTimeToken = (): string => randomBytes(32).toString('base64url');

export const hashOneTimeToken = (token: string, pepper: Pepper): Buffer =>
  createHmac('sha256', pepper.key).update(`once:${token}`).digest();
