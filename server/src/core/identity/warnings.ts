// Owns mails that warn the people responsible for an app, about what the platform turned off for example. They are queued in
// the transaction of the change, so that nobody is warned of what did not happen.
import { sql } from 'kysely';
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

/** A mail to the app's owner, and one to each owner and admin of the workspace. */
export async function warnResponsible(db: Db, warning: Warning, now: Date): Promise<void> {
  await queueMails(db, warning, await listResponsibleEmails(db, warning, warning.app_id), now);
}

/** A mail to the app's owner, and one to another person whom it concerns, if they are a member. */
export async function warnOwnerAnd(db: Db, warning: Warning, user_id: string | null, now: Date): Promise<void> {
  await queueMails(db, warning, await listEmailsOfOwnerAnd(db, warning, warning.app_id, user_id), now);
}

async function queueMails(db: Db, warning: Warning, emails: readonly string[], now: Date): Promise<void> {
  if (emails.length === 0) return;
  const subject = warning.subject.replace(/\s+/g, ' '); // it may contain a name that a person chose
  await db
    .insertInto('app_warnings')
    .values(emails.map((email) => ({ ...warning, subject, id: newId(), email, created_date: now, due_at: now })))
    .execute();
}

type SendMail = (mail: { to: string; subject: string; text: string }) => Promise<'sent' | 'failed' | 'off'>;
type WarningRow = QueueRow & Warning & { readonly email: string };

const minuteMs = 60 * 1000;

/** Without a mail server, warnings are removed unsent. */
export const createWarningQueue = (send: SendMail): Queue<WarningRow> => ({
  name: 'app_warnings',
  owner: 'app_id',
  concurrency: 8,
  perOwner: 2,
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
    async run(db, now) {
      const { numAffectedRows } = await sql`/* service */ delete from app_warnings where id in (
        select id from app_warnings where due_at is null and created_date < ${new Date(now.getTime() - keptMs)}
        limit 5000)`.execute(db);
      return Number(numAffectedRows ?? 0);
    },
  },
];
