// The queries for scans, their results and ignored findings.
import { type Insertable, type Selectable, sql } from 'kysely';
import type { AppAccess, AppReach } from '../../core/auth/proofs.ts';
import type { QueueRow } from '../../kit/background/queues/queue.ts';
import { takeAdvisoryLock } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import type { Db, Tables } from '../../tables.ts';
import type { FindingGroup, StoredFinding } from './groups.ts';

export interface AppKey {
  readonly workspace_id: string;
  readonly app_id: string;
}

export const toAppKey = ({ app }: Pick<AppReach, 'app'>): AppKey => ({
  workspace_id: app.workspace_id,
  app_id: app.id,
});

// ---- scans

export type ScanRow = Selectable<Tables['security_scans']> & QueueRow;

const selectScans = (db: Db, { workspace_id, app_id }: AppKey) =>
  db.selectFrom('security_scans').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);

export const findScan = (db: Db, app: AppKey) => selectScans(db, app).selectAll().executeTakeFirst();

/** Returns false if a scan is already waiting or running. */
export async function startScan(
  db: Db,
  app: AppKey,
  { language, secret_key }: Pick<ScanRow, 'language' | 'secret_key'>,
  now: Date,
): Promise<boolean> {
  const asked = { state: 'pending', language, requested_at: now } as const;
  const queued = {
    due_at: sql<Date>`clock_timestamp()`,
    failures: 0,
    crash_count: 0,
    failed_at: null,
    last_error: null,
  };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('security_scans')
    .values({ ...app, ...asked, ...queued, secret_key, id: newId() })
    .onConflict((conflict) =>
      conflict
        .column('app_id')
        .doUpdateSet({ ...asked, ...queued })
        .where('security_scans.workspace_id', '=', app.workspace_id)
        .where('security_scans.state', 'in', ['ended', 'failed']),
    )
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** Requires the scan's claim. A worker that has lost its claim changes nothing. */
export async function saveScanState(db: Db, scan: ScanRow, state: ScanRow['state']): Promise<void> {
  await db
    .updateTable('security_scans')
    .set({ state })
    .where('workspace_id', '=', scan.workspace_id)
    .where('app_id', '=', scan.app_id)
    .where('claims', '=', scan.claims)
    .execute();
}

/** The number of scans in each state. */
export async function countScans(db: Db): Promise<Record<string, number>> {
  const { rows } = await sql<{ state: string; count: number }>`/* service */ select state, count(*)::int as count
    from security_scans group by state`.execute(db);
  const none = { pending: 0, scanning: 0, ended: 0, failed: 0 };
  return { ...none, ...Object.fromEntries(rows.map(({ state, count }) => [state, count])) };
}

// ---- results

export type ResultRow = Selectable<Tables['security_results']>;
export type NewResult = Omit<Insertable<Tables['security_results']>, 'app_id' | 'workspace_id' | 'dismissed_headers'>;

const selectResults = (db: Db, { workspace_id, app_id }: AppKey) =>
  db.selectFrom('security_results').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);

/** A result without the columns that only scans read. */
export type ReadResult = Omit<ResultRow, 'numbers' | 'packages'>;

const readColumns = [
  'app_id',
  'workspace_id',
  'scan_id',
  'scanner_version',
  'language',
  'scanned_at',
  'input_hash',
  'revision',
  'is_published',
  'coverage',
  'rls',
  'secrets',
  'functions',
  'dependencies',
  'static_code',
  'headers',
  'truncated_groups',
  'integrations',
  'dismissed_headers',
  'advisories_read_at',
] as const;

export const findResult = (db: Db, app: AppKey): Promise<ReadResult | undefined> =>
  selectResults(db, app).select(readColumns).executeTakeFirst();

/** Until the transaction ends, no other transaction can change the app's result or its ignores. */
export const lockFindings = (db: Db, { app_id }: AppKey): Promise<void> =>
  takeAdvisoryLock(db, `security findings of ${app_id}`);

/** The numbers assigned to findings. */
export const findNumbers = (db: Db, app: AppKey) => selectResults(db, app).select('numbers').executeTakeFirst();

/** Replaces the whole result, including its dismissed headers. */
export async function saveResult(db: Db, app: AppKey, result: NewResult): Promise<void> {
  const row = { ...result, ...app, dismissed_headers: [] };
  await db
    .insertInto('security_results')
    .values(row)
    .onConflict((conflict) => conflict.column('app_id').doUpdateSet(row))
    .execute();
}

export async function saveDismissed(db: Db, app: AppKey, dismissed_headers: string[]): Promise<void> {
  await db
    .updateTable('security_results')
    .set({ dismissed_headers })
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.app_id)
    .execute();
}

/** The cast is safe, because only `toStored` writes these values (result.ts). */
export const toFindings = (stored: unknown): readonly StoredFinding[] => stored as readonly StoredFinding[];

export const columnOfGroup = {
  rls: 'rls',
  secrets: 'secrets',
  functions: 'functions',
  dependencies: 'dependencies',
  static: 'static_code',
} as const satisfies Record<FindingGroup, keyof ResultRow>;

// ---- advisories

export interface DueAdvisories extends AppKey {
  readonly scan_id: string;
}

/** Lists results whose packages were last compared with the advisories before the given time, oldest first. */
export async function listDueAdvisories(
  db: Db,
  scannerVersion: number,
  before: Date,
  limit: number,
): Promise<DueAdvisories[]> {
  const { rows } = await sql<DueAdvisories>`/* service */ select workspace_id, app_id, scan_id from security_results
    where packages is not null and scanner_version = ${scannerVersion} and advisories_read_at < ${before}
    order by advisories_read_at limit ${limit}`.execute(db);
  return rows;
}

export const findPackages = (db: Db, { scan_id, ...app }: DueAdvisories) =>
  selectResults(db, app).where('scan_id', '=', scan_id).select('packages').executeTakeFirst();

/** The columns that a comparison changes. */
export const findCompared = (db: Db, { scan_id, ...app }: DueAdvisories) =>
  selectResults(db, app)
    .where('scan_id', '=', scan_id)
    .select(['coverage', 'truncated_groups', 'numbers'])
    .executeTakeFirst();

/** Changes nothing if the app was scanned again in the meantime. */
export async function saveAdvisories(
  db: Db,
  { workspace_id, app_id, scan_id }: DueAdvisories,
  change: Partial<Pick<NewResult, 'dependencies' | 'coverage' | 'truncated_groups' | 'numbers'>>,
  now: Date,
): Promise<void> {
  await db
    .updateTable('security_results')
    .set({ ...change, advisories_read_at: now })
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('scan_id', '=', scan_id)
    .execute();
}

// ---- ignored findings

export type IgnoreRow = Selectable<Tables['security_ignores']>;
export type NewIgnore = Omit<Insertable<Tables['security_ignores']>, 'app_id' | 'workspace_id'>;

const selectIgnores = (db: Db, { workspace_id, app_id }: AppKey) =>
  db.selectFrom('security_ignores').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);

export const listIgnores = (db: Db, app: AppKey): Promise<IgnoreRow[]> =>
  selectIgnores(db, app).selectAll().orderBy('created_date').orderBy('fingerprint').execute();

export const listIgnoredFingerprints = async (db: Db, app: AppKey): Promise<string[]> =>
  (await selectIgnores(db, app).select('fingerprint').orderBy('created_date').orderBy('fingerprint').execute()).map(
    ({ fingerprint }) => fingerprint,
  );

export async function countIgnores(db: Db, app: AppKey): Promise<number> {
  const { count } = await selectIgnores(db, app)
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/** Returns false if the finding is already ignored. */
export async function insertIgnore(db: Db, app: AppKey, ignore: NewIgnore): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('security_ignores')
    .values({ ...app, ...ignore })
    .onConflict((conflict) => conflict.columns(['app_id', 'fingerprint']).doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** Returns the removed ignore, or `undefined` if the finding was not ignored. */
export const removeIgnore = (db: Db, { app }: AppAccess, fingerprint: string): Promise<IgnoreRow | undefined> =>
  db
    .deleteFrom('security_ignores')
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .where('fingerprint', '=', fingerprint)
    .returningAll()
    .executeTakeFirst();

export async function renameIgnore(db: Db, app: AppKey, from: string, to: string): Promise<void> {
  await db
    .updateTable('security_ignores')
    .set({ fingerprint: to })
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.app_id)
    .where('fingerprint', '=', from)
    .execute();
}

/**
 * `found` lists the ignored findings that the scan found, and `absent` those that it looked for but did not find. All
 * other ignores stay unchanged.
 */
export async function saveAbsence(
  db: Db,
  { workspace_id, app_id }: AppKey,
  { found, absent }: { found: readonly string[]; absent: readonly string[] },
  now: Date,
): Promise<void> {
  const update = (change: { absent_since: Date | null }, fingerprints: readonly string[]) =>
    db
      .updateTable('security_ignores')
      .set(change)
      .where('workspace_id', '=', workspace_id)
      .where('app_id', '=', app_id)
      .where('fingerprint', '=', sql<string>`any(${[...fingerprints]}::text[])`)
      .where('absent_since', change.absent_since === null ? 'is not' : 'is', null)
      .execute();
  await update({ absent_since: null }, found);
  await update({ absent_since: now }, absent);
}

/**
 * Removes ignores whose finding has been absent since before the given time. Returns the number removed for each app.
 */
export async function removeAbsentIgnores(
  db: Db,
  before: Date,
  limit: number,
): Promise<(AppKey & { readonly removed: number })[]> {
  const { rows } = await sql<AppKey & { removed: number }>`/* service */ with removed as (
      delete from security_ignores where (app_id, fingerprint) in (
        select app_id, fingerprint from security_ignores where absent_since < ${before} limit ${limit})
      returning workspace_id, app_id)
    select workspace_id, app_id, count(*)::int as removed from removed group by 1, 2`.execute(db);
  return rows;
}
