// Credit reservations (docs/api/credits.md). An operation that costs credits first reserves an amount. When it
// ends, it settles the actual cost or refunds the reservation.
//
//   reserve 5   pool: reserved +5                       ledger: reserve 5
//   settle 3    pool: reserved -5, used +3              ledger: release 5, use 3
//   refund      pool: used -3                           ledger: refund 3
//   neither     when the lease ends: pool: reserved -5  ledger: release 5
//
// No reservation is needed if the price is known in advance and charged in the transaction that starts the work:
//
//   charge 2    pool: used +2                           ledger: use 2
//
// Lock order: every function locks a reservation before its pool.
import { sql } from 'kysely';
import { prepared, transaction } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db, Tables } from '../../tables.ts';
import type { LedgerRow } from './ledger.ts';
import { getPoolBalance, lockCurrentPool, lockPool, recordMovement, startOfMonth } from './pool.ts';

export interface SpendRequest {
  readonly workspace_id: string;
  /** The member whose limit applies. Null if no member's limit applies, for example for a workspace key. */
  readonly user_id: string | null;
  readonly app_id: string | null;
  readonly operation: string;
  /** The id of the run or message that the credits are spent on. */
  readonly reference_id: string | null;
  /** The expected maximum cost. Must be above 0. */
  readonly amount: number;
  /** How long until an open reservation is released. Must be longer than the operation can take. */
  readonly leaseMs: number;
}

/** The data needed to settle or refund a reservation. */
export interface Reservation {
  readonly workspace_id: string;
  readonly id: string;
}

/** Reserves credits. Throws 402 if the pool or the member's limit does not cover them. */
export function reserve(db: Db, { leaseMs, ...spend }: SpendRequest, now: Date): Promise<Reservation> {
  return transaction(db, async (db) => {
    const { workspace_id, user_id, app_id, operation, reference_id, amount, period_start } = await take(
      db,
      'reserve',
      spend,
      now,
    );
    const reservation = { workspace_id, id: newId() };
    const values = [user_id, app_id, operation, reference_id, amount, now, new Date(now.getTime() + leaseMs)];
    await insertReservation(db, workspace_id, reservation.id, period_start, ...values);
    return reservation;
  });
}

/**
 * Charges a price that is known before the work starts. Throws 402 if the pool or the member's limit does not cover it.
 * There is no reservation, so the charge can't be refunded.
 */
export async function charge(db: Db, price: Omit<SpendRequest, 'leaseMs'>, now: Date): Promise<void> {
  await transaction(db, (db) => take(db, 'use', price, now));
}

async function take(db: Db, kind: 'reserve' | 'use', spend: Omit<SpendRequest, 'leaseMs'>, now: Date) {
  const movement = { ...spend, amount: roundCredits(spend.amount), period_start: startOfMonth(now) };
  const { workspace_id, user_id, amount } = movement;
  const { pool_remaining, member_remaining } = await lockCurrentPool(db, workspace_id, user_id, now);
  if (pool_remaining !== null && pool_remaining < amount) throw creditsExhausted();
  if (member_remaining !== null && member_remaining < amount) throw memberLimitReached();
  await recordMovement(db, { ...movement, kind, note: null }, now);
  return movement;
}

/**
 * Throws 402 if the pool or the member's limit would not cover this amount. Reserves nothing. For work that is started
 * and charged later.
 */
export async function requireCredits(
  db: Db,
  { workspace_id, user_id, amount }: Pick<SpendRequest, 'workspace_id' | 'user_id' | 'amount'>,
  now: Date,
): Promise<void> {
  const { remaining, member_remaining } = await getPoolBalance(db, workspace_id, user_id, startOfMonth(now));
  if (remaining !== null && remaining < amount) throw creditsExhausted();
  if (member_remaining !== null && member_remaining < amount) throw memberLimitReached();
}

/** Rounds to four decimals, the precision of credits. A computed cost may have more. */
function roundCredits(credits: number): number {
  if (!Number.isFinite(credits) || credits < 0) throw new RangeError('credits must be a number of at least 0');
  return Number(credits.toFixed(4));
}

const creditsExhausted = () =>
  new Problem(
    'payment_required',
    'credits_exhausted',
    "The workspace doesn't have enough credits left this month. Ask the operator for more, or wait until next month.",
  );

const memberLimitReached = () =>
  new Problem(
    'payment_required',
    'credit_limit_reached',
    'This would exceed your monthly credit limit. Ask an admin to raise it.',
  );

/** `charged` is less than `cost` only if the pool or the member's limit did not cover the cost. */
export interface Settlement {
  readonly cost: number;
  readonly charged: number;
}

/**
 * Charges the actual cost once. A repeated call returns the first result. If the cost exceeds the reservation, the
 * excess is charged only as far as the pool and the member's limit cover it, and the ledger row notes the actual cost.
 * A released reservation covers nothing.
 */
export function settle(db: Db, reservation: Reservation, trueCost: number, now: Date): Promise<Settlement> {
  const cost = roundCredits(trueCost);
  return transaction(db, async (db) => {
    const row = await lockReservation(db, reservation);
    if (row.cost !== null && row.charged !== null) return { cost: row.cost, charged: row.charged };
    if (row.state === 'open') await recordMovement(db, { ...row, kind: 'release', note: null }, now);
    const own = row.state === 'open' ? row.amount : 0;
    const charged = cost <= own ? cost : Math.min(cost, Math.max(own, await getCoverage(db, row)));
    const note = charged < cost ? `the actual cost was ${cost}; the rest was not covered` : null;
    if (cost > 0) await recordMovement(db, { ...row, kind: 'use', amount: charged, note }, now);
    await closeReservation(db, row, { state: 'settled', cost, charged }, now);
    return { cost, charged };
  });
}

/** Releases an open reservation, or refunds the charged credits. A repeated call does nothing. */
export function refund(db: Db, reservation: Reservation, now: Date): Promise<void> {
  return transaction(db, async (db) => {
    const row = await lockReservation(db, reservation);
    if (row.state === 'open') await release(db, row, null, now);
    else if (row.state === 'settled') {
      if (row.charged) await recordMovement(db, { ...row, kind: 'refund', amount: row.charged, note: null }, now);
      await closeReservation(db, row, { state: 'refunded' }, now);
    }
  });
}

const expiredBatchSize = 100;

/** SQL that returns the milliseconds until the next open reservation expires. */
export const expiredDueInMs = `select extract(epoch from expires_at - $1) * 1000 from credit_reservations
   where state = 'open' order by expires_at limit 1`;

/**
 * Releases reservations whose lease has ended, and returns their number. If one fails, the others are still released.
 */
export async function releaseExpired(db: Db, now: Date): Promise<number> {
  const { rows } = await sql<Reservation>`/* service */ select workspace_id, id from credit_reservations
    where state = 'open' and expires_at <= ${now} order by expires_at limit ${expiredBatchSize}`.execute(db);
  const failures: Error[] = [];
  for (const expired of rows) await releaseIfOpen(db, expired, now).catch((error) => failures.push(error));
  const [first] = failures;
  if (first !== undefined) throw new Error(`${failures.length} reservations were not released: ${first.message}`);
  return rows.length;
}

const releaseIfOpen = (db: Db, expired: Reservation, now: Date): Promise<void> =>
  transaction(db, async (db) => {
    const row = await lockReservation(db, expired);
    if (row.state === 'open') await release(db, row, 'not settled within its lease', now);
  });

async function release(db: Db, row: ReservationRow, note: string | null, now: Date): Promise<void> {
  await recordMovement(db, { ...row, kind: 'release', note }, now);
  await closeReservation(db, row, { state: 'released' }, now);
}

const retentionMs = 90 * 24 * 60 * 60 * 1000;

/**
 * Removes reservations that were closed at least 90 days ago, and returns their number. Their movements stay in the
 * ledger.
 */
export async function removeOldReservations(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - retentionMs);
  const { numAffectedRows } = await sql`/* service */ delete from credit_reservations where (workspace_id, id) in (
    select workspace_id, id from credit_reservations where state <> 'open' and closed_date < ${before} limit 1000)`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}

/** The credits that the pool and the member's limit currently cover. Locks the pool. */
async function getCoverage(db: Db, { workspace_id, user_id, period_start }: ReservationRow): Promise<number> {
  await lockPool(db, workspace_id, period_start);
  const { pool_remaining, member_remaining } = await getPoolBalance(db, workspace_id, user_id, period_start);
  return Math.max(
    0,
    Math.min(pool_remaining ?? Number.POSITIVE_INFINITY, member_remaining ?? Number.POSITIVE_INFINITY),
  );
}

// ---- rows

type ReservationRow = Pick<
  Tables['credit_reservations'],
  'workspace_id' | 'id' | 'period_start' | 'user_id' | 'app_id' | 'operation' | 'reference_id' | 'amount' | 'state'
> & { readonly cost: number | null; readonly charged: number | null };

// Prepared, because other transactions wait for the pool's lock while these statements run.
const insertReservation = prepared<never, unknown[]>(
  'insert credit reservation',
  `insert into credit_reservations (workspace_id, id, period_start, user_id, app_id, operation, reference_id, amount,
    created_date, expires_at, state) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'open')`,
);
const selectForUpdate = prepared<ReservationRow, [workspaceId: string, id: string]>(
  'lock credit reservation',
  'select * from credit_reservations where workspace_id = $1 and id = $2 for update',
);
const updateClosed = prepared<never, unknown[]>(
  'close credit reservation',
  `update credit_reservations set state = $3, closed_date = $4, cost = coalesce($5, cost), charged = coalesce($6, charged)
    where workspace_id = $1 and id = $2`,
);

async function lockReservation(db: Db, { workspace_id, id }: Reservation): Promise<ReservationRow> {
  const [row] = await selectForUpdate(db, workspace_id, id);
  if (row === undefined) throw new Error('reservation not found');
  return row;
}

async function closeReservation(
  db: Db,
  { workspace_id, id }: Reservation,
  end: { state: 'settled' | 'released' | 'refunded'; cost?: number; charged?: number },
  now: Date,
): Promise<void> {
  await updateClosed(db, workspace_id, id, end.state, now, end.cost ?? null, end.charged ?? null);
}

// ---- grants and limits

export interface Grant {
  readonly amount: number;
  readonly note: string;
  /** The operator who granted the credits. */
  readonly user_id: string | null;
}

/** Adds credits to this month's pool. A negative amount removes credits. */
export function grant(db: Db, workspace_id: string, newGrant: Grant, now: Date): Promise<LedgerRow> {
  const period_start = startOfMonth(now);
  return transaction(db, async (db) => {
    await lockCurrentPool(db, workspace_id, null, now);
    const origin = { workspace_id, period_start, app_id: null, operation: 'grantCredits', reference_id: null };
    return recordMovement(db, { ...origin, ...newGrant, kind: 'grant' }, now);
  });
}

/**
 * Cancels an imported workspace's grants from this month onwards, because no operator of this installation made them.
 */
export async function withdrawGrants(db: Db, workspace_id: string, now: Date): Promise<void> {
  const pools = await db
    .selectFrom('credit_pools')
    .select(['period_start', 'granted'])
    .where('workspace_id', '=', workspace_id)
    .where('period_start', '>=', startOfMonth(now))
    .where('granted', '<>', 0)
    .execute();
  const origin = { workspace_id, user_id: null, app_id: null, operation: 'import', reference_id: null };
  const note = 'granted on another installation, not carried over';
  for (const { period_start, granted } of pools) {
    await recordMovement(db, { ...origin, period_start, kind: 'grant', amount: -granted, note }, now);
  }
}

/** Records a changed workspace limit in the ledger immediately, instead of at the next reservation. */
export const syncPoolLimit = (db: Db, workspace_id: string, now: Date): Promise<unknown> =>
  transaction(db, (db) => lockCurrentPool(db, workspace_id, null, now));
