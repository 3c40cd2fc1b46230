// An upgrade of an installation of release 0.1.0 with work in every queue. It is interrupted twice and finished, while API
// processes of that release add work. No row is lost, and workers of this release run each of them once.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKeys } from '../../src/commands/keys.ts';
import { createSealer } from '../../src/features/audit/seal.ts';
import { createListeners, eventBus } from '../../src/kit/background/events/event-bus.ts';
import { createClaimer } from '../../src/kit/background/queues/claim.ts';
import { createCompleter, releaseClaims } from '../../src/kit/background/queues/complete.ts';
import type { Queue } from '../../src/kit/background/queues/queue.ts';
import { type AnyDb, openDatabase } from '../../src/kit/db/database.ts';
import { migrate, readMigrations } from '../../src/kit/db/migrate.ts';
import { newId } from '../../src/kit/ids.ts';
import { migrationsFolder } from '../../src/release.ts';
import { commandLine } from '../e2e/command.ts';
import { createEmptyDatabase } from '../support/template.ts';
import { startWorld } from '../support/world.ts';

const world = await startWorld();
const migrations = await readMigrations(migrationsFolder);
const lastOfRelease = '0064_remove_workflow_engine.sql';
const database = await createEmptyDatabase();
const client = new pg.Client(database.ownerUrl);
const folder = mkdtempSync(join(tmpdir(), 'plinth-upgrade-'));
const { plinth } = commandLine({
  ...newKeys(),
  STORAGE_FOLDER: folder,
  DATABASE_URL: database.url,
  MIGRATE_DATABASE_URL: database.ownerUrl,
});
const opened = openDatabase<never>({ url: database.ownerUrl, poolSize: 6 });
const db = opened.db as AnyDb;
afterAll(async () => {
  await client.end();
  await opened.close();
  await database.drop();
  rmSync(folder, { recursive: true });
});

// ---- work of release 0.1.0

/** Its queues that were tables with claims, by name, with their owners. */
const queues = [
  ['reset_mails', 'user_id'],
  ['sign_in_mails', 'user_id'],
  ['app_user_links', 'app_id'],
  ['agent_turns', 'workspace_id'],
  ['webhook_deliveries', 'webhook_id'],
  ['webhook_warnings', 'webhook_id'],
  ['chat_turns', 'workspace_id'],
  ['workflow_events', 'app_id'],
  ['workflow_runs', 'app_id'],
  ['automation_runs', 'app_id'],
  ['app_warnings', 'app_id'],
  ['ads_asset_sessions', 'workspace_id'],
  ['ads_launches', 'workspace_id'],
  ['ads_changes', 'workspace_id'],
  ['security_scans', 'workspace_id'],
  ['test_executions', 'workspace_id'],
  ['coding_sessions', 'workspace_id'],
] as const;

/** Of the worker that was stopped for the upgrade. Another one had its slot before. */
const stopped = { slot: 5, epoch: 7 };

/** The states of rows, with the values of the columns that all queues have. */
const states = {
  due: { due_at: "now() - interval '1 minute'" },
  delayed: { due_at: "now() + interval '1 day'", failures: '2' },
  running: { due_at: "now() - interval '1 minute'", claims: '1', claimed_slot: '5', claimed_epoch: '7' },
  done: { due_at: 'null', claims: '3' },
  failed: { due_at: 'null', claims: '3', failed_at: 'now()', last_error: "'it failed'" },
};
type State = keyof typeof states;
const isToRun = (state: State) => state === 'due' || state === 'running';
const rowsOfState = 3;
const owners = Array.from({ length: 2 }, newId);

/** Values for columns that have a constraint. Other required columns get a value of their type. */
const ownValues: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  app_user_links: { purpose: "'sign_in'", email: "'a@example.com'" },
  webhook_deliveries: { status: "'pending'" },
  workflow_runs: { trigger_type: "'manual'" },
  automation_runs: { event_id: 'gen_random_uuid()' },
  ads_asset_sessions: { channel_type: "'SEARCH'", state: "'writing'" },
  ads_launches: { state: "'recorded'" },
  ads_changes: { kind: "'pause'", state: "'recorded'" },
  security_scans: { state: "'pending'", language: "'en'" },
  test_executions: { role: "'user'" },
  coding_sessions: { state: "'queued'" },
};

interface Column {
  readonly column_name: string;
  readonly udt_name: string;
}

/** A value that no other row has. */
function makeValue({ column_name, udt_name }: Column): string {
  if (/^_/.test(udt_name)) return "'{}'";
  switch (udt_name) {
    case 'uuid':
      return `'${newId()}'`;
    case 'timestamptz':
      return 'now()';
    case 'jsonb':
    case 'json':
      return "'{}'";
    case 'bool':
      return 'false';
    case 'int4':
    case 'int8':
    case 'numeric':
    case 'float8':
      return String(++lastNumber);
    case 'text':
    case 'bpchar':
    case 'citext':
      return `'${newId()}'`;
    case 'bytea':
      return "'\\x00'";
    default:
      throw new Error(`no value for ${column_name} of type ${udt_name}`);
  }
}
let lastNumber = 0;

async function insertRow(table: string, values: Readonly<Record<string, string>>): Promise<void> {
  const { rows } = await client.query<Column>(
    `select column_name, udt_name from information_schema.columns where table_schema = 'public' and table_name = $1
       and is_nullable = 'NO' and column_default is null and is_identity = 'NO' and is_generated = 'NEVER'`,
    [table],
  );
  const required = Object.fromEntries(rows.map((column) => [column.column_name, makeValue(column)]));
  const all = { ...required, ...ownValues[table], ...values };
  await client.query(`insert into ${table} (${Object.keys(all).join(', ')}) values (${Object.values(all).join(', ')})`);
}

/** The rows that were added, by table and state. */
const added = new Map<string, Map<State, string[]>>();
const idsOf = (table: string, isWanted: (state: State) => boolean): string[] =>
  [...(added.get(table) ?? [])].flatMap(([state, ids]) => (isWanted(state) ? ids : [])).sort();

async function addQueued(table: string, owner: string, state: State, n: number): Promise<void> {
  const id = newId();
  await insertRow(table, { id: `'${id}'`, [owner]: `'${owners[n % owners.length]}'`, ...states[state] });
  const ofTable = added.get(table) ?? new Map<State, string[]>();
  ofTable.set(state, [...(ofTable.get(state) ?? []), id]);
  added.set(table, ofTable);
}

/** Adds an export as release 0.1.0 did, when exports were not a queue. */
async function addExport(state: string, claimedUntil = 'null'): Promise<string> {
  const id = newId();
  const values = { workspace_id: `'${owners[0]}'`, id: `'${id}'`, state: `'${state}'`, claimed_until: claimedUntil };
  await insertRow('workspace_exports', values);
  return id;
}

/** Adds a connection, of which the tokens were refreshed without a queue. */
async function addConnection(nextRefreshAt: string): Promise<string> {
  const id = newId();
  await insertRow('connections', {
    id: `'${id}'`,
    status: "'active'",
    access_token_sealed: "'sealed'",
    refresh_token_sealed: "'sealed'",
    connected_at: 'now()',
    next_refresh_at: nextRefreshAt,
  });
  return id;
}

async function addEvent(dispatchedAt = 'null'): Promise<string> {
  const id = newId();
  await client.query(
    `insert into events (id, name, payload, occurred_at, dispatched_at)
     values ($1, 'thing.made', jsonb_build_object('workspace_id', $2::text), now(), ${dispatchedAt})`,
    [id, owners[0]],
  );
  return id;
}

async function addAuditEntry(): Promise<string> {
  const id = newId();
  const entry = {
    id,
    occurred_at: new Date().toISOString(),
    type: 'app.updated',
    actor: {},
    outcome: 'done',
    request_id: id,
  };
  await client.query('insert into audit_pending (id, workspace_id, entry) values ($1, $2, $3)', [id, owners[0], entry]);
  return id;
}

/** What the API processes of release 0.1.0 add while the upgrade runs, and until they are replaced. */
async function addMore(): Promise<void> {
  for (const [table, owner] of queues) await addQueued(table, owner, 'due', 0);
  pendingEvents.push(await addEvent());
  auditEntries.push(await addAuditEntry());
}
const pendingEvents: string[] = [];
const auditEntries: string[] = [];
let exportsToRun: readonly string[] = [];
let refreshesToRun: readonly string[] = [];

// ---- the upgrade

/** What must be as it was. */
const readQueued = async (table: string) =>
  (
    await client.query(
      `select id, due_at, claims, failures, crash_count, claimed_slot, claimed_epoch, last_error, failed_at
       from ${table} where id = any($1::uuid[]) order by id`,
      [idsOf(table, () => true)],
    )
  ).rows;

/** Kills `plinth migrate` while it waits for a table that another session uses. */
async function killMigration(table: string): Promise<void> {
  const using = new pg.Client(database.ownerUrl);
  await using.connect();
  await using.query(`begin; lock table ${table} in access share mode`);
  const migrating = plinth('migrate', '--skip-locations');
  const killed = expect(migrating).rejects.toMatchObject({ signal: 'SIGKILL' });
  const isWaiting = async () => {
    const { rowCount } = await client.query(
      `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
         and query like $1`,
      [`%move_to_partition('${table}')%`],
    );
    return rowCount === 1;
  };
  while (!(await isWaiting())) await sleep(20);
  migrating.child.kill('SIGKILL');
  await killed;
  await using.end();
}

beforeAll(async () => {
  await migrate(
    database.ownerUrl,
    migrations.filter(({ name }) => name <= lastOfRelease),
  );
  await client.connect();
  // Rows without what they refer to. The triggers of queues are on, as in an installation.
  await client.query('set session_replication_role = replica');
  await client.query('insert into worker_slots (slot, epoch) values (1, 1), (2, 1), (3, 1), ($1, $2)', [
    stopped.slot,
    stopped.epoch + 1,
  ]);
  for (const owner of owners) {
    await insertRow('users', { id: `'${owner}'`, email: `'${owner}@example.com'` });
    await insertRow('workspaces', { id: `'${owner}'`, plan: "'free'" });
  }
  for (const [table, owner] of queues)
    for (const state of Object.keys(states) as State[])
      for (let n = 0; n < rowsOfState; n += 1) await addQueued(table, owner, state, n);
  exportsToRun = [
    await addExport('queued'),
    await addExport('queued'),
    await addExport('running', "now() + interval '20 minutes'"),
  ];
  for (const state of ['ready', 'failed']) await addExport(state);
  refreshesToRun = [await addConnection("now() - interval '1 minute'"), await addConnection('now()')];
  for (const at of ["now() + interval '1 day'", 'null']) await addConnection(at);
  await addEvent('now()');
  await addMore();
}, 120_000);

it('is interrupted between and within migrations, and finished, and changes no row of a queue', async () => {
  const tables = queues.map(([table]) => table);
  const before = new Map<string, unknown>();
  for (const table of tables) before.set(table, await readQueued(table));
  const upTo = (last: string) => migrations.filter(({ name }) => name <= last);
  await migrate(database.ownerUrl, upTo('0067'));
  await migrate(database.ownerUrl, upTo('0153'));
  await killMigration('webhook_bodies');
  expect((await plinth('migrate', '--skip-locations')).stdout).toMatch(/^applied 0153_/);
  for (const table of tables) expect(await readQueued(table), table).toEqual(before.get(table));
}, 120_000);

// ---- workers of this release

/** Three workers claim, run and complete all due rows at the same time. Returns the ids of all runs. */
async function runAll(queue: Queue, run: (id: string) => Promise<unknown> = async () => {}): Promise<string[]> {
  await releaseClaims(db, queue);
  const workers = [1, 2, 3].map((slot) => createClaimer(queue, { db, slot: { slot, epoch: 1 } }));
  const complete = createCompleter(db, queue);
  const runs: string[] = [];
  for (let empty = 0; empty < 3; ) {
    const claims = await Promise.all(
      workers.map(({ claim }) => claim(5, { claimedRows: [], finishedRows: new Set() })),
    );
    const rows = claims.flatMap((claim) => claim.rows);
    await Promise.all(
      rows.map(async (row) => {
        await run(row.id);
        await complete(row, {});
      }),
    );
    runs.push(...rows.map(({ id }) => id));
    empty = rows.length > 0 ? 0 : empty + 1;
  }
  return runs.sort();
}

const queueOf = (name: string) => world.app.background.queues.find((queue) => queue.name === name) as Queue;

describe('workers of this release', () => {
  beforeAll(addMore); // an API process that has not been replaced yet

  it.each(queues.map(([table]) => table))('run each due row of %s once, and no other', async (table) => {
    expect(await runAll(queueOf(table))).toEqual(idsOf(table, isToRun));
  });

  it('run each export once that was queued or running', async () => {
    expect(await runAll(queueOf('workspace_exports'))).toEqual(exportsToRun.toSorted());
  });

  it('refresh each token once that is due', async () => {
    // A token is due again until its connection says otherwise.
    const refresh = (id: string) =>
      sql`update connections set next_refresh_at = now() + interval '1 hour' where id = ${id}`.execute(db);
    expect(await runAll(queueOf('connection_refreshes'), refresh)).toEqual(refreshesToRun.toSorted());
  });

  it('dispatch each pending event once', async () => {
    const dispatched: string[] = [];
    const { listenAfterCommit } = createListeners<{ 'thing.made': object }, AnyDb>();
    const bus = eventBus<{ 'thing.made': object }, AnyDb>({ notify: () => {} }, () => {});
    bus.listen([
      listenAfterCommit('thing.made', async (_db, found) => void dispatched.push(...found.map(({ id }) => id))),
    ]);
    while ((await bus.dispatch(db, new Date())) > 0);
    expect(dispatched.sort()).toEqual(pendingEvents.toSorted());
  });

  it('seal each audit entry once', async () => {
    const sealer = createSealer();
    while ((await sealer.seal(opened.db as never)) > 0);
    const { rows } = await sql<{ id: string }>`select id from audit_entries`.execute(db);
    expect(rows.map(({ id }) => id).sort()).toEqual(auditEntries.toSorted());
  });
});
