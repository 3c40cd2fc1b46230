// Drill: changed queue code is rolled out worker by worker while rows wait, sleep and run, and new rows arrive. Rows
// that have passed the changed step stay on the old path, all other rows take the new path, and all finish. Judged by
// the drill's own list of rows, by a journal of runs that the workers keep on disk, and by effects that are not
// protected against repetition.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import type { Bench } from '../harness/bench.ts';
import { startPostgres } from '../harness/postgres.ts';
import { rounded } from '../harness/statistics.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { type AnyDb, openDatabase } from '../server/src/kit/db/database.ts';
import { newId } from '../server/src/kit/ids.ts';
import { kinds, type Release, type RunLine, type Step, stepsOf, tables } from './deploy/work.ts';
import { readJournal } from './lib/journal-file.ts';

const workers = 3;

export const deploy: Bench = async ({ quick, progress }) => {
  const size = quick ? { before: 90, duringEach: 15, after: 15 } : { before: 500, duringEach: 60, after: 60 };
  const folder = mkdtempSync(join(tmpdir(), 'plinth-deploy-'));
  const journal = join(folder, 'runs.jsonl');
  const postgres = await startPostgres();
  const workerProcesses: ChildProcess[] = [];
  const { db, pool, close } = openDatabase<never>({ url: postgres.url, poolSize: 8 });
  const startRelease = (release: Release) => startWorker(postgres.url, release, journal);
  try {
    await migrateAll(postgres.url);
    await pool.query(tables);
    for (let n = 0; n < workers; n += 1) workerProcesses.push(await startRelease('1'));
    const before = await enqueue(db, size.before);
    while ((await countRows(db, 'first')) < before.length) await sleep(100);
    progress(`${before.length} rows are under way on release 1`);

    const startedAt = performance.now();
    const during: string[] = [];
    for (const [number, old] of workerProcesses.entries()) {
      old.kill('SIGTERM');
      during.push(...(await enqueue(db, size.duringEach)));
      await once(old, 'exit');
      workerProcesses[number] = await startRelease('2');
      const seconds = rounded((performance.now() - startedAt) / 1000, 1);
      progress(`worker ${number + 1} of ${workers} runs release 2 after ${seconds} s`);
    }
    const rolledOutSeconds = (performance.now() - startedAt) / 1000;
    const after = await enqueue(db, size.after);
    const all = [...before, ...during, ...after];
    const isFinished = await waitUntilFinished(db, all.length, progress);
    return await judge(db, { before, during, after }, isFinished, readJournal(journal), rolledOutSeconds);
  } finally {
    for (const child of workerProcesses) child.kill('SIGKILL');
    await close();
    postgres.stop();
    rmSync(folder, { recursive: true });
  }
};

/** Enqueues rows and returns their ids. */
async function enqueue(db: AnyDb, count: number): Promise<string[]> {
  const rows = Array.from({ length: count }, (_, n) => ({ id: newId(), kind: kinds[n % kinds.length] }));
  await sql`insert into drill_rollouts (id, owner_id, due_at, kind) select id, gen_random_uuid(), now(), kind
    from json_to_recordset(${JSON.stringify(rows)}::json) as row(id uuid, kind text)`.execute(db);
  return rows.map(({ id }) => id);
}

async function startWorker(url: string, release: Release, journal: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('deploy/worker.ts', import.meta.url))], {
    env: { ...process.env, DRILL_URL: url, DRILL_RELEASE: release, DRILL_JOURNAL: journal },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  return child;
}

const countRows = async (db: AnyDb, step: Step): Promise<number> =>
  (
    await sql<{ n: number }>`select count(distinct row_id)::int as n from drill_effects where step = ${step}`.execute(
      db,
    )
  ).rows[0]?.n ?? 0;

/** Makes waiting rows due until all rows have finished. */
async function waitUntilFinished(db: AnyDb, count: number, progress: (line: string) => void): Promise<boolean> {
  for (const end = performance.now() + 120_000; performance.now() < end; await sleep(1_000)) {
    await sql`update drill_rollouts set due_at = now()
      where kind = 'waits' and next_step = 'middle' and claimed_slot is null and due_at > now()`.execute(db);
    const finished = await countRows(db, 'third');
    progress(`${finished} of ${count} finished`);
    if (finished < count) continue;
    await sleep(3_000); // allows time for a repeat to appear
    return true;
  }
  return false;
}

async function judge(
  db: AnyDb,
  rows: Readonly<Record<'before' | 'during' | 'after', readonly string[]>>,
  isFinished: boolean,
  runs: readonly RunLine[],
  rolledOutSeconds: number,
) {
  const { rows: effects } = await sql<{ row_id: string; step: Step }>`
    select row_id, step from drill_effects order by at`.execute(db);
  const paths = joinSteps(effects.map(({ row_id: id, step }) => ({ id, step })));
  const runPaths = joinSteps(runs);
  const continued = [...Map.groupBy(runs, ({ id }) => id).values()].filter(
    (own) => own[0]?.release === '1' && own.at(-1)?.release === '2',
  ).length;
  const { rows: left } = await sql`select id from drill_rollouts
    where due_at is not null or claimed_slot is not null or failed_at is not null`.execute(db);
  const { rows: unknown } = await sql`select id from drill_rollouts where failures > 0`.execute(db);
  const [oldPath, newPath] = [stepsOf[1].join(), stepsOf[2].join()];
  const countOn = (ids: readonly string[], path: string) => ids.filter((id) => paths.get(id) === path).length;
  const all = [...rows.before, ...rows.during, ...rows.after];
  const underWay = [...rows.before, ...rows.during];
  const [onOld, onNew] = [countOn(underWay, oldPath), countOn(underWay, newPath)];
  return {
    figures: {
      rows: all.length,
      under_way_at_the_deploy: rows.before.length,
      enqueued_during_it: rows.during.length,
      finished_on_the_old_path: onOld,
      finished_on_the_new_path: onNew,
      enqueued_after_it_and_finished: countOn(rows.after, newPath),
      begun_by_the_old_and_finished_by_the_new_release: continued,
      left_by_the_old_release_to_the_new: unknown.length,
      roll_out_seconds: rounded(rolledOutSeconds, 1),
    },
    judged: [
      {
        bar: 'every row finishes, each step once and in order',
        met: isFinished && left.length === 0 && onOld + onNew === underWay.length && paths.size === all.length,
      },
      {
        bar: 'no step is run twice, and no row is run after it was completed',
        met: all.every((id) => runPaths.get(id) === paths.get(id)) && runPaths.size === all.length,
      },
      {
        bar: 'all rows enqueued after the deploy take the new path',
        met: countOn(rows.after, newPath) === rows.after.length,
      },
      { bar: 'some rows were before and some after the changed step', met: onOld > 0 && onNew > 0 },
      { bar: 'some rows were begun by the old release and finished by the new one', met: continued > 0 },
    ],
    skipped: [],
  };
}

/** Joins each row's steps in order, so a repeated step is visible. */
function joinSteps(lines: readonly { readonly id: string; readonly step: Step }[]): Map<string, string> {
  const grouped = Map.groupBy(lines, ({ id }) => id);
  return new Map([...grouped].map(([id, own]) => [id, own.map(({ step }) => step).join()]));
}
