// The queries on advertising accounts. A state change is applied only if the row is in the expected state.
import { sql } from 'kysely';
import type { AppAccess, AppRow } from '../../../core/auth/proofs.ts';
import type { ClientAccount } from '../../../gateways/ad-platform/index.ts';
import { newId } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import type { AdsTimes } from '../times.ts';
import { type AccountRow, isReady, type ReadyAccount } from './rows.ts';

type AccountKey = Pick<AccountRow, 'workspace_id' | 'id'>;

/** Used by workers, which have one of the app's rows instead of an access proof. */
export interface OfApp {
  readonly app: Pick<AppRow, 'workspace_id' | 'id'>;
}

export const findAccount = (db: Db, { app }: OfApp): Promise<AccountRow | undefined> =>
  db
    .selectFrom('ads_accounts')
    .selectAll()
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .executeTakeFirst();

export const findAccountById = (db: Db, { workspace_id, id }: AccountKey): Promise<AccountRow | undefined> =>
  db
    .selectFrom('ads_accounts')
    .selectAll()
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .executeTakeFirst();

export type NewAccount = Pick<AccountRow, 'account_name' | 'currency_code' | 'timezone'>;

/** Records a new account for the app. Does nothing if the app already has a row. */
export async function recordAccount(db: Db, { app }: AppAccess, account: NewAccount, now: Date): Promise<void> {
  await db
    .insertInto('ads_accounts')
    .values({
      ...account,
      id: newId(),
      workspace_id: app.workspace_id,
      app_id: app.id,
      state: 'recorded',
      status: 'PENDING',
      created_date: now,
      updated_date: now,
    })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'app_id']).doNothing())
    .execute();
}

/** Claims the right to send the request. Undefined if another process already has it. */
export const claimSending = (
  db: Db,
  { workspace_id, id }: AccountKey,
  account: Pick<AccountRow, 'currency_code' | 'timezone'>,
  now: Date,
): Promise<AccountRow | undefined> =>
  db
    .updateTable('ads_accounts')
    .set({ ...account, state: 'sent', sent_at: now, read_at: null, empty_reads: 0, updated_date: now })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('state', '=', 'recorded')
    .returningAll()
    .executeTakeFirst();

/** Allows a request that was certainly not applied to be resent. Does nothing if it has already been resent. */
export async function returnToRecorded(db: Db, { workspace_id, id, sent_at }: AccountRow, now: Date): Promise<void> {
  await db
    .updateTable('ads_accounts')
    .set({ state: 'recorded', updated_date: now })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('state', '=', 'sent')
    .where('sent_at', '=', sent_at)
    .execute();
}

/**
 * Saves the platform's values. Undefined if another process has adopted an account for this row or the app was deleted.
 */
export async function adoptAccount(
  db: Db,
  { workspace_id, id }: AccountKey,
  found: Omit<ClientAccount, 'status'> & { readonly status: AccountRow['status'] },
  now: Date,
): Promise<ReadyAccount | undefined> {
  const row = await db
    .updateTable('ads_accounts')
    .set({
      platform_customer_id: found.customerId,
      currency_code: found.currencyCode,
      timezone: found.timeZone,
      status: found.status,
      state: 'ready',
      status_read_at: now,
      updated_date: now,
    })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('state', '!=', 'ready')
    .returningAll()
    .executeTakeFirst();
  return row !== undefined && isReady(row) ? row : undefined;
}

/**
 * Records that the platform currently has no such account. The read counts only if `counts` is set, and concurrent
 * reads count once.
 */
export async function recordEmptyRead(
  db: Db,
  { workspace_id, id, sent_at, empty_reads }: AccountRow,
  counts: boolean,
  now: Date,
): Promise<void> {
  await db
    .updateTable('ads_accounts')
    .set({ read_at: now, empty_reads: empty_reads + (counts ? 1 : 0) })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('state', '=', 'sent')
    .where('sent_at', '=', sent_at)
    .where('empty_reads', '=', empty_reads)
    .execute();
}

export async function saveStatus(
  db: Db,
  { workspace_id, id }: AccountKey,
  status: Pick<AccountRow, 'status' | 'billing_status'>,
  readAt: Date | null,
): Promise<void> {
  await db
    .updateTable('ads_accounts')
    .set({ ...status, status_read_at: readAt })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

/** Lists rows, across all workspaces, whose outcome is unknown and has not been checked since `before`. */
export async function listUnsettled(db: Db, before: Date, limit: number): Promise<AccountRow[]> {
  const { rows } = await sql<AccountRow>`/* service */ select * from ads_accounts
    where state = 'sent' and coalesce(read_at, sent_at) <= ${before}
    order by coalesce(read_at, sent_at) limit ${limit}`.execute(db);
  return rows;
}

/** Locks the account. Returns the categories whose goals are already in the audit log. */
export async function lockRecordedGoals(db: Db, { workspace_id, id }: AccountKey): Promise<readonly string[]> {
  const row = await db
    .selectFrom('ads_accounts')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .select('recorded_goals')
    .forUpdate()
    .executeTakeFirstOrThrow();
  return row.recorded_goals;
}

export async function saveRecordedGoals(db: Db, { workspace_id, id }: AccountKey, goals: string[]): Promise<void> {
  await db
    .updateTable('ads_accounts')
    .set({ recorded_goals: goals })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

// ---- comparing campaigns with the platform

/**
 * Claims accounts that are due for a sync, taking workspaces in turn. If the platform does not respond, an account is
 * due again after a minute. No two processes claim the same account.
 */
export async function claimDueAccounts(
  db: Db,
  { enabledStatusMs, otherStatusMs, syncRetryMs }: AdsTimes,
  limit: number,
  now: Date,
): Promise<ReadyAccount[]> {
  const before = (ms: number) => new Date(now.getTime() - ms);
  const { rows } = await sql<ReadyAccount>`/* service */ update ads_accounts set sync_tried_at = ${now}
    where (sync_tried_at is null or sync_tried_at <= ${before(syncRetryMs)}) and id in (
      select id from (
        select a.id, a.synced_at, row_number() over (partition by a.workspace_id order by a.synced_at nulls first) as turn
        from ads_accounts a
        where a.platform_customer_id is not null
          and (a.sync_tried_at is null or a.sync_tried_at <= ${before(syncRetryMs)})
          and (a.synced_at is null or a.synced_at <= ${before(otherStatusMs)}
            or (a.synced_at <= ${before(enabledStatusMs)} and exists (select from ads_campaigns c
              where c.workspace_id = a.workspace_id and c.app_id = a.app_id and c.status = 'ENABLED')))) due
      order by turn, synced_at nulls first limit ${limit})
    returning *`.execute(db);
  return rows;
}

export async function saveSync(
  db: Db,
  { workspace_id, id }: AccountKey,
  difference: Readonly<Record<string, number>>,
  now: Date,
): Promise<void> {
  await db
    .updateTable('ads_accounts')
    .set({ synced_at: now, difference: JSON.stringify(difference) })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

/** Lists accounts across all workspaces by id, a hundred at a time. */
export async function listReadyAccounts(db: Db, after: string | null): Promise<ReadyAccount[]> {
  const { rows } = await sql<ReadyAccount>`/* service */ select * from ads_accounts
    where platform_customer_id is not null and (${after}::uuid is null or id > ${after}::uuid)
    order by id limit 100`.execute(db);
  return rows;
}

/**
 * `unlisted`: a campaign on the platform that is missing from our list. `missing`: a campaign in our list that is
 * missing from the platform. `status` and `budget`: our value differs from the platform's.
 */
export const differenceKinds = ['unlisted', 'missing', 'status', 'budget'] as const;
export type DifferenceKind = (typeof differenceKinds)[number];

/**
 * The number of campaigns that differed in the last comparison, by kind. `unread` counts accounts that have not been
 * compared for three hours.
 */
export async function countDifferences(db: Db): Promise<Record<DifferenceKind | 'unread', number>> {
  const sums = differenceKinds.map(
    (kind) => sql`coalesce(sum((difference->>${sql.lit(kind)})::int), 0)::int as ${sql.ref(kind)}`,
  );
  const { rows } = await sql<Record<DifferenceKind | 'unread', number>>`/* service */ select ${sql.join(sums)},
      count(*) filter (where status <> 'CLOSED' and coalesce(synced_at, created_date) < now() - interval '3 hours')::int as unread
    from ads_accounts where platform_customer_id is not null`.execute(db);
  return rows[0] as Record<DifferenceKind | 'unread', number>;
}

// ---- verifying tracking

/** Marks a newly published app's tracking for verification. */
export async function markPublished(
  db: Db,
  { workspace_id, app_id }: { readonly workspace_id: string; readonly app_id: string },
): Promise<void> {
  await db
    .updateTable('ads_accounts')
    .set({ is_tracking_due: true })
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .execute();
}

/** Claims accounts whose app has been published or has a campaign waiting for tracking, taking workspaces in turn. */
export async function claimUnverified(
  db: Db,
  { trackingMs }: AdsTimes,
  limit: number,
  now: Date,
): Promise<ReadyAccount[]> {
  const before = new Date(now.getTime() - trackingMs);
  const isDue = sql`(a.is_tracking_due or a.tracking_tried_at is null or a.tracking_tried_at <= ${before})`;
  const { rows } = await sql<ReadyAccount>`/* service */ update ads_accounts a
    set tracking_tried_at = ${now}, is_tracking_due = false
    where ${isDue} and id in (
      select id from (
        select a.id, a.tracking_tried_at,
          row_number() over (partition by a.workspace_id order by a.tracking_tried_at nulls first) as turn
        from ads_accounts a
        where a.platform_customer_id is not null and ${isDue} and (a.is_tracking_due or exists (
          select from ads_campaigns c where c.workspace_id = a.workspace_id and c.app_id = a.app_id
            and c.own_reasons = '{SERVICE_TRACKING_PENDING}' and c.status = 'PAUSED'))) due
      order by turn, tracking_tried_at nulls first limit ${limit})
    returning *`.execute(db);
  return rows;
}
