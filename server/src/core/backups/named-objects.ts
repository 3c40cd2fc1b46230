// The objects in the object storage that rows of the database name.
import { sql } from 'kysely';
import type { AnyDb } from '../../kit/db/database.ts';

export interface NamedObject {
  readonly key: string;
  /** The digest of the content, where a row knows it. */
  readonly sha256: string | null;
  /**
   * Whether the row was written after its object. The others are written before it, so a process that crashed in between
   * leaves a row without an object.
   */
  readonly is_stored: boolean;
}

/** Archives of exports that have expired are removed together with their rows, so they are not named. */
export async function listNamedObjects(db: AnyDb): Promise<NamedObject[]> {
  const { rows } = await sql<NamedObject>`/* service */
    select 'apps/' || app_id || '/' || id as key, sha256, true as is_stored from app_blobs where state = 'stored'
    union all
    select 'exports/' || id || '.tar.gz', null, true from workspace_exports where state = 'ready' and expires_at > now()
    union all
    select 'ad-images/' || file_name, null, true from ads_assets
      where file_name is not null and status in ('ready', 'accepted')
    union all
    select 'tests/' || execution_id || '/' || file, null, false from test_evidence
    union all
    select 'coding/' || session_id || '/' || id || '.bundle', null, false from coding_checkpoints
    order by key`.execute(db);
  return rows;
}
