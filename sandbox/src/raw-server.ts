// TCP and TLS servers that send arbitrary bytes and record connections and requests.
import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

export interface RawServer {
  readonly port: number;
  /** The number of TCP connections. `requests` contains data only from connections that completed the TLS handshake. */
  readonly connections: number;
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** Called with every received chunk. */
export type OnData = (socket: Socket, arrived: string) => void;

export interface RawServerOptions {
  readonly address: string;
  readonly port?: number;
  /** Undefined means plain TCP. */
  readonly tls?: TlsOptions;
  readonly onData: OnData;
  /** Sent as soon as a client connects. */
  readonly greeting?: string;
}

export async function startRawServer(options: RawServerOptions): Promise<RawServer> {
  const { address, port = 0, tls, onData, greeting = '' } = options;
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  let connections = 0;
  const speak = (socket: Socket) => {
    socket.on('error', () => {});
    if (greeting !== '') socket.write(greeting);
    socket.on('data', (piece) => {
      requests.push(piece.toString('latin1'));
      onData(socket, piece.toString('latin1'));
    });
  };
  const server: Server = tls === undefined ? createTcpServer(speak) : createTlsServer(tls, speak);
  server.on('tlsClientError', () => {});
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(port, address);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    requests,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** A complete HTTP response that keeps the connection open. */
export const httpResponse = (status: string, headers: readonly string[] = [], body = ''): string =>
  [`HTTP/1.1 ${status}`, `Content-Length: ${Buffer.byteLength(body)}`, ...headers, '', body].join('\r\n');
