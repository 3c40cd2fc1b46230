// Inserts users, workspaces, memberships and credentials.
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import { monthlyCredits, type Plan } from '../auth/plans.ts';
import type { WorkspaceRole } from '../auth/roles.ts';
import { type CredentialKind, hashToken, mintToken, type Peppers } from '../auth/tokens.ts';

/** The inputs for a credential's text and hash. */
export interface TokenKeys {
  readonly peppers: Peppers;
  readonly cellCode: string;
}

interface NewUser {
  readonly email: string;
  readonly full_name: string;
  readonly is_operator?: boolean;
  /** Whether the address is verified (docs/api/accounts.md#e-mail-addresses). */
  readonly email_verified: boolean;
}

export async function insertUser(db: Db, { email_verified, ...person }: NewUser, now: Date): Promise<string> {
  const id = newId();
  const email = person.email.trim().toLowerCase();
  await db
    .insertInto('users')
    .values({
      ...person,
      id,
      email,
      email_verified_at: email_verified ? now : null,
      created_date: now,
      updated_date: now,
    })
    .execute();
  return id;
}

interface NewWorkspace {
  readonly name: string;
  readonly plan: Plan;
  readonly owner_id: string;
  readonly country_code?: string;
  /** Defaults to the plan's monthly credits. */
  readonly monthly_limit?: number;
}

export async function insertWorkspace(db: Db, { owner_id, ...workspace }: NewWorkspace, now: Date): Promise<string> {
  const id = newId();
  await db
    .insertInto('workspaces')
    .values({ monthly_limit: monthlyCredits[workspace.plan], ...workspace, id, created_date: now, updated_date: now })
    .execute();
  await insertMembership(db, { workspace_id: id, user_id: owner_id, role: 'owner' }, now);
  return id;
}

export async function insertMembership(
  db: Db,
  membership: { workspace_id: string; user_id: string; role: WorkspaceRole },
  now: Date,
): Promise<void> {
  await db
    .insertInto('memberships')
    .values({ ...membership, created_date: now, updated_date: now })
    .execute();
}

export interface NewCredential {
  readonly kind: CredentialKind;
  readonly name?: string;
  readonly user_id: string | null;
  readonly workspace_id: string | null;
  readonly app_user_id?: string;
  readonly permission: 'read_only' | 'full_access';
  readonly app_ids?: readonly string[] | null;
  readonly scopes?: readonly string[] | null;
  readonly expires_at?: Date | null;
  readonly description?: string;
  readonly parent_id?: string | null;
  readonly created_by?: string | null;
  /** Where the session was started. */
  readonly address?: string;
  readonly browser?: string;
  /** Whether a session must come in the cookie that only this host can set. */
  readonly host_cookie?: boolean;
  /** Set for the token of an app user who signed in. Renewed tokens expire by this time at the latest. */
  readonly sign_in_ends_at?: Date | null;
}

/** Returns the new credential's text, which is not stored. */
export async function insertCredential(
  db: Db,
  keys: TokenKeys,
  credential: NewCredential,
  now: Date,
): Promise<{ id: string; token: string }> {
  const id = newId();
  const token = mintToken(credential.kind, keys.cellCode);
  const pepper = keys.peppers[0];
  await db
    .insertInto('credentials')
    .values({
      ...credential,
      id,
      hash: hashToken(token, pepper),
      pepper_id: pepper.id,
      last4: token.slice(-4),
      app_ids: credential.app_ids ? [...credential.app_ids] : null,
      scopes: credential.scopes ? [...credential.scopes] : null,
      created_date: now,
    })
    .execute();
  return { id, token };
}
