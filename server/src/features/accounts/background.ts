// The queues of e-mails about password resets and sign-ins from a new place. The e-mails are not sent within the
// request, and who gets a reset mail is not decided there either, because its duration would reveal whether the address
// has an account, and because a promised e-mail must survive a crash.
import { createResetLink, findUserByEmail, getUser } from '../../core/identity/accounts.ts';
import { type Queue, type QueueRow, retries } from '../../kit/background/queues/queue.ts';
import type { PasswordDeps } from './password.ts';
import { removeResetMail } from './store.ts';

interface ResetMail extends QueueRow {
  readonly email: string;
}

export const resetMailQueue = ({ mail, pepper, baseUrl }: PasswordDeps): Queue<ResetMail> => ({
  name: 'reset_mails',
  owner: 'address_id',
  concurrency: 8,
  perOwner: 1,
  byHand: { retry: true, cancel: true },
  timeoutMs: 30_000,
  // Gives up after about 15 minutes. A user who is still waiting will have requested another e-mail by then.
  retryMs: retries(1_000, 10_000, 60_000, 5 * 60_000, 10 * 60_000),
  async run({ id, email }, { db, now }) {
    const user = await findUserByEmail(db, email);
    if (user === undefined) return { record: (db) => removeResetMail(db, id) };
    if (user.deactivated_at !== null) return {};
    const link = await createResetLink(db, pepper, user.id, baseUrl, now);
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
  byHand: { retry: true, cancel: true },
  timeoutMs: 30_000,
  // Gives up after about a day. By then, the warning would be of little use.
  retryMs: retries(1_000, 10_000, 60_000, 10 * 60_000, 60 * 60_000, 6 * 60 * 60_000, 17 * 60 * 60_000),
  async run({ user_id, address, browser, created_date }, { db }) {
    const user = await getUser(db, user_id);
    if (user.deactivated_at !== null) return {};
    const time = created_date.toISOString().replace('T', ' ').slice(0, 16);
    const result = await mail.send({
      to: user.email,
      subject: 'New sign-in to your Plinth account',
      text: `Someone signed in to your account from an IP address and browser that you haven't used recently.\n\nTime: ${time} UTC\nAddress: ${address}\nBrowser: ${browser}\n\nIf this was you, you don't need to do anything.\n\nIf it wasn't you, set a new password. This ends all your sessions:\n${baseUrl}/#forgot-password\nThen revoke any tokens that you don't recognise.\n\nYou can see your sessions here:\n${baseUrl}/#sessions\n`,
    });
    if (result !== 'sent') throw new Error(`sign-in mail not sent (${result})`);
    return {};
  },
});
