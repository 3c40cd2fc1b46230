// Tests docs/guides/retries.md, the guide for clients that retry. Its commands run and print the documented output. Its
// sample client handles error responses, lost responses and a reused key.
import { readFileSync } from 'node:fs';
import { createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { OutcomeUnknown, send } from '../../docs/guides/clients/send.ts';
import { Guide, readSteps } from './support/guide.ts';
import { startWorld } from './support/world.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner, 'free');
const token = await world.token(owner, workspace);
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };

describe('the guide', () => {
  const steps = readSteps(readFileSync(new URL('../../docs/guides/retries.md', import.meta.url), 'utf8'));
  const guide = new Guide('.');
  guide.export('PLINTH', world.url);
  guide.export('AUTH', `"Authorization: Bearer ${token}"`);
  guide.export('JSON', '"Content-Type: application/json"');

  it('has commands', () => expect(steps).toHaveLength(6));

  it.each(steps.map((step) => [step.line, step] as const))(
    'line %i: the command prints what the guide says',
    (_line, step) => guide.run(step),
  );
});

/** What happens to a request. A `lost` request is processed, but its response never arrives. */
type Fate = 'pass' | 'lost' | { readonly status: number; readonly type: string };

/** Starts a proxy in front of Plinth. Requests after the end of the list pass through. */
async function startProxy(fates: Fate[]) {
  let attempts = 0;
  const answered: number[] = [];
  const proxy = createServer((incoming, outgoing) => {
    attempts += 1;
    const fate = fates.shift() ?? 'pass';
    if (typeof fate === 'object') return void outgoing.writeHead(fate.status, { 'content-type': fate.type }).end('{}');
    const { method, url, headers } = incoming;
    const forwarded = sendRequest(world.url + url, { method, headers }, (answer) => {
      if (fate === 'lost') return void incoming.socket.destroy();
      answered.push(answer.statusCode ?? 0);
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  afterAll(() => void proxy.close());
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, attempts: () => attempts, answered };
}

const countFolders = async (name: string) => {
  const { items } = (await world.call('GET', '/api/app-folders/tree', { as: token })).body;
  return items.filter((folder: { name: string }) => folder.name === name).length;
};

describe('the client of the guide', () => {
  const create = (url: string, name: string, options = {}) =>
    send(`${url}/api/app-folders`, { method: 'POST', headers, body: JSON.stringify({ name }) }, options);

  it('creates once although an answer was lost, and gets the stored answer', async () => {
    const { url, attempts } = await startProxy(['lost']);
    const response = await create(url, 'Once', { repeat: 'key' });
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    expect(attempts()).toBe(2);
    expect(await countFolders('Once')).toBe(1);
  });

  it('does not repeat a POST without a key, but says that its outcome is unknown', async () => {
    const { url, attempts } = await startProxy(['lost']);
    await expect(create(url, 'Perhaps')).rejects.toThrow(OutcomeUnknown);
    expect(attempts()).toBe(1);
    expect(await countFolders('Perhaps')).toBe(1);
  });

  it('says that the outcome is unknown if a repeat is refused and the first attempt may be the reason', async () => {
    const app = await world.appOf(owner, workspace);
    const { url, attempts } = await startProxy(['lost']);
    const body = JSON.stringify({ files: [{ path: 'a.js', content: '1' }], expected_revision: app.revision });
    const sync = send(`${url}/api/apps/${app.id}/files`, { method: 'PUT', headers, body }, { repeat: 'safe' });
    await expect(sync).rejects.toThrow(OutcomeUnknown);
    expect(attempts()).toBe(2);
  });

  it('takes 404 for the success of a DELETE whose first answer was lost', async () => {
    const app = await world.appOf(owner, workspace);
    const { url } = await startProxy(['lost']);
    const got = await send(`${url}/api/apps/${app.id}`, { method: 'DELETE', headers }, { repeat: 'safe' });
    expect(got.status).toBe(404);
  });

  it('takes the page of a proxy for an unknown outcome', async () => {
    const { url, attempts } = await startProxy([{ status: 502, type: 'text/html' }]);
    const response = await send(`${url}/api/app-folders/tree`, { method: 'GET', headers });
    expect([response.status, attempts()]).toEqual([200, 2]);
  });

  it('returns what repeating does not help at once', async () => {
    const { url, attempts } = await startProxy([]);
    const response = await create(url, '', { repeat: 'key' });
    expect([response.status, attempts()]).toEqual([422, 1]);
  });

  it('waits for as long as Plinth says while the first request with the key is running', async () => {
    const { url, answered } = await startProxy([]);
    const keyed = { ...headers, 'idempotency-key': 'twice' };
    const body = JSON.stringify({ name: 'Twice' });
    const { first, second } = await world.db.transaction().execute(async (db) => {
      await sql`lock table folders in access exclusive mode`.execute(db);
      const first = world.call('POST', '/api/app-folders', { headers: keyed, body });
      await expect.poll(countWaiting).toBe(1);
      const second = send(`${url}/api/app-folders`, { method: 'POST', headers: keyed, body }, { repeat: 'key' });
      await expect.poll(() => answered).toEqual([409]);
      return { first, second };
    });
    const { id } = (await first).body;
    expect(await (await second).json()).toMatchObject({ id });
    expect([answered[0], answered.at(-1)]).toEqual([409, 200]);
  });

  const countWaiting = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      world.db,
    );
    return rows[0]?.count;
  };
});
