// Owns the mail of an invitation, and the answer that says whether it was sent.
import type { Counters } from '../../../core/auth/counters.ts';
import type { WorkspaceAccess } from '../../../core/auth/proofs.ts';
import { getCallingUser, getUser } from '../../../core/identity/accounts.ts';
import { type InvitationWithToken, markMailed } from '../../../core/identity/invitations.ts';
import type { TokenKeys } from '../../../core/identity/users.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import type { Mail } from '../../../gateways/mail/index.ts';
import { type Answer, answerWithFollowUp, unchanged, withNotes } from '../../../kit/http/answer.ts';
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
 * The answer for new or renewed invitations. Mails are sent after the commit. Until a mail is known to be sent, the answer
 * says `failed` and contains the link; that is what a process that crashes in between leaves under an Idempotency-Key.
 */
export async function answerAndMail<Body>(
  db: Db,
  access: WorkspaceAccess,
  invitations: readonly InvitationWithToken[],
  deps: InvitationDeps,
  bodyOf: (invitations: InvitationBody[]) => Body,
): Promise<Body | Answer<Body>> {
  if (invitations.length === 0) return unchanged(bodyOf([]));
  const bodyWith = (outcome: MailOutcome) =>
    bodyOf(invitations.map((invitation) => presentInvitation(invitation, outcome, deps.baseUrl)));
  if (!deps.mail.configured) return bodyWith('off');
  const sender = await getSender(db, access);
  return answerWithFollowUp(bodyWith('failed'), async (db) =>
    withNotes(bodyOf(await sendMails(db, invitations, sender, deps)), {}),
  );
}

async function sendMails(
  db: Db,
  invitations: readonly InvitationWithToken[],
  sender: Sender,
  deps: InvitationDeps,
): Promise<InvitationBody[]> {
  const bodies: InvitationBody[] = [];
  for (let start = 0; start < invitations.length; start += mailsAtOnce) {
    const batch = invitations.slice(start, start + mailsAtOnce);
    const sent = batch.map(async (invitation) =>
      presentInvitation(invitation, await sendMail(db, invitation, sender, deps), deps.baseUrl),
    );
    bodies.push(...(await Promise.all(sent)));
  }
  return bodies;
}

interface Sender {
  readonly workspace: string;
  readonly inviter: string;
}

/** The mail names the inviter only by an address that was proven: it could be used to pretend to be somebody else. */
export async function getSender(db: Db, access: WorkspaceAccess): Promise<Sender> {
  const { email, email_verified_at } = await getUser(db, getCallingUser(access).id);
  const { name } = await getWorkspaceRow(db, access);
  return { workspace: name.replace(/\s+/g, ' '), inviter: email_verified_at === null ? 'An admin' : email };
}

/** Runs after the commit. A link that was sent proves the address of whoever uses it. */
export async function sendMail(
  db: Db,
  invitation: InvitationWithToken,
  { workspace, inviter }: Sender,
  { mail, baseUrl, counters, tokenKeys }: InvitationDeps,
): Promise<MailOutcome> {
  if (!mail.configured) return 'off';
  if (!(await countMail(invitation.email, counters))) return 'failed';
  const outcome = await mail.send({
    to: invitation.email,
    subject: `Join ${workspace} on Plinth`,
    text: `${inviter} invited you to the workspace “${workspace}” as ${invitation.role}.\n\nTo accept, open this link within 60 days:\n${linkTo(baseUrl, invitation.token)}\n\nIf you did not expect this invitation, ignore this e-mail. Nothing happens unless you accept.\n`,
  });
  // If this fails, the mail was sent all the same. The link then proves nothing, as if it had been shown.
  if (outcome === 'sent') await markMailed(db, invitation, tokenKeys.peppers[0]).catch(() => {});
  return outcome;
}
