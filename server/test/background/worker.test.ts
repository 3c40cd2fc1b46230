// Tests workers as real processes. A slot passes to another worker when its worker crashes, freezes or stops, and rows
// that crash workers do not delay others.
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
await cloned.runAsOwner(`
  create table jobs (id uuid primary key, owner_id uuid not null, what text not null, due_at timestamptz,
  claims integer not null default 0, failures integer not null default 0, crash_count integer not null default 0,
  claimed_slot integer, claimed_epoch bigint, last_error text, failed_at timestamptz, changed_in xid8);
  create trigger queue_row_added before insert on jobs for each row execute function note_queue_change();
  create trigger queue_row_changed before update of due_at, claimed_slot, owner_id on jobs for each row
    when ((old.due_at, old.claimed_slot, old.owner_id) is distinct from (new.due_at, new.claimed_slot, new.owner_id))
    execute function note_queue_change();
  create table effects (what text not null)`);

const program = fileURLToPath(new URL('worker.ts', import.meta.url));
let workers: Worker[] = [];

interface Worker {
  readonly child: ChildProcess;
  readonly output: Record<string, unknown>[];
  exited: boolean;
}

function start(slots = 1): Worker {
  const child = spawn(process.execPath, [program, cloned.url, String(slots)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const worker: Worker = { child, output: [], exited: false };
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) =>
    worker.output.push(JSON.parse(line)),
  );
  child.once('exit', () => {
    worker.exited = true;
  });
  workers.push(worker);
  return worker;
}
const waitUntilWorking = (worker: Worker) =>
  expect.poll(() => worker.output.some((line) => 'working' in line), { interval: 20 }).toBe(true);

beforeEach(async () => {
  await cloned.runAsOwner('truncate jobs, effects, worker_slots');
});
afterEach(async () => {
  const running = workers.filter((worker) => !worker.exited);
  workers = [];
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.map(({ child }) => once(child, 'exit')));
});
afterAll(async () => {
  await close();
  await cloned.drop();
});

const enqueue = async (...whats: string[]) => {
  for (const what of whats)
    await sql`insert into jobs (id, owner_id, what, due_at) values (${newId()}, ${newId()}, ${what}, now())`.execute(
      db,
    );
};
const effects = async () =>
  (await sql<{ what: string }>`select what from effects order by what`.execute(db)).rows.map((row) => row.what);
const countClaimed = async () => (await sql`select 1 from jobs where claimed_slot is not null`.execute(db)).rows.length;

it('a spare acquires the slot of a killed worker, and runs its rows once', async () => {
  const first = start();
  await waitUntilWorking(first);
  const spare = start();
  await enqueue('waits', 'waits', 'waits');
  await expect.poll(countClaimed).toBe(3);
  expect(spare.output).toEqual([]);
  first.child.kill('SIGKILL');
  await waitUntilWorking(spare);
  await expect.poll(effects).toEqual(['waits', 'waits', 'waits']);
  expect(await countClaimed()).toBe(0);
});

it('without a spare, another worker releases the rows of a killed worker', async () => {
  const [first, other] = [start(2), start(2)];
  await Promise.all([waitUntilWorking(first), waitUntilWorking(other)]);
  await enqueue('waits', 'waits', 'waits', 'waits');
  await expect.poll(countClaimed).toBe(4);
  first.child.kill('SIGKILL');
  // The timeout is shorter than the interval of the job that releases abandoned rows.
  await expect.poll(effects, { timeout: 25_000 }).toHaveLength(4);
});

it('a worker frozen for longer than its lease loses its slot, and exits when it wakes', async () => {
  const first = start();
  await waitUntilWorking(first);
  const spare = start();
  await enqueue('waits');
  await expect.poll(countClaimed).toBe(1);
  first.child.kill('SIGSTOP');
  await waitUntilWorking(spare);
  await expect.poll(effects).toEqual(['waits']);
  first.child.kill('SIGCONT');
  await expect.poll(() => first.exited).toBe(true);
  expect(await effects()).toEqual(['waits']);
});

it('a worker that is stopped completes its rows and leaves no claim behind', async () => {
  const first = start();
  await waitUntilWorking(first);
  await enqueue('waits');
  await expect.poll(countClaimed).toBe(1);
  first.child.kill('SIGTERM');
  await expect.poll(() => first.output).toContainEqual({ stopped: 0 });
  expect(await effects()).toEqual(['waits']);
  expect((await sql`select 1 from worker_slots where recovered_epoch < epoch`.execute(db)).rows).toEqual([]);
});

/** Restarts a worker whenever it exits, like a supervisor. */
function supervise(): void {
  const worker = start();
  worker.child.once('exit', () => {
    if (workers.includes(worker)) supervise();
  });
}

it('a row that kills its worker is retried less and less often; other rows are completed', async () => {
  supervise();
  await enqueue('kills', ...Array.from({ length: 30 }, () => 'good'));
  await expect.poll(effects).toHaveLength(30);
  const { rows } = await sql`select crash_count, last_error from jobs where what = 'kills'`.execute(db);
  expect(rows[0]).toMatchObject({
    last_error: expect.stringMatching(/^the worker crashed while running it, \d+ times$/),
  });
});

it('a row that blocks its thread is stopped by the watchdog; other rows are completed', async () => {
  supervise();
  await enqueue('spins', ...Array.from({ length: 30 }, () => 'good'));
  await expect.poll(effects).toHaveLength(30);
  const { rows } = await sql`select last_error from jobs where what = 'spins'`.execute(db);
  expect(rows[0]).toMatchObject({
    last_error: expect.stringMatching(/^the worker crashed while running it, \d+ times$/),
  });
});
