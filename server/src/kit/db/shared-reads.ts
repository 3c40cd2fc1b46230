// Owns two connections that the lookups of all requests share, so that they don't wait for a connection of the pool and travel
// together. Nothing is cached: each lookup is a statement of its own, which sees what was committed before it was sent.
//
// Lookups on one connection wait for each other. So that none waits long, and a tenant can't hold up the others:
//
//   only reads by key                     the connections are read-only
//   500 ms per statement                  a lookup that waits for a lock, say
//   at most 50 wait on a connection       more go to the pool
//   after any error                       the connection is closed, and opened again a second later
//
// A lookup that got no answer here is sent through the pool, which reports what is wrong.
import type pg from 'pg';

const connectionCount = 2;
const maxWaiting = 50;
const pauseMs = 1_000;
const readOnlyTransaction = '25006';

const limits = { statementTimeoutMs: 500, silenceTimeoutMs: 2_000 };

export interface SharedReads {
  /** Returns undefined if there was no answer. */
  read(text: string, values: readonly unknown[]): Promise<unknown[] | undefined>;
  close(): Promise<void>;
}

interface SharedConnection {
  client?: pg.Client | undefined;
  waiting: number;
  /** On the clock of `performance.now()`. */
  opensAt: number;
}

/** The connections are opened when they are first used. */
export function openSharedReads(createReadOnlyClient: (timeouts: typeof limits) => pg.Client): SharedReads {
  const connections: SharedConnection[] = Array.from({ length: connectionCount }, () => ({ waiting: 0, opensAt: 0 }));
  let isClosed = false;

  function open(connection: SharedConnection): void {
    connection.opensAt = performance.now() + pauseMs;
    const client = createReadOnlyClient(limits);
    const forget = () => {
      if (connection.client === client) connection.client = undefined;
    };
    client.on('error', forget);
    client.on('end', forget);
    client.connect().then(
      () => {
        if (isClosed) void client.end();
        else connection.client = client;
      },
      () => {},
    );
  }

  /** The connection on which the fewest wait. */
  function choose(): SharedConnection | undefined {
    let chosen: SharedConnection | undefined;
    for (const connection of connections) {
      if (connection.client === undefined) {
        if (!isClosed && performance.now() >= connection.opensAt) open(connection);
      } else if (connection.waiting < (chosen?.waiting ?? maxWaiting)) chosen = connection;
    }
    return chosen;
  }

  return {
    async read(text, values) {
      const connection = choose();
      const client = connection?.client;
      if (connection === undefined || client === undefined) return undefined;
      connection.waiting += 1;
      try {
        return (await client.query(text, [...values])).rows;
      } catch (error) {
        if ((error as { code?: string }).code === readOnlyTransaction) throw error; // the pool would write
        if (connection.client === client) {
          connection.client = undefined;
          connection.opensAt = performance.now() + pauseMs;
          client.connection.stream.destroy(); // those that wait behind it go to the pool at once
        }
        return undefined;
      } finally {
        connection.waiting -= 1;
      }
    },
    async close() {
      isClosed = true;
      await Promise.all(connections.map(({ client }) => client?.end()));
    },
  };
}
