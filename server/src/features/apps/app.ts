// Creates, changes, transfers, trashes and restores apps (docs/api/apps.md).
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess, AppRow, WorkspaceAccess } from '../../core/auth/proofs.ts';
import { issueForNewApp } from '../../core/auth/proofs-without-guard.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import { presentApp } from '../../core/identity/app-shapes.ts';
import { insertApp, lockApp, type NewApp, restoreTrashedApp, saveApp, trashApp } from '../../core/identity/apps.ts';
import { findMember } from '../../core/identity/members.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { AppChange, NewApp as NewAppInput } from './contract.ts';

const defaults: NewApp = {
  name: 'Untitled app',
  user_description: '',
  app_type: 'user_app',
  visibility: 'workspace',
  public_settings: 'public_with_login',
};

/** Sends the builder chat's first message, as part of the caller's transaction. */
export type StartChat = (db: Db, access: AppAccess, content: string, now: Date) => Promise<void>;

export async function createApp(
  db: Db,
  access: WorkspaceAccess,
  { initial_message, ...input }: NewAppInput,
  { addresses, startChat }: { addresses: AppAddresses; startChat: StartChat },
  now: Date,
) {
  if (initial_message !== undefined) refuseInitialMessage(access, input);
  return transaction(db, async (db) => {
    const app = await insertApp(db, access, { ...defaults, ...input }, now);
    const after = { name: app.name, app_type: app.app_type, visibility: app.visibility };
    await audit(db, access, { type: 'app.created', target: targetOf(app), app_id: app.id, after }, now);
    if (initial_message === undefined) return presentApp(app, addresses);
    await startChat(db, issueForNewApp(access, app), initial_message.content, now);
    return presentApp({ ...app, status_state: 'processing' }, addresses);
  });
}

/** The assistant works on behalf of a person, and only builds apps without their own repository. */
function refuseInitialMessage({ caller }: WorkspaceAccess, { app_type }: Pick<NewAppInput, 'app_type'>): void {
  if (caller.user_id === null)
    throw new Problem(
      'forbidden',
      'workspace_key_not_allowed',
      "A workspace key can't send `initial_message`, because it doesn't act on behalf of a person. Omit the field, or use a personal access token.",
    );
  if (app_type === 'imported_app')
    throw new Problem(
      'bad_request',
      'app_kind_mismatch',
      "Imported apps can't be built by chat. Omit `initial_message`, or use the type `user_app`.",
    );
}

export async function changeApp(
  db: Db,
  access: AppAccess,
  { owner_email, ...fields }: AppChange,
  addresses: AppAddresses,
  now: Date,
) {
  return transaction(db, async (db) => {
    const owner = owner_email === undefined ? undefined : await getNewOwner(db, access, owner_email);
    const change = { ...fields, ...(owner && { owner_id: owner.id }) };
    // Most requests change something, so the row is locked only if this one seems not to.
    let { app } = access;
    if (isSame(app, change)) app = { ...app, ...(await lockApp(db, access)) };
    if (isSame(app, change)) return unchanged(presentApp(app, addresses));
    const before = Object.fromEntries(Object.keys(change).map((field) => [field, app[field as keyof AppRow]]));
    const row = await saveApp(db, access, { ...change, updated_date: now });
    await audit(db, access, { type: 'app.updated', target: targetOf(app), app_id: app.id, before, after: change }, now);
    return presentApp({ ...row, owner_email: owner?.email ?? app.owner_email }, addresses);
  });
}

const isSame = (app: AppRow, change: object): boolean =>
  Object.entries(change).every(([field, value]) => isDeepStrictEqual(value, app[field as keyof AppRow]));

/** Only the app's owner may transfer it, to a member of the workspace who may create apps. */
async function getNewOwner(db: Db, access: AppAccess, email: string): Promise<{ id: string; email: string }> {
  if (access.app_role !== 'owner') {
    throw new Problem('forbidden', 'role_required', "Only the app's owner can transfer it. Ask the owner.", {
      members: { required_role: 'owner' },
    });
  }
  const member = await findMember(db, access, email);
  if (member === undefined) throw notFound('member_not_found');
  if (member.role === 'viewer' || member.role === 'guest') {
    throw new Problem(
      'bad_request',
      'role_not_assignable',
      "Viewers and guests can't own apps. Change the member's role first.",
    );
  }
  return member;
}

export type OnTrash = (db: Db, access: AppAccess, now: Date) => Promise<void>;

export interface TrashDeps {
  /** Runs before an app is moved to the trash, outside the transaction, because it may wait for external services. */
  readonly beforeTrash: OnTrash;
  /** Further changes to the app, made in the same transaction. */
  readonly onTrash: readonly OnTrash[];
}

/** Moves the app to the trash. It is hidden and unpublished immediately, and purged after 30 days. */
export async function deleteApp(db: Db, { beforeTrash, onTrash }: TrashDeps, access: AppAccess, now: Date) {
  const { app } = access;
  await beforeTrash(db, access, now);
  return transaction(db, async (db) => {
    await trashApp(db, access, now);
    for (const change of onTrash) await change(db, access, now);
    await audit(
      db,
      access,
      { type: 'app.deleted', target: targetOf(app), app_id: app.id, before: { name: app.name } },
      now,
    );
    return { success: true } as const;
  });
}

export async function restoreApp(db: Db, access: AppAccess, addresses: AppAddresses, now: Date) {
  const { app } = access;
  return transaction(db, async (db) => {
    const row = await restoreTrashedApp(db, access, now);
    await audit(
      db,
      access,
      { type: 'app.restored', target: targetOf(app), app_id: app.id, after: { name: app.name } },
      now,
    );
    return presentApp({ ...row, owner_email: app.owner_email }, addresses);
  });
}

const targetOf = (app: AppRow) => ({ kind: 'app', id: app.id });
