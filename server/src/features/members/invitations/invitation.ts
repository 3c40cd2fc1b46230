// Owns asking people in: by role or by sharing an app, with a link that works for 60 days, by mail where mail is set up
// (docs/contract.md §2.4, §3.1).
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess, WorkspaceAccess } from '../../../core/auth/proofs.ts';
import type { Pepper } from '../../../core/auth/tokens.ts';
import {
  findInvitedShare,
  type InvitationWithToken,
  insertInvitation,
  limitInvitedSharesToViewer,
  listOpenInvitations,
  removeInvitedShare,
  renewInvitation,
  saveInvitedShare,
} from '../../../core/identity/invitations.ts';
import { findMembersOrInvitations, type MemberOrInvitation, withMembersLock } from '../../../core/identity/members.ts';
import type { TokenKeys } from '../../../core/identity/users.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import type { Mail } from '../../../gateways/mail/index.ts';
import { type Answer, answerWithFollowUp, unchanged, withNotes } from '../../../kit/http/answer.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { rejectIfAnyProblem } from '../changes/bulk.ts';
import { cancelInvitation } from '../changes/change.ts';
import { type AssignableRole, checkAdminRole } from '../rules.ts';
import { linkTo, type MailOutcome, presentInvitation } from './contract.ts';

export interface InvitationDeps {
  readonly mint: TokenKeys;
  readonly mail: Mail;
  readonly baseUrl: string;
}

interface InvitationRequest {
  readonly email: string;
  readonly role: AssignableRole;
}

const pepperOf = ({ mint }: InvitationDeps): Pepper => mint.peppers[0];

export async function inviteMember(
  db: Db,
  access: WorkspaceAccess,
  asked: InvitationRequest,
  deps: InvitationDeps,
  now: Date,
) {
  const fault = checkAdminRole(asked.role, access);
  if (fault !== undefined) throw fault;
  const made = await withMembersLock(db, access, async (db) => {
    const known = (await findMembersOrInvitations(db, access, [asked.email])).get(asked.email);
    const conflict = findConflict(known, now);
    if (conflict !== undefined) throw conflict;
    return createOrReissue(db, access, asked, known, deps, now);
  });
  return mailAfterCommit(db, access, [made], deps, ([only]) => only as InvitationBody);
}

/** A role that is not to be had refuses all; what stands in one person's way fails that one. */
export async function inviteMembers(
  db: Db,
  access: WorkspaceAccess,
  all: readonly InvitationRequest[],
  deps: InvitationDeps,
  now: Date,
) {
  rejectIfAnyProblem(all.map(({ email, role }) => ({ email, fault: checkAdminRole(role, access) })));
  const made: InvitationWithToken[] = [];
  const failed: { email: string; code: string }[] = [];
  await withMembersLock(db, access, async (db) => {
    const known = await findMembersOrInvitations(
      db,
      access,
      all.map(({ email }) => email),
    );
    for (const asked of all) {
      const conflict = findConflict(known.get(asked.email), now);
      if (conflict !== undefined) failed.push({ email: asked.email, code: conflict.code });
      else made.push(await createOrReissue(db, access, asked, known.get(asked.email), deps, now));
    }
  });
  return mailAfterCommit(db, access, made, deps, (invited) => ({ invited, failed }));
}

/** A new link and new 60 days for who has not joined; the old link is dead. */
export async function resendInvitations(
  db: Db,
  access: WorkspaceAccess,
  emails: readonly string[],
  deps: InvitationDeps,
  now: Date,
) {
  const made: InvitationWithToken[] = [];
  const failed: { email: string; code: string }[] = [];
  await withMembersLock(db, access, async (db) => {
    const known = await findMembersOrInvitations(db, access, emails);
    for (const email of emails) {
      const who = known.get(email);
      if (who?.joined === false) made.push(await reissueInvitation(db, access, who, {}, deps, now));
      else failed.push({ email, code: who === undefined ? 'invitation_not_found' : 'member_exists' });
    }
  });
  return mailAfterCommit(db, access, made, deps, (resent) => ({ resent, failed }));
}

function findConflict(known: MemberOrInvitation | undefined, now: Date): Problem | undefined {
  if (known === undefined) return undefined;
  if (known.joined) return new Problem('conflict', 'member_exists', 'This person is a member.', { retrySafe: false });
  if (known.expires_at <= now) return undefined;
  return new Problem('conflict', 'invitation_pending', 'This person has been invited. Resend the invitation instead.', {
    retrySafe: false,
  });
}

/** Asks somebody new, or again somebody whose invitation has expired. */
async function createOrReissue(
  db: Db,
  access: WorkspaceAccess,
  asked: InvitationRequest,
  expired: MemberOrInvitation | undefined,
  deps: InvitationDeps,
  now: Date,
): Promise<InvitationWithToken> {
  const direct = { ...asked, assigned_via: 'direct' as const };
  if (expired?.joined !== false) return createInvitation(db, access, direct, deps, now);
  if (asked.role === 'viewer') await limitInvitedSharesToViewer(db, expired);
  return reissueInvitation(db, access, expired, direct, deps, now);
}

async function createInvitation(
  db: Db,
  access: WorkspaceAccess,
  asked: Pick<InvitationWithToken, 'email' | 'role' | 'assigned_via'>,
  deps: InvitationDeps,
  now: Date,
): Promise<InvitationWithToken> {
  const made = await insertInvitation(db, access, asked, pepperOf(deps), now);
  const after = { email: made.email, role: made.role, expires_at: made.expires_at };
  await audit(db, access, { type: 'invitation.created', target: { kind: 'invitation', id: made.id }, after }, now);
  return made;
}

async function reissueInvitation(
  db: Db,
  access: WorkspaceAccess,
  open: { workspace_id: string; id: string; email: string; role: string; expires_at: Date },
  change: Partial<Pick<InvitationWithToken, 'role' | 'assigned_via'>>,
  deps: InvitationDeps,
  now: Date,
): Promise<InvitationWithToken> {
  const made = await renewInvitation(db, access, open, change, pepperOf(deps), now);
  const [before, after] = [open, made].map(({ email, role, expires_at }) => ({ email, role, expires_at }));
  const target = { kind: 'invitation', id: made.id };
  await audit(db, access, { type: 'invitation.resent', target, before, after }, now);
  return made;
}

// ---- guests: people outside with whom an app is shared

/** Shares an app with somebody who is no member: a guest, invited if they are not yet. `notify` mails a new link. */
export async function inviteGuest(
  db: Db,
  access: AppAccess,
  email: string,
  role: 'editor' | 'viewer',
  deps: InvitationDeps,
  now: Date,
): Promise<{ before: 'editor' | 'viewer' | null; notify: (() => Promise<MailOutcome>) | null }> {
  const [open] = await listOpenInvitations(db, access, [email]);
  if (open?.role === 'viewer' && role === 'editor') {
    throw new Problem('bad_request', 'role_not_assignable', 'A viewer of the workspace cannot edit an app.');
  }
  const asGuest = { email, role: 'guest' as const, assigned_via: 'app_share' as const };
  const linked =
    open === undefined
      ? await createInvitation(db, access, asGuest, deps, now)
      : open.expires_at <= now && (await reissueInvitation(db, access, open, {}, deps, now));
  const invitation = open ?? (linked as InvitationWithToken);
  const share = await findInvitedShare(db, access, invitation);
  if (share?.role !== role) await saveInvitedShare(db, access, invitation, role, now);
  if (linked === false) return { before: share?.role ?? null, notify: null };
  const from = await getSender(db, access);
  return { before: share?.role ?? null, notify: () => sendMail(linked, from, deps) };
}

/** Ends the share of one app with a person who has not joined; a guest with none left is no longer invited. */
export async function removeInvitedGuest(
  db: Db,
  access: AppAccess,
  email: string,
  now: Date,
): Promise<'editor' | 'viewer' | undefined> {
  const [open] = await listOpenInvitations(db, access, [email]);
  const share = open && (await findInvitedShare(db, access, open));
  if (open === undefined || share === undefined) return undefined;
  const hasMore = await removeInvitedShare(db, access, open);
  if (open.role === 'guest' && !hasMore) await cancelInvitation(db, access, open, now);
  return share.role;
}

// ---- mail

type InvitationBody = ReturnType<typeof presentInvitation>;

/**
 * The answer for invitations just made. Mails leave once these are committed; until one is known to have left, the
 * answer carries its link.
 */
async function mailAfterCommit<Body>(
  db: Db,
  access: WorkspaceAccess,
  made: readonly InvitationWithToken[],
  deps: InvitationDeps,
  bodyOf: (invitations: InvitationBody[]) => Body,
): Promise<Body | Answer<Body>> {
  const say = (states: readonly MailOutcome[]) =>
    bodyOf(made.map((each, i) => presentInvitation(each, states[i] as MailOutcome, deps.baseUrl)));
  if (made.length === 0) return unchanged(say([]));
  if (!deps.mail.configured) return say(made.map(() => 'off'));
  const from = await getSender(db, access);
  return answerWithFollowUp(say(made.map(() => 'failed')), async () =>
    withNotes(say(await sendMails(made, from, deps)), {}),
  );
}

interface Sender {
  readonly workspace: string;
  readonly inviter: string;
}

const getSender = async (db: Db, access: WorkspaceAccess): Promise<Sender> => ({
  workspace: (await getWorkspaceRow(db, access)).name.replace(/\s+/g, ' '),
  inviter: access.caller.email ?? 'An admin',
});

const mailsAtOnce = 10;

async function sendMails(
  made: readonly InvitationWithToken[],
  from: Sender,
  deps: InvitationDeps,
): Promise<MailOutcome[]> {
  const states: MailOutcome[] = [];
  for (let at = 0; at < made.length; at += mailsAtOnce) {
    states.push(...(await Promise.all(made.slice(at, at + mailsAtOnce).map((each) => sendMail(each, from, deps)))));
  }
  return states;
}

const sendMail = (
  made: InvitationWithToken,
  { workspace, inviter }: Sender,
  { mail, baseUrl }: InvitationDeps,
): Promise<MailOutcome> =>
  mail.send({
    to: made.email,
    subject: `Join ${workspace} on Plinth`,
    text: `${inviter} invites you to the workspace “${workspace}” as ${made.role}.\n\nAccept within 60 days:\n${linkTo(baseUrl, made.token)}\n\nIf you do not know what this is about, you can ignore this mail: nothing happens unless you accept.\n`,
  });
