// Bulk member changes. Every item is checked before any is applied (docs/api/members.md#change-members).

import type { WorkspaceAccess } from '../../../core/auth/proofs.ts';
import { findMembersOrInvitations, type MemberOrInvitation, withMembersLock } from '../../../core/identity/members.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import { noNotes, unchanged, withNotes } from '../../../kit/http/answer.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { type AssignableRole, checkCreditLimit, checkRemoval, checkRoleChange } from '../rules.ts';
import { applyCreditLimit, applyRole, type ChangeDeps, notePaused, removeMemberOrInvitation } from './change.ts';

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
    (person, { role }) => checkRoleChange(person, role, access),
    (db, person, { role }) => applyRole(db, access, person, role, now),
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
    (person, { credit_limit }) => checkCreditLimit(person, credit_limit, monthly_limit),
    (db, person, { credit_limit }) => applyCreditLimit(db, access, person, credit_limit, now),
  );
}

export async function removeMembers(
  db: Db,
  deps: ChangeDeps,
  access: WorkspaceAccess,
  { emails, pause_webhooks = false }: { emails: readonly string[]; pause_webhooks?: boolean },
  now: Date,
) {
  let paused = pause_webhooks ? 0 : undefined;
  const { body, notes } = await changeAll(
    db,
    access,
    emails.map((email) => ({ email })),
    (person) => checkRemoval(person, access),
    async (db, person) => {
      if (paused !== undefined && person.joined) paused += await deps.pauseWebhooksOf(db, access, person.id, now);
      return removeMemberOrInvitation(db, access, person, deps.publish, now);
    },
  );
  return withNotes(body, { ...notes, ...notePaused(paused) });
}

/**
 * Rejects the whole request if any item fails its check. Items are checked again under the lock, and those that another
 * request has made impossible in the meantime are skipped.
 */
async function changeAll<Item extends { readonly email: string }>(
  db: Db,
  access: WorkspaceAccess,
  items: readonly Item[],
  check: (person: MemberOrInvitation | undefined, item: Item) => Problem | undefined,
  change: (db: Db, person: MemberOrInvitation, item: Item) => Promise<boolean>,
) {
  const emails = items.map(({ email }) => email);
  const found = await findMembersOrInvitations(db, access, emails);
  rejectIfAnyProblem(items.map((item) => ({ email: item.email, problem: check(found.get(item.email), item) })));
  return withMembersLock(db, access, async (db) => {
    const current = await findMembersOrInvitations(db, access, emails);
    const results: { email: string; status: 'success' | 'skipped' }[] = [];
    for (const item of items) {
      const person = current.get(item.email);
      const isChanged = person !== undefined && check(person, item) === undefined && (await change(db, person, item));
      results.push({ email: item.email, status: isChanged ? 'success' : 'skipped' });
    }
    return results.some(({ status }) => status === 'success')
      ? withNotes({ results }, noNotes)
      : unchanged({ results });
  });
}

/** Throws a 400 with one error for each item that failed its check. */
export function rejectIfAnyProblem(checked: readonly { email: string; problem: Problem | undefined }[]): void {
  const errors = checked.flatMap(({ email, problem }) =>
    problem === undefined ? [] : [{ email, message: problem.message, error_code: problem.code }],
  );
  if (errors.length === 0) return;
  throw new Problem(
    'bad_request',
    'bulk_rejected',
    "Some items can't be applied, so nothing was changed. Fix those listed in `errors` and send the request again.",
    { members: { errors } },
  );
}
