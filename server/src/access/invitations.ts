// Owns the invitations of people who have not joined yet, their links, and the apps that were shared with them.
import type { Selectable, Updateable } from 'kysely';
import type { Db, Tables } from '../tables.ts';
import type { WorkspaceAccess } from './proofs.ts';

type Place = Pick<WorkspaceAccess, 'workspace_id'>;

export type Invitation = Omit<Selectable<Tables['invitations']>, 'hash' | 'pepper_id'>;

const shown = [
  'workspace_id',
  'id',
  'email',
  'role',
  'assigned_via',
  'invited_by',
  'created_date',
  'expires_at',
  'accepted_at',
  'accepted_by',
] as const;

/** Invitations nobody has accepted, pending or expired. */
export const listOpenInvitations = (db: Db, { workspace_id }: Place, emails: readonly string[]) =>
  db
    .selectFrom('invitations')
    .where('workspace_id', '=', workspace_id)
    .where('email', 'in', emails)
    .where('accepted_at', 'is', null)
    .select(shown)
    .execute();

export async function saveInvitation(
  db: Db,
  { workspace_id, id }: Pick<Invitation, 'workspace_id' | 'id'>,
  change: Updateable<Tables['invitations']>,
): Promise<void> {
  await db
    .updateTable('invitations')
    .set(change)
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

export async function removeInvitation(
  db: Db,
  { workspace_id, id }: Pick<Invitation, 'workspace_id' | 'id'>,
): Promise<void> {
  await db.deleteFrom('invitations').where('workspace_id', '=', workspace_id).where('id', '=', id).execute();
}

/** Who joins as a viewer edits nothing, whatever was shared with them. */
export async function capInvitedShares(
  db: Db,
  { workspace_id, id }: Pick<Invitation, 'workspace_id' | 'id'>,
): Promise<void> {
  await db
    .updateTable('invitation_shares')
    .set({ role: 'viewer' })
    .where('workspace_id', '=', workspace_id)
    .where('invitation_id', '=', id)
    .execute();
}
