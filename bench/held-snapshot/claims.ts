// Claims of a queue table: of an idle queue, beside rows that run in other workers, and beside a quarantined row.
import type pg from 'pg';
import { createQueueTable } from '../../harness/queue-table.ts';
import { createClaimer } from '../../server/src/kit/background/queues/claim.ts';
import { createCompleter } from '../../server/src/kit/background/queues/complete.ts';
import { type Queue, type QueueRow, retries } from '../../server/src/kit/background/queues/queue.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { type Opened, ownerOf, type Services } from './part.ts';

const table = 'bench_claims';
const perOwner = 4;
const owners = 50;
const added = 10;

const queue: Queue = {
  name: table,
  owner: 'owner_id',
  concurrency: 1_000,
  perOwner,
  globalLimits: { concurrencyKey: 'concurrency_key', perKey: 16 },
  timeoutMs: 15_000,
  retryMs: retries(1_000),
  run: async () => ({}),
};

export const openClaims = async (services: Services): Promise<Opened> => {
  await services.pool.query(createQueueTable(table, 'concurrency_key text not null'));
  return claimsBeside(services, []);
};

/** Two other workers run 5,000 rows of 1,250 owners that have nothing else to run. */
export async function openClaimsBesideRunning(services: Services): Promise<Opened> {
  await services.pool.query(createQueueTable(table, 'concurrency_key text not null'));
  const otherOwners = 1_250;
  for (const slot of [2, 3]) {
    const first = owners + 1 + (slot - 2) * (otherOwners / 2);
    const running = (perOwner * otherOwners) / 2;
    await insertRows(services.pool, running, (n) => first + Math.floor(n / perOwner));
    const { claim } = createClaimer(queue, { db: services.db, slot: { slot, epoch: 1 } });
    let claimed: readonly QueueRow[] = [];
    while (claimed.length < running) {
      const { rows } = await claim(128, { claimedRows: claimed, finishedRows: new Set() });
      claimed = [...claimed, ...rows];
    }
  }
  return claimsBeside(services, []);
}

/**
 * This process runs one quarantined row, so it can't claim the other one, which is the earliest row of an owner with
 * many completions.
 */
export async function openClaimsBesideQuarantined(services: Services): Promise<Opened> {
  await services.pool.query(createQueueTable(table, 'concurrency_key text not null'));
  const quarantined = (owner: number) =>
    services.pool.query(
      `insert into ${table} (id, owner_id, concurrency_key, due_at, crash_count)
       values ($1, $2, $2::uuid::text, now() - interval '1 day', 2)`,
      [newId(), ownerOf(owner)],
    );
  await quarantined(owners + 1);
  const { claim } = createClaimer(queue, { db: services.db, slot: { slot: 1, epoch: 1 } });
  const { rows } = await claim(1, { claimedRows: [], finishedRows: new Set() });
  if (rows.length !== 1) throw new Error('the quarantined row was not claimed');
  await quarantined(1);
  return claimsBeside(services, rows);
}

/** Adds rows that were completed before. */
export async function insertCompleted(pool: pg.Pool, count: number): Promise<void> {
  await pool.query(`alter table ${table} disable trigger user`);
  await pool.query(
    `insert into ${table} (id, owner_id, concurrency_key, claims)
     select first_id_at(now() - n * interval '50 ms'), owner, owner::text, 1 from generate_series(1, $1::integer) n,
       lateral (select ($2::uuid[])[1 + n % $3] as owner) owners`,
    [count, Array.from({ length: owners }, (_, n) => ownerOf(n + 1)), owners],
  );
  await pool.query(`alter table ${table} enable trigger user`);
}

function claimsBeside({ db, pool }: Services, runningHere: readonly QueueRow[]): Opened {
  const { claim } = createClaimer(queue, { db, slot: { slot: 1, epoch: 1 } });
  const complete = createCompleter(db, queue);
  let claimed: readonly QueueRow[] = [];
  let round = 0;
  return {
    added,
    add() {
      round += 1;
      return insertRows(pool, added, (n) => 1 + ((round * added + n) % owners));
    },
    async work() {
      claimed = (await claim(added, { claimedRows: runningHere, finishedRows: new Set() })).rows;
      return claimed.length;
    },
    finish: () => Promise.all(claimed.map((row) => complete(row, {}))),
    async complete(count) {
      await insertRows(pool, count, (n) => 1 + (n % owners));
      // Everything that is waiting except for the quarantined row, in the two steps of a worker.
      await pool.query(`update ${table} set claimed_slot = 4, claimed_epoch = 1, claims = claims + 1
        where claimed_slot is null and due_at is not null and crash_count = 0`);
      await pool.query(
        `update ${table} set claimed_slot = null, claimed_epoch = null, due_at = null where claimed_slot = 4`,
      );
    },
  };
}

async function insertRows(pool: pg.Pool, count: number, numberOf: (n: number) => number): Promise<void> {
  const ids = Array.from({ length: count }, newId);
  const ownersOfRows = ids.map((_, n) => ownerOf(numberOf(n)));
  await pool.query(
    `insert into ${table} (id, owner_id, concurrency_key, due_at)
     select id, owner, owner::text, clock_timestamp() from unnest($1::uuid[], $2::uuid[]) u(id, owner)`,
    [ids, ownersOfRows],
  );
}
