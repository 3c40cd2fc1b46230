// Two connections that all requests share for lookups, so lookups don't wait for a pool connection. Nothing is
// cached, so a statement sees everything that was committed before it was sent. lookups.ts decides which lookups are
// combined.
//
// Lookups on one connection wait for each other. These limits keep the waits short, and prevent one tenant from
// blocking others:
//
//   only reads by key                     the connections are read-only
//   500 ms per statement                  limits the wait for a lock, for example
//   at most 50 lookups on a connection    more use the pool
//   after any error                       the connection is closed, and reopened a second later
//
// A lookup that gets no response here is sent through the pool, which reports the error.
import type pg from 'pg';

const connectionCount = 2;
const maxWaiting = 50;
const pauseMs = 1_000;
const readOnlyTransaction = '25006';

const limits = { statementTimeoutMs: 500, silenceTimeoutMs: 2_000 };

export interface SharedRead<Row> {
  readonly text: string;
  readonly values: readonly unknown[];
  /** The number of lookups in the statement. */
  readonly lookups: number;
  /** Throws `WrongAnswer` if the rows are not this statement's result. */
  check(rows: readonly Row[]): void;
}

/** Thrown when a connection returns a different statement's result. The connection is closed. */
export class WrongAnswer extends Error {}

export interface SharedReads {
  /** Returns undefined if there was no response. */
  read<Row>(statement: SharedRead<Row>): Promise<readonly Row[] | undefined>;
  close(): Promise<void>;
}

interface SharedConnection {
  client?: pg.Client | undefined;
  /** The number of waiting lookups. */
  waiting: number;
  /** The earliest `performance.now()` at which the connection may be reopened. */
  opensAt: number;
}

/** Each connection is opened when it is first needed. */
export function openSharedReads(createReadOnlyClient: (timeouts: typeof limits) => pg.Client): SharedReads {
  const connections: SharedConnection[] = Array.from({ length: connectionCount }, () => ({ waiting: 0, opensAt: 0 }));
  let isClosed = false;

  function open(connection: SharedConnection): void {
    connection.opensAt = Number.POSITIVE_INFINITY; // only one attempt at a time, however long it takes
    const client = createReadOnlyClient(limits);
    const forget = () => {
      if (connection.client === client) connection.client = undefined;
    };
    client.on('error', forget);
    client.on('end', forget);
    const tryAgainLater = () => {
      connection.opensAt = performance.now() + pauseMs;
    };
    client.connect().then(() => {
      tryAgainLater();
      if (isClosed) void client.end();
      else connection.client = client;
    }, tryAgainLater);
  }

  /** Chooses the connection with the fewest waiting lookups. Returns undefined if it has no room for this many more. */
  function choose(lookups: number): SharedConnection | undefined {
    let chosen: SharedConnection | undefined;
    for (const connection of connections) {
      if (connection.client === undefined) {
        if (!isClosed && performance.now() >= connection.opensAt) open(connection);
      } else if (connection.waiting < (chosen?.waiting ?? Number.POSITIVE_INFINITY)) chosen = connection;
    }
    return chosen !== undefined && chosen.waiting + lookups <= maxWaiting ? chosen : undefined;
  }

  return {
    async read({ text, values, lookups, check }) {
      const connection = choose(lookups);
      const client = connection?.client;
      if (connection === undefined || client === undefined) return undefined;
      connection.waiting += lookups;
      try {
        const { rows } = await client.query(text, [...values]);
        check(rows);
        return rows;
      } catch (error) {
        if ((error as { code?: string }).code === readOnlyTransaction) throw error; // the pool is not read-only
        if (connection.client === client) {
          connection.client = undefined;
          connection.opensAt = performance.now() + pauseMs;
          client.connection.stream.destroy(); // waiting lookups then use the pool immediately
        }
        if (error instanceof WrongAnswer) throw error;
        return undefined;
      } finally {
        connection.waiting -= lookups;
      }
    },
    async close() {
      isClosed = true;
      await Promise.all(connections.map(({ client }) => client?.end()));
    },
  };
}
