// Tests the task `connector.request` in real runs against the sandbox's services, with tokens issued through a consent
// flow.
import { beforeEach, describe, expect, it } from 'vitest';
import { sandboxApiKeys } from '../../../sandbox/src/authorization-server-api.ts';
import { openTokens } from '../../src/features/connectors/sealed.ts';
import { startConnectorScene } from '../support/connections.ts';
import { createRunScene } from '../support/runs.ts';

const scene = await startConnectorScene();
const { world, sandbox, connect, connectByKey, newApp, find, deps } = scene;
const runs = createRunScene(world);
await world.startWorker();

beforeEach(() => {
  sandbox.behave('well');
});

const request = (more: object) => [
  { ask: { call: 'connector.request', with: { integration_type: 'slack', method: 'get', path: '/me', ...more } } },
];
const openOf = async (id: string) => {
  const tokens = openTokens(deps.secrets, await find(id));
  if (tokens === undefined) throw new Error('no tokens');
  return tokens;
};
/** Backdates the connection, because a token is not refreshed in its first minute. */
const makeOlder = (id: string) =>
  world.db
    .updateTable('connections')
    .set({ connected_at: new Date(Date.now() - 120_000) })
    .where('id', '=', id)
    .execute();
const apiCalls = (connector: string) =>
  sandbox.journal.filter((entry) => entry.connector === connector && entry.event === 'api');

describe('connector.request', () => {
  it("sends a request with the app's connection, an idempotency key and what the definition says", async () => {
    const app = await newApp();
    await connect(app, 'slack');
    const ended = await runs.run(app, request({ method: 'post', path: '/post', query: { a: [1, 2] }, body: { x: 1 } }));
    expect(ended.status, JSON.stringify(ended.failure)).toBe('completed');
    expect(ended.steps[0]?.output).toMatchObject({ method: 'POST', path: '/post?a=1&a=2', received: { x: 1 } });
    expect(apiCalls('slack').at(-1)).toMatchObject({ status: 200, idempotency_key: `${ended.id}.1` });
  });

  it('uses the API key of a service that has one', async () => {
    const { twilio, sendgrid } = sandboxApiKeys;
    const app = await newApp();
    await connectByKey(app, 'twilio', { account_sid: twilio.account_sid }, { auth_token: twilio.auth_token });
    await connectByKey(app, 'sendgrid', {}, { api_key: sendgrid.api_key });
    for (const integration_type of ['twilio', 'sendgrid'])
      expect(await runs.run(app, request({ integration_type, path: '/echo' }))).toMatchObject({ status: 'completed' });
  });

  it('sends a body as a form to a service that takes forms', async () => {
    const { account_sid, auth_token } = sandboxApiKeys.twilio;
    const app = await newApp();
    await connectByKey(app, 'twilio', { account_sid }, { auth_token });
    const send = (body: object) => runs.run(app, request({ integration_type: 'twilio', method: 'post', body }));
    const sent = await send({ To: '+1', Body: 'a b', MediaUrl: ['x', 'y'] });
    expect(sent.steps[0]?.output).toMatchObject({ received: 'To=%2B1&Body=a+b&MediaUrl=x&MediaUrl=y' });
    expect(await send({ nested: { a: 1 } })).toMatchObject({ status: 'failed', failure: { type: 'validation' } });
  });

  it('shows the token nowhere, although the service repeats it in its answer and in its errors', async () => {
    const app = await newApp();
    const tokens = await openOf(await connect(app, 'slack'));
    const { twilio } = sandboxApiKeys;
    await connectByKey(app, 'twilio', { account_sid: twilio.account_sid }, { auth_token: twilio.auth_token });
    const keep = { keep: { set: { said: '${ . }', again: '${ .token | @base64 }' } } };
    const echoed = await runs.run(app, [...request({ path: '/echo' }), keep, { wait: { wait: { milliseconds: 1 } } }]);
    expect(echoed.status).toBe('completed');
    expect(echoed.steps[0]?.output).toMatchObject({ token: '***' });
    const failed = await runs.run(app, request({ path: '/status/500' }));
    expect(failed.status).toBe('failed');
    await runs.run(app, request({ integration_type: 'twilio', path: '/echo' }));
    const secrets = [tokens.accessToken, tokens.refreshToken ?? '', twilio.auth_token];
    const basic = Buffer.from(`${twilio.account_sid}:${twilio.auth_token}`).toString('base64');
    const stored = JSON.stringify([
      await world.db.selectFrom('workflow_runs').selectAll().execute(),
      await world.db.selectFrom('workflow_steps').selectAll().execute(),
      world.logLines,
    ]);
    for (const secret of [...secrets, ...secrets.map((each) => Buffer.from(each).toString('base64')), basic])
      expect(stored.includes(secret)).toBe(false);
  });

  it('refreshes a token that the service refuses with 401, and repeats the request once with the same key', async () => {
    const app = await newApp();
    const id = await connect(app, 'github');
    const { accessToken } = await openOf(id);
    await fetch(`${sandbox.url}/github/revoke`, {
      method: 'POST',
      body: new URLSearchParams({
        token: accessToken,
        token_type_hint: 'access_token',
        client_id: 'sandbox-github',
        client_secret: 'sandbox-github-secret',
      }),
    });
    await makeOlder(id);
    const ended = await runs.run(app, request({ integration_type: 'github' }));
    // At this service, revoking an access token ends the whole grant, so the token cannot be refreshed either.
    expect(ended).toMatchObject({ status: 'failed', failure: { type: 'authentication', status: 401 } });
    expect((await find(id)).status).toBe('expired');

    const other = await connect(app, 'gitlab');
    const before = await openOf(other);
    await world.db
      .updateTable('connections')
      .set({
        access_token_sealed: deps.secrets.seal('stale-token', ['connections', other, 'access_token_sealed']),
      })
      .where('id', '=', other)
      .execute();
    await makeOlder(other);
    const renewed = await runs.run(app, request({ integration_type: 'gitlab' }));
    expect(renewed.status, JSON.stringify(renewed.failure)).toBe('completed');
    const calls = apiCalls('gitlab').slice(-2);
    expect(calls.map(({ status }) => status)).toEqual([401, 200]);
    expect(new Set(calls.map(({ idempotency_key }) => idempotency_key))).toEqual(new Set([`${renewed.id}.1`]));
    expect((await openOf(other)).accessToken).not.toBe(before.accessToken);
  });

  it('reaches only the API of the service', async () => {
    const app = await newApp();
    await connect(app, 'slack');
    const before = apiCalls('slack').length;
    for (const path of ['/../token', '/%2e%2e/token', '/a/%2E./../../journal', '\\..\\token', '@example.com/', '/a#b'])
      expect(await runs.run(app, request({ path: '${ .path }' }), { path }), path).toMatchObject({
        status: 'failed',
        failure: { type: 'configuration', cause: 'address' },
      });
    expect(apiCalls('slack')).toHaveLength(before);
  });
});

describe('a connection that cannot be used', () => {
  it('is missing, ended or expired: the request is not sent, and the error says which', async () => {
    const app = await newApp();
    const before = apiCalls('box').length;
    const ask = () => runs.run(app, request({ integration_type: 'box' }));
    expect((await ask()).failure).toMatchObject({ type: 'configuration', status: 404 });
    expect((await runs.run(app, request({ integration_type: 'nowhere' }))).failure).toMatchObject({ status: 404 });
    const id = await connect(app, 'box');
    const end = (status: 'expired' | 'disconnected') =>
      world.db
        .updateTable('connections')
        .set({
          status,
          access_token_sealed: null,
          refresh_token_sealed: null,
          expires_at: null,
          next_refresh_at: null,
        })
        .where('id', '=', id)
        .execute();
    await end('disconnected');
    expect((await ask()).failure).toMatchObject({ type: 'configuration', status: 404 });
    await end('expired');
    const expired = await ask();
    expect(expired.failure).toMatchObject({ type: 'authentication', status: 401 });
    expect(expired.error_message).toBe(
      "Task 'ask' failed: The connection to this service has expired. Connect it again.",
    );
    expect(apiCalls('box')).toHaveLength(before);
  });

  it('belongs to another app', async () => {
    const [mine, other] = [await newApp(), await newApp()];
    await connect(other, 'zoom');
    expect((await runs.run(mine, request({ integration_type: 'zoom' }))).failure).toMatchObject({ status: 404 });
  });

  it('cannot be renewed now', async () => {
    const app = await newApp();
    const id = await connect(app, 'dropbox');
    const past = new Date(Date.now() - 60_000);
    await world.db
      .updateTable('connections')
      .set({ expires_at: past, next_refresh_at: past })
      .where('id', '=', id)
      .execute();
    sandbox.behave('down', 'dropbox');
    const ended = await runs.run(app, request({ integration_type: 'dropbox' }));
    expect(ended.failure).toMatchObject({ type: 'communication', status: 503 });
  });
});
