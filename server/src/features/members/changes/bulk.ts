// Owns the bulk forms of member changes: all are checked before anyone is changed (docs/contract.md §2.3).

import type { WorkspaceAccess } from '../../../core/auth/proofs.ts';
import { findMembersOrInvitations, type MemberOrInvitation, withMembersLock } from '../../../core/identity/members.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import { unchanged } from '../../../kit/http/answer.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { type AssignableRole, checkCreditLimit, checkRemoval, checkRoleChange } from '../rules.ts';
import { applyCreditLimit, applyRole, type ChangeDeps, removeMemberOrInvitation } from './change.ts';

export const setRoles = (
  db: Db,
  access: WorkspaceAccess,
  items: readonly { email: string; role: AssignableRole }[],
  now: Date,
) =>
  changeAll(
    db,
    access,
    items,
    (who, { role }) => checkRoleChange(who, role, access),
    (db, who, { role }) => applyRole(db, access, who, role, now),
  );

export async function setCreditLimits(
  db: Db,
  access: WorkspaceAccess,
  items: readonly { email: string; credit_limit: number | null }[],
  now: Date,
) {
  const { monthly_limit } = await getWorkspaceRow(db, access);
  return changeAll(
    db,
    access,
    items,
    (who, { credit_limit }) => checkCreditLimit(who, credit_limit, monthly_limit),
    (db, who, { credit_limit }) => applyCreditLimit(db, access, who, credit_limit, now),
  );
}

export const removeMembers = (
  db: Db,
  access: WorkspaceAccess,
  emails: readonly string[],
  { publish }: ChangeDeps,
  now: Date,
) =>
  changeAll(
    db,
    access,
    emails.map((email) => ({ email })),
    (who) => checkRemoval(who, access),
    (db, who) => removeMemberOrInvitation(db, access, who, publish, now),
  );

/** Refuses all when one cannot be changed; passes over those who were changed by someone else until it was our turn. */
async function changeAll<Item extends { readonly email: string }>(
  db: Db,
  access: WorkspaceAccess,
  items: readonly Item[],
  faultOf: (who: MemberOrInvitation | undefined, item: Item) => Problem | undefined,
  change: (db: Db, who: MemberOrInvitation, item: Item) => Promise<boolean>,
) {
  const emails = items.map(({ email }) => email);
  const found = await findMembersOrInvitations(db, access, emails);
  rejectIfAnyProblem(items.map((item) => ({ email: item.email, fault: faultOf(found.get(item.email), item) })));
  return withMembersLock(db, access, async (db) => {
    const current = await findMembersOrInvitations(db, access, emails);
    const results: { email: string; status: 'success' | 'skipped' }[] = [];
    for (const item of items) {
      const who = current.get(item.email);
      const done = who !== undefined && faultOf(who, item) === undefined && (await change(db, who, item));
      results.push({ email: item.email, status: done ? 'success' : 'skipped' });
    }
    return results.some(({ status }) => status === 'success') ? { results } : unchanged({ results });
  });
}

/** 400 that names everyone who stands in the way. */
export function rejectIfAnyProblem(checked: readonly { email: string; fault: Problem | undefined }[]): void {
  const errors = checked.flatMap(({ email, fault }) =>
    fault === undefined ? [] : [{ email, message: fault.message, error_code: fault.code }],
  );
  if (errors.length === 0) return;
  throw new Problem('bad_request', 'bulk_rejected', 'Nothing was changed: see errors.', { members: { errors } });
}
