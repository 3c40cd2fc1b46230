// Owns the pools' rows: how a workspace stands in a month, the lock that spenders queue for, and the one statement by
// which credits move (docs/contract.md §2.5). Sums are made by the database, in decimals.
import { prepared } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { LedgerKind, LedgerRow } from './ledger.ts';

/** The first moment of the month, UTC; `months` away. */
export const startOfMonth = (now: Date, months = 0): Date =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1));

export interface PoolBalance {
  readonly monthly_limit: number | null;
  readonly default_member_credit_limit: number | null;
  readonly granted: number;
  readonly used: number;
  readonly reserved: number;
  /** What is left of the workspace's limit as it is now; null: unlimited. */
  readonly remaining: number | null;
  readonly member_used: number;
  readonly credit_limit: number | null;
  readonly is_default_limit: boolean;
  /** What the member may still spend; null: no limit of their own. */
  readonly member_remaining: number | null;
  /** What is left in the pool, by the limit it knows. */
  readonly available: number | null;
  /** What the pool's limit must change by to be the workspace's; null: it is. */
  readonly limit_change: number | null;
}

/** How a workspace and one of its people stand in a month. The default limit is not for owner, viewers and guests (§2.2). */
export async function getPoolBalance(
  db: Db,
  workspace_id: string,
  user_id: string | null,
  period_start: Date,
): Promise<PoolBalance> {
  const [standing] = await readBalance(db, workspace_id, period_start, user_id);
  return standing as PoolBalance;
}

const readBalance = prepared<PoolBalance, [workspaceId: string, periodStart: Date, userId: string | null]>(
  'credits_standing',
  `select monthly_limit, default_member_credit_limit, granted, used, reserved,
      trunc(monthly_limit + granted - used - reserved, 4) as remaining,
      member_used, credit_limit, is_default_limit, trunc(credit_limit - member_used - member_reserved, 4) as member_remaining,
      trunc(pool_limit + granted - used - reserved, 4) as available,
      case when pool_limit is distinct from monthly_limit
        then coalesce(monthly_limit, 0) - coalesce(pool_limit, 0) end as limit_change
    from (
      select w.monthly_limit, w.default_member_credit_limit, p.monthly_limit as pool_limit,
        coalesce(p.granted, 0) as granted, coalesce(p.used, 0) as used, coalesce(p.reserved, 0) as reserved,
        coalesce(u.used, 0) as member_used, coalesce(u.reserved, 0) as member_reserved,
        coalesce(m.credit_limit, case when m.role in ('admin', 'editor') then w.default_member_credit_limit end) as credit_limit,
        (m.credit_limit is null and m.role in ('admin', 'editor') and w.default_member_credit_limit is not null) is true
          as is_default_limit
      from workspaces w
      left join credit_pools p on p.workspace_id = w.id and p.period_start = $2
      left join memberships m on m.workspace_id = w.id and m.user_id = $3
      left join credit_use u on u.workspace_id = w.id and u.period_start = $2 and u.user_id = $3
      where w.id = $1
    ) standing`,
);

export const lockPool = prepared<object, [workspaceId: string, periodStart: Date]>(
  'credits_lock',
  'select 1 from credit_pools where workspace_id = $1 and period_start = $2 for update',
);

/**
 * Locks this month's pool, made when it is not there yet, and reads it after: what was read before the lock may be old.
 * A limit that the ledger does not know yet is written into it first.
 */
export async function lockCurrentPool(
  db: Db,
  workspace_id: string,
  user_id: string | null,
  now: Date,
): Promise<PoolBalance> {
  const period_start = startOfMonth(now);
  if ((await lockPool(db, workspace_id, period_start)).length === 0) {
    await db
      .insertInto('credit_pools')
      .values({ workspace_id, period_start })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await lockPool(db, workspace_id, period_start);
  }
  const standing = await getPoolBalance(db, workspace_id, user_id, period_start);
  if (standing.limit_change === null) return standing;
  await db
    .updateTable('credit_pools')
    .set({ monthly_limit: standing.monthly_limit })
    .where('workspace_id', '=', workspace_id)
    .where('period_start', '=', period_start)
    .execute();
  const about = { workspace_id, period_start, user_id: null, app_id: null, reference_id: null, note: null };
  await recordMovement(db, { ...about, operation: 'monthlyLimit', kind: 'reset', amount: standing.limit_change }, now);
  return getPoolBalance(db, workspace_id, user_id, period_start);
}

type Movement = Omit<LedgerRow, 'id' | 'created_date' | 'balance_after'> & {
  readonly workspace_id: string;
  readonly period_start: Date;
};

/** What a row adds to the pool's sums, as a factor of its amount. A new limit is set by `holdPool`. */
const effects: Record<LedgerKind, { readonly used?: 1 | -1; readonly reserved?: 1 | -1; readonly granted?: 1 }> = {
  use: { used: 1 },
  refund: { used: -1 },
  reserve: { reserved: 1 },
  release: { reserved: -1 },
  grant: { granted: 1 },
  reset: {},
};

// The sums and the row in one statement: neither can be without the other.
const insertMovement = prepared<LedgerRow, unknown[]>(
  'credits_move',
  `with change as (
      select $5::numeric * $12::numeric as used, $5::numeric * $13::numeric as reserved, $5::numeric * $14::numeric as granted
    ), pool as (
      update credit_pools p
      set used = p.used + change.used, reserved = p.reserved + change.reserved, granted = p.granted + change.granted
      from change where p.workspace_id = $1 and p.period_start = $2
      returning p.monthly_limit + p.granted - p.used - p.reserved as balance
    ), member as (
      insert into credit_use as mine (workspace_id, period_start, user_id, used, reserved)
      select $1, $2, $6::uuid, used, reserved from change where $6 is not null and granted = 0
      on conflict (workspace_id, period_start, user_id) do update
        set used = mine.used + excluded.used, reserved = mine.reserved + excluded.reserved
    )
    insert into credit_ledger (workspace_id, period_start, id, kind, amount, user_id, app_id, operation, reference_id,
      note, created_date, balance_after)
    select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, balance from pool returning *`,
);

/** Appends a row to the ledger, and changes the sums by it. */
export async function recordMovement(db: Db, moved: Movement, now: Date): Promise<LedgerRow> {
  const { workspace_id, period_start, kind, amount, user_id, app_id, operation, reference_id, note } = moved;
  const { used = 0, reserved = 0, granted = 0 } = effects[kind];
  const about = [kind, amount, user_id, app_id, operation, reference_id, note, now];
  const [row] = await insertMovement(db, workspace_id, period_start, newId(), ...about, used, reserved, granted);
  if (row === undefined) throw new Error('credits moved in a month that has no pool');
  return row;
}
