// Owns who else may use an app: shares with people of the workspace (docs/contract.md §3.1).
import { findShare, insertShare, listShares, removeShare } from '../../access/apps.ts';
import { audit } from '../../access/audit.ts';
import { findMember } from '../../access/members.ts';
import type { AppAccess } from '../../access/proofs.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';

export const listAppShares = async (db: Db, access: AppAccess) =>
  (await listShares(db, access)).map(({ email, role }) => ({ email, role, status: 'joined' as const }));

export async function putAppShare(db: Db, access: AppAccess, email: string, role: 'editor' | 'viewer', now: Date) {
  const member = await findMember(db, access, email);
  // Sharing with someone outside invites them; until invitations exist there is nobody to find.
  if (member === undefined) throw new Problem('not_found', 'member_not_found', 'There is no such member.');
  if (member.role === 'viewer' && role === 'editor') {
    throw new Problem('bad_request', 'role_not_assignable', 'A viewer of the workspace cannot edit an app.');
  }
  const share = { email: member.email, role, status: 'joined' as const };
  return transaction(db, async (db) => {
    const before = await findShare(db, access, member.id);
    if (before?.role === role) return unchanged(share);
    await insertShare(db, access, member.id, role, now);
    const change = {
      before: before ? { email: member.email, role: before.role } : null,
      after: { email: member.email, role },
    };
    await audit(
      db,
      access,
      { type: 'app.shared', target: { kind: 'app', id: access.app.id }, app_id: access.app.id, ...change },
      now,
    );
    return share;
  });
}

/** A guest who has no share left leaves the workspace. */
export async function deleteAppShare(db: Db, access: AppAccess, email: string, now: Date) {
  return transaction(db, async (db) => {
    const member = await findMember(db, access, email);
    const share = member && (await findShare(db, access, member.id));
    if (member === undefined || share === undefined)
      throw new Problem('not_found', 'share_not_found', 'The app is not shared with this person.');
    const leaves = await removeShare(db, access, member, now);
    const before = { email: member.email, role: share.role };
    await audit(
      db,
      access,
      { type: 'app.unshared', target: { kind: 'app', id: access.app.id }, app_id: access.app.id, before },
      now,
    );
    if (leaves) {
      await audit(
        db,
        access,
        {
          type: 'member.removed',
          target: { kind: 'member', id: member.id },
          before: { email: member.email, role: 'guest' },
        },
        now,
      );
    }
    return { success: true } as const;
  });
}
