// Sends statements over a PostgreSQL connection. Statements are pipelined: each is sent without waiting for
// earlier results. `begin` is sent with its transaction's first statement, and everything sent in one turn of the event
// loop is combined into one write:
//
//   transaction(db, …)                   sent                                   round trips
//   update … ; audit (sent with commit)  [begin update] → [insert commit] →     2, instead of 4
//
// Each statement has its own Sync, so PostgreSQL still runs later statements after an error. Inside a transaction,
// later statements fail as well, because the transaction is aborted. PostgreSQL then responds to the commit with
// ROLLBACK, which Kysely reports. Outside a transaction, a statement must not be pipelined after a statement that it
// depends on. `begin` has no Sync. If it fails, PostgreSQL skips the next statement, which would otherwise take effect
// without a transaction. statement.ts writes a single statement's messages.
import type { Socket } from 'node:net';
import pg from 'pg';
// @ts-expect-error: pg exports this file without types.
import { prepareValue } from 'pg/lib/utils.js';
import { currentHolder, hold, usedMs } from '../process-time.ts';
import { begin, type Callback, type Connection, FirstStatement, type KnownColumns, Statement } from './statement.ts';

const statementNames = new Map<string, string>();
const statementTexts = new Map<string, string>();

/** The texts of all statements that have a name, by name. A test prepares each of them. */
export const namedStatements: ReadonlyMap<string, string> = statementTexts;

/** Gives a statement a name, so it is prepared: parsed and planned once per connection. */
export function nameStatement(name: string, text: string): void {
  const known = statementTexts.get(name);
  if (known !== undefined && known !== text) throw new Error(`two statements have the name "${name}"`);
  statementTexts.set(name, text);
  statementNames.set(text, name);
}

/** The value for a `copy … from stdin` statement: rows in PostgreSQL's text format. */
export class CopiedRows {
  readonly rows: string;
  constructor(rows: string) {
    this.rows = rows;
  }
}

/** For each query, a function that charges processing time to the request that sent it. */
const holders = new WeakMap<object, (heldMs: number) => void>();
const countedBytes = 4 * 1024; // smaller chunks are not measured
const bytesPerTurn = 64 * 1024; // chunks are 8 KiB over TLS, otherwise up to 64 KiB

/**
 * Results are parsed in socket callbacks. This function charges the time for parsing large results to the request that
 * sent the query. It also lets other work run in between, because a socket would otherwise be read until it is empty.
 */
function parseInTurn(client: pg.Client): void {
  const inner = client as unknown as { connection: { stream: Socket }; _activeQuery: object | null };
  const { stream } = inner.connection;
  let count: ((heldMs: number) => void) | undefined;
  let startedAt: number | undefined;
  let parsedBytes = 0;
  stream.prependListener('data', (chunk: Buffer) => {
    startedAt = undefined;
    if (chunk.length < countedBytes) return;
    count = holders.get(inner._activeQuery ?? client);
    startedAt = usedMs();
  });
  stream.on('data', (chunk: Buffer) => {
    if (startedAt === undefined) return;
    count?.(usedMs() - startedAt);
    parsedBytes += chunk.length;
    if (parsedBytes < bytesPerTurn) return;
    parsedBytes = 0;
    stream.pause();
    setImmediate(() => stream.resume());
  });
}

let parsingCount: ((heldMs: number) => void) | undefined;

/**
 * Calls `send`, and reports the time spent parsing its results to `count` instead of charging it to the current
 * request.
 */
export function countParsing<Result>(count: (heldMs: number) => void, send: () => Result): Result {
  parsingCount = count;
  try {
    return send();
  } finally {
    parsingCount = undefined;
  }
}

export function createClientClass(onStatement: ((text: string) => void) | undefined): typeof pg.Client {
  return class extends pg.Client {
    /** Whether `begin` has been requested. It is sent with the first statement. */
    #isBeginPending = false;
    /** Whether one of this transaction's statements was not sent, because one of its values could not be converted. */
    #hasUnsentStatement = false;
    #isCorked = false;
    readonly #columns: KnownColumns = new Map();
    /** Set while PostgreSQL expects rows. Nothing else may be sent in the meantime. */
    #copying: Promise<unknown> | undefined;

    constructor(config?: string | pg.ClientConfig) {
      super(config);
      this.once('connect', () => parseInTurn(this));
    }

    // biome-ignore lint/suspicious/noExplicitAny: pg overloads this method many ways; (text, values) is Kysely's.
    override query(query: any, ...rest: any[]): any {
      if (this.#copying !== undefined) return this.#copying.then(() => this.query(query, ...rest));
      onStatement?.(typeof query === 'string' ? query : (query?.text ?? ''));
      const [values] = rest;
      if (typeof query !== 'string' || rest.some((each) => typeof each === 'function'))
        return super.query(query, ...rest);
      if (query === 'begin') return this.#begin();
      if (query === 'commit' || query === 'rollback') return this.#end(query);
      if (Array.isArray(values) && values[0] instanceof CopiedRows) return this.#copy(query, values[0]);
      return this.#send(query, values);
    }

    #begin(): Promise<unknown> {
      this.#hasUnsentStatement = false;
      if ((this.connection as unknown as Connection).parsedStatements[begin.name] === undefined)
        return super.query(begin);
      this.#isBeginPending = true;
      return Promise.resolve({ command: 'BEGIN', rowCount: null, rows: [] });
    }

    #end(query: 'commit' | 'rollback'): Promise<unknown> {
      if (this.#isBeginPending) {
        this.#isBeginPending = false;
        return Promise.resolve({ command: query.toUpperCase(), rowCount: null, rows: [] });
      }
      this.#cork();
      return super.query(this.#hasUnsentStatement ? 'rollback' : query);
    }

    #send(text: string, values: unknown[] | undefined): Promise<unknown> {
      let converted: unknown[] | undefined;
      try {
        converted = hold(() => values?.map(prepareValue)); // converting large values is slow
      } catch (error) {
        // pg itself would send part of the statement before it converts the values, and would continue after an error.
        this.#hasUnsentStatement = true;
        return Promise.reject(error);
      }
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const callback: Callback = (error, result) => (error ? reject(error) : resolve(result));
      const isFirst = this.#isBeginPending;
      this.#isBeginPending = false;
      this.#cork();
      const Query = isFirst ? FirstStatement : Statement;
      const query = new Query(text, converted, statementNames.get(text), this.#columns, callback);
      const holder = parsingCount ?? currentHolder();
      if (holder !== undefined) holders.set(query, holder);
      hold(() => super.query(query));
      return promise;
    }

    /** Combines everything sent in this turn of the event loop into one write. */
    #cork(): void {
      if (this.#isCorked) return;
      this.#isCorked = true;
      const { stream } = this.connection;
      stream.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        hold(() => stream.uncork());
      });
    }

    async #copy(text: string, { rows }: CopiedRows): Promise<unknown> {
      if (this.#isBeginPending) {
        this.#isBeginPending = false;
        await super.query(begin);
      }
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const copy = new pg.Query(text, undefined, (error: unknown, result: unknown) =>
        error ? reject(error) : resolve(result),
      );
      // Called when the server is ready to receive rows. pg's own method sends an error instead of rows.
      Object.assign(copy, {
        handleCopyInResponse(connection: Connection) {
          connection.sendCopyFromChunk(Buffer.from(rows));
          connection.endCopyFrom();
        },
      });
      this.#copying = promise.then(
        () => (this.#copying = undefined),
        () => (this.#copying = undefined),
      );
      hold(() => super.query(copy));
      return promise;
    }
  } as typeof pg.Client;
}
