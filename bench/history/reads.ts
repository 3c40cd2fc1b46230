// Reads notes by id and by page from tables with 31 and with 91 partitions, and from one without.
import { sql } from 'kysely';
import { median, rounded } from '../../harness/statistics.ts';
import { preparedForPartition } from '../../server/src/kit/background/partitions.ts';
import { type AnyDb, openDatabase, prepared } from '../../server/src/kit/db/database.ts';
import { createDays, createNotes, insertNotes, type Measured, measure, type Services } from './part.ts';

const bar = 1.5;
const atOnce = 32;
const pageSize = 50;

type Read = (db: AnyDb, id: string) => Promise<unknown>;

export async function measureReads(services: Services): Promise<Measured> {
  const plain = await measureTable(services, 0);
  const inPartitions = [await measureTable(services, 31), await measureTable(services, 91)];
  return {
    figures: { plain, in_partitions: inPartitions },
    judged: inPartitions.flatMap((read) => [
      {
        bar: `with ${read.partitions} partitions, a read by id takes <= ${bar} of the CPU time of PostgreSQL without`,
        met: read.get_cpu_us <= bar * plain.get_cpu_us,
      },
      {
        bar: `with ${read.partitions} partitions, a page takes <= ${bar} of the CPU time of PostgreSQL without`,
        met: read.page_cpu_us <= bar * plain.page_cpu_us,
      },
      {
        bar: `with ${read.partitions} partitions, ${atOnce} pages at once fail never`,
        met: read.failures_at_once === 0,
      },
    ]),
  };
}

async function measureTable(services: Services, partitions: number) {
  const { pool, quick, progress } = services;
  const name = `bench_reads_${partitions}`;
  await pool.query(createNotes(name, partitions > 0));
  if (partitions > 0) await createDays(pool, name, partitions - 5, 1_000); // and the first, today, and three ahead
  await pool.query(insertNotes(name, quick ? 20_000 : 1_000_000, 26, 1));
  await pool.query(`vacuum analyze ${name}`);
  // Mostly, what is read is recent.
  const { rows } = await pool.query<{ id: string }>(
    `select id from ${name} where id >= first_id_at(now() - interval '4 days') order by md5(id::text) limit $1`,
    [quick ? 200 : 2_000],
  );
  const ids = rows.map(({ id }) => id);
  const get = partitions > 0 ? getFromPartition(name) : getFromTable(name);
  const readPage = await preparePages(services, name, ids);
  const read = {
    partitions: (await pool.query('select from pg_inherits where inhparent = $1::regclass', [name])).rowCount ?? 0,
    get_cpu_us: await measureReadsOf(services, ids, get),
    page_cpu_us: await measureReadsOf(services, ids, readPage),
    get_locks: await countLocks(services, name, get, ids[0] as string),
    page_locks: await countLocks(services, name, readPage, ids[0] as string),
    failures_at_once: await readAtOnce(services, ids, readPage),
  };
  progress(JSON.stringify(read));
  return read;
}

const getText = (name: string, where: string): string => `select id, body from ${name} where id = $1 and ${where}`;

const getFromTable = (name: string): Read => prepared<object, [string]>(`get from ${name}`, getText(name, 'true'));

function getFromPartition(name: string): Read {
  const get = preparedForPartition<object, [string]>(`get from ${name}`, { column: 'id', days: 1 }, (isInPartition) =>
    getText(name, isInPartition),
  );
  return (db, id) => get(id)(db, id);
}

/** Reads the ids of a page as the bodies of a page of deliveries are read: with bounds, which name the partitions. */
async function preparePages({ pool }: Services, name: string, ids: readonly string[]): Promise<Read> {
  const { rows } = await pool.query<{ id: string; page: string[] }>(
    `select id, array(select id from ${name} n where n.id >= first.id order by n.id limit ${pageSize}) as page
     from unnest($1::uuid[]) first (id)`,
    [ids],
  );
  const pages = new Map(rows.map(({ id, page }) => [id, page]));
  return (db, id) => {
    const page = pages.get(id) ?? [];
    return sql`select id, octet_length(body) from ${sql.table(name)}
      where id = any(${page}::uuid[]) and id between ${page[0]} and ${page.at(-1)}`.execute(db);
  };
}

/** The CPU time of PostgreSQL per read, in µs: the median of five blocks. */
async function measureReadsOf(services: Services, ids: readonly string[], read: Read): Promise<number> {
  const readAll = async () => {
    for (const id of ids) await read(services.db, id);
  };
  await readAll(); // prepares the statements
  const used: number[] = [];
  for (let block = 0; block < 5; block += 1) used.push((await measure(services, readAll)).cpu_ms);
  return rounded((median(used) * 1_000) / ids.length, 1);
}

/** How many tables and indexes of these notes a read locks. */
const countLocks = ({ db }: Services, name: string, read: Read, id: string): Promise<number> =>
  db.transaction().execute(async (db) => {
    await read(db, id);
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_locks
      where pid = pg_backend_pid() and relation::regclass::text ~ ${name}`.execute(db);
    return rows[0]?.count ?? 0;
  });

async function readAtOnce({ url }: Services, ids: readonly string[], read: Read): Promise<number> {
  const database = openDatabase<never>({ url, poolSize: atOnce });
  const db = database.db as AnyDb;
  const inTransaction = (id: string) => db.transaction().execute((db) => read(db, id));
  const results = await Promise.allSettled(
    Array.from({ length: atOnce }, async (_, first) => {
      for (let place = first; place < ids.length; place += atOnce) await inTransaction(ids[place] as string);
    }),
  );
  await database.close();
  return results.filter(({ status }) => status === 'rejected').length;
}
