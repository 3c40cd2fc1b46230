// Tests the unmodified starter in a real browser: users sign up, sign in and sign out, and axe finds no faults, in
// light and dark mode, on a phone and on a large screen. If PAGE_PICTURES names a folder, screenshots are saved there.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { readStarter } from '../../src/features/builder/starter.ts';
import { enter, expectAccessible, see, startBrowser } from './browser.ts';
import { startInstallation } from './installation.ts';

const { url, mail, manage, publish, linkTo, addUser } = await startInstallation();
const { visit } = await startBrowser();
const password = 'a long enough password';
const app = await publish(readStarter());
const settings = `/api/apps/${app.id}/auth/settings`;
await manage('PATCH', settings, { sign_up: 'open' });
await addUser(app, 'ann@customers.example', password, 'Ann Archer');

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor();

describe('the starter', () => {
  it.each([
    ['light', 360],
    ['light', 1280],
    ['dark', 360],
    ['dark', 1280],
  ] as const)('is accessible and fits the screen: %s, %i px', async (colorScheme, width) => {
    const look = async (page: Page, name: string) => {
      const folder = process.env.PAGE_PICTURES;
      if (folder) await page.screenshot({ path: `${folder}/starter-${name}-${colorScheme}-${width}.png` });
      expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBe(width);
      await expectAccessible(page, name);
    };
    const check = async (page: Page) => {
      await heading(page, 'Sign in');
      await look(page, 'sign-in');
      await press(page, 'Create an account');
      await look(page, 'sign-up');
      await press(page, 'I already have an account');
      await press(page, 'Sign in with an e-mail link');
      await look(page, 'link');
      await page.evaluate(`localStorage.setItem('plinth ${app.id}', JSON.stringify({
        token: 'x', expires_at: '2999-01-01T00:00:00.000Z', renew_at: 1e15, user: { email: 'a@b.example', full_name: '' },
      }))`);
      await page.reload();
      await heading(page, 'Welcome');
      await look(page, 'signed-in');
    };
    await visit(app.url, check, { colorScheme, viewport: { width, height: 800 } });
  });

  it('signs people in and out with the keyboard alone, and says what went wrong', async () => {
    await visit(app.url, async (page) => {
      await heading(page, 'Sign in');
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      await page.keyboard.type('ann@customers.example');
      await page.keyboard.press('Tab');
      await page.keyboard.type('not the password');
      await page.keyboard.press('Enter');
      await see(page, 'The e-mail address or password is wrong.');
      expect(await page.getByRole('status').first().textContent()).toContain('is wrong');
      await page.waitForTimeout(5_100); // only one attempt per five seconds is allowed
      await enter(page, 'Password', password);
      await page.keyboard.press('Enter');
      await heading(page, 'Welcome, Ann Archer');
      expect(await page.getByText('is wrong').count()).toBe(0);
      await press(page, 'Sign out');
      await heading(page, 'Sign in');
      expect(await page.getByLabel('Password').filter({ visible: true }).inputValue()).toBe('');
    });
  });

  it('signs a new person up with the link of the mail', async () => {
    await visit(app.url, async (page) => {
      await press(page, 'Create an account');
      await enter(page, 'Your name', 'Nora New');
      await enter(page, 'E-mail address', 'nora@customers.example');
      await enter(page, 'Password', password);
      await press(page, 'Create account');
      await heading(page, 'Check your e-mail');
      await see(page, 'A mail should reach nora@customers.example in a few minutes.');
      expect(await page.getByRole('textbox').count()).toBe(0);
      expect(await page.getByRole('link', { name: 'Open the inbox' }).getAttribute('href')).toBe(mail.inboxUrl);
      await expectAccessible(page, 'sent');
      await page.goto(await linkTo('nora@customers.example'));
      await heading(page, 'Welcome, Nora New');
      expect(page.url()).toBe(app.url);
      await page.reload();
      await heading(page, 'Welcome, Nora New');
    });
  });

  it('offers to create an account only to those who can', async () => {
    const create = (page: Page) => page.getByRole('button', { name: 'Create an account' });
    await manage('PATCH', settings, { sign_up: 'closed' });
    await visit(app.url, async (page) => {
      const isClosed = async () => {
        await page.reload();
        await heading(page, 'Sign in');
        return page.getByText('Ask the people who run this app for one.').isVisible();
      };
      await expect.poll(isClosed).toBe(true);
      expect(await create(page).count()).toBe(0);
      await expectAccessible(page, 'closed');
    });
    await manage('PATCH', settings, { sign_up: 'invited' });
    await visit(app.url, async (page) => {
      await expect.poll(async () => [await page.reload(), await create(page).isVisible()][1]).toBe(true);
      await create(page).click();
      await see(page, 'Use the e-mail address with which you were added to this app.');
      await expectAccessible(page, 'invited');
    });
    await manage('PATCH', settings, { sign_up: 'open' });
  });

  it('asks for a password if the app requires one, and says if a link has expired', async () => {
    await manage('PATCH', settings, { methods: { link: false } });
    await visit(app.url, async (page) => {
      const newPassword = page.getByRole('button', { name: 'Set a new password by e-mail' });
      await expect.poll(async () => [await page.reload(), await newPassword.isVisible()][1]).toBe(true);
      await newPassword.click();
      await enter(page, 'E-mail address', 'ann@customers.example');
      await press(page, 'Send the link');
      await see(page, 'Check your e-mail');
      const link = await linkTo('ann@customers.example', 2);
      await page.goto(link);
      await heading(page, 'Choose a password');
      await expectAccessible(page, 'password');
      await enter(page, 'New password', 'another long password');
      await press(page, 'Save and sign in');
      await heading(page, 'Welcome, Ann Archer');
      await press(page, 'Sign out');
      await heading(page, 'Sign in');
      await page.goto(link);
      await see(page, 'This link has expired or was already used.');
    });
    await manage('PATCH', settings, { methods: { link: true } });
  });

  it('works under the content security policy of the guide', async () => {
    const csp = `default-src 'self'; connect-src 'self' ${url}`;
    await manage('PATCH', `/api/apps/${app.id}/security/settings`, { headers: { csp } });
    await addUser(app, 'policy@customers.example', password, 'Pia');
    await visit(app.url, async (page) => {
      const policy = async () => (await page.reload())?.headers()['content-security-policy'];
      await expect.poll(policy).toBe(csp);
      await enter(page, 'E-mail address', 'policy@customers.example');
      await enter(page, 'Password', password);
      await press(page, 'Sign in');
      await heading(page, 'Welcome, Pia');
    });
  });

  it('says that it needs JavaScript', async () => {
    const check = async (page: Page) =>
      expect(await page.locator('noscript').innerText()).toContain('This app requires JavaScript.');
    await visit(app.url, check, { javaScriptEnabled: false });
  });
});
