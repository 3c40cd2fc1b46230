// Shares an app with members of the workspace and with outside guests (docs/api/apps.md#shares).

import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { isRoleAtLeast } from '../../core/auth/roles.ts';
import { listShares, removeShare, saveShare } from '../../core/identity/apps.ts';
import { listInvitedShares } from '../../core/identity/invitations.ts';
import { findMemberWithShare, type Member, withMembersLock } from '../../core/identity/members.ts';
import { getWorkspaceRow } from '../../core/identity/workspaces.ts';
import { type Answer, answerWithFollowUp, unchanged, withNotes } from '../../kit/http/answer.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';

type ShareRole = 'editor' | 'viewer';

/**
 * The functions that sharing needs from the members feature: inviting a guest, withdrawing the invitation, and removing
 * a guest.
 */
export interface GuestInvitations {
  /** Counts the invitation that `invite` would send. Throws 429 if today's limit has been reached. */
  count(db: Db, access: AppAccess, email: string, now: Date): Promise<void>;
  /** `before` is an existing share's role. `notify` e-mails a new invitation's link. */
  invite(
    db: Db,
    access: AppAccess,
    email: string,
    role: ShareRole,
    now: Date,
  ): Promise<{ before: ShareRole | null; notify: ((db: Db) => Promise<'sent' | 'failed' | 'off'>) | null }>;
  /** Returns the withdrawn share's role, or undefined if there was no share. */
  withdrawInvitation(db: Db, access: AppAccess, email: string, now: Date): Promise<ShareRole | undefined>;
  endMembership(db: Db, access: AppAccess, member: Member, now: Date): Promise<void>;
}

export const listAppShares = async (db: Db, access: AppAccess) => [
  ...(await listShares(db, access)).map((share) => ({ ...share, status: 'joined' as const })),
  ...(await listInvitedShares(db, access)).map((share) => ({ ...share, status: 'invited' as const })),
];

/**
 * Looks for a member first. For anyone else, an invitation may be counted in Redis, which must not happen while the
 * lock is held.
 */
export async function putAppShare(
  db: Db,
  guests: GuestInvitations,
  access: AppAccess,
  { email, role }: { readonly email: string; readonly role: ShareRole },
  now: Date,
) {
  const shareIfMember = async (db: Db) => {
    const member = await findMemberWithShare(db, access, email);
    return member && shareWithMember(db, access, member, role, now);
  };
  const shared = await withMembersLock(db, access, shareIfMember);
  if (shared !== undefined) return shared;
  await requireGuestInvitations(db, access);
  await guests.count(db, access, email, now);
  return withMembersLock(
    db,
    access,
    async (db) => (await shareIfMember(db)) ?? shareWithGuest(db, guests, access, { email, role }, now),
  );
}

/** Throws 403 if only admins may invite guests to the workspace, and the caller is none. */
async function requireGuestInvitations(db: Db, access: AppAccess): Promise<void> {
  if (access.role !== null && isRoleAtLeast(access.role, 'admin')) return;
  if ((await getWorkspaceRow(db, access)).guest_invitations === 'app_owners') return;
  throw new Problem(
    'forbidden',
    'role_required',
    'Only admins invite guests to this workspace. Ask an admin to share the app, or share it with a member.',
    { members: { required_role: 'admin' } },
  );
}

async function shareWithMember(
  db: Db,
  access: AppAccess,
  member: Member & { readonly share_role: ShareRole | null },
  role: ShareRole,
  now: Date,
) {
  if (member.role === 'viewer' && role === 'editor') {
    throw new Problem(
      'bad_request',
      'role_not_assignable',
      "A workspace viewer can't be an app editor. Share the app with the viewer role, or change the member's role first.",
    );
  }
  const share = { email: member.email, role, status: 'joined' as const };
  if (member.share_role === role) return unchanged(share);
  await saveShare(db, access, member.id, role, now);
  await auditShare(db, access, { email: member.email, from: member.share_role, to: role }, now);
  return share;
}

interface InvitedShare {
  readonly email: string;
  readonly role: ShareRole;
  readonly status: 'invited';
}

async function shareWithGuest(
  db: Db,
  guests: GuestInvitations,
  access: AppAccess,
  { email, role }: { readonly email: string; readonly role: ShareRole },
  now: Date,
): Promise<InvitedShare | Answer<InvitedShare>> {
  const { before, notify } = await guests.invite(db, access, email, role, now);
  const share = { email, role, status: 'invited' } as const;
  if (before === role && notify === null) return unchanged(share);
  await auditShare(db, access, { email, from: before, to: role }, now);
  if (notify === null) return share;
  return answerWithFollowUp(share, async (db) => {
    const mail = await notify(db);
    return withNotes(share, mail === 'sent' ? {} : { warnings: [`invitation_mail_${mail}`] });
  });
}

/** Removing a guest's last share also removes the guest, or their invitation. */
export const deleteAppShare = (db: Db, guests: GuestInvitations, access: AppAccess, email: string, now: Date) =>
  withMembersLock(db, access, async (db) => {
    const member = await findMemberWithShare(db, access, email);
    const removedRole = member ? member.share_role : await guests.withdrawInvitation(db, access, email, now);
    if (removedRole == null)
      throw new Problem(
        'not_found',
        'share_not_found',
        'The app is not shared with this person. Check the e-mail address.',
      );
    await auditShare(db, access, { email, from: removedRole, to: null }, now);
    if (member === undefined) return { success: true } as const;
    const hasMore = await removeShare(db, access, member);
    if (member.role === 'guest' && !hasMore) await guests.endMembership(db, access, member, now);
    return { success: true } as const;
  });

async function auditShare(
  db: Db,
  access: AppAccess,
  { email, from, to }: { readonly email: string; readonly from: ShareRole | null; readonly to: ShareRole | null },
  now: Date,
): Promise<void> {
  const { id } = access.app;
  const [before, after] = [from, to].map((role) => role && { email, role });
  const type = to === null ? 'app.unshared' : 'app.shared';
  await audit(db, access, { type, target: { kind: 'app', id }, app_id: id, before, after }, now);
}
