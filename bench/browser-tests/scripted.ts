// A flow's steps as a developer would script them: directly in playwright-core, by role and name, without Plinth.
import type { Browser, Locator, Page } from 'playwright-core';
import type { ShopCall } from '../../sandbox/src/demo-shop/recorded-call.ts';

type Role = Parameters<Page['getByRole']>[0];

const timeout = 5_000;

/**
 * Opens the page in a new context and performs the steps. With evidence, also records a trace and takes a screenshot
 * after each step, exactly as the product does: with a single browser command, and without copies of the page. Returns
 * the milliseconds from the opened page to the end of the last step.
 */
export async function runScripted(
  browser: Browser,
  url: string,
  calls: readonly ShopCall[],
  visitor: { readonly email: string; readonly password: string },
  withEvidence: boolean,
): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    if (withEvidence) await context.tracing.start({ snapshots: false, screenshots: false });
    const page = await context.newPage();
    const painter = await context.newCDPSession(page);
    const look = async () => withEvidence && painter.send('Page.captureScreenshot', { format: 'jpeg', quality: 60 });
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(url);
    await look();
    const openedAt = performance.now();
    for (const call of calls) {
      await take(page, call, visitor);
      await look();
    }
    return performance.now() - openedAt;
  } finally {
    await context.close();
  }
}

async function take(page: Page, call: ShopCall, visitor: { email: string; password: string }): Promise<void> {
  const { path = '', text = '', option = '', width = 0, height = 0 } = call.arguments;
  const place = find(page, call.element);
  switch (call.name) {
    case 'open':
      return void (await page.goto(new URL(path, page.url()).href));
    case 'click':
      return place.click({ timeout });
    case 'type':
      return place.fill(text.replace('{{email}}', visitor.email).replace('{{password}}', visitor.password), {
        timeout,
      });
    case 'select':
      return void (await place.selectOption(option, { timeout }));
    case 'resize':
      return page.setViewportSize({ width, height });
    case 'assert':
      return check(page, call.arguments);
  }
}

async function check(page: Page, expected: ShopCall['arguments']): Promise<void> {
  const { kind, text = '' } = expected;
  const place = find(page, expected);
  switch (kind) {
    case 'text':
      return poll(async () => (await visibleText(page)).includes(text));
    case 'no_text':
      return poll(async () => !(await visibleText(page)).includes(text));
    case 'value':
      return poll(async () => (await place.inputValue({ timeout })) === expected.value);
    case 'count':
      return poll(async () => (await place.filter({ visible: true }).count()) === expected.count);
    case 'fits':
      return poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth'));
    case undefined:
      throw new Error('a check has no kind');
  }
}

const find = (page: Page, { role = '', name = '' }: { role?: string; name?: string } = {}): Locator =>
  page.getByRole(role as Role, { name, exact: true });

/** The page's visible text, with a space between lines and columns. */
const visibleText = async (page: Page): Promise<string> =>
  (await page.locator('body').innerText({ timeout })).replaceAll(/\s+/g, ' ');

async function poll(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + timeout;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('a check does not hold');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
