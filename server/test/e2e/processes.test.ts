// Tests the command line with real processes: two APIs and a worker on one database.
import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { newKeys } from '../../src/commands/keys.ts';
import { type CallOptions, call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { commandLine } from './command.ts';

const database = await cloneTemplate();
const { plinth, start, startApi } = commandLine({ ...newKeys(), DATABASE_URL: database.url });
const { plinth: plinthWithoutSettings } = commandLine({});
afterAll(() => database.drop());

const token = (
  await plinth('bootstrap', '--email', 'First@Example.com', '--name', 'First', '--workspace', 'Ours')
).stdout.trim();
const [a, b] = await Promise.all([startApi(), startApi()]);
const at = (api: { url: string }, method: string, path: string, sent: CallOptions = {}) =>
  call(api.url, method, path, { as: token, ...sent });

describe('the command line', () => {
  it('creates the first user once and refuses a second time', async () => {
    expect(token).toMatch(/^plp_[0-9A-Za-z]{40}$/);
    await expect(
      plinth('bootstrap', '--email', 'x@example.com', '--name', 'X', '--workspace', 'X'),
    ).rejects.toMatchObject({
      stderr: expect.stringContaining('already has users'),
    });
  });

  it('refuses to start without its keys and lists them', async () => {
    const without = plinthWithoutSettings('api');
    await expect(without).rejects.toMatchObject({
      stderr: expect.stringMatching(
        /TOKEN_PEPPERS is missing[\s\S]*SIGNING_KEY is missing[\s\S]*MASTER_KEYS is missing[\s\S]*npm run -s plinth -- keys new >> .env/,
      ),
    });
  });

  it('issues a personal key, adds an operator and prints a reset link', async () => {
    const key = (await plinth('api-key', 'issue', '--user', 'first@example.com', '--read-only')).stdout.trim();
    expect((await call(a.url, 'GET', '/api/apps', { headers: { api_key: key } })).status).toBe(200);
    expect((await call(a.url, 'POST', '/api/apps', { headers: { api_key: key } })).status).toBe(403);
    expect((await plinth('operator', 'add', '--user', 'first@example.com')).stdout).toContain('is an operator');
    const link = (await plinth('user', 'reset', '--user', 'first@example.com')).stdout.trim();
    const body = { reset_token: link.split('#')[1], new_password: 'a long enough password' };
    expect((await call(a.url, 'POST', '/api/auth/password/reset', { body })).status).toBe(200);
    expect(
      (
        await call(b.url, 'POST', '/api/auth/sign-in', {
          body: { email: 'first@example.com', password: body.new_password },
        })
      ).status,
    ).toBe(200);
    await expect(plinth('user', 'reset', '--user', 'nobody@example.com')).rejects.toMatchObject({
      stderr: expect.stringContaining('There is no user'),
    });
  });
});

describe('two API processes', () => {
  it('a token created at A works at B, and is refused by B on the next request after A revoked it', async () => {
    const created = (await at(a, 'POST', '/api/auth/tokens', { body: { name: 'T', permission: 'full_access' } })).body;
    const list = () => call(b.url, 'GET', '/api/apps', { as: created.token });
    for (let i = 0; i < 3; i += 1) expect((await list()).status).toBe(200);
    expect((await at(a, 'DELETE', `/api/auth/tokens/${created.id}`)).status).toBe(200);
    expect(await list()).toMatchObject({ status: 401, body: { code: 'credentials_invalid' } });
  });

  it('SIGTERM lets a request in progress finish and refuses new ones', async () => {
    const c = await startApi();
    const { port } = new URL(c.url);
    const { promise: answered, resolve, reject } = Promise.withResolvers<number>();
    const body = JSON.stringify({ name: 'Slow' });
    const outgoing = request(
      {
        port,
        method: 'POST',
        path: '/api/app-folders',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': body.length,
        },
      },
      (incoming) => {
        incoming.resume();
        resolve(incoming.statusCode ?? 0);
      },
    );
    outgoing.on('error', reject);
    outgoing.write(body.slice(0, 5)); // the request has started but is incomplete
    await expect.poll(async () => (await call(c.url, 'GET', '/healthz')).status).toBe(200);
    const exited = once(c.child, 'exit');
    c.child.kill('SIGTERM');
    await expect.poll(() => c.log.join('')).toContain('draining');
    outgoing.end(body.slice(5));
    expect(await answered).toBe(200);
    expect(await exited).toEqual([0, null]);
    await expect(call(c.url, 'GET', '/healthz')).rejects.toThrow();
  });
});

it('a worker seals the audit log soon and exits on SIGTERM', async () => {
  const worker = await start('worker', /"msg":"worker started"/);
  await at(a, 'POST', '/api/app-folders', { body: { name: 'Audited' } });
  await expect
    .poll(async () => (await at(a, 'GET', '/api/workspace/audit-log/verify')).body)
    .toMatchObject({ valid: true, unsealed: 0 });
  const exited = once(worker.child, 'exit');
  worker.child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});
