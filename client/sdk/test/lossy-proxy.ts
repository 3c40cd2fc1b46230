// A proxy that loses requests and answers, and cuts answers off, as a test decides.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * `drop`: the request does not arrive. `lose`: it is processed, and its answer does not arrive. `page`: it is processed,
 * and the proxy answers with a page. `cut`: the answer ends after this many bytes.
 */
export type Fate = 'pass' | 'drop' | 'lose' | 'page' | { readonly cut: number };

export interface LossyProxy {
  readonly url: string;
  readonly faults: number;
  close(): Promise<void>;
}

export async function startLossyProxy(
  target: string,
  decide: (incoming: IncomingMessage) => Fate,
): Promise<LossyProxy> {
  let faults = 0;
  const server = createServer(async (incoming, outgoing) => {
    const fate = decide(incoming);
    if (fate !== 'pass' && typeof fate !== 'object') faults += 1;
    if (fate === 'drop') return incoming.socket.destroy();
    const answer = await forward(target, incoming);
    if (fate === 'lose' || fate === 'page') {
      await buffer(answer); // the request was processed
      if (fate === 'lose') return incoming.socket.destroy();
      return outgoing.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>');
    }
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    if (typeof fate !== 'object') return answer.pipe(outgoing);
    cutAfter(answer, outgoing, fate.cut, () => {
      faults += 1;
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get faults() {
      return faults;
    },
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

async function forward(target: string, incoming: IncomingMessage): Promise<IncomingMessage> {
  const { hostname, port } = new URL(target);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { method, url: path, headers } = incoming;
  const upstream = request({ hostname, port, method, path, headers, agent: false }, resolve);
  upstream.on('error', reject);
  incoming.pipe(upstream);
  incoming.socket.once('close', () => upstream.destroy());
  return promise;
}

function cutAfter(answer: IncomingMessage, outgoing: ServerResponse, bytes: number, onCut: () => void): void {
  let left = bytes;
  answer.on('data', (chunk: Buffer) => {
    if (left <= 0) return;
    outgoing.write(chunk.subarray(0, left), () => {
      if (left > 0) return;
      answer.destroy();
      outgoing.socket?.destroySoon();
    });
    left -= chunk.length;
    if (left <= 0) onCut();
  });
  answer.on('end', () => left > 0 && outgoing.end());
}
