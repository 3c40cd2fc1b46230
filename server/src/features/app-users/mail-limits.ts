// Owns how many mails with links can be asked for and are sent, so that nobody can use Plinth to send mail to many strangers, or
// much mail to one (docs/api/app-users.md#how-many-mails).
import type { Counters } from '../../core/auth/counters.ts';
import { type Limit, rateLimited, scaleQuota, toWholeSeconds } from '../../core/auth/limits.ts';
import { nameMailbox } from '../../core/identity/mailboxes.ts';
import { nameClient } from '../../kit/http/client-address.ts';
import type { LinkRow, MailingApp } from './store/links.ts';

const hourSeconds = 60 * 60;
const daySeconds = 24 * hourSeconds;
const maxRequestsPerClient = 60;
const maxMailsOfApp = 3;
const maxMailsOfApps = 10;
const signUpMailsPerDay: Limit = { quota: 500, windowSeconds: daySeconds, per: 'workspace', scaledBy: 'plan' };

/** 429 if the client has asked for too many mails. */
export async function countMailRequest(ip: string, counters: Counters): Promise<void> {
  const { count, resetMs } = await counters.add(`app-mail-client:${nameClient(ip)}`, hourSeconds);
  if (count <= maxRequestsPerClient) return;
  const seconds = toWholeSeconds(resetMs);
  throw rateLimited(
    `At most ${maxRequestsPerClient} mails an hour can be asked for from one address. Retry in ${seconds} seconds.`,
    maxRequestsPerClient,
    hourSeconds,
    seconds,
  );
}

/**
 * Counts a mail that is about to be sent. False if it must not be: its mailbox, or the workspace, has had enough. A limit is
 * counted only if all before it allow the mail. So what one app is asked for too often does not use up what others may send.
 */
export async function countMail(app: MailingApp, link: LinkRow, counters: Counters): Promise<boolean> {
  for (const { name, max, windowSeconds = hourSeconds } of listLimits(app, link))
    if ((await counters.add(name, windowSeconds)).count > max) return false;
  return true;
}

interface MailLimit {
  readonly name: string;
  readonly max: number;
  readonly windowSeconds?: number;
}

/**
 * Sign-ups are counted over all workspaces, links of users only within one: otherwise a stranger could create users with
 * somebody's address at apps of their own, and by mailing these stop that person's links everywhere.
 */
function listLimits({ id, workspace_id, plan, rate_multiplier }: MailingApp, { email, purpose }: LinkRow): MailLimit[] {
  const mailbox = nameMailbox(email);
  const ofApp = { name: `app-mail:${purpose}:${id}:${mailbox}`, max: maxMailsOfApp };
  if (purpose === 'sign_in')
    return [ofApp, { name: `app-mail:sign_in:w:${workspace_id}:${mailbox}`, max: maxMailsOfApps }];
  const max = scaleQuota(signUpMailsPerDay, plan, rate_multiplier);
  return [
    ofApp,
    { name: `app-mail:sign_up:${mailbox}`, max: maxMailsOfApps },
    { name: `app-sign-up-mails:w:${workspace_id}`, max, windowSeconds: daySeconds },
  ];
}
