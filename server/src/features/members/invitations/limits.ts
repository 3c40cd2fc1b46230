// The daily invitation limits per sender and per recipient. They prevent Plinth from being abused to mail many
// strangers, or to send one person a lot of mail (docs/api/members.md#how-many-invitations).
import { type Limit, rateLimited, scaleQuota, toWholeSeconds } from '../../../core/auth/limits.ts';
import type { WorkspaceAccess } from '../../../core/auth/proofs.ts';
import type { Counters } from '../../../core/auth/rate-limits/counters.ts';
import { nameMailbox } from '../../../core/identity/mailboxes.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import type { Db } from '../../../tables.ts';

const daySeconds = 24 * 60 * 60;
const invitationsPerDay: Limit = { quota: 100, windowSeconds: daySeconds, per: 'workspace', scaledBy: 'plan' };
const mailsPerRecipient = 5;

/** Counts the invitations. Throws a 429 if the workspace or the person has reached today's limit. */
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
  await add(-sent); // rejected invitations don't count
  const seconds = toWholeSeconds(exceeded.resetMs);
  throw rateLimited(
    `At most ${quota} invitations per day are allowed. Retry in ${seconds} seconds, or send fewer.`,
    quota,
    daySeconds,
    seconds,
  );
}

/** Counts a mail to this address across all workspaces. Returns false if the address has reached today's limit. */
export async function countMail(email: string, counters: Counters): Promise<boolean> {
  const { count } = await counters.add(`invitation-mail:${nameMailbox(email)}`, daySeconds);
  return count <= mailsPerRecipient;
}
