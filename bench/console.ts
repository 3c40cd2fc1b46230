// Measures what people see in the console while processes are killed: whole sessions in real browsers, side by side. Nobody
// may lose a message, see a preview of another revision than its label says, or be told that something was saved that was
// not. Judged by the journals of the people, and by what the API answers once all sessions have ended.
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { buildIfStale } from '../console/build-if-stale.ts';
import type { Bench, BenchOptions } from '../harness/bench.ts';
import { chromiumPath } from '../harness/browser-tests.ts';
import { startInstallation } from '../harness/installation.ts';
import type { Processes } from '../harness/processes.ts';
import { type Random, randomFrom } from '../harness/random.ts';
import { startEnvironment } from './console/environment.ts';
import { judge } from './console/judge.ts';
import { type Journal, live } from './console/people.ts';

const sizes = {
  quick: { sessions: 2, sideBySide: 2, kills: 1, everyMs: 6_000 },
  full: { sessions: 50, sideBySide: 4, kills: 20, everyMs: 15_000 },
};
const withinMs = 60 * 60_000;
const seed = Number(process.env.BENCH_SEED ?? 4_700);

export const consoleBench: Bench = async ({ quick, progress }: BenchOptions) => {
  const size = sizes[quick ? 'quick' : 'full'];
  const random = randomFrom(seed);
  await using installation = await startInstallation();
  await buildIfStale();
  const environment = await startEnvironment(installation, size.sideBySide);
  const { processes, people, call } = environment;
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
  installation.ends.defer(() => browser.close());
  progress(`${size.sessions} sessions, ${size.sideBySide} side by side; seed ${seed}`);
  const startedAt = performance.now();
  const journal: Journal = { sessions: [], labels: [], reloads: 0 };
  const ended = new AbortController();
  const killing = killAtRandom(processes, size, random, ended.signal);
  const late = AbortSignal.timeout(withinMs);
  let next = 0;
  await Promise.all(
    people.map(async (person) => {
      while (next < size.sessions && !late.aborted) {
        const number = ++next;
        const session = await live(browser, environment, person, number, journal);
        progress(`session ${number}: ${session.failure ?? 'done'} after ${Math.round(session.ms / 1_000)} s`);
      }
    }),
  );
  ended.abort();
  const kills = await killing;
  await processes.allReady();
  const { judged, figures } = await judge(call, journal, size.sessions);
  const everyKill = kills.api + kills.worker;
  return {
    figures: { seconds: Math.round((performance.now() - startedAt) / 1_000), kills, ...figures },
    judged: [...judged, { bar: `processes were killed ${size.kills} times or more`, met: everyKill >= size.kills }],
    skipped: quick ? [`${sizes.full.sessions - size.sessions} of ${sizes.full.sessions} sessions`] : [],
  };
};

/** Kills the API or a worker with SIGKILL, as often as the size says. Each is started again at once. */
async function killAtRandom(
  processes: Processes,
  size: (typeof sizes)['full'],
  random: Random,
  signal: AbortSignal,
): Promise<{ api: number; worker: number }> {
  const kills = { api: 0, worker: 0 };
  while (!signal.aborted && kills.api + kills.worker < size.kills) {
    await sleep(size.everyMs * (0.5 + random()), undefined, { signal }).catch(() => {});
    const kind = random() < 0.5 ? 'api' : 'worker';
    if (!signal.aborted && processes.kill(kind, (count) => Math.floor(random() * count))) kills[kind] += 1;
  }
  return kills;
}
