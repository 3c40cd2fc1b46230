// Measures how much an audit entry adds to the cost of a change, and whether sealing keeps up with 2,000 changes per
// second, in one workspace and in twenty, with and without a held snapshot.

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Bench } from '../harness/bench.ts';
import { createDatabase } from '../harness/services.ts';
import { median, quantile, rounded } from '../harness/statistics.ts';
import { audit as writeEntry } from '../server/src/core/audit/audit.ts';
import { issueProof } from '../server/src/core/auth/issue-proof.ts';
import type { AppAccess, WorkspaceAccess } from '../server/src/core/auth/proofs.ts';
import { insertApp } from '../server/src/core/identity/apps.ts';
import { insertUser, insertWorkspace } from '../server/src/core/identity/users.ts';
import { createSealer } from '../server/src/features/audit/seal.ts';
import { type Database, openDatabase, transaction } from '../server/src/kit/db/database.ts';
import { newId } from '../server/src/kit/ids.ts';
import type { Tables } from '../server/src/tables.ts';

const bar = 0.7;
const clients = 16;
const changesPerSecond = 2_000;
const maxSealLagMs = 2_000;

export const audit: Bench = async ({ quick, progress }) => {
  const fresh = await createDatabase('audit');
  const database = openDatabase<Tables>({ url: fresh.url, poolSize: clients });
  try {
    const apps = await seed(database);
    const ratios: number[] = [];
    const rates = { without: [] as number[], with: [] as number[] };
    const seconds = quick ? 1.5 : 6;
    await changes(database, apps, true, 1);
    for (let block = 1; block <= 9; block += 1) {
      const bare = await changes(database, apps, false, seconds);
      const audited = await changes(database, apps, true, seconds);
      rates.without.push(bare);
      rates.with.push(audited);
      ratios.push(audited / bare);
      progress(
        `block ${block} of 9: ${rounded(bare, 0)}/s without, ${rounded(audited, 0)}/s with, ratio ${rounded(audited / bare)}`,
      );
    }
    const phases = await measureSealing(fresh.url, database, apps.slice(0, 1), { quick, progress });
    return {
      figures: {
        ratio: rounded(median(ratios), 3),
        ratios: ratios.map((ratio) => rounded(ratio)),
        changes_per_second_without: rounded(median(rates.without), 0),
        changes_per_second_with: rounded(median(rates.with), 0),
        sealing: phases,
      },
      judged: [
        { bar: `ratio >= ${bar}`, met: median(ratios) >= bar },
        ...phases.map(({ workspaces, is_snapshot_held, seal_lag_ms_max, left_unsealed }) => ({
          bar: `every entry sealed within 2 s at ${changesPerSecond / workspaces} changes/s of each of ${workspaces} workspaces${is_snapshot_held ? ' under a held snapshot' : ''}`,
          met: seal_lag_ms_max <= maxSealLagMs && left_unsealed === 0,
        })),
      ],
      skipped: [],
    };
  } finally {
    await database.close();
    await fresh.drop();
  }
};

/** Creates a workspace with one app per client, so clients do not wait for each other's rows. */
const seed = (database: Database<Tables>): Promise<AppAccess[]> =>
  seedWorkspace(database, 'bench@example.com', clients);

/** Creates workspaces with one app each. */
const seedWorkspaces = async (database: Database<Tables>, count: number): Promise<AppAccess[]> => {
  const emails = Array.from({ length: count }, (_, n) => `bench-${n}@example.com`);
  return (await Promise.all(emails.map((email) => seedWorkspace(database, email, 1)))).flat();
};

async function seedWorkspace({ db }: Database<Tables>, email: string, appCount: number): Promise<AppAccess[]> {
  const now = new Date();
  const user_id = await insertUser(db, { email, full_name: 'Bench', email_verified: true }, now);
  const workspace_id = await insertWorkspace(db, { name: 'Bench', plan: 'enterprise', owner_id: user_id }, now);
  const caller = {
    kind: 'personal_token',
    credential_id: newId(),
    user_id,
    email,
    request_id: newId(),
    ip: '127.0.0.1',
  };
  const access = issueProof<WorkspaceAccess>({
    caller: caller as WorkspaceAccess['caller'],
    workspace_id,
    plan: 'enterprise',
    role: 'owner',
  });
  const made = {
    name: 'App',
    app_type: 'user_app',
    user_description: '',
    visibility: 'workspace',
    public_settings: 'public_with_login',
  } as const;
  const apps = await Promise.all(Array.from({ length: appCount }, () => insertApp(db, access, made, now)));
  return apps.map((app) => issueProof<AppAccess>({ ...access, app, app_role: 'owner' }));
}

/** Makes a typical operation's change: updates one row in its own transaction. */
function change(database: Database<Tables>, { app, ...access }: AppAccess, audited: boolean): Promise<void> {
  const now = new Date();
  return transaction(database.db, async (db) => {
    const update = db.updateTable('apps').set({ user_description: now.toISOString(), updated_date: now });
    await update.where('workspace_id', '=', app.workspace_id).where('id', '=', app.id).execute();
    if (!audited) return;
    const entry = {
      type: 'app.updated' as const,
      target: { kind: 'app', id: app.id },
      app_id: app.id,
      before: { user_description: '' },
      after: { user_description: now.toISOString() },
    };
    await writeEntry(db, access as unknown as WorkspaceAccess, entry, now);
  });
}

async function changes(
  database: Database<Tables>,
  apps: readonly AppAccess[],
  audited: boolean,
  seconds: number,
): Promise<number> {
  const endsAt = performance.now() + seconds * 1000;
  let done = 0;
  await Promise.all(
    apps.map(async (app) => {
      while (performance.now() < endsAt) {
        await change(database, app, audited);
        done += 1;
      }
    }),
  );
  return done / seconds;
}

/** Measures one workspace and twenty, and then both again under a snapshot that is older than many sealed entries. */
async function measureSealing(
  url: string,
  database: Database<Tables>,
  one: readonly AppAccess[],
  { quick, progress }: { quick: boolean; progress: (line: string) => void },
) {
  const twenty = await seedWorkspaces(database, 20);
  const phases: Awaited<ReturnType<typeof keepUp>>[] = [];
  const measure = async (isHeld: boolean) => {
    for (const apps of [one, twenty]) {
      const phase = await keepUp(database, apps, quick ? 5 : 20, isHeld);
      progress(
        `sealing of ${apps.length} workspaces${isHeld ? ' under a held snapshot' : ''}: ${phase.sealed_entries} entries at ${phase.insert_rate_per_second}/s, sealed after ${phase.seal_lag_ms_p50} ms (p50), ${phase.seal_lag_ms_max} ms at most`,
      );
      phases.push(phase);
    }
  };
  await measure(false);
  const snapshot = new pg.Client(url);
  await snapshot.connect();
  await snapshot.query('begin isolation level repeatable read read only; select count(*) from pg_class');
  for (let sealed = 0; sealed < (quick ? 20_000 : 100_000); sealed += 1_000) {
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => writeOne(database, twenty[n % 20] as AppAccess, sealed)));
    await sealAll(database);
  }
  await measure(true);
  await snapshot.end();
  return phases;
}

async function sealAll({ db }: Database<Tables>): Promise<void> {
  const sealer = createSealer();
  while ((await sealer.seal(db)) > 0);
}

function writeOne({ db }: Database<Tables>, access: AppAccess, number: number): Promise<void> {
  const target = { kind: 'app', id: access.app.id };
  const entry = { type: 'app.updated' as const, target, before: null, after: { number } };
  return writeEntry(db, access as unknown as WorkspaceAccess, entry, new Date());
}

/**
 * Inserts entries at a steady rate, in turn for each app, while one sealer runs, and measures for each entry how long it
 * waited. Everything that was written before is sealed first, so only this phase's entries count.
 */
async function keepUp(database: Database<Tables>, apps: readonly AppAccess[], seconds: number, isHeld: boolean) {
  await sealAll(database);
  const firstEnds = await readChainEnds(database);
  const turns: Turn[] = [];
  let inserting = true;
  const sealing = (async () => {
    const sealer = createSealer();
    for (;;) {
      const isLast = !inserting;
      const sealed = await sealer.seal(database.db);
      if (sealed > 0) turns.push({ endedAt: Date.now(), ends: await readChainEnds(database) });
      else if (isLast) return;
      // As in a worker: again soon if anything was sealed, and otherwise when polling finds something.
      await sleep(sealed > 0 ? 10 : 1_000);
    }
  })();
  const ticksPerSecond = 20;
  const perTick = changesPerSecond / ticksPerSecond;
  const startedAt = performance.now();
  let inserted = 0;
  for (let tick = 0; tick < seconds * ticksPerSecond; tick += 1) {
    await Promise.all(
      Array.from({ length: perTick }, (_, n) => writeOne(database, apps[n % apps.length] as AppAccess, tick)),
    );
    inserted += perTick;
    const ahead = (tick + 1) * (1_000 / ticksPerSecond) - (performance.now() - startedAt);
    if (ahead > 0) await sleep(ahead);
  }
  const rate = inserted / ((performance.now() - startedAt) / 1000);
  inserting = false;
  await sealing;
  const lags = await listLags(database, firstEnds, turns);
  return {
    workspaces: apps.length,
    is_snapshot_held: isHeld,
    sealed_entries: lags.length,
    insert_rate_per_second: rounded(rate, 0),
    seal_lag_ms_p50: rounded(quantile(lags, 0.5), 0),
    seal_lag_ms_max: rounded(quantile(lags, 1), 0),
    left_unsealed: inserted - lags.length,
  };
}

/** The last sequence of each chain that belongs to a workspace. */
type ChainEnds = ReadonlyMap<string, number>;

interface Turn {
  readonly endedAt: number;
  readonly ends: ChainEnds;
}

async function readChainEnds({ pool }: Database<Tables>): Promise<ChainEnds> {
  const { rows } = await pool.query<{ workspace_id: string; last_sequence: number }>(
    'select workspace_id, last_sequence from audit_chains where workspace_id is not null',
  );
  return new Map(rows.map(({ workspace_id, last_sequence }) => [workspace_id, last_sequence]));
}

/** Lists how long each entry of the phase waited: from its time until the end of the turn that sealed it. */
async function listLags({ pool }: Database<Tables>, firstEnds: ChainEnds, turns: readonly Turn[]): Promise<number[]> {
  const { rows } = await pool.query<{ workspace_id: string; sequence: number; at: number }>(
    `select workspace_id, sequence, extract(epoch from occurred_at)::float * 1000 as at from audit_entries
     where workspace_id is not null order by workspace_id, sequence`,
  );
  const lags: number[] = [];
  for (const [chain, entries] of Map.groupBy(rows, ({ workspace_id }) => workspace_id)) {
    let turn = 0;
    for (const { sequence, at } of entries) {
      if (sequence <= (firstEnds.get(chain) ?? 0)) continue;
      while ((turns[turn]?.ends.get(chain) ?? 0) < sequence) {
        turn += 1;
        if (turn >= turns.length) throw new Error(`entry ${sequence} was sealed in no turn`);
      }
      lags.push((turns[turn] as Turn).endedAt - at);
    }
  }
  return lags;
}
