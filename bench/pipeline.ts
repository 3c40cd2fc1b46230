// Measures what the guards cost: an authenticated, rate-limited, access-checked read of one app against the same read in a
// bare program. A bare program that pipelines its statements, as Plinth does, is measured beside it and not judged.
import { fileURLToPath } from 'node:url';
import { newKeys } from '../server/src/commands/keys.ts';
import { readConfig } from '../server/src/config.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Tables } from '../server/src/tables.ts';
import type { Bench } from './lib/bench.ts';
import { createBenchApp, createBenchUser, createBenchWorkspace } from './lib/fixtures.ts';
import { runWrk } from './lib/load.ts';
import { createDatabase, type Running, startProgram } from './lib/services.ts';
import { median, rounded } from './lib/statistics.ts';

const bar = 0.65;
const blocks = 9;

export const pipeline: Bench = async ({ quick, progress }) => {
  const database = await createDatabase('pipeline');
  const environment = environmentFor(database.url);
  const { appId, token } = await seed(environment);
  const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const [bare, plinth, pipelined] = await Promise.all([
    startProgram(file('./pipeline/bare.ts'), environment),
    startProgram(file('./lib/api-server.ts'), environment),
    startProgram(file('./pipeline/bare.ts'), { ...environment, BENCH_PIPELINED: '1' }),
  ]);
  const servers = { bare, plinth, pipelined };
  try {
    const headers = { authorization: `Bearer ${token}` };
    const request = ({ port }: Running, seconds: number) =>
      runWrk(`http://127.0.0.1:${port}/api/apps/${appId}`, headers, seconds);
    // Long enough for the JIT compiler: the first seconds of a process are slower.
    for (const server of Object.values(servers)) await request(server, quick ? 2 : 12);
    const rates: { bare: number; plinth: number; pipelined: number }[] = [];
    let failed = 0;
    const measure = async (server: Running) => {
      const result = await request(server, quick ? 1 : 8);
      failed += result.failed;
      return result.perSecond;
    };
    for (let block = 1; block <= blocks; block += 1) {
      const rate = {
        bare: await measure(servers.bare),
        plinth: await measure(servers.plinth),
        pipelined: await measure(servers.pipelined),
      };
      rates.push(rate);
      const described = Object.entries(rate).map(([name, value]) => `${name} ${rounded(value, 0)}/s`);
      progress(`block ${block} of ${blocks}: ${described.join(', ')}, ratio ${rounded(rate.plinth / rate.bare)}`);
    }
    const ratios = rates.map(({ plinth, bare }) => plinth / bare);
    return {
      figures: {
        ratio: rounded(median(ratios), 3),
        ratios: ratios.map((ratio) => rounded(ratio)),
        ratio_to_pipelined: rounded(median(rates.map(({ plinth, pipelined }) => plinth / pipelined)), 3),
        bare_per_second: rounded(median(rates.map(({ bare }) => bare)), 0),
        plinth_per_second: rounded(median(rates.map(({ plinth }) => plinth)), 0),
        pipelined_per_second: rounded(median(rates.map(({ pipelined }) => pipelined)), 0),
        failed,
      },
      judged: [
        { bar: `ratio >= ${bar}`, met: median(ratios) >= bar },
        { bar: 'no failed request', met: failed === 0 },
      ],
      skipped: [],
    };
  } finally {
    for (const server of Object.values(servers)) await server.stop();
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
