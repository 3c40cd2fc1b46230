// Mails an invitation, and the response that reports whether the mail was sent.
import type { WorkspaceAccess } from '../../../core/auth/proofs.ts';
import type { Counters } from '../../../core/auth/rate-limits/counters.ts';
import { getCallingUser, getUser } from '../../../core/identity/accounts.ts';
import { type InvitationWithToken, listNamesOfSharedApps, markMailed } from '../../../core/identity/invitations.ts';
import type { TokenKeys } from '../../../core/identity/users.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import type { Mail } from '../../../gateways/mail/index.ts';
import { type Answer, answerWithFollowUp, unchanged, withNotes } from '../../../kit/http/answer.ts';
import { toNameInMail } from '../../../kit/name-in-mail.ts';
import type { Db } from '../../../tables.ts';
import { linkTo, type MailOutcome, presentInvitation } from './contract.ts';
import { countMail } from './limits.ts';

export interface InvitationDeps {
  readonly tokenKeys: TokenKeys;
  readonly counters: Counters;
  readonly mail: Mail;
  readonly baseUrl: string;
}

export type InvitationBody = ReturnType<typeof presentInvitation>;

const mailsAtOnce = 10;

/**
 * Builds the response for new or renewed invitations. Mails are sent after the commit. Until a mail is known to have
 * been sent, the response reports `failed` and contains the link. If the process crashes in between, this response
 * stays stored under the Idempotency-Key.
 */
export async function answerAndMail<Body>(
  db: Db,
  deps: InvitationDeps,
  access: WorkspaceAccess,
  invitations: readonly InvitationWithToken[],
  bodyOf: (invitations: InvitationBody[]) => Body,
): Promise<Body | Answer<Body>> {
  if (invitations.length === 0) return unchanged(bodyOf([]));
  const bodyWith = (outcome: MailOutcome) =>
    bodyOf(invitations.map((invitation) => presentInvitation(invitation, outcome, deps.baseUrl)));
  if (!deps.mail.configured) return bodyWith('off');
  const sender = await getSender(db, access);
  return answerWithFollowUp(bodyWith('failed'), async (db) =>
    withNotes(bodyOf(await sendMails(db, deps, invitations, sender)), {}),
  );
}

async function sendMails(
  db: Db,
  deps: InvitationDeps,
  invitations: readonly InvitationWithToken[],
  sender: Sender,
): Promise<InvitationBody[]> {
  const bodies: InvitationBody[] = [];
  for (let start = 0; start < invitations.length; start += mailsAtOnce) {
    const batch = invitations.slice(start, start + mailsAtOnce);
    const sent = batch.map(async (invitation) =>
      presentInvitation(invitation, await sendMail(db, deps, invitation, sender), deps.baseUrl),
    );
    bodies.push(...(await Promise.all(sent)));
  }
  return bodies;
}

interface Sender {
  readonly workspace: string;
  readonly inviter: string;
}

/**
 * The inviter is named only if their address is verified, because an unverified address could be used to impersonate
 * someone else.
 */
export async function getSender(db: Db, access: WorkspaceAccess): Promise<Sender> {
  const { email, email_verified_at } = await getUser(db, getCallingUser(access).id);
  const { name } = await getWorkspaceRow(db, access);
  return { workspace: toNameInMail(name, 'a workspace'), inviter: email_verified_at === null ? 'An admin' : email };
}

/** Runs after the commit. Using a mailed link proves ownership of the address. */
export async function sendMail(
  db: Db,
  { mail, baseUrl, counters, tokenKeys }: InvitationDeps,
  invitation: InvitationWithToken,
  { workspace, inviter }: Sender,
): Promise<MailOutcome> {
  if (!mail.configured) return 'off';
  if (!(await countMail(invitation.email, counters))) return 'failed';
  const names = invitation.role === 'guest' ? await listNamesOfSharedApps(db, invitation) : [];
  const apps = names.map((name) => toNameInMail(name, 'an app'));
  const invited =
    apps.length === 0
      ? `invited you to the workspace “${workspace}” as ${invitation.role}`
      : `shared ${apps.map((name) => `“${name}”`).join(', ')} with you, from the workspace “${workspace}”`;
  const outcome = await mail.send({
    to: invitation.email,
    subject: apps.length === 0 ? `Join ${workspace} on Plinth` : `Open ${apps[0]} on Plinth`,
    text: `${inviter} ${invited}.\n\nTo accept, open this link within 60 days:\n${linkTo(baseUrl, invitation.token)}\n\nIf you did not expect this invitation, ignore this e-mail. Nothing happens unless you accept.\n`,
  });
  // If this fails, the mail has still been sent, but the link proves nothing, as if only the inviter had seen it.
  if (outcome === 'sent') await markMailed(db, tokenKeys.peppers[0], invitation).catch(() => {});
  return outcome;
}
