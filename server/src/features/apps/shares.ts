// Owns who else may use an app: shares with people of the workspace, and with guests from outside (docs/contract.md §3.1).

import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { findShare, insertShare, listShares, removeShare } from '../../core/identity/apps.ts';
import { listInvitedShares } from '../../core/identity/invitations.ts';
import { findMember, type Member, withMembersLock } from '../../core/identity/members.ts';
import { type Answer, answerWithFollowUp, unchanged, withNotes } from '../../kit/http/answer.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';

type ShareRole = 'editor' | 'viewer';

/** What sharing needs of the room that lets people in: asking a guest in, taking that back, letting one go. */
export interface GuestInvitations {
  /** `before` is the share they had; `notify` mails the link of a new invitation. */
  invite(
    db: Db,
    access: AppAccess,
    email: string,
    role: ShareRole,
    now: Date,
  ): Promise<{ before: ShareRole | null; notify: (() => Promise<'sent' | 'failed' | 'off'>) | null }>;
  /** Gives the share that ended, if there was one. */
  uninvite(db: Db, access: AppAccess, email: string, now: Date): Promise<ShareRole | undefined>;
  leave(db: Db, access: AppAccess, member: Member, now: Date): Promise<void>;
}

export const listAppShares = async (db: Db, access: AppAccess) => [
  ...(await listShares(db, access)).map((share) => ({ ...share, status: 'joined' as const })),
  ...(await listInvitedShares(db, access)).map((share) => ({ ...share, status: 'invited' as const })),
];

export const putAppShare = (
  db: Db,
  access: AppAccess,
  email: string,
  role: ShareRole,
  guests: GuestInvitations,
  now: Date,
) =>
  withMembersLock(db, access, async (db) => {
    const member = await findMember(db, access, email);
    return member === undefined
      ? shareWithGuest(db, access, email, role, guests, now)
      : shareWithMember(db, access, member, role, now);
  });

async function shareWithMember(db: Db, access: AppAccess, member: Member, role: ShareRole, now: Date) {
  if (member.role === 'viewer' && role === 'editor') {
    throw new Problem('bad_request', 'role_not_assignable', 'A viewer of the workspace cannot edit an app.');
  }
  const share = { email: member.email, role, status: 'joined' as const };
  const before = await findShare(db, access, member.id);
  if (before?.role === role) return unchanged(share);
  await insertShare(db, access, member.id, role, now);
  await auditShare(db, access, member.email, before?.role ?? null, role, now);
  return share;
}

interface InvitedShare {
  readonly email: string;
  readonly role: ShareRole;
  readonly status: 'invited';
}

async function shareWithGuest(
  db: Db,
  access: AppAccess,
  email: string,
  role: ShareRole,
  guests: GuestInvitations,
  now: Date,
): Promise<InvitedShare | Answer<InvitedShare>> {
  const { before, notify } = await guests.invite(db, access, email, role, now);
  const share = { email, role, status: 'invited' } as const;
  if (before === role && notify === null) return unchanged(share);
  await auditShare(db, access, email, before, role, now);
  if (notify === null) return share;
  return answerWithFollowUp(share, async () => {
    const mail = await notify();
    return withNotes(share, mail === 'sent' ? {} : { warnings: [`invitation_mail_${mail}`] });
  });
}

/** A guest who has no share left leaves the workspace, or is no longer invited to it. */
export const deleteAppShare = (db: Db, access: AppAccess, email: string, guests: GuestInvitations, now: Date) =>
  withMembersLock(db, access, async (db) => {
    const member = await findMember(db, access, email);
    const ended = member
      ? (await findShare(db, access, member.id))?.role
      : await guests.uninvite(db, access, email, now);
    if (ended === undefined)
      throw new Problem('not_found', 'share_not_found', 'The app is not shared with this person.');
    await auditShare(db, access, email, ended, null, now);
    if (member === undefined) return { success: true } as const;
    const hasMore = await removeShare(db, access, member);
    if (member.role === 'guest' && !hasMore) await guests.leave(db, access, member, now);
    return { success: true } as const;
  });

async function auditShare(
  db: Db,
  access: AppAccess,
  email: string,
  from: ShareRole | null,
  to: ShareRole | null,
  now: Date,
): Promise<void> {
  const { id } = access.app;
  const [before, after] = [from, to].map((role) => role && { email, role });
  const type = to === null ? 'app.unshared' : 'app.shared';
  await audit(db, access, { type, target: { kind: 'app', id }, app_id: id, before, after }, now);
}
