// The queries on credentials by user or workspace, setup tokens, password resets and queued e-mails.
import { sql } from 'kysely';
import { sessionIdleMs } from '../../core/auth/credentials.ts';
import type { SelfAccess, WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { CredentialKind } from '../../core/auth/tokens.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { idOrNull, newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { CredentialRow } from './contract.ts';

const liveCredentials = (db: Db, kind: CredentialKind, now: Date) =>
  db
    .selectFrom('credentials')
    .selectAll('credentials')
    .where('credentials.kind', '=', kind)
    .where('credentials.revoked_at', 'is', null)
    .where((is) => is.or([is('credentials.expires_at', 'is', null), is('credentials.expires_at', '>', now)]))
    .orderBy('credentials.created_date', 'desc')
    .orderBy('credentials.id', 'desc');

const ownTokens = (db: Db, access: WorkspaceAccess, now: Date) =>
  liveCredentials(db, 'personal_token', now)
    .where('credentials.workspace_id', '=', access.workspace_id)
    .where('credentials.user_id', '=', access.caller.user_id);

const workspaceTokens = (db: Db, access: WorkspaceAccess, now: Date) =>
  liveCredentials(db, 'personal_token', now)
    .innerJoin('users', 'users.id', 'credentials.user_id')
    .where('credentials.workspace_id', '=', access.workspace_id)
    .select('users.email as owner_email');

const workspaceKeys = (db: Db, access: WorkspaceAccess, now: Date) =>
  liveCredentials(db, 'workspace_key', now).where('credentials.workspace_id', '=', access.workspace_id);

const ownApiKeys = (db: Db, access: SelfAccess, now: Date) =>
  liveCredentials(db, 'personal_key', now).where('credentials.user_id', '=', access.caller.user_id);

/** Selects the caller's sessions that have not expired. */
const ownSessions = (db: Db, access: SelfAccess, now: Date) =>
  liveCredentials(db, 'session', now)
    .where('credentials.user_id', '=', access.caller.user_id)
    .where((is) =>
      is.or([
        is('credentials.last_used_at', 'is', null),
        is('credentials.last_used_at', '>=', new Date(now.getTime() - sessionIdleMs)),
      ]),
    );

export const listSessions = (db: Db, access: SelfAccess, limit: number, now: Date) =>
  ownSessions(db, access, now).limit(limit).execute();
export const findSession = (db: Db, access: SelfAccess, id: string, now: Date) =>
  ownSessions(db, access, now).where('credentials.id', '=', idOrNull(id)).executeTakeFirst();

export const listTokens = (db: Db, access: WorkspaceAccess, now: Date) => ownTokens(db, access, now).execute();
export const listWorkspaceTokens = (db: Db, access: WorkspaceAccess, now: Date) =>
  workspaceTokens(db, access, now).execute();
export const listWorkspaceKeys = (db: Db, access: WorkspaceAccess, now: Date) =>
  workspaceKeys(db, access, now).execute();
export const listApiKeys = (db: Db, access: SelfAccess, now: Date) => ownApiKeys(db, access, now).execute();

export const findToken = (db: Db, access: WorkspaceAccess, id: string) =>
  ownTokens(db, access, new Date(0)).where('credentials.id', '=', idOrNull(id)).executeTakeFirst();
export const findWorkspaceToken = (db: Db, access: WorkspaceAccess, id: string) =>
  workspaceTokens(db, access, new Date(0)).where('credentials.id', '=', idOrNull(id)).executeTakeFirst();
export const findWorkspaceKey = (db: Db, access: WorkspaceAccess, id: string) =>
  workspaceKeys(db, access, new Date(0)).where('credentials.id', '=', idOrNull(id)).executeTakeFirst();
export const findApiKey = (db: Db, access: SelfAccess, id: string) =>
  ownApiKeys(db, access, new Date(0)).where('credentials.id', '=', idOrNull(id)).executeTakeFirst();

export const isCallerLive = async (db: Db, { caller }: SelfAccess): Promise<boolean> =>
  (await db
    .selectFrom('credentials')
    .select('id')
    .where('id', '=', caller.credential_id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()) !== undefined;

export const getToken = (db: Db, access: WorkspaceAccess, id: string) =>
  ownTokens(db, access, new Date(0)).where('credentials.id', '=', id).executeTakeFirstOrThrow();
export const getWorkspaceKey = (db: Db, access: WorkspaceAccess, id: string) =>
  workspaceKeys(db, access, new Date(0)).where('credentials.id', '=', id).executeTakeFirstOrThrow();

/** Locks a token or key until the transaction ends, so it can be compared with a change. */
export const lockCredential = (db: Db, access: WorkspaceAccess, id: string): Promise<CredentialRow> =>
  db
    .selectFrom('credentials')
    .where('id', '=', id)
    .where('workspace_id', '=', access.workspace_id)
    .selectAll()
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();

export async function saveCredential(
  db: Db,
  access: WorkspaceAccess,
  id: string,
  change: { name?: string; description?: string },
) {
  return db
    .updateTable('credentials')
    .set(change)
    .where('id', '=', id)
    .where('workspace_id', '=', access.workspace_id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function markApiKeyRevoked(db: Db, access: SelfAccess, id: string, now: Date): Promise<void> {
  await db
    .updateTable('credentials')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('user_id', '=', access.caller.user_id)
    .execute();
}

/** Selects all users of the installation, newest first. Requires an operator's proof. */
export function listUsers(
  db: Db,
  _access: SelfAccess,
  { email, limit }: { email?: string; limit: number },
  after: Position | undefined,
) {
  let users = db
    .selectFrom('users')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(limit + 1);
  if (email !== undefined) users = users.where('email', '=', email.trim().toLowerCase());
  if (after) users = users.where(sql<boolean>`id < ${after[0]}::uuid`);
  return users.execute();
}

export const findUser = (db: Db, _access: SelfAccess, id: string) =>
  db.selectFrom('users').selectAll().where('id', '=', idOrNull(id)).executeTakeFirst();

export async function isRedeemable(db: Db, hash: Buffer, now: Date): Promise<boolean> {
  const reset = await db
    .selectFrom('password_resets')
    .select('user_id')
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return reset !== undefined;
}

/** Marks a reset as used and returns its user. Undefined if the hash is unknown, used or expired. */
export async function redeemReset(db: Db, hash: Buffer, now: Date) {
  return db
    .updateTable('password_resets')
    .set({ used_at: now })
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('user_id')
    .executeTakeFirst();
}

export const findSetupToken = (db: Db, hash: Buffer) =>
  db.selectFrom('setup_tokens').select('hash').where('hash', '=', hash).executeTakeFirst();

export async function removeSetupTokens(db: Db): Promise<void> {
  await db.deleteFrom('setup_tokens').execute();
}

const maxWaitingResetMails = 10_000;

/** Queues a mail for an address that may have no account. Returns false if too many mails are waiting. */
export async function insertResetMail(db: Db, email: string, now: Date): Promise<boolean> {
  const { numAffectedRows } = await sql`insert into reset_mails (id, email, address_id, created_date, due_at)
    select ${newId()}::uuid, ${email}, md5(${email})::uuid, ${now}::timestamptz, clock_timestamp()
    where (select count(*) from (select from reset_mails where claimed_slot is null and due_at is not null
      limit ${maxWaitingResetMails}) waiting) < ${maxWaitingResetMails}`.execute(db);
  return Number(numAffectedRows) === 1;
}

/** Removes a mail for an address without an account, so requests for such addresses leave nothing behind. */
export async function removeResetMail(db: Db, id: string): Promise<void> {
  await db.deleteFrom('reset_mails').where('id', '=', id).execute();
}

const maxSignInMailsPerDay = 5;

/** Queues at most five e-mails a day, so a person who knows the password can't fill the user's inbox. */
export async function insertSignInMail(
  db: Db,
  user_id: string,
  { address, browser }: { address: string; browser: string },
  now: Date,
): Promise<void> {
  await sql`insert into sign_in_mails (id, user_id, address, browser, created_date, due_at)
    select ${newId()}::uuid, ${user_id}::uuid, ${address}, ${browser}, ${now}::timestamptz, clock_timestamp()
    where (select count(*) from sign_in_mails where user_id = ${user_id} and created_date > ${dayBefore(now)})
      < ${maxSignInMailsPerDay}`.execute(db);
}

const dayBefore = (now: Date): Date => new Date(now.getTime() - 24 * 60 * 60 * 1000);

/** Finished rows are kept for a day, so an operator can see why an e-mail was not sent. */
export async function removeOldMails(db: Db, now: Date): Promise<number> {
  let removed = 0;
  for (const table of ['reset_mails', 'sign_in_mails'] as const) {
    const { numDeletedRows } = await db
      .deleteFrom(table)
      .where('due_at', 'is', null)
      .where('created_date', '<', dayBefore(now))
      .executeTakeFirstOrThrow();
    removed += Number(numDeletedRows);
  }
  return removed;
}
