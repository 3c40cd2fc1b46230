// Accounts: users by e-mail address, sessions, one-time tokens and links, and the revocation of credentials.
import { createHmac, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { takeAdvisoryLock } from '../../kit/db/database.ts';
import { nameClient } from '../../kit/http/connection/client-address.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { Caller, SelfAccess, Visitor, WorkspaceAccess } from '../auth/proofs.ts';
import { writeSessionCookie } from '../auth/session-cookie.ts';
import type { CredentialKind, Pepper } from '../auth/tokens.ts';
import { describeBrowser } from './browsers.ts';
import { rememberPlace } from './sign-in-addresses.ts';
import { insertCredential, type TokenKeys } from './users.ts';

const sessionDays = 30;

/** A proof, or any other value with a workspace id. */
type WorkspaceRef = Pick<WorkspaceAccess, 'workspace_id'>;

export const findUserByEmail = (db: Db, email: string) =>
  db.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst();

export const getUser = (db: Db, id: string) =>
  db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

/** Locks the account until the transaction ends, so it can be compared with a change. */
export const lockUser = (db: Db, id: string) =>
  db.selectFrom('users').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirstOrThrow();

export const saveName = (db: Db, id: string, full_name: string, now: Date) =>
  db
    .updateTable('users')
    .set({ full_name, updated_date: now })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();

/**
 * Returns the calling user. Every caller except a workspace key is a user, and the routes that use this function do not
 * accept workspace keys.
 */
export function getCallingUser({ caller: { user_id, email } }: SelfAccess): { id: string; email: string } {
  if (user_id === null || email === null) throw new Error('the caller is not a user');
  return { id: user_id, email };
}

export interface SessionDeps {
  readonly tokenKeys: TokenKeys;
  /** Whether BASE_URL uses https. The session cookie is then `Secure`, and its name keeps other hosts from setting it. */
  readonly secureCookie: boolean;
}

/** Creates a browser session and records where it was started. Returns the cookie's value, which is not stored. */
export async function createSession(
  db: Db,
  { tokenKeys: keys, secureCookie }: SessionDeps,
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
      host_cookie: secureCookie,
      address: nameClient(ip),
      browser,
    },
    now,
  );
  await db.updateTable('credentials').set({ last_used_at: now }).where('id', '=', id).execute();
  await rememberPlace(db, user_id, { ip, browser }, keys.peppers, now);
  return token;
}

/** Returns a readable name for the caller: an e-mail address, or a workspace key's name. */
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

/** Returns the header that sets the session cookie. */
export const sessionCookie = (token: string, isHttps: boolean) =>
  writeSessionCookie(token, sessionDays * 24 * 60 * 60, isHttps);

const sessionsOf = (db: Db, user_id: string) =>
  db.deleteFrom('credentials').where('user_id', '=', user_id).where('kind', '=', 'session');

/** Removes a user's sessions, except the one with the id `exceptId`. Returns the ids of the removed sessions. */
export async function endSessions(db: Db, user_id: string, exceptId: string | null): Promise<string[]> {
  let sessions = sessionsOf(db, user_id);
  if (exceptId !== null) sessions = sessions.where('id', '<>', exceptId);
  return (await sessions.returning('id').execute()).map(({ id }) => id);
}

export async function endSession(db: Db, user_id: string, id: string): Promise<void> {
  await sessionsOf(db, user_id).where('id', '=', id).execute();
}

/** Lists a user's workspaces. A token sees only the workspace that it is bound to. */
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
 * Taken when a token or workspace key is created or revoked, so a token that is being revoked can't create a credential
 * that outlives it.
 */
export const lockCredentials = (db: Db, { workspace_id }: WorkspaceRef): Promise<void> =>
  takeAdvisoryLock(db, `credentials of ${workspace_id}`);

/**
 * Revokes one of the workspace's credentials, or all of a person's tokens in it, together with every token and
 * workspace key created with them. Returns the revoked credentials.
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

/** Ends the person's sessions, tokens and personal keys, and the workspace keys created with those tokens. */
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
    .orderBy('workspace_id') // a fixed order, because each workspace is locked
    .execute();
  const revoked: RevokedInWorkspace[] = [];
  for (const { workspace_id } of memberships) {
    const credentials = await revokeWithDescendants(db, { workspace_id }, { user_id }, now);
    if (credentials.length > 0) revoked.push({ workspace_id, ids: credentials.map(({ id }) => id) });
  }
  return revoked;
}

/**
 * Creates a token for the initial setup. Undefined once a user exists. Each start of the server creates a token, and
 * completing the setup invalidates all of them.
 */
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

/** Creates a link for setting a new password. The link can be used once, within an hour. */
export async function createResetLink(
  db: Db,
  pepper: Pepper,
  user_id: string,
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

// ---- one-time tokens for setup, password links and invitations. Only their keyed hash is stored.

export const newOneTimeToken = (): string => randomBytes(32).toString('base64url');

export const hashOneTimeToken = (token: string, pepper: Pepper): Buffer =>
  createHmac('sha256', pepper.key).update(`once:${token}`).digest();
