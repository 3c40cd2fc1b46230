// Tests connecting a service in a real browser: the sandbox's consent page, the redirect back, and the pages that users
// see. The API runs as a separate process.
import { afterAll, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { startAuthorizationServer } from '../../../sandbox/src/authorization-server.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { sandboxSettings } from '../support/connections.ts';
import { cloneTemplate } from '../support/template.ts';
import { expectGoodPage, startChromium } from './browser.ts';
import { commandLine } from './command.ts';

const sandbox = await startAuthorizationServer();
const database = await cloneTemplate();
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const setup_token = 'a setup token of the tests';
const settings = { DATABASE_URL: database.url, PLINTH_SETUP_TOKEN: setup_token, PORT: String(port), BASE_URL: url };
await commandLine({ ...newKeys(), ...settings, ...sandboxSettings(sandbox.url) }).startApi();
const browser = await startChromium();
afterAll(async () => {
  await sandbox.close();
  await database.drop();
});

const person = { email: 'olive@example.com', full_name: 'Olive', password: 'correct horse battery' };
const setUp = await call(url, 'POST', '/api/setup', { body: { setup_token, ...person, workspace_name: 'Ours' } });
const [session = ''] = String(setUp.headers['set-cookie']).split(';');
const send = async (method: string, path: string, body?: object) => {
  const got = await call(url, method, path, { headers: { cookie: session }, ...(body && { body }) });
  expect(got.status, got.text).toBe(200);
  return got.body;
};
const app = await send('POST', '/api/apps', { name: 'Orders' });
const base = `/api/apps/${app.id}/external-auth`;
const start = async (integration_type: string, more: object = {}): Promise<string> =>
  (await send('POST', `${base}/initiate`, { integration_type, ...more })).redirect_url;
const readStatus = (type: string) => send('GET', `${base}/status?integration_type=${type}`);

/** Opens a new browser context, signed in or not. */
async function openBrowser(isSignedIn: boolean) {
  const context = await browser.newContext();
  const [name = '', value = ''] = session.split('=');
  if (isSignedIn) await context.addCookies([{ name, value, url }]);
  return context.newPage();
}

it('a person consents at the service and is connected', async () => {
  const page = await openBrowser(true);
  await page.goto(await start('gitlab'));
  await expectGoodPage(page, 'connect-consent');
  expect(await readStatus('gitlab')).toEqual({ status: 'PENDING', error: null });
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByRole('heading', { name: 'Connected to GitLab' }).waitFor();
  await expectGoodPage(page, 'connect-connected');
  expect(await readStatus('gitlab')).toEqual({ status: 'ACTIVE', error: null });
  await page.reload();
  await page.getByText('This connection was started in another browser').waitFor();
  await expectGoodPage(page, 'connect-refused');
});

it('a person who denies access comes back to where they wanted', async () => {
  const page = await openBrowser(true);
  await page.goto(await start('slack', { return_url: `${url}/?from=slack` }));
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.waitForURL(/from=slack&status=FAILED&connection_id=[\w-]+&error=access_denied$/);
  const again = await openBrowser(true);
  await again.goto(await start('slack'));
  await again.getByRole('button', { name: 'Deny' }).click();
  await again.getByRole('heading', { name: 'Not connected to Slack' }).waitFor();
  await expectGoodPage(again, 'connect-denied');
});

it('another browser gets nowhere, with the link or with what the service answered', async () => {
  const link = await start('github');
  const other = await openBrowser(false);
  await other.goto(link);
  await other.getByRole('heading', { name: 'You are not signed in' }).waitFor();
  await expectGoodPage(other, 'connect-signed-out');
  // The user's own browser is redirected to the service, but the service's redirect back is opened in the other
  // browser.
  const left = await call(url, 'GET', new URL(link).pathname, { headers: { cookie: session } });
  const back = await sandbox.consent(left.headers.location ?? '');
  await other.goto(back.href);
  await other.getByText('This connection was started in another browser').waitFor();
  expect(await readStatus('github')).toEqual({ status: 'PENDING', error: null });
});
