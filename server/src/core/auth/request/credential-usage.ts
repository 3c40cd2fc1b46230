// The data stored when a credential is used: the time of its last use, a session's last workspace, the member's
// activity, and the hash under the current pepper.
import type { Kysely } from 'kysely';
import type { Tables } from '../../../tables.ts';
import type { LookupResult } from './lookup.ts';

const intervalMs = 60_000;

/**
 * Writes at most once a minute per credential, unless a session's workspace changes. The request does not wait for the
 * write. Errors are ignored, because a later request writes again. `remembersWorkspace` stores the request's workspace
 * with the session.
 */
export function recordUse(db: Kysely<Tables>, lookup: LookupResult, remembersWorkspace: boolean, now: Date): void {
  if (lookup.kind === 'app_user_token') return; // they are numerous and short-lived, and are never listed
  const newWorkspace = lookup.kind === 'session' && remembersWorkspace && lookup.role !== null && lookup.workspace_id;
  const hasMoved = newWorkspace && newWorkspace !== lookup.credential_workspace_id;
  const isRecent = lookup.last_used_at !== null && now.getTime() - Date.parse(lookup.last_used_at) < intervalMs;
  if (isRecent && !hasMoved) return;
  const before = new Date(now.getTime() - intervalMs);
  let update = db.updateTable('credentials').set({ last_used_at: now }).where('id', '=', lookup.credential_id);
  if (hasMoved) update = update.set({ workspace_id: newWorkspace });
  else update = update.where((is) => is.or([is('last_used_at', 'is', null), is('last_used_at', '<', before)]));
  update.execute().catch(() => {});
  recordMemberActivity(db, lookup, now);
}

/** A job later merges these rows into the members list. */
function recordMemberActivity(db: Kysely<Tables>, { user_id, workspace_id, role }: LookupResult, now: Date): void {
  if (user_id === null || workspace_id === null || role === null) return;
  const activity = { workspace_id, user_id, noted_at: now, seen_at: now };
  db.insertInto('member_activity')
    .values(activity)
    .execute()
    .catch(() => {});
}

/** Replaces a hash that was made with an older pepper. */
export async function saveHash(
  db: Kysely<Tables>,
  credentialId: string,
  hash: Buffer,
  pepperId: string,
): Promise<void> {
  await db.updateTable('credentials').set({ hash, pepper_id: pepperId }).where('id', '=', credentialId).execute();
}
