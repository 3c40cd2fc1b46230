// Owns the credits of a workspace: one pool a month, from which every paid act reserves before it begins, and settles
// or gives back after (docs/contract.md §2.5).
import { sql } from 'kysely';
import { prepared, transaction } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db, Tables } from '../../tables.ts';
import type { LedgerRow } from './ledger.ts';
import { getPoolBalance, lockCurrentPool, lockPool, recordMovement, startOfMonth } from './pool.ts';

export interface SpendRequest {
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
export function reserve(db: Db, spend: SpendRequest, now: Date): Promise<Reservation> {
  const { leaseMs, ...act } = { ...spend, amount: roundCredits(spend.amount) };
  const period_start = startOfMonth(now);
  const { workspace_id } = act;
  return transaction(db, async (db) => {
    const { available, member_remaining } = await lockCurrentPool(db, workspace_id, act.user_id, now);
    if (available !== null && available < act.amount) throw creditsExhausted();
    if (member_remaining !== null && member_remaining < act.amount) throw memberLimitReached();
    await recordMovement(db, { ...act, period_start, kind: 'reserve', note: null }, now);
    const reservation = { workspace_id, id: newId() };
    const { user_id, app_id, operation, reference_id, amount } = act;
    const about = [user_id, app_id, operation, reference_id, amount, now, new Date(now.getTime() + leaseMs)];
    await insertReservation(db, workspace_id, reservation.id, period_start, ...about);
    return reservation;
  });
}

/** Credits have four decimals; a cost that was computed may have more. */
function roundCredits(credits: number): number {
  if (!Number.isFinite(credits) || credits < 0) throw new RangeError('credits are a number from 0');
  return Number(credits.toFixed(4));
}

const creditsExhausted = () =>
  new Problem('payment_required', 'credits_exhausted', 'The workspace has not enough credits left this month.');

const memberLimitReached = () =>
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
  const cost = roundCredits(trueCost);
  return transaction(db, async (db) => {
    const held = await lockReservation(db, reservation);
    if (held.cost !== null && held.charged !== null) return { cost: held.cost, charged: held.charged };
    if (held.state === 'open') await recordMovement(db, { ...held, kind: 'release', note: null }, now);
    const own = held.state === 'open' ? held.amount : 0;
    const charged = cost <= own ? cost : Math.min(cost, Math.max(own, await getCoverage(db, held)));
    const note = charged < cost ? `the true cost was ${cost}; the rest was not covered` : null;
    if (cost > 0) await recordMovement(db, { ...held, kind: 'use', amount: charged, note }, now);
    await closeReservation(db, held, { state: 'settled', cost, charged }, now);
    return { cost, charged };
  });
}

/** Gives back all that the act has: what it reserved, or what it was charged. Once. */
export function refund(db: Db, reservation: Reservation, now: Date): Promise<void> {
  return transaction(db, async (db) => {
    const held = await lockReservation(db, reservation);
    if (held.state === 'open') await release(db, held, null, now);
    else if (held.state === 'settled') {
      if (held.charged) await recordMovement(db, { ...held, kind: 'refund', amount: held.charged, note: null }, now);
      await closeReservation(db, held, { state: 'refunded' }, now);
    }
  });
}

const expiredBatchSize = 100;

/** Gives back what acts that never ended had reserved; gives how many. One that fails is told, and holds up no other. */
export async function releaseExpired(db: Db, now: Date): Promise<number> {
  const { rows } = await sql<Reservation>`/* service */ select workspace_id, id from credit_reservations
    where state = 'open' and expires_at <= ${now} order by expires_at limit ${expiredBatchSize}`.execute(db);
  const failures: Error[] = [];
  for (const expired of rows) await releaseOne(db, expired, now).catch((error) => failures.push(error));
  const [first] = failures;
  if (first !== undefined) throw new Error(`${failures.length} reservations were not released: ${first.message}`);
  return rows.length;
}

const releaseOne = (db: Db, expired: Reservation, now: Date): Promise<void> =>
  transaction(db, async (db) => {
    const held = await lockReservation(db, expired);
    if (held.state === 'open') await release(db, held, 'not settled within its lease', now);
  });

async function release(db: Db, held: ReservationRow, note: string | null, now: Date): Promise<void> {
  await recordMovement(db, { ...held, kind: 'release', note }, now);
  await closeReservation(db, held, { state: 'released' }, now);
}

const retentionMs = 90 * 24 * 60 * 60 * 1000;

/** Forgets reservations that ended long ago: the ledger has what came of them. Gives how many. */
export async function removeOldReservations(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - retentionMs);
  const { numAffectedRows } = await sql`/* service */ delete from credit_reservations where (workspace_id, id) in (
    select workspace_id, id from credit_reservations where state <> 'open' and closed_date < ${before} limit 1000)`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}

/** What the pool and the member's limit let an act take now. */
async function getCoverage(db: Db, { workspace_id, user_id, period_start }: ReservationRow): Promise<number> {
  await lockPool(db, workspace_id, period_start);
  const { available, member_remaining } = await getPoolBalance(db, workspace_id, user_id, period_start);
  return Math.max(0, Math.min(available ?? Number.POSITIVE_INFINITY, member_remaining ?? Number.POSITIVE_INFINITY));
}

// ---- reservations

type ReservationRow = Pick<
  Tables['credit_reservations'],
  'workspace_id' | 'id' | 'period_start' | 'user_id' | 'app_id' | 'operation' | 'reference_id' | 'amount' | 'state'
> & { readonly cost: number | null; readonly charged: number | null };

// These run while others wait for the pool, so they are prepared.
const insertReservation = prepared<never, unknown[]>(
  'credits_reserve',
  `insert into credit_reservations (workspace_id, id, period_start, user_id, app_id, operation, reference_id, amount,
    created_date, expires_at, state) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'open')`,
);
const selectForUpdate = prepared<ReservationRow, [workspaceId: string, id: string]>(
  'credits_lock_reservation',
  'select * from credit_reservations where workspace_id = $1 and id = $2 for update',
);
const updateClosed = prepared<never, unknown[]>(
  'credits_close',
  `update credit_reservations set state = $3, closed_date = $4, cost = coalesce($5, cost), charged = coalesce($6, charged)
    where workspace_id = $1 and id = $2`,
);

/** The reservation, locked: before the pool, by everybody who ends one. */
async function lockReservation(db: Db, { workspace_id, id }: Reservation): Promise<ReservationRow> {
  const [held] = await selectForUpdate(db, workspace_id, id);
  if (held === undefined) throw new Error('there is no such reservation');
  return held;
}

async function closeReservation(
  db: Db,
  { workspace_id, id }: Reservation,
  end: { state: 'settled' | 'released' | 'refunded'; cost?: number; charged?: number },
  now: Date,
): Promise<void> {
  await updateClosed(db, workspace_id, id, end.state, now, end.cost ?? null, end.charged ?? null);
}

// ---- what an operator gives

export interface Grant {
  readonly amount: number;
  readonly note: string;
  /** Who granted it. */
  readonly user_id: string | null;
}

/** Adds to this month's pool, or takes from it. */
export function grant(db: Db, workspace_id: string, given: Grant, now: Date): Promise<LedgerRow> {
  const period_start = startOfMonth(now);
  return transaction(db, async (db) => {
    await lockCurrentPool(db, workspace_id, null, now);
    const about = { workspace_id, period_start, app_id: null, operation: 'grantCredits', reference_id: null };
    return recordMovement(db, { ...about, ...given, kind: 'grant' }, now);
  });
}

/** Takes back what was granted for this month and later: in an archive from elsewhere nobody here granted it. */
export async function withdrawGrants(db: Db, workspace_id: string, now: Date): Promise<void> {
  const pools = await db
    .selectFrom('credit_pools')
    .select(['period_start', 'granted'])
    .where('workspace_id', '=', workspace_id)
    .where('period_start', '>=', startOfMonth(now))
    .where('granted', '<>', 0)
    .execute();
  const about = { workspace_id, user_id: null, app_id: null, operation: 'import', reference_id: null };
  const note = 'granted elsewhere, not carried over';
  for (const { period_start, granted } of pools) {
    await recordMovement(db, { ...about, period_start, kind: 'grant', amount: -granted, note }, now);
  }
}

/** Writes a new limit of the workspace into the ledger at once; without this the next act would. */
export const syncPoolLimit = (db: Db, workspace_id: string, now: Date): Promise<unknown> =>
  transaction(db, (db) => lockCurrentPool(db, workspace_id, null, now));
