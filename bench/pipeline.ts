// What the guards cost: an authenticated, rate-limited, access-checked read of one app, against the same read bare.
import { createSecretKey, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { insertApp } from '../server/src/access/apps.ts';
import { insertCredential, insertUser, insertWorkspace } from '../server/src/access/people.ts';
import { proven, type WorkspaceAccess } from '../server/src/access/proofs.ts';
import { openDatabase, transaction } from '../server/src/kit/db/database.ts';
import type { Tables } from '../server/src/tables.ts';
import type { Bench } from './lib/bench.ts';
import { median, rounded } from './lib/figures.ts';
import { load } from './lib/load.ts';
import { freshDatabase, start } from './lib/services.ts';

const bar = 0.4;
const pepperText = `bench:${randomBytes(32).toString('base64')}`;
const pepper = { id: 'bench', key: createSecretKey(pepperText.slice(6), 'base64') };

export const pipeline: Bench = async ({ quick, progress }) => {
  const database = await freshDatabase('pipeline');
  const environment = environmentFor(database.url);
  const { appId, token } = await seed(database.url);
  const bare = await start(fileURLToPath(new URL('./pipeline/bare.ts', import.meta.url)), environment);
  const served = await start(fileURLToPath(new URL('./pipeline/served.ts', import.meta.url)), environment);
  try {
    const blocks = 9;
    const seconds = quick ? 2 : 8;
    const headers = { authorization: `Bearer ${token}` };
    const at = (port: number) => `http://127.0.0.1:${port}/api/apps/${appId}`;
    // Long enough for both to be compiled: the first seconds of a process are not its speed.
    for (const port of [bare.port, served.port]) await load(at(port), headers, quick ? 5 : 12);
    const ratios: number[] = [];
    const rates = { bare: [] as number[], plinth: [] as number[] };
    let failed = 0;
    for (let block = 1; block <= blocks; block += 1) {
      const base = await load(at(bare.port), headers, seconds);
      const ours = await load(at(served.port), headers, seconds);
      failed += base.failed + ours.failed;
      rates.bare.push(base.perSecond);
      rates.plinth.push(ours.perSecond);
      ratios.push(ours.perSecond / base.perSecond);
      progress(
        `block ${block} of ${blocks}: ${rounded(base.perSecond, 0)} bare, ${rounded(ours.perSecond, 0)} plinth, ratio ${rounded(ours.perSecond / base.perSecond)}`,
      );
    }
    return {
      figures: {
        ratio: rounded(median(ratios), 3),
        ratios: ratios.map((ratio) => rounded(ratio)),
        bare_per_second: rounded(median(rates.bare), 0),
        plinth_per_second: rounded(median(rates.plinth), 0),
        failed,
      },
      judged: [
        { bar: `ratio >= ${bar}`, met: median(ratios) >= bar },
        { bar: 'no failed request', met: failed === 0 },
      ],
      skipped: [],
    };
  } finally {
    await bare.stop();
    await served.stop();
    await database.drop();
  }
};

async function seed(url: string): Promise<{ appId: string; token: string }> {
  const { db, close } = openDatabase<Tables>({ url, poolSize: 1 });
  const now = new Date();
  const seeded = await transaction(db, async (db) => {
    const user_id = await insertUser(db, { email: 'bench@example.com', full_name: 'Bench' }, now);
    const workspace_id = await insertWorkspace(db, { name: 'Bench', plan: 'enterprise', owner_id: user_id }, now);
    // The limit is counted on every request as in production; only its figure is out of the way.
    await db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace_id).execute();
    const access = proven<WorkspaceAccess>({
      caller: { user_id } as WorkspaceAccess['caller'],
      workspace_id,
      plan: 'enterprise',
      role: 'owner',
    });
    const app = await insertApp(
      db,
      access,
      {
        name: 'Bench',
        app_type: 'user_app',
        user_description: 'a read of one row',
        visibility: 'workspace',
        public_settings: 'public_with_login',
      },
      now,
    );
    const mint = { peppers: [pepper], cellCode: '00' };
    const { token } = await insertCredential(
      db,
      mint,
      { kind: 'personal_token', user_id, workspace_id, permission: 'full_access' },
      now,
    );
    return { appId: app.id, token };
  });
  await close();
  return seeded;
}

const environmentFor = (url: string): Record<string, string> => ({
  DATABASE_URL: url,
  DATABASE_POOL_SIZE: '16',
  REDIS_PREFIX: `bench:${process.pid}:`,
  TOKEN_PEPPERS: pepperText,
  SIGNING_KEY: randomBytes(32).toString('base64'),
  MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  LOG_LEVEL: 'silent',
});
