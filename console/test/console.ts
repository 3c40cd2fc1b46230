// A console for tests: an installation with a stand-in for the language model, whose API serves the built console, and
// people who are signed in to it in a real browser.
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, expect } from 'vitest';
import { playableRequests } from '../../sandbox/src/builder-conversation.ts';
import { type ModelSandbox, startModelSandbox } from '../../sandbox/src/model.ts';
import { listFaults, phone, startChromium } from '../../server/test/e2e/browser.ts';
import { startInstallation } from '../../server/test/e2e/installation.ts';
import { call } from '../../server/test/support/client.ts';
import { buildIfStale } from '../build-if-stale.ts';

const password = 'a long enough password';
const email = 'owner@example.com';

/** The browser logs these when a request is refused, which tests cause on purpose and pages show. */
const expectedLines = /Failed to load resource/;

interface Visitor {
  readonly page: Page;
  readonly errors: readonly string[];
  /** The requests to the API that the page made, such as `GET /api/apps`. */
  readonly requests: readonly string[];
}

export async function startConsole(settings: Readonly<Record<string, string>> = {}) {
  const model: ModelSandbox = await startModelSandbox();
  afterAll(() => model.close());
  const [installation, browser] = await Promise.all([
    buildIfStale().then(() =>
      startInstallation({
        MODEL_URL: model.url,
        MODEL_STAND_IN: playableRequests.join(';'),
        CONSOLE: 'on',
        ...settings,
      }),
    ),
    startChromium(),
  ]);
  const { url, plinth } = installation;
  const link = (await plinth('user', 'reset', '--user', email)).stdout.trim();
  const body = { reset_token: link.split('#')[1], new_password: password };
  expect((await call(url, 'POST', '/api/auth/password/reset', { body })).status).toBe(200);
  const signedIn = await call(url, 'POST', '/api/auth/sign-in', { body: { email, password } });
  const session = /plinth_session=([^;]+)/.exec(String(signedIn.headers['set-cookie']))?.[1] ?? '';
  const { items } = await installation.manage('GET', '/api/workspaces');

  /** Opens a page of the console in a browser of its own. */
  async function visit(
    path: string,
    { isSignedIn = true, ...options }: BrowserContextOptions & { isSignedIn?: boolean } = {},
  ): Promise<Visitor> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    if (isSignedIn)
      await context.addCookies([{ name: 'plinth_session', value: session, url, httpOnly: true, sameSite: 'Lax' }]);
    const page = await context.newPage();
    const errors = watchErrors(page);
    const requests: string[] = [];
    page.on('request', (request) => {
      const { origin, pathname } = new URL(request.url());
      if (origin === url && pathname.startsWith('/api/')) requests.push(`${request.method()} ${pathname}`);
    });
    await page.goto(url + path);
    return { page, errors, requests };
  }
  return { ...installation, model, workspace: items[0].id as string, visit };
}

/** Collects what goes wrong in a page: errors of scripts, and violations of the content security policy. */
export function watchErrors(page: Page): readonly string[] {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !expectedLines.test(message.text())) errors.push(message.text());
  });
  return errors;
}

export const press = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('button', { name, exact: true }).filter({ visible: true }).first().click();

export const follow = (page: Page, name: string): Promise<void> =>
  page.getByRole('link', { name, exact: true }).filter({ visible: true }).first().click();

/** Waits until a text is shown, however often. */
export const see = (page: Page, text: string | RegExp): Promise<void> =>
  page.getByText(text).filter({ visible: true }).first().waitFor();

/** Checks a screen as it is shown on a desk in light colours, and on a phone in dark ones. */
export async function expectGoodScreen(page: Page, name: string): Promise<void> {
  for (const [colorScheme, viewport] of [
    ['dark', phone],
    ['light', { width: 1440, height: 900 }],
  ] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize(viewport);
    const { width } = viewport;
    await takePicture(page, `${name}-${colorScheme}-${width}`);
    const where = `${name}, ${colorScheme}, ${width} px`;
    // The rest of a walk is judged too, so one run names all faults.
    expect.soft(await page.evaluate('document.documentElement.scrollWidth'), where).toBe(width);
    expect.soft(await listFaults(page), where).toEqual([]);
  }
}

/** Saves a screenshot if PAGE_PICTURES names a folder. */
async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env.PAGE_PICTURES;
  if (folder) await page.screenshot({ path: `${folder}/${name.replaceAll(' ', '-')}.png` });
}
