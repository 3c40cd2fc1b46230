// Owns the reading of the ledger: a page of it, and its sums beside those that are kept.
import { sql } from 'kysely';
import type { LedgerRow } from '../../access/ledger.ts';
import type { WorkspaceAccess } from '../../access/proofs.ts';
import { roleReaches } from '../../access/roles.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { idOrNull } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { LedgerQuery, Mismatch } from './contract.ts';

/** The rows the caller may see: an admin all, as a workspace key does; others their own. */
export function listLedger(
  db: Db,
  { workspace_id, role, caller }: WorkspaceAccess,
  query: LedgerQuery,
  after: Position | undefined,
): Promise<LedgerRow[]> {
  let found = db
    .selectFrom('credit_ledger')
    .selectAll()
    .where('workspace_id', '=', workspace_id)
    .orderBy('created_date', 'desc')
    .orderBy('id', 'desc')
    .limit(query.limit + 1);
  if (role !== null && !roleReaches(role, 'admin')) found = found.where('user_id', '=', caller.user_id);
  if (query.user_id !== undefined) found = found.where('user_id', '=', idOrNull(query.user_id));
  if (query.app_id !== undefined) found = found.where('app_id', '=', idOrNull(query.app_id));
  if (query.kind !== undefined) found = found.where('kind', '=', query.kind);
  if (query.from !== undefined) found = found.where('created_date', '>=', query.from);
  if (query.to !== undefined) found = found.where('created_date', '<=', query.to);
  if (after) found = found.where(sql<boolean>`(created_date, id) < (${after[0]}::timestamptz, ${after[1]}::uuid)`);
  return found.execute();
}

export interface PoolKey {
  readonly workspace_id: string;
  readonly period_start: Date;
}

/** Pools from this month on that were not checked since. */
export async function listUncheckedPools(db: Db, from: Date, since: Date, limit: number): Promise<PoolKey[]> {
  const { rows } = await sql<PoolKey>`/* service */ select workspace_id, period_start from credit_pools
    where period_start >= ${from} and checked_date < ${since} order by period_start, checked_date limit ${limit}`.execute(
    db,
  );
  return rows;
}

export async function markChecked(db: Db, { workspace_id, period_start }: PoolKey, now: Date): Promise<void> {
  await db
    .updateTable('credit_pools')
    .set({ checked_date: now })
    .where('workspace_id', '=', workspace_id)
    .where('period_start', '=', period_start)
    .execute();
}

/**
 * Every kept sum of a pool that differs from what the ledger gives. One statement, so one moment: no lock, and no alarm by
 * what moves meanwhile. Rows are looked for from a day before the month: clocks differ.
 */
export async function listMismatches(db: Db, { workspace_id, period_start }: PoolKey): Promise<Mismatch[]> {
  const ofPool = sql`workspace_id = ${workspace_id} and period_start = ${period_start}`;
  const { rows } = await sql<Mismatch>`
    with movements as (
      select user_id, case when kind in ('refund', 'release') then -amount else amount end as amount,
        case when kind in ('use', 'refund') then 'used' when kind in ('reserve', 'release') then 'reserved'
          when kind = 'grant' then 'granted' else 'monthly_limit' end as sum
      from credit_ledger where ${ofPool} and created_date >= ${period_start}::timestamptz - interval '1 day'
    ), ledger as (
      select sum, sum(amount) as amount from movements group by 1
      union all select 'open reservations', sum(amount) from movements where sum = 'reserved'
      union all select sum || ' by ' || user_id, sum(amount) from movements
        where user_id is not null and sum in ('used', 'reserved') group by 1
    ), kept as (
      select kept.* from credit_pools, lateral (values ('used', used), ('reserved', reserved), ('granted', granted),
        ('monthly_limit', coalesce(monthly_limit, 0))) kept (sum, amount) where ${ofPool}
      union all select 'open reservations', sum(amount) from credit_reservations where ${ofPool} and state = 'open'
      union all select 'used by ' || user_id, used from credit_use where ${ofPool}
      union all select 'reserved by ' || user_id, reserved from credit_use where ${ofPool}
    )
    select ${workspace_id}::uuid as workspace_id, ${period_start}::timestamptz as period_start, sum,
      coalesce(kept.amount, 0) as kept, coalesce(ledger.amount, 0) as ledger
    from kept full join ledger using (sum) where coalesce(kept.amount, 0) <> coalesce(ledger.amount, 0)`.execute(db);
  return rows;
}
