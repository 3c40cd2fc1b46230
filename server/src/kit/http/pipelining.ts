// Owns the order of requests on one connection. A client may send its next requests before it has the answer to the first.
// Node hands all of them over at once, so a few connections could start thousands of requests; here each waits for the
// answer to the one before. Requests that still wait when the client disconnects never start.
import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';

export function answerInOrder({ server }: { readonly server: Server }): void {
  const [handle] = server.listeners('request') as RequestListener[];
  if (handle === undefined) throw new Error('the server has no handler of requests');
  server.removeAllListeners('request');
  server.on('request', inOrder(handle));
}

function inOrder(handle: RequestListener): RequestListener {
  /** Of connections that have a request at work: those behind it. */
  const waiting = new WeakMap<Socket, Parameters<RequestListener>[]>();

  function start(socket: Socket, behind: Parameters<RequestListener>[], next: Parameters<RequestListener>): void {
    next[1].once('close', () => {
      const following = socket.destroyed ? undefined : behind.shift();
      if (following === undefined) waiting.delete(socket);
      else start(socket, behind, following);
    });
    handle(...next);
  }

  return (...exchange) => {
    const [{ socket }] = exchange;
    const behind = waiting.get(socket);
    if (behind !== undefined) return void behind.push(exchange);
    const queue: Parameters<RequestListener>[] = [];
    waiting.set(socket, queue);
    start(socket, queue, exchange);
  };
}
