// HTTP clients that reach a proxy from an address of their own, and a relay that shows what the proxy sends on.
import { once } from 'node:events';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request } from 'node:https';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls';
import { afterAll } from 'vitest';
import type { RunningProxy } from './proxies.ts';

/** Where the clients connect from. A proxy's own connections come from 127.0.0.1. */
export const clientAddress = '127.0.0.2';

export interface Message {
  readonly host: string;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

const place = ({ port, ca }: RunningProxy, host: string) => ({
  host: '127.0.0.1',
  port,
  ca,
  servername: host,
  localAddress: clientAddress,
});

const toHeaders = ({ host, headers = {}, body }: Message, port: number) => ({
  host: `${host}:${port}`,
  ...(body !== undefined && { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
  ...headers,
});

/** Sends a request over HTTP/1.1. Returns the answer as soon as its headers have arrived. */
export async function openOverHttp1(proxy: RunningProxy, message: Message): Promise<IncomingMessage> {
  const { method = 'GET', path, body } = message;
  const headers = toHeaders(message, proxy.port);
  const sent = request({ ...place(proxy, message.host), agent: false, method, path, headers });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  sent.on('error', () => {}); // the test closes the connection
  return answer;
}

export const sendOverHttp1 = async (proxy: RunningProxy, message: Message): Promise<Answer> =>
  readAnswer(await openOverHttp1(proxy, message));

/** Sends a request over plain HTTP, to the port that redirects. */
export async function sendPlain({ plainPort }: RunningProxy, { host, path, method = 'GET' }: Message): Promise<Answer> {
  const sent = plainRequest({ host: '127.0.0.1', port: plainPort, method, path, agent: false, headers: { host } });
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return readAnswer(answer);
}

async function readAnswer(answer: IncomingMessage): Promise<Answer> {
  const text = await readText(answer);
  return { status: answer.statusCode ?? 0, headers: answer.headers, text };
}

async function readText(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Rejects if the stream is reset, although an answer has arrived. */
export async function sendOverHttp2(proxy: RunningProxy, message: Message): Promise<Answer> {
  const { method = 'GET', path, body } = message;
  const { host, ...headers } = toHeaders(message, proxy.port);
  const socket = await openTls(proxy, message.host, ['h2']);
  const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
  session.on('error', () => {}); // the request reports it too
  try {
    const stream = session.request({ ':method': method, ':path': path, ':authority': host, ...headers });
    stream.end(body);
    const [received] = (await once(stream, 'response')) as [Record<string, string>];
    return { status: Number(received[':status']), headers: received, text: await readText(stream) };
  } finally {
    session.destroy();
  }
}

/** Sends everything before it reads anything, as many programs do. */
export async function sendBeforeReading(proxy: RunningProxy, message: Message): Promise<string> {
  const { method = 'GET', path, body = '' } = message;
  const socket = await openTls(proxy, message.host, ['http/1.1']);
  const lines = Object.entries({ ...toHeaders(message, proxy.port), connection: 'close' }).map((pair) =>
    pair.join(': '),
  );
  await write(socket, `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  await write(socket, body);
  return readText(socket);
}

function write(socket: TLSSocket, data: string | Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.write(data, (error) => (error ? reject(error) : resolve()));
  return promise;
}

async function openTls(proxy: RunningProxy, host: string, protocols: string[]): Promise<TLSSocket> {
  const socket = connectTls({ ...place(proxy, host), ALPNProtocols: protocols });
  await once(socket, 'secureConnect');
  socket.on('error', () => {}); // whoever writes or reads is told
  return socket;
}

/** Rejects if the proxy has no certificate for this host. */
export async function readCertificate(proxy: RunningProxy, host: string): Promise<PeerCertificate> {
  const socket = await openTls(proxy, host, ['http/1.1']);
  const certificate = socket.getPeerCertificate();
  socket.destroy();
  return certificate;
}

export interface Relay {
  readonly port: number;
  /** Everything that was sent through the relay. */
  readonly sent: () => string;
}

/** Starts a relay to a port of this machine. */
export async function startRelay(target: number): Promise<Relay> {
  const chunks: Buffer[] = [];
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    sockets.push(client, upstream);
    client.on('data', (chunk: Buffer) => chunks.push(chunk.subarray(0, 64 * 1024)));
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sent: () => Buffer.concat(chunks).toString('latin1') };
}
