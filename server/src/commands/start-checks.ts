// What every process checks when it starts: that the server and the database are suitable, and that the keys are those that
// the database was used with. Each fault is a sentence that says what to do.
import type pg from 'pg';
import type { Config } from '../config.ts';
import type { Database } from '../kit/db/database.ts';
import type { Tables } from '../tables.ts';
import { refuseFaults } from './failures.ts';
import { recognizeKeys } from './known-keys.ts';

const neededVersion = 15;

export interface Server {
  readonly version: string;
  readonly number: number;
  readonly database: string;
  readonly encoding: string;
  readonly has_icu: boolean;
  readonly pid: number;
  readonly limit: string;
}

/** Throws a ConfigError that says what is wrong. Any other failure means that nothing could be checked. */
export async function requireSoundStart({ pool, db }: Database<Tables>, config: Config): Promise<void> {
  refuseFaults((await inspectDatabase(pool)).faults);
  refuseFaults(await recognizeKeys(db, config, new Date()));
}

interface Inspected {
  readonly server: Server;
  /** What makes the server, the database or the way to it unsuitable. */
  readonly faults: string[];
}

/** The connections of a pool have time limits, unless something between drops them. */
export async function inspectDatabase(pool: pg.Pool): Promise<Inspected> {
  const client = await pool.connect();
  try {
    const { server, faults } = await inspectServer(client);
    return { server, faults: faults.length === 0 && server.limit === '0' ? [unlimited] : faults };
  } finally {
    client.release();
  }
}

const unlimited =
  'The time limits of statements have no effect. Remove statement_timeout from DATABASE_URL, or take away whatever drops it on the way to PostgreSQL.';
const pooled =
  'DATABASE_URL leads to a connection pooler, which drops the time limits of statements and mixes up prepared ones. Set it to the address of PostgreSQL itself.';

export async function inspectServer(client: pg.ClientBase): Promise<Inspected> {
  const { rows } = await client.query<Server>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
       current_database() as database, current_setting('server_encoding') as encoding, pg_backend_pid() as pid,
       exists (select from pg_collation where collname = 'und-x-icu') as has_icu,
       current_setting('statement_timeout') as limit`,
  );
  const [server] = rows;
  if (server === undefined) throw new Error('PostgreSQL answered without a row');
  const { version, number, database, encoding, has_icu, pid } = server;
  const faults = [
    number < neededVersion * 10_000 &&
      `This is PostgreSQL ${version}. Plinth needs ${neededVersion} or newer: upgrade the server.`,
    encoding !== 'UTF8' &&
      `The database "${database}" has the encoding ${encoding}, and Plinth needs UTF8. Create it with: create database ${database} encoding 'UTF8' template template0`,
    !has_icu &&
      'This PostgreSQL was built without ICU, which Plinth needs to compare names. Use a package that has it: all of Debian, Red Hat and the PostgreSQL project do.',
    // A pooler answers with a number of its own, by which it would find the connection to cancel.
    (client as unknown as { processID: number | null }).processID !== pid && pooled,
  ];
  return { server, faults: faults.filter((fault) => fault !== false) };
}
