// A TCP proxy that can cut off a process as if its host had failed: connections stay open, but no data passes.
import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** Drops all traffic in both directions, without closing connections. */
  dropTraffic(): void;
  /** Accepts new connections again. Old connections stay dead. */
  restore(): void;
  close(): void;
}

export async function startProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let swallowing = false;
  const server = createServer((inner) => {
    sockets.add(inner);
    inner.on('error', () => {});
    if (swallowing) return void inner.pause();
    const outer = connect(targetPort, '127.0.0.1');
    outer.on('error', () => inner.destroy());
    sockets.add(outer);
    inner.pipe(outer).pipe(inner);
    inner.on('close', () => swallowed.has(outer) || outer.destroy());
    outer.on('close', () => swallowed.has(inner) || inner.destroy());
  });
  const swallowed = new WeakSet<Socket>();
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  return {
    port: (server.address() as { port: number }).port,
    dropTraffic() {
      swallowing = true;
      for (const socket of sockets) {
        swallowed.add(socket);
        socket.unpipe();
        socket.pause();
      }
    },
    restore() {
      swallowing = false;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
