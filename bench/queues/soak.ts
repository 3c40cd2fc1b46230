// The soak: three workers, none of which looks at all rows after its start, while they are killed, PostgreSQL crashes under
// asynchronous commits, a snapshot is held, and writers commit late, use savepoints, roll back, cancel and re-open rows.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Judged } from '../../harness/bench.ts';
import { type OwnPostgres, startPostgres } from '../../harness/postgres.ts';
import { createQueueTable } from '../../harness/queue-table.ts';
import { migrateAll } from '../../server/src/commands/migrate.ts';
import { openWakeUps, type WakeUps } from '../../server/src/kit/background/workers/wake.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { clockMs } from './journal.ts';
import { Fleet } from './soak/fleet.ts';
import { judgeRuns, lateBarMs, type Period, type SoakRecord } from './soak/judge.ts';
import { limits, redisUrl, table } from './soak/settings.ts';

const writers = 6;
const owners = Array.from({ length: 60 }, newId);
/** These get a third of the rows, so they reach their limits. */
const busyOwners = 4;
const keys = 12;

const sizes = {
  quick: { seconds: 30, killEverySeconds: 6, crashAtSeconds: [15] },
  full: { seconds: 600, killEverySeconds: 8, crashAtSeconds: [120, 300, 480] },
};

/** Says which rows there must be. Written by the statements that change the rows, so both are committed or neither is. */
const tables = `
  create table soak_opened (id uuid not null);
  create table soak_cancelled (id uuid not null);
  create table soak_completions (id uuid not null, claims integer not null, again boolean not null);
  ${createQueueTable(table, 'concurrency_key text not null')}`;

interface Soak {
  readonly postgres: OwnPostgres;
  readonly fleet: Fleet;
  readonly wake: WakeUps;
  /** The acknowledged commits that opened each row: from the commit's being sent to its answer. */
  readonly commits: Map<string, Period[]>;
  readonly faults: Period[];
  endsAt: number;
}

export async function measureSoak(quick: boolean, progress: (line: string) => void) {
  const size = sizes[quick ? 'quick' : 'full'];
  const postgres = await startPostgres();
  const prefix = `soak:${process.pid}:`;
  const wake = openWakeUps(redisUrl, prefix);
  const fleet = new Fleet(postgres.url, prefix);
  try {
    await migrateAll(postgres.url);
    await withClient(postgres.url, (client) => client.query(tables));
    fleet.start();
    await fleet.untilFull();
    const soak: Soak = { postgres, fleet, wake, commits: new Map(), faults: [], endsAt: 0 };
    soak.endsAt = clockMs() + size.seconds * 1_000;
    const counts = { kills: 0, crashes: 0 };
    await Promise.all([
      ...Array.from({ length: writers }, () => writeRows(soak)),
      keepSnapshotsOpen(soak),
      injectFaults(soak, size, counts, progress),
    ]);
    progress('written; waiting for the rest');
    const left = await untilDone(postgres.url);
    await fleet.stop();
    return await judge(soak, counts, left);
  } finally {
    await fleet.stop();
    fleet.removeJournals();
    wake.close();
    postgres.stop();
  }
}

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client(url);
  client.on('error', () => {}); // expected when the database crashes
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Repeats work on a new connection whenever the database has crashed, until the soak ends. */
async function whileRunning({ endsAt, postgres }: Soak, work: (client: pg.Client) => Promise<void>): Promise<void> {
  while (clockMs() < endsAt) {
    try {
      await withClient(postgres.url, async (client) => {
        while (clockMs() < endsAt) await work(client);
      });
    } catch (error) {
      if (!isConnectionError(error)) throw error;
      await sleep(100);
    }
  }
}

const isConnectionError = (error: unknown): boolean =>
  /terminat|ECONNRE|starting up|shutting down|recovery mode|not queryable|Connection/.test(String(error));

const keepSnapshotsOpen = (soak: Soak) =>
  whileRunning(soak, async (client) => {
    await client.query(`begin isolation level repeatable read; select count(*) from ${table}`);
    while (clockMs() < soak.endsAt) {
      await sleep(200);
      await client.query('select');
    }
  });

// ---- writers

const isOnceIn = (n: number) => Math.random() < 1 / n;
const anyBelow = (n: number) => Math.floor(Math.random() * n);

const insertRows = `with added as (
    insert into ${table} (id, owner_id, concurrency_key, due_at)
    select id, $2::uuid, $3, clock_timestamp() + (random() * 3 - 1.5) * interval '1 s' from unnest($1::uuid[]) id returning id)
  insert into soak_opened select id from added`;
const cancelRows = `with cancelled as (
    update ${table} set due_at = null
    where id = any($1::uuid[]) and claimed_slot is null and due_at is not null returning id)
  insert into soak_cancelled select id from cancelled`;
// The row's runs so far are over, so it is due again with a time that has long passed.
const reopenRow = `with reopened as (
    update ${table} set due_at = clock_timestamp() - interval '1 hour'
    where id = $1 and claimed_slot is null and due_at is null returning id)
  insert into soak_opened select id from reopened`;

const writeRows = (soak: Soak) =>
  whileRunning(soak, async (client) => {
    const ids = Array.from({ length: 1 + anyBelow(15) }, newId);
    const owner = anyBelow(isOnceIn(3) ? busyOwners : owners.length);
    const isSaved = isOnceIn(3);
    await client.query('begin');
    if (isSaved) await client.query('savepoint s');
    await client.query(insertRows, [ids, owners[owner], `key ${owner % keys}`]);
    if (isSaved && isOnceIn(2)) await client.query('release savepoint s; savepoint t');
    await sleep(Math.random() * (isOnceIn(15) ? 2_500 : 50));
    if (isOnceIn(10)) await client.query('rollback');
    else {
      const sentAt = clockMs();
      await client.query('commit');
      noteCommit(soak, ids, sentAt);
      if (isOnceIn(8)) await client.query(cancelRows, [ids]);
      if (isOnceIn(4)) await reopenAny(soak, client);
    }
    if (isOnceIn(2)) soak.wake.notify(table);
    await sleep(Math.random() * 300);
  });

async function reopenAny(soak: Soak, client: pg.Client): Promise<void> {
  const all = [...soak.commits.keys()].slice(-5_000);
  const id = all[anyBelow(all.length)] as string;
  const sentAt = clockMs();
  const { rowCount } = await client.query(reopenRow, [id]);
  if (rowCount === 1) noteCommit(soak, [id], sentAt);
}

function noteCommit({ commits }: Soak, ids: readonly string[], sentAt: number): void {
  for (const id of ids) commits.set(id, [...(commits.get(id) ?? []), { from: sentAt, to: clockMs() }]);
}

// ---- faults

async function injectFaults(
  { fleet, postgres, faults, endsAt }: Soak,
  { seconds, killEverySeconds, crashAtSeconds }: (typeof sizes)['full'],
  counts: { kills: number; crashes: number },
  progress: (line: string) => void,
): Promise<void> {
  const startedAt = endsAt - seconds * 1_000;
  const crashes = [...crashAtSeconds];
  while (clockMs() < endsAt) {
    await sleep(killEverySeconds * 1_000);
    const from = clockMs();
    const isCrash = crashes[0] !== undefined && from - startedAt >= crashes[0] * 1_000;
    if (isCrash) {
      crashes.shift();
      fleet.noteCrash(from);
      postgres.restartImmediately();
      counts.crashes += 1;
      await fleet.untilFull();
    } else {
      await fleet.killAny();
      counts.kills += 1;
    }
    faults.push({ from, to: clockMs() });
    progress(
      `${isCrash ? 'PostgreSQL crashed' : 'killed a worker'}; recovered after ${Math.round(clockMs() - from)} ms`,
    );
  }
}

// ---- the end

/** Waits until nothing is queued or running. Returns how many rows are left after a minute. */
const untilDone = (url: string): Promise<number> =>
  withClient(url, async (client) => {
    let left = 0;
    for (const end = clockMs() + 60_000; clockMs() < end; await sleep(200)) {
      left = (await client.query(`select from ${table} where due_at is not null`)).rowCount ?? 0;
      if (left === 0) break;
    }
    return left;
  });

async function judge(soak: Soak, counts: { kills: number; crashes: number }, left: number) {
  const { fleet, commits, faults } = soak;
  const { expected, completions, cancelled } = await withClient(soak.postgres.url, readDatabase);
  const runs = fleet.listRuns();
  const record: SoakRecord = { runs, expected, completions, commits, interrupted: fleet.interrupted, faults };
  const found = judgeRuns(record);
  const lost = [...commits.keys()].filter((id) => !expected.has(id));
  const reopened = [...commits.values()].filter((ofRow) => ofRow.length > 1).length;
  const { repeated } = found;
  const judged: Judged[] = [
    {
      bar: 'every committed row is completed as often as it was opened',
      met: left === 0 && lost.length === 0 && found.wrongly_completed.length === 0,
    },
    { bar: 'no row is run by two workers at the same time', met: found.overlapping.length === 0 },
    {
      bar: 'only runs of workers that were killed, or that lost the database, are repeated',
      met: repeated.every((row) => row.is_explained),
    },
    {
      bar: `no limit over all workers is exceeded: ${limits.perOwner} of an owner, ${limits.perKey} with a key`,
      met: found.most_of_owner <= limits.perOwner && found.most_of_key <= limits.perKey,
    },
    {
      bar: `no run starts > ${lateBarMs} ms after the row was due and committed, unless a limit or a fault held it`,
      met: found.late.length === 0,
    },
    {
      bar: 'workers were killed, PostgreSQL crashed, and rows were cancelled, re-opened and repeated',
      met: counts.kills > 0 && counts.crashes > 0 && cancelled > 0 && reopened > 0 && repeated.length > 0,
    },
  ];
  const figures = {
    rows: expected.size,
    runs: runs.length,
    ...counts,
    cancelled,
    reopened,
    left,
    lost: lost.length,
    repeated: repeated.length,
    repeated_rows: repeated.map(({ id }) => id),
    repeated_without_reason: repeated.filter((row) => !row.is_explained).map(({ id }) => id),
    wrongly_completed: found.wrongly_completed,
    overlapping: found.overlapping,
    most_of_owner: found.most_of_owner,
    most_of_key: found.most_of_key,
    late: found.late,
  };
  return { figures, judged };
}

async function readDatabase(client: pg.Client) {
  const counts = await client.query<{ id: string; opened: number }>(
    `select id, sum(n)::int as opened from (
       select id, 1 as n from soak_opened union all select id, -1 from soak_cancelled) changes group by id`,
  );
  const completions = await client.query<SoakRecord['completions'][number]>('select * from soak_completions');
  const cancelled = await client.query('select from soak_cancelled');
  return {
    expected: new Map(counts.rows.map(({ id, opened }) => [id, opened])),
    completions: completions.rows,
    cancelled: cancelled.rowCount ?? 0,
  };
}
