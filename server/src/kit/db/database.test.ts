// A PostgreSQL server that stops answering without closing the connection, simulated by a proxy that drops all bytes.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { sql } from 'kysely';
import { afterAll, expect, it } from 'vitest';
import { serverUrl } from '../../../test/support/template.ts';
import { openDatabase } from './database.ts';
import { classifyFailure } from './failures.ts';

const pairs: [Socket, Socket][] = [];
const { hostname, port } = new URL(serverUrl);
const proxy = createServer((client) => {
  const upstream = connect(Number(port) || 5432, hostname);
  pairs.push([client, upstream]);
  client.pipe(upstream).pipe(client);
  for (const socket of [client, upstream]) socket.on('error', () => {});
});
await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
const database = openDatabase({
  url: `postgres://postgres@127.0.0.1:${(proxy.address() as AddressInfo).port}/postgres`,
  poolSize: 1,
  silenceTimeoutMs: 300,
});
afterAll(async () => {
  await database.close();
  for (const socket of pairs.flat()) socket.destroy();
  proxy.close();
});

it('drops the connection to a silent server, reports the outcome as unknown, and connects again', async () => {
  await sql`select 1`.execute(database.db);
  for (const [client, upstream] of pairs) {
    client.unpipe(upstream);
    upstream.unpipe(client);
  }
  const failure = await sql`select 2`.execute(database.db).catch((error: unknown) => error);
  expect(classifyFailure(failure)).toBe('connection_lost');
  expect((await sql`select 3 as three`.execute(database.db)).rows).toEqual([{ three: 3 }]);
});

it('keeps an idle connection open', async () => {
  await new Promise((resolve) => setTimeout(resolve, 700));
  const before = pairs.length;
  await sql`select 4`.execute(database.db);
  expect(pairs.length).toBe(before);
});
