// The queries for rewrapping hook tokens under another master key.
import { sql } from 'kysely';
import type { Db } from '../../../tables.ts';

export interface SealedHook {
  readonly workspace_id: string;
  readonly id: string;
  readonly hook_token_sealed: string;
}

/** The order is random, so tokens that can't be opened don't block the others. */
export async function listHooksUnderOldKeys(db: Db, keyId: string, limit: number): Promise<SealedHook[]> {
  const { rows } = await sql<SealedHook>`/* service */ select workspace_id, id, hook_token_sealed from workflows
    where hook_token_sealed is not null and not starts_with(hook_token_sealed, ${`v1.${keyId}.`})
    order by random() limit ${limit}`.execute(db);
  return rows;
}

/** Changes nothing if the token has changed since it was read. */
export async function saveRewrappedHook(db: Db, before: SealedHook, sealed: string): Promise<void> {
  await db
    .updateTable('workflows')
    .set({ hook_token_sealed: sealed })
    .where('workspace_id', '=', before.workspace_id)
    .where('id', '=', before.id)
    .where('hook_token_sealed', '=', before.hook_token_sealed)
    .execute();
}
