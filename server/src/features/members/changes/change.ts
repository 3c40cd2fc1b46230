// Owns the changes of one member: role, access, credit limit, removal with all its consequences; and who owns the
// workspace (docs/contract.md §2.3). Each runs in turn with every other change of the workspace's people.
import { audit } from '../../../core/audit/audit.ts';
import type { WorkspaceAccess } from '../../../core/auth/proofs.ts';
import { roleRequired } from '../../../core/auth/resource-guards.ts';
import { limitInvitedSharesToViewer, removeInvitation, saveInvitation } from '../../../core/identity/invitations.ts';
import {
  findMember,
  findMembersOrInvitations,
  getOwner,
  limitSharesToViewer,
  type Member,
  type MemberOrInvitation,
  removeMembership,
  saveMember,
  withMembersLock,
} from '../../../core/identity/members.ts';
import { getWorkspaceRow, saveWorkspace } from '../../../core/identity/workspaces.ts';
import type { Publish } from '../../../events.ts';
import { unchanged } from '../../../kit/http/answer.ts';
import type { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { getMemberEntry } from '../entry.ts';
import {
  type AssignableRole,
  checkAccessChange,
  checkCreditLimit,
  checkLimitWithinPool,
  checkRemoval,
  checkRoleChange,
  memberNotFound,
} from '../rules.ts';

export interface ChangeDeps {
  readonly publish: Publish;
}

/** Who was let in, and about whom. */
export type MemberAccess = WorkspaceAccess & { readonly member: { readonly email: string } };

/** Changes one person, as they are when their turn has come; answers with their entry. */
async function changeOne(
  db: Db,
  access: MemberAccess,
  faultOf: (who: MemberOrInvitation | undefined, db: Db) => Problem | undefined | Promise<Problem | undefined>,
  change: (db: Db, who: MemberOrInvitation) => Promise<boolean>,
  now: Date,
) {
  const { email } = access.member;
  return withMembersLock(db, access, async (db) => {
    const who = (await findMembersOrInvitations(db, access, [email])).get(email);
    const fault = await faultOf(who, db);
    if (fault !== undefined || who === undefined) throw fault ?? memberNotFound();
    const changed = await change(db, who);
    const entry = await getMemberEntry(db, access, email, now);
    return changed ? entry : unchanged(entry);
  });
}

export const setRole = (db: Db, access: MemberAccess, role: AssignableRole, now: Date) =>
  changeOne(
    db,
    access,
    (who) => checkRoleChange(who, role, access),
    (db, who) => applyRole(db, access, who, role, now),
    now,
  );

/** Gives whether anything changed; so do the others below. */
export async function applyRole(
  db: Db,
  access: WorkspaceAccess,
  who: MemberOrInvitation,
  role: AssignableRole,
  now: Date,
) {
  if (who.role === role) return false;
  if (who.joined) {
    const own = role === 'viewer' ? { credit_limit: null } : {};
    await saveMember(db, access, who.id, { role, assigned_via: 'direct', updated_date: now, ...own });
    if (role === 'viewer') await limitSharesToViewer(db, access, who.id);
  } else {
    await saveInvitation(db, who, { role, assigned_via: 'direct' });
    if (role === 'viewer') await limitInvitedSharesToViewer(db, who);
  }
  const type = who.joined ? 'member.role_changed' : 'invitation.role_changed';
  const [before, after] = [who.role, role].map((role) => ({ email: who.email, role }));
  await audit(db, access, { type, target: targetOf(who), before, after }, now);
  return true;
}

/** Blocking ends nothing: the guard refuses each request of a blocked member into this workspace. */
export const setAccess = (db: Db, access: MemberAccess, state: 'active' | 'blocked', now: Date) =>
  changeOne(
    db,
    access,
    (who) => checkAccessChange(who, access),
    async (db, who) => {
      if (!who.joined || who.access_state === state) return false;
      await saveMember(db, access, who.id, { access_state: state, updated_date: now });
      const type = state === 'blocked' ? 'member.blocked' : 'member.unblocked';
      const [before, after] = [who.access_state, state].map((access_state) => ({ email: who.email, access_state }));
      await audit(db, access, { type, target: targetOf(who), before, after }, now);
      return true;
    },
    now,
  );

export const setCreditLimit = (db: Db, access: MemberAccess, credit_limit: number | null, now: Date) =>
  changeOne(
    db,
    access,
    async (who, db) => checkCreditLimit(who, credit_limit, (await getWorkspaceRow(db, access)).monthly_limit),
    (db, who) => applyCreditLimit(db, access, who, credit_limit, now),
    now,
  );

export async function applyCreditLimit(
  db: Db,
  access: WorkspaceAccess,
  who: MemberOrInvitation,
  credit_limit: number | null,
  now: Date,
): Promise<boolean> {
  if (!who.joined || who.credit_limit === credit_limit) return false;
  await saveMember(db, access, who.id, { credit_limit, updated_date: now });
  const [before, after] = [who.credit_limit, credit_limit].map((credit_limit) => ({ email: who.email, credit_limit }));
  await audit(db, access, { type: 'member.limit_changed', target: targetOf(who), before, after }, now);
  return true;
}

export const setDefaultLimit = (db: Db, access: WorkspaceAccess, limit: number | null, now: Date) =>
  withMembersLock(db, access, async (db) => {
    const workspace = await getWorkspaceRow(db, access);
    const fault = checkLimitWithinPool(limit, workspace.monthly_limit);
    if (fault !== undefined) throw fault;
    const after = { default_member_credit_limit: limit };
    const before = { default_member_credit_limit: workspace.default_member_credit_limit };
    if (before.default_member_credit_limit === limit) return unchanged(after);
    await saveWorkspace(db, workspace.id, { ...after, updated_date: now });
    const target = { kind: 'workspace', id: workspace.id };
    await audit(db, access, { type: 'workspace.default_limit_changed', target, before, after }, now);
    return after;
  });

export const removeMember = (db: Db, access: MemberAccess, { publish }: ChangeDeps, now: Date) =>
  withMembersLock(db, access, async (db) => {
    const who = (await findMembersOrInvitations(db, access, [access.member.email])).get(access.member.email);
    const fault = checkRemoval(who, access);
    if (fault !== undefined || who === undefined) throw fault ?? memberNotFound();
    await removeMemberOrInvitation(db, access, who, publish, now);
    return { success: true } as const;
  });

export async function removeMemberOrInvitation(
  db: Db,
  access: WorkspaceAccess,
  who: MemberOrInvitation,
  publish: Publish,
  now: Date,
) {
  if (who.joined) await endMembershipAndPublish(db, access, who, publish, now);
  else await cancelInvitation(db, access, who, now);
  return true;
}

/** Out of the workspace, with what that means in every room. */
export async function endMembershipAndPublish(
  db: Db,
  access: WorkspaceAccess,
  member: Pick<Member, 'id' | 'email' | 'role'>,
  publish: Publish,
  now: Date,
): Promise<void> {
  const { workspace_id } = access;
  const owner = await getOwner(db, access);
  const ended = await removeMembership(db, access, member.id, owner.id, now);
  await publish(db, 'member.removed', { workspace_id, user_id: member.id, owner_id: owner.id }, now);
  const before = { email: member.email, role: member.role };
  const after = { ...ended, new_owner_email: owner.email };
  await audit(db, access, { type: 'member.removed', target: { kind: 'member', id: member.id }, before, after }, now);
}

/** Takes an invitation back: its link is dead. */
export async function cancelInvitation(
  db: Db,
  access: WorkspaceAccess,
  invitation: { workspace_id: string; id: string; email: string; role: string },
  now: Date,
): Promise<void> {
  await removeInvitation(db, invitation);
  const before = { email: invitation.email, role: invitation.role };
  const target = { kind: 'invitation', id: invitation.id };
  await audit(db, access, { type: 'invitation.cancelled', target, before }, now);
}

/** To a joined, active member. The old owner becomes an admin, on every plan: a workspace must be able to change hands. */
export const transferOwnership = (db: Db, access: WorkspaceAccess, email: string, now: Date) =>
  withMembersLock(db, access, async (db) => {
    const owner = await getOwner(db, access);
    if (owner.id !== access.caller.user_id) throw roleRequired('owner'); // handed over since they were let in
    const heir = await findMember(db, access, email);
    if (heir === undefined || heir.access_state === 'blocked') throw memberNotFound();
    if (heir.id === owner.id) return unchanged({ owner_email: owner.email });
    await saveMember(db, access, owner.id, { role: 'admin', updated_date: now });
    // An owner spends without a limit of their own.
    await saveMember(db, access, heir.id, {
      role: 'owner',
      assigned_via: 'direct',
      credit_limit: null,
      updated_date: now,
    });
    const [before, after] = [owner, heir].map(({ email }) => ({ owner_email: email }));
    const target = { kind: 'workspace', id: access.workspace_id };
    await audit(db, access, { type: 'workspace.ownership_transferred', target, before, after }, now);
    return { owner_email: heir.email };
  });

const targetOf = (who: MemberOrInvitation) => ({ kind: who.joined ? 'member' : 'invitation', id: who.id });
