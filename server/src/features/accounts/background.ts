// What accounts do later: mails with a way back in. The time a mail server takes would tell an asker that there was
// somebody to write to; and a mail that was promised must survive a crash.
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
  // Over after a quarter of an hour: who still waits has asked again.
  retryMs: retries(1_000, 10_000, 60_000, 5 * 60_000, 10 * 60_000),
  async run({ user_id }, { db, now }) {
    const user = await getUser(db, user_id);
    const link = await createResetLink(db, user_id, pepper, baseUrl, now);
    const result = await mail.send({
      to: user.email,
      subject: 'Your way back into Plinth',
      text: `Someone, hopefully you, asked for a new password.\n\nSet one here within the hour:\n${link}\n\nIf it was not you, nothing has changed and you can ignore this mail.\n`,
    });
    if (result !== 'sent') throw new Error(`the mail server did not take it (${result})`);
    return {};
  },
});
