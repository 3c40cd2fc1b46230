// Changes a password and resets a forgotten one.

import { auditSelf, auditVisitor, redacted } from '../../core/audit/audit.ts';
import type { SelfAccess, Visitor } from '../../core/auth/proofs.ts';
import type { Counters } from '../../core/auth/rate-limits/counters.ts';
import type { Pepper } from '../../core/auth/tokens.ts';
import {
  endSessions,
  getCallingUser,
  hashOneTimeToken,
  lockUser,
  type SessionDeps,
} from '../../core/identity/accounts.ts';
import {
  findPassword,
  hashPassword,
  isMatchingPassword,
  replacePassword,
  savePassword,
} from '../../core/identity/passwords.ts';
import { claimAccount } from '../../core/identity/verification.ts';
import type { Mail } from '../../gateways/mail/index.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { type Answer, unchanged, withNotes } from '../../kit/http/answer.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { withdrawApprovals } from './device/store.ts';
import { startSession } from './session-start.ts';
import { insertResetMail, isRedeemable, redeemReset } from './store.ts';

const maxMailsPerHour = 3;

export interface PasswordDeps {
  readonly counters: Counters;
  readonly pepper: Pepper;
  readonly mail: Mail;
  readonly baseUrl: string;
  readonly wake: Pick<WakeUps, 'notify'>;
}

type ResetDeps = PasswordDeps & SessionDeps;

const done = { success: true } as const;

interface PasswordChange {
  readonly current_password: string;
  readonly new_password: string;
}

/**
 * Ends the user's other sessions, and denies programs that have not fetched their token yet. Their tokens stay valid, because tokens are used by integrations, not browsers. A
 * repeat of a request that was applied finds the new password and changes nothing.
 */
export async function changePassword(
  db: Db,
  access: SelfAccess,
  input: PasswordChange,
  now: Date,
): Promise<Answer<typeof done>> {
  const { id: user_id, email } = getCallingUser(access);
  const stored = await findPassword(db, email);
  const isCurrent = await isMatchingPassword(input.current_password, stored?.hash, access.caller);
  const isStored = isCurrent
    ? isSamePassword(input)
    : await isMatchingPassword(input.new_password, stored?.hash, access.caller);
  if (isStored) return unchanged(done);
  if (!isCurrent || stored === undefined) {
    throw new Problem(
      'unauthenticated',
      'sign_in_failed',
      'The current password is wrong. Check it, or sign out and reset it.',
    );
  }
  const hashes = { before: stored.hash, after: await hashPassword(input.new_password, access.caller) };
  const isReplaced = await transaction(db, async (db) => {
    if (!(await replacePassword(db, user_id, hashes, now))) return false;
    await endSessions(db, user_id, access.caller.credential_id);
    await withdrawApprovals(db, user_id);
    const target = { kind: 'user', id: user_id };
    await auditSelf(db, access, { type: 'auth.password_changed', target, after: redacted }, now);
    return true;
  });
  // Another request has changed the password in the meantime, perhaps the same one.
  return isReplaced ? withNotes(done, {}) : changePassword(db, access, input, now);
}

/** Passwords are compared in this form when they are hashed, too. */
const isSamePassword = ({ current_password, new_password }: PasswordChange): boolean =>
  current_password.normalize('NFKC') === new_password.normalize('NFKC');

/**
 * Queues a mail for every address, and the worker drops those that have no account. So neither the response nor its
 * duration reveals who has one.
 */
export async function forgotPassword(db: Db, deps: PasswordDeps, visitor: Visitor, email: string, now: Date) {
  await auditVisitor(
    db,
    { visitor, person: null, change: { type: 'auth.password_reset_asked', target: { kind: 'user', id: email } } },
    now,
  );
  // Limits the number of e-mails per address, so no one can flood a user's inbox.
  const requests = await deps.counters.add(`forgot:${email}`, 60 * 60);
  if (!deps.mail.configured) return withNotes(done, { warnings: ['reset_mail_off'] });
  if (requests.count > maxMailsPerHour) return done;
  if (!(await insertResetMail(db, email, now))) throw tooManyMails();
  afterCommit(db, () => deps.wake.notify('reset_mails'));
  return done;
}

/** Ends all sessions of the user, and starts one for the browser in which the link was used. */
export async function resetPassword(
  db: Db,
  deps: ResetDeps,
  visitor: Visitor,
  input: { reset_token: string; new_password: string },
  now: Date,
) {
  const token = hashOneTimeToken(input.reset_token, deps.pepper);
  if (!(await isRedeemable(db, token, now))) throw resetLinkExpired(); // checked first, because hashing is expensive
  const hash = await hashPassword(input.new_password, visitor);
  return transaction(db, async (db) => {
    const reset = await redeemReset(db, token, now);
    if (reset === undefined) throw resetLinkExpired();
    const user = await lockUser(db, reset.user_id); // so an account that is deactivated meanwhile gets no session
    await savePassword(db, user.id, hash, now);
    await claimAccount(db, visitor, user, now);
    await auditVisitor(
      db,
      {
        visitor,
        person: user,
        change: { type: 'auth.password_reset', target: { kind: 'user', id: user.id }, after: redacted },
      },
      now,
    );
    return user.deactivated_at === null ? startSession(db, deps, visitor, { user, body: done }, now) : done;
  });
}

const tooManyMails = () =>
  new Problem(
    'unavailable',
    'service_unavailable',
    'Too many e-mails are waiting to be sent. Try again in a few minutes.',
  );

const resetLinkExpired = () =>
  new Problem('gone', 'reset_link_expired', 'This link has expired or was already used. Request a new one.');
