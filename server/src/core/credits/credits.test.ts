// Tests credits with concurrent requests, crashes and random sequences of movements. No credits may be overspent or
// lost, and the ledger must always sum to the balance (docs/api/credits.md).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { type Person, startWorld } from '../../../test/support/world.ts';
import { getPoolBalance, startOfMonth } from './pool.ts';
import {
  charge,
  grant,
  type Reservation,
  refund,
  releaseExpired,
  removeOldReservations,
  reserve,
  settle,
  syncPoolLimit,
} from './reservations.ts';

const world = await startWorld();
const db = world.app.database.db; // the app's own connection, which checks its statements
const owner = await world.person('owner@example.com');
const day = 24 * 60 * 60 * 1000;

const createWorkspaceWithLimit = async (monthly_limit: number | null): Promise<string> => {
  const id = await world.workspace(owner, 'business');
  await setWorkspaceLimit(id, monthly_limit);
  return id;
};
const setWorkspaceLimit = (id: string, monthly_limit: number | null) =>
  world.db.updateTable('workspaces').set({ monthly_limit }).where('id', '=', id).execute();
const setMemberLimit = (id: string, default_member_credit_limit: number | null) =>
  world.db.updateTable('workspaces').set({ default_member_credit_limit }).where('id', '=', id).execute();
const spend = (workspace_id: string, amount: number, person: Person | null = null) => ({
  workspace_id,
  user_id: person?.id ?? null,
  app_id: null,
  operation: 'test',
  reference_id: null,
  amount,
  leaseMs: 60_000,
});
const getBalance = (workspace: string, person: Person | null = null, now = new Date()) =>
  getPoolBalance(db, workspace, person?.id ?? null, startOfMonth(now));
const listLedger = (workspace_id: string) =>
  world.db.selectFrom('credit_ledger').where('workspace_id', '=', workspace_id).orderBy('id').selectAll().execute();
const listMovements = async (workspace: string) =>
  (await listLedger(workspace)).map(({ kind, amount }) => `${kind} ${amount}`);

/** Waits for all reservations. Returns the successful reservations and the error codes of the others. */
async function reserveAll(reserving: Promise<Reservation>[]) {
  const results = await Promise.allSettled(reserving);
  return {
    reserved: results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
    refused: results.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : [])),
  };
}

/** Checks that the ledger sums to the pool's balance, and that its last row has this `balance_after`. */
async function expectLedgerSum(workspace: string, period: Date, balance: number | null) {
  const { rows } = await sql<{ sum: string; balance: string }>`
    select sum(case when kind in ('use', 'reserve') then -amount else amount end) as sum,
      coalesce(p.monthly_limit, 0) + p.granted - p.used - p.reserved as balance
    from credit_pools p left join credit_ledger l using (workspace_id, period_start)
    where p.workspace_id = ${workspace} and p.period_start = ${period}
    group by p.workspace_id, p.period_start`.execute(world.db);
  expect(rows[0]?.sum).toBe(rows[0]?.balance);
  const last = (await listLedger(workspace)).filter((row) => row.period_start.getTime() === period.getTime()).at(-1);
  expect(last?.balance_after).toBe(balance);
}

describe('a fixed price', () => {
  it('is charged at once, by one movement', async () => {
    const workspace = await createWorkspaceWithLimit(10);
    await charge(db, spend(workspace, 0.05), new Date());
    expect(await getBalance(workspace)).toMatchObject({ used: 0.05, reserved: 0, remaining: 9.95 });
    expect(await listMovements(workspace)).toEqual(['reset 10', 'use 0.05']);
    await expectLedgerSum(workspace, startOfMonth(new Date()), 9.95);
  });

  it('is refused if the pool or the limit of the member does not cover it, also among fifty at once', async () => {
    const workspace = await createWorkspaceWithLimit(1);
    const charges = Array.from({ length: 50 }, () => charge(db, spend(workspace, 0.05), new Date()));
    const refused = (await Promise.allSettled(charges)).flatMap((one) =>
      one.status === 'rejected' ? [one.reason.code] : [],
    );
    expect(refused).toEqual(Array.from({ length: 30 }, () => 'credits_exhausted'));
    await setWorkspaceLimit(workspace, 100);
    await setMemberLimit(workspace, 0);
    const person = await world.member(workspace, 'editor', 'poor@example.com');
    await expect(charge(db, spend(workspace, 0.05, person), new Date())).rejects.toMatchObject({
      code: 'credit_limit_reached',
    });
    expect(await getBalance(workspace)).toMatchObject({ used: 1, reserved: 0 });
  });
});

describe('fifty reservations at once', () => {
  it('succeed thirty times if the pool covers thirty', async () => {
    const workspace = await createWorkspaceWithLimit(60.3);
    const now = new Date();
    const { reserved, refused } = await reserveAll(
      Array.from({ length: 50 }, () => reserve(db, spend(workspace, 2.01), now)),
    );
    expect(reserved).toHaveLength(30);
    expect(refused).toEqual(Array(20).fill('credits_exhausted'));
    expect(await getBalance(workspace)).toMatchObject({ reserved: 60.3, used: 0, remaining: 0 });
    await Promise.all(reserved.map((one) => settle(db, one, 2.01, now)));
    expect(await getBalance(workspace)).toMatchObject({ reserved: 0, used: 60.3, remaining: 0 });
    await expectLedgerSum(workspace, startOfMonth(now), 0);
  });

  it('by one member succeed ten times if their limit covers ten, and do not affect another member', async () => {
    const workspace = await createWorkspaceWithLimit(1000);
    const editor = await world.member(workspace, 'editor', 'limited@example.com');
    const other = await world.member(workspace, 'editor', 'other@example.com');
    await setMemberLimit(workspace, 10);
    const now = new Date();
    const { reserved, refused } = await reserveAll([
      ...Array.from({ length: 50 }, () => reserve(db, spend(workspace, 1, editor), now)),
      ...Array.from({ length: 5 }, () => reserve(db, spend(workspace, 2, other), now)),
    ]);
    expect(reserved).toHaveLength(15);
    expect(refused).toEqual(Array(40).fill('credit_limit_reached'));
    expect(await getBalance(workspace, editor)).toMatchObject({
      member_remaining: 0,
      credit_limit: 10,
      is_default_limit: true,
    });
  });

  it('are settled or refunded once, if both happen concurrently', async () => {
    const workspace = await createWorkspaceWithLimit(10);
    const now = new Date();
    const one = await reserve(db, spend(workspace, 5), now);
    await Promise.all(Array.from({ length: 20 }, () => settle(db, one, 3, now)));
    expect(await getBalance(workspace)).toMatchObject({ used: 3, reserved: 0 });
    await Promise.all(Array.from({ length: 20 }, () => refund(db, one, now)));
    expect(await listMovements(workspace)).toEqual(['reset 10', 'reserve 5', 'release 5', 'use 3', 'refund 3']);
    expect(await getBalance(workspace)).toMatchObject({ used: 0, reserved: 0, remaining: 10 });
  });
});

describe('a crash', () => {
  it('between reserve and settle releases the credits after the lease, not before', async () => {
    const workspace = await createWorkspaceWithLimit(10);
    const editor = await world.member(workspace, 'editor', 'killed@example.com');
    const script = fileURLToPath(new URL('../../../test/support/spender.ts', import.meta.url));
    const args = [script, world.config.DATABASE_URL, workspace, editor.id, '60000'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const release = world.app.background.jobs.find((job) => job.name === 'release expired reservations');
    expect(await release?.run(db, new Date())).toBe(0);
    expect(await getBalance(workspace, editor)).toMatchObject({ reserved: 7, remaining: 3 });
    await release?.run(db, new Date(Date.now() + 61_000));
    expect(await getBalance(workspace, editor)).toMatchObject({ reserved: 0, remaining: 10, member_used: 0 });
    expect((await listLedger(workspace)).at(-1)).toMatchObject({
      kind: 'release',
      amount: 7,
      user_id: editor.id,
      note: 'not settled within its lease',
    });
  });

  it('during reserve leaves no reservation and blocks nobody', async () => {
    const workspace = await createWorkspaceWithLimit(10);
    const now = new Date();
    await expect(
      db.transaction().execute(async (tx) => {
        await reserve(tx, spend(workspace, 7), now);
        await sql`select pg_terminate_backend(pg_backend_pid())`.execute(tx);
      }),
    ).rejects.toThrow();
    await reserve(db, spend(workspace, 10), now);
    expect(await getBalance(workspace)).toMatchObject({ reserved: 10, remaining: 0 });
  });
});

it('an error with one reservation is reported and does not stop the release of others', async () => {
  const [broken, sound] = [await createWorkspaceWithLimit(10), await createWorkspaceWithLimit(10)];
  const now = new Date();
  for (const workspace of [broken, sound]) await reserve(db, spend(workspace, 4), now);
  await world.db.updateTable('credit_pools').set({ reserved: 0 }).where('workspace_id', '=', broken).execute();
  await expect(releaseExpired(db, new Date(now.getTime() + 61_000))).rejects.toThrow(
    '1 reservations were not released',
  );
  expect(await getBalance(sound)).toMatchObject({ reserved: 0, remaining: 10 });
  await world.db.deleteFrom('workspaces').where('id', '=', broken).execute();
});

describe('the true cost', () => {
  it('above the reservation is charged as far as the pool covers it; the ledger row notes the rest', async () => {
    const workspace = await createWorkspaceWithLimit(10);
    const now = new Date();
    const [first, second] = [await reserve(db, spend(workspace, 2), now), await reserve(db, spend(workspace, 2), now)];
    expect(await settle(db, first, 5.5, now)).toEqual({ cost: 5.5, charged: 5.5 });
    expect(await settle(db, second, 6, now)).toEqual({ cost: 6, charged: 4.5 });
    expect(await settle(db, second, 1, now)).toEqual({ cost: 6, charged: 4.5 });
    expect((await listLedger(workspace)).at(-1)).toMatchObject({
      kind: 'use',
      amount: 4.5,
      balance_after: 0,
      note: 'the actual cost was 6; the rest was not covered',
    });
  });

  it("above the reservation is charged only within the member's limit", async () => {
    const workspace = await createWorkspaceWithLimit(null);
    const editor = await world.member(workspace, 'editor', 'above@example.com');
    await setMemberLimit(workspace, 3);
    const one = await reserve(db, spend(workspace, 1, editor), new Date());
    expect(await settle(db, one, 4, new Date())).toEqual({ cost: 4, charged: 3 });
  });

  it('is charged up to the reservation even if the limit was lowered in between', async () => {
    const workspace = await createWorkspaceWithLimit(10);
    const now = new Date();
    const one = await reserve(db, spend(workspace, 4), now);
    await setWorkspaceLimit(workspace, 1);
    await syncPoolLimit(db, workspace, now);
    expect(await settle(db, one, 6, now)).toEqual({ cost: 6, charged: 4 });
    expect(await getBalance(workspace)).toMatchObject({ remaining: -3 });
    await expectLedgerSum(workspace, startOfMonth(now), -3);
  });

  it('is charged after the lease too, as far as the pool covers it', async () => {
    const workspace = await createWorkspaceWithLimit(10);
    const now = new Date();
    const one = await reserve(db, spend(workspace, 4), now);
    await releaseExpired(db, new Date(now.getTime() + 61_000));
    await reserve(db, spend(workspace, 7), now);
    expect(await settle(db, one, 4, now)).toEqual({ cost: 4, charged: 3 });
  });

  it('may be 0 or have many decimals, but not be negative', async () => {
    const workspace = await createWorkspaceWithLimit(1);
    const now = new Date();
    const [first, second] = [
      await reserve(db, spend(workspace, 0.1), now),
      await reserve(db, spend(workspace, 0.9), now),
    ];
    await settle(db, first, 0, now);
    await settle(db, second, 0.1 + 0.2, now);
    expect(await listMovements(workspace)).toEqual([
      'reset 1',
      'reserve 0.1',
      'reserve 0.9',
      'release 0.1',
      'release 0.9',
      'use 0.3',
    ]);
    const third = await reserve(db, spend(workspace, 0.7), now);
    await expect(async () => settle(db, third, -1, now)).rejects.toThrow(RangeError);
    await expect(async () => settle(db, third, Number.NaN, now)).rejects.toThrow(RangeError);
  });
});

describe("a member's limit", () => {
  it('is their own or the default, which does not apply to owners, viewers and guests', async () => {
    const workspace = await createWorkspaceWithLimit(1000);
    await setMemberLimit(workspace, 5);
    const limits: Record<string, unknown> = {};
    for (const role of ['admin', 'editor', 'viewer', 'guest'] as const) {
      const person = await world.member(workspace, role, `${role}-limit@example.com`);
      limits[role] = await reserve(db, spend(workspace, 6, person), new Date()).then(
        () => 'spends',
        (error) => error.code,
      );
    }
    limits.owner = (await reserve(db, spend(workspace, 6, owner), new Date())) && 'spends';
    const own = await world.member(workspace, 'editor', 'own@example.com');
    await world.db
      .updateTable('memberships')
      .set({ credit_limit: 7 })
      .where('workspace_id', '=', workspace)
      .where('user_id', '=', own.id)
      .execute();
    limits.own = (await reserve(db, spend(workspace, 6, own), new Date())) && 'spends';
    expect(limits).toEqual({
      owner: 'spends',
      admin: 'credit_limit_reached',
      editor: 'credit_limit_reached',
      viewer: 'spends',
      guest: 'spends',
      own: 'spends',
    });
    await expect(reserve(db, spend(workspace, 1.0001, own), new Date())).rejects.toMatchObject({ status: 402 });
  });
});

describe('a new month', () => {
  const january = new Date('2031-01-31T23:59:59Z');
  const february = new Date('2031-02-01T00:00:01Z');

  it('starts with the full limit and no grants; earlier reservations stay in their month', async () => {
    const workspace = await createWorkspaceWithLimit(10);
    const editor = await world.member(workspace, 'editor', 'month@example.com');
    await grant(db, workspace, { amount: 5, note: 'once', user_id: null }, january);
    const one = await reserve(db, spend(workspace, 12, editor), january);
    expect(await getBalance(workspace, editor, february)).toMatchObject({ remaining: 10, granted: 0, reserved: 0 });
    await reserve(db, spend(workspace, 10, editor), february);
    await settle(db, one, 11, february);
    expect(await getBalance(workspace, editor, january)).toMatchObject({ used: 11, member_used: 11, remaining: 4 });
    expect(await getBalance(workspace, editor, february)).toMatchObject({ used: 0, member_used: 0, reserved: 10 });
    await expectLedgerSum(workspace, startOfMonth(january), 4);
    await expectLedgerSum(workspace, startOfMonth(february), 0);
    expect(await listMovements(workspace)).toEqual([
      'reset 10',
      'grant 5',
      'reserve 12',
      'reset 10',
      'reserve 10',
      'release 12',
      'use 11',
    ]);
  });

  it('keeps no reservations that were closed 90 days ago', async () => {
    const workspace = await createWorkspaceWithLimit(10);
    const now = new Date();
    await settle(db, await reserve(db, spend(workspace, 1), now), 1, now);
    const open = await reserve(db, spend(workspace, 1), now);
    while ((await removeOldReservations(db, new Date(now.getTime() + 91 * day))) > 0);
    const left = world.db.selectFrom('credit_reservations').where('workspace_id', '=', workspace).select('id');
    expect(await left.execute()).toEqual([{ id: open.id }]);
  });
});

describe('the ledger', () => {
  it('cannot be changed, and is removed with its workspace', async () => {
    const workspace = await createWorkspaceWithLimit(10);
    await reserve(db, spend(workspace, 1), new Date());
    const rows = world.db.updateTable('credit_ledger').set({ amount: 0 }).where('workspace_id', '=', workspace);
    await expect(rows.execute()).rejects.toThrow('cannot be changed');
    const removal = world.db.deleteFrom('credit_ledger').where('workspace_id', '=', workspace);
    await expect(removal.execute()).rejects.toThrow('cannot be changed');
    await expect(sql`truncate credit_ledger`.execute(world.db)).rejects.toThrow('cannot be changed');
    await world.db.deleteFrom('workspaces').where('id', '=', workspace).execute();
    expect(await listLedger(workspace)).toEqual([]);
  });
});

// ---- random sequences, compared with a model

const unit = 10_000; // the model counts in ten-thousandths
const amount = fc.integer({ min: 1, max: 8 * unit }).map((n) => n / unit);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('reserve' as const), amount, byMember: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat(9), amount }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refund' as const), which: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('expire' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('grant' as const), amount, back: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('limit' as const), amount: fc.option(amount) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('memberLimit' as const), amount: fc.option(amount) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('month' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface ModelPool {
  limit: number | null;
  granted: number;
  used: number;
  reserved: number;
  mine: number;
  myReserved: number;
}
interface ModelReservation {
  key: Reservation;
  month: number;
  amount: number;
  byMember: boolean;
  state: 'open' | 'settled' | 'released' | 'refunded';
  charged: number;
}

const inUnits = (credits: number) => Math.round(credits * unit);
const left = (pool: ModelPool) => (pool.limit ?? Number.POSITIVE_INFINITY) + pool.granted - pool.used - pool.reserved;

/** The credit rules, implemented with plain integers. */
class Model {
  limit: number | null = 20 * unit;
  memberLimit: number | null = null;
  month = 0;
  readonly pools = new Map<number, ModelPool>();
  readonly reservations: ModelReservation[] = [];

  pool(month = this.month): ModelPool {
    const empty = { limit: this.limit, granted: 0, used: 0, reserved: 0, mine: 0, myReserved: 0 };
    const pool = this.pools.get(month) ?? empty;
    if (month === this.month) pool.limit = this.limit;
    this.pools.set(month, pool);
    return pool;
  }
  memberLeft = (pool: ModelPool) => (this.memberLimit ?? Number.POSITIVE_INFINITY) - pool.mine - pool.myReserved;

  refusal(amount: number, byMember: boolean): string | undefined {
    if (left(this.pool()) < amount) return 'credits_exhausted';
    return byMember && this.memberLeft(this.pool()) < amount ? 'credit_limit_reached' : undefined;
  }
  move(reservation: { month: number; byMember: boolean }, used: number, reserved: number) {
    const pool = this.pool(reservation.month);
    pool.used += used;
    pool.reserved += reserved;
    if (reservation.byMember) {
      pool.mine += used;
      pool.myReserved += reserved;
    }
  }
  settle(reservation: ModelReservation, cost: number): number {
    if (reservation.state === 'settled' || reservation.state === 'refunded') return reservation.charged;
    const own = reservation.state === 'open' ? reservation.amount : 0;
    this.move(reservation, 0, -own);
    const pool = this.pool(reservation.month);
    const cover = Math.min(left(pool), reservation.byMember ? this.memberLeft(pool) : Number.POSITIVE_INFINITY);
    reservation.charged = Math.min(cost, Math.max(own, cover, 0));
    reservation.state = 'settled';
    this.move(reservation, reservation.charged, 0);
    return reservation.charged;
  }
  release(reservation: ModelReservation) {
    if (reservation.state === 'open') {
      this.move(reservation, 0, -reservation.amount);
      reservation.state = 'released';
    } else if (reservation.state === 'settled') {
      this.move(reservation, -reservation.charged, 0);
      reservation.state = 'refunded';
    }
  }
}

const member = await world.person('model@example.com');
const started = new Date('2031-03-10T00:00:00Z');

async function runStep(model: Model, workspace: string, next: Step): Promise<void> {
  const now = new Date(Date.UTC(2031, 2 + model.month, 10));
  const chosen = 'which' in next ? model.reservations[next.which % Math.max(1, model.reservations.length)] : undefined;
  switch (next.do) {
    case 'reserve': {
      const { byMember } = next;
      const refusal = model.refusal(inUnits(next.amount), byMember);
      const trying = reserve(db, spend(workspace, next.amount, byMember ? member : null), now);
      if (refusal !== undefined) return void (await expect(trying).rejects.toMatchObject({ code: refusal }));
      const made = { key: await trying, month: model.month, amount: inUnits(next.amount), byMember };
      model.reservations.push({ ...made, state: 'open', charged: 0 });
      return model.move(made, 0, made.amount);
    }
    case 'settle':
      if (chosen === undefined) return;
      expect(inUnits((await settle(db, chosen.key, next.amount, now)).charged)).toBe(
        model.settle(chosen, inUnits(next.amount)),
      );
      return;
    case 'refund':
      if (chosen === undefined) return;
      await refund(db, chosen.key, now);
      return model.release(chosen);
    case 'expire':
      await releaseExpired(db, new Date(now.getTime() + day));
      for (const one of model.reservations) if (one.state === 'open') model.release(one);
      return;
    case 'grant': {
      const amount = next.back ? -next.amount : next.amount;
      model.pool().granted += inUnits(amount);
      return void (await grant(db, workspace, { amount, note: 'x', user_id: null }, now));
    }
    case 'limit':
      model.limit = next.amount === null ? null : inUnits(next.amount);
      model.pool();
      await setWorkspaceLimit(workspace, next.amount);
      return void (await syncPoolLimit(db, workspace, now));
    case 'memberLimit':
      model.memberLimit = next.amount === null ? null : inUnits(next.amount);
      return void (await setMemberLimit(workspace, next.amount));
    case 'month':
      model.month += 1;
      model.pool();
      return void (await syncPoolLimit(db, workspace, new Date(Date.UTC(2031, 2 + model.month, 10))));
  }
}

it("after any sequence the ledger sums to the balance, and the balance equals the model's", async () => {
  const sequence = async (steps: Step[]) => {
    const workspace = await createWorkspaceWithLimit(20);
    const editor = { workspace_id: workspace, user_id: member.id, role: 'editor' as const };
    await world.db
      .insertInto('memberships')
      .values({ ...editor, created_date: started, updated_date: started })
      .execute();
    const model = new Model();
    for (const next of steps) await runStep(model, workspace, next);
    for (const [month, pool] of model.pools) {
      const period = new Date(Date.UTC(2031, 2 + month, 1));
      const got = await getBalance(workspace, member, period);
      const expected = [pool.used, pool.reserved, pool.granted, pool.mine];
      expect([got.used, got.reserved, got.granted, got.member_used].map(inUnits)).toEqual(expected);
      const balance = pool.limit === null ? null : left(pool) / unit;
      const { rows } = await sql`select 1 from credit_pools
        where workspace_id = ${workspace} and period_start = ${period}`.execute(world.db);
      if (rows.length > 0) await expectLedgerSum(workspace, period, balance);
    }
    const check = world.app.background.jobs.find((job) => job.name === 'reconcile credit pools');
    while (((await check?.run(db, new Date(Date.now() + day))) ?? 0) > 0);
    expect(world.logLines.filter((line) => line.includes('does not match'))).toEqual([]);
  };
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), sequence), { numRuns: 40 });
});
