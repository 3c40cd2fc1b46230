// Owns which statements share a round trip to PostgreSQL. How they travel is in client.ts.
import type { CompiledQuery, DatabaseConnection, Kysely } from 'kysely';

// biome-ignore lint/suspicious/noExplicitAny: the kit runs on any set of tables.
type AnyDb = Kysely<any>;

type Rows<Queries extends readonly CompiledQuery[]> = {
  -readonly [Index in keyof Queries]: Queries[Index] extends CompiledQuery<infer Row> ? Row[] : never;
};

/**
 * Sends statements one behind the other in one round trip, and returns the rows of each. In a transaction, none of those behind
 * one that fails takes effect. Outside of one they do, so that only reads may be sent together there.
 */
export async function sendTogether<const Queries extends readonly CompiledQuery[]>(
  db: AnyDb,
  ...queries: Queries
): Promise<Rows<Queries>> {
  const results = await db.getExecutor().provideConnection((connection) => Promise.all(sendAll(connection, queries)));
  return results.map(({ rows }) => rows) as Rows<Queries>;
}

/**
 * Sends a statement with the commit of the transaction, so that it takes no round trip of its own: for changes that nothing in the
 * transaction reads, and that fail only if something is wrong with the program or the connection, because their rules were checked
 * under a lock. If it fails, so does the transaction. Outside of one it is sent at once.
 */
export async function sendWithCommit(db: AnyDb, query: CompiledQuery): Promise<void> {
  const state = states.get(db);
  if (state === undefined) await db.executeQuery(query);
  else state.waiting.push(query);
}

/**
 * Sends a statement of a transaction without waiting for its answer, so that it shares the round trip of the next one: for settings
 * and locks. If it fails, the next statement reports that the transaction is aborted, and the transaction throws the reason.
 */
export async function sendWithNext(db: AnyDb, query: CompiledQuery): Promise<void> {
  const state = states.get(db);
  if (state === undefined) await db.executeQuery(query);
  else await db.getExecutor().provideConnection(async (connection) => void send(connection, [query], state));
}

interface TransactionState {
  /** For the commit. */
  readonly waiting: CompiledQuery[];
  /** To statements that were sent and not waited for. */
  readonly answers: Promise<unknown>[];
}

/** By transaction. */
const states = new WeakMap<object, TransactionState>();

/**
 * `run` runs `work` and sends what waits for the commit, which must follow at once. If the transaction fails, `findFailure` returns
 * the error of a statement that was not waited for, unless it is a consequence of another error.
 */
export function collectForCommit<Db extends AnyDb, Result>(work: (db: Db) => Promise<Result>) {
  const state: TransactionState = { waiting: [], answers: [] };
  return {
    async run(db: Db): Promise<Result> {
      states.set(db, state);
      const result = await work(db);
      if (state.waiting.length === 0) return result;
      let isSent = false;
      const sent = db.getExecutor().provideConnection(async (connection) => {
        isSent = true;
        await Promise.allSettled(send(connection, state.waiting, state));
      });
      // A statement that nobody awaited still occupies the connection.
      if (!isSent) await sent;
      return result;
    },
    async findFailure(): Promise<unknown> {
      const failures = (await Promise.allSettled(state.answers)).filter((answer) => answer.status === 'rejected');
      return failures.find(({ reason }) => reason?.code !== transactionAborted)?.reason;
    },
  };
}

function send(connection: DatabaseConnection, queries: readonly CompiledQuery[], { answers }: TransactionState) {
  const sent = sendAll(connection, queries);
  for (const answer of sent) answer.catch(() => {}); // `findFailure` reports it
  answers.push(...sent);
  return sent;
}

const transactionAborted = '25P02';

const sendAll = (connection: DatabaseConnection, queries: readonly CompiledQuery[]) =>
  queries.map((query) => connection.executeQuery(query));
