// Defines how an app's users sign in, stay signed in and sign out (docs/api/app-users.md#signing-in). Links are in
// links.ts.
import { audit, auditAppVisitor } from '../../core/audit/audit.ts';
import { credentialsInvalid } from '../../core/auth/credentials.ts';
import type { AppUserSelfAccess, AppVisitor } from '../../core/auth/proofs.ts';
import type { Counters } from '../../core/auth/rate-limits/counters.ts';
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

/** Every failure returns the same response and takes the same time, so an app's users can't be enumerated. */
export async function signIn(db: Db, deps: SignInDeps, visitor: AppVisitor, input: SignIn, now: Date) {
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
    await auditFailure(db, deps, visitor, email, now);
    throw wrongEmailOrPassword();
  }
  return transaction(db, async (db) => {
    // If the password was changed during the check, the caller sent the old one.
    const user = await lockUserWithPassword(db, app.id, stored.app_user_id, stored.hash);
    if (user === undefined) throw wrongEmailOrPassword();
    return startSignIn(db, deps, { visitor, user, start: { ...input, method: 'password' } }, now);
  });
}

const maxFailureEntriesPerMinute = 60;

/**
 * Audits at most `maxFailureEntriesPerMinute` failures per minute. Managers can then notice an attack, but strangers
 * can't fill the workspace's log.
 */
async function auditFailure(db: Db, { counters }: SignInDeps, visitor: AppVisitor, email: string, now: Date) {
  const { count } = await counters.add(`app-sign-in-failures:${visitor.app.id}`, 60);
  if (count > maxFailureEntriesPerMinute) return;
  const target = { kind: 'app_user', id: email };
  await auditAppVisitor(db, visitor, null, { type: 'app_user.sign_in_failed', target }, now);
}

interface SignInStart {
  readonly method: 'password' | 'link';
  readonly expires_in_seconds?: number | undefined;
}

/** Creates a token for a user who has authenticated. */
export async function startSignIn(
  db: Db,
  { tokenKeys }: SignInDeps,
  {
    visitor,
    user,
    start: { method, expires_in_seconds: seconds = defaultTokenSeconds },
  }: { readonly visitor: AppVisitor; readonly user: AppUserRow; readonly start: SignInStart },
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
  if (user === undefined) throw credentialsInvalid(); // deleted since the guard read the user
  return presentSelf(user, await hasPassword(db, user));
}

const retiredMs = 60 * 1000;

/**
 * Replaces the caller's token with a new one of the same lifetime, limited to 30 days after the sign-in. The old token
 * stays valid for a minute, so the page can retry if the response is lost. If the app's own server requested the token,
 * the new token keeps the expiry that the server chose, and the old token ends immediately.
 */
export function renewToken(db: Db, { tokenKeys }: SignInDeps, access: AppUserSelfAccess, now: Date) {
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
  /** Who requested the first token, if it was not the user. */
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
    'The e-mail address or password is wrong. Check both, or request a link by e-mail.',
  );
