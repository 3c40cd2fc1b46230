// Decides which statements share a round trip to PostgreSQL. client.ts does the actual sending.
import type { CompiledQuery, DatabaseConnection, Kysely, QueryResult } from 'kysely';

// biome-ignore lint/suspicious/noExplicitAny: the kit runs on any set of tables.
type AnyDb = Kysely<any>;

/** The rows returned by each statement. */
export type Rows<Queries extends readonly CompiledQuery[]> = {
  -readonly [Index in keyof Queries]: Queries[Index] extends CompiledQuery<infer Row> ? Row[] : never;
};

/**
 * Sends statements in one round trip, and returns each statement's rows. In a transaction, statements after a failed
 * statement have no effect. Outside a transaction they still take effect, so only reads may be sent together.
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
  /** Available once the transaction has committed. */
  readonly rows: readonly Row[];
}

/**
 * Sends a statement with the transaction's commit, so it needs no separate round trip. Use it for statements whose
 * effect the transaction does not need, and that fail only because of a bug or a broken connection. Statements are sent
 * in call order. If one fails, the transaction fails. Outside a transaction, the statement is sent immediately.
 */
export async function sendWithCommit(db: AnyDb, query: CompiledQuery): Promise<void> {
  await sendWithCommitForRows(db, query);
}

/** Like `sendWithCommit`, for a statement whose rows are needed after the commit. */
export async function sendWithCommitForRows<Row>(db: AnyDb, query: CompiledQuery<Row>): Promise<RowsAfterCommit<Row>> {
  const state = states.get(db);
  if (state === undefined) return db.executeQuery(query);
  let answer: readonly Row[] | undefined;
  state.waiting.push({ query, receive: ({ rows }) => (answer = rows as Row[]) });
  return {
    get rows() {
      if (answer === undefined) throw new Error('the rows are not known until the transaction has committed');
      return answer;
    },
  };
}

/**
 * Sends a transaction's statement without waiting for its result, so it shares the round trip of the next statement or
 * the commit. Use it for settings, advisory locks, and changes that can't fail, such as updating a locked row. If the
 * statement does fail, the next statement reports that the transaction is aborted, and the transaction throws the
 * original error.
 */
export async function sendWithNext(db: AnyDb, query: CompiledQuery): Promise<void> {
  const state = states.get(db);
  if (state === undefined) await db.executeQuery(query);
  else await db.getExecutor().provideConnection(async (connection) => void send(connection, query, state));
}

interface TransactionState {
  /** Statements to send with the commit. */
  readonly waiting: { readonly query: CompiledQuery; receive(result: QueryResult<unknown>): void }[];
  /** Results of statements that were sent without being awaited. */
  readonly answers: Promise<unknown>[];
}

/** Each transaction's state. */
const states = new WeakMap<object, TransactionState>();

/**
 * `run` calls `work` and then sends the statements that were waiting for the commit. The commit must follow
 * immediately. If `work` fails, no statement is sent until `end` is called, because statements that `work` started at
 * the same time would follow the rollback and commit by themselves. If the transaction fails, `findFailure` returns the
 * error of a statement that was not awaited, ignoring errors that only report an aborted transaction.
 */
export function collectForCommit<Db extends AnyDb, Result>(work: (db: Db) => Promise<Result>) {
  const state: TransactionState = { waiting: [], answers: [] };
  const ended = Promise.withResolvers<void>();
  return {
    async run(db: Db): Promise<Result> {
      states.set(db, state);
      const result = await work(db).catch(async (error: unknown) => {
        await occupyConnection(db, ended.promise);
        throw error;
      });
      if (state.waiting.length === 0) return result;
      let isSent = false;
      const sent = db.getExecutor().provideConnection(async (connection) => {
        isSent = true;
        const answers = state.waiting.map(({ query, receive }) => send(connection, query, state).then(receive));
        await Promise.allSettled(answers);
      });
      // The connection may still be occupied by a statement that was not awaited.
      if (!isSent) await sent;
      return result;
    },
    end: ended.resolve,
    async findFailure(): Promise<unknown> {
      const failures = (await Promise.allSettled(state.answers)).filter((answer) => answer.status === 'rejected');
      return failures.find(({ reason }) => reason?.code !== transactionAborted)?.reason;
    },
  };
}

/**
 * Waits for the statements that have already been started, which the rollback undoes, and then keeps later ones from
 * being sent until `ended` resolves. They fail then, because Kysely refuses statements of a transaction that has ended.
 * Example: of three inserts in a `Promise.all`, the first fails while the others wait for the connection.
 */
function occupyConnection(db: AnyDb, ended: Promise<void>): Promise<void> {
  const occupied = Promise.withResolvers<void>();
  const turn = db.getExecutor().provideConnection(() => {
    occupied.resolve();
    return ended;
  });
  turn.catch(occupied.reject);
  return occupied.promise;
}

function send(connection: DatabaseConnection, query: CompiledQuery, { answers }: TransactionState) {
  const answer = connection.executeQuery(query);
  answer.catch(() => {}); // `findFailure` reports the error
  answers.push(answer);
  return answer;
}

const transactionAborted = '25P02';
