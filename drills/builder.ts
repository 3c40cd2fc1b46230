// Drill: people build apps by chat and publish them while API and worker processes are killed at random. There must be
// no incomplete revisions, lost messages or double charges, and the live version must always be complete. Judged by the
// people's and visitors' journals, by the model's own record of its calls, and by the API's final state.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, BenchOptions } from '../harness/bench.ts';
import { startInstallation } from '../harness/installation.ts';
import type { Processes } from '../harness/processes.ts';
import { type Random, randomFrom } from '../harness/random.ts';
import { type Environment, startEnvironment } from './builder/environment.ts';
import { judge } from './builder/judge.ts';
import { build, type Journal } from './builder/people.ts';
import { lookAround, type Sightings } from './builder/visitors.ts';

/** There are `apps` × `rounds` turns, and as many publishes. */
const sizes = {
  quick: { apps: 4, rounds: 5, leastKills: 2, withinMs: 8 * 60_000 },
  full: { apps: 8, rounds: 25, leastKills: 20, withinMs: 40 * 60_000 },
};

const killEveryMs = { least: 800, most: 2_800 };
const seed = Number(process.env.BENCH_SEED ?? 1717);

export const builder: Bench = async (options) => {
  const random = randomFrom(seed);
  const size = sizes[options.quick ? 'quick' : 'full'];
  await using installation = await startInstallation();
  return await drill(await startEnvironment(installation, size.apps, random), size, random, options);
};

async function drill(
  { processes, createClient, apps, modelCalls }: Environment,
  { rounds, leastKills, withinMs }: (typeof sizes)['full'],
  random: Random,
  { progress }: BenchOptions,
) {
  progress(`${apps.length} apps, ${apps.length * rounds} turns and publishes; seed ${seed}`);
  const startedAt = performance.now();
  const journal: Journal = { turns: [], publishes: [] };
  const sightings: Sightings = { files: [], listings: [] };
  const ended = new AbortController();
  const call = createClient();
  const { apis } = processes;
  const versionsOf = (app: { id: string }) => {
    const number = apps.findIndex(({ id }) => id === app.id);
    return Array.from({ length: rounds }, (_, round) => `${number}-${round + 1}`);
  };
  const looking = lookAround({ call, apis }, apps, versionsOf, sightings, ended.signal);
  const killing = killAtRandom(processes, random, ended.signal);
  const reporting = report(journal, progress, ended.signal);
  const people = { call: createClient(AbortSignal.timeout(withinMs)), apis };
  const building = Promise.all(apps.map((app, number) => build(people, app, number, rounds, journal)));
  const isInTime = await building.then(
    () => true,
    (error) => (error.name === 'TimeoutError' ? false : Promise.reject(error)),
  );
  ended.abort();
  const kills = await killing;
  await Promise.all([looking, reporting]);
  await processes.allReady();
  const evidence = { journal, sightings, modelCalls, rounds, kills, leastKills };
  const { judged, figures } = await judge(call, apps, evidence);
  return {
    figures: { seconds: Math.round((performance.now() - startedAt) / 1000), restarts: processes.restarts, ...figures },
    judged: [{ bar: 'everything was done in time', met: isInTime }, ...judged],
    skipped: [],
  };
}

/**
 * Kills API and worker processes with SIGKILL until the signal is aborted. Returns the number of kills. The last
 * process of a kind is rarely killed, so even a slow machine, where processes take long to start, makes progress
 * between kills.
 */
async function killAtRandom(processes: Processes, random: Random, signal: AbortSignal) {
  const kills = { api: 0, worker: 0 };
  const choose = (ready: number) => (ready === 1 && random() > 0.15 ? -1 : Math.floor(random() * ready));
  while (!signal.aborted) {
    const pauseMs = killEveryMs.least + random() * (killEveryMs.most - killEveryMs.least);
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
    const kind = random() < 0.5 ? 'api' : 'worker';
    if (!signal.aborted && processes.kill(kind, choose)) kills[kind] += 1;
  }
  return kills;
}

async function report({ turns, publishes }: Journal, progress: (line: string) => void, signal: AbortSignal) {
  while (!signal.aborted) {
    await sleep(10_000, undefined, { signal }).catch(() => {});
    progress(`${turns.length} turns, ${publishes.length} publishes`);
  }
}
