// An invitation from the mail in the inbox, through the page in a real browser, to the first signed-in page. The API runs
// as a process of its own; the mail server is the sandbox's.
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { startMailSandbox } from '../../../sandbox/src/smtp.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { commandLine } from './command.ts';
import { freePort } from './free-port.ts';

const mail = await startMailSandbox();
const database = await cloneTemplate();
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const { plinth, startApi } = commandLine({
  ...newKeys(),
  DATABASE_URL: database.url,
  SMTP_URL: mail.smtpUrl,
  PORT: String(port),
  BASE_URL: url, // links point here, and the session cookie is accepted from here only
});
const owner = (
  await plinth('bootstrap', '--email', 'owner@example.com', '--name', 'Olive Owner', '--workspace', 'Bright Ideas')
).stdout.trim();
await startApi();
const browser = await startBrowser();
afterAll(async () => {
  await browser.close();
  await mail.close();
  await database.drop();
});

function startBrowser(): Promise<Browser> {
  const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
  return chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: ['--no-sandbox', ...quiet, '--disable-component-update', '--disable-sync'],
  });
}

/** Opens the link in a new browser context. An error in the page or its console fails the test. */
async function visit(link: string, check: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    // The browser logs every error answer, including those that the page shows.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) errors.push(message.text());
  });
  await page.goto(link);
  await check(page);
  expect(errors).toEqual([]);
  await context.close();
}

async function invite(email: string, role = 'editor'): Promise<string> {
  const body = { email, role };
  const got = await call(url, 'POST', '/api/workspace/invitations/invite', { as: owner, body });
  expect(got).toMatchObject({ status: 200, body: { mail: 'sent' } });
  return linkIn(email);
}

/** The link in the newest mail of the inbox. */
async function linkIn(email: string): Promise<string> {
  const mails = (await (await fetch(`${mail.inboxUrl}?to=${email}`)).json()) as { text: string }[];
  return /http\S+\/invitations\/\S+/.exec(mails.at(-1)?.text ?? '')?.[0] as string;
}

const password = 'correct horse battery';

describe('an invitation in a browser', () => {
  it('leads a new person from the mail to their first signed-in page', async () => {
    await visit(await invite('nora@example.com'), async (page) => {
      await page.getByRole('heading', { name: 'Join Bright Ideas' }).waitFor();
      expect(await page.locator('#heading').textContent()).toContain(
        'nora@example.com is invited to this workspace as an editor',
      );
      await page.getByLabel('Your name').fill('Nora New');
      await page.getByLabel('Password, at least').fill('password1234');
      await page.getByRole('button', { name: 'Create account and join' }).click();
      await page.getByText('The password is one of the most common passwords; choose another.').waitFor();
      await page.getByLabel('Password, at least').fill(password);
      await page.getByRole('button', { name: 'Create account and join' }).click();
      await page.getByRole('heading', { name: 'You are now a member of Bright Ideas' }).waitFor();
      const text = await page.locator('#joined').textContent();
      expect(text).toContain('Welcome, Nora New. You are signed in as nora@example.com, and you are an editor here.');
      expect(await page.locator('#workspaces li').allInnerTexts()).toEqual([expect.stringContaining('Bright Ideas')]);
      // The browser now has a session cookie.
      const me = await page.evaluate(async () => (await fetch('/api/auth/me')).json());
      expect(me).toMatchObject({ user: { email: 'nora@example.com' }, workspaces: [{ name: 'Bright Ideas' }] });
    });
  });

  it('asks a person with an account to sign in, and a signed-in person only to accept', async () => {
    await call(url, 'DELETE', '/api/workspace/members/nora@example.com', { as: owner });
    await visit(await invite('nora@example.com', 'viewer'), async (page) => {
      await page.getByText('You already have an account. Sign in to accept.').waitFor();
      await page.getByLabel('Your password').fill('not her password');
      await page.getByRole('button', { name: 'Sign in and join' }).click();
      await page.getByText('The e-mail address or password is wrong.').waitFor();
      await page.waitForTimeout(5_100); // one attempt per five seconds is allowed
      await page.getByLabel('Your password').fill(password);
      await page.getByRole('button', { name: 'Sign in and join' }).click();
      await page.getByRole('heading', { name: 'You are now a member of Bright Ideas' }).waitFor();
      await call(url, 'DELETE', '/api/workspace/members/nora@example.com', { as: owner });
      await page.goto(await invite('nora@example.com'));
      await page.getByText('You are signed in as nora@example.com.').waitFor();
      await page.getByRole('button', { name: 'Accept invitation' }).click();
      await page.getByRole('heading', { name: 'You are now a member of Bright Ideas' }).waitFor();
      // An invitation for another account: the person must sign out first.
      await page.goto(await invite('otto@example.com'));
      await page.getByText('this invitation is for another account').waitFor();
      await page.getByRole('button', { name: 'Sign out and continue' }).click();
      await page.getByLabel('Your name').waitFor();
    });
  });

  it('lets whoever has a link that was not mailed choose between a new account and signing in', async () => {
    mail.behave('refusing');
    const body = { email: 'handed@example.com' };
    const got = await call(url, 'POST', '/api/workspace/invitations/invite', { as: owner, body });
    mail.behave('well');
    await visit(got.body.accept_url, async (page) => {
      await page.getByText('Or do you have an account? Sign in to accept.').waitFor();
      await page.getByLabel('Your name').fill('Hans Handed');
      await page.getByLabel('Password, at least').fill(password);
      await page.getByRole('button', { name: 'Create account and join' }).click();
      await page.getByRole('heading', { name: 'You are now a member of Bright Ideas' }).waitFor();
    });
  });

  it('shows that a link which was replaced by a new one no longer works', async () => {
    const old = await invite('late@example.com');
    await call(url, 'POST', '/api/workspace/invitations/resend', { as: owner, body: { emails: ['late@example.com'] } });
    await visit(old, async (page) => {
      await page.getByRole('heading', { name: "This invitation can't be used" }).waitFor();
      await page.getByText('Invitation not found.').waitFor();
    });
    expect(await linkIn('late@example.com')).not.toBe(old);
  });
});
