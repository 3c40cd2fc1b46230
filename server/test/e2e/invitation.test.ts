// An invitation as the person invited lives it: from the mail in their inbox, through the page in a real browser, to
// their first signed-in page. The API is a process of its own, the mail server the sandbox's.
import { createServer } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { startMailSandbox } from '../../../sandbox/src/smtp.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { commandLine } from './command.ts';

const mail = await startMailSandbox();
const database = await cloneTemplate();
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const { plinth, startApi } = commandLine({
  ...newKeys(),
  DATABASE_URL: database.url,
  SMTP_URL: mail.smtpUrl,
  PORT: String(port),
  BASE_URL: url, // links lead here, and the session cookie is taken from here only
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function startBrowser(): Promise<Browser> {
  const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
  return chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: ['--no-sandbox', ...quiet, '--disable-component-update', '--disable-sync'],
  });
}

/** A browser nobody has used yet; what it complains about fails the test. */
async function visit(link: string, check: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // A refusal that the page shows is no fault of the page.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(link);
  await check(page);
  expect(complaints).toEqual([]);
  await context.close();
}

async function invite(email: string, role = 'editor'): Promise<string> {
  const body = { email, role };
  const got = await call(url, 'POST', '/api/workspace/invitations/invite', { as: owner, body });
  expect(got).toMatchObject({ status: 200, body: { mail: 'sent' } });
  return linkIn(email);
}

/** The link in the newest mail, read from the inbox as a person would. */
async function linkIn(email: string): Promise<string> {
  const mails = (await (await fetch(`${mail.inboxUrl}?to=${email}`)).json()) as { text: string }[];
  return /http\S+\/invitations\/\S+/.exec(mails.at(-1)?.text ?? '')?.[0] as string;
}

const password = 'correct horse battery';

describe('an invitation, in a browser', () => {
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
      // The session is real: the browser itself may now ask.
      const me = await page.evaluate(async () => (await fetch('/api/auth/me')).json());
      expect(me).toMatchObject({ user: { email: 'nora@example.com' }, workspaces: [{ name: 'Bright Ideas' }] });
    });
  });

  it('asks a person who has an account to sign in, and one who is signed in only to accept', async () => {
    await call(url, 'DELETE', '/api/workspace/members/nora@example.com', { as: owner });
    await visit(await invite('nora@example.com', 'viewer'), async (page) => {
      await page.getByText('You have an account. Sign in to accept.').waitFor();
      await page.getByLabel('Your password').fill('not her password');
      await page.getByRole('button', { name: 'Sign in and join' }).click();
      await page.getByText('The e-mail address or password is wrong.').waitFor();
      await page.waitForTimeout(5_100); // one try in five seconds
      await page.getByLabel('Your password').fill(password);
      await page.getByRole('button', { name: 'Sign in and join' }).click();
      await page.getByRole('heading', { name: 'You are now a member of Bright Ideas' }).waitFor();
      await call(url, 'DELETE', '/api/workspace/members/nora@example.com', { as: owner });
      await page.goto(await invite('nora@example.com'));
      await page.getByText('You are signed in as nora@example.com.').waitFor();
      await page.getByRole('button', { name: 'Accept invitation' }).click();
      await page.getByRole('heading', { name: 'You are now a member of Bright Ideas' }).waitFor();
      // An invitation for somebody else: out first, then as that person.
      await page.goto(await invite('otto@example.com'));
      await page.getByText('this invitation is for someone else').waitFor();
      await page.getByRole('button', { name: 'Sign out and go on' }).click();
      await page.getByLabel('Your name').waitFor();
    });
  });

  it('says that a link does not work when it was replaced by a new one', async () => {
    const old = await invite('late@example.com');
    await call(url, 'POST', '/api/workspace/invitations/resend', { as: owner, body: { emails: ['late@example.com'] } });
    await visit(old, async (page) => {
      await page.getByRole('heading', { name: 'This invitation does not work' }).waitFor();
      await page.getByText('Invitation not found.').waitFor();
    });
    expect(await linkIn('late@example.com')).not.toBe(old);
  });
});
