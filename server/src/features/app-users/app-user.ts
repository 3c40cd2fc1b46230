// The users of an app. The app's editors or its own server create and change users, and the server can sign them
// in by requesting tokens for them (docs/api/app-users.md).
import { isDeepStrictEqual } from 'node:util';
import { audit, redacted } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { insertCredential, type TokenKeys } from '../../core/identity/users.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { parse } from '../../kit/http/faults.ts';
import { idOrNull } from '../../kit/ids.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import {
  type AppUserChange,
  AppUserData,
  type AppUserRow,
  defaultTokenSeconds,
  type NewAppUser,
  presentAppUser,
  presentSelf,
  type UserData,
} from './contract.ts';
import { removeLinks } from './store/links.ts';
import { endSignIns, hasPassword, removePassword } from './store/sign-ins.ts';
import { insertAppUser, lockAppUser, removeAppUser, saveAppUser, saveAppUserWithNewEmail } from './store/users.ts';

export type AppUserAccess = AppAccess & { readonly app_user: AppUserRow };

export function createAppUser(db: Db, access: AppAccess, { data = {}, ...fields }: NewAppUser, now: Date) {
  return transaction(db, async (db) => {
    const row = await insertAppUser(db, access, { ...fields, data: mergeData({}, data) }, now);
    if (row === undefined) throw emailTaken();
    const after = concealData({ email: row.email, full_name: row.full_name, role: row.role, data: row.data });
    await audit(db, access, { ...auditTarget(row), type: 'app_user.created', after }, now);
    return presentAppUser(row);
  });
}

/**
 * Changes only the fields that were sent. `data` is merged key by key, and null removes a key:
 * `{ a: 1, b: 2 }` with `{ b: null, c: 3 }` becomes `{ a: 1, c: 3 }`.
 */
export function changeAppUser(db: Db, access: AppUserAccess, { data, ...fields }: AppUserChange, now: Date) {
  return transaction(db, async (db) => {
    const previous = await lockAccessedUser(db, access);
    const sent = {
      ...fields,
      ...(data && { data: parse(AppUserData, ['body', 'data'], mergeData(previous.data as UserData, data)) }),
    };
    const changed = (Object.keys(sent) as (keyof typeof sent)[]).filter(
      (field) => !isDeepStrictEqual(sent[field], previous[field]),
    );
    if (changed.length === 0) return unchanged(presentAppUser(previous));
    const row = { ...previous, ...sent, updated_date: now };
    if (!changed.includes('email')) await saveAppUser(db, row);
    else if (await saveAppUserWithNewEmail(db, row)) await endAccountOf(db, access, previous);
    else throw emailTaken();
    const only = (user: AppUserRow) => concealData(Object.fromEntries(changed.map((field) => [field, user[field]])));
    await audit(
      db,
      access,
      { ...auditTarget(row), type: 'app_user.updated', before: only(previous), after: only(row) },
      now,
    );
    return presentAppUser(row);
  });
}

/**
 * Removes the password, links and sign-ins of the previous e-mail address, because the new address is not verified yet.
 */
async function endAccountOf(db: Db, { workspace_id }: AppAccess, previous: AppUserRow): Promise<void> {
  await removePassword(db, previous);
  await removeLinks(db, previous);
  await endSignIns(db, workspace_id, previous);
}

/** The user's tokens stop working immediately. The records that the user created are kept. */
export function deleteAppUser(db: Db, access: AppUserAccess, now: Date) {
  return transaction(db, async (db) => {
    const previous = await lockAccessedUser(db, access);
    await removeAppUser(db, previous); // also removes their tokens and password
    await removeLinks(db, previous);
    const before = { email: previous.email, full_name: previous.full_name, role: previous.role };
    await audit(db, access, { ...auditTarget(previous), type: 'app_user.deleted', before }, now);
    return { success: true } as const;
  });
}

export function createAppUserToken(db: Db, access: AppUserAccess, seconds: number, tokenKeys: TokenKeys, now: Date) {
  return transaction(db, async (db) => {
    const { id } = await lockAccessedUser(db, access);
    const { token, expires_at } = await insertToken(db, access, { app_user_id: id, seconds }, tokenKeys, now);
    await audit(
      db,
      access,
      { ...auditTarget(access.app_user), type: 'app_user.token_created', after: { expires_at } },
      now,
    );
    return { token, expires_at };
  });
}

/** Signs in the user in a preview of the app. Throws 404 if the app has no such user. */
export async function signInToPreview(db: Db, access: AppAccess, userId: string, tokenKeys: TokenKeys, now: Date) {
  const id = idOrNull(userId);
  const user = id === null ? undefined : await lockAppUser(db, access, id);
  if (user === undefined) throw notFound('app_user_not_found');
  const created = await insertToken(db, access, { app_user_id: user.id, seconds: defaultTokenSeconds }, tokenKeys, now);
  return { ...created, user: presentSelf(user, await hasPassword(db, user)) };
}

/** Creates a token that the app's editors or its own server asked for. */
async function insertToken(
  db: Db,
  access: AppAccess,
  { app_user_id, seconds }: { readonly app_user_id: string; readonly seconds: number },
  tokenKeys: TokenKeys,
  now: Date,
) {
  const expires_at = new Date(now.getTime() + seconds * 1000);
  const { id, token } = await insertCredential(
    db,
    tokenKeys,
    {
      kind: 'app_user_token',
      user_id: null,
      app_user_id,
      workspace_id: access.workspace_id,
      permission: 'full_access',
      expires_at,
      created_by: access.caller.email,
    },
    now,
  );
  return { credential_id: id, token, expires_at: expires_at.toISOString() };
}

/** Locks the row that the guard found. Throws 404 if the user has been deleted in the meantime. */
async function lockAccessedUser(db: Db, access: AppUserAccess): Promise<AppUserRow> {
  const row = await lockAppUser(db, access, access.app_user.id);
  if (row === undefined) throw notFound('app_user_not_found');
  return row;
}

/** Null removes a key, because rules treat null values and missing keys alike. */
const mergeData = (data: UserData, change: UserData): UserData =>
  Object.fromEntries(Object.entries({ ...data, ...change }).filter(([, value]) => value !== null));

/** `data` may contain personal data, so the audit log records only that it changed. */
const concealData = ({ data, ...fields }: Partial<AppUserRow>) => ({
  ...fields,
  ...(data !== undefined && { data: redacted }),
});

const auditTarget = ({ id, app_id }: AppUserRow) => ({ target: { kind: 'app_user', id }, app_id });

const emailTaken = () =>
  new Problem(
    'conflict',
    'unique_conflict',
    'Another user of this app already has this e-mail address. Use a different one, or update that user.',
    {
      members: { fields: ['email'] },
    },
  );
