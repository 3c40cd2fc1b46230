// The rules for changing members (docs/api/members.md#change-members). Each check returns the problem to report,
// or undefined, and has no side effects.

import { findPlanRefusal } from '../../core/auth/plans.ts';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { WorkspaceRole } from '../../core/auth/roles.ts';
import type { MemberOrInvitation } from '../../core/identity/members.ts';
import { notFound, Problem } from '../../kit/problem.ts';

/** The parts of a caller's proof that the rules need. */
export type ChangeCaller = Pick<WorkspaceAccess, 'plan'> & { readonly caller: { readonly user_id: string | null } };

export type AssignableRole = Exclude<WorkspaceRole, 'owner' | 'guest'>;

export const memberNotFound = () => notFound('member_not_found');

const ownerProtected = () =>
  new Problem(
    'forbidden',
    'owner_protected',
    "The workspace's owner can't be limited, blocked, removed or given another role. Transfer ownership first.",
  );

export const checkAdminRole = (role: string, access: ChangeCaller): Problem | undefined =>
  role === 'admin' ? findPlanRefusal(access.plan, 'admin_role') : undefined;

export const checkRoleChange = (
  person: MemberOrInvitation | undefined,
  role: AssignableRole,
  access: ChangeCaller,
): Problem | undefined => checkNotSelfOrOwner(person, access) ?? checkAdminRole(role, access);

export const checkRemoval = (person: MemberOrInvitation | undefined, access: ChangeCaller): Problem | undefined =>
  checkNotSelfOrOwner(person, access);

export const checkAccessChange = (person: MemberOrInvitation | undefined, access: ChangeCaller): Problem | undefined =>
  person?.joined ? checkNotSelfOrOwner(person, access) : memberNotFound();

function checkNotSelfOrOwner(person: MemberOrInvitation | undefined, access: ChangeCaller): Problem | undefined {
  if (person === undefined) return memberNotFound();
  if (person.joined && person.id === access.caller.user_id) {
    return new Problem(
      'forbidden',
      'self_change_not_allowed',
      "You can't change your own membership. Ask another admin.",
    );
  }
  return person.role === 'owner' ? ownerProtected() : undefined;
}

/** `pool` is the workspace's monthly credits. Null means unlimited. */
export function checkCreditLimit(
  person: MemberOrInvitation | undefined,
  credit_limit: number | null,
  pool: number | null,
): Problem | undefined {
  if (!person?.joined) return memberNotFound();
  if (person.role === 'owner') return ownerProtected();
  if (credit_limit !== null && (person.role === 'viewer' || person.role === 'guest')) {
    return new Problem(
      'bad_request',
      'viewer_cannot_have_limit',
      "Viewers and guests can't have a credit limit, because they can't spend credits. Change the member's role first.",
    );
  }
  return checkLimitWithinPool(credit_limit, pool);
}

export function checkLimitWithinPool(credit_limit: number | null, pool: number | null): Problem | undefined {
  if (credit_limit === null || pool === null || credit_limit <= pool) return undefined;
  return new Problem(
    'bad_request',
    'limit_above_pool',
    "The limit exceeds the workspace's monthly credits. Choose a lower limit.",
  );
}
