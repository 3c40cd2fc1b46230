// The queries on conversion mappings and verification results.
import { sql } from 'kysely';
import type { AppAccess, AppReach } from '../../../core/auth/proofs.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import type { MappingRow } from './rows.ts';

// ---- mappings

const mappings = (db: Db, { app }: AppReach) =>
  db.selectFrom('conversion_mappings').where('workspace_id', '=', app.workspace_id).where('app_id', '=', app.id);

/** Newest first. */
export const listMappings = (
  db: Db,
  access: AppAccess,
  limit: number,
  after: Position | undefined,
): Promise<MappingRow[]> => {
  const found = mappings(db, access)
    .selectAll()
    .orderBy('id', 'desc')
    .limit(limit + 1);
  return (after ? found.where(sql<boolean>`id < ${after[0]}::uuid`) : found).execute();
};

/** Oldest first. */
export const listAllMappings = (db: Db, access: AppReach): Promise<MappingRow[]> =>
  mappings(db, access).selectAll().orderBy('id').execute();

export const findMapping = (db: Db, access: AppAccess, id: string): Promise<MappingRow | undefined> =>
  mappings(db, access).selectAll().where('id', '=', idOrNull(id)).executeTakeFirst();

export async function countMappings(db: Db, access: AppAccess): Promise<number> {
  const { count } = await mappings(db, access)
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/** Used by entities. Returns those of the given names that a mapping uses. */
export async function listMappedEntities(db: Db, access: AppAccess, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const rows = await mappings(db, access).where('entity_name', 'in', names).select('entity_name').distinct().execute();
  return rows.map(({ entity_name }) => entity_name);
}

export async function insertMapping(db: Db, row: MappingRow): Promise<void> {
  await db.insertInto('conversion_mappings').values(row).execute();
}

export async function saveMapping(db: Db, { workspace_id, id, ...change }: MappingRow): Promise<void> {
  await db
    .updateTable('conversion_mappings')
    .set(change)
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

export async function removeMapping(db: Db, { workspace_id, id }: MappingRow): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('conversion_mappings')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .executeTakeFirst();
  return numDeletedRows > 0;
}

// ---- verifications

/** Whether tracking has been verified for the live deployment and no mapping has been added or changed since. */
export async function readTrackingVerified(db: Db, { app }: AppAccess): Promise<boolean> {
  const row = await db
    .selectFrom('tracking_checks as c')
    .innerJoin('apps as a', (join) =>
      join.onRef('a.id', '=', 'c.app_id').onRef('a.live_deployment_id', '=', 'c.deployment_id'),
    )
    .where('c.app_id', '=', app.id)
    .where('a.workspace_id', '=', app.workspace_id)
    .where('a.id', '=', app.id)
    .where('c.verified', '=', true)
    .select('c.verified')
    .executeTakeFirst();
  return row !== undefined;
}

export interface TrackingCheck {
  readonly deployment_id: string | null;
  readonly verified: boolean;
}

export const findCheck = (db: Db, { app }: AppReach): Promise<TrackingCheck | undefined> =>
  db
    .selectFrom('tracking_checks')
    .where('app_id', '=', app.id)
    .select(['deployment_id', 'verified'])
    .executeTakeFirst();

export async function saveCheck(db: Db, { app }: AppReach, check: TrackingCheck, now: Date): Promise<void> {
  const saved = { ...check, checked_at: now };
  await db
    .insertInto('tracking_checks')
    .values({ ...saved, app_id: app.id })
    .onConflict((conflict) => conflict.column('app_id').doUpdateSet(saved))
    .execute();
}

/** Removes a verification that no longer applies to the current mappings. */
export async function removeCheck(db: Db, { app }: AppAccess): Promise<void> {
  await db.deleteFrom('tracking_checks').where('app_id', '=', app.id).execute();
}
