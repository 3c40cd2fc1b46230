// Owns the mail of an invitation, and the answer that says whether it was sent.
import type { WorkspaceAccess } from '../../../core/auth/proofs.ts';
import type { InvitationWithToken } from '../../../core/identity/invitations.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import type { Mail } from '../../../gateways/mail/index.ts';
import { type Answer, answerWithFollowUp, unchanged, withNotes } from '../../../kit/http/answer.ts';
import type { Db } from '../../../tables.ts';
import { linkTo, type MailOutcome, presentInvitation } from './contract.ts';

export interface MailDeps {
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
  deps: MailDeps,
  bodyOf: (invitations: InvitationBody[]) => Body,
): Promise<Body | Answer<Body>> {
  if (invitations.length === 0) return unchanged(bodyOf([]));
  const bodyWith = (outcome: MailOutcome) =>
    bodyOf(invitations.map((invitation) => presentInvitation(invitation, outcome, deps.baseUrl)));
  if (!deps.mail.configured) return bodyWith('off');
  const sender = await getSender(db, access);
  return answerWithFollowUp(bodyWith('failed'), async () =>
    withNotes(bodyOf(await sendMails(invitations, sender, deps)), {}),
  );
}

async function sendMails(
  invitations: readonly InvitationWithToken[],
  sender: Sender,
  deps: MailDeps,
): Promise<InvitationBody[]> {
  const bodies: InvitationBody[] = [];
  for (let start = 0; start < invitations.length; start += mailsAtOnce) {
    const batch = invitations.slice(start, start + mailsAtOnce);
    const sent = batch.map(async (invitation) =>
      presentInvitation(invitation, await sendMail(invitation, sender, deps), deps.baseUrl),
    );
    bodies.push(...(await Promise.all(sent)));
  }
  return bodies;
}

interface Sender {
  readonly workspace: string;
  readonly inviter: string;
}

export const getSender = async (db: Db, access: WorkspaceAccess): Promise<Sender> => ({
  workspace: (await getWorkspaceRow(db, access)).name.replace(/\s+/g, ' '),
  inviter: access.caller.email ?? 'An admin',
});

export const sendMail = (
  invitation: InvitationWithToken,
  { workspace, inviter }: Sender,
  { mail, baseUrl }: MailDeps,
): Promise<MailOutcome> =>
  mail.send({
    to: invitation.email,
    subject: `Join ${workspace} on Plinth`,
    text: `${inviter} invited you to the workspace “${workspace}” as ${invitation.role}.\n\nTo accept, open this link within 60 days:\n${linkTo(baseUrl, invitation.token)}\n\nIf you did not expect this invitation, ignore this e-mail. Nothing happens unless you accept.\n`,
  });
