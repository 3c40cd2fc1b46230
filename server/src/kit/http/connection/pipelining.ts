// The order of requests on one connection. A client may send further requests before it receives the first
// response. Node emits all of them immediately, so a few connections could start thousands of requests. Here, each
// request waits for the previous response. Requests that are still waiting when the connection ends never start.
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Exchange = Parameters<RequestListener>;

/** Limited, because waiting requests take memory. Clients that use pipelining send only a few requests. */
const maxBehind = 100;

/** For each connection with a running request, its response and the requests waiting behind it. */
const atWork = new WeakMap<Socket, { readonly response: ServerResponse; readonly behind: Exchange[] }>();

/** Whether data sent now would be mistaken for an earlier request's response, or mixed into it. */
export function isAnswering(socket: Socket): boolean {
  const work = atWork.get(socket);
  return work !== undefined && (work.response.headersSent || work.behind.length > 0);
}

export function answerInOrder({ server }: { readonly server: Server }): void {
  const [handle] = server.listeners('request') as RequestListener[];
  if (handle === undefined) throw new Error('the server has no request handler');
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
    // Nothing more can be sent after a response with `Connection: close`.
    const next = socket.destroyed || socket.writableEnded ? undefined : behind.shift();
    if (next === undefined) atWork.delete(socket);
    else start(handle, next, behind);
  });
  handle(...exchange);
}
