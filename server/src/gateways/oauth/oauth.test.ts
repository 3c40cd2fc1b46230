// Tests the OAuth requests sent to services, and how services' failures are reported.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startWebhookEndpoint } from '../../../../sandbox/src/webhook-endpoint.ts';
import { systemClock } from '../../kit/clock.ts';
import { parseAllowList } from '../../kit/outbound/address.ts';
import { openOutbound } from '../../kit/outbound/outbound.ts';
import { createApiKeyCheck } from './api-key-check.ts';
import { createOAuthGateway, type OAuthClient } from './index.ts';

const service = await startWebhookEndpoint({ address: '127.0.0.1' });
const outbound = openOutbound({ allow: parseAllowList('http://127.0.0.0/8') });
const oauth = createOAuthGateway({ outbound, clock: systemClock, timeoutMs: 1_500 });
const base = `http://127.0.0.1:${service.port}`;
const client: OAuthClient = {
  owner: 'workspace',
  issuer: base,
  authorizationEndpoint: `${base}/authorize?request=authorize`,
  tokenEndpoint: `${base}/token`,
  revocationEndpoint: `${base}/revoke`,
  clientId: 'client id',
  clientSecret: 'sec:ret',
  clientAuth: 'post',
  scopeSeparator: ',',
  extraAuthorizeParams: { access_type: 'offline', response_type: 'token' },
};
const json = (body: object, status = 200) => ({ status, body: JSON.stringify(body) });
const refresh = (of: Partial<OAuthClient> = {}) => oauth.refresh({ ...client, ...of }, { refreshToken: 'r' });

beforeEach(() => {
  service.respond = () => json({ access_token: 'a', token_type: 'bearer' });
});
afterAll(async () => {
  await outbound.close();
  await service.close();
});

describe('the authorization URL', () => {
  it('has the parameters of the request, which the extra ones cannot replace', () => {
    const request = { state: 's', codeChallenge: 'c', scopes: ['x', 'y'], redirectUri: 'https://plinth.test/back' };
    expect(Object.fromEntries(oauth.authorizationUrl(client, request).searchParams)).toEqual({
      request: 'authorize',
      access_type: 'offline',
      response_type: 'code',
      client_id: 'client id',
      redirect_uri: 'https://plinth.test/back',
      state: 's',
      code_challenge: 'c',
      code_challenge_method: 'S256',
      scope: 'x,y',
    });
  });
});

describe('a request for tokens', () => {
  it('authenticates the client in the body, or by the header', async () => {
    await oauth.exchange(client, { code: 'code', codeVerifier: 'v', redirectUri: 'https://plinth.test/back' });
    expect(Object.fromEntries(new URLSearchParams(service.received.at(-1)?.body))).toEqual({
      grant_type: 'authorization_code',
      code: 'code',
      code_verifier: 'v',
      redirect_uri: 'https://plinth.test/back',
      client_id: 'client id',
      client_secret: 'sec:ret',
    });
    await refresh({ clientAuth: 'basic' });
    const { headers, body } = service.received.at(-1) ?? {};
    expect(headers?.authorization).toBe(`Basic ${Buffer.from('client id:sec:ret').toString('base64')}`);
    expect(headers?.accept).toBe('application/json');
    expect(body).toBe('refresh_token=r&grant_type=refresh_token');
  });

  it.each([
    ['tokens', () => json({ access_token: 'a' }), { kind: 'tokens', accessToken: 'a' }],
    ['a refusal', () => json({ error: 'invalid_grant' }, 400), { kind: 'refused', error: 'invalid_grant' }],
    ['a refusal with 200', () => json({ error: 'bad_refresh_token' }), { kind: 'refused', error: 'invalid_grant' }],
    ['a refusal with 401', () => json({ error: 'invalid_client' }, 401), { kind: 'refused', error: 'invalid_client' }],
    ['503', () => json({ error: 'invalid_grant' }, 503), { kind: 'unavailable', reason: 'status_503' }],
    ['429', () => json({ error: 'slow_down' }, 429), { kind: 'unavailable', reason: 'status_429' }],
    ['a redirect', () => ({ status: 302, headers: { location: '/elsewhere' } }), { kind: 'unavailable' }],
    ['502', () => json({ error: 'invalid_grant' }, 502), { kind: 'unknown' }],
    ['504', () => ({ status: 504 }), { kind: 'unknown' }],
    ['204', () => ({ status: 204 }), { kind: 'unknown' }],
    ['205', () => ({ status: 205 }), { kind: 'unknown' }],
    ['304', () => ({ status: 304 }), { kind: 'unknown' }],
    ['999', () => json({ access_token: 'a' }, 999), { kind: 'unknown' }],
    ['a page', () => ({ body: '<html>' }), { kind: 'unknown' }],
    ['too much', () => json({ access_token: 'a', padding: 'x'.repeat(100_000) }), { kind: 'unknown' }],
    ['nothing', () => 'silence' as const, { kind: 'unknown' }],
    ['a closed connection', () => 'cut' as const, { kind: 'unknown' }],
  ])('that is answered with %s', async (_what, respond, expected) => {
    service.respond = respond;
    expect(await refresh()).toMatchObject(expected);
  });

  it('that cannot be sent is not unknown', async () => {
    expect(await refresh({ tokenEndpoint: 'http://127.0.0.1:1/token' })).toMatchObject({ kind: 'unavailable' });
    expect(await refresh({ tokenEndpoint: 'https://10.0.0.1/token' })).toEqual({
      kind: 'unavailable',
      reason: 'address_not_allowed',
    });
  });
});

describe('revoking a token', () => {
  it('says whether the service confirmed it', async () => {
    service.respond = () => ({ status: 200 });
    expect(await oauth.revoke(client, 'token')).toBe('revoked');
    expect(new URLSearchParams(service.received.at(-1)?.body).get('token')).toBe('token');
    service.respond = () => ({ status: 503 });
    expect(await oauth.revoke(client, 'token')).toBe('failed');
    service.respond = () => ({ status: 304 });
    expect(await oauth.revoke(client, 'token')).toBe('failed');
    service.respond = () => 'cut';
    expect(await oauth.revoke(client, 'token')).toBe('failed');
    const { revocationEndpoint, ...without } = client;
    expect(revocationEndpoint && (await oauth.revoke(without, 'token'))).toBe('unsupported');
  });
});

describe('the check of an API key', () => {
  it.each([
    [200, 'accepted'],
    [401, 'rejected'],
    [403, 'rejected'],
    [404, 'rejected'],
    [429, 'unavailable'],
    [500, 'unavailable'],
  ] as const)('is decided by the answer: %i', async (status, verdict) => {
    service.respond = () => ({ status });
    const authorization = { kind: 'basic', user: 'sid', password: 'ü' } as const;
    const check = createApiKeyCheck(outbound);
    expect(await check({ owner: 'workspace', url: `${base}/check`, authorization })).toBe(verdict);
    expect(service.received.at(-1)?.headers.authorization).toBe(
      `Basic ${Buffer.from('sid:ü', 'utf8').toString('base64')}`,
    );
  });
});
