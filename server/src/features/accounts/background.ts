// Owns the queues of mails: password resets, and sign-ins at a new place. They are not sent in the request, because its
// duration would reveal whether the address has an account, and because a promised mail must survive a crash.
import { createResetLink, getUser } from '../../core/identity/accounts.ts';
import { type Queue, type QueueRow, retries } from '../../kit/background/queues/queue.ts';
import type { PasswordDeps } from './password.ts';

interface ResetMail extends QueueRow {
  readonly user_id: string;
}

export const resetMailQueue = ({ mail, pepper, baseUrl }: PasswordDeps): Queue<ResetMail> => ({
  name: 'reset_mails',
  owner: 'user_id',
  concurrency: 8,
  perOwner: 1,
  timeoutMs: 30_000,
  // Stops after about 15 minutes: whoever still waits has requested another mail.
  retryMs: retries(1_000, 10_000, 60_000, 5 * 60_000, 10 * 60_000),
  async run({ user_id }, { db, now }) {
    const user = await getUser(db, user_id);
    if (user.deactivated_at !== null) return {};
    const link = await createResetLink(db, user_id, pepper, baseUrl, now);
    const result = await mail.send({
      to: user.email,
      subject: 'Reset your Plinth password',
      text: `Someone requested a password reset for your account.\n\nTo set a new password, open this link within one hour:\n${link}\n\nIf you did not request this, ignore this e-mail. Your password has not changed.\n`,
    });
    if (result !== 'sent') throw new Error(`reset mail not sent (${result})`);
    return {};
  },
});

interface SignInMail extends QueueRow {
  readonly user_id: string;
  readonly address: string;
  readonly browser: string;
  readonly created_date: Date;
}

export const signInMailQueue = ({ mail, baseUrl }: PasswordDeps): Queue<SignInMail> => ({
  name: 'sign_in_mails',
  owner: 'user_id',
  concurrency: 8,
  perOwner: 1,
  timeoutMs: 30_000,
  // Stops after about a day: then the person can't do much about the sign-in any more.
  retryMs: retries(1_000, 10_000, 60_000, 10 * 60_000, 60 * 60_000, 6 * 60 * 60_000, 17 * 60 * 60_000),
  async run({ user_id, address, browser, created_date }, { db }) {
    const user = await getUser(db, user_id);
    if (user.deactivated_at !== null) return {};
    const time = created_date.toISOString().replace('T', ' ').slice(0, 16);
    const result = await mail.send({
      to: user.email,
      subject: 'New sign-in to your Plinth account',
      text: `Somebody signed in to your account from an address and browser that you have not used lately.\n\nTime: ${time} UTC\nAddress: ${address}\nBrowser: ${browser}\n\nIf this was you, there is nothing to do.\n\nIf it was not you, set a new password, which ends all your sessions:\n${baseUrl}/#forgot-password\nThen revoke the tokens that you do not know.\n\nYou can see your sessions here:\n${baseUrl}/#sessions\n`,
    });
    if (result !== 'sent') throw new Error(`sign-in mail not sent (${result})`);
    return {};
  },
});
