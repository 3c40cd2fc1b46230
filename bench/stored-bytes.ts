// Measures whether the storage that workspaces are said to use is what they make the installation store. Every
// operation that stores something is called for ten minutes, in a workspace with the quota of the free plan, while a
// worker delivers, runs and removes. Then the growth of all tables with tenants' data, with their indexes and after
// VACUUM, and of the object storage is compared with the counted growth. At the end the quota is full, and every
// operation is called once more: those that store are refused, and no other.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Bench } from '../harness/bench.ts';
import { type Installation, startInstallation } from '../harness/installation.ts';
import { type RequestCases, startRequestCases } from '../harness/request-cases.ts';
import { rounded } from '../harness/statistics.ts';
import { storageQuotas } from '../server/src/core/auth/plans.ts';
import { recountWorkspace } from '../server/src/core/storage/recount.ts';
import { tenantTables } from '../server/src/core/storage/stored-tables.ts';
import { newId } from '../server/src/kit/ids.ts';
import type { Db } from '../server/src/tables.ts';
import { type Registered, register } from '../server/test/derived/register.ts';
import { type PreparedRequest, type RepeatCase, storesNothingMore } from '../server/test/derived/repeat-cases.ts';

const maxRatio = 2;
const clients = 4;

type Case = readonly [entry: Registered, prepare: RepeatCase];

export const storedBytes: Bench = async ({ quick, progress }) => {
  await using installation = await startInstallation();
  const { db } = installation;
  const requests = await startRequestCases(installation, { api: 1, worker: 1 });
  const cases = await createCases(requests);
  await limitWorkspaces(db);
  const storing = cases.filter(([{ isRefusedAtQuota }]) => isRefusedAtQuota);
  for (const each of storing) await send(requests, each); // each table's first pages
  const before = await measure(installation);

  const answers = await write(requests, storing, quick ? 15_000 : 600_000, progress);
  await untilSettled(db);
  const after = await measure(installation);
  const stored = after.stored - before.stored;
  const counted = after.counted - before.counted;
  const drifts = await countDrifts(db);
  progress(`${answers.ok} requests stored ${stored} bytes, of which ${counted} are counted`);

  const wrong = await tryAtQuota(requests, quick ? sampleOf(cases) : cases, progress);
  return {
    figures: {
      operations: storing.length,
      requests: answers.ok,
      refused: answers.refused,
      stored_bytes: stored,
      counted_bytes: counted,
      ratio: rounded(stored / counted),
      tables: largestGrowth(before.tables, after.tables),
      counted_wrongly: drifts,
      wrong_at_quota: wrong,
    },
    judged: [
      ...(quick
        ? []
        : [{ bar: `growth <= ${maxRatio} of the counted growth`, met: counted > 0 && stored <= maxRatio * counted }]),
      { bar: 'a recount finds what was counted', met: drifts === 0 },
      { bar: 'every operation that stores is called', met: answers.withoutSuccess.length === 0 },
      { bar: 'at the quota, what stores is refused and nothing else', met: wrong.length === 0 },
    ],
    skipped: quick ? ['the ratio: in 15 seconds, pages that were begun outweigh what is stored'] : [],
  };
};

async function createCases(requests: RequestCases): Promise<Case[]> {
  const prepare = await requests.create();
  return register.flatMap((entry) => {
    const found = prepare[entry.name];
    return found === undefined ? [] : [[entry, found] as const];
  });
}

/** The cases need a plan with every operation, and the workspace has the quota of the free one. */
const limitWorkspaces = (db: Db) =>
  db.updateTable('workspaces').set({ storage_quota_bytes: storageQuotas.free }).execute();

async function send({ world }: RequestCases, [{ method, idempotency }, prepare]: Case): Promise<number> {
  const { path, headers, ...sent } = await prepare();
  return (await world.call(method, path, { ...sent, headers: { ...headers, ...keyFor(idempotency) } })).status;
}

const keyFor = (idempotency: Registered['idempotency']): Record<string, string> =>
  idempotency === 'none' ? {} : { 'idempotency-key': newId() };

/** Calls the operations in turn, each client from another one on. */
async function write(requests: RequestCases, cases: readonly Case[], ms: number, progress: (line: string) => void) {
  const endsAt = performance.now() + ms;
  const succeeded = new Set<string>();
  const answers = { ok: 0, refused: 0 };
  let reportedAt = performance.now();
  const runClient = async (client: number) => {
    for (let at = client * 17; performance.now() < endsAt; at += 1) {
      const each = cases[at % cases.length] as Case;
      if (at % 20 === 0) await requests.world.resetRateLimits();
      const status = await send(requests, each);
      if (status === 200) succeeded.add(each[0].name);
      answers[status === 200 ? 'ok' : 'refused'] += 1;
      if (performance.now() - reportedAt < 20_000) continue;
      reportedAt = performance.now();
      progress(`${answers.ok} requests, ${answers.refused} refused`);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => runClient(client)));
  const withoutSuccess = cases.map(([{ name }]) => name).filter((name) => !succeeded.has(name));
  for (const name of withoutSuccess) progress(`${name} never succeeded`);
  return { ...answers, withoutSuccess };
}

// ---- sizes

interface Sizes {
  readonly stored: number;
  readonly counted: number;
  readonly tables: ReadonlyMap<string, number>;
}

async function measure({ db, folder }: Installation): Promise<Sizes> {
  await sql`vacuum`.execute(db);
  const tables = new Map<string, number>();
  for (const name of Object.keys(tenantTables)) {
    const { rows } = await sql<{ bytes: number }>`select coalesce(sum(pg_total_relation_size(relid)), 0)::float as bytes
      from pg_partition_tree(${name}::regclass)`.execute(db);
    tables.set(name, rows[0]?.bytes || (await sizeOf(db, name)));
  }
  const { rows } = await sql<{
    usage: Record<string, unknown>;
  }>`select to_jsonb(u) as usage from storage_usage u`.execute(db);
  const counted = rows
    .flatMap(({ usage }) => Object.entries(usage))
    .reduce((sum, [name, value]) => sum + (name.endsWith('_bytes') ? Number(value) : 0), 0);
  const inTables = [...tables.values()].reduce((sum, bytes) => sum + bytes, 0);
  return { stored: inTables + (await sizeOfFolder(folder)), counted, tables };
}

async function sizeOf(db: Db, table: string): Promise<number> {
  const { rows } = await sql<{
    bytes: number;
  }>`select pg_total_relation_size(${table}::regclass)::float as bytes`.execute(db);
  return rows[0]?.bytes ?? 0;
}

async function sizeOfFolder(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function largestGrowth(before: Sizes['tables'], after: Sizes['tables']): Record<string, number> {
  const growth = [...after].map(([name, bytes]) => [name, bytes - (before.get(name) ?? 0)] as const);
  return Object.fromEntries(growth.sort(([, a], [, b]) => b - a).slice(0, 20));
}

/** Waits until the changes are merged and no event is left, as nothing of them is kept. */
async function untilSettled(db: Db): Promise<void> {
  for (let second = 0; second < 120; second += 1) {
    const { rows } = await sql<{ waiting: number }>`select (select count(*) from storage_changes)::int
      + (select count(*) from audit_pending)::int as waiting`.execute(db);
    if (rows[0]?.waiting === 0) return;
    await sleep(1_000);
  }
  throw new Error('the counted changes were not merged within two minutes');
}

async function countDrifts(db: Db): Promise<number> {
  const workspaces = await db.selectFrom('workspaces').select('id').execute();
  let drifts = 0;
  for (const { id } of workspaces) if ((await recountWorkspace(db, id)) !== undefined) drifts += 1;
  return drifts;
}

// ---- at the quota

/** Every tenth operation, because each is prepared while there is space and called once there is none. */
const sampleOf = (cases: readonly Case[]): Case[] => cases.filter((_, at) => at % 10 === 0);

/** Prepares a request for every operation, fills the quota, and returns the operations that answer wrongly. */
async function tryAtQuota(
  { world, processes }: RequestCases,
  cases: readonly Case[],
  progress: (line: string) => void,
): Promise<string[]> {
  const prepared: (readonly [Registered, PreparedRequest])[] = [];
  for (const [entry, prepare] of cases) {
    await world.resetRateLimits();
    prepared.push([entry, await prepare()]);
  }
  await world.db.updateTable('workspaces').set({ storage_quota_bytes: 0 }).execute();
  processes.kill('api', () => 0); // a process trusts for a minute what it has read of a workspace's usage
  await processes.allReady();
  progress(`the quota is full: ${prepared.length} operations are called`);
  const wrong: string[] = [];
  for (const [entry, { path, headers, ...sent }] of prepared) {
    await world.resetRateLimits();
    const got = await world.call(entry.method, path, {
      ...sent,
      headers: { ...headers, ...keyFor(entry.idempotency) },
    });
    const mayRefuse = entry.isRefusedAtQuota;
    const mustRefuse = mayRefuse && !storesNothingMore.includes(entry.name);
    const isRefused = got.status === 402 && got.body.code === 'storage_quota_exceeded';
    if (mustRefuse ? isRefused : got.status === 200) continue;
    wrong.push(`${entry.name}: ${got.status} ${got.body?.code ?? ''}`);
    progress(`WRONG ${wrong.at(-1)}`);
  }
  return wrong;
}
