// The connection to PostgreSQL: the pool, prepared statements and transactions. It is independent of the tables.

import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { CompiledQuery, Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import pg from 'pg';
import { CopiedRows, createClientClass, nameStatement } from './client.ts';
import {
  type KeyType,
  type LookupEvents,
  type Lookups,
  type LookupTexts,
  openLookups,
  writeLookup,
} from './lookups.ts';
import { collectForCommit, type Rows, sendTogether, sendWithCommitForRows, sendWithNext } from './send.ts';
import { openSharedReads } from './shared-reads.ts';

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
  /** How long to wait for further bytes while the server is responding. 0 for any time. */
  silenceTimeoutMs?: number;
  /** Receives the text of every statement before it is sent. Tests use it to check tenant predicates. */
  onStatement?: (text: string) => void;
  lookups?: LookupEvents;
}

export interface Database<Tables> {
  readonly db: Kysely<Tables>;
  /** The same database. Lookups through this handle are never combined with lookups through `db`. */
  readonly strangersDb: Kysely<Tables>;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

// JIT compilation can take 100 ms, while our statements take milliseconds. The random page cost suits SSDs, and makes
// the planner look up keys in small tables instead of scanning them. Without parallel workers, a request uses one of
// the database's processors instead of three.
export const plannerOptions = '-c jit=off -c random_page_cost=1.1 -c max_parallel_workers_per_gather=0';

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
  // Longer than statement_timeout, because a working server ends slow statements itself.
  pool.on('connect', (client) => {
    dropSilentConnections(client, options.silenceTimeoutMs ?? 35_000);
    client.on('error', () => {}); // the query reports the error; without a listener, it would end the process
  });
  // The pool replaces a broken idle connection. Without a listener, the error would end the process.
  pool.on('error', () => {});
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const shared = openSharedReads(({ statementTimeoutMs, silenceTimeoutMs }) => {
    const readOnly = {
      statement_timeout: statementTimeoutMs,
      // Otherwise, combined lookups would be planned each time, because a plan for a few lookups looks cheaper.
      options: `${plannerOptions} -c default_transaction_read_only=on -c plan_cache_mode=force_generic_plan`,
    };
    const client = new Client({ ...settings, ...readOnly });
    client.once('connect', () => dropSilentConnections(client, silenceTimeoutMs));
    return client;
  });
  const strangersDb = db.withoutPlugins();
  for (const each of [db, strangersDb]) lookupsOf.set(each, openLookups(shared, options.lookups ?? {}));
  return {
    db,
    strangersDb,
    pool,
    async close() {
      await shared.close();
      await db.destroy();
    },
  };
}

/**
 * A prepared statement for hot paths, parsed and planned once per connection. Compiling a Kysely query for each call
 * would reduce the throughput of a simple read by a third. `query` builds the statement with its values, so it can be
 * sent together with other statements (send.ts).
 */
export function prepared<Row, Values extends readonly unknown[]>(name: string, text: string) {
  nameStatement(name, text);
  const query = (...values: Values) => CompiledQuery.raw(text, [...values]) as CompiledQuery<Row>;
  const execute = async (db: AnyDb, ...values: Values): Promise<Row[]> =>
    (await db.executeQuery(query(...values))).rows;
  return Object.assign(execute, { query });
}

/**
 * Like `prepared`, for SQL that is assembled from settings. Each text gets its own name, because a name must always
 * refer to the same statement.
 */
export function preparedByText<Row, Values extends readonly unknown[]>(name: string, text: string) {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8);
  return prepared<Row, Values>(`${name} ${hash}`, text);
}

/** All of the product's lookups, by name. A test inspects their plans. */
export const allLookups = new Map<string, LookupTexts>();

/** Each database handle's lookups. Transactions have none. */
const lookupsOf = new WeakMap<object, Lookups>();

/**
 * A statement that looks up at most one row by keys of these types, and returns it as a JSON value. Outside a
 * transaction, it is combined with other requests' lookups (lookups.ts).
 */
export function preparedLookup<Found, Values extends readonly unknown[]>(
  name: string,
  text: string,
  types: readonly KeyType[],
) {
  const lookUpAlone = prepared<{ found: Found }, Values>(name, text);
  const texts = writeLookup(text, types);
  nameStatement(`${name}, shared`, texts.one);
  nameStatement(`${name}, many`, texts.many);
  allLookups.set(name, texts);
  return async (db: AnyDb, ...values: Values): Promise<Found | undefined> => {
    const found = await lookupsOf.get(db)?.lookUp(texts, values);
    return found === undefined ? (await lookUpAlone(db, ...values))[0]?.found : ((found as Found | null) ?? undefined);
  };
}

/**
 * Sends rows with `copy … from stdin` in PostgreSQL's text format, which is the fastest way to insert many rows. Works
 * in a transaction like any other statement.
 */
export async function copyRows(db: AnyDb, text: string, rows: string): Promise<void> {
  await db.executeQuery(CompiledQuery.raw(text, [new CopiedRows(rows)]));
}

/** Runs `work` in a transaction. A nested call joins the outer transaction, so only the outermost one commits. */
export async function transaction<Tables, Result>(
  db: Kysely<Tables>,
  work: (db: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  if (db.isTransaction) return work(db);
  const hooks: (() => void)[] = [];
  const { run, end, findFailure } = collectForCommit(work);
  const result = await db
    .transaction()
    .execute((tx: Transaction<Tables>) => {
      onCommit.set(tx, hooks);
      return run(tx);
    })
    .finally(end)
    .catch(async (error: unknown) => {
      throw (await findFailure()) ?? error;
    });
  for (const hook of hooks) hook();
  return result;
}

/**
 * Runs statements as one transaction in one round trip, and returns each statement's rows. Inside a transaction, the
 * statements join it.
 */
export async function transactionOf<const Queries extends readonly CompiledQuery[]>(
  db: AnyDb,
  ...queries: Queries
): Promise<Rows<Queries>> {
  if (db.isTransaction) return sendTogether(db, ...queries);
  const answers = await transaction(db, (db) => Promise.all(queries.map((query) => sendWithCommitForRows(db, query))));
  return answers.map(({ rows }) => rows) as Rows<Queries>;
}

/**
 * Runs `work` with a time limit per statement. In nested calls, the smallest limit applies. A statement that exceeds
 * the limit fails and changes nothing.
 */
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

/**
 * Sends one read with a time limit. Outside a transaction, the read gets its own transaction, in the same round trip.
 */
export async function readWithTimeLimit<Row>(db: AnyDb, limitMs: number, query: CompiledQuery<Row>): Promise<Row[]> {
  if (db.isTransaction) return withTimeLimit(db, limitMs, async (db) => (await db.executeQuery(query)).rows);
  const [, rows] = await transactionOf(db, sql`set local statement_timeout = ${sql.lit(limitMs)}`.compile(db), query);
  return rows;
}

/** Runs one of several reads. If it fails, `onError` is called, and further reads are still possible. */
type Attempt<Tables> = (
  read: (db: Kysely<Tables>) => Promise<void>,
  onError: (error: unknown) => void,
) => Promise<void>;

/** Runs reads that see the same snapshot, one after another on one connection, with a time limit per statement. */
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
      await sql`savepoint before_reads`.execute(db); // rolling back to it keeps the snapshot and the limit
      await work((read, onError) =>
        read(db).catch(async (error: unknown) => {
          await sql`rollback to savepoint before_reads`.execute(db);
          onError(error);
        }),
      );
    });
}

/** Each transaction's time limit. */
const timeLimits = new WeakMap<object, number>();

const onCommit = new WeakMap<object, (() => void)[]>();

/**
 * Calls `hook` after the commit, or never if the transaction fails. Outside a transaction, calls it immediately. `hook`
 * must not throw.
 */
export function afterCommit<Tables>(db: Kysely<Tables>, hook: () => void): void {
  const hooks = onCommit.get(db);
  if (hooks === undefined) hook();
  else hooks.push(hook);
}

/**
 * Takes an advisory lock on this name until the transaction ends, to enforce rules that span several rows. The next
 * statement waits for the lock and sees everything that the previous lock holder committed.
 */
export const takeAdvisoryLock = (db: AnyDb, name: string): Promise<void> =>
  sendWithNext(db, sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.compile(db));

/**
 * Drops a connection that receives nothing for this long during a query. Uses the socket's timer, which has no cost per
 * query. Node reads 0 as no limit.
 */
function dropSilentConnections(client: pg.Client, timeoutMs: number): void {
  const inner = client as unknown as { connection: { stream: Socket }; readyForQuery: boolean };
  const { stream } = inner.connection;
  stream.setTimeout(timeoutMs);
  stream.on('timeout', () => {
    if (!inner.readyForQuery) stream.destroy();
  });
}
