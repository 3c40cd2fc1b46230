// Drill: people build apps by chat and publish them, while API and worker processes are killed at random. No half revision, no
// lost message, no double charge, and the live version is always a whole one. Judged by journals of the people and of visitors,
// by the model's own record of its calls, and by what the API says at the end.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, BenchOptions } from '../bench/lib/bench.ts';
import { type Environment, startEnvironment } from './builder/environment.ts';
import { judge } from './builder/judge.ts';
import { build, type Journal } from './builder/people.ts';
import { lookAround, type Sightings } from './builder/visitors.ts';
import type { Processes } from './lib/processes.ts';
import { type Random, randomFrom } from './lib/random.ts';

/** `apps` × `rounds` turns, and as many publishes. */
const sizes = {
  quick: { apps: 4, rounds: 5, leastKills: 2, withinMs: 8 * 60_000 },
  full: { apps: 8, rounds: 25, leastKills: 20, withinMs: 40 * 60_000 },
};

const killEveryMs = { least: 800, most: 2_800 };
const seed = Number(process.env.BENCH_SEED ?? 1717);

export const builder: Bench = async (options) => {
  const random = randomFrom(seed);
  const size = sizes[options.quick ? 'quick' : 'full'];
  const environment = await startEnvironment(size.apps, random);
  try {
    return await drill(environment, size, random, options);
  } finally {
    await environment.close();
  }
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
 * Kills API and worker processes with SIGKILL until the signal is aborted. Returns how many. The last one of a kind is rarely
 * killed, so that on a slow machine, where a process takes long to start, something is done in between.
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
