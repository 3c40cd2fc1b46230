// Tests that requests sent together on one connection run one after another.
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerInOrder } from './pipelining.ts';

const started: string[] = [];
const open: ServerResponse[] = [];
const server = createServer((request, response) => {
  started.push(request.url ?? '');
  open.push(response);
});
answerInOrder({ server });

beforeEach(async () => {
  started.length = 0;
  open.length = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

function send(...paths: string[]) {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: a.example\r\n\r\n`).join(''));
  return { socket, received: () => [...received.matchAll(/answer to (\S+)/g)].map(([, path]) => path) };
}

const answer = (index: number) => open[index]?.end(`answer to ${started[index]} `);

describe('requests that are sent at once', () => {
  it('start one after the other, and are answered in order', async () => {
    const client = send('/1', '/2', '/3');
    for (const [index, path] of ['/1', '/2', '/3'].entries()) {
      await expect.poll(() => started.at(-1)).toBe(path);
      expect(started).toHaveLength(index + 1);
      answer(index);
    }
    await expect.poll(client.received).toEqual(['/1', '/2', '/3']);
    client.socket.destroy();
  });

  it('of other connections do not wait for them', async () => {
    const clients = [send('/1', '/2'), send('/a')];
    await expect.poll(() => [...started].sort()).toEqual(['/1', '/a']);
    for (const { socket } of clients) socket.destroy();
  });

  it('never start after an answer that closes the connection', async () => {
    const client = send('/1', '/2');
    await expect.poll(() => started).toEqual(['/1']);
    open[0]?.setHeader('connection', 'close');
    answer(0);
    await expect.poll(client.received).toEqual(['/1']);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(started).toEqual(['/1']);
  });

  it('are at most a hundred behind the first; with more the connection is closed', async () => {
    const paths = Array.from({ length: 102 }, (_, n) => `/${n}`);
    const client = send(...paths);
    await expect.poll(() => client.socket.destroyed).toBe(true);
    expect(started.length).toBeLessThanOrEqual(1);
    const patient = send(...paths.slice(0, 101));
    await expect.poll(() => started.at(-1)).toBe('/0');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(patient.socket.destroyed).toBe(false);
    patient.socket.destroy();
  });

  it('never start if the client has disconnected', async () => {
    const client = send('/1', '/2');
    await expect.poll(() => started).toEqual(['/1']);
    client.socket.destroy();
    await expect.poll(() => open[0]?.closed).toBe(true);
    answer(0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(started).toEqual(['/1']);
  });
});
