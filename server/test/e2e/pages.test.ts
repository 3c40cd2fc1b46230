// Tests the start page, the reset page and the error page in a real browser. The API and a worker run as separate
// processes, with the sandbox's mail server.
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { startMailSandbox } from '../../../sandbox/src/smtp.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { enter, expectGoodPage, see, startBrowser } from './browser.ts';
import { commandLine } from './command.ts';

const mail = await startMailSandbox();
const database = await cloneTemplate();
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const setupToken = 'a setup token of the tests';
const settings = { ...newKeys(), DATABASE_URL: database.url, PLINTH_SETUP_TOKEN: setupToken };
const { start, startApi } = commandLine({ ...settings, SMTP_URL: mail.smtpUrl, PORT: String(port), BASE_URL: url });
const portWithoutMail = await freePort();
const urlWithoutMail = `http://127.0.0.1:${portWithoutMail}`;
const withoutMail = commandLine({ ...settings, PORT: String(portWithoutMail), BASE_URL: urlWithoutMail });
const [{ visit }] = await Promise.all([startBrowser(), startApi(), withoutMail.startApi()]);
afterAll(async () => {
  await mail.close();
  await database.drop();
});

const email = 'olive@example.com';
const password = 'correct horse battery';
const newPassword = 'battery horse correct';

describe('the start page', () => {
  it('sets the installation up', async () => {
    await visit(url, async (page) => {
      await page.getByRole('heading', { name: 'Set up this installation' }).waitFor();
      await expectGoodPage(page, 'start-set-up');
      await enter(page, 'Setup token', 'another token');
      await enter(page, 'Workspace name', 'Bright Ideas');
      await enter(page, 'Your name', 'Olive Owner');
      await enter(page, 'Your e-mail address', email);
      await enter(page, 'Password', password);
      await page.getByRole('button', { name: 'Set up' }).click();
      await see(page, 'The setup token is wrong.');
      await enter(page, 'Setup token', setupToken);
      await page.getByRole('button', { name: 'Set up' }).click();
      await page.getByRole('heading', { name: 'Welcome, Olive Owner' }).waitFor();
    });
  });

  it('signs a person in, creates a token that works, and signs them out', async () => {
    await visit(url, async (page) => {
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await expectGoodPage(page, 'start-sign-in');
      await enter(page, 'E-mail address', email);
      await enter(page, 'Password', 'not the password');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await see(page, 'The e-mail address or password is wrong.');
      await expectGoodPage(page, 'start-sign-in-failed');
      await page.waitForTimeout(5_100); // only one attempt per five seconds is allowed
      await enter(page, 'Password', password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'What to do next' }).waitFor();
      expect(await page.locator('#workspaces li').allInnerTexts()).toEqual([
        expect.stringMatching(/Bright Ideas\s+owner/),
      ]);
      await expectGoodPage(page, 'start-signed-in');
      await enter(page, 'Name', 'build server');
      await page.getByLabel('What is it for?').selectOption('full_access');
      await page.getByRole('button', { name: 'Create token' }).click();
      await see(page, 'Save this token now.');
      await expectGoodPage(page, 'start-new-token');
      const token = await page.locator('#token-text').innerText();
      expect(await page.locator('#example').innerText()).toContain(`Bearer ${token}`);
      expect((await call(url, 'GET', '/api/apps', { as: token })).status).toBe(200);
      const listed = page.getByRole('list', { name: 'Your tokens' }).getByRole('listitem');
      expect(await listed.allInnerTexts()).toEqual([expect.stringMatching(/build server[\s\S]+full access/)]);
      await page.getByRole('button', { name: 'Revoke the token build server' }).click();
      await see(page, 'You have no tokens.');
      expect((await call(url, 'GET', '/api/apps', { as: token })).status).toBe(401);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      expect(await page.content()).not.toContain(token);
    });
  });

  it('shows the sessions of a person, and ends them', async () => {
    const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0';
    const body = { email, password };
    const signInElsewhere = () =>
      call(url, 'POST', '/api/auth/sign-in', { body, headers: { 'user-agent': userAgent } });
    // Only one attempt per five seconds is allowed.
    await expect.poll(async () => (await signInElsewhere()).status, { interval: 1_000 }).toBe(200);
    await visit(`${url}/#sessions`, async (page) => {
      await page.waitForTimeout(5_100); // only one attempt per five seconds is allowed
      await enter(page, 'E-mail address', email);
      await enter(page, 'Password', password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Your sessions' }).waitFor();
      await expectGoodPage(page, 'start-sessions');
      const items = page.locator('#session-list li');
      expect(await items.allInnerTexts()).toEqual([
        expect.stringMatching(/^Chrome on Linux\n+127\.0\.0\.1, since .*\n+this session$/),
        expect.stringMatching(/^Firefox on Linux\n+127\.0\.0\.1, since .*\n+End$/),
        expect.stringMatching(/^Chrome on Linux\n/), // created during setup
      ]);
      await page.getByRole('button', { name: 'End the session in Firefox on Linux' }).click();
      await expect.poll(() => items.count()).toBe(2);
      await page.getByRole('button', { name: 'End all other sessions' }).click();
      await expect.poll(() => items.count()).toBe(1);
      expect(await page.getByRole('button', { name: 'End all other sessions' }).isVisible()).toBe(false);
    });
  });

  it('says that it needs JavaScript if scripts are off', async () => {
    await visit(
      url,
      async (page) => {
        expect(await page.locator('main').innerText()).toMatch(/This page needs JavaScript\n/);
        expect(await page.locator('form').first().isVisible()).toBe(false);
        await page.getByRole('link', { name: 'API reference' }).waitFor();
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
      },
      { javaScriptEnabled: false, viewport: { width: 390, height: 844 } }, // axe cannot run without JavaScript
    );
  });

  it('says that no mail is sent where mail is not configured', async () => {
    await visit(`${urlWithoutMail}/#forgot-password`, async (page) => {
      await see(page, "This installation doesn't send e-mail.");
      await expectGoodPage(page, 'start-no-mail');
    });
  });
});

describe('the page for logging in a program', () => {
  const startLogin = async (permission: 'read_only' | 'full_access', more: object = {}) => {
    const body = { client_name: 'plinthctl on ada-laptop', permission, ...more };
    return (await call(url, 'POST', '/api/auth/device', { body })).body;
  };
  const poll = (device_code: string) => call(url, 'POST', '/api/auth/device/token', { body: { device_code } });

  it('lets a person approve or deny it with the code that it shows', async () => {
    const unknown = { app_ids: ['0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'] };
    const [first, second] = [await startLogin('full_access'), await startLogin('read_only', unknown)];
    await visit(first.verification_url, async (page) => {
      await page.getByRole('heading', { name: 'Sign in to log in a program' }).waitFor();
      await expectGoodPage(page, 'device-sign-in');
      await page.waitForTimeout(5_100); // only one attempt per five seconds is allowed
      await enter(page, 'E-mail address', email);
      await enter(page, 'Password', password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Log in a program' }).waitFor();
      await expectGoodPage(page, 'device-code');
      await enter(page, 'Code', 'BBBB-BBBB');
      await page.getByRole('button', { name: 'Continue' }).click();
      await see(page, 'No program is waiting with this code.');
      await enter(page, 'Code', first.user_code.toLowerCase());
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Let plinthctl on ada-laptop act as you?' }).waitFor();
      await see(page, '127.0.0.1');
      await see(page, 'All that you can see');
      await expectGoodPage(page, 'device-decide');
      await page.getByLabel('What may it do?').selectOption({ label: 'Only read' });
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('heading', { name: 'Approved' }).waitFor();
      await expectGoodPage(page, 'device-approved');
      expect(await poll(first.device_code)).toMatchObject({ status: 200, body: { permission: 'read_only' } });

      await page.reload();
      await enter(page, 'Code', second.user_code);
      await page.getByRole('button', { name: 'Continue' }).click();
      await see(page, "one that you can't see");
      expect(await page.getByLabel('What may it do?').locator('option').allInnerTexts()).toEqual(['Only read']);
      await page.getByRole('button', { name: 'Deny' }).click();
      await page.getByRole('heading', { name: 'Denied' }).waitFor();
      await expectGoodPage(page, 'device-denied');
      expect((await poll(second.device_code)).status).toBe(403);
    });
  });
});

describe('the reset page', () => {
  it('sets a new password with the link of the mail, and signs the person in', async () => {
    await visit(url, async (page) => {
      await page.getByRole('link', { name: 'Forgot your password?' }).click();
      await page.getByRole('heading', { name: 'Reset your password' }).waitFor();
      await expectGoodPage(page, 'start-forgot-password');
      await enter(page, 'E-mail address', email);
      await page.getByRole('button', { name: 'Send link' }).click();
      await page.getByRole('heading', { name: 'Check your inbox' }).waitFor();
      await see(page, "No worker is running at the moment, so the e-mail won't be sent until an operator starts one.");
      await expectGoodPage(page, 'start-link-sent');
      await start('worker', /"msg":"worker started"/);
      const findLink = () => mail.inbox.map(({ text }) => /http\S+\/reset-password#\S+/.exec(text)?.[0]).find(Boolean);
      await expect.poll(findLink).toBeDefined();
      const link = findLink() as string;
      await page.goto(link);
      await enter(page, 'New password', 'password1234');
      await page.getByRole('button', { name: 'Set password' }).click();
      await see(page, 'is one of the most common passwords; choose a different one.');
      await expectGoodPage(page, 'reset-password');
      await enter(page, 'New password', newPassword);
      await page.getByRole('button', { name: 'Set password' }).click();
      await page.getByRole('heading', { name: 'Welcome, Olive Owner' }).waitFor();
      await see(page, 'Your password is set.');
      await expectGoodPage(page, 'start-password-set');
      // The link works only once.
      await page.goto(link);
      await enter(page, 'New password', newPassword);
      await page.getByRole('button', { name: 'Set password' }).click();
      await see(page, 'This link has expired or was already used.');
      await expectGoodPage(page, 'reset-used');
    });
  });

  it('says so when the link has no token', async () => {
    await visit(`${url}/reset-password`, async (page) => {
      await page.getByRole('heading', { name: "This link can't be used" }).waitFor();
      await see(page, 'The link is incomplete. Open the full link from the e-mail.');
      await expectGoodPage(page, 'reset-without-token');
      await page.getByRole('link', { name: 'Request a new link' }).click();
      await page.getByRole('heading', { name: 'Reset your password' }).waitFor();
    });
  });
});

describe('the error page', () => {
  it('is shown for an address that does not exist, and leads to the start page', async () => {
    await visit(`${url}/console`, async (page) => {
      await page.getByRole('heading', { name: 'Page not found' }).waitFor();
      await expectGoodPage(page, 'error');
      await page.getByRole('link', { name: 'Go to the start page' }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    });
  });
});
