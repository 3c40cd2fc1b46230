// Measures how much an audit entry adds to the cost of a change, and whether sealing keeps up with 2,000 changes per
// second, in one workspace and in twenty.

import type { Bench } from '../harness/bench.ts';
import { createDatabase } from '../harness/services.ts';
import { median, quantile, rounded } from '../harness/statistics.ts';
import { audit as writeEntry } from '../server/src/core/audit/audit.ts';
import { issueProof } from '../server/src/core/auth/issue-proof.ts';
import type { AppAccess, WorkspaceAccess } from '../server/src/core/auth/proofs.ts';
import { insertApp } from '../server/src/core/identity/apps.ts';
import { insertUser, insertWorkspace } from '../server/src/core/identity/users.ts';
import { sealAll } from '../server/src/features/audit/seal.ts';
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
    const one = await keepUp(database, apps.slice(0, 1), quick ? 5 : 20, progress);
    const twenty = await keepUp(database, await seedWorkspaces(database, 20), quick ? 5 : 20, progress);
    return {
      figures: {
        ratio: rounded(median(ratios), 3),
        ratios: ratios.map((ratio) => rounded(ratio)),
        changes_per_second_without: rounded(median(rates.without), 0),
        changes_per_second_with: rounded(median(rates.with), 0),
        sealing_of_one_workspace: one,
        sealing_of_20_workspaces: twenty,
      },
      judged: [
        { bar: `ratio >= ${bar}`, met: median(ratios) >= bar },
        {
          bar: `every entry sealed within 2 s at ${changesPerSecond} changes/s of one workspace`,
          met: one.seal_lag_ms_max <= maxSealLagMs && one.left_unsealed === 0,
        },
        {
          bar: `every entry sealed within 2 s at ${changesPerSecond / 20} changes/s of each of 20 workspaces`,
          met: twenty.seal_lag_ms_max <= maxSealLagMs && twenty.left_unsealed === 0,
        },
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

/**
 * Inserts entries at a steady rate, in turn for each app, while one sealer runs, and samples how long the oldest
 * unsealed entry has waited. Everything that was written before is sealed first, so only this phase's entries count.
 */
async function keepUp(
  database: Database<Tables>,
  apps: readonly AppAccess[],
  seconds: number,
  progress: (line: string) => void,
) {
  while ((await sealAll(database.db)) > 0);
  const ticksPerSecond = 20;
  const perTick = changesPerSecond / ticksPerSecond;
  const lags: number[] = [];
  let inserting = true;
  const sealing = (async () => {
    while ((await sealAll(database.db)) > 0 || inserting);
  })();
  const startedAt = performance.now();
  let inserted = 0;
  for (let tick = 0; tick < seconds * ticksPerSecond; tick += 1) {
    const now = new Date();
    const writeOne = (access: AppAccess) => {
      const target = { kind: 'app', id: access.app.id };
      const entry = { type: 'app.updated' as const, target, before: null, after: { tick } };
      return writeEntry(database.db, access as unknown as WorkspaceAccess, entry, now);
    };
    await Promise.all(Array.from({ length: perTick }, (_, n) => writeOne(apps[n % apps.length] as AppAccess)));
    inserted += perTick;
    if (tick % 10 === 0) lags.push(await oldestWaiting(database));
    const ahead = (tick + 1) * (1_000 / ticksPerSecond) - (performance.now() - startedAt);
    if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead));
  }
  const rate = inserted / ((performance.now() - startedAt) / 1000);
  inserting = false;
  await sealing;
  const { rows } = await database.pool.query('select count(*)::int as waiting from audit_pending');
  progress(
    `sealing of ${apps.length} workspaces: ${inserted} entries at ${rounded(rate, 0)}/s, oldest waiting at most ${rounded(Math.max(...lags), 0)} ms`,
  );
  return {
    sealed_entries: inserted,
    insert_rate_per_second: rounded(rate, 0),
    seal_lag_ms_p50: rounded(quantile(lags, 0.5), 0),
    seal_lag_ms_max: rounded(Math.max(...lags), 0),
    left_unsealed: rows[0].waiting as number,
  };
}

async function oldestWaiting({ pool }: Database<Tables>): Promise<number> {
  const { rows } = await pool.query(
    "select coalesce(max(extract(epoch from now() - (entry->>'occurred_at')::timestamptz)), 0) * 1000 as ms from audit_pending",
  );
  return Number(rows[0].ms);
}
