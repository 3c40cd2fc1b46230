// Measures reserving and settling credits, in one busy workspace and spread over many, compared with a bare transaction
// of two statements (update a balance, insert a row).

import type { Bench } from '../harness/bench.ts';
import { createDatabase } from '../harness/services.ts';
import { median, rounded } from '../harness/statistics.ts';
import { reserve, settle } from '../server/src/core/credits/reservations.ts';
import { insertUser, insertWorkspace } from '../server/src/core/identity/users.ts';
import { type Database, openDatabase, transaction } from '../server/src/kit/db/database.ts';
import { newId } from '../server/src/kit/ids.ts';
import type { Db, Tables } from '../server/src/tables.ts';

const clients = 16;
const bar = 0.15; // reserving and settling take two such transactions, plus limits, members and leases

interface Payer {
  readonly workspace_id: string;
  readonly user_id: string;
}
type Act = (db: Db, payer: Payer) => Promise<unknown>;

export const credits: Bench = async ({ quick, progress }) => {
  const fresh = await createDatabase('credits');
  const database = openDatabase<Tables>({ url: fresh.url, poolSize: clients });
  try {
    const payers = await seed(database);
    const [one] = payers;
    const same = payers.map(() => one as Payer);
    const seconds = quick ? 1.5 : 6;
    await rate(database, same, spend, 1);
    const rates = { bare: [] as number[], one: [] as number[], many: [] as number[] };
    for (let block = 1; block <= 5; block += 1) {
      rates.bare.push(await rate(database, same, bare, seconds));
      rates.one.push(await rate(database, same, spend, seconds));
      rates.many.push(await rate(database, payers, spend, seconds));
      const figures = Object.entries(rates).map(([name, all]) => `${name} ${rounded(all.at(-1) ?? 0, 0)}/s`);
      progress(`block ${block} of 5: ${figures.join(', ')}`);
    }
    const ratio = median(rates.one.map((acts, index) => acts / (rates.bare[index] ?? 1)));
    const wrong = await wrongSums(database);
    return {
      figures: {
        acts_per_second_one_workspace: rounded(median(rates.one), 0),
        acts_per_second_many_workspaces: rounded(median(rates.many), 0),
        bare_per_second_one_workspace: rounded(median(rates.bare), 0),
        ratio: rounded(ratio, 3),
      },
      judged: [
        { bar: `ratio >= ${bar}`, met: ratio >= bar },
        { bar: 'every pool is what its ledger adds up to', met: wrong === 0 },
      ],
      skipped: [],
    };
  } finally {
    await database.close();
    await fresh.drop();
  }
};

/** Creates one workspace per client, with a limit that is checked but never reached. */
async function seed({ db }: Database<Tables>): Promise<Payer[]> {
  const now = new Date();
  const user_id = await insertUser(db, { email: 'bench@example.com', full_name: 'Bench', email_verified: true }, now);
  const payers: Payer[] = [];
  for (let client = 0; client < clients; client += 1) {
    const workspace_id = await insertWorkspace(db, { name: 'Bench', plan: 'business', owner_id: user_id }, now);
    await db.updateTable('workspaces').set({ monthly_limit: 1e9 }).where('id', '=', workspace_id).execute();
    payers.push({ workspace_id, user_id });
  }
  await db.schema
    .createTable('bare_pools')
    .addColumn('workspace_id', 'uuid', (column) => column.primaryKey())
    .addColumn('used', 'numeric', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('bare_ledger')
    .addColumn('id', 'uuid', (column) => column.primaryKey())
    .addColumn('amount', 'numeric')
    .execute();
  const pools = payers.map(({ workspace_id }) => ({ workspace_id, used: 0 }));
  await bareTables(db).insertInto('bare_pools').values(pools).execute();
  return payers;
}

type BareTables = {
  bare_pools: { workspace_id: string; used: number };
  bare_ledger: { id: string; amount: number };
};
const bareTables = (db: Db) => db.withTables<BareTables>();

const spend: Act = async (db, payer) => {
  const act = { ...payer, app_id: null, operation: 'bench', reference_id: null, amount: 2, leaseMs: 60_000 };
  await settle(db, await reserve(db, act, new Date()), 1.25, new Date());
};

const bare: Act = (db, { workspace_id }) =>
  transaction(db, async (db) => {
    const pool = bareTables(db).updateTable('bare_pools').where('workspace_id', '=', workspace_id);
    await pool.set((is) => ({ used: is('used', '+', 1.25) })).execute();
    await bareTables(db).insertInto('bare_ledger').values({ id: newId(), amount: 1.25 }).execute();
  });

async function rate({ db }: Database<Tables>, payers: readonly Payer[], act: Act, seconds: number): Promise<number> {
  const startedAt = performance.now();
  let done = 0;
  await Promise.all(
    payers.map(async (payer) => {
      while (performance.now() - startedAt < seconds * 1000) {
        await act(db, payer);
        done += 1;
      }
    }),
  );
  return done / ((performance.now() - startedAt) / 1000);
}

async function wrongSums({ pool }: Database<Tables>): Promise<number> {
  const { rows } = await pool.query(`select count(*) as wrong from credit_pools p
    where monthly_limit + granted - used - reserved <> (
      select sum(case when kind in ('use', 'reserve') then -amount else amount end) from credit_ledger l
      where l.workspace_id = p.workspace_id and l.period_start = p.period_start)`);
  return rows[0].wrong;
}
