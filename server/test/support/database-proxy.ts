// A proxy between the product and PostgreSQL that counts round trips on the wire and can fail like a network.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface DatabaseProxy {
  /** The database's URL through the proxy. */
  readonly url: string;
  /**
   * The number of round trips so far. A round trip is counted when a connection sends something after all of its
   * statements have been answered. Statements sent before earlier results have arrived share one round trip.
   */
  readonly roundTrips: number;
  readonly connections: number;
  /** How often clients have requested the columns of a result. */
  readonly describes: number;
  /** Drops all further bytes on the open connections, without closing them. */
  silence(): void;
  /** Closes the next connection that sends this text. The server receives the text, but the client gets no reply. */
  cutAfter(text: string): void;
  close(): void;
}

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const pairs: [Socket, Socket][] = [];
  let roundTrips = 0;
  let describes = 0;
  let cutText: string | undefined;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port) || 5432, target.hostname);
    const pair: [Socket, Socket] = [client, upstream];
    pairs.push(pair);
    let unanswered = 1; // the startup message
    const countSent = readMessages(false, (type) => {
      if (type === 'S' || type === 'Q') unanswered += 1;
      if (type === 'D') describes += 1;
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
    get describes() {
      return describes;
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

/** Calls `onMessage` with each message's type. A client's first message has no type. */
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
