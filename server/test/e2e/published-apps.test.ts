// Tests published apps in a real browser: how much of the installation and of a visitor's session an app's pages can
// reach, on the app's own host and below /p/. Two API processes run on one database, one for each kind.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { startChromium } from './browser.ts';
import { commandLine } from './command.ts';

const database = await cloneTemplate();
const folder = await mkdtemp(join(tmpdir(), 'published-'));
const settings = {
  ...newKeys(),
  DATABASE_URL: database.url,
  STORAGE_FOLDER: folder,
  REDIS_PREFIX: `e2e:${process.pid}:`,
};

async function startInstallation(more: Record<string, string>) {
  const port = await freePort();
  const base = `http://plinth.localhost:${port}`;
  const commands = commandLine({ ...settings, PORT: String(port), BASE_URL: base, ...more });
  return { port, base, ...commands };
}
const withHosts = await startInstallation({ APPS_DOMAIN: 'apps.localhost' });
const withFolder = await startInstallation({});
const { plinth } = withHosts;
const token = (
  await plinth('bootstrap', '--email', 'ann@example.com', '--name', 'Ann', '--workspace', 'Ours')
).stdout.trim();
const link = (await plinth('user', 'reset', '--user', 'ann@example.com')).stdout.trim();
await Promise.all([withHosts.startApi(), withFolder.startApi()]);

const api = `http://127.0.0.1:${withHosts.port}`;
const password = 'a long enough password';
await call(api, 'POST', '/api/auth/password/reset', {
  body: { reset_token: link.split('#')[1], new_password: password },
});

const signIn = await call(api, 'POST', '/api/auth/sign-in', { body: { email: 'ann@example.com', password } });
const session = /plinth_session=([^;]+)/.exec(String(signIn.headers['set-cookie']))?.[1] ?? '';

const createApp = async (name: string, files: Record<string, string>) => {
  const app = (await call(api, 'POST', '/api/apps', { as: token, body: { name } })).body;
  const body = { files: Object.entries(files).map(([path, content]) => ({ path, content })) };
  await call(api, 'PUT', `/api/apps/${app.id}/files`, { as: token, body });
  const deployed = await call(api, 'POST', `/api/apps/${app.id}/deploy`, { as: token });
  expect(deployed.status).toBe(200);
  return { ...app, url: deployed.body.url };
};
const html = `<!doctype html><title>Shop</title><h1>Shop</h1>
  <script src="plain.js"></script><script type="module" src="module.js"></script>`;
const app = await createApp('Shop', {
  'dist/index.html': html,
  'dist/plain.js': 'window.plainRan = true;',
  'dist/module.js': 'window.moduleRan = true;',
});
const other = await createApp('Other', { 'dist/index.html': '<!doctype html><title>Other</title><h1>Other</h1>' });
await call(api, 'PUT', `/api/apps/${app.id}`, { as: token, body: { public_settings: 'public_without_login' } });
await call(api, 'PUT', `/api/apps/${app.id}/entity-schemas/Task`, {
  as: token,
  body: { name: 'Task', properties: {}, rls: { read: true } },
});
const countApps = async () => (await call(api, 'GET', '/api/apps', { as: token })).body.items.length;

const browser = await startChromium();
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await database.drop();
});

/** Opens a browser context that is signed in to the installation and has a secret in its origin's storage. */
async function signedIn(base: string, check: (context: BrowserContext) => Promise<void>) {
  const context = await browser.newContext();
  await context.addCookies([{ name: 'plinth_session', value: session, url: base, httpOnly: true, sameSite: 'Lax' }]);
  const start = await context.newPage();
  await start.goto(base);
  await start.getByRole('heading', { name: 'Welcome, Ann' }).waitFor(); // proves that the session works
  await start.evaluate("localStorage.setItem('secret', 'of the installation')");
  await check(context);
  await context.close();
}

/** Runs a script in the page. Returns its result, or the error's name. */
const attempt = (page: Page, script: string): Promise<unknown> =>
  page.evaluate(
    `(async () => { try { return await (async () => { ${script} })() } catch (error) { return error.name } })()`,
  );

const open = async (context: BrowserContext, url: string): Promise<Page> => {
  const page = await context.newPage();
  await page.goto(url);
  await page.getByRole('heading', { name: 'Shop' }).waitFor();
  return page;
};

/** Returns a script that adds a frame and waits until it has loaded, or for three seconds if it is blocked. */
const frameOf = (url: string) => `
  const frame = document.createElement('iframe');
  frame.src = ${JSON.stringify(url)};
  await new Promise((resolve) => { frame.onload = resolve; document.body.append(frame); setTimeout(resolve, 3000); });`;

/** Checks that a page has no access to the installation at `base`, however the page is published. */
async function expectNoAccess(context: BrowserContext, page: Page, base: string): Promise<void> {
  const apps = await countApps();
  expect(await attempt(page, `return (await fetch('${base}/api/auth/me', { credentials: 'include' })).status`)).toBe(
    'TypeError',
  );
  const blind = `{ method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"name":"Stolen"}' }`;
  await attempt(page, `await fetch('${base}/api/apps', ${blind})`);
  expect(await attempt(page, `${frameOf(base)} return frame.contentWindow.document.title`)).toBe('SecurityError');
  expect(await attempt(page, `${frameOf(base)} return frame.contentDocument`)).toBeNull();
  expect(await attempt(page, `${frameOf(base)} return frame.contentWindow.localStorage.secret`)).toBe('SecurityError');

  const start = await context.newPage();
  await start.goto(base);
  const url = page.url();
  const [popup] = await Promise.all([context.waitForEvent('page'), start.evaluate(`void window.open('${url}')`)]);
  await popup.getByRole('heading', { name: 'Shop' }).waitFor();
  expect(await attempt(popup, 'return window.opener.document.title')).toBe('SecurityError');
  expect(await attempt(popup, 'return window.opener.localStorage.secret')).toBe('SecurityError');

  // Submitting a form navigates away from the page, so it is tried in the popup.
  const submit = `const form = document.createElement('form'); form.method = 'post'; form.enctype = 'text/plain';
    form.action = '${base}/api/apps'; document.body.append(form); form.submit()`;
  const [answer] = await Promise.all([popup.waitForResponse(`${base}/api/apps`), popup.evaluate(submit)]);
  expect([401, 403]).toContain(answer.status());
  expect(await countApps()).toBe(apps);
}

describe('an app on a host of its own', () => {
  const { base, port } = withHosts;

  it('runs modules, has storage of its own, and may call its data', async () => {
    expect(app.url).toBe(`http://${app.slug}.apps.localhost:${port}/`);
    await signedIn(base, async (context) => {
      const page = await open(context, app.url);
      await page.waitForFunction('window.moduleRan && window.plainRan');
      expect(await attempt(page, "localStorage.setItem('a', '1'); return localStorage.length")).toBe(1);
      const data = `fetch('${base}/api/apps/${app.id}/entities/Task').then((answer) => answer.json())`;
      expect(await attempt(page, `return ${data}`)).toMatchObject({ items: [] });
    });
  });

  it("reaches neither the installation's cookies, storage and pages, nor the API with the visitor's session", async () => {
    await signedIn(base, async (context) => {
      const page = await open(context, app.url);
      expect(await attempt(page, 'return document.cookie')).toBe('');
      expect(await attempt(page, 'return localStorage.secret ?? null')).toBeNull();
      expect(await attempt(page, "return (await fetch('/api/auth/me', { credentials: 'include' })).text()")).toBe(html);
      const opened = `const it = window.open('${base}');
        for (let tries = 0; tries < 100 && it.location.href === 'about:blank'; tries += 1)
          await new Promise((resolve) => setTimeout(resolve, 50));
        return it.document.title`;
      expect(await attempt(page, opened)).toBe('SecurityError');
      await expectNoAccess(context, page, base);
    });
  });

  it('can set no cookie for the installation or for all of localhost', async () => {
    await signedIn(base, async (context) => {
      const page = await open(context, app.url);
      for (const domain of ['localhost', 'plinth.localhost', '.localhost'])
        await page.evaluate(`document.cookie = 'plinth_session=evil; domain=${domain}; path=/'`);
      const cookies = await context.cookies(base);
      expect(cookies.map(({ name, value }) => [name, value.startsWith('pls_')])).toEqual([['plinth_session', true]]);
    });
  });

  it('does not reach the pages and the storage of another app', async () => {
    await signedIn(base, async (context) => {
      const page = await open(context, app.url);
      expect(await attempt(page, `${frameOf(other.url)} return frame.contentWindow.document.title`)).toBe(
        'SecurityError',
      );
      expect(await attempt(page, "document.domain = 'apps.localhost'; return document.domain")).not.toBe(
        'apps.localhost',
      );
    });
  });

  it('shows a page of its own for what is not there', async () => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${app.url}missing.html`);
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    expect(await page.getByRole('link').count()).toBe(0);
    await page.close();
  });
});

describe('an app below /p/', () => {
  const { base } = withFolder;
  const url = `${base}/p/${app.slug}/`;

  it('runs plain scripts only: it has no modules, no storage, no cookies and no origin', async () => {
    await signedIn(base, async (context) => {
      const page = await open(context, url);
      expect(await attempt(page, 'return self.origin')).toBe('null');
      expect(await attempt(page, 'return window.plainRan')).toBe(true);
      expect(await attempt(page, 'return window.moduleRan ?? null')).toBeNull();
      expect(await attempt(page, 'return document.cookie')).toBe('SecurityError');
      expect(await attempt(page, 'return localStorage.secret')).toBe('SecurityError');
      expect(await attempt(page, "document.cookie = 'plinth_session=evil'")).toBe('SecurityError');
      expect(await attempt(page, 'return sessionStorage.length')).toBe('SecurityError');
    });
  });

  it("reaches neither the installation's pages nor the API with the visitor's session", async () => {
    await signedIn(base, async (context) => {
      const page = await open(context, url);
      expect(await attempt(page, `return window.open('${base}')`)).toBeNull();
      await expectNoAccess(context, page, base);
    });
  });
});
