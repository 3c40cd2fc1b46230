// Owns the order of requests on one connection. A client may send its next requests before it has the answer to the first.
// Node hands all of them over at once, so a few connections could start thousands of requests; here each waits for the
// answer to the one before. Requests that still wait when the connection ends never start.
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Exchange = Parameters<RequestListener>;

/** They take memory. Clients that send requests ahead at all send a few. */
const maxBehind = 100;

/** Of connections that have a request at work: its response, and the requests behind it. */
const atWork = new WeakMap<Socket, { readonly response: ServerResponse; readonly behind: Exchange[] }>();

/** Whether what is sent on the connection now would be taken for, or get into, the answer to an earlier request. */
export function isAnswering(socket: Socket): boolean {
  const work = atWork.get(socket);
  return work !== undefined && (work.response.headersSent || work.behind.length > 0);
}

export function answerInOrder({ server }: { readonly server: Server }): void {
  const [handle] = server.listeners('request') as RequestListener[];
  if (handle === undefined) throw new Error('the server has no handler of requests');
  server.removeAllListeners('request');
  server.on('request', inOrder(handle));
}

const inOrder =
  (handle: RequestListener): RequestListener =>
  (...exchange) => {
    const [{ socket }] = exchange;
    const behind = atWork.get(socket)?.behind;
    if (behind === undefined) start(handle, exchange, []);
    else if (behind.length < maxBehind) behind.push(exchange);
    else socket.destroy();
  };

function start(handle: RequestListener, exchange: Exchange, behind: Exchange[]): void {
  const [{ socket }, response] = exchange;
  atWork.set(socket, { response, behind });
  response.once('close', () => {
    // After an answer with `Connection: close` nothing more can be sent.
    const next = socket.destroyed || socket.writableEnded ? undefined : behind.shift();
    if (next === undefined) atWork.delete(socket);
    else start(handle, next, behind);
  });
  handle(...exchange);
}
