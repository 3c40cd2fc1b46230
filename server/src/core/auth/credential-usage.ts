// Owns what using a credential leaves behind: the time of its last use, the workspace a session used last, and its hash
// under the newest pepper.
import type { Kysely } from 'kysely';
import type { Tables } from '../../tables.ts';
import type { LookupResult } from './lookup.ts';

const everyMs = 60_000;

/** Written at most once a minute per credential, beside the request; a failed write costs a minute of precision. */
export function recordUse(db: Kysely<Tables>, found: LookupResult, choseWorkspace: boolean, now: Date): void {
  if (found.kind === 'app_user_token') return; // they are many, short-lived and never listed
  const movedTo = found.kind === 'session' && choseWorkspace && found.role !== null && found.workspace_id;
  const moved = movedTo && movedTo !== found.credential_workspace_id;
  const isRecent = found.last_used_at !== null && now.getTime() - Date.parse(found.last_used_at) < everyMs;
  if (isRecent && !moved) return;
  const before = new Date(now.getTime() - everyMs);
  let update = db.updateTable('credentials').set({ last_used_at: now }).where('id', '=', found.credential_id);
  if (moved) update = update.set({ workspace_id: movedTo });
  else update = update.where((is) => is.or([is('last_used_at', 'is', null), is('last_used_at', '<', before)]));
  update.execute().catch(() => {});
  recordMemberActivity(db, found, now);
}

/** That a member was in this workspace; folded into the members' directory later. */
function recordMemberActivity(db: Kysely<Tables>, { user_id, workspace_id, role }: LookupResult, now: Date): void {
  if (user_id === null || workspace_id === null || role === null) return;
  const seen = { workspace_id, user_id, noted_at: now, seen_at: now };
  db.insertInto('member_activity')
    .values(seen)
    .execute()
    .catch(() => {});
}

export async function saveHash(
  db: Kysely<Tables>,
  credentialId: string,
  hash: Buffer,
  pepperId: string,
): Promise<void> {
  await db.updateTable('credentials').set({ hash, pepper_id: pepperId }).where('id', '=', credentialId).execute();
}
