// Measures what an audit entry adds to a change, and whether sealing keeps up with 2,000 changes per second of one
// workspace.

import { audit as writeEntry } from '../server/src/core/audit/audit.ts';
import { issueProof } from '../server/src/core/auth/issue-proof.ts';
import type { AppAccess, WorkspaceAccess } from '../server/src/core/auth/proofs.ts';
import { insertApp } from '../server/src/core/identity/apps.ts';
import { insertUser, insertWorkspace } from '../server/src/core/identity/users.ts';
import { sealAll } from '../server/src/features/audit/seal.ts';
import { type Database, openDatabase, transaction } from '../server/src/kit/db/database.ts';
import { newId } from '../server/src/kit/ids.ts';
import type { Tables } from '../server/src/tables.ts';
import type { Bench } from './lib/bench.ts';
import { createDatabase } from './lib/services.ts';
import { median, quantile, rounded } from './lib/statistics.ts';

const bar = 0.7;
const clients = 16;
const sealedPerSecond = 2_000;

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
    await sealAll(database.db);
    const sealing = await keepUp(database, apps, quick ? 5 : 20, progress);
    return {
      figures: {
        ratio: rounded(median(ratios), 3),
        ratios: ratios.map((ratio) => rounded(ratio)),
        changes_per_second_without: rounded(median(rates.without), 0),
        changes_per_second_with: rounded(median(rates.with), 0),
        ...sealing,
      },
      judged: [
        { bar: `ratio >= ${bar}`, met: median(ratios) >= bar },
        {
          bar: `every entry sealed within 2 s at ${sealedPerSecond} changes/s of one workspace`,
          met: sealing.seal_lag_ms_max <= 2_000,
        },
      ],
      skipped: [],
    };
  } finally {
    await database.close();
    await fresh.drop();
  }
};

/** One workspace with an app per client, so that clients do not wait for each other's rows. */
async function seed({ db }: Database<Tables>): Promise<AppAccess[]> {
  const now = new Date();
  const user_id = await insertUser(db, { email: 'bench@example.com', full_name: 'Bench', email_verified: true }, now);
  const workspace_id = await insertWorkspace(db, { name: 'Bench', plan: 'enterprise', owner_id: user_id }, now);
  const caller = {
    kind: 'personal_token',
    credential_id: newId(),
    user_id,
    email: 'bench@example.com',
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
  const apps = await Promise.all(Array.from({ length: clients }, () => insertApp(db, access, made, now)));
  return apps.map((app) => issueProof<AppAccess>({ ...access, app, app_role: 'owner' }));
}

/** The change of a typical operation: one row updated, in a transaction of its own. */
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

/** Inserts entries at a steady pace while one sealer works, and measures how long each waited. */
async function keepUp(
  database: Database<Tables>,
  [app]: readonly AppAccess[],
  seconds: number,
  progress: (line: string) => void,
) {
  const perTick = sealedPerSecond / 20;
  let inserting = true;
  const sealing = (async () => {
    while (inserting || (await sealAll(database.db)) > 0) await sealAll(database.db);
  })();
  const startedAt = performance.now();
  let inserted = 0;
  for (let tick = 0; tick < seconds * 20; tick += 1) {
    const now = new Date();
    const entry = {
      type: 'app.updated' as const,
      target: { kind: 'app', id: app?.app.id ?? '' },
      before: null,
      after: { tick },
    };
    await Promise.all(
      Array.from({ length: perTick }, () => writeEntry(database.db, app as unknown as WorkspaceAccess, entry, now)),
    );
    inserted += perTick;
    if (tick % 10 === 0) lags.push(await oldestWaiting(database));
    const ahead = (tick + 1) * 50 - (performance.now() - startedAt);
    if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead));
  }
  const rate = inserted / ((performance.now() - startedAt) / 1000);
  inserting = false;
  await sealing;
  const { rows } = await database.pool.query('select count(*) as waiting from audit_pending');
  progress(
    `sealing: ${inserted} entries at ${rounded(rate, 0)}/s, oldest waiting at most ${rounded(Math.max(...lags), 0)} ms`,
  );
  return {
    sealed_entries: inserted,
    insert_rate_per_second: rounded(rate, 0),
    seal_lag_ms_p50: rounded(quantile(lags, 0.5), 0),
    seal_lag_ms_max: rounded(Math.max(...lags), 0),
    left_unsealed: rows[0].waiting,
  };
}

const lags: number[] = [];

async function oldestWaiting({ pool }: Database<Tables>): Promise<number> {
  const { rows } = await pool.query(
    "select coalesce(max(extract(epoch from now() - (entry->>'occurred_at')::timestamptz)), 0) * 1000 as ms from audit_pending",
  );
  return Number(rows[0].ms);
}
