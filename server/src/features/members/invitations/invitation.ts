// Invites people by role or by sharing an app. An invitation's link works for 60 days, and is mailed if mail is
// configured (docs/api/members.md#invitations).
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
  deps: InvitationDeps,
  access: WorkspaceAccess,
  request: InvitationRequest,
  now: Date,
) {
  const problem = checkAdminRole(request.role, access);
  if (problem !== undefined) throw problem;
  const invitation = await withMembersLock(db, access, async (db) => {
    const existing = (await findMembersOrInvitations(db, access, [request.email])).get(request.email);
    const conflict = findConflict(existing, now);
    if (conflict !== undefined) throw conflict;
    return createOrReissue(db, deps, access, { request, existing }, now);
  });
  return answerAndMail(db, deps, access, [invitation], ([only]) => only as InvitationBody);
}

/**
 * A role that the plan doesn't include causes the whole request to be rejected. People who can't be invited are listed
 * in `failed`.
 */
export async function inviteMembers(
  db: Db,
  deps: InvitationDeps,
  access: WorkspaceAccess,
  requests: readonly InvitationRequest[],
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
      else
        invitations.push(
          await createOrReissue(db, deps, access, { request, existing: existing.get(request.email) }, now),
        );
    }
  });
  return answerAndMail(db, deps, access, invitations, (invited) => ({ invited, failed }));
}

/** Sends new links, valid for 60 days, to people who have not joined yet. The old links stop working. */
export async function resendInvitations(
  db: Db,
  deps: InvitationDeps,
  access: WorkspaceAccess,
  emails: readonly string[],
  now: Date,
) {
  const invitations: InvitationWithToken[] = [];
  const failed: { email: string; code: string }[] = [];
  await withMembersLock(db, access, async (db) => {
    const existing = await findMembersOrInvitations(db, access, emails);
    for (const email of emails) {
      const person = existing.get(email);
      if (person?.joined === false)
        invitations.push(await reissueInvitation(db, deps, access, { existing: person, change: {} }, now));
      else failed.push({ email, code: person === undefined ? 'invitation_not_found' : 'member_exists' });
    }
  });
  return answerAndMail(db, deps, access, invitations, (resent) => ({ resent, failed }));
}

function findConflict(existing: MemberOrInvitation | undefined, now: Date): Problem | undefined {
  if (existing === undefined) return undefined;
  if (existing.joined)
    return new Problem(
      'conflict',
      'member_exists',
      'This person is already a member of the workspace. Update the member instead.',
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
  deps: InvitationDeps,
  access: WorkspaceAccess,
  { request, existing }: { readonly request: InvitationRequest; readonly existing: MemberOrInvitation | undefined },
  now: Date,
): Promise<InvitationWithToken> {
  const direct = { ...request, assigned_via: 'direct' as const };
  if (existing?.joined !== false) return createInvitation(db, deps, access, direct, now);
  if (request.role === 'viewer') await limitInvitedSharesToViewer(db, existing);
  return reissueInvitation(db, deps, access, { existing, change: direct }, now);
}

async function createInvitation(
  db: Db,
  deps: InvitationDeps,
  access: WorkspaceAccess,
  request: Pick<InvitationWithToken, 'email' | 'role' | 'assigned_via'>,
  now: Date,
): Promise<InvitationWithToken> {
  const invitation = await insertInvitation(db, pepperOf(deps), access, request, now);
  const { id, email, role, expires_at } = invitation;
  const after = { email, role, expires_at };
  await audit(db, access, { type: 'invitation.created', target: { kind: 'invitation', id }, after }, now);
  return invitation;
}

async function reissueInvitation(
  db: Db,
  deps: InvitationDeps,
  access: WorkspaceAccess,
  {
    existing,
    change,
  }: { readonly existing: Invitation; readonly change: Partial<Pick<InvitationWithToken, 'role' | 'assigned_via'>> },
  now: Date,
): Promise<InvitationWithToken> {
  const renewed = await renewInvitation(db, pepperOf(deps), access, { invitation: existing, terms: change }, now);
  const [before, after] = [existing, renewed].map(({ email, role, expires_at }) => ({ email, role, expires_at }));
  const target = { kind: 'invitation', id: renewed.id };
  await audit(db, access, { type: 'invitation.resent', target, before, after }, now);
  return renewed;
}

// ---- guests, who are people outside the workspace with whom an app is shared

/**
 * Shares an app with a person who is not a member, and invites them as a guest if they have no invitation. `before` is
 * an existing share's role. `notify` mails the link, and is null if the person already has a valid one.
 */
export async function inviteGuest(
  db: Db,
  deps: InvitationDeps,
  access: AppAccess,
  { email, role }: { readonly email: string; readonly role: 'editor' | 'viewer' },
  now: Date,
): Promise<{ before: 'editor' | 'viewer' | null; notify: ((db: Db) => Promise<MailOutcome>) | null }> {
  const existing = await findOpenInvitation(db, access, email);
  if (existing?.role === 'viewer' && role === 'editor') {
    throw new Problem(
      'bad_request',
      'role_not_assignable',
      "A workspace viewer can't be an app editor. Share the app with the viewer role, or change the member's role first.",
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
    ? createInvitation(db, deps, access, guest, now)
    : reissueInvitation(db, deps, access, { existing, change: {} }, now));
  const before = await share(issued);
  const sender = await getSender(db, access);
  return { before, notify: (db) => sendMail(db, deps, issued, sender) };
}

/**
 * Counts the invitation, if any, that sharing the app with this person would send. Throws a 429 if today's limit is
 * reached.
 */
export async function countGuestInvitation(
  db: Db,
  { counters }: InvitationDeps,
  access: AppAccess,
  email: string,
  now: Date,
): Promise<void> {
  const existing = (await findMembersOrInvitations(db, access, [email])).get(email);
  if (findConflict(existing, now) === undefined) await countInvitations(db, access, 1, counters);
}

/** Removes one app's share from an invitation. A guest's invitation is cancelled when its last share is removed. */
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
