// The page of a coding session in a real browser, in every state that people see for long. API and worker run as processes of their own;
// the git host and the language model are the sandbox's.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { demoFiles, demoRepositoryName } from '../../../sandbox/src/demo-repository/repository.ts';
import { startGitHost } from '../../../sandbox/src/git-host/server.ts';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { enter, expectGoodPage, see, startBrowser } from './browser.ts';
import { commandLine } from './command.ts';
import { freePort } from './free-port.ts';

const model = await startModelSandbox();
const folder = await mkdtemp(join(tmpdir(), 'session-page-'));
const gitHost = await startGitHost({ folder: join(folder, 'git-host') });
const database = await cloneTemplate();
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const setup_token = 'a set-up token of the tests';
const { start, startApi } = commandLine({
  ...newKeys(),
  DATABASE_URL: database.url,
  PLINTH_SETUP_TOKEN: setup_token,
  PORT: String(port),
  BASE_URL: url,
  MODEL_URL: model.url,
  STORAGE_FOLDER: join(folder, 'storage'),
  GIT_HOST_URL: gitHost.url,
  GIT_HOST_CLONE_URL: gitHost.cloneUrl,
});
await startApi();
const { visit } = await startBrowser();
afterAll(async () => {
  await Promise.all([model.close(), gitHost.close(), database.drop()]);
  await rm(folder, { recursive: true, force: true });
});

const person = { email: 'olive@example.com', full_name: 'Olive', password: 'correct horse battery' };
const setUp = await call(url, 'POST', '/api/setup', { body: { setup_token, ...person, workspace_name: 'Ours' } });
const [cookie = ''] = String(setUp.headers['set-cookie']).split(';');
const [name = '', value = ''] = cookie.split('=');
const signedIn = {
  storageState: {
    cookies: [
      {
        name,
        value,
        domain: '127.0.0.1',
        path: '/',
        expires: -1,
        httpOnly: true,
        secure: false,
        sameSite: 'Lax' as const,
      },
    ],
    origins: [],
  },
};

async function send(method: string, path: string, body?: object, key?: string) {
  const headers = { cookie, ...(key !== undefined && { 'idempotency-key': key }) };
  const got = await call(url, method, path, { headers, ...(body && { body }) });
  expect(got.status, got.text).toBe(200);
  return got.body;
}

await gitHost.addRepository({ full_name: demoRepositoryName, files: demoFiles });
const { id: appId } = await send('POST', '/api/apps', { name: 'Bakery', app_type: 'imported_app' });
const sessions = `/api/apps/${appId}/imported/sessions`;
await send('PUT', `/api/apps/${appId}/imported/repository`, {
  repository_full_name: demoRepositoryName,
  credentials: { token: gitHost.token },
});

let launches = 0;
async function launch(prompt: string, more: object = {}): Promise<{ path: string; page: string }> {
  launches += 1;
  const { id } = await send('POST', sessions, { title: 'A task', prompt, ...more }, `key-${launches}`);
  return { path: `${sessions}/${id}`, page: `${url}/editor/${appId}/sessions/${id}` };
}

const badge = (page: Page, text: string) => page.locator('#badge', { hasText: text }).waitFor({ timeout: 45_000 });

const question = (page: Page) =>
  page.locator('#input-request').getByText('Which currency are the prices in?').waitFor();

/** On a phone and on a large screen, light and dark. */
async function expectGoodInBothSchemes(page: Page, picture: string) {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await expectGoodPage(page, `session-${picture}-${colorScheme}`);
  }
}

describe('the page of a session', { timeout: 120_000 }, () => {
  it('asks a visitor to sign in, and shows the session afterwards, as it goes from the queue to the pull request', async () => {
    const { page: link } = await launch('Make the failing tests pass. <b>Mend</b> the code.', {
      title: '<img src=x onerror=alert(1)>',
    });
    await visit(link, async (page) => {
      await page.getByRole('heading', { name: 'Sign in to see this session' }).waitFor();
      await expectGoodPage(page, 'session-sign-in');
      await enter(page, 'E-mail address', person.email);
      await enter(page, 'Password', person.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await badge(page, 'Queued');
      await expectGoodPage(page, 'session-queued');
      model.behave('silent');
      await start('worker', /"msg":"worker started"/);
      await badge(page, 'Working');
      await expectGoodPage(page, 'session-running');
      model.behave('well');
      await badge(page, 'Completed');
      await see(page, 'The changes are in the pull request.');
      await page.getByRole('heading', { name: '<img src=x onerror=alert(1)>' }).waitFor();
      await page.getByText('First I look at what is there.').waitFor();
      expect(await page.locator('#summary-text').innerText()).toContain('Exactly 10 and exactly 50 pieces');
      const [pull] = gitHost.listPullRequests(demoRepositoryName);
      expect(await page.locator('#pull-request-link').getAttribute('href')).toContain(`/pull/${pull?.number}`);
      expect(await page.locator('main img').count()).toBe(0);
      await expectGoodInBothSchemes(page, 'completed');
    });
  });

  it('shows an open question without a way to answer it, and what follows the answer', async () => {
    const { path, page: link } = await launch('Print prices with their currency.');
    await visit(
      link,
      async (page) => {
        await badge(page, 'Waits for an answer');
        await question(page);
        await see(page, 'Prices look like £3.90');
        expect(await page.locator('#session').getByRole('button').count()).toBe(0);
        await expectGoodInBothSchemes(page, 'needs-input');
        await page.reload();
        await question(page);
        const { input_request } = await send('GET', `${path}/input-request`);
        const example = (await page.locator('#answer-example').innerText()).split('\n\n')[1] ?? '';
        expect(JSON.parse(example)).toMatchObject({ input_request_id: input_request.input_request_id });
        await send('POST', `${path}/messages`, JSON.parse(example), 'answer-1');
        await badge(page, 'Completed');
        expect(await page.locator('#input-request').isVisible()).toBe(false);
        expect(await page.locator('#summary-text').innerText()).toContain('€3.90');
      },
      signedIn,
    );
  });

  it('shows an approval, and what was kept after a cancel', async () => {
    const { path, page: link } = await launch('Delete the prices that nothing uses.');
    await visit(
      link,
      async (page) => {
        await page.getByRole('heading', { name: 'Delete src/old-prices.js' }).waitFor({ timeout: 45_000 });
        await expectGoodPage(page, 'session-approval');
        await send('POST', `${path}/cancel`);
        await badge(page, 'Cancelled');
        await page.getByRole('heading', { name: 'What was kept' }).waitFor();
        await expectGoodPage(page, 'session-cancelled');
      },
      signedIn,
    );
  });

  it('says why a session failed, and what to do', async () => {
    const { page: link } = await launch('Make the failing tests pass.', { source_ref: 'no-such-branch' });
    await visit(
      link,
      async (page) => {
        await badge(page, 'Failed');
        await see(page, 'The ref that the branch should start from does not exist.');
        await see(page, 'source_ref_not_found');
        await expectGoodInBothSchemes(page, 'failed');
      },
      signedIn,
    );
  });

  it('says so if there is no such session', async () => {
    await visit(
      `${url}/editor/${appId}/sessions/${appId}`,
      async (page) => {
        await page.getByRole('heading', { name: 'There is no such session for you' }).waitFor();
        await expectGoodPage(page, 'session-missing');
      },
      signedIn,
    );
  });
});
