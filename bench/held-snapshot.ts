// Measures what an open snapshot, such as that of a back-up or of a forgotten psql session, costs background work: a
// claim, a batch of events and a batch of audit entries, before and after many rows were completed under the snapshot, and
// deliveries beside an export and a back-up.
import pg from 'pg';
import type { Bench, Judged } from '../harness/bench.ts';
import { startPostgres } from '../harness/postgres.ts';
import { rounded } from '../harness/statistics.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Tables } from '../server/src/tables.ts';
import { openClaims, openClaimsBesideQuarantined, openClaimsBesideRunning } from './held-snapshot/claims.ts';
import { deliveryParts, measureDeliveries } from './held-snapshot/deliveries.ts';
import { openEvents, openSealing } from './held-snapshot/logs.ts';
import { openGraphileWorker, openPgBoss } from './held-snapshot/others.ts';
import { measureRounds, type Opened, type Services } from './held-snapshot/part.ts';

const parts = {
  claims: { what: 'a claim of 10', open: openClaims },
  running: { what: 'a claim of 10 while 5,000 rows run in two other workers', open: openClaimsBesideRunning },
  quarantined: {
    what: "a claim of 10 while an owner's earliest row is quarantined",
    open: openClaimsBesideQuarantined,
  },
  events: { what: 'the dispatch of 20 events', open: openEvents },
  sealing: { what: 'the sealing of 20 audit entries', open: openSealing },
  // For comparison, and not judged.
  graphile_worker: { what: 'a fetch of 10 by graphile-worker', open: openGraphileWorker },
  pg_boss: { what: 'a fetch of 10 by pg-boss', open: openPgBoss },
} satisfies Record<string, { what: string; open(services: Services): Promise<Opened> }>;
const others: readonly PartName[] = ['graphile_worker', 'pg_boss'];
type PartName = keyof typeof parts;

const bars = { p50: 2, cpu: 1.5 };
const chunkSize = 5_000;

export const heldSnapshot: Bench = async ({ quick, only, progress }) => {
  const allNames = [...Object.keys(parts), ...Object.keys(deliveryParts)];
  const names = allNames.filter((name) => only === undefined || name === only);
  if (names.length === 0) throw new Error(`--only is one of ${allNames.join(', ')}`);
  const ofTables = (Object.keys(parts) as PartName[]).filter((name) => names.includes(name));
  const ofDeliveries = Object.keys(deliveryParts).filter((name) => names.includes(name));
  const measured: Measured[] = [];
  if (ofTables.length > 0) measured.push(await measureTables(ofTables, quick, progress));
  if (ofDeliveries.length > 0) measured.push(await measureDeliveries(ofDeliveries, quick, progress));
  return {
    figures: Object.assign({}, ...measured.map(({ figures }) => figures)),
    judged: measured.flatMap(({ judged }) => judged),
    skipped: allNames.filter((name) => !names.includes(name)).map((name) => `the part ${name}`),
  };
};

interface Measured {
  readonly figures: Readonly<Record<string, unknown>>;
  readonly judged: readonly Judged[];
}

async function measureTables(
  names: readonly PartName[],
  quick: boolean,
  progress: (line: string) => void,
): Promise<Measured> {
  const completions = quick ? 100_000 : 500_000;
  const figures: Record<string, unknown> = { completions };
  const judged: Judged[] = [];
  const postgres = await startPostgres();
  try {
    await migrateAll(postgres.url);
    for (const name of names) {
      const url = await copyDatabase(postgres.url, name);
      const { empty, held, released } = await measurePart(name, url, completions, quick ? 9 : 41, progress);
      const ratios = { p50: held.p50_ms / empty.p50_ms, cpu: held.cpu_ms / empty.cpu_ms };
      figures[name] = { empty, held, released, p50_ratio: rounded(ratios.p50), cpu_ratio: rounded(ratios.cpu) };
      if (others.includes(name)) continue;
      const what = `${parts[name].what}, after ${completions} completions under a held snapshot`;
      judged.push(
        { bar: `${what}: p50 <= ${bars.p50} of the empty table's`, met: ratios.p50 <= bars.p50 },
        { bar: `${what}: CPU time of PostgreSQL <= ${bars.cpu} of the empty table's`, met: ratios.cpu <= bars.cpu },
      );
    }
  } finally {
    postgres.stop();
  }
  return { figures, judged };
}

/** Each part has a database of its own, so no part reads what another one left behind. */
async function copyDatabase(serverUrl: string, part: PartName): Promise<string> {
  const client = new pg.Client(serverUrl.replace(/\/[^/]*$/, '/template1'));
  await client.connect();
  await client.query(`create database bench_${part} template postgres`);
  await client.end();
  return serverUrl.replace(/\/[^/]*$/, `/bench_${part}`);
}

async function measurePart(
  name: PartName,
  url: string,
  completions: number,
  rounds: number,
  progress: (line: string) => void,
) {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => {}); // expected if the server is stopped early; graphile-worker asks for a handler
  // One connection, so its backend's CPU time is that of the measured statements.
  const database = openDatabase<Tables>({ url, poolSize: 1 });
  let part: Opened | undefined;
  try {
    part = await parts[name].open({ db: database.db, pool });
    const opened = part;
    const { rows } = await database.pool.query('select pg_backend_pid() as pid');
    const measure = async (state: string) => {
      const figures = await measureRounds(opened, rows[0].pid, rounds);
      progress(
        `${name}, ${state}: p50 ${figures.p50_ms} ms, p95 ${figures.p95_ms} ms, CPU of PostgreSQL ${figures.cpu_ms} ms`,
      );
      return figures;
    };
    await measureRounds(part, rows[0].pid, 10); // warm-up
    await pool.query('vacuum analyze');
    const empty = await measure('empty table');
    const snapshot = await openSnapshot(url);
    for (let done = 0; done < completions; done += chunkSize) {
      await part.complete(Math.min(chunkSize, completions - done));
      // A process that works all the time sees the completions as they happen.
      await part.add();
      await part.work();
      await part.finish();
    }
    const held = await measure(`${completions} completions under a held snapshot`);
    await snapshot.end();
    await pool.query('vacuum analyze');
    return { empty, held, released: await measure('snapshot released') };
  } finally {
    await part?.close?.();
    await pool.end();
    await database.close();
  }
}

async function openSnapshot(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => {}); // expected if the server is stopped early
  await client.connect();
  await client.query('begin isolation level repeatable read read only');
  await client.query('select count(*) from pg_class');
  return client;
}
