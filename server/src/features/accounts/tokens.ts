// Creates, changes and revokes personal access tokens, personal API keys and workspace keys
// (docs/api/accounts.md#tokens-and-keys).

import { audit, auditSelf } from '../../core/audit/audit.ts';
import { credentialsInvalid } from '../../core/auth/credentials.ts';
import type { Caller, SelfAccess, WorkspaceAccess } from '../../core/auth/proofs.ts';
import { lockCredentials, revokeWithDescendants } from '../../core/identity/accounts.ts';
import { listVisibleApps } from '../../core/identity/apps.ts';
import { insertCredential, type TokenKeys } from '../../core/identity/users.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { limitReached, notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import {
  type CredentialRow,
  type NewToken,
  type NewWorkspaceKey,
  presentToken,
  presentWorkspaceKey,
} from './contract.ts';
import {
  getToken,
  getWorkspaceKey,
  isCallerLive,
  listTokens,
  listWorkspaceKeys,
  lockCredential,
  markApiKeyRevoked,
  saveCredential,
} from './store.ts';

const maxTokens = 50;
const maxWorkspaceKeys = 10;
const defaultDays = 90;
const dayMs = 24 * 60 * 60 * 1000;

export async function createToken(db: Db, access: WorkspaceAccess, input: NewToken, tokenKeys: TokenKeys, now: Date) {
  const { caller, workspace_id } = access;
  const days = input.expires_in_days === undefined ? defaultDays : input.expires_in_days;
  const rights = {
    permission: input.permission ?? ('read_only' as const),
    app_ids: input.app_ids ?? null,
    expires_at: expiryAfter(days, now),
  };
  const parent = parentOf(access);
  refuseWiderThanParent(parent, rights);
  return transaction(db, async (db) => {
    await requireLiveCaller(db, access);
    if ((await listTokens(db, access, now)).length >= maxTokens)
      throw limitReached(
        maxTokens,
        'tokens',
        `You can have at most ${maxTokens} tokens in a workspace. Revoke one first.`,
      );
    await requireApps(db, access, rights.app_ids);
    const { id, token } = await insertCredential(
      db,
      tokenKeys,
      {
        kind: 'personal_token',
        name: input.name,
        user_id: caller.user_id,
        workspace_id,
        ...rights,
        parent_id: parent?.credential_id ?? null,
      },
      now,
    );
    const created = presentToken(await getToken(db, access, id));
    await audit(db, access, { type: 'token.created', target: { kind: 'token', id }, after: created }, now);
    return { ...created, token };
  });
}

const expiryAfter = (days: number | null, now: Date): Date | null =>
  days === null ? null : new Date(now.getTime() + days * dayMs);

/** The token with which the caller creates a credential, or null for a session. */
const parentOf = ({ caller }: WorkspaceAccess): Caller | null => (caller.kind === 'personal_token' ? caller : null);

/**
 * Throws 401 if the caller's session or token has ended since the guard ran. Requests that revoke the token or
 * deactivate the account wait until this transaction ends, so they also end the credential that it creates.
 */
async function requireLiveCaller(db: Db, access: WorkspaceAccess): Promise<void> {
  await lockCredentials(db, access);
  if (!(await isCallerLive(db, access))) throw credentialsInvalid();
}

interface CredentialRights {
  readonly permission: 'read_only' | 'full_access';
  readonly app_ids: readonly string[] | null;
  readonly expires_at: Date | null;
}

/**
 * A token or key created with a token can't have more rights than its parent. For example, if the parent is read-only,
 * limited to app A and expires on 1 March, then full access, app B, all apps, no expiry and 2 March are each rejected.
 */
function refuseWiderThanParent(parent: Caller | null, rights: CredentialRights): void {
  if (parent === null) return;
  const moreApps =
    parent.app_ids !== null && (rights.app_ids === null || rights.app_ids.some((id) => !parent.app_ids?.includes(id)));
  const moreTime = parent.expires_at !== null && (rights.expires_at === null || rights.expires_at > parent.expires_at);
  const morePower = parent.permission === 'read_only' && rights.permission === 'full_access';
  if (!moreApps && !moreTime && !morePower) return;
  throw new Problem(
    'forbidden',
    'token_wider_than_parent',
    "A token or key created with a token can't have access to more apps, a higher permission or a later expiry than that token. Request less access, or create it in a browser session.",
  );
}

/** Throws 404 unless the caller can see all of these apps. */
export async function requireApps(db: Db, access: WorkspaceAccess, ids: readonly string[] | null): Promise<void> {
  if (ids === null) return;
  const found = await listVisibleApps(db, access, ids);
  if (new Set(found.map((app) => app.id)).size < new Set(ids).size) throw notFound('app_not_found');
}

export async function renameToken(db: Db, access: WorkspaceAccess & { token: CredentialRow }, name: string, now: Date) {
  return transaction(db, async (db) => {
    const before = await lockCredential(db, access, access.token.id);
    if (before.name === name) return unchanged(presentToken(before));
    const row = await saveCredential(db, access, before.id, { name });
    const change = {
      type: 'token.renamed' as const,
      target: { kind: 'token', id: row.id },
      before: { name: before.name },
      after: { name },
    };
    await audit(db, access, change, now);
    return presentToken(row);
  });
}

/** Revokes the token, and all tokens and keys created with it. Requests with them are rejected immediately. */
export async function revokeToken(db: Db, access: WorkspaceAccess & { token: CredentialRow }, now: Date) {
  return transaction(db, async (db) => {
    const revoked = (await revokeWithDescendants(db, access, access.token, now)).map(({ id }) => id);
    const before = { name: access.token.name, permission: access.token.permission };
    await audit(
      db,
      access,
      { type: 'token.revoked', target: { kind: 'token', id: access.token.id }, before, after: { revoked } },
      now,
    );
    return { success: true } as const;
  });
}

export async function revokeApiKey(db: Db, access: SelfAccess & { key: CredentialRow }, now: Date) {
  return transaction(db, async (db) => {
    await markApiKeyRevoked(db, access, access.key.id, now);
    await auditSelf(
      db,
      access,
      { type: 'api_key.revoked', target: { kind: 'api_key', id: access.key.id }, before: { name: access.key.name } },
      now,
    );
    return { success: true } as const;
  });
}

export async function createWorkspaceKey(
  db: Db,
  access: WorkspaceAccess,
  input: NewWorkspaceKey,
  tokenKeys: TokenKeys,
  now: Date,
) {
  const { caller, workspace_id } = access;
  const parent = parentOf(access);
  const days = input.expires_in_days;
  const rights = {
    permission: 'full_access' as const,
    app_ids: input.app_ids ?? null,
    expires_at: days === undefined ? (parent?.expires_at ?? null) : expiryAfter(days, now),
  };
  refuseWiderThanParent(parent, rights);
  return transaction(db, async (db) => {
    await requireLiveCaller(db, access);
    if ((await listWorkspaceKeys(db, access, now)).length >= maxWorkspaceKeys)
      throw limitReached(
        maxWorkspaceKeys,
        'workspace_keys',
        `A workspace can have at most ${maxWorkspaceKeys} keys. Revoke one first.`,
      );
    await requireApps(db, access, rights.app_ids);
    const { id, token } = await insertCredential(
      db,
      tokenKeys,
      {
        kind: 'workspace_key',
        name: input.name,
        description: input.description ?? '',
        user_id: null,
        workspace_id,
        ...rights,
        scopes: [...new Set(input.scopes)],
        parent_id: parent?.credential_id ?? null,
        created_by: caller.email,
      },
      now,
    );
    const created = presentWorkspaceKey(await getWorkspaceKey(db, access, id));
    await audit(
      db,
      access,
      { type: 'workspace_key.created', target: { kind: 'workspace_key', id }, after: created },
      now,
    );
    return { ...created, token };
  });
}

export type WorkspaceKeyAccess = WorkspaceAccess & { readonly key: CredentialRow };

export async function changeWorkspaceKey(
  db: Db,
  access: WorkspaceKeyAccess,
  change: { name?: string; description?: string },
  now: Date,
) {
  return transaction(db, async (db) => {
    const key = await lockCredential(db, access, access.key.id);
    const { name = key.name, description = key.description } = change;
    if (name === key.name && description === key.description) return unchanged(presentWorkspaceKey(key));
    const row = await saveCredential(db, access, key.id, change);
    const before = { name: key.name, description: key.description };
    await audit(
      db,
      access,
      { type: 'workspace_key.updated', target: { kind: 'workspace_key', id: key.id }, before, after: change },
      now,
    );
    return presentWorkspaceKey(row);
  });
}

export async function revokeWorkspaceKey(db: Db, access: WorkspaceKeyAccess, now: Date) {
  return transaction(db, async (db) => {
    await revokeWithDescendants(db, access, access.key, now);
    const before = { name: access.key.name, scopes: access.key.scopes };
    await audit(
      db,
      access,
      { type: 'workspace_key.revoked', target: { kind: 'workspace_key', id: access.key.id }, before },
      now,
    );
    return { success: true } as const;
  });
}
