// The queries that move connection secrets to the current master key.
import { sql } from 'kysely';
import type { Db } from '../../../../tables.ts';
import type { ConnectionRow } from '../../store/connections.ts';

export type SealedConnection = Pick<
  ConnectionRow,
  'workspace_id' | 'id' | 'access_token_sealed' | 'refresh_token_sealed' | 'credentials_sealed'
>;

/** The order is random, so secrets that can't be opened do not block the others. */
export async function listUnderOldKeys(db: Db, keyId: string, limit: number): Promise<SealedConnection[]> {
  const current = `v1.${keyId}.`;
  const isOld = (column: string) =>
    sql`(${sql.ref(column)} is not null and not starts_with(${sql.ref(column)}, ${current}))`;
  const { rows } = await sql<SealedConnection>`/* service */ select workspace_id, id, access_token_sealed,
      refresh_token_sealed, credentials_sealed from connections
    where status = 'active' and (${isOld('access_token_sealed')} or ${isOld('refresh_token_sealed')}
      or ${isOld('credentials_sealed')})
    order by random() limit ${limit}`.execute(db);
  return rows;
}

/** Does nothing if the secrets have changed since `before` was read. */
export async function saveRewrapped(db: Db, before: SealedConnection, after: SealedConnection): Promise<void> {
  await sql`update connections set access_token_sealed = ${after.access_token_sealed},
      refresh_token_sealed = ${after.refresh_token_sealed}, credentials_sealed = ${after.credentials_sealed}
    where workspace_id = ${before.workspace_id} and id = ${before.id}
      and access_token_sealed is not distinct from ${before.access_token_sealed}
      and refresh_token_sealed is not distinct from ${before.refresh_token_sealed}
      and credentials_sealed is not distinct from ${before.credentials_sealed}`.execute(db);
}
