// Sign-up, and signing in with a link sent to the user's e-mail address (docs/api/app-users.md#links). A request
// for a link is handled in the same way for every address, and background.ts decides who gets an e-mail.
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

/**
 * The password is stored with the request. It becomes the user's password only if the mailbox's owner opens the link.
 */
export async function signUp(db: Db, deps: LinkDeps, visitor: AppVisitor, input: SignUp, now: Date) {
  const { app, ip } = visitor;
  await countMailRequest(ip, deps.counters);
  const password_hash = await hashPassword(input.password, { ip, app_id: app.id });
  const address_hash = hashAddress(ip, deps.tokenKeys.peppers[0]);
  const { email, full_name } = input;
  const request = { email, ...(full_name && { full_name }), password_hash, address_hash };
  return queueMail(db, deps, visitor, { ...request, purpose: 'sign_up' }, now);
}

export async function requestLink(db: Db, deps: LinkDeps, visitor: AppVisitor, email: string, now: Date) {
  await countMailRequest(visitor.ip, deps.counters);
  return queueMail(db, deps, visitor, { email, purpose: 'sign_in' }, now);
}

async function queueMail(
  db: Db,
  { mail, wake, appUrl }: LinkDeps,
  { app }: AppVisitor,
  request: Parameters<typeof insertLink>[2],
  now: Date,
) {
  // The warning is the same for every address, so it does not reveal whether this one has a user.
  if (!mail.configured || findLinkOrigin(app, { appUrl }) === null)
    return withNotes(done, { warnings: ['link_mail_off'] });
  await insertLink(db, app.id, request, now);
  afterCommit(db, () => wake.notify('app_user_links'));
  return done;
}

/** Signs in the mailbox's owner. Only this function creates users who have signed up and sets their passwords. */
export async function useLink(db: Db, deps: LinkDeps, visitor: AppVisitor, input: LinkUse, now: Date) {
  const { app, ip } = visitor;
  const token = hashOneTimeToken(input.link_token, deps.tokenKeys.peppers[0]);
  const found = await findLink(db, app.id, token, now);
  if (found === undefined) throw linkExpired(); // checked first, because hashing is expensive
  const sentHash = input.password && (await hashPassword(input.password, { ip, app_id: app.id }));
  return transaction(db, async (db) => {
    // The address, its user and its links are locked in the same order everywhere.
    await takeAdvisoryLock(db, `app user ${app.id} ${found.email}`);
    const existing = await lockUserByEmail(db, app.id, found.email);
    const link = await lockLink(db, app.id, token, now);
    if (link === undefined) throw linkExpired();
    const settings = await getSettings(db, app.id);
    if (!settings.password_enabled && !settings.link_enabled) throw linkExpired();
    const user = existing ?? (await createUser(db, visitor, link, settings, now));
    const hash = sentHash ?? (await findChosenPassword(db, deps, { visitor, link, existing, settings }));
    if (hash === undefined && !settings.link_enabled) throw passwordRequired();
    if (hash !== undefined) await setPassword(db, visitor, user, hash, now);
    await removeLinks(db, link);
    return startSignIn(db, deps, { visitor, user, start: { ...input, method: 'link' } }, now);
  });
}

/** Creates a user for the person who signed up, if sign-up is still open. */
async function createUser(
  db: Db,
  visitor: AppVisitor,
  { email, full_name, purpose }: LinkRow,
  settings: AuthSettings,
  now: Date,
): Promise<AppUserRow> {
  if (purpose !== 'sign_up' || signUpInEffect(visitor.app, settings) !== 'open') throw linkExpired();
  const user = await insertAppUser(db, visitor, { email, full_name, data: {} }, now);
  if (user === undefined) throw linkExpired(); // another request has just created the user
  const change = { target: { kind: 'app_user', id: user.id }, after: { email, full_name } };
  await auditAppVisitor(db, visitor, user, { ...change, type: 'app_user.signed_up' }, now);
  return user;
}

/**
 * Returns the hash of the password chosen at sign-up, if it may become the user's password. The mailbox's owner may
 * open a link that they did not request, because it arrives in an e-mail about their own account. The password is
 * therefore never used for a user who may have signed in before. It is not used at all if someone elsewhere has signed
 * up with the same address, because only one of them owns the mailbox.
 */
async function findChosenPassword(
  db: Db,
  { tokenKeys }: LinkDeps,
  {
    visitor: { app, ip },
    link,
    existing,
    settings,
  }: {
    readonly visitor: AppVisitor;
    readonly link: LinkRow;
    readonly existing: AppUserRow | undefined;
    readonly settings: AuthSettings;
  },
): Promise<string | undefined> {
  if (link.password_hash === null || signUpInEffect(app, settings) === 'closed') return undefined;
  if (existing !== undefined) {
    const isSameAddress = hashAddresses(ip, tokenKeys.peppers).some((hash) => link.address_hash?.equals(hash));
    if (!isSameAddress || !(await isAwaited(db, app, existing, settings))) return undefined;
  }
  return (await hasRivalSignUp(db, link)) ? undefined : link.password_hash;
}

/** Ends the user's other sign-ins, because they may belong to someone who knew the old password. */
async function setPassword(db: Db, visitor: AppVisitor, user: AppUserRow, hash: string, now: Date): Promise<void> {
  await savePassword(db, user, hash, now);
  await endSignIns(db, visitor.workspace_id, user);
  const change = { target: { kind: 'app_user', id: user.id }, after: redacted };
  await auditAppVisitor(db, visitor, user, { ...change, type: 'app_user.password_set' }, now);
}

const linkExpired = () =>
  new Problem('gone', 'link_expired', 'This link has expired or was already used. Request a new one.');

const passwordRequired = () =>
  new ValidationError([{ loc: ['body', 'password'], msg: 'is required', type: 'missing' }]);
