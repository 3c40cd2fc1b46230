// Changes one member or invitation (role, access, credit limit, removal) and transfers ownership. All changes
// to a workspace's members run one at a time, under the members lock (docs/api/members.md#change-members).
import { audit } from '../../../core/audit/audit.ts';
import { roleRequired } from '../../../core/auth/guards/workspace.ts';
import type { WorkspaceAccess } from '../../../core/auth/proofs.ts';
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
import { type Notes, noNotes, unchanged, withNotes } from '../../../kit/http/answer.ts';
import type { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { requestEntryWithCommit } from '../entry.ts';
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
  /** Turns off the webhooks that a person created in the workspace. Returns how many were turned off. */
  pauseWebhooksOf(db: Db, access: WorkspaceAccess, user_id: string, now: Date): Promise<number>;
}

/** The caller's proof, and the member or invitation named in the path. */
export type MemberAccess = WorkspaceAccess & { readonly member: { readonly email: string } };

/** Checks and changes one person under the members lock. Returns their entry in the members list. */
async function changeOne(
  db: Db,
  access: MemberAccess,
  check: (person: MemberOrInvitation | undefined, db: Db) => Problem | undefined | Promise<Problem | undefined>,
  change: (db: Db, person: MemberOrInvitation) => Promise<boolean>,
  now: Date,
) {
  const { email } = access.member;
  const { changed, readEntry } = await withMembersLock(db, access, async (db) => {
    const person = (await findMembersOrInvitations(db, access, [email])).get(email);
    const problem = await check(person, db);
    if (problem !== undefined || person === undefined) throw problem ?? memberNotFound();
    const changed = await change(db, person);
    return { changed, readEntry: await requestEntryWithCommit(db, access, email, now) };
  });
  return changed ? readEntry() : unchanged(readEntry());
}

export const setRole = (db: Db, access: MemberAccess, role: AssignableRole, now: Date) =>
  changeOne(
    db,
    access,
    (person) => checkRoleChange(person, role, access),
    (db, person) => applyRole(db, access, person, role, now),
    now,
  );

/** Returns whether anything has changed, as do `applyCreditLimit` and `removeMemberOrInvitation`. */
export async function applyRole(
  db: Db,
  access: WorkspaceAccess,
  person: MemberOrInvitation,
  role: AssignableRole,
  now: Date,
) {
  if (person.role === role) return false;
  if (person.joined) {
    const clearedLimit = role === 'viewer' ? { credit_limit: null } : {};
    await saveMember(db, access, person.id, { role, assigned_via: 'direct', updated_date: now, ...clearedLimit });
    if (role === 'viewer') await limitSharesToViewer(db, access, person.id);
  } else {
    await saveInvitation(db, person, { role, assigned_via: 'direct' });
    if (role === 'viewer') await limitInvitedSharesToViewer(db, person);
  }
  const type = person.joined ? 'member.role_changed' : 'invitation.role_changed';
  const [before, after] = [person.role, role].map((role) => ({ email: person.email, role }));
  await audit(db, access, { type, target: targetOf(person), before, after }, now);
  return true;
}

/** Blocking removes nothing. The guard rejects all of a blocked member's requests to this workspace. */
export const setAccess = (db: Db, access: MemberAccess, state: 'active' | 'blocked', now: Date) =>
  changeOne(
    db,
    access,
    (person) => checkAccessChange(person, access),
    async (db, person) => {
      if (!person.joined || person.access_state === state) return false;
      await saveMember(db, access, person.id, { access_state: state, updated_date: now });
      const type = state === 'blocked' ? 'member.blocked' : 'member.unblocked';
      const [before, after] = [person.access_state, state].map((access_state) => ({
        email: person.email,
        access_state,
      }));
      await audit(db, access, { type, target: targetOf(person), before, after }, now);
      return true;
    },
    now,
  );

export const setCreditLimit = (db: Db, access: MemberAccess, credit_limit: number | null, now: Date) =>
  changeOne(
    db,
    access,
    async (person, db) => checkCreditLimit(person, credit_limit, (await getWorkspaceRow(db, access)).monthly_limit),
    (db, person) => applyCreditLimit(db, access, person, credit_limit, now),
    now,
  );

export async function applyCreditLimit(
  db: Db,
  access: WorkspaceAccess,
  person: MemberOrInvitation,
  credit_limit: number | null,
  now: Date,
): Promise<boolean> {
  if (!person.joined || person.credit_limit === credit_limit) return false;
  await saveMember(db, access, person.id, { credit_limit, updated_date: now });
  const [before, after] = [person.credit_limit, credit_limit].map((credit_limit) => ({
    email: person.email,
    credit_limit,
  }));
  await audit(db, access, { type: 'member.limit_changed', target: targetOf(person), before, after }, now);
  return true;
}

export const setDefaultLimit = (db: Db, access: WorkspaceAccess, limit: number | null, now: Date) =>
  withMembersLock(db, access, async (db) => {
    const workspace = await getWorkspaceRow(db, access);
    const problem = checkLimitWithinPool(limit, workspace.monthly_limit);
    if (problem !== undefined) throw problem;
    const after = { default_member_credit_limit: limit };
    const before = { default_member_credit_limit: workspace.default_member_credit_limit };
    if (before.default_member_credit_limit === limit) return unchanged(after);
    await saveWorkspace(db, workspace.id, { ...after, updated_date: now });
    const target = { kind: 'workspace', id: workspace.id };
    await audit(db, access, { type: 'workspace.default_limit_changed', target, before, after }, now);
    return after;
  });

export const removeMember = (db: Db, deps: ChangeDeps, access: MemberAccess, pauseWebhooks: boolean, now: Date) =>
  withMembersLock(db, access, async (db) => {
    const person = (await findMembersOrInvitations(db, access, [access.member.email])).get(access.member.email);
    const problem = checkRemoval(person, access);
    if (problem !== undefined || person === undefined) throw problem ?? memberNotFound();
    let paused = pauseWebhooks ? 0 : undefined;
    if (pauseWebhooks && person.joined) paused = await deps.pauseWebhooksOf(db, access, person.id, now);
    await removeMemberOrInvitation(db, access, person, deps.publish, now);
    return withNotes({ success: true } as const, notePaused(paused));
  });

/** Reports how many webhooks were turned off. Undefined means that the caller did not ask for this. */
export const notePaused = (paused: number | undefined): Notes =>
  paused === undefined ? noNotes : { headers: { 'x-webhooks-paused': String(paused) } };

export async function removeMemberOrInvitation(
  db: Db,
  access: WorkspaceAccess,
  person: MemberOrInvitation,
  publish: Publish,
  now: Date,
) {
  if (person.joined) await endMembershipAndPublish(db, access, person, publish, now);
  else await cancelInvitation(db, access, person, now);
  return true;
}

/** Removes a member. Other features react to `member.removed` in the same transaction. */
export async function endMembershipAndPublish(
  db: Db,
  access: WorkspaceAccess,
  member: Pick<Member, 'id' | 'email' | 'role'>,
  publish: Publish,
  now: Date,
): Promise<void> {
  const { workspace_id } = access;
  const owner = await getOwner(db, access);
  const counts = await removeMembership(db, access, member.id, owner.id, now);
  await publish(db, 'member.removed', { workspace_id, user_id: member.id, owner_id: owner.id }, now);
  const before = { email: member.email, role: member.role };
  const after = { ...counts, new_owner_email: owner.email };
  await audit(db, access, { type: 'member.removed', target: { kind: 'member', id: member.id }, before, after }, now);
}

/** Removes an invitation, so its link no longer works. */
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

/**
 * The old owner becomes an admin on any plan, because a workspace must be transferable even if its plan has no admins.
 */
export const transferOwnership = (db: Db, access: WorkspaceAccess, email: string, now: Date) =>
  withMembersLock(db, access, async (db) => {
    const owner = await getOwner(db, access);
    if (owner.id !== access.caller.user_id) throw roleRequired('owner'); // transferred after the guard's check
    const newOwner = await findMember(db, access, email);
    if (newOwner === undefined || newOwner.access_state === 'blocked' || newOwner.deactivated_at !== null)
      throw memberNotFound();
    if (newOwner.id === owner.id) return unchanged({ owner_email: owner.email });
    await saveMember(db, access, owner.id, { role: 'admin', updated_date: now });
    // Owners have no individual credit limit.
    await saveMember(db, access, newOwner.id, {
      role: 'owner',
      assigned_via: 'direct',
      credit_limit: null,
      updated_date: now,
    });
    const [before, after] = [owner, newOwner].map(({ email }) => ({ owner_email: email }));
    const target = { kind: 'workspace', id: access.workspace_id };
    await audit(db, access, { type: 'workspace.ownership_transferred', target, before, after }, now);
    return { owner_email: newOwner.email };
  });

const targetOf = (person: MemberOrInvitation) => ({ kind: person.joined ? 'member' : 'invitation', id: person.id });
