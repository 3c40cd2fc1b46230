// Owns the connection to PostgreSQL: the pool, prepared statements and transactions. It knows no table.

import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { CompiledQuery, Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import pg from 'pg';
import { CopiedRows, createClientClass, nameStatement } from './client.ts';
import { collectForCommit, type Rows, sendTogether, sendWithCommitForRows, sendWithNext } from './send.ts';
import { openSharedReads, type SharedReads } from './shared-reads.ts';

// Counts and amounts are below 2^53, so bigint and numeric are read as numbers.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number);

// biome-ignore lint/suspicious/noExplicitAny: the kit runs on any set of tables.
export type AnyDb = Kysely<any>;

export interface DatabaseOptions {
  url: string;
  poolSize: number;
  applicationName?: string;
  /** How long a request waits for a free connection before it fails with 503. */
  acquireTimeoutMs?: number;
  /** How long to wait for any bytes from a server that has not finished its answer. */
  silenceTimeoutMs?: number;
  /** Receives the text of every statement before it is sent. Tests check tenant predicates with it. */
  onStatement?: (text: string) => void;
}

export interface Database<Tables> {
  readonly db: Kysely<Tables>;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

// JIT compilation can take 100 ms, and our statements take milliseconds. The cost of random pages on an SSD keeps the planner
// from scanning small tables instead of using their key. A request uses one processor of the database, not three.
const plannerOptions = '-c jit=off -c random_page_cost=1.1 -c max_parallel_workers_per_gather=0';

export function openDatabase<Tables>(options: DatabaseOptions): Database<Tables> {
  const Client = createClientClass(options.onStatement);
  const settings: pg.ClientConfig = {
    connectionString: options.url,
    application_name: options.applicationName ?? 'plinth',
    connectionTimeoutMillis: options.acquireTimeoutMs ?? 5_000,
    keepAlive: true,
    statement_timeout: 30_000,
    lock_timeout: 3_000,
    idle_in_transaction_session_timeout: 15_000,
    options: plannerOptions,
    pipeline: true,
  };
  const pool = new pg.Pool({ ...settings, max: options.poolSize, idleTimeoutMillis: 30_000, Client });
  // Longer than statement_timeout: a server that is alive ends a slow statement itself.
  pool.on('connect', (client) => {
    dropSilentConnections(client, options.silenceTimeoutMs ?? 35_000);
    client.on('error', () => {}); // the query reports it; without a listener it would end the process
  });
  // The pool replaces a broken idle connection. Without a listener the error would end the process.
  pool.on('error', () => {});
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const shared = openSharedReads(({ statementTimeoutMs, silenceTimeoutMs }) => {
    const readOnly = {
      statement_timeout: statementTimeoutMs,
      options: `${plannerOptions} -c default_transaction_read_only=on`,
    };
    const client = new Client({ ...settings, ...readOnly });
    client.once('connect', () => dropSilentConnections(client, silenceTimeoutMs));
    return client;
  });
  sharedReads.set(db, shared);
  return {
    db,
    pool,
    async close() {
      await shared.close();
      await db.destroy();
    },
  };
}

/**
 * A prepared statement for hot paths: parsed and planned once per connection. Compiling a Kysely query at each call
 * would cost a third of the throughput of a simple read. `query` is the statement with its values, to be sent with others
 * (send.ts).
 */
export function prepared<Row, Values extends readonly unknown[]>(name: string, text: string) {
  nameStatement(name, text);
  const query = (...values: Values) => CompiledQuery.raw(text, [...values]) as CompiledQuery<Row>;
  const execute = async (db: AnyDb, ...values: Values): Promise<Row[]> =>
    (await db.executeQuery(query(...values))).rows;
  return Object.assign(execute, { query });
}

/** The same for a text that is put together from settings. Each text has a name of its own: a name must always mean the same. */
export function preparedByText<Row, Values extends readonly unknown[]>(name: string, text: string) {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8);
  return prepared<Row, Values>(`${name} ${hash}`, text);
}

const sharedReads = new WeakMap<object, SharedReads>();

/** A prepared statement that only reads, by key. Outside of a transaction it uses connections that all requests share. */
export function preparedRead<Row, Values extends readonly unknown[]>(name: string, text: string) {
  const readAlone = prepared<Row, Values>(name, text);
  return async (db: AnyDb, ...values: Values): Promise<Row[]> => {
    const rows = await sharedReads.get(db)?.read(text, values);
    return (rows as Row[] | undefined) ?? readAlone(db, ...values);
  };
}

/**
 * Sends rows with `copy … from stdin`, in PostgreSQL's text format: the fastest way to insert many. Works in a transaction as any
 * other statement.
 */
export async function copyRows(db: AnyDb, text: string, rows: string): Promise<void> {
  await db.executeQuery(CompiledQuery.raw(text, [new CopiedRows(rows)]));
}

/**
 * Runs `work` in a transaction. Inside another transaction it joins that one, so there is one commit: the outermost.
 */
export async function transaction<Tables, Result>(
  db: Kysely<Tables>,
  work: (db: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  if (db.isTransaction) return work(db);
  const hooks: (() => void)[] = [];
  const { run, findFailure } = collectForCommit(work);
  const result = await db
    .transaction()
    .execute((tx: Transaction<Tables>) => {
      onCommit.set(tx, hooks);
      return run(tx);
    })
    .catch(async (error: unknown) => {
      throw (await findFailure()) ?? error;
    });
  for (const hook of hooks) hook();
  return result;
}

/** Runs statements as one transaction in one round trip, and returns the rows of each. Inside another transaction they join that one. */
export async function transactionOf<const Queries extends readonly CompiledQuery[]>(
  db: AnyDb,
  ...queries: Queries
): Promise<Rows<Queries>> {
  if (db.isTransaction) return sendTogether(db, ...queries);
  const answers = await transaction(db, (db) => Promise.all(queries.map((query) => sendWithCommitForRows(db, query))));
  return answers.map(({ rows }) => rows) as Rows<Queries>;
}

/** Runs `work` with a time limit per statement: the smallest of those around it. A statement beyond it fails, and nothing changes. */
export function withTimeLimit<Tables, Result>(
  db: Kysely<Tables>,
  limitMs: number,
  work: (db: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  const isJoined = db.isTransaction;
  return transaction(db, async (db) => {
    const outer = timeLimits.get(db);
    if (outer !== undefined && outer <= limitMs) return work(db);
    await sendWithNext(db, sql`set local statement_timeout = ${sql.lit(limitMs)}`.compile(db));
    timeLimits.set(db, limitMs);
    const result = await work(db);
    if (!isJoined) return result; // the limit ends with the transaction
    const restored = outer === undefined ? sql.raw('default') : sql.lit(outer);
    await sendWithNext(db, sql`set local statement_timeout = ${restored}`.compile(db));
    if (outer === undefined) timeLimits.delete(db);
    else timeLimits.set(db, outer);
    return result;
  });
}

/** Sends one read with a time limit. Outside of a transaction it has one of its own, in the same round trip. */
export async function readWithTimeLimit<Row>(db: AnyDb, limitMs: number, query: CompiledQuery<Row>): Promise<Row[]> {
  if (db.isTransaction) return withTimeLimit(db, limitMs, async (db) => (await db.executeQuery(query)).rows);
  const [, rows] = await transactionOf(db, sql`set local statement_timeout = ${sql.lit(limitMs)}`.compile(db), query);
  return rows;
}

/** Runs one of several reads. If it fails, `onError` is called, and the next can follow. */
type Attempt<Tables> = (
  read: (db: Kysely<Tables>) => Promise<void>,
  onError: (error: unknown) => void,
) => Promise<void>;

/** Reads that see the same moment, one after another on one connection, with a time limit per statement. */
export function readInOneSnapshot<Tables>(
  db: Kysely<Tables>,
  limitMs: number,
  work: (attempt: Attempt<Tables>) => Promise<void>,
): Promise<void> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (db) => {
      await sql`set local statement_timeout = ${sql.lit(limitMs)}`.execute(db);
      await sql`savepoint before_reads`.execute(db); // returning to it keeps the snapshot and the limit
      await work((read, onError) =>
        read(db).catch(async (error: unknown) => {
          await sql`rollback to savepoint before_reads`.execute(db);
          onError(error);
        }),
      );
    });
}

/** By transaction. */
const timeLimits = new WeakMap<object, number>();

const onCommit = new WeakMap<object, (() => void)[]>();

/**
 * Calls `hook` after the commit, or never if there is none. Outside of a transaction, at once. `hook` must not throw.
 */
export function afterCommit<Tables>(db: Kysely<Tables>, hook: () => void): void {
  const hooks = onCommit.get(db);
  if (hooks === undefined) hook();
  else hooks.push(hook);
}

/**
 * Takes an advisory lock on this name until the transaction ends, for rules that span several rows. The next statement waits for
 * it, and sees what its previous owner has committed.
 */
export const takeAdvisoryLock = (db: AnyDb, name: string): Promise<void> =>
  sendWithNext(db, sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.compile(db));

/**
 * Drops a connection on which nothing was received for this long while a query runs. The socket's own timer costs
 * nothing per query.
 */
function dropSilentConnections(client: pg.Client, timeoutMs: number): void {
  const inner = client as unknown as { connection: { stream: Socket }; readyForQuery: boolean };
  const { stream } = inner.connection;
  stream.setTimeout(timeoutMs);
  stream.on('timeout', () => {
    if (!inner.readyForQuery) stream.destroy();
  });
}
