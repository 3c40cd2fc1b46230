// Workers as processes: slots change hands when one dies, freezes or stops, and poison ends only what it must.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { openDatabase } from '../../src/kit/db/database.ts';
import { newId } from '../../src/kit/ids.ts';
import { cloneTemplate } from '../support/template.ts';

const cloned = await cloneTemplate();
const { db, close } = openDatabase<never>({ url: cloned.url, poolSize: 4 });
await sql`create table jobs (id uuid primary key, owner_id uuid not null, what text not null, due_at timestamptz,
  claims integer not null default 0, failures integer not null default 0, crash_count integer not null default 0,
  claimed_slot integer, claimed_epoch bigint, last_error text, failed_at timestamptz)`.execute(db);
await sql`create table effects (what text not null)`.execute(db);

const program = fileURLToPath(new URL('worker.ts', import.meta.url));
let workers: Worker[] = [];

interface Worker {
  readonly child: ChildProcess;
  readonly said: Record<string, unknown>[];
  ended: boolean;
}

function start(slots = 1): Worker {
  const child = spawn(process.execPath, [program, cloned.url, String(slots)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const worker: Worker = { child, said: [], ended: false };
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) =>
    worker.said.push(JSON.parse(line)),
  );
  child.once('exit', () => {
    worker.ended = true;
  });
  workers.push(worker);
  return worker;
}
const working = (worker: Worker) =>
  expect.poll(() => worker.said.some((line) => 'working' in line), { timeout: 15_000, interval: 20 }).toBe(true);

beforeEach(async () => {
  await sql`truncate jobs, effects, worker_slots`.execute(db);
});
afterEach(async () => {
  const running = workers.filter((worker) => !worker.ended);
  workers = [];
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.map(({ child }) => once(child, 'exit')));
});
afterAll(async () => {
  await close();
  await cloned.drop();
});

const add = async (...whats: string[]) => {
  for (const what of whats)
    await sql`insert into jobs (id, owner_id, what, due_at) values (${newId()}, ${newId()}, ${what}, now())`.execute(
      db,
    );
};
const effects = async () =>
  (await sql<{ what: string }>`select what from effects order by what`.execute(db)).rows.map((row) => row.what);
const claimed = async () => (await sql`select 1 from jobs where claimed_slot is not null`.execute(db)).rows.length;

it('a spare takes over from one that is killed, and what it had begun is done once', async () => {
  const first = start();
  await working(first);
  const spare = start();
  await add('waits', 'waits', 'waits');
  await expect.poll(claimed, { timeout: 15_000 }).toBe(3);
  expect(spare.said).toEqual([]);
  first.child.kill('SIGKILL');
  await working(spare);
  await expect.poll(effects, { timeout: 25_000 }).toEqual(['waits', 'waits', 'waits']);
  expect(await claimed()).toBe(0);
});

it('with no spare, another worker gives back what a dead one had begun', async () => {
  const [first, other] = [start(2), start(2)];
  await Promise.all([working(first), working(other)]);
  await add('waits', 'waits', 'waits', 'waits');
  await expect.poll(claimed, { timeout: 15_000 }).toBe(4);
  first.child.kill('SIGKILL');
  await expect.poll(effects, { timeout: 25_000 }).toHaveLength(4);
});

it('one that was frozen past its lease loses its slot, and ends when it wakes', async () => {
  const first = start();
  await working(first);
  const spare = start();
  await add('waits');
  await expect.poll(claimed, { timeout: 15_000 }).toBe(1);
  first.child.kill('SIGSTOP');
  await working(spare);
  await expect.poll(effects, { timeout: 25_000 }).toEqual(['waits']);
  first.child.kill('SIGCONT');
  await expect.poll(() => first.ended, { timeout: 25_000 }).toBe(true);
  expect(await effects()).toEqual(['waits']);
});

it('one that is asked to stop ends what it does, and leaves nothing behind', async () => {
  const first = start();
  await working(first);
  await add('waits');
  await expect.poll(claimed, { timeout: 15_000 }).toBe(1);
  first.child.kill('SIGTERM');
  await expect.poll(() => first.said, { timeout: 25_000 }).toContainEqual({ stopped: 0 });
  expect(await effects()).toEqual(['waits']);
  expect((await sql`select 1 from worker_slots where recovered_epoch < epoch`.execute(db)).rows).toEqual([]);
});

/** As a supervisor does: one that ends is started again. */
function keep(): void {
  const worker = start();
  worker.child.once('exit', () => {
    if (workers.includes(worker)) keep();
  });
}

it('a job that kills its process is tried ever more rarely; its neighbours are done', async () => {
  keep();
  await add('kills', ...Array.from({ length: 30 }, () => 'good'));
  await expect.poll(effects, { timeout: 60_000 }).toHaveLength(30);
  const { rows } = await sql`select crash_count, last_error from jobs where what = 'kills'`.execute(db);
  expect(rows[0]).toMatchObject({ last_error: expect.stringMatching(/^its process ended while it ran, \d+ times$/) });
}, 70_000);

it('a job that never lets go of its thread ends with its process; its neighbours are done', async () => {
  keep();
  await add('spins', ...Array.from({ length: 30 }, () => 'good'));
  await expect.poll(effects, { timeout: 60_000 }).toHaveLength(30);
  const { rows } = await sql`select last_error from jobs where what = 'spins'`.execute(db);
  expect(rows[0]).toMatchObject({ last_error: expect.stringMatching(/^its process ended while it ran, \d+ times$/) });
}, 70_000);
