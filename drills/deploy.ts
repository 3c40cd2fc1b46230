// Drill: changed workflow code rolls out, worker by worker, while workflows wait, sleep and run. Workflows that had passed
// the changed step stay on the old path, all others take the new one, and all finish.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import type { Bench } from '../bench/lib/bench.ts';
import { startPostgres } from '../bench/lib/postgres.ts';
import { rounded } from '../bench/lib/statistics.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { openWorkflows, type Workflows } from '../server/src/kit/background/workflows/workflows.ts';
import { type AnyDb, openDatabase, transaction } from '../server/src/kit/db/database.ts';
import { newId } from '../server/src/kit/ids.ts';

const workers = 3;
const kinds = ['waits', 'sleeps', 'runs'] as const;
const rollout = { name: 'rollout', timeoutMs: 300_000 };
const steps = { old: 'first,second,third', new: 'check,first,second,third' };

export const deploy: Bench = async ({ quick, progress }) => {
  const count = quick ? 90 : 500;
  const postgres = await startPostgres();
  const workerProcesses: ChildProcess[] = [];
  const { db, pool, close } = openDatabase<never>({ url: postgres.url, poolSize: 8 });
  const engine = openWorkflows(pool, postgres.url);
  try {
    await migrateAll(postgres.url);
    await sql`create table drill_effects (what text not null, step text not null)`.execute(db);
    for (let n = 0; n < workers; n += 1) workerProcesses.push(await startWorker(postgres.url, 1));
    const before = await startSome(db, engine, count);
    await untilBegun(db, before.length);
    progress(`${before.length} workflows are under way on release 1`);

    const startedAt = performance.now();
    for (const [number, old] of workerProcesses.entries()) {
      old.kill('SIGTERM');
      await once(old, 'exit');
      workerProcesses[number] = await startWorker(postgres.url, 2);
      progress(
        `worker ${number + 1} of ${workers} runs release 2 after ${rounded((performance.now() - startedAt) / 1000, 1)} s`,
      );
    }
    const rolledOutSeconds = (performance.now() - startedAt) / 1000;
    const after = await startSome(db, engine, quick ? 15 : 60);
    for (const { id, kind } of [...before, ...after])
      if (kind === 'waits') await transaction(db, (db) => engine.signal(db, id, 'go', true));
    const finished = await untilDone(db, before.length + after.length, progress);
    const paths = await pathsOf(db);
    const took = (list: readonly Started[], path: string) => list.filter(({ id }) => paths.get(id) === path).length;
    const onOld = took(before, steps.old);
    const onNew = took(before, steps.new);
    return {
      figures: {
        under_way_at_the_deploy: before.length,
        finished_on_the_old_path: onOld,
        finished_on_the_new_path: onNew,
        started_after_and_finished: took(after, steps.new),
        roll_out_seconds: rounded(rolledOutSeconds, 1),
      },
      judged: [
        { bar: 'all workflows in progress finish, each step once', met: finished && onOld + onNew === before.length },
        {
          bar: 'all workflows started after the deploy take the new path',
          met: took(after, steps.new) === after.length,
        },
        { bar: 'some workflows were before and some after the changed step', met: onOld > 0 && onNew > 0 },
      ],
      skipped: [],
    };
  } finally {
    for (const child of workerProcesses) child.kill('SIGKILL');
    await engine.close();
    await close();
    postgres.stop();
  }
};

interface Started {
  readonly id: string;
  readonly kind: (typeof kinds)[number];
}

async function startSome(db: AnyDb, engine: Workflows, count: number): Promise<Started[]> {
  const started: Started[] = [];
  for (let n = 0; n < count; n += 1) {
    const [id, kind] = [newId(), kinds[n % kinds.length] as Started['kind']];
    await transaction(db, (db) => engine.start(db, rollout, { name: id, kind }, { id }));
    started.push({ id, kind });
  }
  return started;
}

async function startWorker(url: string, code: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('deploy/worker.ts', import.meta.url))], {
    env: { ...process.env, DRILL_URL: url, DRILL_CODE: String(code) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  return child;
}

const countOf = async (db: AnyDb, step: string): Promise<number> =>
  (await sql<{ n: number }>`select count(distinct what)::int as n from drill_effects where step = ${step}`.execute(db))
    .rows[0]?.n ?? 0;

async function untilBegun(db: AnyDb, count: number): Promise<void> {
  while ((await countOf(db, 'first')) < count) await sleep(100);
}

async function untilDone(db: AnyDb, count: number, progress: (line: string) => void): Promise<boolean> {
  for (const end = performance.now() + 120_000; performance.now() < end; await sleep(1_000)) {
    const done = await countOf(db, 'third');
    progress(`${done} of ${count} finished`);
    if (done === count) return true;
  }
  return false;
}

/** The steps of each workflow, joined; a repeated step would show. */
async function pathsOf(db: AnyDb): Promise<Map<string, string>> {
  const { rows } = await sql<{ what: string; path: string }>`
    select what, string_agg(step, ',' order by step) as path from drill_effects group by what`.execute(db);
  return new Map(rows.map((row) => [row.what, row.path]));
}
