// Owns the connection to PostgreSQL: the pool, prepared statements and transactions. It knows no table.

import type { Socket } from 'node:net';
import { CompiledQuery, Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import pg from 'pg';
import { hold } from '../process-time.ts';

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

export function openDatabase<Tables>(options: DatabaseOptions): Database<Tables> {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    application_name: options.applicationName ?? 'plinth',
    connectionTimeoutMillis: options.acquireTimeoutMs ?? 5_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    statement_timeout: 30_000,
    lock_timeout: 3_000,
    idle_in_transaction_session_timeout: 15_000,
    // JIT compilation can take 100 ms, and our statements take milliseconds. The cost of random pages on an SSD keeps
    // the planner from scanning small tables instead of using their key. A request uses one processor of the database,
    // not three.
    options: '-c jit=off -c random_page_cost=1.1 -c max_parallel_workers_per_gather=0',
    Client: createClientClass(options.onStatement),
  });
  // Longer than statement_timeout: a server that is alive ends a slow statement itself.
  pool.on('connect', (client) => {
    dropSilentConnections(client, options.silenceTimeoutMs ?? 35_000);
    client.on('error', () => {}); // the query reports it; without a listener it would end the process
  });
  // The pool replaces a broken idle connection. Without a listener the error would end the process.
  pool.on('error', () => {});
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  return { db, pool, close: () => db.destroy() };
}

const statementNames = new Map<string, string>();

/**
 * A prepared statement for hot paths: parsed and planned once per connection. Compiling a Kysely query at each call
 * would cost a third of the throughput of a simple read.
 */
export function prepared<Row, Values extends readonly unknown[]>(name: string, text: string) {
  statementNames.set(text, name);
  return async (db: AnyDb, ...values: Values): Promise<Row[]> =>
    (await db.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows;
}

/**
 * Sends rows with `copy … from stdin`, in PostgreSQL's text format: the fastest way to insert many. Returns how many there were.
 * Works in a transaction as any other statement.
 */
export async function copyRows(db: AnyDb, text: string, rows: string): Promise<number> {
  const { numAffectedRows } = await db.executeQuery(CompiledQuery.raw(text, [new CopiedRows(rows)]));
  return Number(numAffectedRows ?? 0);
}

class CopiedRows {
  readonly rows: string;
  constructor(rows: string) {
    this.rows = rows;
  }
}

/**
 * Runs `work` in a transaction. Inside another transaction it joins that one, so there is one commit: the outermost.
 */
export function transaction<Tables, Result>(
  db: Kysely<Tables>,
  work: (db: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  if (db.isTransaction) return work(db);
  const hooks: (() => void)[] = [];
  return db
    .transaction()
    .execute((tx: Transaction<Tables>) => {
      onCommit.set(tx, hooks);
      return work(tx);
    })
    .then((result) => {
      for (const hook of hooks) hook();
      return result;
    });
}

/** Runs `work` with a time limit per statement: the smallest of those around it. A statement beyond it fails, and nothing changes. */
export function withTimeLimit<Tables, Result>(
  db: Kysely<Tables>,
  limitMs: number,
  work: (db: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  return transaction(db, async (db) => {
    const outer = timeLimits.get(db);
    if (outer !== undefined && outer <= limitMs) return work(db);
    await sql`set local statement_timeout = ${sql.lit(limitMs)}`.execute(db);
    timeLimits.set(db, limitMs);
    const result = await work(db);
    await sql`set local statement_timeout = ${outer === undefined ? sql.raw('default') : sql.lit(outer)}`.execute(db);
    if (outer === undefined) timeLimits.delete(db);
    else timeLimits.set(db, outer);
    return result;
  });
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
 * Waits for an advisory lock on this name and holds it until the transaction ends: for rules that span several rows.
 */
export async function takeAdvisoryLock<Tables>(db: Kysely<Tables>, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db);
}

function createClientClass(onStatement: DatabaseOptions['onStatement']): typeof pg.Client {
  return class extends pg.Client {
    // biome-ignore lint/suspicious/noExplicitAny: pg overloads this method many ways; only (text, values) is ours.
    override query(query: any, ...rest: any[]): any {
      onStatement?.(typeof query === 'string' ? query : (query?.text ?? ''));
      const name = typeof query === 'string' ? statementNames.get(query) : undefined;
      const [values, ...others] = rest;
      if (Array.isArray(values) && values[0] instanceof CopiedRows) return this.#copy(query, values[0]);
      // Writing large values to the connection takes long.
      return hold(() =>
        name === undefined ? super.query(query, ...rest) : super.query({ name, text: query, values }, ...others),
      );
    }

    #copy(text: string, { rows }: CopiedRows): Promise<unknown> {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const copy = new pg.Query(text, undefined, (error: unknown, result: unknown) =>
        error ? reject(error) : resolve(result),
      );
      // Called when the server is ready to receive rows. The library itself would refuse to send any.
      Object.assign(copy, {
        handleCopyInResponse(connection: { sendCopyFromChunk(rows: Buffer): void; endCopyFrom(): void }) {
          connection.sendCopyFromChunk(Buffer.from(rows));
          connection.endCopyFrom();
        },
      });
      hold(() => super.query(copy));
      return promise;
    }
  } as typeof pg.Client;
}

/**
 * Drops a connection on which nothing was received for this long while a query runs. The socket's own timer costs
 * nothing per query.
 */
function dropSilentConnections(client: pg.PoolClient, timeoutMs: number): void {
  const inner = client as unknown as { connection: { stream: Socket }; readyForQuery: boolean };
  const { stream } = inner.connection;
  stream.setTimeout(timeoutMs);
  stream.on('timeout', () => {
    if (!inner.readyForQuery) stream.destroy();
  });
}
