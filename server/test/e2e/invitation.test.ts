// Follows an invitation from the mail in the inbox, through the page in a real browser, to the first signed-in page.
// The API runs as a separate process, with the sandbox's mail server.
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
const { plinth, startApi } = commandLine({
  ...newKeys(),
  DATABASE_URL: database.url,
  SMTP_URL: mail.smtpUrl,
  PORT: String(port),
  BASE_URL: url, // links point here, and the session cookie is accepted only from here
});
const owner = (
  await plinth('bootstrap', '--email', 'owner@example.com', '--name', 'Olive Owner', '--workspace', 'Bright Ideas')
).stdout.trim();
await startApi();
const { visit } = await startBrowser();
afterAll(async () => {
  await mail.close();
  await database.drop();
});

async function invite(email: string, role = 'editor'): Promise<string> {
  const body = { email, role };
  const got = await call(url, 'POST', '/api/workspace/invitations/invite', { as: owner, body });
  expect(got).toMatchObject({ status: 200, body: { mail: 'sent' } });
  return linkIn(email);
}

/** Returns the link from the newest mail in the inbox. */
async function linkIn(email: string): Promise<string> {
  const mails = (await (await fetch(`${mail.inboxUrl}?to=${email}`)).json()) as { text: string }[];
  return /http\S+\/invitations#\S+/.exec(mails.at(-1)?.text ?? '')?.[0] as string;
}

const password = 'correct horse battery';

describe('an invitation in a browser', () => {
  it('leads a new person from the mail to their first signed-in page', async () => {
    await visit(await invite('nora@example.com'), async (page) => {
      await page.getByRole('heading', { name: 'Join Bright Ideas' }).waitFor();
      expect(await page.locator('#heading').textContent()).toContain(
        'nora@example.com has been invited to this workspace as an editor by owner@example.com.',
      );
      await expectGoodPage(page, 'invitation-new-account');
      await enter(page, 'Your name', 'Nora New');
      await enter(page, 'Password, at least', 'password1234');
      await page.getByRole('button', { name: 'Create account and join' }).click();
      await see(page, 'The password is one of the most common passwords; choose a different one.');
      await expectGoodPage(page, 'invitation-refused-password');
      await enter(page, 'Password, at least', password);
      await page.getByRole('button', { name: 'Create account and join' }).click();
      await page.getByRole('heading', { name: 'You are now a member of Bright Ideas' }).waitFor();
      const text = await page.locator('#joined').textContent();
      expect(text).toContain('Welcome, Nora New. You are signed in as nora@example.com, and you are an editor here.');
      await expectGoodPage(page, 'invitation-joined');
      await page.getByRole('link', { name: 'Continue' }).click();
      await page.getByRole('heading', { name: 'Welcome, Nora New' }).waitFor();
      expect(await page.locator('#workspaces li').allInnerTexts()).toEqual([expect.stringContaining('Bright Ideas')]);
    });
  });

  it('asks a person with an account to sign in, and a signed-in person only to accept', async () => {
    await call(url, 'DELETE', '/api/workspace/members/nora@example.com', { as: owner });
    await visit(await invite('nora@example.com', 'viewer'), async (page) => {
      await see(page, 'You already have an account. Sign in to accept.');
      await expectGoodPage(page, 'invitation-sign-in');
      await enter(page, 'Your password', 'not her password');
      await page.getByRole('button', { name: 'Sign in and join' }).click();
      await see(page, 'The e-mail address or password is wrong.');
      await page.waitForTimeout(5_100); // only one attempt per five seconds is allowed
      await enter(page, 'Your password', password);
      await page.getByRole('button', { name: 'Sign in and join' }).click();
      await page.getByRole('heading', { name: 'You are now a member of Bright Ideas' }).waitFor();
      await call(url, 'DELETE', '/api/workspace/members/nora@example.com', { as: owner });
      await page.goto(await invite('nora@example.com'));
      await see(page, 'You are signed in as nora@example.com.');
      await expectGoodPage(page, 'invitation-accept');
      await page.getByRole('button', { name: 'Accept invitation' }).click();
      await page.getByRole('heading', { name: 'You are now a member of Bright Ideas' }).waitFor();
      // This invitation is for a different account, so the user must sign out first.
      await page.goto(await invite('otto@example.com'));
      await see(page, 'this invitation is for another account');
      await expectGoodPage(page, 'invitation-other-account');
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
      await see(page, 'Or do you have an account? Sign in to accept.');
      await expectGoodPage(page, 'invitation-handed-over');
      await enter(page, 'Your name', 'Hans Handed');
      await enter(page, 'Password, at least', password);
      await page.getByRole('button', { name: 'Create account and join' }).click();
      await page.getByRole('heading', { name: 'You are now a member of Bright Ideas' }).waitFor();
    });
  });

  it('names the app that is shared with a guest, and who shares it', async () => {
    const app = await call(url, 'POST', '/api/apps', { as: owner, body: { name: 'Orders' } });
    const share = `/api/apps/${app.body.id}/shares/gina@example.com`;
    expect((await call(url, 'PUT', share, { as: owner, body: { role: 'editor' } })).status).toBe(200);
    await visit(await linkIn('gina@example.com'), async (page) => {
      await page.getByRole('heading', { name: 'Open “Orders”' }).waitFor();
      await see(page, 'gina@example.com has been invited to “Orders” of Bright Ideas by owner@example.com.');
      await expectGoodPage(page, 'invitation-guest');
      await enter(page, 'Your name', 'Gina Guest');
      await enter(page, 'Password, at least', password);
      await page.getByRole('button', { name: 'Create account and join' }).click();
      await page.getByRole('heading', { name: 'You can open “Orders” now' }).waitFor();
    });
  });

  it('shows that a link which was replaced by a new one no longer works', async () => {
    const old = await invite('late@example.com');
    await call(url, 'POST', '/api/workspace/invitations/resend', { as: owner, body: { emails: ['late@example.com'] } });
    await visit(old, async (page) => {
      await page.getByRole('heading', { name: "This invitation can't be used" }).waitFor();
      await see(page, 'This link was replaced by a newer one, or the invitation was cancelled.');
      await expectGoodPage(page, 'invitation-replaced');
    });
    expect(await linkIn('late@example.com')).not.toBe(old);
  });

  it('says "You are already a member" when an accepted invitation is opened again', async () => {
    const link = await invite('again@example.com');
    const input = { invitation_token: link.split('#')[1], full_name: 'Agnes Again', password };
    await call(url, 'POST', '/api/invitations/accept', { body: input });
    await visit(link, async (page) => {
      await page.getByRole('heading', { name: 'You are already a member of Bright Ideas' }).waitFor();
      await expectGoodPage(page, 'invitation-already-member');
      await page.getByRole('link', { name: 'Continue' }).click();
      await enter(page, 'E-mail address', 'handed@example.com');
      await enter(page, 'Password', password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Welcome, Hans Handed' }).waitFor();
      // A different user is signed in, so the page must not say "You are already a member".
      await page.goto(link);
      await page.getByRole('heading', { name: 'This invitation was already accepted' }).waitFor();
      await see(page, 'again@example.com is a member of Bright Ideas.');
      await expectGoodPage(page, 'invitation-accepted-by-other');
    });
  });

  it('opens by an older link, which has the token in its path', async () => {
    const link = await invite('older@example.com');
    await visit(link.replace('#', '/'), async (page) => {
      await page.getByRole('heading', { name: 'Join Bright Ideas' }).waitFor();
      await enter(page, 'Your name', 'Olga Older');
      await enter(page, 'Password, at least', password);
      await page.getByRole('button', { name: 'Create account and join' }).click();
      await page.getByRole('heading', { name: 'You are now a member of Bright Ideas' }).waitFor();
    });
  });

  it('says so when the link has no token', async () => {
    await visit(`${url}/invitations`, async (page) => {
      await see(page, 'The link is incomplete.');
      await expectGoodPage(page, 'invitation-without-token');
    });
  });

  it('sends the token in no URL', async () => {
    const link = await invite('quiet@example.com');
    const seen: string[] = [];
    await visit('about:blank', async (page) => {
      page.on('request', (request) => seen.push(request.url()));
      await page.goto(link);
      await enter(page, 'Your name', 'Quentin Quiet');
      await enter(page, 'Password, at least', password);
      await page.getByRole('button', { name: 'Create account and join' }).click();
      await page.getByRole('heading', { name: 'You are now a member of Bright Ideas' }).waitFor();
    });
    const sent = seen.map((address) => address.split('#')[0] as string);
    expect(sent).toContain(`${url}/api/invitations/accept`);
    expect(sent.filter((address) => address.includes(link.split('#')[1] as string))).toEqual([]);
  });
});
