// The drill's HTTP client: few keep-alive connections and raw responses.
import { Agent, request } from 'node:http';

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** An event stream is read for this long: what a stranger may not see would be in its first events. */
const streamMs = 1_000;

export type Send = (sent: HttpRequest) => Promise<HttpResponse>;

/** Sends requests to each port in turn. */
export function openClient(ports: readonly number[], connections: number): { send: Send; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  let sent = 0;
  const send: Send = ({ method, path, headers, body }) => {
    sent += 1;
    const port = ports[sent % ports.length];
    const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const typed =
      text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const sending = request(
      { agent, port, host: '127.0.0.1', method, path, headers: { ...headers, ...typed } },
      (got) => {
        const chunks: Buffer[] = [];
        const finish = () =>
          resolve({ status: got.statusCode ?? 0, headers: got.headers, body: Buffer.concat(chunks).toString() });
        got.on('data', (chunk: Buffer) => chunks.push(chunk));
        got.on('error', reject);
        got.on('end', finish);
        if (!got.headers['content-type']?.startsWith('text/event-stream')) return;
        setTimeout(() => {
          finish();
          got.destroy();
        }, streamMs);
      },
    );
    sending.on('error', reject);
    sending.end(text);
    return promise;
  };
  return { send, close: () => agent.destroy() };
}

/** A separate address for requests that must succeed, because failed requests are limited per address. */
const ownersAddress = '100.65.0.1';

/** Sends a request that must succeed, and returns its body. */
export async function call(send: Send, token: string, method: string, path: string, body?: unknown, more = {}) {
  const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': ownersAddress, ...more };
  const answer = await send({ method, path, headers, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
  return JSON.parse(answer.body);
}
