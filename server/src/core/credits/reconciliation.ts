// Compares a pool's stored sums with the sums of its ledger.
import { sql } from 'kysely';
import type { Db } from '../../tables.ts';

export interface PoolKey {
  readonly workspace_id: string;
  readonly period_start: Date;
}

/** A stored sum that differs from the ledger. */
export interface Mismatch extends PoolKey {
  /** `used`, `reserved`, `granted`, `monthly_limit`, `open reservations`, `used by <user>` or `reserved by <user>`. */
  readonly sum: string;
  readonly kept: number;
  readonly ledger: number;
}

/**
 * Finds a pool's stored sums that differ from its ledger. A single statement reads one snapshot, so no lock is needed,
 * and concurrent movements can't cause a false mismatch. The rows start a day before the month, because processes'
 * clocks differ.
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
