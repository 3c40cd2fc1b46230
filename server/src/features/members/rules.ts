// Owns who may be changed, and how (docs/contract.md §2.3): each rule gives the refusal, or nothing. Pure.

import { findPlanRefusal } from '../../core/auth/plans.ts';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { WorkspaceRole } from '../../core/auth/roles.ts';
import type { MemberOrInvitation } from '../../core/identity/members.ts';
import { notFound, Problem } from '../../kit/problem.ts';

/** Who asks, and what their workspace may. */
export type ChangeCaller = Pick<WorkspaceAccess, 'plan'> & { readonly caller: { readonly user_id: string | null } };

export type AssignableRole = Exclude<WorkspaceRole, 'owner' | 'guest'>;

export const memberNotFound = () => notFound('member_not_found');

const ownerProtected = () =>
  new Problem(
    'forbidden',
    'owner_protected',
    'The owner of the workspace cannot be changed. Transfer ownership first.',
  );

export const checkAdminRole = (role: string, asking: ChangeCaller): Problem | undefined =>
  role === 'admin' ? findPlanRefusal(asking.plan, 'admin_role') : undefined;

export const checkRoleChange = (
  who: MemberOrInvitation | undefined,
  role: AssignableRole,
  asking: ChangeCaller,
): Problem | undefined => checkNotSelfOrOwner(who, asking) ?? checkAdminRole(role, asking);

export const checkRemoval = (who: MemberOrInvitation | undefined, asking: ChangeCaller): Problem | undefined =>
  checkNotSelfOrOwner(who, asking);

export const checkAccessChange = (who: MemberOrInvitation | undefined, asking: ChangeCaller): Problem | undefined =>
  who?.joined ? checkNotSelfOrOwner(who, asking) : memberNotFound();

/** Nobody changes their own standing, and nobody that of the owner. */
function checkNotSelfOrOwner(who: MemberOrInvitation | undefined, asking: ChangeCaller): Problem | undefined {
  if (who === undefined) return memberNotFound();
  if (who.joined && who.id === asking.caller.user_id) {
    return new Problem('forbidden', 'self_change_not_allowed', 'Someone else must do this for you.');
  }
  return who.role === 'owner' ? ownerProtected() : undefined;
}

/** `pool` is what the workspace has a month; null: unlimited. */
export function checkCreditLimit(
  who: MemberOrInvitation | undefined,
  credit_limit: number | null,
  pool: number | null,
): Problem | undefined {
  if (!who?.joined) return memberNotFound();
  if (who.role === 'owner') return ownerProtected();
  if (credit_limit !== null && (who.role === 'viewer' || who.role === 'guest')) {
    return new Problem('bad_request', 'viewer_cannot_have_limit', 'Viewers and guests spend no credits.');
  }
  return checkLimitWithinPool(credit_limit, pool);
}

export function checkLimitWithinPool(credit_limit: number | null, pool: number | null): Problem | undefined {
  if (credit_limit === null || pool === null || credit_limit <= pool) return undefined;
  return new Problem('bad_request', 'limit_above_pool', 'The workspace itself has fewer credits a month.');
}
