// Counts the secrets in the database by the master key that they need.
import { type RawBuilder, sql } from 'kysely';
import type { AnyDb } from './db/database.ts';
import { sealedColumns } from './secrets.ts';

export interface KeyUse {
  readonly key_id: string;
  readonly place: string;
  readonly count: number;
}

export async function countSecretsByKey(db: AnyDb): Promise<readonly KeyUse[]> {
  const { rows } = await sql<KeyUse>`/* service */ select * from (${sql.join(
    sealedColumns.map(([table, column]) => countColumn(table, column)),
    sql` union all `,
  )}) uses order by key_id, place`.execute(db);
  return rows;
}

/** The key's id follows the version, `v1.`. Only the beginning of the text is read, because some secrets are large. */
const countColumn = (table: string, column: string): RawBuilder<KeyUse> =>
  sql`select split_part(left(${sql.ref(column)}, 200), '.', 2) as key_id, ${`${table}.${column}`}::text as place,
      count(*)::int as count
    from ${sql.table(table)} where ${sql.ref(column)} is not null and ${isInUse(table)} group by 1`;

/** Attempts to connect expire after ten minutes and are kept for a day. Nothing reads their secret then. */
const isInUse = (table: string): RawBuilder<boolean> =>
  table === 'connection_attempts' ? sql`expires_at > now()` : sql`true`;
