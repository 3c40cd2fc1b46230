// Tests the warnings that a publish returns.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type Files, publishFiles, putFiles } from '../../../test/support/published.ts';
import { startSecondApp, startWorld } from '../../../test/support/world.ts';
import type { NewApp } from '../../core/identity/apps.ts';
import { namesLocalhost } from './snapshot.ts';

const folder = await mkdtemp(join(tmpdir(), 'warnings-'));
afterAll(() => rm(folder, { recursive: true, force: true }));
const world = await startWorld({
  environment: {
    STORAGE_FOLDER: folder,
    APPS_DOMAIN: 'apps.example',
    BASE_URL: 'https://plinth.example',
    SMTP_URL: 'smtp://127.0.0.1:1', // sign-up requires mail; none is sent here
  },
});
beforeEach(() => world.resetRateLimits());
const owner = await world.person('ann@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);

async function publish(files: Files, more: Partial<NewApp> = {}) {
  const app = await world.appOf(owner, workspace, more);
  await putFiles(world, app, { 'dist/index.html': 'x', ...files }, token);
  const answer = () => world.call('POST', `/api/apps/${app.id}/deploy`, { as: token });
  return { app, answer, first: await answer() };
}
// Assembled here, because no source file may contain the name.
const env = ['process', 'env'].join('.');
const codes = ({ body }: { body: { warnings: { code: string; path?: string }[] } }) =>
  body.warnings.map(({ code, path }) => (path === undefined ? code : `${code} ${path}`));

describe('a publish warns', () => {
  it('of nothing, if all is well', async () => {
    expect((await publish({})).first.body.warnings).toEqual([]);
  });

  it('that files were left out', async () => {
    expect(codes((await publish({ 'dist/.env': 'x', 'dist/_plinth/a.js': 'x' })).first)).toEqual([
      'file_left_out dist/.env',
      'file_left_out dist/_plinth/a.js',
    ]);
  });

  it('that the pages offer to create an account while nobody can, until sign-up is opened', async () => {
    const { app, answer, first } = await publish({
      'dist/app.js': 'auth.signUp({ email });',
      'dist/b.js': 'e.signUp({})',
    });
    expect(codes(first)).toEqual(['sign_up_closed app.js']);
    await world.call('PATCH', `/api/apps/${app.id}/auth/settings`, { as: token, body: { sign_up: 'invited' } });
    expect((await answer()).body.warnings).toEqual([]);
  });

  it('of secrets that the code of functions names and that are not set', async () => {
    const { app, answer, first } = await publish({
      'functions/pay.ts': `const key = $secrets.STRIPE_KEY; const a = ${env}.API_URL ?? ${env}.NODE_ENV;`,
      'functions/mail.ts': `Deno.env.get('MAIL_KEY'); ${env}.api_url; secrets.OTHER; ${env}.STRIPE_KEY`,
      'dist/app.js': `${env}.IN_THE_BROWSER`,
      'src/x.ts': '$secrets.NOT_A_FUNCTION',
    });
    expect(codes(first)).toEqual([
      'secret_not_set functions/pay.ts',
      'secret_not_set functions/mail.ts',
      'secret_not_set functions/mail.ts',
    ]);
    expect(first.body.warnings.map(({ message }: { message: string }) => message.split(',')[0])).toEqual([
      'The code uses the secret API_URL',
      'The code uses the secret MAIL_KEY',
      'The code uses the secret STRIPE_KEY',
    ]);
    for (const name of ['STRIPE_KEY', 'API_URL', 'MAIL_KEY'])
      await world.call('PUT', `/api/apps/${app.id}/secrets/${name}`, { as: token, body: { value: 'x' } });
    expect((await answer()).body.warnings).toEqual([]);
  });

  it('of secrets without asking to set one, because functions are not run', async () => {
    const { first } = await publish({ 'functions/pay.ts': '$secrets.STRIPE_KEY' });
    expect(first.body.warnings).toMatchObject([
      { message: expect.stringContaining('Functions are stored but not run') },
    ]);
  });

  it('says if not all code was looked at', async () => {
    const { first } = await publish({ 'functions/a.ts': '$secrets.A', 'functions/b.ts': 'x'.repeat(600_000) });
    expect(first.headers['x-partial-result']).toBe('warnings');
    expect(codes(first)).toEqual(['secret_not_set functions/a.ts']);
  });

  it('of entities that everybody may use without signing in', async () => {
    const { app, answer } = await publish({}, { public_settings: 'public_without_login' });
    const put = (name: string, rls: object) =>
      world.call('PUT', `/api/apps/${app.id}/entity-schemas/${name}`, {
        as: token,
        body: { name, properties: {}, rls },
      });
    await put('Open', { read: true, write: true });
    await put('Listed', { read: true, write: { created_by_id: '{{user.id}}' } });
    await put('Closed', { read: { created_by_id: '{{user.id}}' } });
    const messages = (await answer()).body.warnings.map(({ message }: { message: string }) => message);
    expect(messages).toEqual([
      "Anyone on the web can access Listed records without signing in (read). Change the entity's rules if you don't want this.",
      "Anyone on the web can access Open records without signing in (create, read, update, delete). Change the entity's rules if you don't want this.",
    ]);
    await world.call('PUT', `/api/apps/${app.id}`, { as: token, body: { public_settings: 'public_with_login' } });
    expect((await answer()).body.warnings).toEqual([]);
  });

  it('of addresses on localhost in text files, also in those that did not change', async () => {
    const files = {
      'dist/app.js': 'fetch("http://localhost:3000/api")',
      'dist/data.png': 'http://localhost:3000/',
      'src/dev.ts': 'http://localhost:3000/',
    };
    const { app, first } = await publish(files);
    expect(codes(first)).toEqual(['localhost_address app.js']);
    const again = await publishFiles(world, app, { ...files, 'dist/index.html': 'changed' }, token);
    expect(codes({ body: again })).toEqual(['localhost_address app.js']);
    const back = await world.call('POST', `/api/apps/${app.id}/deploy`, {
      as: token,
      body: { deployment_id: first.body.deployment_id },
    });
    expect(codes(back)).toEqual(['localhost_address app.js']);
  });

  it('of at most 20 of a kind, and says that there are more', async () => {
    const many = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`dist/.${n}`, 'x']));
    const { first } = await publish(many);
    expect(first.body.warnings).toHaveLength(20);
    expect(first.headers['x-truncated']).toBe('true');
  });

  it('that the address is a sandbox, without a domain for apps, where the operator allows it', async () => {
    const second = await startSecondApp(world, { environment: { APPS_DOMAIN: '', APPS_BELOW_BASE_URL: 'true' } });
    const app = await world.appOf(owner, workspace);
    await putFiles(world, app, { 'dist/index.html': 'x' }, token);
    const got = await second.call('POST', `/api/apps/${app.id}/deploy`, { as: token });
    expect(got.body).toMatchObject({
      url: `https://plinth.example/p/${app.slug}/`,
      warnings: [{ code: 'sandboxed_address' }],
    });
  });
});

describe('an installation without a domain for apps', () => {
  it('publishes nothing and rolls nothing back on its own host, unless that is this machine', async () => {
    const second = await startSecondApp(world, { environment: { APPS_DOMAIN: '' } });
    const app = await world.appOf(owner, workspace);
    await putFiles(world, app, { 'dist/index.html': 'x' }, token);
    const { body: deployed } = await world.call('POST', `/api/apps/${app.id}/deploy`, { as: token });
    for (const body of [{}, { deployment_id: deployed.deployment_id }]) {
      const got = await second.call('POST', `/api/apps/${app.id}/deploy`, { as: token, body });
      expect(got).toMatchObject({ status: 409, body: { code: 'apps_domain_missing', retry_safe: false } });
    }
    const environment = { APPS_DOMAIN: '', BASE_URL: 'http://127.0.0.1:8080' };
    const local = await startSecondApp(world, { environment });
    expect((await local.call('POST', `/api/apps/${app.id}/deploy`, { as: token })).status).toBe(200);
  });
});

describe('an address on localhost', () => {
  it.each(['fetch("http://localhost:3000")', "'https://127.0.0.1/api'", 'ws://localhost:1/', 'http://[::1]:8080'])(
    'is found: %s',
    (text) => expect(namesLocalhost(Buffer.from(text))).toBe(true),
  );

  it.each([
    'new URL(path, "http://localhost")', // a base for relative addresses
    'http://localhost.example/',
    'localhost:3000',
    'http://127.0.0.11/',
    'ftp://localhost/',
  ])('is not found: %s', (text) => expect(namesLocalhost(Buffer.from(text))).toBe(false));
});
