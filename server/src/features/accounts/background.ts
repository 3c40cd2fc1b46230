// Owns the queue of password reset mails. They are not sent in the request, because its duration would reveal whether the
// address has an account, and because a promised mail must survive a crash.
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
