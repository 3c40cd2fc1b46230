// Owns the credit pools: the balance of a workspace in a month, the row lock that serialises spending, and the one
// statement that moves credits (docs/api/credits.md). PostgreSQL computes all sums, in decimals.
import { prepared } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { LedgerKind, LedgerRow } from './ledger.ts';

/** The start of the month in UTC; `months` later. */
export const startOfMonth = (now: Date, months = 0): Date =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1));

/**
 * The credits of a workspace and of one member in a month.
 *
 * Example: limit 100, granted 20, used 50, reserved 10 → `remaining` 60. If the limit was just lowered to 80,
 * `remaining` is 40 at once, but the pool still has 100: `pool_remaining` 60, `limit_change` -20, until
 * `lockCurrentPool` writes it.
 */
export interface PoolBalance {
  readonly monthly_limit: number | null;
  readonly default_member_credit_limit: number | null;
  readonly granted: number;
  readonly used: number;
  readonly reserved: number;
  /** Left by the workspace's present limit; null: unlimited. */
  readonly remaining: number | null;
  readonly member_used: number;
  readonly credit_limit: number | null;
  readonly is_default_limit: boolean;
  /** What the member may still spend; null: no limit for this member. */
  readonly member_remaining: number | null;
  /** Left by the limit that is stored in the pool; null: unlimited. */
  readonly pool_remaining: number | null;
  /** The difference between the workspace's limit and the pool's; null: none. */
  readonly limit_change: number | null;
}

/** The default member limit applies to admins and editors only. */
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
 * Locks this month's pool, and creates it if needed. The balance is read after the lock, because it may have changed
 * while this transaction waited. A changed limit of the workspace is first written to the pool, as a `reset` row of
 * the ledger.
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

/** By which factor a row's amount changes the pool's sums. `reset` changes the limit, which `lockCurrentPool` does. */
const effects: Record<LedgerKind, { readonly used?: 1 | -1; readonly reserved?: 1 | -1; readonly granted?: 1 }> = {
  use: { used: 1 },
  refund: { used: -1 },
  reserve: { reserved: 1 },
  release: { reserved: -1 },
  grant: { granted: 1 },
  reset: {},
};

// The sums and the ledger row change in one statement, so that they cannot differ.
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

/** Appends a row to the ledger and changes the pool's sums by it. */
export async function recordMovement(db: Db, movement: Movement, now: Date): Promise<LedgerRow> {
  const { workspace_id, period_start, kind, amount, user_id, app_id, operation, reference_id, note } = movement;
  const { used = 0, reserved = 0, granted = 0 } = effects[kind];
  const values = [kind, amount, user_id, app_id, operation, reference_id, note, now];
  const [row] = await insertMovement(db, workspace_id, period_start, newId(), ...values, used, reserved, granted);
  if (row === undefined) throw new Error('the month has no credit pool');
  return row;
}
