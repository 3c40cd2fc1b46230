// Tests the sandbox's pages in a real browser: in light and dark, on a phone and a large screen, with hostile content
// that must not run, and with lists that fill while a page is open.
import { createHash, randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { expectAccessible, expectGoodPage, startChromium } from '../../../server/test/e2e/browser.ts';
import { startAuthorizationServer } from '../authorization-server.ts';
import { startGitHost } from '../git-host/server.ts';
import { startPayments } from '../payments/server.ts';
import { startReceiver } from '../receiver.ts';
import { sendTestMail } from '../send-test-mail.ts';
import { startMailSandbox } from '../smtp.ts';
import { startStartPage } from './start-page.ts';

const start = await startStartPage();
const mail = await startMailSandbox({ smtp: 0, inbox: 0 }, start.url);
const receiver = await startReceiver(0, () => {}, start.url);
const gitHost = await startGitHost({ startPage: start.url });
const services = await startAuthorizationServer({ startPage: start.url });
const payments = await startPayments({ startPage: start.url });
const browser = await startChromium();
afterAll(async () => {
  for (const server of [start, mail, receiver, gitHost, services, payments]) await server.close();
});

start.list([
  {
    name: 'Mail',
    description: 'Stands in for <b>.',
    address: mail.smtpUrl,
    page: { text: 'Inbox', url: mail.inboxUrl },
  },
  {
    name: 'Payments',
    description: 'Takes cards.',
    address: payments.url,
    json: { text: 'Journal', url: payments.url },
  },
]);

/** Opens a page in light and in dark, and checks it. Nothing that it shows may set `window.ran`. */
async function check(name: string, url: string, look: (page: Page) => Promise<void>): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ colorScheme });
    const page = await context.newPage();
    await page.goto(url);
    await look(page);
    await expectGoodPage(page, `sandbox-${name}-${colorScheme}`);
    await expectAccessible(page, name);
    expect(await page.evaluate('window.ran')).toBeUndefined();
    await context.close();
  }
}

const attack = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>';

it('the start page leads to the pages', async () => {
  await check('start', start.url, async (page) => {
    await page.getByText('Stands in for <b>.').waitFor();
    await page.getByRole('link', { name: 'Journal (JSON)' }).waitFor();
  });
  const page = await (await browser.newContext()).newPage();
  await page.goto(start.url);
  await page.getByRole('link', { name: 'Inbox' }).click();
  await page.getByRole('heading', { name: 'No mail yet' }).waitFor();
  await page.getByRole('link', { name: 'Plinth sandbox' }).click();
  await page.getByRole('heading', { name: 'Sandbox' }).waitFor();
});

it('the inbox adds a mail while it is open, and keeps what a person opened', async () => {
  await check('inbox-empty', mail.inboxUrl, (page) => page.getByText('No messages. The sandbox keeps').waitFor());
  const page = await (await browser.newContext()).newPage();
  await page.goto(mail.inboxUrl);
  const alternative = 'Content-Type: multipart/alternative; boundary=part';
  const plain = ['--part', 'Content-Type: text/plain', '', `${attack} https://a.example/x`];
  const rich = ['--part', 'Content-Type: text/html', '', `<h1>Rich</h1>${attack}`, '--part--'];
  await sendTestMail(mail.smtpUrl, 'ann@example.com', `Subject: ${attack}`, alternative, '', ...plain, ...rich);
  await page.getByRole('heading', { name: attack }).waitFor();
  await page.getByText('HTML version').click();
  await page.frameLocator('iframe').getByRole('heading', { name: 'Rich' }).waitFor();
  await sendTestMail(mail.smtpUrl, 'ben@example.com', 'Subject: Second', '', 'Hello');
  await page.getByRole('heading', { name: 'Second' }).waitFor();
  expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual(['Second', attack]);
  expect(await page.locator('details').getAttribute('open')).toBe('');
  expect(await page.getByRole('status').innerText()).toMatch(/^2 messages, newest first\./);
  await check('inbox', mail.inboxUrl, async (own) => {
    await own.getByText('HTML version').click();
    await own.frameLocator('iframe').getByRole('heading', { name: 'Rich' }).waitFor();
    expect(await own.frameLocator('iframe').locator('body').innerText()).toBe('Rich');
    const link = own.getByRole('link', { name: 'https://a.example/x' });
    expect(await link.getAttribute('rel')).toBe('noreferrer noopener');
  });
  await page.getByRole('link', { name: 'ann@example.com' }).click();
  await page.waitForURL(/\?to=ann/);
  expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual([attack]);
  expect(await page.getByLabel('Filter by recipient').inputValue()).toBe('ann@example.com');
});

it('the list of deliveries adds a delivery, and changes its verdict when a secret arrives', async () => {
  const headers = { 'webhook-id': 'd1', 'webhook-timestamp': '1795024458', 'webhook-signature': 'v1,AAAA' };
  const deliver = (path: string) =>
    fetch(receiver.url + path, { method: 'POST', headers, body: JSON.stringify({ [attack]: 'x'.repeat(300) }) });
  const url = `${receiver.url}/received`;
  await check('received-empty', url, (page) => page.getByRole('heading', { name: 'Nothing received yet' }).waitFor());
  const page = await (await browser.newContext()).newPage();
  await page.goto(url);
  await deliver('/orders');
  await page.getByText('signature not checked', { exact: true }).waitFor();
  await fetch(`${receiver.url}/secrets`, { method: 'POST', body: 'whsec_c2VjcmV0' });
  await page.getByText('signature invalid', { exact: true }).waitFor();
  await check('received', url, async (own) => {
    await own.getByText('All ').click();
    await own.getByText('v1,AAAA').waitFor();
  });
});

it('the pages of the git host show what a pull request changes', async () => {
  await gitHost.addRepository({ full_name: 'acme/shop', files: { 'a.html': 'one\n' } });
  await gitHost.commit('acme/shop', 'work', { 'a.html': `${attack}${'x'.repeat(300)}\n`, 'b.txt': 'new\n' });
  await fetch(`${gitHost.url}/repos/acme/shop/pulls`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gitHost.token}` },
    body: JSON.stringify({ title: attack, body: attack, head: 'work', base: 'main' }),
  });
  await check('git-host', gitHost.cloneUrl, (page) => page.getByRole('heading', { name: 'acme/shop' }).waitFor());
  await check('repository', `${gitHost.cloneUrl}/acme/shop`, (page) =>
    page.getByText('open', { exact: true }).waitFor(),
  );
  await check('pull-request', `${gitHost.cloneUrl}/acme/shop/pull/1`, async (page) => {
    await page.getByRole('heading', { name: '2 changed files' }).waitFor();
    expect(await page.locator('.add').allInnerTexts()).toEqual([`+${attack}${'x'.repeat(300)}`, '+new']);
  });
  await check('not-found', `${gitHost.cloneUrl}/acme/nothing`, (page) =>
    page.getByRole('heading', { name: 'Page not found' }).waitFor(),
  );
});

it.each([
  ['Allow', /\/callback\?code=/],
  ['Deny', /\/callback\?error=access_denied/],
])('the consent page sends a person who clicks %s back to who asked', async (name, back) => {
  const url = new URL(`${services.url}/slack/authorize`);
  const verifier = randomBytes(32).toString('base64url');
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: 'sandbox-slack',
    // Another origin than that of the page, to which its policy must allow the redirect.
    redirect_uri: `${receiver.url}/callback`,
    scope: `openid chat:write ${'x'.repeat(100)}`,
    state: 's',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString();
  await check('consent', url.href, async (page) => {
    await page.getByRole('heading', { name: 'Allow access to slack?' }).waitFor();
    await page.getByText(`Plinth at ${receiver.url} asks to use your slack account.`).waitFor();
  });
  const page = await (await browser.newContext()).newPage();
  await page.goto(url.href);
  await page.getByRole('button', { name }).click();
  await page.waitForURL(back);
  expect(new URL(page.url()).origin).toBe(receiver.url);
});

it('the page of the payment provider takes a card and sends a person back', async () => {
  const call = async (path: string, form: Record<string, string>) => {
    const headers = { authorization: `Bearer ${payments.secretKey}` };
    const response = await fetch(payments.url + path, { method: 'POST', headers, body: new URLSearchParams(form) });
    return (await response.json()) as { id: string; url: string };
  };
  const { id: customer } = await call('/v1/customers', {});
  const form = { customer, mode: 'setup', success_url: `${receiver.url}/received` };
  const { url } = await call('/v1/checkout/sessions', form);
  await check('card', url, (page) => page.getByLabel('Card number').waitFor());
  const page = await (await browser.newContext()).newPage();
  await page.goto(url);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.waitForURL(form.success_url);
});
