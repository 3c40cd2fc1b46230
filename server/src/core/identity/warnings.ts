// E-mails that warn the people responsible for an app, for example when the platform has turned something off.
// They are queued in the same transaction as the change, so no one is warned about a change that was rolled back.
import { sql } from 'kysely';
import { purge } from '../../kit/background/purge.ts';
import { type Queue, type QueueRow, retries } from '../../kit/background/queues/queue.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import { listEmailsOfOwnerAnd, listResponsibleEmails } from './members.ts';

export interface Warning {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly subject: string;
  readonly body: string;
}

/** Queues an e-mail to the app's owner, and to the workspace's owner and admins. */
export async function warnResponsible(db: Db, warning: Warning, now: Date): Promise<void> {
  await queueMails(db, warning, await listResponsibleEmails(db, warning, warning.app_id), now);
}

/** Queues an e-mail to the app's owner, and to another person if they are a member. */
export async function warnOwnerAnd(db: Db, warning: Warning, user_id: string | null, now: Date): Promise<void> {
  await queueMails(db, warning, await listEmailsOfOwnerAnd(db, warning, warning.app_id, user_id), now);
}

async function queueMails(db: Db, warning: Warning, emails: readonly string[], now: Date): Promise<void> {
  if (emails.length === 0) return;
  const subject = warning.subject.replace(/\s+/g, ' '); // the subject may contain a name chosen by a user
  await db
    .insertInto('app_warnings')
    .values(emails.map((email) => ({ ...warning, subject, id: newId(), email, created_date: now, due_at: now })))
    .execute();
}

type SendMail = (mail: { to: string; subject: string; text: string }) => Promise<'sent' | 'failed' | 'off'>;
type WarningRow = QueueRow & Warning & { readonly email: string };

const minuteMs = 60 * 1000;

/** Without a mail server, warnings are discarded. */
export const createWarningQueue = (send: SendMail): Queue<WarningRow> => ({
  name: 'app_warnings',
  owner: 'app_id',
  concurrency: 8,
  perOwner: 2,
  byHand: { retry: true, cancel: true },
  timeoutMs: 30_000,
  retryMs: retries(10_000, minuteMs, 10 * minuteMs, 60 * minuteMs, 6 * 60 * minuteMs),
  async run({ email, subject, body }) {
    if ((await send({ to: email, subject, text: body })) === 'failed')
      throw new Error('mail server did not accept the warning');
    return {};
  },
});

const keptMs = 30 * 24 * 60 * minuteMs;

export const warningJobs: readonly Job[] = [
  {
    name: 'remove old warnings',
    everyMs: minuteMs,
    run: (db, now) =>
      purge(db, {
        table: 'app_warnings',
        where: sql`due_at is null and created_date < ${new Date(now.getTime() - keptMs)}`,
      }),
  },
];
