// Owns servers that say whatever they are told to, byte by byte, and keep a journal of who came.
import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

export interface RawServer {
  readonly port: number;
  /** What came: TCP connections, and the bytes that were read from each one that got through TLS. */
  readonly connections: number;
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** Called with every piece that arrives. */
export type OnData = (socket: Socket, arrived: string) => void;

export interface RawServerOptions {
  readonly address: string;
  readonly port?: number;
  /** Undefined: plain. */
  readonly tls?: TlsOptions;
  readonly onData: OnData;
  /** Said before anything arrives. */
  readonly greeting?: string;
}

export async function startRawServer(options: RawServerOptions): Promise<RawServer> {
  const { address, port = 0, tls, onData: behave, greeting = '' } = options;
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  let connections = 0;
  const speak = (socket: Socket) => {
    socket.on('error', () => {});
    if (greeting !== '') socket.write(greeting);
    socket.on('data', (piece) => {
      requests.push(piece.toString('latin1'));
      behave(socket, piece.toString('latin1'));
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

/** A whole answer, kept alive. */
export const httpResponse = (status: string, headers: readonly string[] = [], body = ''): string =>
  [`HTTP/1.1 ${status}`, `Content-Length: ${Buffer.byteLength(body)}`, ...headers, '', body].join('\r\n');
