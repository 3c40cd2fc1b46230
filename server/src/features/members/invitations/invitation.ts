// Owns inviting people, by role or by sharing an app. An invitation has a link that works for 60 days; it is sent by mail
// if mail is configured (docs/api/members.md#invitations).
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess, WorkspaceAccess } from '../../../core/auth/proofs.ts';
import type { Pepper } from '../../../core/auth/tokens.ts';
import {
  findInvitedShare,
  findOpenInvitation,
  type Invitation,
  type InvitationWithToken,
  insertInvitation,
  limitInvitedSharesToViewer,
  removeInvitedShare,
  renewInvitation,
  saveInvitedShare,
} from '../../../core/identity/invitations.ts';
import { findMembersOrInvitations, type MemberOrInvitation, withMembersLock } from '../../../core/identity/members.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { rejectIfAnyProblem } from '../changes/bulk.ts';
import { cancelInvitation } from '../changes/change.ts';
import { type AssignableRole, checkAdminRole } from '../rules.ts';
import type { MailOutcome } from './contract.ts';
import { countInvitations } from './limits.ts';
import { answerAndMail, getSender, type InvitationBody, type InvitationDeps, sendMail } from './mail.ts';

interface InvitationRequest {
  readonly email: string;
  readonly role: AssignableRole;
}

/** New links are always hashed with the first pepper. */
const pepperOf = ({ tokenKeys }: InvitationDeps): Pepper => tokenKeys.peppers[0];

export async function inviteMember(
  db: Db,
  access: WorkspaceAccess,
  request: InvitationRequest,
  deps: InvitationDeps,
  now: Date,
) {
  const problem = checkAdminRole(request.role, access);
  if (problem !== undefined) throw problem;
  const invitation = await withMembersLock(db, access, async (db) => {
    const existing = (await findMembersOrInvitations(db, access, [request.email])).get(request.email);
    const conflict = findConflict(existing, now);
    if (conflict !== undefined) throw conflict;
    return createOrReissue(db, access, request, existing, deps, now);
  });
  return answerAndMail(db, access, [invitation], deps, ([only]) => only as InvitationBody);
}

/** A role that the plan doesn't include rejects the whole request. A person who can't be invited is listed in `failed`. */
export async function inviteMembers(
  db: Db,
  access: WorkspaceAccess,
  requests: readonly InvitationRequest[],
  deps: InvitationDeps,
  now: Date,
) {
  rejectIfAnyProblem(requests.map(({ email, role }) => ({ email, problem: checkAdminRole(role, access) })));
  const emails = requests.map(({ email }) => email);
  const invitations: InvitationWithToken[] = [];
  const failed: { email: string; code: string }[] = [];
  await withMembersLock(db, access, async (db) => {
    const existing = await findMembersOrInvitations(db, access, emails);
    for (const request of requests) {
      const conflict = findConflict(existing.get(request.email), now);
      if (conflict !== undefined) failed.push({ email: request.email, code: conflict.code });
      else invitations.push(await createOrReissue(db, access, request, existing.get(request.email), deps, now));
    }
  });
  return answerAndMail(db, access, invitations, deps, (invited) => ({ invited, failed }));
}

/** Sends new links, valid for 60 days, to people who have not joined. The old links stop working. */
export async function resendInvitations(
  db: Db,
  access: WorkspaceAccess,
  emails: readonly string[],
  deps: InvitationDeps,
  now: Date,
) {
  const invitations: InvitationWithToken[] = [];
  const failed: { email: string; code: string }[] = [];
  await withMembersLock(db, access, async (db) => {
    const existing = await findMembersOrInvitations(db, access, emails);
    for (const email of emails) {
      const person = existing.get(email);
      if (person?.joined === false) invitations.push(await reissueInvitation(db, access, person, {}, deps, now));
      else failed.push({ email, code: person === undefined ? 'invitation_not_found' : 'member_exists' });
    }
  });
  return answerAndMail(db, access, invitations, deps, (resent) => ({ resent, failed }));
}

function findConflict(existing: MemberOrInvitation | undefined, now: Date): Problem | undefined {
  if (existing === undefined) return undefined;
  if (existing.joined)
    return new Problem(
      'conflict',
      'member_exists',
      'This person is already a member of the workspace. Change the member instead.',
      {
        retrySafe: false,
      },
    );
  if (existing.expires_at <= now) return undefined;
  return new Problem(
    'conflict',
    'invitation_pending',
    'This person already has a pending invitation. Resend it instead.',
    {
      retrySafe: false,
    },
  );
}

/** Creates an invitation, or renews an expired one with the requested role. */
async function createOrReissue(
  db: Db,
  access: WorkspaceAccess,
  request: InvitationRequest,
  existing: MemberOrInvitation | undefined,
  deps: InvitationDeps,
  now: Date,
): Promise<InvitationWithToken> {
  const direct = { ...request, assigned_via: 'direct' as const };
  if (existing?.joined !== false) return createInvitation(db, access, direct, deps, now);
  if (request.role === 'viewer') await limitInvitedSharesToViewer(db, existing);
  return reissueInvitation(db, access, existing, direct, deps, now);
}

async function createInvitation(
  db: Db,
  access: WorkspaceAccess,
  request: Pick<InvitationWithToken, 'email' | 'role' | 'assigned_via'>,
  deps: InvitationDeps,
  now: Date,
): Promise<InvitationWithToken> {
  const invitation = await insertInvitation(db, access, request, pepperOf(deps), now);
  const { id, email, role, expires_at } = invitation;
  const after = { email, role, expires_at };
  await audit(db, access, { type: 'invitation.created', target: { kind: 'invitation', id }, after }, now);
  return invitation;
}

async function reissueInvitation(
  db: Db,
  access: WorkspaceAccess,
  existing: Invitation,
  change: Partial<Pick<InvitationWithToken, 'role' | 'assigned_via'>>,
  deps: InvitationDeps,
  now: Date,
): Promise<InvitationWithToken> {
  const renewed = await renewInvitation(db, access, existing, change, pepperOf(deps), now);
  const [before, after] = [existing, renewed].map(({ email, role, expires_at }) => ({ email, role, expires_at }));
  const target = { kind: 'invitation', id: renewed.id };
  await audit(db, access, { type: 'invitation.resent', target, before, after }, now);
  return renewed;
}

// ---- guests: people outside the workspace with whom an app is shared

/**
 * Shares an app with a person who is not a member, and invites them as a guest if they have no invitation. `before` is
 * the share's role until now. `notify` mails the link; it is null if the person already has a valid one.
 */
export async function inviteGuest(
  db: Db,
  access: AppAccess,
  email: string,
  role: 'editor' | 'viewer',
  deps: InvitationDeps,
  now: Date,
): Promise<{ before: 'editor' | 'viewer' | null; notify: ((db: Db) => Promise<MailOutcome>) | null }> {
  const existing = await findOpenInvitation(db, access, email);
  if (existing?.role === 'viewer' && role === 'editor') {
    throw new Problem(
      'bad_request',
      'role_not_assignable',
      "Viewers of the workspace can't be editors of an app. Share it as viewer, or change their role first.",
    );
  }
  const share = async (invitation: { workspace_id: string; id: string }) => {
    const current = await findInvitedShare(db, access, invitation);
    if (current?.role !== role) await saveInvitedShare(db, access, invitation, role, now);
    return current?.role ?? null;
  };
  if (existing !== undefined && existing.expires_at > now) return { before: await share(existing), notify: null };
  const guest = { email, role: 'guest', assigned_via: 'app_share' } as const;
  const issued = await (existing === undefined
    ? createInvitation(db, access, guest, deps, now)
    : reissueInvitation(db, access, existing, {}, deps, now));
  const before = await share(issued);
  const sender = await getSender(db, access);
  return { before, notify: (db) => sendMail(db, issued, sender, deps) };
}

/** Counts the invitation that sharing the app with this person would send, if any. 429 if none is left for today. */
export async function countGuestInvitation(
  db: Db,
  access: AppAccess,
  email: string,
  { counters }: InvitationDeps,
  now: Date,
): Promise<void> {
  const existing = (await findMembersOrInvitations(db, access, [email])).get(email);
  if (findConflict(existing, now) === undefined) await countInvitations(db, access, 1, counters);
}

/** Removes the share of one app from an invitation. A guest's invitation is cancelled with its last share. */
export async function removeInvitedGuest(
  db: Db,
  access: AppAccess,
  email: string,
  now: Date,
): Promise<'editor' | 'viewer' | undefined> {
  const invitation = await findOpenInvitation(db, access, email);
  const share = invitation && (await findInvitedShare(db, access, invitation));
  if (invitation === undefined || share === undefined) return undefined;
  const hasMore = await removeInvitedShare(db, access, invitation);
  if (invitation.role === 'guest' && !hasMore) await cancelInvitation(db, access, invitation, now);
  return share.role;
}
