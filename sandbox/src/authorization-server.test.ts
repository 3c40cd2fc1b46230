// Tests the sandbox's authorization server as any connector's client would use it.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type AuthorizationServer, startAuthorizationServer } from './authorization-server.ts';
import { sandboxApiKeys } from './authorization-server-api.ts';

const journalFile = join(mkdtempSync(join(tmpdir(), 'sandbox-')), 'journal.jsonl');
const redirect_uri = 'http://127.0.0.1:8080/callback';
let server: AuthorizationServer;

beforeAll(async () => {
  server = await startAuthorizationServer({ journalFile });
});
beforeEach(() => server.behave('well'));
afterAll(() => server.close());

const verifier = randomBytes(32).toString('base64url');
const code_challenge = createHash('sha256').update(verifier).digest('base64url');

function authorizationUrl(connector: string, scope: string): URL {
  const url = new URL(`${server.url}/${connector}/authorize`);
  const params = {
    response_type: 'code',
    client_id: `sandbox-${connector}`,
    redirect_uri,
    scope,
    state: 's',
    code_challenge,
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url;
}

async function post(connector: string, path: 'token' | 'revoke', fields: Record<string, string>, basic = false) {
  const client = { client_id: `sandbox-${connector}`, client_secret: `sandbox-${connector}-secret` };
  const credentials = Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64');
  const response = await fetch(`${server.url}/${connector}/${path}`, {
    method: 'POST',
    headers: basic ? { authorization: `Basic ${credentials}` } : {},
    body: new URLSearchParams({ ...fields, ...(!basic && client) }),
  });
  const text = await response.text();
  return { status: response.status, ...(text === '' ? {} : JSON.parse(text)) };
}

async function connect(connector: string, scope = 'read write') {
  const back = await server.consent(authorizationUrl(connector, scope));
  const code = back.searchParams.get('code') ?? '';
  return post(connector, 'token', { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri });
}

const callApi = (connector: string, token: string, path = '/me') =>
  fetch(`${server.url}/${connector}/api${path}`, { headers: { authorization: `Bearer ${token}` } });

it('issues tokens after consent, for any connector and any scopes, which its API accepts', async () => {
  const tokens = await connect('slack', 'chat:write,users:read');
  expect(tokens).toMatchObject({ status: 200, token_type: 'Bearer', expires_in: 3600, scope: 'chat:write users:read' });
  const answer = await callApi('slack', tokens.access_token);
  expect(await answer.json()).toMatchObject({ method: 'GET', path: '/me', scopes: ['chat:write', 'users:read'] });
  expect((await callApi('github', tokens.access_token)).status).toBe(401);
});

it('names itself when it sends a person back, and refuses a code at another connector and without its verifier', async () => {
  const back = await server.consent(authorizationUrl('github', 'repo'));
  expect(Object.fromEntries(back.searchParams)).toMatchObject({ state: 's', iss: `${server.url}/github` });
  const grant = { grant_type: 'authorization_code', code: back.searchParams.get('code') ?? '', redirect_uri };
  expect(await post('gitlab', 'token', { ...grant, code_verifier: verifier })).toMatchObject({
    error: 'invalid_grant',
  });
  expect(await post('github', 'token', { ...grant, code_verifier: 'x'.repeat(43) })).toMatchObject({ status: 400 });
});

it('sends a person back with access_denied if they refuse, and with fewer scopes if they allow fewer', async () => {
  const denied = await server.consent(authorizationUrl('github', 'repo'), 'deny');
  expect(denied.searchParams.get('error')).toBe('access_denied');
  const back = await server.consent(authorizationUrl('github', 'repo gist'), 'allow', ['gist']);
  const code = back.searchParams.get('code') ?? '';
  const grant = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri };
  expect(await post('github', 'token', grant, true)).toMatchObject({ status: 200, scope: 'gist' });
});

it('rotates refresh tokens; one that is used again ends the whole grant', async () => {
  const first = await connect('airtable');
  const refresh = (refresh_token: string) => post('airtable', 'token', { grant_type: 'refresh_token', refresh_token });
  const second = await refresh(first.refresh_token);
  expect(second.refresh_token).not.toBe(first.refresh_token);
  expect(await refresh(first.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
  expect(await refresh(second.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
});

it('revokes tokens, and forgets all of a connector when access is withdrawn', async () => {
  const tokens = await connect('dropbox');
  expect(await post('dropbox', 'revoke', { token: tokens.access_token })).toMatchObject({ status: 200 });
  expect((await callApi('dropbox', tokens.access_token)).status).toBe(401);
  const others = await connect('dropbox');
  server.withdraw('dropbox');
  expect((await callApi('dropbox', others.access_token)).status).toBe(401);
});

it('fails as it is told to, and keeps a journal of what it did', async () => {
  const { refresh_token } = await connect('zoom');
  const before = server.journal.length;
  const refresh = () => post('zoom', 'token', { grant_type: 'refresh_token', refresh_token });
  server.behave('down', 'zoom');
  await expect(refresh()).rejects.toThrow('JSON');
  server.behave('refuse', 'zoom');
  expect(await refresh()).toMatchObject({ status: 400, error: 'invalid_grant' });
  server.behave('drop', 'zoom');
  await expect(refresh()).rejects.toThrow('fetch failed');
  server.behave('well', 'zoom');
  expect(await refresh()).toMatchObject({ status: 400, error: 'invalid_grant' });
  const events = server.journal.slice(before).map(({ event }) => event);
  expect(events).toEqual(['received', 'received', 'refused', 'received', 'issued', 'received', 'refused', 'answered']);
  const lines = readFileSync(journalFile, 'utf8').trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual(server.journal);
});

it('accepts the API keys of services that have no OAuth', async () => {
  const { twilio, sendgrid } = sandboxApiKeys;
  const basic = Buffer.from(`${twilio.account_sid}:${twilio.auth_token}`).toString('base64');
  const url = `${server.url}/twilio/api/2010-04-01/Accounts/${twilio.account_sid}.json`;
  expect((await fetch(url, { headers: { authorization: `Basic ${basic}` } })).status).toBe(200);
  expect((await fetch(url)).status).toBe(401);
  expect((await callApi('sendgrid', sendgrid.api_key, '/v3/scopes')).status).toBe(200);
  expect((await callApi('sendgrid', 'SG.other', '/v3/scopes')).status).toBe(401);
});

/** Opens a page as a browser does: follows redirects, and keeps cookies. */
async function openConsent(url: URL): Promise<Response> {
  const first = await fetch(url, { redirect: 'manual' });
  const cookie = first.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  return fetch(new URL(first.headers.get('location') ?? '', url), { headers: { cookie } });
}

it('says on its page who asks for what, and escapes it', async () => {
  const response = await openConsent(authorizationUrl('notion', 'openid <script>alert(1)</script> __proto__'));
  expect(response.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src data:; form-action 'self' http: https:; base-uri 'none'; frame-ancestors 'none'$/,
  );
  const page = await response.text();
  expect(page).toContain('<h1>Allow access to notion?</h1>');
  expect(page).toContain('Plinth at <b>http://127.0.0.1:8080</b> asks to use your <b>notion</b> account.');
  expect(page).toContain('<code>openid</code><span class="quiet">know who you are</span>');
  expect(page).toContain('<code>&#60;script&#62;alert(1)&#60;/script&#62;</code>');
  expect(page).toContain('<code>__proto__</code>');
  expect(page).not.toContain('<script');
});

it.each([
  ['a consent that has expired', '/notion/consent/none', 'This page has expired'],
  ['an unknown client', '/notion/authorize?client_id=%3Cscript%3E&response_type=code', 'invalid_client'],
])('answers a page to %s', async (_what, path, text) => {
  const response = await fetch(server.url + path, { headers: { accept: 'text/html' } });
  expect(response.status).toBe(400);
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  const page = await response.text();
  expect(page).toContain(text);
  expect(page).toContain('connect the service again');
  expect(page).not.toContain('<script');
});
