// The limits on requesting and sending e-mails with links, so no one can use Plinth to e-mail many strangers or to
// flood one person's inbox (docs/api/app-users.md#how-many-mails).
import { type Limit, rateLimited, scaleQuota, toWholeSeconds } from '../../core/auth/limits.ts';
import type { Counters } from '../../core/auth/rate-limits/counters.ts';
import { nameMailbox } from '../../core/identity/mailboxes.ts';
import { nameClient } from '../../kit/http/connection/client-address.ts';
import type { LinkRow, MailingApp } from './store/links.ts';

const hourSeconds = 60 * 60;
const daySeconds = 24 * hourSeconds;
const maxRequestsPerClient = 60;
const maxMailsOfApp = 3;
const maxMailsOfApps = 10;
const signUpMailsPerDay: Limit = { quota: 500, windowSeconds: daySeconds, per: 'workspace', scaledBy: 'plan' };

/** Throws 429 if the client has requested too many e-mails. */
export async function countMailRequest(ip: string, counters: Counters): Promise<void> {
  const { count, resetMs } = await counters.add(`app-mail-client:${nameClient(ip)}`, hourSeconds);
  if (count <= maxRequestsPerClient) return;
  const seconds = toWholeSeconds(resetMs);
  throw rateLimited(
    `At most ${maxRequestsPerClient} e-mails per hour can be requested from one IP address. Retry in ${seconds} seconds.`,
    maxRequestsPerClient,
    hourSeconds,
    seconds,
  );
}

/**
 * Counts an e-mail that is about to be sent. Returns false if it must not be sent because a limit for its mailbox or
 * workspace has been reached. An e-mail counts towards a limit only if all earlier limits allow it, so excessive
 * requests to one app do not use up the limits that it shares with other apps.
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
 * Sign-up e-mails to a mailbox are counted across all workspaces, but sign-in links only within a workspace. Otherwise
 * a stranger could add a person's address to their own apps and request links there until the person's links were
 * blocked everywhere.
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
