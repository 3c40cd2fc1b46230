// Servers for the tests of `plinth doctor` that the sandbox does not have: Redis with a password, a TLS
// proxy, and servers that accept connections without answering or repeat what they receive.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { freePort } from '../../../harness/ports.ts';
import type { Certificate } from '../../../sandbox/src/certificates.ts';

export interface TestServer {
  readonly port: number;
  close(): Promise<void>;
}

async function listen(server: Server): Promise<TestServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}); // a client that gave up
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Accepts connections and never sends a byte. */
export const startSilentServer = (): Promise<TestServer> => listen(createServer());

/** Answers every request with status 400 and everything that it was sent, including credentials. */
export const startEchoServer = (): Promise<TestServer> =>
  listen(
    createHttpServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const sent = `${request.url} ${request.rawHeaders.join(' ')} ${Buffer.concat(chunks)}`;
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ message: sent, error: { message: sent, type: sent, code: sent } }));
    }),
  );

/** Speaks a little SMTP, and refuses every login with an answer that repeats it, encoded and decoded. */
export const startEchoingMailServer = (): Promise<TestServer> =>
  listen(
    createServer((socket) => {
      socket.write('220 mail.test ESMTP\r\n');
      socket.on('data', (data) => {
        const line = String(data).trim();
        if (/^EHLO/i.test(line)) return socket.write('250-mail.test\r\n250 AUTH PLAIN\r\n');
        const decoded = Buffer.from(line.split(' ').at(-1) ?? '', 'base64')
          .toString()
          .replaceAll('\0', ' ');
        return socket.write(`535 refused: ${line} ${decoded}\r\n`);
      });
    }),
  );

/** Ends TLS connections, as the proxy in front of the API does, and passes on what it receives to a port. */
export const startTlsServer = (certificate: Certificate, port: number): Promise<TestServer> =>
  listen(
    createTlsServer(certificate, (client) => {
      const upstream = connect(port, '127.0.0.1');
      client.on('error', () => upstream.destroy());
      upstream.on('error', () => client.destroy());
      client.pipe(upstream).pipe(client);
    }),
  );

/** A Redis server that requires this password. */
export async function startRedisWithPassword(password: string): Promise<TestServer> {
  const port = await freePort();
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--requirepass', password];
  const child = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] });
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`redis-server exited with ${code}: ${log}`)));
    child.stdout.on('data', (text) => {
      log += text;
      if (log.includes('Ready to accept connections')) resolve();
    });
  });
  return {
    port,
    async close() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
