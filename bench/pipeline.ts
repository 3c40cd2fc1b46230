// Measures what the guards cost: an authenticated, rate-limited, access-checked read of one app against the same read in a
// bare program.
import { fileURLToPath } from 'node:url';
import { newKeys } from '../server/src/commands/keys.ts';
import { readConfig } from '../server/src/config.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Tables } from '../server/src/tables.ts';
import type { Bench } from './lib/bench.ts';
import { createBenchApp, createBenchUser, createBenchWorkspace } from './lib/fixtures.ts';
import { runWrk } from './lib/load.ts';
import { createDatabase, startProgram } from './lib/services.ts';
import { median, rounded } from './lib/statistics.ts';

const bar = 0.4;

export const pipeline: Bench = async ({ quick, progress }) => {
  const database = await createDatabase('pipeline');
  const environment = environmentFor(database.url);
  const { appId, token } = await seed(environment);
  const bare = await startProgram(fileURLToPath(new URL('./pipeline/bare.ts', import.meta.url)), environment);
  const served = await startProgram(fileURLToPath(new URL('./lib/api-server.ts', import.meta.url)), environment);
  try {
    const blocks = 9;
    const seconds = quick ? 2 : 8;
    const headers = { authorization: `Bearer ${token}` };
    const at = (port: number) => `http://127.0.0.1:${port}/api/apps/${appId}`;
    // Long enough for the JIT compiler: the first seconds of a process are slower.
    for (const port of [bare.port, served.port]) await runWrk(at(port), headers, quick ? 5 : 12);
    const ratios: number[] = [];
    const rates = { bare: [] as number[], plinth: [] as number[] };
    let failed = 0;
    for (let block = 1; block <= blocks; block += 1) {
      const base = await runWrk(at(bare.port), headers, seconds);
      const guarded = await runWrk(at(served.port), headers, seconds);
      failed += base.failed + guarded.failed;
      rates.bare.push(base.perSecond);
      rates.plinth.push(guarded.perSecond);
      ratios.push(guarded.perSecond / base.perSecond);
      progress(
        `block ${block} of ${blocks}: ${rounded(base.perSecond, 0)} bare, ${rounded(guarded.perSecond, 0)} plinth, ratio ${rounded(guarded.perSecond / base.perSecond)}`,
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

async function seed(environment: Record<string, string>): Promise<{ appId: string; token: string }> {
  const config = readConfig(environment);
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  const workspace = await createBenchWorkspace(db, config, await createBenchUser(db));
  const app = await createBenchApp(db, workspace, 'user_app');
  await close();
  return { appId: app.id, token: workspace.token };
}

const environmentFor = (url: string): Record<string, string> => ({
  ...newKeys(),
  DATABASE_URL: url,
  DATABASE_POOL_SIZE: '16',
  REDIS_PREFIX: `bench:${process.pid}:`,
  LOG_LEVEL: 'silent',
});
