// Tests receiving bodies over raw sockets: callers are checked before their body is read, and bodies that are too large
// are rejected.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';

const world = await startWorld({ environment: { MAX_CONNECTIONS_PER_ADDRESS: '40' } });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
const { port } = new URL(world.url);

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function open(): Promise<{ socket: Socket; received: () => string }> {
  const socket = connect(Number(port), '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  await once(socket, 'connect');
  return { socket, received: () => text };
}

const head = (method: string, path: string, ...headers: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: plinth', 'Content-Type: application/json', ...headers, '', ''].join('\r\n');

const bearer = (text: string) => `Authorization: Bearer ${text}`;

describe('a caller who is refused', () => {
  it('is answered if they wait before they send their body', async () => {
    const { socket, received } = await open();
    socket.write(head('POST', '/api/apps', bearer('plp_unknown'), 'Content-Length: 1000000'));
    await expect.poll(received).toContain('401 Unauthorized');
    expect(received()).toContain('connection: close');
  });

  it.each([
    ['POST', '/api/apps', 60_000, '401 Unauthorized'],
    ['POST', '/api/apps', 9_000_000, '413 Payload Too Large'],
    ['PUT', '/api/nowhere', 9_000_000, '404 Not Found'],
    ['PUT', '/healthz', 9_000_000, '405 Method Not Allowed'],
  ])(
    'is answered after a body of up to 11 MiB, on a connection that stays open: %s %s, %i bytes',
    async (...[method, path, length, status]) => {
      const { socket, received } = await open();
      socket.write(head(method, path, bearer('plp_unknown'), `Content-Length: ${length}`));
      socket.write(Buffer.alloc(length));
      await expect.poll(received).toContain(status);
      expect(received()).not.toContain('connection: close');
      const body = JSON.stringify({ name: `After ${length} bytes` });
      socket.write(`${head('POST', '/api/apps', bearer(token), `Content-Length: ${body.length}`)}${body}`);
      await expect.poll(received).toContain(`"name":"After ${length} bytes"`);
    },
  );

  it('is not asked to continue', async () => {
    const { socket, received } = await open();
    socket.write(head('POST', '/api/apps', bearer('plp_unknown'), 'Content-Length: 1000', 'Expect: 100-continue'));
    await expect.poll(received).toContain('401 Unauthorized');
    expect(received()).not.toContain('100 Continue');
  });
});

describe('a flood', () => {
  it.each([
    ['of a refused caller', 'POST', '/api/apps', 401],
    ['to a path that does not exist', 'POST', '/api/nowhere', 404],
    ['with a method that the path does not have', 'PUT', '/healthz', 405],
    ['in the body of a GET', 'GET', '/healthz', 200],
  ])('%s is cut off', async (_what, method, path, status) => {
    const { socket, received } = await open();
    socket.write(head(method, path, bearer('plp_unknown'), 'Transfer-Encoding: chunked'));
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    let sent = 0;
    for (; !socket.destroyed && sent < 640; sent += 1) {
      socket.write(chunk);
      await sleep(2);
    }
    expect(received()).toContain(`HTTP/1.1 ${status}`);
    expect(sent).toBeLessThan(640);
  });
});

describe('a body', () => {
  const post = (path: string, body: string, as?: string) => world.call('POST', path, { ...(as && { as }), body });

  it('of a caller without a credential has at most 64 KiB', async () => {
    const padded = JSON.stringify({ email: 'a@example.com', password: 'x'.repeat(70_000) });
    expect(await post('/api/auth/sign-in', padded)).toMatchObject({
      status: 413,
      body: { code: 'payload_too_large', limit_bytes: 64 * 1024 },
    });
  });

  it('that is declared too large is refused before anything else', async () => {
    const { socket, received } = await open();
    socket.write(head('POST', '/api/apps', bearer('plp_unknown'), 'Content-Length: 2000000'));
    await expect.poll(received).toContain('413 Payload Too Large');
  });

  it('that grows too large while it is sent is refused', async () => {
    const { socket, received } = await open();
    socket.write(head('POST', '/api/apps', bearer(token), 'Transfer-Encoding: chunked'));
    for (let n = 0; n < 70 && !socket.destroyed; n += 1) socket.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`);
    await expect.poll(received).toContain('413 Payload Too Large');
    expect(received()).toContain('"limit_bytes":1048576');
  });

  it('is asked for if a known caller waits for 100 Continue', async () => {
    const { socket, received } = await open();
    const body = JSON.stringify({ name: 'Continued' });
    const length = `Content-Length: ${body.length}`;
    socket.write(head('POST', '/api/apps', bearer(token), length, 'Expect: 100-continue'));
    await expect.poll(received).toContain('100 Continue');
    socket.write(body);
    await expect.poll(received).toContain('"name":"Continued"');
  });

  it('that ends with its connection is no failure of the server', async () => {
    const { socket } = await open();
    socket.write(`${head('POST', '/api/apps', bearer(token), 'Content-Length: 1000')}{"name"`);
    await sleep(50);
    socket.destroy();
    await sleep(300);
    expect(world.logLines.join('')).not.toContain('request failed');
  });

  it('has at most 150,000 values, which are counted before it is parsed', async () => {
    const withValues = (count: number) => `{"name":"Many","unknown":[${Array(count).fill('1')}]`;
    const many = await post('/api/apps', `${withValues(150_000)}}`, token);
    expect(many).toMatchObject({ status: 422, body: { detail: [{ type: 'json_invalid', loc: ['body', 300_019] }] } });
    expect(many.body.detail[0].msg).toBe('must have at most 150000 values');
    expect((await post('/api/apps', `${withValues(149_996)}}`, token)).status).toBe(200);
    const text = JSON.stringify({ name: 'Many', unknown: ',[{'.repeat(100_000) });
    expect((await post('/api/apps', text, token)).status).toBe(200);
  });

  it('of a known caller is read whole, however it is cut into pieces', async () => {
    const { socket, received } = await open();
    const body = JSON.stringify({ name: 'In pieces' });
    socket.write(head('POST', '/api/apps', bearer(token), `Content-Length: ${body.length}`));
    for (const byte of body) {
      socket.write(byte);
      await sleep(1);
    }
    await expect.poll(received).toContain('"name":"In pieces"');
  });
});

describe('a slow sender', () => {
  // Shortens the timeouts, which the server reads each time it checks for slow senders.
  const { server } = world.app.server;
  const { headersTimeout, requestTimeout } = server;
  beforeEach(() => {
    server.headersTimeout = 300;
    server.requestTimeout = 900;
  });
  afterEach(() => Object.assign(server, { headersTimeout, requestTimeout }));

  it('has 10 seconds for the headers and 60 for the whole request', () => {
    expect([headersTimeout, requestTimeout]).toEqual([10_000, 60_000]);
  });

  it.each([
    ['of headers', 'GET /healthz HTTP/1.1\r\nHost: plinth\r\n', 'X-Padding: 1\r\n'],
    ['of a body', head('POST', '/api/apps', bearer(token), 'Content-Length: 1000'), '{'],
    ['of a body without an end', head('POST', '/api/apps', bearer(token), 'Transfer-Encoding: chunked'), '1\r\n{\r\n'],
  ])('%s is answered with 408 and cut off', async (_what, start, next) => {
    const { socket, received } = await open();
    socket.write(start);
    const sending = setInterval(() => socket.writable && socket.write(next), 100);
    await once(socket, 'close');
    clearInterval(sending);
    expect(received()).toContain('HTTP/1.1 408 Request Timeout');
    expect(received()).toContain('Connection: close');
  });

  it('who is cut off is no failure of the server', () => {
    expect(world.logLines.join('')).not.toContain('request failed');
  });
});

describe('an address', () => {
  it('has at most so many connections, and gets new ones when it closes some', async () => {
    const first = await Promise.all(Array.from({ length: 40 }, open));
    const { socket } = await open();
    await once(socket, 'close');
    for (const each of first.slice(0, 5)) each.socket.destroy();
    await sleep(100);
    const { socket: later, received } = await open();
    later.write('GET /healthz HTTP/1.1\r\nHost: plinth\r\n\r\n');
    await expect.poll(received).toContain('200 OK');
  });
});
