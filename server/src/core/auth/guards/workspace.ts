// The guards for people acting on their own account, for operators, and for members of a workspace. Callers get
// 404 for a workspace that they can't see, and 403 for an action that they may not take
// (docs/api/credentials.md#roles).
import type { Exchange } from '../../../kit/http/exchange.ts';
import { idOrNull } from '../../../kit/ids.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import { issueProof } from '../issue-proof.ts';
import type { SelfAccess, WorkspaceAccess } from '../proofs.ts';
import { isBoundToWorkspace, type RequestOrigin, toCaller } from '../request/caller.ts';
import { type LookupResult, lookUpWorkspace } from '../request/lookup.ts';
import { isRoleAtLeast, type WorkspaceRole } from '../roles.ts';
import type { Guard } from './guard.ts';

// ---- people

/** Admits any person, for operations on their own account. */
export const self: Guard<SelfAccess> = {
  needs: 'self',
  choosesWorkspace: false,
  refusals: [],
  lookUp: (db, hash) => lookUpWorkspace(db, hash, null),
  decide: (lookup: LookupResult, exchange) => issueProof<SelfAccess>({ caller: toCaller(lookup, exchange) }),
};

/** Admits any person, for operations on their own data in the chosen workspace. */
export const selfInWorkspace: Guard<WorkspaceAccess> = { ...workspaceAs('guest'), needs: 'self' };

/** Rejects tokens and keys that are limited to certain apps. */
export function unlimitedToken<Proof extends SelfAccess>(guard: Guard<Proof>): Guard<Proof> {
  return {
    ...guard,
    refusals: [...guard.refusals, { status: 403, code: 'token_app_limited' }],
    decide: (lookup: LookupResult, exchange) => {
      const access = guard.decide(lookup, exchange);
      if (lookup.app_ids === null) return access;
      throw new Problem(
        'forbidden',
        'token_app_limited',
        "This credential is limited to selected apps, so it can't call this operation. Use one without that limit.",
      );
    },
  };
}

/**
 * Admits the installation's operators. Their routes accept only sessions, because a token acts in only one workspace.
 */
export const operator: Guard<SelfAccess> = {
  ...self,
  needs: 'operator',
  refusals: [{ status: 403, code: 'operator_required' }],
  decide: (lookup: LookupResult, exchange) => {
    const access = self.decide(lookup, exchange);
    if (access.caller.is_operator) return access;
    throw new Problem(
      'forbidden',
      'operator_required',
      'Only operators of this installation can do this. Ask an operator.',
    );
  },
};

// ---- workspaces

/** Admits members of the chosen workspace with at least this role. */
export function workspaceAs(required: WorkspaceRole): Guard<WorkspaceAccess> {
  return {
    needs: required === 'guest' ? 'member' : `workspace ${required}`,
    choosesWorkspace: true,
    refusals: [
      { status: 403, code: 'workspace_mismatch' },
      { status: 404, code: 'workspace_not_found' },
      { status: 403, code: 'member_blocked' },
      ...(required === 'guest' ? [] : [{ status: 403, code: 'role_required' }]),
    ],
    lookUp: (db, hash, exchange) => lookUpWorkspace(db, hash, readRequestedWorkspace(exchange)),
    decide: (lookup: LookupResult, exchange) => {
      requireMatchingWorkspace(lookup, readRequestedWorkspace(exchange));
      return decideWorkspace(lookup, exchange, required, 'workspace_not_found');
    },
  };
}

// No workspace has this id.
const noWorkspaceId = '00000000-0000-0000-0000-000000000000';

/** The workspace that the request specifies, or null. A malformed id is treated like an unknown one. */
export function readRequestedWorkspace(exchange: Exchange): string | null {
  const requested = exchange.rawQuery.workspaceId ?? exchange.header('x-active-workspace-id');
  if (requested === undefined) return null;
  return idOrNull(typeof requested === 'string' ? requested : undefined) ?? noWorkspaceId;
}

function requireMatchingWorkspace(lookup: LookupResult, requested: string | null): void {
  if (requested === null || !isBoundToWorkspace(lookup.kind) || requested === lookup.credential_workspace_id) return;
  throw new Problem(
    'forbidden',
    'workspace_mismatch',
    'This credential belongs to another workspace. Use a credential for the requested workspace.',
  );
}

export function decideWorkspace(
  lookup: LookupResult,
  origin: RequestOrigin,
  required: WorkspaceRole,
  notFoundCode: string,
): WorkspaceAccess {
  const { workspace_id, plan, role } = lookup;
  if (workspace_id === null || plan === null) throw notFound(notFoundCode);
  const caller = toCaller(lookup, origin);
  if (lookup.kind === 'workspace_key') return issueProof<WorkspaceAccess>({ caller, workspace_id, plan, role: null });
  if (role === null) throw notFound(notFoundCode);
  if (lookup.access_state === 'blocked')
    throw new Problem(
      'forbidden',
      'member_blocked',
      'An admin has blocked your access to this workspace. Ask an admin to unblock you.',
    );
  if (!isRoleAtLeast(role, required)) throw roleRequired(required);
  return issueProof<WorkspaceAccess>({ caller, workspace_id, plan, role });
}

export const roleRequired = (required: string) =>
  new Problem('forbidden', 'role_required', `This requires the ${required} role or higher. Ask someone who has it.`, {
    members: { required_role: required },
  });
