// The credit pools: a workspace's monthly balance, the row lock that serialises spending, and the only statement
// that moves credits (docs/api/credits.md). PostgreSQL computes all sums as decimals.
import { prepared } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { LedgerKind, LedgerRow } from './ledger.ts';

/** The start of the current month in UTC, or of the month that is `months` later. */
export const startOfMonth = (now: Date, months = 0): Date =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1));

/**
 * A workspace's credits in a month, and one member's use of them.
 *
 * Example: limit 100, granted 20, used 50, reserved 10 → `remaining` 60. If the limit is lowered to 80, `remaining` is
 * 40 immediately. The pool still stores the limit 100, so `pool_remaining` is 60 and `limit_change` is -20 until
 * `lockCurrentPool` stores the new limit.
 */
export interface PoolBalance {
  readonly monthly_limit: number | null;
  readonly default_member_credit_limit: number | null;
  readonly granted: number;
  readonly used: number;
  readonly reserved: number;
  /** The credits left under the workspace's current limit. Null means unlimited. */
  readonly remaining: number | null;
  readonly member_used: number;
  readonly credit_limit: number | null;
  readonly is_default_limit: boolean;
  /** The credits that the member may still spend. Null means that the member has no limit. */
  readonly member_remaining: number | null;
  /** The credits left under the pool's stored limit. Null means unlimited. */
  readonly pool_remaining: number | null;
  /** The difference between the workspace's limit and the pool's stored limit. Null if they are equal. */
  readonly limit_change: number | null;
}

/** The default member limit applies only to admins and editors. */
export async function getPoolBalance(
  db: Db,
  workspace_id: string,
  user_id: string | null,
  period_start: Date,
): Promise<PoolBalance> {
  const [balance] = await readBalance(db, workspace_id, period_start, user_id);
  if (balance === undefined) throw new Error('the workspace does not exist');
  return balance;
}

const readBalance = prepared<PoolBalance, [workspaceId: string, periodStart: Date, userId: string | null]>(
  'read credit balance',
  `select monthly_limit, default_member_credit_limit, granted, used, reserved,
      trunc(monthly_limit + granted - used - reserved, 4) as remaining,
      member_used, credit_limit, is_default_limit, trunc(credit_limit - member_used - member_reserved, 4) as member_remaining,
      trunc(pool_limit + granted - used - reserved, 4) as pool_remaining,
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
    ) amounts`,
);

export const lockPool = prepared<object, [workspaceId: string, periodStart: Date]>(
  'lock credit pool',
  'select 1 from credit_pools where workspace_id = $1 and period_start = $2 for update',
);

/**
 * Locks this month's pool, creating it if needed. The balance is read only after locking, because it may have changed
 * while this transaction waited. If the workspace's limit has changed, the new limit is first stored in the pool, with
 * a `reset` row in the ledger.
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
  const balance = await getPoolBalance(db, workspace_id, user_id, period_start);
  if (balance.limit_change === null) return balance;
  await db
    .updateTable('credit_pools')
    .set({ monthly_limit: balance.monthly_limit })
    .where('workspace_id', '=', workspace_id)
    .where('period_start', '=', period_start)
    .execute();
  const origin = { workspace_id, period_start, user_id: null, app_id: null, reference_id: null, note: null };
  await recordMovement(db, { ...origin, operation: 'monthlyLimit', kind: 'reset', amount: balance.limit_change }, now);
  return getPoolBalance(db, workspace_id, user_id, period_start);
}

type Movement = Omit<LedgerRow, 'id' | 'created_date' | 'balance_after'> & {
  readonly workspace_id: string;
  readonly period_start: Date;
};

/** How a row's amount changes the pool's sums. `reset` changes only the limit, which `lockCurrentPool` handles. */
const effects: Record<LedgerKind, { readonly used?: 1 | -1; readonly reserved?: 1 | -1; readonly granted?: 1 }> = {
  use: { used: 1 },
  refund: { used: -1 },
  reserve: { reserved: 1 },
  release: { reserved: -1 },
  grant: { granted: 1 },
  reset: {},
};

// Updates the sums and the ledger in one statement, so they can't differ.
const insertMovement = prepared<LedgerRow, unknown[]>(
  'insert credit movement',
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

/** Appends a row to the ledger and updates the pool's sums. */
export async function recordMovement(db: Db, movement: Movement, now: Date): Promise<LedgerRow> {
  const { workspace_id, period_start, kind, amount, user_id, app_id, operation, reference_id, note } = movement;
  const { used = 0, reserved = 0, granted = 0 } = effects[kind];
  const values = [kind, amount, user_id, app_id, operation, reference_id, note, now];
  const [row] = await insertMovement(db, workspace_id, period_start, newId(), ...values, used, reserved, granted);
  if (row === undefined) throw new Error('the month has no credit pool');
  return row;
}
