// The queries for record write counts that are not yet in the audit log.
import { sql } from 'kysely';
import { sendWithCommit } from '../../../../kit/db/send.ts';
import type { Db } from '../../../../tables.ts';

/** The number of writes that one credential made to one entity. */
export interface WriteCount {
  readonly workspace_id: string;
  readonly credential_id: string;
  readonly app_id: string;
  readonly entity_name: string;
  /** Null for a workspace key. */
  readonly user_id: string | null;
  readonly email: string | null;
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  readonly first_at: Date;
  readonly last_at: Date;
}

export async function addWriteCounts(db: Db, counts: readonly WriteCount[]): Promise<void> {
  const insert = db
    .insertInto('record_write_counts')
    .values([...counts])
    .onConflict((conflict) =>
      conflict.columns(['workspace_id', 'credential_id', 'app_id', 'entity_name']).doUpdateSet({
        created: sql`record_write_counts.created + excluded.created`,
        updated: sql`record_write_counts.updated + excluded.updated`,
        deleted: sql`record_write_counts.deleted + excluded.deleted`,
        first_at: sql`least(record_write_counts.first_at, excluded.first_at)`,
        last_at: sql`greatest(record_write_counts.last_at, excluded.last_at)`,
      }),
    );
  await sendWithCommit(db, insert.compile());
}

/** Removes and returns up to `limit` counts, from any workspace, whose first write was before the given time. */
export async function takeWriteCounts(db: Db, before: Date, limit: number): Promise<WriteCount[]> {
  const { rows } = await sql<WriteCount>`/* service */ delete from record_write_counts
    where (workspace_id, credential_id, app_id, entity_name) in (
      select workspace_id, credential_id, app_id, entity_name from record_write_counts where first_at <= ${before}
      order by first_at limit ${limit} for update skip locked)
    returning *`.execute(db);
  return rows;
}
