// Owns what is sent on one connection to PostgreSQL. Statements are pipelined: one that is sent before the answer to an earlier
// one has arrived does not wait for it. `begin` travels with the first statement of its transaction, and everything that is sent
// in one turn of the event loop goes out in one write:
//
//   transaction(db, …)                   sent                                   round trips
//   update … ; audit (sent with commit)  [begin update] → [insert commit] →     2, instead of 4
//
// Each statement has its own Sync, so an error does not skip those behind it. In a transaction they fail too, because it is
// aborted, and PostgreSQL answers the commit with ROLLBACK, which Kysely reports. Outside of a transaction, nothing may be sent
// behind a statement on whose success it depends. `begin` has no Sync of its own: if it fails, PostgreSQL skips the statement
// that follows it, which would otherwise take effect without a transaction.
import type { Socket } from 'node:net';
import pg from 'pg';
// @ts-expect-error: pg exports this file without types.
import { prepareValue } from 'pg/lib/utils.js';
import { currentHolder, hold, usedMs } from '../process-time.ts';

const statementNames = new Map<string, string>();
const statementTexts = new Map<string, string>();

/** The statement will be prepared under this name: parsed and planned once per connection. */
export function nameStatement(name: string, text: string): void {
  const known = statementTexts.get(name);
  if (known !== undefined && known !== text) throw new Error(`two statements have the name "${name}"`);
  statementTexts.set(name, text);
  statementNames.set(text, name);
}

/** The value of a `copy … from stdin`: rows in PostgreSQL's text format. */
export class CopiedRows {
  readonly rows: string;
  constructor(rows: string) {
    this.rows = rows;
  }
}

/** What pg's connection offers to a query. Its types leave this out. */
interface Connection {
  readonly parsedStatements: Readonly<Record<string, string | undefined>>;
  bind(portal: { statement: string }): void;
  execute(portal: object): void;
  sendCopyFromChunk(rows: Buffer): void;
  endCopyFrom(): void;
}

/** By query: counts what its request holds the process for. */
const holders = new WeakMap<object, (heldMs: number) => void>();
const countedBytes = 4 * 1024; // short answers are not measured
const bytesPerTurn = 64 * 1024; // over TLS they arrive in chunks of 8 KiB, otherwise of up to 64 KiB

/**
 * Counts the parsing of large answers, which happens in callbacks of the socket, for the request that asked for them, and lets
 * others run in between: a socket is otherwise read until nothing is left.
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

type Callback = (error: Error | undefined, result: unknown) => void;

const begin = { name: 'begin', text: 'begin' };

export function createClientClass(onStatement: ((text: string) => void) | undefined): typeof pg.Client {
  return class extends pg.Client {
    /** `begin` was asked for, and will be sent with the first statement. */
    #isBeginPending = false;
    /** A statement of this transaction was never sent, because a value could not be converted. */
    #hasUnsentStatement = false;
    #isCorked = false;
    /** Nothing else may be sent while PostgreSQL expects rows. */
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
      // Prepared by the first transaction of this connection.
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
        converted = hold(() => values?.map(prepareValue)); // large values take long
      } catch (error) {
        // pg would convert values after it has sent a part of the statement, and go on.
        this.#hasUnsentStatement = true;
        return Promise.reject(error);
      }
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const callback: Callback = (error, result) => (error ? reject(error) : resolve(result));
      const isFirst = this.#isBeginPending;
      this.#isBeginPending = false;
      const config = { text, values: converted, name: statementNames.get(text) };
      this.#cork();
      const query = isFirst ? new FirstStatement(config, callback) : new pg.Query(config, callback);
      const holder = currentHolder();
      if (holder !== undefined) holders.set(query, holder);
      hold(() => super.query(query));
      return promise;
    }

    /** What is sent until this turn of the event loop ends is written at once. */
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
      // Called when the server is ready to receive rows. The library itself would refuse to send any.
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

/** pg's own query; its types leave out the methods that the protocol calls. */
const BaseQuery = pg.Query as unknown as new (
  config: object,
  callback: Callback,
) => pg.Query & {
  requiresPreparation(): boolean;
  prepare(connection: Connection): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
};

/** A statement with `begin` in front of it. Both are answered by one ReadyForQuery. */
class FirstStatement extends BaseQuery {
  #hasBegun = false;

  override requiresPreparation(): boolean {
    return true; // a simple query could not follow without a Sync
  }

  override prepare(connection: Connection): void {
    connection.bind({ statement: begin.name });
    connection.execute({});
    super.prepare(connection);
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.#hasBegun) super.handleCommandComplete(message, connection);
    this.#hasBegun = true;
  }
}
