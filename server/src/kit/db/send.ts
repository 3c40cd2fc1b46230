// Owns which statements share a round trip to PostgreSQL. How they travel is in client.ts.
import type { CompiledQuery, DatabaseConnection, Kysely, QueryResult } from 'kysely';

// biome-ignore lint/suspicious/noExplicitAny: the kit runs on any set of tables.
type AnyDb = Kysely<any>;

/** The rows of each of several statements. */
export type Rows<Queries extends readonly CompiledQuery[]> = {
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
  const results = await db
    .getExecutor()
    .provideConnection((connection) => Promise.all(queries.map((query) => connection.executeQuery(query))));
  return results.map(({ rows }) => rows) as Rows<Queries>;
}

/** The rows of a statement that is sent with the commit. */
export interface RowsAfterCommit<Row> {
  /** Known when the transaction has committed. */
  readonly rows: readonly Row[];
}

/**
 * Sends a statement with the commit of the transaction, so that it takes no round trip of its own: for one that nothing in the
 * transaction reads, and that fails only if something is wrong with the program or the connection. They are sent in the order of
 * the calls. If one fails, so does the transaction. Outside of one it is sent at once.
 */
export async function sendWithCommit(db: AnyDb, query: CompiledQuery): Promise<void> {
  await sendWithCommitForRows(db, query);
}

/** The same for a statement whose rows are needed after the commit. */
export async function sendWithCommitForRows<Row>(db: AnyDb, query: CompiledQuery<Row>): Promise<RowsAfterCommit<Row>> {
  const state = states.get(db);
  if (state === undefined) return db.executeQuery(query);
  let answer: readonly Row[] | undefined;
  state.waiting.push({ query, receive: ({ rows }) => (answer = rows as Row[]) });
  return {
    get rows() {
      if (answer === undefined) throw new Error('the rows are known when the transaction has committed');
      return answer;
    },
  };
}

/**
 * Sends a statement of a transaction without waiting for its answer, so that it shares the round trip of the next one, or of the
 * commit: for settings, advisory locks, and changes that can't be refused, such as one of a locked row. If it fails, the next
 * statement reports that the transaction is aborted, and the transaction throws the reason.
 */
export async function sendWithNext(db: AnyDb, query: CompiledQuery): Promise<void> {
  const state = states.get(db);
  if (state === undefined) await db.executeQuery(query);
  else await db.getExecutor().provideConnection(async (connection) => void send(connection, query, state));
}

interface TransactionState {
  /** For the commit. */
  readonly waiting: { readonly query: CompiledQuery; receive(result: QueryResult<unknown>): void }[];
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
        const answers = state.waiting.map(({ query, receive }) => send(connection, query, state).then(receive));
        await Promise.allSettled(answers);
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

function send(connection: DatabaseConnection, query: CompiledQuery, { answers }: TransactionState) {
  const answer = connection.executeQuery(query);
  answer.catch(() => {}); // `findFailure` reports it
  answers.push(answer);
  return answer;
}

const transactionAborted = '25P02';
