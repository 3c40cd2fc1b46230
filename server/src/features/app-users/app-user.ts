// Owns the people who use a built app: made and changed by its editors or its own server, which signs them in and hands
// out their tokens (docs/contract.md §3.5).
import { isDeepStrictEqual } from 'node:util';
import { audit, redacted } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { insertCredential, type TokenKeys } from '../../core/identity/users.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { parse } from '../../kit/http/faults.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import {
  type AppUserChange,
  AppUserData,
  type AppUserRow,
  type NewAppUser,
  presentAppUser,
  type UserData,
} from './contract.ts';
import { insertAppUser, lockAppUser, removeAppUser, saveAppUser } from './store.ts';

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

/** What is left out stays; of `data` too, key by key. */
export function changeAppUser(db: Db, access: AppUserAccess, { data, ...fields }: AppUserChange, now: Date) {
  return transaction(db, async (db) => {
    const was = await lockAccessedUser(db, access);
    const sent = {
      ...fields,
      ...(data && { data: parse(AppUserData, ['body', 'data'], mergeData(was.data as UserData, data)) }),
    };
    const changed = (Object.keys(sent) as (keyof typeof sent)[]).filter(
      (field) => !isDeepStrictEqual(sent[field], was[field]),
    );
    if (changed.length === 0) return unchanged(presentAppUser(was));
    const row = await saveAppUser(db, access, was.id, {
      ...fields,
      ...(sent.data && { data: JSON.stringify(sent.data) }),
      updated_date: now,
    });
    if (row === undefined) throw emailTaken();
    const only = (user: AppUserRow) => concealData(Object.fromEntries(changed.map((field) => [field, user[field]])));
    await audit(
      db,
      access,
      { ...auditTarget(row), type: 'app_user.updated', before: only(was), after: only(row) },
      now,
    );
    return presentAppUser(row);
  });
}

/** At once: their tokens end with them. What they wrote stays. */
export function deleteAppUser(db: Db, access: AppUserAccess, now: Date) {
  return transaction(db, async (db) => {
    const was = await lockAccessedUser(db, access);
    await removeAppUser(db, access, was.id);
    const before = { email: was.email, full_name: was.full_name, role: was.role };
    await audit(db, access, { ...auditTarget(was), type: 'app_user.deleted', before }, now);
    return { success: true } as const;
  });
}

export function createAppUserToken(db: Db, access: AppUserAccess, seconds: number, tokenKeys: TokenKeys, now: Date) {
  return transaction(db, async (db) => {
    const { id } = await lockAccessedUser(db, access);
    const expires_at = new Date(now.getTime() + seconds * 1000);
    const { token } = await insertCredential(
      db,
      tokenKeys,
      {
        kind: 'app_user_token',
        user_id: null,
        app_user_id: id,
        workspace_id: access.workspace_id,
        permission: 'full_access',
        expires_at,
        created_by: access.caller.email,
      },
      now,
    );
    const after = { expires_at: expires_at.toISOString() };
    await audit(db, access, { ...auditTarget(access.app_user), type: 'app_user.token_created', after }, now);
    return { token, expires_at: after.expires_at };
  });
}

/** As they are now; gone, if somebody deleted them since the caller was let in. */
async function lockAccessedUser(db: Db, access: AppUserAccess): Promise<AppUserRow> {
  const row = await lockAppUser(db, access, access.app_user.id);
  if (row === undefined) throw notFound('app_user_not_found');
  return row;
}

/** Null takes a key away: to the rules, null and missing are the same. */
const mergeData = (data: UserData, change: UserData): UserData =>
  Object.fromEntries(Object.entries({ ...data, ...change }).filter(([, value]) => value !== null));

/** What they are to their app is nobody else's business. */
const concealData = ({ data, ...fields }: Partial<AppUserRow>) => ({
  ...fields,
  ...(data !== undefined && { data: redacted }),
});

const auditTarget = ({ id, app_id }: AppUserRow) => ({ target: { kind: 'app_user', id }, app_id });

const emailTaken = () =>
  new Problem('conflict', 'unique_conflict', 'Another user of this app has this e-mail address.', {
    members: { fields: ['email'] },
  });
