// Owns the credits of a workspace: one pool a month, from which every paid act reserves before it begins, and settles
// or gives back after (docs/contract.md §2.5). Sums are made by the database, in decimals.
import { sql } from 'kysely';
import { prepared, transaction } from '../kit/db/database.ts';
import { newId } from '../kit/ids.ts';
import { Problem } from '../kit/problem.ts';
import type { Db, Tables } from '../tables.ts';
import type { LedgerKind, LedgerRow } from './ledger.ts';

/** The first moment of the month, UTC; `months` away. */
export const monthOf = (now: Date, months = 0): Date =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1));

export interface Spend {
  readonly workspace_id: string;
  /** Whose limit counts; null: nobody's, as for a workspace key. */
  readonly user_id: string | null;
  readonly app_id: string | null;
  readonly operation: string;
  /** What the act is known by where it is done: a run, a message. */
  readonly reference_id: string | null;
  /** The most it should cost; above 0. */
  readonly amount: number;
  /** After this long without an end, what was reserved goes back: longer than the act can take. */
  readonly leaseMs: number;
}

/** All that must be remembered to settle. */
export interface Reservation {
  readonly workspace_id: string;
  readonly id: string;
}

/** Sets credits aside; refused when the pool or the member's limit does not cover them. */
export function reserve(db: Db, spend: Spend, now: Date): Promise<Reservation> {
  const { leaseMs, ...act } = { ...spend, amount: inDecimals(spend.amount) };
  const period_start = monthOf(now);
  const { workspace_id } = act;
  return transaction(db, async (db) => {
    const { available, own_left } = await hold(db, workspace_id, act.user_id, now);
    if (available !== null && available < act.amount) throw exhausted();
    if (own_left !== null && own_left < act.amount) throw limitReachedByMember();
    await record(db, { ...act, period_start, kind: 'reserve', note: null }, now);
    const reservation = { workspace_id, id: newId() };
    const expires_at = new Date(now.getTime() + leaseMs);
    await db
      .insertInto('credit_reservations')
      .values({ ...act, ...reservation, period_start, state: 'open', created_date: now, expires_at })
      .execute();
    return reservation;
  });
}

/** Credits have four decimals; a cost that was computed may have more. */
function inDecimals(credits: number): number {
  if (!Number.isFinite(credits) || credits < 0) throw new RangeError('credits are a number from 0');
  return Number(credits.toFixed(4));
}

const exhausted = () =>
  new Problem('payment_required', 'credits_exhausted', 'The workspace has not enough credits left this month.');

const limitReachedByMember = () =>
  new Problem('payment_required', 'credit_limit_reached', 'This would go above your limit of credits this month.');

/** What the act cost in truth, and what of it was charged: less only where the pool or the limit did not cover it. */
export interface Settlement {
  readonly cost: number;
  readonly charged: number;
}

/**
 * Charges the true cost, once. What goes above the reservation is charged as far as the pool and the member's limit
 * cover it; the rest is nobody's debt, and the row says so. An act that ends after its lease has nothing reserved any more.
 */
export function settle(db: Db, reservation: Reservation, trueCost: number, now: Date): Promise<Settlement> {
  const cost = inDecimals(trueCost);
  return transaction(db, async (db) => {
    const held = await holdReservation(db, reservation);
    if (held.cost !== null && held.charged !== null) return { cost: held.cost, charged: held.charged };
    if (held.state === 'open') await record(db, { ...held, kind: 'release', note: null }, now);
    const own = held.state === 'open' ? held.amount : 0;
    const charged = cost <= own ? cost : Math.min(cost, Math.max(own, await coverFor(db, held)));
    const note = charged < cost ? `the true cost was ${cost}; the rest was not covered` : null;
    if (cost > 0) await record(db, { ...held, kind: 'use', amount: charged, note }, now);
    await close(db, held, { state: 'settled', cost, charged }, now);
    return { cost, charged };
  });
}

/** Gives back all that the act has: what it reserved, or what it was charged. Once. */
export function refund(db: Db, reservation: Reservation, now: Date): Promise<void> {
  return transaction(db, async (db) => {
    const held = await holdReservation(db, reservation);
    if (held.state === 'open') {
      await record(db, { ...held, kind: 'release', note: null }, now);
      await close(db, held, { state: 'released' }, now);
    } else if (held.state === 'settled') {
      if (held.charged) await record(db, { ...held, kind: 'refund', amount: held.charged, note: null }, now);
      await close(db, held, { state: 'refunded' }, now);
    }
  });
}

const expiredAtOnce = 100;

/** Gives back what acts that never ended had reserved; gives how many. */
export async function releaseExpired(db: Db, now: Date): Promise<number> {
  const { rows } = await sql<Reservation>`/* service */ select workspace_id, id from credit_reservations
    where state = 'open' and expires_at <= ${now} order by expires_at limit ${expiredAtOnce}`.execute(db);
  for (const expired of rows) await transaction(db, (db) => releaseOne(db, expired, now));
  return rows.length;
}

async function releaseOne(db: Db, expired: Reservation, now: Date): Promise<void> {
  const held = await holdReservation(db, expired);
  if (held.state !== 'open') return; // it ended after all
  await record(db, { ...held, kind: 'release', note: 'not settled within its lease' }, now);
  await close(db, held, { state: 'released' }, now);
}

const keptMs = 90 * 24 * 60 * 60 * 1000;

/** Forgets reservations that ended long ago: the ledger has what came of them. Gives how many. */
export async function forgetReservations(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - keptMs);
  const { numAffectedRows } = await sql`/* service */ delete from credit_reservations where (workspace_id, id) in (
    select workspace_id, id from credit_reservations where state <> 'open' and closed_date < ${before} limit 1000)`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}

export interface Grant {
  readonly amount: number;
  readonly note: string;
  /** Who granted it. */
  readonly user_id: string | null;
}

/** Adds to this month's pool, or takes from it. */
export function grant(db: Db, workspace_id: string, given: Grant, now: Date): Promise<LedgerRow> {
  const period_start = monthOf(now);
  return transaction(db, async (db) => {
    await hold(db, workspace_id, null, now);
    const about = { workspace_id, period_start, app_id: null, operation: 'grantCredits', reference_id: null };
    return record(db, { ...about, ...given, kind: 'grant' }, now);
  });
}

/** Takes back what was granted for this month and later: in an archive from elsewhere nobody here granted it. */
export async function withdrawGrants(db: Db, workspace_id: string, now: Date): Promise<void> {
  const pools = await db
    .selectFrom('credit_pools')
    .select(['period_start', 'granted'])
    .where('workspace_id', '=', workspace_id)
    .where('period_start', '>=', monthOf(now))
    .where('granted', '<>', 0)
    .execute();
  const about = { workspace_id, user_id: null, app_id: null, operation: 'import', reference_id: null };
  const note = 'granted elsewhere, not carried over';
  for (const { period_start, granted } of pools) {
    await record(db, { ...about, period_start, kind: 'grant', amount: -granted, note }, now);
  }
}

/** Writes a new limit of the workspace into the ledger at once; without this the next act would. */
export const adoptLimit = (db: Db, workspace_id: string, now: Date): Promise<unknown> =>
  transaction(db, (db) => hold(db, workspace_id, null, now));

// ---- the pool

export interface Standing {
  readonly monthly_limit: number | null;
  readonly default_member_credit_limit: number | null;
  readonly granted: number;
  readonly used: number;
  readonly reserved: number;
  /** What is left of the workspace's limit as it is now; null: unlimited. */
  readonly remaining: number | null;
  readonly own_used: number;
  readonly credit_limit: number | null;
  readonly is_default_limit: boolean;
  /** What the member may still spend; null: no limit of their own. */
  readonly own_left: number | null;
  /** What is left in the pool, by the limit it knows. */
  readonly available: number | null;
  /** What the pool's limit must change by to be the workspace's; null: it is. */
  readonly limit_change: number | null;
}

/** How a workspace and one of its people stand in a month. The default limit is not for owner, viewers and guests (§2.2). */
export async function getStanding(
  db: Db,
  workspace_id: string,
  user_id: string | null,
  period_start: Date,
): Promise<Standing> {
  const [standing] = await readStanding(db, workspace_id, period_start, user_id);
  return standing as Standing;
}

const readStanding = prepared<Standing, [workspaceId: string, periodStart: Date, userId: string | null]>(
  'credits_standing',
  `select monthly_limit, default_member_credit_limit, granted, used, reserved,
      trunc(monthly_limit + granted - used - reserved, 4) as remaining,
      own_used, credit_limit, is_default_limit, trunc(credit_limit - own_used - own_reserved, 4) as own_left,
      trunc(pool_limit + granted - used - reserved, 4) as available,
      case when pool_limit is distinct from monthly_limit
        then coalesce(monthly_limit, 0) - coalesce(pool_limit, 0) end as limit_change
    from (
      select w.monthly_limit, w.default_member_credit_limit, p.monthly_limit as pool_limit,
        coalesce(p.granted, 0) as granted, coalesce(p.used, 0) as used, coalesce(p.reserved, 0) as reserved,
        coalesce(u.used, 0) as own_used, coalesce(u.reserved, 0) as own_reserved,
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

const lockPool = prepared<object, [workspaceId: string, periodStart: Date]>(
  'credits_lock',
  'select 1 from credit_pools where workspace_id = $1 and period_start = $2 for update',
);

/**
 * Locks this month's pool, made when it is not there yet, and reads it after: what was read before the lock may be old.
 * A limit that the ledger does not know yet is written into it first.
 */
async function hold(db: Db, workspace_id: string, user_id: string | null, now: Date): Promise<Standing> {
  const period_start = monthOf(now);
  if ((await lockPool(db, workspace_id, period_start)).length === 0) {
    await db
      .insertInto('credit_pools')
      .values({ workspace_id, period_start })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await lockPool(db, workspace_id, period_start);
  }
  const standing = await getStanding(db, workspace_id, user_id, period_start);
  if (standing.limit_change === null) return standing;
  await db
    .updateTable('credit_pools')
    .set({ monthly_limit: standing.monthly_limit })
    .where('workspace_id', '=', workspace_id)
    .where('period_start', '=', period_start)
    .execute();
  const about = { workspace_id, period_start, user_id: null, app_id: null, reference_id: null, note: null };
  await record(db, { ...about, operation: 'monthlyLimit', kind: 'reset', amount: standing.limit_change }, now);
  return getStanding(db, workspace_id, user_id, period_start);
}

/** What the pool and the member's limit let an act take now. */
async function coverFor(db: Db, { workspace_id, user_id, period_start }: Held): Promise<number> {
  await lockPool(db, workspace_id, period_start);
  const { available, own_left } = await getStanding(db, workspace_id, user_id, period_start);
  return Math.max(0, Math.min(available ?? Number.POSITIVE_INFINITY, own_left ?? Number.POSITIVE_INFINITY));
}

// ---- reservations

type Held = Pick<
  Tables['credit_reservations'],
  'workspace_id' | 'id' | 'period_start' | 'user_id' | 'app_id' | 'operation' | 'reference_id' | 'amount' | 'state'
> & { readonly cost: number | null; readonly charged: number | null };

/** The reservation, locked: before the pool, by everybody who ends one. */
const holdReservation = (db: Db, { workspace_id, id }: Reservation): Promise<Held> =>
  db
    .selectFrom('credit_reservations')
    .selectAll()
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirstOrThrow();

async function close(
  db: Db,
  { workspace_id, id }: Reservation,
  end: { state: 'settled' | 'released' | 'refunded'; cost?: number; charged?: number },
  now: Date,
): Promise<void> {
  await db
    .updateTable('credit_reservations')
    .set({ ...end, closed_date: now })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

// ---- the ledger

interface Movement {
  readonly workspace_id: string;
  readonly period_start: Date;
  readonly kind: LedgerKind;
  readonly amount: number;
  readonly user_id: string | null;
  readonly app_id: string | null;
  readonly operation: string;
  readonly reference_id: string | null;
  readonly note: string | null;
}

/** What a row adds to the pool's sums, as a factor of its amount. A new limit is set by `hold`. */
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

async function record(db: Db, moved: Movement, now: Date): Promise<LedgerRow> {
  const { workspace_id, period_start, kind, amount, user_id, app_id, operation, reference_id, note } = moved;
  const { used = 0, reserved = 0, granted = 0 } = effects[kind];
  const about = [kind, amount, user_id, app_id, operation, reference_id, note, now];
  const [row] = await insertMovement(db, workspace_id, period_start, newId(), ...about, used, reserved, granted);
  if (row === undefined) throw new Error('credits moved in a month that has no pool');
  return row;
}
