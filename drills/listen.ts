// Drill: `plinthctl listen` is killed at random moments while events happen. Judged by the receiver's journal and the ids
// of the records that were created.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Plinth } from '../client/sdk/src/index.ts';
import type { Bench, BenchOptions } from '../harness/bench.ts';
import { createBenchApp } from '../harness/fixtures.ts';
import { type Installation, startInstallation } from '../harness/installation.ts';
import { randomFrom } from '../harness/random.ts';
import { rounded } from '../harness/statistics.ts';
import { readJournal } from './lib/journal-file.ts';
import type { ReceivedLine } from './listen/receiver.ts';

const sizes = {
  quick: { events: 1_000, kills: 10 },
  full: { events: 10_000, kills: 50 },
};
const seed = Number(process.env.BENCH_SEED ?? 46);
const eventsPerCall = 100;

interface Scene {
  readonly plinth: Plinth;
  readonly app_id: string;
  /** Starts `plinthctl listen` with the receiver, or with other options. */
  start(...options: string[]): ChildProcess;
  countReceived(): number;
  listReceived(): ReceivedLine[];
}

export const listen: Bench = async (options) => {
  await using installation = await startInstallation();
  const scene = await startScene(installation);
  return await measure(scene, sizes[options.quick ? 'quick' : 'full'], options);
};

async function startScene(installation: Installation): Promise<Scene> {
  const { db, ends, folder } = installation;
  const workspace = await installation.createWorkspace();
  const { id: app_id } = await createBenchApp(db, workspace, 'user_app');
  const { apis } = await installation.startProcesses({ api: 1, worker: 1 });
  const [url = ''] = apis;
  const plinth = new Plinth({ url, token: workspace.token });
  await plinth.putEntitySchema({ app_id, entity_name: 'Task', name: 'Task', properties: {} });

  const journal = join(folder, 'received');
  const receiver = fork(fileURLToPath(new URL('listen/receiver.ts', import.meta.url)), {
    env: { PATH: process.env.PATH, BENCH_JOURNAL: journal },
  });
  ends.defer(() => void receiver.kill('SIGKILL'));
  const [{ port }] = (await once(receiver, 'message')) as [{ port: number }];

  const program = fileURLToPath(new URL('../client/cli/src/main.ts', import.meta.url));
  const env = { PATH: process.env.PATH, HOME: folder, PLINTH_URL: url, PLINTH_TOKEN: workspace.token };
  const start = (...more: string[]) => {
    const child = spawn(process.execPath, [program, 'listen', '--app', app_id, ...more], {
      env: { ...env, XDG_CONFIG_HOME: join(folder, 'config') },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    ends.defer(() => void child.kill('SIGKILL'));
    return child;
  };
  const secret = start('--print-secret');
  receiver.send((await text(secret.stdout as NodeJS.ReadableStream)).trim());
  return {
    plinth,
    app_id,
    start: (...more) => {
      const child = start('--forward-to', `http://127.0.0.1:${port}/`, ...more);
      child.stdout?.resume();
      return child;
    },
    countReceived: () => readFileSync(journal, 'utf8').split('\n').length - 1,
    listReceived: () => readJournal<ReceivedLine>(journal),
  };
}

interface Kill {
  readonly received: number;
  readonly afterMs: number;
}

async function measure(
  { plinth, app_id, start, countReceived, listReceived }: Scene,
  { events, kills }: (typeof sizes)['full'],
  { progress }: BenchOptions,
) {
  const startedAt = performance.now();
  const random = randomFrom(seed);
  const creating = createRecords(plinth, app_id, events);
  const killed: Kill[] = [];
  while (killed.length < kills) {
    const child = start();
    const begunAt = performance.now();
    // Some kills come before anything was forwarded, some between two deliveries, and each run gets its share of events.
    const goal = Math.min(Math.floor(((killed.length + 1) / (kills + 1)) * events), events - 1);
    if (random() < 0.8) await waitFor(() => countReceived() >= goal, child);
    await wait(random() * 500);
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    const received = countReceived();
    killed.push({ received, afterMs: Math.round(performance.now() - begunAt) });
    if (killed.length % 10 === 0) progress(`killed ${killed.length} times, ${received} deliveries received`);
  }
  const records = await creating;
  const last = start('--until-idle', '10');
  const [code] = (await once(last, 'exit')) as [number];
  const received = listReceived();
  progress(`${received.length} deliveries received; the last run ended with ${code}`);
  return report({ events, killed, records, received, code, seconds: (performance.now() - startedAt) / 1000 });
}

/** Returns the ids of the records that were created. */
async function createRecords(plinth: Plinth, app_id: string, count: number): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let done = 0; done < count; done += eventsPerCall) {
    const body = Array.from({ length: eventsPerCall }, () => ({}));
    for (const record of await plinth.createRecords({ app_id, entity_name: 'Task', body }))
      if (record) ids.add(record.id);
    await wait(50);
  }
  return ids;
}

async function waitFor(isMet: () => boolean, child: ChildProcess): Promise<void> {
  while (!isMet()) {
    if (child.exitCode !== null) throw new Error(`plinthctl listen ended with ${child.exitCode}`);
    await wait(20);
  }
}

interface Run {
  readonly events: number;
  readonly killed: readonly Kill[];
  readonly records: ReadonlySet<string>;
  readonly received: readonly ReceivedLine[];
  readonly code: number;
  readonly seconds: number;
}

function report({ events, killed, records, received, code, seconds }: Run) {
  const sequences = received.map(({ sequence }) => sequence);
  const distinct = new Set(sequences);
  const missing = Array.from({ length: events }, (_, index) => index + 1).filter((each) => !distinct.has(each));
  const arrived = new Set(received.map(({ record }) => record));
  const lost = [...records].filter((id) => !arrived.has(id));
  const repeats = sequences.length - distinct.size;
  // A repeat is the newest delivery once more: anything older had been stored before the next one was sent.
  const strange = sequences.filter(
    (each, index) => index > 0 && each !== sequences[index - 1] && each !== (sequences[index - 1] ?? 0) + 1,
  );
  const refused = received.filter((line) => line.refused !== undefined);
  return {
    figures: {
      seed,
      events,
      kills: killed.length,
      kills_before_a_delivery: killed.filter(({ received }, index) => received === (killed[index - 1]?.received ?? 0))
        .length,
      received: sequences.length,
      repeats,
      missing: missing.length,
      seconds: rounded(seconds, 1),
      deliveries_per_second: rounded(sequences.length / seconds, 0),
    },
    judged: [
      { bar: `killed ${killed.length} times, the receiver has every sequence number`, met: missing.length === 0 },
      { bar: 'every record that was created arrived', met: lost.length === 0 && records.size === events },
      {
        bar: 'in order, and only the newest delivery is repeated, at most once per kill',
        met: strange.length === 0 && repeats <= killed.length,
      },
      { bar: 'every signature verifies', met: refused.length === 0 },
      { bar: 'the last run ends by itself', met: code === 0 },
    ],
    skipped: [],
  };
}
