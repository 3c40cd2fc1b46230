// Owns how users of an app sign in, stay signed in and sign out (docs/api/app-users.md#signing-in). Links are in links.ts.
import { audit, auditAppVisitor } from '../../core/audit/audit.ts';
import type { Counters } from '../../core/auth/counters.ts';
import { credentialsInvalid } from '../../core/auth/credentials.ts';
import type { AppUserSelfAccess, AppVisitor } from '../../core/auth/proofs.ts';
import { isMatchingPassword } from '../../core/identity/passwords.ts';
import { countFailedTry, nameAccount, refuseRepeatedTries } from '../../core/identity/sign-in-tries.ts';
import { insertCredential, type TokenKeys } from '../../core/identity/users.ts';
import { transaction } from '../../kit/db/database.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type AppUserRow, defaultTokenSeconds, presentSelf, type SignIn } from './contract.ts';
import { getSettings } from './store/settings.ts';
import {
  endOwnSignIn,
  endOwnToken,
  findPassword,
  findSelf,
  hasPassword,
  isKnownAddress,
  lockUserWithPassword,
  rememberAddress,
  retireOwnToken,
} from './store/sign-ins.ts';

export interface SignInDeps {
  readonly tokenKeys: TokenKeys;
  readonly counters: Counters;
}

const signInDays = 30;

/** Every failure answers the same and takes the same time, so that an app's users can't be enumerated. */
export async function signIn(db: Db, visitor: AppVisitor, input: SignIn, deps: SignInDeps, now: Date) {
  const { app, ip } = visitor;
  const email = nameAccount(input.email);
  const client = { ip, app_id: app.id };
  const isKnown = await isKnownAddress(db, app.id, ip, deps.tokenKeys.peppers, now);
  const tried = { ...client, email, isKnownAddress: isKnown };
  await refuseRepeatedTries(deps.counters, tried);
  const { password_enabled } = await getSettings(db, app.id);
  const stored = await findPassword(db, app.id, email);
  const hash = password_enabled ? stored?.hash : undefined;
  if (!(await isMatchingPassword(input.password, hash, client)) || stored === undefined) {
    await countFailedTry(deps.counters, tried);
    await auditFailure(db, visitor, email, deps, now);
    throw wrongEmailOrPassword();
  }
  return transaction(db, async (db) => {
    // If the password changed while it was being checked, the caller sent the old one.
    const user = await lockUserWithPassword(db, app.id, stored.app_user_id, stored.hash);
    if (user === undefined) throw wrongEmailOrPassword();
    return startSignIn(db, visitor, user, { ...input, method: 'password' }, deps, now);
  });
}

const maxFailureEntriesPerMinute = 60;

/** So many a minute tell a manager what goes on. More would let strangers fill the workspace's log. */
async function auditFailure(db: Db, visitor: AppVisitor, email: string, { counters }: SignInDeps, now: Date) {
  const { count } = await counters.add(`app-sign-in-failures:${visitor.app.id}`, 60);
  if (count > maxFailureEntriesPerMinute) return;
  const target = { kind: 'app_user', id: email };
  await auditAppVisitor(db, visitor, null, { type: 'app_user.sign_in_failed', target }, now);
}

interface SignInStart {
  readonly method: 'password' | 'link';
  readonly expires_in_seconds?: number | undefined;
}

/** Creates the token of a user who has proven who they are. */
export async function startSignIn(
  db: Db,
  visitor: AppVisitor,
  user: AppUserRow,
  { method, expires_in_seconds: seconds = defaultTokenSeconds }: SignInStart,
  { tokenKeys }: SignInDeps,
  now: Date,
) {
  const expires_at = new Date(now.getTime() + seconds * 1000);
  const sign_in_ends_at = new Date(now.getTime() + signInDays * 24 * 60 * 60 * 1000);
  const { workspace_id, ip } = visitor;
  const token = await insertToken(
    db,
    tokenKeys,
    { workspace_id, app_user_id: user.id, expires_at, sign_in_ends_at },
    now,
  );
  await rememberAddress(db, user, ip, tokenKeys.peppers, now);
  const change = { type: 'app_user.signed_in' as const, target: { kind: 'app_user', id: user.id }, after: { method } };
  await auditAppVisitor(db, visitor, user, change, now);
  const has_password = method === 'password' || (await hasPassword(db, user));
  return { token, expires_at: expires_at.toISOString(), user: presentSelf(user, has_password) };
}

export async function readSelf(db: Db, access: AppUserSelfAccess) {
  const user = await findSelf(db, access);
  if (user === undefined) throw credentialsInvalid(); // deleted since the guard has read them
  return presentSelf(user, await hasPassword(db, user));
}

const retiredMs = 60 * 1000;

/**
 * Replaces the caller's token by a new one that is valid for as long, but no longer than the sign-in: 30 days. The old one stays
 * valid for a minute: if the answer is lost, the page asks again. A token that the app's own server asked for is not prolonged,
 * because the server has said when it ends, and is replaced at once.
 */
export function renewToken(db: Db, access: AppUserSelfAccess, { tokenKeys }: SignInDeps, now: Date) {
  return transaction(db, async (db) => {
    const until = new Date(now.getTime() + retiredMs);
    const old = (await retireOwnToken(db, access, until)) ?? (await endOwnToken(db, access));
    if (!old?.expires_at) throw credentialsInvalid();
    const { created_by, sign_in_ends_at } = old;
    const lifeMs = old.expires_at.getTime() - old.created_date.getTime();
    const endMs = (sign_in_ends_at ?? old.expires_at).getTime();
    const expires_at = new Date(Math.min(now.getTime() + lifeMs, endMs));
    const { app_user_id } = access.caller;
    const renewed = { workspace_id: access.workspace_id, app_user_id, expires_at, sign_in_ends_at, created_by };
    const token = await insertToken(db, tokenKeys, renewed, now);
    return { token, expires_at: expires_at.toISOString(), user: await readSelf(db, access) };
  });
}

export function signOut(db: Db, access: AppUserSelfAccess, now: Date) {
  return transaction(db, async (db) => {
    await endOwnSignIn(db, access);
    const target = { kind: 'app_user', id: access.caller.app_user_id };
    await audit(db, access, { type: 'app_user.signed_out', target, app_id: access.app.id }, now);
    return { success: true } as const;
  });
}

interface UserToken {
  readonly workspace_id: string;
  readonly app_user_id: string;
  readonly expires_at: Date;
  readonly sign_in_ends_at: Date | null;
  /** Who asked for the first token of its kind, if it was not the user. */
  readonly created_by?: string | null;
}

async function insertToken(db: Db, keys: TokenKeys, token: UserToken, now: Date): Promise<string> {
  const kind = { kind: 'app_user_token', permission: 'full_access', user_id: null } as const;
  return (await insertCredential(db, keys, { ...kind, ...token }, now)).token;
}

const wrongEmailOrPassword = () =>
  new Problem(
    'unauthenticated',
    'sign_in_failed',
    'The e-mail address or password is wrong. Check both, or ask for a link by e-mail.',
  );
