// Drill: attacks on the client for outbound requests. Each must be blocked or contained in time, while canaries at
// private addresses receive nothing.

import type { Bench } from '../harness/bench.ts';
import { quantile, rounded } from '../harness/statistics.ts';
import { refusedUrls } from '../server/test/support/outbound-vectors.ts';
import { answerVectors } from './ssrf/answers.ts';
import { type Environment, fault, openEnvironment, type Vector } from './ssrf/environment.ts';
import { nameVectors, rebindings, zone } from './ssrf/names.ts';
import { requestVectors, surroundingVectors } from './ssrf/requests.ts';
import { trySpellings } from './ssrf/spellings.ts';

const leastVectors = 80;
const atOnce = 6;

export const ssrf: Bench = async ({ quick, progress }) => {
  const environment = await openEnvironment(zone);
  try {
    const urls = refusedUrls(environment.canary.port).map(urlVector);
    const rounds = quick ? 1 : 5;
    const results: Result[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      // Rebindings run only once, because their names change address only once.
      const alone = round === 1 ? [...rebindings, ...surroundingVectors] : surroundingVectors;
      results.push(
        ...(await runAll(environment, [...urls, ...nameVectors, ...answerVectors, ...requestVectors], atOnce)),
      );
      results.push(...(await runAll(environment, alone, 1)));
      progress(
        `round ${round} of ${rounds}: ${results.length} run, ${received(environment)} connections at the canaries`,
      );
    }
    const loose = results.filter((result) => result.fault !== undefined);
    for (const { name, fault } of loose) progress(`NOT CONTAINED ${name}: ${fault}`);
    const spelled = trySpellings(quick ? 50_000 : 2_000_000);
    for (const each of spelled.wrong.slice(0, 20)) progress(`WRONG ${each}`);
    const canaryConnections = received(environment);
    const controls = await control(environment);
    progress(`control: allowed requests arrived at ${controls} of ${environment.canaries.length} canaries`);
    const vectors = new Set(results.map((result) => result.name)).size;
    return {
      figures: {
        vectors,
        runs: results.length,
        not_contained: loose.map(({ name, fault }) => `${name}: ${fault}`),
        canary_connections: canaryConnections,
        spellings: spelled.tried,
        spellings_wrong: spelled.wrong.length,
        vector_ms_p50: rounded(
          quantile(
            results.map(({ ms }) => ms),
            0.5,
          ),
          1,
        ),
        vector_ms_max: rounded(Math.max(...results.map(({ ms }) => ms)), 0),
      },
      judged: [
        { bar: `at least ${leastVectors} vectors`, met: vectors >= leastVectors },
        { bar: 'every vector refused or contained, in time', met: loose.length === 0 },
        { bar: 'no connection at a canary', met: canaryConnections === 0 },
        { bar: 'no private address accepted, in any spelling', met: spelled.wrong.length === 0 },
        { bar: 'every canary notices a request that is allowed', met: controls === environment.canaries.length },
      ],
      skipped: environment.skipped,
    };
  } finally {
    await environment.close();
  }
};

const urlVector = ([url, ...reasons]: ReturnType<typeof refusedUrls>[number]): Vector => ({
  name: `url: ${JSON.stringify(url.slice(0, 80))}`,
  run: async (environment) =>
    fault(
      await environment.send(url),
      reasons.map((reason) => `refused:${reason}`),
    ),
});

interface Result {
  readonly name: string;
  readonly fault: string | undefined;
  readonly ms: number;
}

async function runAll(environment: Environment, vectors: readonly Vector[], concurrency: number): Promise<Result[]> {
  const waiting = [...vectors];
  const results: Result[] = [];
  const runNext = async () => {
    for (let vector = waiting.shift(); vector !== undefined; vector = waiting.shift()) {
      const startedAt = performance.now();
      const fault = await vector.run(environment).catch((error) => `threw ${error}`);
      results.push({ name: vector.name, fault, ms: performance.now() - startedAt });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runNext));
  return results;
}

const received = (environment: Environment): number =>
  environment.canaries.reduce((sum, canary) => sum + canary.connections, 0);

/**
 * Checks that each canary would notice a request, by connecting to each of them once with a client that is allowed to.
 */
async function control(environment: Environment): Promise<number> {
  const lenient = environment.client('http://127.0.0.0/8,::1/128');
  await environment.send(`https://127.0.0.1:${environment.canary.port}/`, {}, lenient);
  await environment.send(`http://127.0.0.1:${environment.plainCanary.port}/`, {}, lenient);
  await environment.send(`https://[::1]:${environment.canary.port}/`, {}, lenient);
  return environment.canaries.filter((canary) => canary.requests.length > 0).length;
}
