// Owns the connection to PostgreSQL: the pool, named statements and transactions. Knows no table.

import type { Socket } from 'node:net';
import { CompiledQuery, Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import pg from 'pg';

// Counts and money are bounded below 2^53 by the contract, so bigint and numeric arrive as numbers.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number);

// biome-ignore lint/suspicious/noExplicitAny: the kit runs on any set of tables.
export type AnyDb = Kysely<any>;

export interface DatabaseOptions {
  url: string;
  poolSize: number;
  applicationName?: string;
  /** How long a caller waits for a free connection before the request fails as unavailable. */
  acquireTimeoutMs?: number;
  /** How long a server may say nothing while it owes an answer. */
  silenceTimeoutMs?: number;
  /** Sees the text of every statement before it is sent. Tests use it to check tenant predicates. */
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
    // Compiling a statement pays for reports of minutes. Ours take milliseconds, and it can take a hundred. They look rows
    // up by key: a planner that thinks of spinning disks reads the whole table instead, as long as it is small.
    options: '-c jit=off -c random_page_cost=1.1',
    Client: createClientClass(options.onStatement),
  });
  // A server that no longer answers at all is given up a little after it should have given up itself.
  pool.on('connect', (client) => {
    dropSilentConnections(client, options.silenceTimeoutMs ?? 35_000);
    client.on('error', () => {}); // told to whoever asked; unheard it would end the process
  });
  // A broken idle connection is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => {});
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  return { db, pool, close: () => db.destroy() };
}

const names = new Map<string, string>();

/**
 * A hot statement: its text is parsed and planned once per connection, under `name`, and sent by that name after.
 * Compiling a builder at each call costs a third of the throughput of such a read.
 */
export function prepared<Row, Values extends readonly unknown[]>(name: string, text: string) {
  names.set(text, name);
  return async (db: AnyDb, ...values: Values): Promise<Row[]> =>
    (await db.executeQuery<Row>(CompiledQuery.raw(text, values as unknown as unknown[]))).rows;
}

/** Runs `work` in one transaction. Inside another it joins that one: there is one commit, the outermost. */
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

/** Runs one statement with a time limit of its own; beyond it the database is unavailable, and nothing changed. */
export function withTimeLimit<Tables, Result>(
  db: Kysely<Tables>,
  limitMs: number,
  work: (db: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  return transaction(db, async (db) => {
    await sql`set local statement_timeout = ${sql.lit(limitMs)}`.execute(db);
    const result = await work(db);
    await sql`set local statement_timeout to default`.execute(db);
    return result;
  });
}

const onCommit = new WeakMap<object, (() => void)[]>();

/** Calls `hook` once the transaction has committed, and never if it does not; outside of one, at once. Must not throw. */
export function afterCommit<Tables>(db: Kysely<Tables>, hook: () => void): void {
  const hooks = onCommit.get(db);
  if (hooks === undefined) hook();
  else hooks.push(hook);
}

/** Waits until nobody else holds this name, until the transaction ends: for rules over more than one row. */
export async function takeAdvisoryLock<Tables>(db: Kysely<Tables>, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db);
}

function createClientClass(onStatement: DatabaseOptions['onStatement']): typeof pg.Client {
  return class extends pg.Client {
    // biome-ignore lint/suspicious/noExplicitAny: pg overloads this method many ways; only (text, values) is ours.
    override query(query: any, ...rest: any[]): any {
      onStatement?.(typeof query === 'string' ? query : (query?.text ?? ''));
      const name = typeof query === 'string' ? names.get(query) : undefined;
      if (name === undefined) return super.query(query, ...rest);
      const [values, ...others] = rest;
      return super.query({ name, text: query, values }, ...others);
    }
  } as typeof pg.Client;
}

/**
 * Drops a connection whose server has said nothing for this long while it owes an answer. The socket's own timer, instead
 * of one per query: that would be paid on every request.
 */
function dropSilentConnections(client: pg.PoolClient, ms: number): void {
  const inner = client as unknown as { connection: { stream: Socket }; readyForQuery: boolean };
  const { stream } = inner.connection;
  stream.setTimeout(ms);
  stream.on('timeout', () => {
    if (!inner.readyForQuery) stream.destroy();
  });
}
