// Owns a proxy between the product and PostgreSQL that counts round trips on the wire, and that can fail as a network does.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface DatabaseProxy {
  /** The URL of the database, through the proxy. */
  readonly url: string;
  /**
   * How many round trips there were: a connection on which every statement has been answered sends something. Statements that are
   * sent before the answers to earlier ones have arrived share one.
   */
  readonly roundTrips: number;
  readonly connections: number;
  /** Drops all bytes of the open connections from now on, without closing them. */
  silence(): void;
  /** Closes the next connection that sends this text. The server receives it; the client receives no answer. */
  cutAfter(text: string): void;
  close(): void;
}

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const pairs: [Socket, Socket][] = [];
  let roundTrips = 0;
  let cutText: string | undefined;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port) || 5432, target.hostname);
    const pair: [Socket, Socket] = [client, upstream];
    pairs.push(pair);
    let unanswered = 1; // the startup message
    const countSent = readMessages(false, (type) => {
      if (type === 'S' || type === 'Q') unanswered += 1;
    });
    const countAnswers = readMessages(true, (type) => {
      if (type === 'Z') unanswered -= 1;
    });
    let isIdle = false;
    client.on('data', (bytes) => {
      if (isIdle) roundTrips += 1;
      isIdle = false;
      countSent(bytes);
      upstream.write(bytes);
      if (cutText === undefined || !bytes.includes(cutText)) return;
      cutText = undefined;
      client.destroy();
    });
    upstream.on('data', (bytes) => {
      countAnswers(bytes);
      isIdle = unanswered === 0;
      client.write(bytes);
    });
    for (const socket of pair) {
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        for (const other of pair) other.end();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxied = new URL(databaseUrl);
  proxied.hostname = '127.0.0.1';
  proxied.port = String((server.address() as AddressInfo).port);
  return {
    url: proxied.href,
    get roundTrips() {
      return roundTrips;
    },
    get connections() {
      return pairs.length;
    },
    silence() {
      for (const socket of pairs.flat()) socket.removeAllListeners('data');
    },
    cutAfter(text) {
      cutText = text;
    },
    close() {
      for (const socket of pairs.flat()) socket.destroy();
      server.close();
    },
  };
}

/** Calls `onMessage` with the type of each message. The first one of a client has no type. */
function readMessages(hasType: boolean, onMessage: (type: string) => void): (bytes: Buffer) => void {
  let typeLength = hasType ? 1 : 0;
  let pending: Buffer = Buffer.alloc(0);
  return (bytes) => {
    pending = Buffer.concat([pending, bytes]);
    for (;;) {
      if (pending.length < typeLength + 4) return;
      const end = typeLength + pending.readUInt32BE(typeLength);
      if (pending.length < end) return;
      if (typeLength === 1) onMessage(String.fromCharCode(pending[0] ?? 0));
      pending = pending.subarray(end);
      typeLength = 1;
    }
  };
}
