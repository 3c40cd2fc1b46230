// Owns how many invitations a sender may send and a recipient may get in a day, so that nobody can use Plinth to send mail to
// many strangers, or much mail to one (docs/api/members.md#how-many-invitations).
import type { Counters } from '../../../core/auth/counters.ts';
import { type Limit, rateLimited, scaleQuota, toWholeSeconds } from '../../../core/auth/limits.ts';
import type { WorkspaceAccess } from '../../../core/auth/proofs.ts';
import { nameMailbox } from '../../../core/identity/mailboxes.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import type { Db } from '../../../tables.ts';

const daySeconds = 24 * 60 * 60;
const invitationsPerDay: Limit = { quota: 100, windowSeconds: daySeconds, per: 'workspace', scaledBy: 'plan' };
const mailsPerRecipient = 5;

/** 429 if the workspace or the person has no invitations left for today. Counts them otherwise. */
export async function countInvitations(
  db: Db,
  access: WorkspaceAccess,
  sent: number,
  counters: Counters,
): Promise<void> {
  const { plan, rate_multiplier } = await getWorkspaceRow(db, access);
  const quota = scaleQuota(invitationsPerDay, plan, rate_multiplier);
  const names = [`invitations:w:${access.workspace_id}`, `invitations:p:${access.caller.user_id}`];
  const add = (by: number) => Promise.all(names.map((name) => counters.add(name, daySeconds, by)));
  const exceeded = (await add(sent)).find(({ count }) => count > quota);
  if (exceeded === undefined) return;
  await add(-sent); // what was not sent does not count
  const seconds = toWholeSeconds(exceeded.resetMs);
  throw rateLimited(
    `At most ${quota} invitations a day are allowed. Retry in ${seconds} seconds, or send fewer.`,
    quota,
    daySeconds,
    seconds,
  );
}

/** Counts a mail to this address, over all workspaces. False if the address got enough for today. */
export async function countMail(email: string, counters: Counters): Promise<boolean> {
  const { count } = await counters.add(`invitation-mail:${nameMailbox(email)}`, daySeconds);
  return count <= mailsPerRecipient;
}
