// Measures the location search on the full catalogue: over HTTP, and the operation alone compared with a bare client
// that runs its SQL. Also judges the results for a list of queries with known answers.
import { createSecretKey, randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Bench } from '../harness/bench.ts';
import { createBenchApp, createBenchUser, createBenchWorkspace } from '../harness/fixtures.ts';
import { createDatabase, type Running, startApi } from '../harness/services.ts';
import { median, quantile, rounded } from '../harness/statistics.ts';
import { loadLocations } from '../server/src/commands/locations.ts';
import { fold } from '../server/src/features/ads/locations/fold.ts';
import { describeSearch, findGeoTargets } from '../server/src/features/ads/locations/search.ts';
import { listSearchValues, searchStatement } from '../server/src/features/ads/store/locations.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Tables } from '../server/src/tables.ts';
import { call } from '../server/test/support/client.ts';
import { hostileQueries } from './geo/hostile.ts';
import { type Judged, judgedQueries } from './geo/judged.ts';

const pepperText = `bench:${randomBytes(32).toString('base64')}`;
const pepper = { id: 'bench', key: createSecretKey(pepperText.slice(6), 'base64') };
const limit = 10;

interface Found {
  readonly name: string;
  readonly canonical_name: string;
  readonly country_code: string;
}

export const geo: Bench = async ({ quick, progress }) => {
  const database = await createDatabase('geo');
  const bare = new pg.Client({
    connectionString: database.url,
    options: '-c jit=off -c random_page_cost=1.1 -c max_parallel_workers_per_gather=0',
  });
  const own = openDatabase<Tables>({ url: database.url, poolSize: 1 });
  let served: Running | undefined;
  try {
    const startedAt = performance.now();
    const locations = await loadLocations(database.url);
    const loadSeconds = rounded((performance.now() - startedAt) / 1000, 1);
    progress(`loaded ${locations} locations in ${loadSeconds} s`);
    await bare.connect();
    const workspace = await createBenchWorkspace(
      own.db,
      { TOKEN_PEPPERS: [pepper], CELL_CODE: '00' },
      await createBenchUser(own.db),
    );
    const app = await createBenchApp(own.db, workspace, 'user_app');
    served = await startApi(environmentFor(database.url));
    const path = `http://127.0.0.1:${served.port}`;
    const request = async (query: string, country_code: string): Promise<Found[]> => {
      const parameters = new URLSearchParams({ query, country_code, limit: String(limit) });
      const address = `/api/apps/${app.id}/ads-platform/geo-targets/search?${parameters}`;
      const got = await call(path, 'GET', address, { as: workspace.token });
      if (got.status !== 200) throw new Error(`${query}: ${got.text}`);
      return got.body;
    };

    const missed: string[] = [];
    for (const judged of judgedQueries)
      if (!isHit(judged, await request(judged.query, judged.within ?? ''))) missed.push(judged.query);
    const hitRate = rounded(1 - missed.length / judgedQueries.length, 3);
    progress(`top 3: ${hitRate} of ${judgedQueries.length}; not: ${missed.join(', ')}`);

    const times = { request: [] as number[], operation: [] as number[], bare: [] as number[] };
    const rounds = quick ? 3 : 15;
    for (let round = 0; round <= rounds; round += 1)
      for (const { query, within = '' } of judgedQueries.filter(({ query }) => query !== '')) {
        const values = [...listSearchValues(describeSearch(query, within, limit))];
        const taken = {
          request: await time(() => request(query, within)),
          operation: await time(() => findGeoTargets(own.db, { query, country_code: within, limit })),
          bare: await time(() => bare.query({ name: 'search', text: searchStatement, values })),
        };
        // The first round is a warm-up.
        if (round > 0) for (const kind of ['request', 'operation', 'bare'] as const) times[kind].push(taken[kind]);
      }
    const hostile: number[] = [];
    for (const query of hostileQueries) {
      const tries: number[] = [];
      for (let n = 0; n < 5; n += 1) tries.push(await time(() => request(query, '')));
      hostile.push(median(tries));
    }

    const [p50, p95] = [median(times.request), quantile(times.request, 0.95)];
    const ratio = rounded(median(times.operation) / median(times.bare));
    progress(`p50 ${rounded(p50)} ms, p95 ${rounded(p95)} ms, operation ${ratio}x its SQL`);
    return {
      figures: {
        locations,
        load_s: loadSeconds,
        queries: judgedQueries.length,
        top_3: hitRate,
        missed,
        p50: rounded(p50),
        p95: rounded(p95),
        operation_p50: rounded(median(times.operation)),
        bare_p50: rounded(median(times.bare)),
        bare_p95: rounded(quantile(times.bare, 0.95)),
        ratio,
        request_ratio: rounded(p50 / median(times.bare)),
        slowest_hostile: rounded(Math.max(...hostile)),
      },
      judged: [
        { bar: 'the meant place is among the first 3 for >= 95 % of the queries', met: hitRate >= 0.95 },
        { bar: 'p50 of the operation <= 1.5x bare SQL', met: ratio <= 1.5 },
        { bar: 'the slowest hostile query <= 20x p50', met: Math.max(...hostile) <= 20 * p50 },
      ],
      skipped: [],
    };
  } finally {
    await served?.stop();
    await own.close();
    await bare.end();
    await database.drop();
  }
};

const isHit = ({ names, country, region = '' }: Judged, found: readonly Found[]): boolean =>
  found
    .slice(0, 3)
    .some(
      ({ name, canonical_name, country_code }) =>
        country_code === country &&
        names.some((meant) => fold(meant) === fold(name)) &&
        canonical_name.includes(region),
    );

async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const environmentFor = (url: string): Record<string, string> => ({
  DATABASE_URL: url,
  DATABASE_POOL_SIZE: '4',
  REDIS_PREFIX: `bench:${process.pid}:`,
  TOKEN_PEPPERS: pepperText,
  SIGNING_KEY: randomBytes(32).toString('base64'),
  MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  LOG_LEVEL: 'silent',
});
