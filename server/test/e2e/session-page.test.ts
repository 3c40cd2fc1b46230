// Tests a coding session's page in a real browser, in every long-lasting state. The API and the worker run as separate
// processes. The git host and the language model are the sandbox's.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Route } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { demoFiles, demoRepositoryName } from '../../../sandbox/src/demo-repository/repository.ts';
import { startGitHost } from '../../../sandbox/src/git-host/server.ts';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { enter, expectAccessible, expectGoodPage, see, startBrowser } from './browser.ts';
import { commandLine } from './command.ts';

const model = await startModelSandbox();
const folder = await mkdtemp(join(tmpdir(), 'session-page-'));
const gitHost = await startGitHost({ folder: join(folder, 'git-host') });
const database = await cloneTemplate();
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const setup_token = 'a setup token of the tests';
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

type Headers = Readonly<Record<string, string | undefined>>;
const toCookie = (headers: Headers): string => String(headers['set-cookie']).split(';')[0] ?? '';

/** A browser in which the person with this cookie is signed in. */
function signedInAs(cookie: string) {
  const [name = '', value = ''] = cookie.split('=');
  const place = { domain: '127.0.0.1', path: '/', expires: -1, httpOnly: true, secure: false };
  return { storageState: { cookies: [{ name, value, ...place, sameSite: 'Lax' as const }], origins: [] } };
}

const cookie = toCookie(setUp.headers);
const signedIn = signedInAs(cookie);

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

/** The limits are those of one minute, and the tests launch more sessions in it than a person would. */
const setRateMultiplier = (rate_multiplier: number) =>
  send('PATCH', `/api/operator/workspaces/${setUp.body.workspace.id}`, { rate_multiplier });
await setRateMultiplier(100);

async function addEditor(email: string): Promise<string> {
  const { accept_url } = await send('POST', '/api/workspace/invitations/invite', { email, role: 'editor' });
  const invitation_token = String(accept_url).split('#')[1];
  const body = { invitation_token, full_name: 'Nils', password: person.password };
  return toCookie((await call(url, 'POST', '/api/invitations/accept', { body })).headers);
}

let keys = 0;
function newKey(): string {
  keys += 1;
  return `key-${keys}`;
}

async function launch(prompt: string, more: object = {}): Promise<{ path: string; page: string }> {
  const { id } = await send('POST', sessions, { title: 'A task', prompt, ...more }, newKey());
  return { path: `${sessions}/${id}`, page: `${url}/editor/${appId}/sessions/${id}` };
}

/** An account can sign in once every five seconds. */
const betweenSignInsMs = 5_100;

const askCurrency = 'Print prices with their currency.';
const askApproval = 'Delete the prices that nothing uses.';

const badge = (page: Page, text: string) => page.locator('#badge', { hasText: text }).waitFor();

const question = (page: Page) =>
  page.locator('#input-request').getByText('Which currency are the prices in?').waitFor();

/** Checks the page on a phone and on a large screen, in light and dark mode. */
async function expectGoodInBothSchemes(page: Page, picture: string) {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await expectGoodPage(page, `session-${picture}-${colorScheme}`);
    await expectAccessible(page, picture);
  }
}

const button = (page: Page, name: string) => page.getByRole('button', { name });
const outcome = (page: Page, text: string) => page.locator('#outcome', { hasText: text }).waitFor();
const answered = (page: Page, text: string) => page.locator('#answered', { hasText: text }).waitFor();
const failure = (page: Page, text: string) => page.locator('#answer-error', { hasText: text }).waitFor();
const hasFocus = (page: Page, selector: string) =>
  expect.poll(() => page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)).toBe(true);

/** A failure says what the form says, such as that the sign-in comes too soon after another one. */
async function signInOnPage(page: Page) {
  await enter(page, 'E-mail address', person.email);
  await enter(page, 'Password', person.password);
  await button(page, 'Sign in').click();
  const form = page.locator('#sign-in');
  const read = async () => ((await form.isVisible()) ? form.locator('.error').innerText() : 'signed in');
  await expect.poll(read).toBe('signed in');
}

/** Keeps the page from following the session, as a broken connection would. */
const breakStream = async (page: Page) => {
  await page.route('**/events', (route) => route.abort());
  await page.reload();
};

async function answerThroughApi(path: string, label: string) {
  const { input_request_id } = (await send('GET', `${path}/input-request`)).input_request;
  const answers = [{ question_index: 0, selected_label: label }];
  await send('POST', `${path}/messages`, { input_request_id, answers }, newKey());
}

describe('the page of a session', () => {
  it('asks a visitor to sign in, and shows the session afterwards, as it goes from the queue to the pull request', async () => {
    const { page: link } = await launch('Make the failing tests pass. <b>Mend</b> the code.', {
      title: '<img src=x onerror=alert(1)>',
    });
    await visit(link, async (page) => {
      await page.getByRole('heading', { name: 'Sign in to see this session' }).waitFor();
      await expectGoodPage(page, 'session-sign-in');
      await signInOnPage(page);
      await badge(page, 'Queued');
      await page.getByRole('heading', { name: '<img src=x onerror=alert(1)>' }).waitFor();
      expect(await page.title()).toBe('Queued: <img src=x onerror=alert(1)>');
      await expectGoodPage(page, 'session-queued');
      model.behave('silent');
      await start('worker', /"msg":"worker started"/);
      await badge(page, 'Working');
      await expectGoodInBothSchemes(page, 'running');
      model.behave('well');
      await badge(page, 'Completed');
      await see(page, 'The changes are in the pull request.');
      await page.getByText('First I look at what is there.').waitFor();
      expect(await page.locator('#summary-text').innerText()).toContain('Exactly 10 and exactly 50 pieces');
      const [pull] = gitHost.listPullRequests(demoRepositoryName);
      expect(await page.locator('#pull-request-link').getAttribute('href')).toContain(`/pull/${pull?.number}`);
      expect(await page.locator('main img').count()).toBe(0);
      await expectGoodInBothSchemes(page, 'completed');
    });
  });

  it('says why a session failed, and what to do', async () => {
    const { page: link } = await launch('Make the failing tests pass.', { source_ref: 'no-such-branch' });
    await visit(
      link,
      async (page) => {
        await badge(page, 'Failed');
        await see(page, 'The source ref does not exist.');
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
        await page.getByRole('heading', { name: 'Session not found' }).waitFor();
        await expectGoodPage(page, 'session-missing');
      },
      signedIn,
    );
  });

  it('says what to do without JavaScript', async () => {
    const check = async (page: Page) =>
      expect(await page.locator('noscript').innerText()).toContain('Turn on JavaScript in your browser');
    await visit(`${url}/editor/${appId}/sessions/${appId}`, check, { javaScriptEnabled: false });
  });
});

describe('the person who launched a session', () => {
  it('answers with an option, once, and sees the answer only after it was accepted', async () => {
    const { path, page: link } = await launch(askCurrency);
    await visit(
      link,
      async (page) => {
        await badge(page, 'Waiting for an answer');
        await question(page);
        await expectGoodInBothSchemes(page, 'needs-input');
        await page.reload();
        await question(page);
        await hasFocus(page, 'h1');
        const sent: Route[] = [];
        const { promise: released, resolve: release } = Promise.withResolvers<void>();
        await page.route('**/messages', async (route) => {
          sent.push(route);
          await released;
          await route.continue();
        });
        await button(page, 'Pound sterling').dblclick();
        await see(page, 'Sending…');
        expect(await button(page, 'Euro').isDisabled()).toBe(true);
        expect(await button(page, 'Send').isDisabled()).toBe(true);
        expect(await page.locator('#outcome').innerText()).toBe('');
        release();
        await outcome(page, 'Your answer was sent: Pound sterling.');
        await hasFocus(page, '#outcome');
        expect(await page.locator('#input-request').isVisible()).toBe(false);
        await answered(page, 'Which currency are the prices in?');
        await answered(page, `Answered by ${person.email}: Pound sterling`);
        await badge(page, 'Completed');
        expect(await page.locator('#summary-text').innerText()).toContain('£3.90');
        expect(sent).toHaveLength(1);
        await page.reload();
        await answered(page, `Answered by ${person.email}: Pound sterling`);
        await expectGoodInBothSchemes(page, 'answered');
      },
      signedIn,
    );
    expect(await send('GET', `${path}/input-request`)).toEqual({ input_request: null, launched_by: person.email });
  });

  it('answers in their own words, with the keyboard alone', async () => {
    const { page: link } = await launch(askCurrency);
    await visit(
      link,
      async (page) => {
        await question(page);
        await button(page, 'Pound sterling').focus();
        await page.keyboard.press('Tab');
        await hasFocus(page, 'textarea');
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await failure(page, 'Write an answer first.');
        await hasFocus(page, 'textarea');
        await page.keyboard.type('In Pound sterling, please.');
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await outcome(page, 'Your answer was sent: In Pound sterling, please.');
        await badge(page, 'Completed');
        expect(await page.locator('#summary-text').innerText()).toContain('£3.90');
      },
      signedIn,
    );
  });

  it('answers several questions at once, and is told which one is missing', async () => {
    const questions = [
      { text: 'Which rate applies?', options: [{ label: '7 %' }, { label: '19 %', description: 'The usual rate.' }] },
      {
        text: 'Which pages show it?',
        options: [{ label: 'Cart' }, { label: 'Order' }, { label: 'Receipt' }],
        multi_select: true,
        allow_custom_text: false,
      },
      { text: 'What is it called?' },
    ];
    const ask = { text: 'I need to know more.', tool_calls: [{ name: 'ask_question', arguments: { questions } }] };
    model.scriptFor('Show the tax', ({ messages }) =>
      JSON.stringify(messages).includes('Answer: ') ? { text: 'Nothing had to be changed.' } : ask,
    );
    const { page: link } = await launch('Show the tax everywhere.');
    await visit(
      link,
      async (page) => {
        await page.getByText('Which rate applies?').first().waitFor();
        await page.getByLabel('Cart').check();
        await page.getByLabel('Receipt').check();
        await button(page, 'Send').click();
        await failure(page, 'Answer this question first: Which rate applies?');
        await page.getByLabel('19 %').check();
        expect(await page.locator('#answer-error').innerText()).toBe('');
        await expectGoodInBothSchemes(page, 'several-questions');
        await page.getByRole('group', { name: 'What is it called?' }).getByLabel('Your answer').fill('VAT');
        await button(page, 'Send').click();
        await outcome(page, 'Your answer was sent: 19 %; Cart, Receipt; VAT.');
        await answered(page, 'Which pages show it? Cart, Receipt');
        await badge(page, 'Completed');
        await see(page, 'The agent answered without changing anything.');
      },
      signedIn,
    );
  });

  it('approves', async () => {
    const { page: link } = await launch(askApproval);
    await visit(
      link,
      async (page) => {
        await page.getByRole('heading', { name: 'Delete src/old-prices.js' }).waitFor();
        await expectGoodInBothSchemes(page, 'approval');
        await button(page, 'Approve').click();
        await outcome(page, 'You approved this: Delete src/old-prices.js.');
        await answered(page, `Approved by ${person.email}: Delete src/old-prices.js`);
        await badge(page, 'Completed');
        expect(await page.locator('#summary-text').innerText()).toContain('is deleted');
      },
      signedIn,
    );
  });

  it('denies with a reason, and continues the session with a message', async () => {
    const { page: link } = await launch(askApproval);
    await visit(
      link,
      async (page) => {
        await enter(page, 'Reason or instructions (optional)', 'Customers still refused to leave them.');
        await button(page, 'Deny').click();
        await outcome(page, 'You denied this: Delete src/old-prices.js.');
        await answered(page, `Denied by ${person.email}: Delete src/old-prices.js\nCustomers still refused`);
        await badge(page, 'Completed');
        await button(page, 'Send message').click();
        await page.locator('#message-error', { hasText: 'Write a message first.' }).waitFor();
        await enter(page, 'Message', 'What is the discount for 50 pieces?');
        await button(page, 'Send message').click();
        await outcome(page, 'Your message was sent.');
        await page.locator('#summary-text', { hasText: 'I changed nothing.' }).waitFor();
        await page.locator('#log', { hasText: `Message from ${person.email}: What is the discount` }).waitFor();
        expect(await page.getByLabel('Message').inputValue()).toBe('');
      },
      signedIn,
    );
  });

  it('cancels, after being asked whether to', async () => {
    const { page: link } = await launch(askApproval);
    await visit(
      link,
      async (page) => {
        await page.getByRole('heading', { name: 'Delete src/old-prices.js' }).waitFor();
        await button(page, 'Cancel session').click();
        await hasFocus(page, '#keep-running');
        await expectGoodInBothSchemes(page, 'cancel');
        await page.keyboard.press('Escape');
        await hasFocus(page, '#cancel');
        await button(page, 'Cancel session').click();
        await page.getByRole('dialog').getByRole('button', { name: 'Cancel session' }).click();
        await outcome(page, 'Your request to cancel was accepted.');
        await hasFocus(page, '#outcome');
        await badge(page, 'Cancelled');
        await page.getByRole('heading', { name: 'What was kept' }).waitFor();
        await expectGoodPage(page, 'session-cancelled');
      },
      signedIn,
    );
  });
});

describe('an answer that is not accepted', () => {
  it('is refused if the question was answered elsewhere', async () => {
    const { path, page: link } = await launch(askCurrency);
    await visit(
      link,
      async (page) => {
        await question(page);
        await breakStream(page);
        await question(page);
        await answerThroughApi(path, 'Pound sterling');
        await button(page, 'Euro').click();
        await outcome(page, 'Your answer was not accepted. The question had been answered already');
        await hasFocus(page, '#outcome');
        await page.locator('#input-request').waitFor({ state: 'hidden' });
        await page.unroute('**/events');
        await answered(page, `Answered by ${person.email}: Pound sterling`);
        await badge(page, 'Completed');
      },
      signedIn,
    );
  });

  it('is no longer asked for once somebody else has given it', async () => {
    const { path, page: link } = await launch(askCurrency);
    await visit(
      link,
      async (page) => {
        await question(page);
        await page.getByLabel('Or answer in your own words').fill('I am still thinking.');
        await answerThroughApi(path, 'Euro');
        await outcome(page, 'This question has been answered.');
        await hasFocus(page, '#outcome');
        await badge(page, 'Completed');
      },
      signedIn,
    );
  });

  it('can be sent again after a network failure, and is not taken twice', async () => {
    const { page: link } = await launch(askCurrency);
    await visit(
      link,
      async (page) => {
        await question(page);
        await breakStream(page);
        await question(page);
        await page.context().setOffline(true);
        await button(page, 'Euro').click();
        await failure(page, 'it is unknown whether your answer arrived');
        await hasFocus(page, 'button.option');
        await page.context().setOffline(false);
        // This time the answer arrives, and only the response is lost, as is the attempt to read the session.
        await page.route(`**/sessions/*`, (route) => route.abort());
        await page.route('**/messages', async (route) => {
          await route.fetch();
          await route.abort();
        });
        await button(page, 'Euro').click();
        await failure(page, 'it is unknown whether your answer arrived');
        await expectGoodInBothSchemes(page, 'network-failure');
        await page.unroute('**/messages');
        await button(page, 'Euro').click();
        await outcome(page, 'Your answer was sent: Euro.');
        await page.unrouteAll();
        await badge(page, 'Completed');
        expect(await page.locator('#answered-list li').count()).toBe(1);
      },
      signedIn,
    );
  });

  it('says when to send it again if there were too many requests', async () => {
    const { path, page: link } = await launch(askCurrency);
    await visit(
      link,
      async (page) => {
        await question(page);
        await setRateMultiplier(0.1);
        const limited = async () =>
          (await call(url, 'POST', `${path}/messages`, { headers: { cookie }, body: {} })).status;
        await expect.poll(limited).toBe(429);
        await button(page, 'Euro').click();
        await failure(page, 'Your answer was not accepted. There were too many requests. Send it again in ');
        await setRateMultiplier(100);
        await button(page, 'Euro').click();
        await outcome(page, 'Your answer was sent: Euro.');
      },
      signedIn,
    );
  });

  it('can be sent after signing in again, and keeps what was typed', async () => {
    const { page: link } = await launch(askCurrency);
    const { email, password } = person;
    await sleep(betweenSignInsMs);
    const again = await call(url, 'POST', '/api/auth/sign-in', { body: { email, password } });
    expect(again.status, again.text).toBe(200);
    const secondCookie = toCookie(again.headers);
    await visit(
      link,
      async (page) => {
        await question(page);
        await page.getByLabel('Or answer in your own words').fill('Pound sterling');
        await breakStream(page);
        await question(page);
        await page.getByLabel('Or answer in your own words').fill('Pound sterling');
        await call(url, 'POST', '/api/auth/sign-out', { headers: { cookie: secondCookie } });
        await button(page, 'Send').click();
        await see(page, 'Your sign-in has expired. Your answer was not accepted. Sign in, then send it again.');
        await expectGoodInBothSchemes(page, 'expired');
        await page.unroute('**/events');
        await sleep(betweenSignInsMs);
        await signInOnPage(page);
        await question(page);
        await button(page, 'Send').click();
        await outcome(page, 'Your answer was sent: Pound sterling.');
        await badge(page, 'Completed');
        expect(await page.locator('#answered-list li').count()).toBe(1);
      },
      signedInAs(secondCookie),
    );
  });
});

describe('another editor of the app', () => {
  it('sees the question and who can answer it, and has no button to answer', async () => {
    const { path, page: link } = await launch(askCurrency);
    await visit(
      link,
      async (page) => {
        await question(page);
        await see(page, 'Prices look like £3.90');
        await see(page, `Only ${person.email}, who launched this session, can answer.`);
        expect(await page.locator('#input-request').getByRole('button').count()).toBe(0);
        expect(await page.locator('#input-request').getByRole('textbox').count()).toBe(0);
        await expectGoodInBothSchemes(page, 'no-permission');
        await answerThroughApi(path, 'Pound sterling');
        await answered(page, `Answered by ${person.email}: Pound sterling`);
        await badge(page, 'Completed');
        await see(page, `Only ${person.email}, who launched this session, can continue it.`);
        expect(await button(page, 'Send message').isVisible()).toBe(false);
      },
      signedInAs(await addEditor('nils@example.com')),
    );
  });
});
