// The tests' browser: the machine's Chromium, and the checks that every page must pass.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type axe from 'axe-core';
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, expect } from 'vitest';
import { disabledFeaturesFlag } from '../../src/gateways/browser/chromium.ts';

export const phone = { width: 390, height: 844 };
export const desktop = { width: 1440, height: 900 };

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** How long a test waits for a page. Generous, because a busy machine must not fail a test. */
const patienceMs = 120_000;

/** Starts Chromium for this test file. */
export async function startChromium() {
  const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    timeout: patienceMs,
    args: ['--no-sandbox', ...quiet, '--disable-component-update', '--disable-sync', disabledFeaturesFlag],
  });
  afterAll(() => browser.close());
  return {
    async newContext(options?: BrowserContextOptions) {
      const context = await browser.newContext(options);
      context.setDefaultTimeout(patienceMs);
      return context;
    },
  };
}

/** Starts Chromium for visiting one page at a time. */
export async function startBrowser() {
  const browser = await startChromium();

  /** Opens the link in a new browser context. The test fails on any error in the page or its console. */
  async function visit(link: string, check: (page: Page) => Promise<void>, options: BrowserContextOptions = {}) {
    const context = await browser.newContext({ viewport: desktop, ...options });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => {
      // The browser logs every error response, even if it is expected and the page displays it.
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) errors.push(message.text());
    });
    await page.goto(link);
    await check(page);
    expect(errors).toEqual([]);
    await context.close();
  }
  return { visit };
}

/** Waits until this text is visible on the page. Hidden sections may contain it too. */
export const see = (page: Page, text: string): Promise<void> =>
  page.getByText(text).filter({ visible: true }).waitFor();

export const enter = (page: Page, label: string, value: string): Promise<void> =>
  page.getByLabel(label).filter({ visible: true }).fill(value);

/**
 * Checks that the page fits a phone without horizontal scrolling, and that axe finds nothing serious on a phone or a
 * large screen. If PAGE_PICTURES names a folder, screenshots of both are saved there.
 */
export async function expectGoodPage(page: Page, name: string): Promise<void> {
  for (const viewport of [phone, desktop]) {
    await page.setViewportSize(viewport);
    const { width } = viewport;
    const folder = process.env.PAGE_PICTURES;
    if (folder) await page.screenshot({ path: `${folder}/${name}-${width}.png`, fullPage: true });
    expect(await page.evaluate('document.documentElement.scrollWidth'), `${name} at ${width} px`).toBe(width);
    expect(await findSeriousFaults(page), `${name} at ${width} px`).toEqual([]);
  }
}

async function findSeriousFaults(page: Page): Promise<string[]> {
  const serious = (await findFaults(page)).filter(({ impact }) => impact === 'serious' || impact === 'critical');
  return serious.map(describeFault);
}

/** Checks that axe finds no faults at all. */
export const expectAccessible = async (page: Page, name: string): Promise<void> =>
  expect(await listFaults(page), name).toEqual([]);

export const listFaults = async (page: Page): Promise<string[]> => (await findFaults(page)).map(describeFault);

/** axe is evaluated through the debugger, because our pages' content security policy blocks other scripts. */
async function findFaults(page: Page): Promise<axe.Result[]> {
  await page.evaluate(axeSource);
  const { passes, violations } = await page.evaluate<axe.AxeResults>('axe.run()');
  expect(passes.length).toBeGreaterThan(5); // confirms that axe inspected the page
  return violations;
}

const describeFault = ({ id, nodes }: axe.Result): string => `${id}: ${nodes.map(({ html }) => html).join(' ')}`;
