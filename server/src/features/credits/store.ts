// The queries on credits: a ledger page, and the pools to reconcile.
import { sql } from 'kysely';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { isRoleAtLeast } from '../../core/auth/roles.ts';
import type { LedgerRow } from '../../core/credits/ledger.ts';
import type { PoolKey } from '../../core/credits/reconciliation.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { idOrNull } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { LedgerQuery, UsageQuery } from './contract.ts';

const seesEveryRow = ({ role }: WorkspaceAccess): boolean => role === null || isRoleAtLeast(role, 'admin');

/** Owners, admins and workspace keys see every row. Others see only their own. */
export function listLedger(
  db: Db,
  access: WorkspaceAccess,
  query: LedgerQuery,
  after: Position | undefined,
): Promise<LedgerRow[]> {
  const { workspace_id, caller } = access;
  let rows = db
    .selectFrom('credit_ledger')
    .selectAll()
    .where('workspace_id', '=', workspace_id)
    .orderBy('created_date', 'desc')
    .orderBy('id', 'desc')
    .limit(query.limit + 1);
  if (!seesEveryRow(access)) rows = rows.where('user_id', '=', caller.user_id);
  if (query.user_id !== undefined) rows = rows.where('user_id', '=', idOrNull(query.user_id));
  if (query.app_id !== undefined) rows = rows.where('app_id', '=', idOrNull(query.app_id));
  if (query.kind !== undefined) rows = rows.where('kind', '=', query.kind);
  if (query.from !== undefined) rows = rows.where('created_date', '>=', query.from);
  if (query.to !== undefined) rows = rows.where('created_date', '<=', query.to);
  if (after) rows = rows.where(sql<boolean>`(created_date, id) < (${after[0]}::timestamptz, ${after[1]}::uuid)`);
  return rows.execute();
}

export interface UsageBucket {
  readonly day: string;
  readonly key: string | null;
  readonly used: number;
  readonly refunded: number;
}

/** Adds up the ledger by day, newest first. Its sums are those of the pools (reconciliation.ts). */
export async function sumUsage(
  db: Db,
  access: WorkspaceAccess,
  { group_by }: Pick<UsageQuery, 'group_by'>,
  { from, to, limit }: { readonly from: Date; readonly to: Date; readonly limit: number },
): Promise<UsageBucket[]> {
  const { workspace_id, caller } = access;
  const key = sql.ref({ user: 'user_id', app: 'app_id', operation: 'operation' }[group_by]);
  const own = seesEveryRow(access) ? sql`` : sql`and user_id = ${caller.user_id}`;
  const { rows } = await sql<UsageBucket>`
    select to_char(created_date at time zone 'UTC', 'YYYY-MM-DD') as day, ${key}::text as key,
      coalesce(sum(amount) filter (where kind = 'use'), 0) as used,
      coalesce(sum(amount) filter (where kind = 'refund'), 0) as refunded
    from credit_ledger
    where workspace_id = ${workspace_id} and kind in ('use', 'refund')
      and created_date >= ${from} and created_date < ${to} ${own}
    group by 1, 2 order by 1 desc, 3 desc, 2 limit ${limit}`.execute(db);
  return rows;
}

/** The pools since `from` that were last checked before `since`. */
export async function listPoolsToCheck(db: Db, from: Date, since: Date, limit: number): Promise<PoolKey[]> {
  const { rows } = await sql<PoolKey>`/* service */ select workspace_id, period_start from credit_pools
    where period_start >= ${from} and checked_date < ${since} order by period_start, checked_date limit ${limit}`.execute(
    db,
  );
  return rows;
}

/** The number of open reservations across all workspaces: either all of them, or only those past their lease. */
export async function countOpenReservations(db: Db, which: 'all' | 'overdue'): Promise<number> {
  const condition = which === 'overdue' ? sql`and expires_at < clock_timestamp()` : sql``;
  const { rows } = await sql<{ count: number }>`/* service */ select count(*)::int as count from credit_reservations
    where state = 'open' ${condition}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Returns false if another worker has claimed the pool first. */
export async function claimPoolCheck(db: Db, { workspace_id, period_start }: PoolKey, since: Date, now: Date) {
  const { numUpdatedRows } = await db
    .updateTable('credit_pools')
    .set({ checked_date: now })
    .where('workspace_id', '=', workspace_id)
    .where('period_start', '=', period_start)
    .where('checked_date', '<', since)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
