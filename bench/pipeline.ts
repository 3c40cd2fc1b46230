// Measures the cost of the guards: an authenticated, rate-limited, access-checked read of one app, compared with the
// same read in a bare program, with one caller and with 1,000 callers in 50 workspaces. A bare program that pipelines
// its statements, as Plinth does, is measured as well, but not judged.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bench } from '../harness/bench.ts';
import { preciseCpuMs, usedSince } from '../harness/cpu.ts';
import { createBenchApp, createBenchUser, createBenchWorkspace } from '../harness/fixtures.ts';
import { type BenchDatabase, createDatabase, type Running, startApi, startProgram } from '../harness/services.ts';
import { rounded } from '../harness/statistics.ts';
import { newKeys } from '../server/src/commands/keys.ts';
import { readConfig } from '../server/src/config.ts';
import { insertCredential } from '../server/src/core/identity/users.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Tables } from '../server/src/tables.ts';
import { compare, judgeComparisons, startRivals } from './lib/against.ts';
import { listFigures, ratioOf, runBlocks, summarizeBlocks } from './lib/blocks.ts';
import { runWrk, type WrkOptions } from './lib/load.ts';

const bars = { oneCaller: 0.75, manyCallers: 0.7 };
const blocks = 9;
const workspaces = 50;
const callersPerWorkspace = 20;
/** A process's first requests are slower, because its code is still being compiled. */
const warmUpRequests = 15_000;

interface Server extends Running {
  readonly database: BenchDatabase;
}

/** CPU times are per request. */
interface Block {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly nodeUs: number;
  readonly postgresUs: number;
}

export const pipeline: Bench = async ({ quick, against, progress }) => {
  const database = await createDatabase('pipeline');
  const environment = environmentFor(database.url);
  const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
  const seeded = await seed(environment, folder);
  const rivals = await startRivals(against, database, environment);
  const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const startBare = async (more = {}): Promise<Server> => ({
    ...(await startProgram(file('./pipeline/bare.ts'), { ...environment, ...more })),
    database,
  });
  const bare = await startBare();
  const plinth: Server = { ...(await startApi(environment)), database };
  const pipelined = quick ? undefined : await startBare({ BENCH_PIPELINED: '1' });
  const servers = { bare, plinth, ...rivals, ...(pipelined && { pipelined }) };
  let failed = 0;

  const send = async ({ port }: Server, path: string, options: WrkOptions) => {
    const result = await runWrk(`http://127.0.0.1:${port}${path}`, options);
    failed += result.failed;
    return result;
  };

  async function warmUp(server: Server): Promise<void> {
    for (let sent = 0; sent < warmUpRequests; )
      sent += (await send(server, seeded.path, { seconds: 1, headers: seeded.headers })).requests;
  }

  const measure = <Sides extends Readonly<Record<string, Server>>>(
    what: string,
    sides: Sides,
    path: string,
    options: WrkOptions,
  ) => {
    const measureBlock = async (server: Server): Promise<Block> => {
      const listPids = async () => [server.pid, ...(await server.database.backends())];
      const before = new Map((await listPids()).map((pid) => [pid, preciseCpuMs(pid)]));
      const { perSecond, p50Ms, requests } = await send(server, path, options);
      const usedUs = (pids: readonly number[]) => (usedSince(pids, before, preciseCpuMs) * 1_000) / requests;
      return { perSecond, p50Ms, nodeUs: usedUs([server.pid]), postgresUs: usedUs(await server.database.backends()) };
    };
    const describe = ({ perSecond }: Block) => `${rounded(perSecond, 0)}/s`;
    return runBlocks(sides, measureBlock, { what, count: blocks, describe, progress });
  };

  try {
    for (const server of Object.values(servers)) await warmUp(server);
    const seconds = quick ? 1 : 5;
    const one = await measure('one caller', servers, seeded.path, { seconds, headers: seeded.headers });
    const many = await measure('1,000 callers', { bare, plinth, ...rivals }, '', {
      seconds,
      script: file('./pipeline/tokens.lua'),
      environment: { BENCH_CALLERS: seeded.callersFile },
    });
    const ours = { plinth, ...rivals };
    const few = { seconds: 1, headers: seeded.headers };
    const isIdleMeasured = !quick || rivals !== undefined;
    const alone = isIdleMeasured && (await measure('one connection', ours, seeded.path, { ...few, connections: 1 }));
    const four = isIdleMeasured && (await measure('four connections', ours, seeded.path, { ...few, connections: 4 }));
    const comparisons = {
      ...compareBlocks('reads of one caller', one, 'perSecond'),
      ...compareBlocks('reads of 1,000 callers', many, 'perSecond'),
      ...(alone && compareBlocks('p50 with one connection', alone, 'p50Ms', true)),
      ...(four && compareBlocks('p50 with four connections', four, 'p50Ms', true)),
    };
    const ratios = {
      one: ratioOf(one.plinth, one.bare, 'perSecond'),
      many: ratioOf(many.plinth, many.bare, 'perSecond'),
    };
    return {
      figures: {
        ratio: rounded(ratios.one, 3),
        ratio_of_many_callers: rounded(ratios.many, 3),
        ...(one.pipelined && { ratio_to_pipelined: rounded(ratioOf(one.plinth, one.pipelined, 'perSecond'), 3) }),
        one_caller: summarizeBlocks(one, reported),
        many_callers: summarizeBlocks(many, reported),
        ...(alone && { one_connection: summarizeBlocks(alone, reported) }),
        ...(four && { four_connections: summarizeBlocks(four, reported) }),
        ...(rivals && { against: comparisons }),
        failed,
      },
      judged: [
        { bar: `one caller: ratio >= ${bars.oneCaller}`, met: ratios.one >= bars.oneCaller },
        { bar: `1,000 callers: ratio >= ${bars.manyCallers}`, met: ratios.many >= bars.manyCallers },
        { bar: 'no failed request', met: failed === 0 },
        ...judgeComparisons(comparisons),
      ],
      skipped: quick ? ['the bare program that pipelines; few connections, unless --against'] : [],
    };
  } finally {
    for (const server of Object.values(servers)) await server.stop();
    await database.drop();
    rmSync(folder, { recursive: true });
  }
};

type WithRivals = { readonly plinth: Block[]; readonly before?: Block[]; readonly before_again?: Block[] };

const compareBlocks = (
  what: string,
  { plinth, before, before_again }: WithRivals,
  field: keyof Block,
  isLess = false,
) =>
  before &&
  before_again && {
    [what]: compare(listFigures(plinth, field), listFigures(before, field), listFigures(before_again, field), isLess),
  };

const reported = {
  per_second: ['perSecond', 0],
  p50_ms: ['p50Ms', 3],
  node_us: ['nodeUs', 0],
  postgres_us: ['postgresUs', 0],
} as const;

/** Creates one app per workspace. Every caller reads the app in their own workspace. */
async function seed(environment: Record<string, string>, folder: string) {
  const config = readConfig(environment);
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  const user = await createBenchUser(db);
  const keys = { peppers: config.TOKEN_PEPPERS, cellCode: config.CELL_CODE };
  const callers: { readonly token: string; readonly appId: string }[] = [];
  for (let n = 0; n < workspaces; n += 1) {
    const workspace = await createBenchWorkspace(db, config, user);
    const { id: appId } = await createBenchApp(db, workspace, 'user_app');
    const { user_id, workspace_id } = workspace;
    const mine = { kind: 'personal_token', user_id, workspace_id, permission: 'full_access' } as const;
    callers.push({ token: workspace.token, appId });
    for (let more = 1; more < callersPerWorkspace; more += 1)
      callers.push({ token: (await insertCredential(db, keys, mine, new Date())).token, appId });
  }
  await close();
  const callersFile = join(folder, 'callers');
  writeFileSync(callersFile, callers.map(({ token, appId }) => `${token} ${appId}\n`).join(''));
  const [first] = callers as [(typeof callers)[number]];
  return {
    path: `/api/apps/${first.appId}`,
    headers: { authorization: `Bearer ${first.token}` },
    callersFile,
  };
}

const environmentFor = (url: string): Record<string, string> => ({
  ...newKeys(),
  DATABASE_URL: url,
  DATABASE_POOL_SIZE: '16',
  REDIS_PREFIX: `bench:${process.pid}:`,
  LOG_LEVEL: 'silent',
});
