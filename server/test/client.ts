// Owns the caller's side: plain HTTP on loopback, with nothing tidied up on the way.
import { Agent, request } from 'node:http';

export interface Sent {
  /** A token's text, sent as a bearer. */
  readonly as?: string;
  /** Sent as JSON unless it is already text or bytes. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely.
  readonly body: any;
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

export function call(base: string, method: string, path: string, sent: Sent = {}): Promise<Got> {
  const { promise, resolve, reject } = Promise.withResolvers<Got>();
  const payload = payloadOf(sent.body);
  const { hostname, port } = new URL(base);
  const outgoing = request({ agent, method, hostname, port, path, headers: headersOf(sent, payload) }, (incoming) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const headers = incoming.headers as Record<string, string | undefined>;
      resolve({
        status: incoming.statusCode ?? 0,
        headers,
        text,
        body: isJson(headers) && text ? JSON.parse(text) : undefined,
      });
    });
    incoming.on('error', reject);
  });
  outgoing.on('error', reject);
  outgoing.end(payload);
  return promise;
}

const isJson = (headers: Record<string, string | undefined>): boolean =>
  /^application\/(problem\+)?json/.test(headers['content-type'] ?? '');

function payloadOf(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined;
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function headersOf(sent: Sent, payload: Buffer | undefined): Record<string, string | number> {
  return {
    ...(sent.as && { authorization: `Bearer ${sent.as}` }),
    ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
    ...sent.headers,
  };
}
