// Drill: four workers compete for three slots while workers are killed, frozen and cut off, and the database crashes.
// Judged by the drill's own journal of the work it enqueued, and by effects that are not protected against repetition.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import type { Bench } from '../harness/bench.ts';
import { type OwnPostgres, startPostgres } from '../harness/postgres.ts';
import { quantile, rounded } from '../harness/statistics.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { type AnyDb, openDatabase } from '../server/src/kit/db/database.ts';
import { newId } from '../server/src/kit/ids.ts';
import { startProxy, type TcpProxy } from './lib/proxy.ts';
import { tables } from './slots/work.ts';

const slots = 3;
const workers = 4;
const killBarMs = 2_000;
const hostBarMs = 15_000;

export const slotsDrill: Bench = async ({ quick, progress }) => {
  const size = quick
    ? { oneStep: 2_000, twoSteps: 200, seconds: 20 }
    : { oneStep: 20_000, twoSteps: 2_000, seconds: 75 };
  const postgres = await startPostgres();
  const proxy = await startProxy(postgres.port);
  const fleet = new WorkerFleet(postgres, proxy);
  try {
    await migrateAll(postgres.url);
    const { db, pool, close } = openDatabase<never>({ url: postgres.url, poolSize: 8 });
    await pool.query(tables);
    fleet.start();
    await fleet.full();
    const journal: Journal = new Map();
    const feeding = enqueueWork(db, size, journal);
    await injectFaults(fleet, quick, feeding, progress);
    await feeding;
    progress('fed; waiting for the rest');
    const finished = await waitForEffects(db, journal, quick ? 20_000 : 120_000, progress);
    const report = await judge(db, fleet, journal, finished, quick);
    await close();
    return report;
  } finally {
    await fleet.stop();
    proxy.close();
    postgres.stop();
  }
};

/** Every row whose insertion was acknowledged, with its number of steps. */
type Journal = Map<string, number>;

/** Enqueues all work, spread over the drill's duration. Unacknowledged rows are enqueued again with the same ids. */
async function enqueueWork(
  db: AnyDb,
  size: { oneStep: number; twoSteps: number; seconds: number },
  journal: Journal,
): Promise<void> {
  const portions = size.seconds * 5;
  const [oneStep, twoSteps] = [size.oneStep, size.twoSteps].map((count) => Math.ceil(count / portions)) as [
    number,
    number,
  ];
  for (let portion = 0; portion < portions; portion += 1) {
    const rows = Array.from({ length: oneStep + twoSteps }, (_, n) => ({ id: newId(), steps: n < twoSteps ? 2 : 1 }));
    await retryUntilDone(() =>
      sql`insert into drill_jobs (id, owner_id, due_at, steps)
        select id, md5((random() * 50)::int::text)::uuid, now(), steps
        from json_to_recordset(${JSON.stringify(rows)}::json) as row(id uuid, steps integer)
        on conflict do nothing`.execute(db),
    );
    for (const { id, steps } of rows) journal.set(id, steps);
    await sleep(150);
  }
}

async function retryUntilDone(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch {
      await sleep(100);
    }
  }
}

async function injectFaults(
  fleet: WorkerFleet,
  quick: boolean,
  feeding: Promise<void>,
  progress: (line: string) => void,
): Promise<void> {
  let fed = false;
  void feeding.then(() => {
    fed = true;
  });
  // Each fault waits for its time, and then for a worker to affect.
  const plan: [second: number, name: string, fault: () => boolean][] = quick
    ? [
        [4, 'froze one', () => fleet.freeze()],
        [12, 'crashed the database', () => fleet.crashDatabase()],
      ]
    : [
        [8, 'froze one', () => fleet.freeze()],
        [24, 'cut one off', () => fleet.cutOff()],
        [45, 'crashed the database', () => fleet.crashDatabase()],
        [58, 'crashed the database', () => fleet.crashDatabase()],
      ];
  for (let second = 1; !fed; second += 1) {
    const due = plan.find(([at]) => at <= second);
    let done = 'nobody to kill';
    if (due?.[2]()) {
      done = due[1];
      plan.splice(plan.indexOf(due), 1);
    } else if (fleet.killOne()) done = 'killed one';
    progress(`${second} s: ${done}; ${fleet.summary()}`);
    await sleep(1_000);
  }
}

/** The worker processes, and a journal of the faults and the workers' reports. */
class WorkerFleet {
  readonly kills: Fault[] = [];
  readonly hosts: Fault[] = [];
  readonly freezes: Fault[] = [];
  readonly #processes: WorkerProcess[] = [];
  readonly #postgres: OwnPostgres;
  readonly #proxy: TcpProxy;
  #stopping = false;

  constructor(postgres: OwnPostgres, proxy: TcpProxy) {
    this.#postgres = postgres;
    this.#proxy = proxy;
  }

  start(): void {
    for (let n = 0; n < workers; n += 1) this.#spawn(n);
  }

  async full(): Promise<void> {
    while (this.#processes.filter((worker) => worker.slot !== undefined).length < slots) await sleep(50);
  }

  #spawn(number: number): void {
    // The last worker connects through the proxy, so it can be cut off.
    const throughProxy = number === workers - 1;
    const url = throughProxy ? this.#postgres.url.replace(/:\d+\//, `:${this.#proxy.port}/`) : this.#postgres.url;
    const child = spawn(process.execPath, [fileURLToPath(new URL('slots/worker.ts', import.meta.url))], {
      env: { ...process.env, DRILL_URL: url, DRILL_SLOTS: String(slots) },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const worker: WorkerProcess = { number, child, throughProxy };
    this.#processes[number] = worker;
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const said = JSON.parse(line) as { working?: number; recovered?: number };
      if (said.working !== undefined) worker.slot = said.working;
      if (said.recovered !== undefined) this.#recovered(said.recovered);
    });
    child.once('exit', () => {
      worker.slot = undefined;
      if (!this.#stopping) setTimeout(() => this.#stopping || this.#spawn(number), 1_000);
    });
  }

  #recovered(slot: number): void {
    const now = performance.now();
    for (const fault of [...this.kills, ...this.hosts, ...this.freezes]) {
      if (fault.slot === slot && fault.recoveredMs === undefined) fault.recoveredMs = now - fault.at;
    }
  }

  #pick(pool: readonly WorkerProcess[]): WorkerProcess | undefined {
    const holding = pool.filter((worker) => worker.slot !== undefined);
    return holding[Math.floor(Math.random() * holding.length)];
  }

  killOne(): boolean {
    const worker = this.#pick(this.#processes.filter(({ throughProxy }) => !throughProxy));
    if (worker === undefined) return false;
    this.kills.push({ slot: worker.slot as number, at: performance.now() });
    worker.slot = undefined;
    worker.child.kill('SIGKILL');
    return true;
  }

  freeze(): boolean {
    const worker = this.#pick(this.#processes.filter(({ throughProxy }) => !throughProxy));
    if (worker === undefined) return false;
    this.freezes.push({ slot: worker.slot as number, at: performance.now() });
    worker.slot = undefined;
    worker.child.kill('SIGSTOP');
    setTimeout(() => worker.child.kill('SIGCONT'), 10_000);
    return true;
  }

  /** Cuts off the worker behind the proxy, if it holds a slot. */
  cutOff(): boolean {
    const worker = this.#processes[workers - 1] as WorkerProcess;
    if (worker.slot === undefined) return false;
    this.hosts.push({ slot: worker.slot, at: performance.now() });
    worker.slot = undefined;
    this.#proxy.dropTraffic();
    setTimeout(() => this.#proxy.restore(), 12_000);
    return true;
  }

  crashDatabase(): boolean {
    const now = performance.now();
    // Recovery times close to a database crash do not count.
    for (const kill of this.kills) if (kill.recoveredMs === undefined || now - kill.at < 1_000) kill.besideCrash = true;
    for (const worker of this.#processes) worker.slot = undefined;
    this.#postgres.restartImmediately();
    return true;
  }

  summary(): string {
    return `${this.#processes.filter((worker) => worker.slot !== undefined).length} at work`;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    for (const { child } of this.#processes) child.kill('SIGKILL');
    await sleep(100);
  }
}

interface Fault {
  readonly slot: number;
  readonly at: number;
  recoveredMs?: number;
  besideCrash?: boolean;
}

interface WorkerProcess {
  readonly number: number;
  readonly child: ChildProcess;
  readonly throughProxy: boolean;
  slot?: number | undefined;
}

/** Lists the expected effects, as `id/step`. */
const listExpected = (journal: Journal): string[] =>
  [...journal].flatMap(([id, steps]) => Array.from({ length: steps }, (_, n) => `${id}/${n + 1}`));

async function waitForEffects(
  db: AnyDb,
  journal: Journal,
  ms: number,
  progress: (line: string) => void,
): Promise<boolean> {
  const expected = listExpected(journal).length;
  for (const end = performance.now() + ms; performance.now() < end; await sleep(1_000)) {
    const { rows } = await sql<{ done: number }>`select count(*)::int as done from drill_effects`.execute(db);
    progress(`${rows[0]?.done} of ${expected} effects`);
    if ((rows[0]?.done ?? 0) >= expected) {
      await sleep(3_000); // allows time for a repeat to appear
      return true;
    }
  }
  return false;
}

async function judge(db: AnyDb, fleet: WorkerFleet, journal: Journal, finished: boolean, quick: boolean) {
  const { rows } = await sql<{ what: string; step: number; times: number }>`
    select what, step, count(*)::int as times from drill_effects group by what, step`.execute(db);
  const times = new Map(rows.map((row) => [`${row.what}/${row.step}`, row.times]));
  const expected = listExpected(journal);
  const missing = expected.filter((key) => !times.has(key)).length;
  const repeated = rows.filter((row) => row.times > 1).length;
  const recoveries = (faults: readonly Fault[]) => faults.map((fault) => fault.recoveredMs ?? Number.POSITIVE_INFINITY);
  const kills = recoveries(fleet.kills.filter((kill) => !kill.besideCrash));
  const hosts = recoveries(fleet.hosts);
  const freezes = recoveries(fleet.freezes);
  const p95 = quantile(kills, 0.95);
  return {
    figures: {
      rows: journal.size,
      rows_with_two_steps: expected.length - journal.size,
      effects_expected: expected.length,
      effects_missing: missing,
      effects_repeated: repeated,
      kills: fleet.kills.length,
      kills_beside_a_crash_of_the_database: fleet.kills.length - kills.length,
      recovery_ms_p50: rounded(quantile(kills, 0.5), 0),
      recovery_ms_p95: rounded(p95, 0),
      recovery_ms_max: rounded(Math.max(...kills), 0),
      lost_host_ms: hosts.map((ms) => rounded(ms, 0)),
      frozen_ms: freezes.map((ms) => rounded(ms, 0)),
    },
    judged: [
      { bar: 'everything finishes', met: finished && missing === 0 },
      {
        bar: 'effects are exactly those expected',
        met: missing === 0 && repeated === 0 && times.size === expected.length,
      },
      { bar: `recovery after a kill p95 <= ${killBarMs} ms`, met: p95 <= killBarMs },
      ...(quick
        ? []
        : [{ bar: `after a lost host <= ${hostBarMs} ms`, met: hosts.length > 0 && Math.max(...hosts) <= hostBarMs }]),
    ],
    skipped: quick ? ['lost host, second restart of the database: full run only'] : [],
  };
}
