// Tests in a real browser that a published page on a host of the same site as the installation, which an operator may
// allow, can't put its author's session in the place of its visitor's. TLS ends at a proxy, as in production.
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { makeAuthority } from '../../../sandbox/src/certificates.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { startChromium } from './browser.ts';
import { commandLine } from './command.ts';

const authority = await makeAuthority();
const certificate = await authority.issue('DNS:plinth.acme.localhost', 'DNS:*.apps.acme.localhost');
const port = await freePort();
const proxy = createServer(certificate, (incoming, response) => {
  const { method, url: path, headers } = incoming;
  const outgoing = request({ hostname: '127.0.0.1', port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  outgoing.on('error', () => response.destroy());
  incoming.pipe(outgoing);
});
await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
const base = `https://plinth.acme.localhost:${(proxy.address() as AddressInfo).port}`;

const database = await cloneTemplate();
const folder = await mkdtemp(join(tmpdir(), 'sibling-'));
const { plinth, startApi } = commandLine({
  ...newKeys(),
  DATABASE_URL: database.url,
  STORAGE_FOLDER: folder,
  PORT: String(port),
  BASE_URL: base,
  APPS_DOMAIN: 'apps.acme.localhost',
  APPS_REGISTERED_APART: 'true',
});
const eve = (await plinth('bootstrap', '--email', 'eve@example.com', '--name', 'Eve', '--workspace', 'Ours')).stdout;
await startApi();
const api = `http://127.0.0.1:${port}`;
const password = 'a long enough password';
const reset = (await plinth('user', 'reset', '--user', 'eve@example.com')).stdout.trim();
const body = { reset_token: reset.split('#')[1], new_password: password };
expect((await call(api, 'POST', '/api/auth/password/reset', { body })).status).toBe(200);

const manage = async (method: string, path: string, body?: object) => {
  const got = await call(api, method, path, { as: eve.trim(), ...(body && { body }) });
  expect(got.status, got.text).toBe(200);
  return got.body;
};
for (const email of ['ann@example.com', 'mallory@example.com']) {
  const invited = await manage('POST', '/api/workspace/invitations/invite', { email, role: 'editor' });
  const account = { invitation_token: invited.accept_url.split('#')[1], full_name: 'Guest', password };
  expect((await call(api, 'POST', '/api/invitations/accept', { body: account })).status).toBe(200);
}
const app = await manage('POST', '/api/apps', { name: 'Shop' });
const content = '<!doctype html><title>Shop</title><h1>Shop</h1>';
await manage('PUT', `/api/apps/${app.id}/files`, { files: [{ path: 'dist/index.html', content }] });
const { url } = await manage('POST', `/api/apps/${app.id}/deploy`);

const browser = await startChromium();
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await authority.close();
  await rm(folder, { recursive: true, force: true });
  await database.drop();
});

/** Starts a session over the API. Returns the cookie's name and value. */
async function signIn(email: string) {
  const got = await call(api, 'POST', '/api/auth/sign-in', { body: { email, password } });
  const [, name = '', value = ''] = /([\w-]+)=(pls_\w+)/.exec(String(got.headers['set-cookie'])) ?? [];
  expect(value, got.text).toMatch(/^pls_/);
  return { name, value };
}
const session = await signIn('ann@example.com');
const { value: token } = await signIn('eve@example.com');

/** Lets Ann, who is signed in, visit Eve's page, which runs `attack`. Returns who Ann is then. */
async function visitAsAnn(attack: string): Promise<string> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  await context.addCookies([{ ...session, url: base, httpOnly: true, sameSite: 'Lax', secure: true }]);
  const start = await context.newPage();
  await start.goto(base);
  const whoAmI = `fetch('/api/auth/me').then(async (got) => (got.ok ? (await got.json()).user.email : 'nobody'))`;
  expect(await start.evaluate(whoAmI)).toBe('ann@example.com');
  const page = await context.newPage();
  await page.goto(url);
  await page.getByRole('heading', { name: 'Shop' }).waitFor();
  await page.evaluate(`(async () => { ${attack} })()`);
  const who = await start.evaluate(whoAmI);
  await context.close();
  return String(who);
}

describe("a page of the same site can't make its visitor somebody else", () => {
  it('by a cookie for the registered domain, for a longer path, or with the name of the host’s own cookie', async () => {
    for (const name of ['plinth_session', '__Host-plinth_session'])
      for (const path of ['/', '/api']) {
        const attack = `document.cookie = '${name}=${token}; domain=acme.localhost; path=${path}; Secure'`;
        expect(await visitAsAnn(attack)).not.toBe('eve@example.com');
      }
  });

  it('by signing in with a request whose body has no type', async () => {
    // Not Eve, because a second attempt for the same address has to wait.
    const body = JSON.stringify(JSON.stringify({ email: 'mallory@example.com', password }));
    const attack = `await fetch('${base}/api/auth/sign-in',
      { method: 'POST', mode: 'no-cors', credentials: 'include', body: new Blob([${body}]) })`;
    expect(await visitAsAnn(attack)).toBe('ann@example.com');
  });
});
