// Owns signing up, and signing in by a link that is sent to the user's e-mail address (docs/api/app-users.md#links). What a
// request for a link does is the same for every address; background.ts decides who gets a mail.
import { auditAppVisitor, redacted } from '../../core/audit/audit.ts';
import type { AppVisitor } from '../../core/auth/proofs.ts';
import { hashOneTimeToken } from '../../core/identity/accounts.ts';
import { hashPassword } from '../../core/identity/passwords.ts';
import { hashAddress, hashAddresses } from '../../core/identity/sign-in-addresses.ts';
import type { Mail } from '../../gateways/mail/index.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { withNotes } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { findLinkOrigin, isAwaited, type LinkOriginDeps, signUpInEffect } from './auth-settings.ts';
import type { AppUserRow, LinkUse, SignUp } from './contract.ts';
import { countMailRequest } from './mail-limits.ts';
import { type SignInDeps, startSignIn } from './sign-in.ts';
import { findLink, hasRivalSignUp, insertLink, type LinkRow, lockLink, removeLinks } from './store/links.ts';
import { type AuthSettings, getSettings } from './store/settings.ts';
import { endSignIns, lockUserByEmail, savePassword } from './store/sign-ins.ts';
import { insertAppUser } from './store/users.ts';

export interface LinkDeps extends SignInDeps, LinkOriginDeps {
  readonly mail: Mail;
  readonly wake: Pick<WakeUps, 'notify'>;
}

const done = { success: true } as const;

/** The password is stored with the request, and becomes the user's only if whoever has the mailbox uses the link. */
export async function signUp(db: Db, visitor: AppVisitor, input: SignUp, deps: LinkDeps, now: Date) {
  const { app, ip } = visitor;
  await countMailRequest(ip, deps.counters);
  const password_hash = await hashPassword(input.password, { ip, app_id: app.id });
  const address_hash = hashAddress(ip, deps.tokenKeys.peppers[0]);
  const { email, full_name } = input;
  const request = { email, ...(full_name && { full_name }), password_hash, address_hash };
  return queueMail(db, visitor, { ...request, purpose: 'sign_up' }, deps, now);
}

export async function requestLink(db: Db, visitor: AppVisitor, email: string, deps: LinkDeps, now: Date) {
  await countMailRequest(visitor.ip, deps.counters);
  return queueMail(db, visitor, { email, purpose: 'sign_in' }, deps, now);
}

async function queueMail(
  db: Db,
  { app }: AppVisitor,
  request: Parameters<typeof insertLink>[2],
  { mail, wake, appUrl }: LinkDeps,
  now: Date,
) {
  // Says nothing about the address: it is the same for all.
  if (!mail.configured || findLinkOrigin(app, { appUrl }) === null)
    return withNotes(done, { warnings: ['link_mail_off'] });
  await insertLink(db, app.id, request, now);
  afterCommit(db, () => wake.notify('app_user_links'));
  return done;
}

/** Signs in whoever has the mailbox. A new user is created, and a password stored, only here. */
export async function useLink(db: Db, visitor: AppVisitor, input: LinkUse, deps: LinkDeps, now: Date) {
  const { app, ip } = visitor;
  const token = hashOneTimeToken(input.link_token, deps.tokenKeys.peppers[0]);
  const found = await findLink(db, app.id, token, now);
  if (found === undefined) throw linkExpired(); // hashing is costly: not for strangers
  const sentHash = input.password && (await hashPassword(input.password, { ip, app_id: app.id }));
  return transaction(db, async (db) => {
    // Locked in the order in which others lock them: the address, its user, their links.
    await takeAdvisoryLock(db, `app user ${app.id} ${found.email}`);
    const existing = await lockUserByEmail(db, app.id, found.email);
    const link = await lockLink(db, app.id, token, now);
    if (link === undefined) throw linkExpired();
    const settings = await getSettings(db, app.id);
    if (!settings.password_enabled && !settings.link_enabled) throw linkExpired();
    const user = existing ?? (await createUser(db, visitor, link, settings, now));
    const hash = sentHash ?? (await findChosenPassword(db, visitor, link, existing, settings, deps));
    if (hash === undefined && !settings.link_enabled) throw passwordRequired();
    if (hash !== undefined) await setPassword(db, visitor, user, hash, now);
    await removeLinks(db, link);
    return startSignIn(db, visitor, user, { ...input, method: 'link' }, deps, now);
  });
}

/** Whoever signed up becomes a user, if that is still allowed. */
async function createUser(
  db: Db,
  visitor: AppVisitor,
  { email, full_name, purpose }: LinkRow,
  settings: AuthSettings,
  now: Date,
): Promise<AppUserRow> {
  if (purpose !== 'sign_up' || signUpInEffect(visitor.app, settings) !== 'open') throw linkExpired();
  const user = await insertAppUser(db, visitor, { email, full_name, data: {} }, now);
  if (user === undefined) throw linkExpired(); // created by somebody else at this moment
  const change = { target: { kind: 'app_user', id: user.id }, after: { email, full_name } };
  await auditAppVisitor(db, visitor, user, { ...change, type: 'app_user.signed_up' }, now);
  return user;
}

/**
 * The password that was chosen at the sign-up, if it becomes the user's. Somebody who did not sign up may open the link, for it
 * comes with a mail about their own account. So it never becomes that of a user who may have signed in before; and of nobody if
 * people elsewhere have signed up with the same address, because only one of them has the mailbox.
 */
async function findChosenPassword(
  db: Db,
  { app, ip }: AppVisitor,
  link: LinkRow,
  existing: AppUserRow | undefined,
  settings: AuthSettings,
  { tokenKeys }: LinkDeps,
): Promise<string | undefined> {
  if (link.password_hash === null || signUpInEffect(app, settings) === 'closed') return undefined;
  if (existing !== undefined) {
    const isSameAddress = hashAddresses(ip, tokenKeys.peppers).some((hash) => link.address_hash?.equals(hash));
    if (!isSameAddress || !(await isAwaited(db, app, existing, settings))) return undefined;
  }
  return (await hasRivalSignUp(db, link)) ? undefined : link.password_hash;
}

/** Ends the user's other sign-ins: they may be those of somebody who knew the old password. */
async function setPassword(db: Db, visitor: AppVisitor, user: AppUserRow, hash: string, now: Date): Promise<void> {
  await savePassword(db, user, hash, now);
  await endSignIns(db, visitor.workspace_id, user);
  const change = { target: { kind: 'app_user', id: user.id }, after: redacted };
  await auditAppVisitor(db, visitor, user, { ...change, type: 'app_user.password_set' }, now);
}

const linkExpired = () =>
  new Problem('gone', 'link_expired', 'This link has expired or was already used. Ask for a new one.');

const passwordRequired = () =>
  new ValidationError([{ loc: ['body', 'password'], msg: 'is required', type: 'missing' }]);
