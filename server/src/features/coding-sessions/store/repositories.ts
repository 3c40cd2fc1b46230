// The queries on the repositories that apps are connected to.
import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db, Tables } from '../../../tables.ts';
import type { AppKey } from './sessions.ts';

export type RepositoryRow = Selectable<Tables['app_repositories']>;

const selectRepository = (db: Db, { workspace_id, app_id }: AppKey) =>
  db.selectFrom('app_repositories').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id).selectAll();

export const findRepository = (db: Db, app: AppKey): Promise<RepositoryRow | undefined> =>
  selectRepository(db, app).executeTakeFirst();

/** Locks the repository, which keeps it connected until the transaction ends. */
export const lockRepository = (db: Db, app: AppKey): Promise<RepositoryRow | undefined> =>
  selectRepository(db, app).forNoKeyUpdate().executeTakeFirst();

export const saveRepository = (db: Db, row: Insertable<Tables['app_repositories']>): Promise<RepositoryRow> => {
  const { app_id, workspace_id, ...rest } = row;
  return db
    .insertInto('app_repositories')
    .values(row)
    .onConflict((is) => is.column('app_id').doUpdateSet(rest).where('app_repositories.workspace_id', '=', workspace_id))
    .returningAll()
    .executeTakeFirstOrThrow();
};

export async function removeRepository(db: Db, { workspace_id, app_id }: AppKey): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('app_repositories')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

// ---- master keys

export type SealedRepository = Pick<RepositoryRow, 'workspace_id' | 'app_id'> & { readonly token_sealed: string };

/** The order is random, so tokens that can't be decrypted do not block the others. */
export async function listUnderOldKeys(db: Db, keyId: string, limit: number): Promise<SealedRepository[]> {
  const { rows } = await sql<SealedRepository>`/* service */ select workspace_id, app_id, token_sealed
    from app_repositories where token_sealed is not null and not starts_with(token_sealed, ${`v1.${keyId}.`})
    order by random() limit ${limit}`.execute(db);
  return rows;
}

/** Changes nothing if the token has changed since `before` was read. */
export async function saveRewrapped(db: Db, before: SealedRepository, token_sealed: string): Promise<void> {
  await db
    .updateTable('app_repositories')
    .set({ token_sealed })
    .where('workspace_id', '=', before.workspace_id)
    .where('app_id', '=', before.app_id)
    .where('token_sealed', '=', before.token_sealed)
    .execute();
}
